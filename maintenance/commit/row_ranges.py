"""Tables with data evolution: which files of the same rows may be there together.

Files whose row ids overlap are read together, so they must have the same row ids, whatever else was committed since
they were planned; and of two writers that change the same columns of the same rows the later one must have seen the
first.
Source: Java `DataEvolutionConflictDetection`, `RowIdColumnConflictChecker`.
"""

from bisect import bisect_right
from collections.abc import Sequence
from itertools import pairwise
from operator import itemgetter

from maintenance.commit.conflicts import Conflict
from maintenance.format.metadata.data_file import DataFileMeta, is_apart_from_rows
from maintenance.format.metadata.manifest import EntrySelection, FileKind, ManifestEntry
from maintenance.format.metadata.snapshot import Snapshot
from maintenance.metadata.manifests import Manifests
from maintenance.scan.split import by_bucket

_Rows = tuple[int, int]


def torn_rows(
    manifests: Manifests, entries: Sequence[ManifestEntry], latest: Snapshot | None, *, seen: int | None = None
) -> Conflict | None:
    """What is wrong with the files of the same rows, were these changes published after a snapshot.

    Args: `seen`: the snapshot that new columns of rows were planned on; None = the entries are no such columns.
    """
    added = [entry for entry in entries if entry.kind == FileKind.ADD and entry.file.first_row_id is not None]
    if not added:
        return None
    partitions = {entry.partition for entry in added}
    base = [] if latest is None else manifests.live_entries(latest, EntrySelection(partitions.__contains__))
    gone = {entry.identity for entry in entries if entry.kind == FileKind.DELETE}
    there = [entry for entry in base if entry.identity not in gone and entry.file.first_row_id is not None]
    torn = {
        group for group, entries in by_bucket([*there, *added]).items() if _are_torn([entry.file for entry in entries])
    }
    if torn:
        return Conflict("another writer put other files in the place of the same rows meanwhile", frozenset(torn))
    if seen is None:
        return None
    # Sequence numbers are ids of snapshots, but pypaimon counts on from there for all files of blobs but the first.
    newest_seen = None if latest is not None and latest.id == seen else seen
    lost = {(entry.partition, entry.bucket) for entry in added if not _fits(entry, there, newest_seen)}
    return (
        Conflict("another writer changed the same columns of the same rows meanwhile", frozenset(lost))
        if lost
        else None
    )


def _fits(added: ManifestEntry, there: Sequence[ManifestEntry], seen: int | None) -> bool:
    """Whether the rows of new columns are still there, and their columns are those of the snapshot `seen`.

    Args: `seen`: None = there is no later snapshot.
    """
    first, count = _rows(added.file)
    holds_rows = False
    for entry in there:
        start, rows = _rows(entry.file)
        if entry.partition != added.partition or start >= first + count or start + rows <= first:
            continue
        holds_rows |= not is_apart_from_rows(entry.file)
        if seen is not None and entry.file.max_sequence_number > seen and _share_columns(added.file, entry.file):
            return False
    return holds_rows


def _are_torn(files: Sequence[DataFileMeta]) -> bool:
    """Whether files have some of the rows of another; those apart from the rows may have some of one file's alone."""
    rows = sorted({_rows(file) for file in files if not is_apart_from_rows(file)})
    if any(first + count > following for (first, count), (following, _) in pairwise(rows)):
        return True
    for first, count in {_rows(file) for file in files if is_apart_from_rows(file)}:
        at = bisect_right(rows, first, key=itemgetter(0))
        if not at or first + count > sum(rows[at - 1]):
            return True
    return False


def _rows(file: DataFileMeta) -> _Rows:
    """First row id and number of rows."""
    assert file.first_row_id is not None
    return file.first_row_id, file.row_count


def _share_columns(one: DataFileMeta, other: DataFileMeta) -> bool:
    if one.write_cols is None or other.write_cols is None:
        return True
    return not set(one.write_cols).isdisjoint(other.write_cols)
