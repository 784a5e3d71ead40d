"""Tables with data evolution: which files of the same rows may be there together.

Files whose row ids overlap are read together, so they must have the same row ids, whatever else was committed since
they were planned; and of two writers that change the same columns of the same rows the later one must have seen the
first.
Source: Java `DataEvolutionConflictDetection`, `RowIdColumnConflictChecker`.
"""

from collections.abc import Collection, Sequence

from maintenance.commit.conflicts import Conflict
from maintenance.commit.row_ids import is_of_blobs
from maintenance.format.metadata.data_file import DataFileMeta
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
    # Files of blobs have some of the rows of a file, and go with it.
    entries = [entry for entry in entries if not is_of_blobs(entry.file)]
    added = [entry for entry in entries if entry.kind == FileKind.ADD and entry.file.first_row_id is not None]
    if not added:
        return None
    partitions = {entry.partition for entry in added}
    base = [] if latest is None else manifests.live_entries(latest, EntrySelection(partitions.__contains__))
    gone = {entry.identity for entry in entries if entry.kind == FileKind.DELETE}
    there = [entry for entry in base if entry.identity not in gone and not is_of_blobs(entry.file)]
    torn = {
        (partition, bucket)
        for (partition, bucket), group in by_bucket([*there, *added]).items()
        if _overlaps_in_part({_rows(entry.file) for entry in group if entry.file.first_row_id is not None})
    }
    if torn:
        return Conflict("another writer put other files in the place of the same rows meanwhile", frozenset(torn))
    if seen is None:
        return None
    ours = {(entry.partition, _rows(entry.file)): entry.file for entry in added}
    lost = {
        (entry.partition, entry.bucket)
        for entry in there
        if entry.file.max_sequence_number > seen
        and (entry.partition, _rows(entry.file)) in ours
        and _share_columns(ours[entry.partition, _rows(entry.file)], entry.file)
    }
    known = {(entry.partition, _rows(entry.file)) for entry in there if entry.file.first_row_id is not None}
    lost |= {(e.partition, e.bucket) for e in added if (e.partition, _rows(e.file)) not in known}
    return (
        Conflict("another writer changed the same columns of the same rows meanwhile", frozenset(lost))
        if lost
        else None
    )


def _rows(file: DataFileMeta) -> _Rows:
    """First row id and number of rows."""
    return (-1 if file.first_row_id is None else file.first_row_id), file.row_count


def _overlaps_in_part(ranges: Collection[_Rows]) -> bool:
    """Whether two of these different ranges have a row in common."""
    end = 0
    for first, count in sorted(ranges):
        if first < end:
            return True
        end = first + count
    return False


def _share_columns(one: DataFileMeta, other: DataFileMeta) -> bool:
    if one.write_cols is None or other.write_cols is None:
        return True
    return not set(one.write_cols).isdisjoint(other.write_cols)
