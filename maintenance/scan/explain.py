"""Why a scan reads a file or leaves it out: the decisions of `plan_scan`, file by file."""

from collections.abc import Sequence
from dataclasses import dataclass

from maintenance.format.file_index.selection import Selection
from maintenance.format.metadata.manifest import ManifestEntry
from maintenance.format.metadata.snapshot import Snapshot
from maintenance.predicate.tree import Predicate
from maintenance.scan.file_index import has_index
from maintenance.scan.global_index import with_candidates
from maintenance.scan.plan import ScanSource, by_statistics, entry_filter, live_entries, selections, wanted_of
from maintenance.scan.pruning import Pruning

PARTITION = "partition"
BUCKET = "bucket"
KEY_STATISTICS = "statistics of the key"
STATISTICS = "statistics"
INDEX = "file index"
GLOBAL_INDEX = "global index"


@dataclass(frozen=True, slots=True)
class FileVerdict:
    """What a scan decides about a data file.

    Attributes:
        kept: whether the scan reads it; `row_count`: its rows.
        rows: those that its file index leaves over, None where it leaves over all.
        by: of a file left out, what did: one of the constants above.
        reason: the same in words, with the indexes that ruled out rows.
    """

    partition: str
    bucket: int
    file_name: str
    row_count: int
    kept: bool
    reason: str
    by: str | None = None
    rows: int | None = None


def explain_plan(source: ScanSource, snapshot: Snapshot | None, predicate: Predicate | None) -> tuple[FileVerdict, ...]:
    """A verdict on each live file that a scan without a filter reads, in the order of the manifests."""
    if snapshot is None:
        return ()
    entries = live_entries(source, snapshot, None)
    schemas = dict(source.load_schemas(sorted({entry.file.schema_id for entry in entries})))
    pruning = Pruning(source.schema, {**schemas, source.schema.id: source.schema}, predicate)
    selection_of_entries, _ = entry_filter(source, predicate)
    left_out: dict[int, str] = {}
    for entry in entries:
        buckets = None if selection_of_entries.buckets is None else selection_of_entries.buckets(entry.total_buckets)
        if selection_of_entries.partition is not None and not selection_of_entries.partition(entry.partition):
            left_out[id(entry)] = PARTITION
        elif buckets is not None and entry.bucket not in buckets:
            left_out[id(entry)] = BUCKET
    rest = [entry for entry in entries if id(entry) not in left_out]
    by_stats, testable = by_statistics(source, rest, pruning)
    kept = {id(entry) for entry in by_stats}
    for entry in rest:
        if id(entry) not in kept:
            left_out[id(entry)] = STATISTICS if pruning.keeps_key_range(entry.file) else KEY_STATISTICS
    wanted = wanted_of(source, snapshot, predicate, by_stats)
    if wanted is not None:
        passed = {id(entry) for entry in with_candidates(by_stats, wanted)}
        left_out |= {id(entry): GLOBAL_INDEX for entry in by_stats if id(entry) not in passed}
    by_file = {id(entry): selection for entry, selection in selections(source, pruning, testable)}
    alone = {id(entry) for entry in testable}
    return tuple(
        _verdict(source, entry, left_out.get(id(entry)), by_file.get(id(entry)), alone=id(entry) in alone)
        for entry in entries
    )


def _verdict(
    source: ScanSource, entry: ManifestEntry, by: str | None, selection: Selection | None, *, alone: bool
) -> FileVerdict:
    rows, used = (None, "") if selection is None or selection.rows is None else _rows_and_reason(selection)
    if by is None and rows == 0:
        by = INDEX
    if by is not None:
        used = by if by == GLOBAL_INDEX else used
        reason = f"no row matches by {used}" if by in (INDEX, GLOBAL_INDEX) else f"left out by its {by}"
    elif rows is not None:
        reason = f"{rows} of {entry.file.row_count} rows may match by {used}"
    else:
        reason = _kept_because(entry, alone=alone, index_tested=selection is not None)
    partition = str(source.manifests.paths.partition(entry.partition))
    names = (partition, entry.bucket, entry.file.file_name)
    return FileVerdict(*names, entry.file.row_count, by is None, reason, by, rows)


def _rows_and_reason(selection: Selection) -> tuple[int, str]:
    return len(selection.rows or ()), " and ".join(selection.used) or "the types of the file's columns"


def _kept_because(entry: ManifestEntry, *, alone: bool, index_tested: bool) -> str:
    if not alone:
        return "other files may hold versions of its rows"
    if not has_index(entry.file):
        return "it has no file index"
    return "its file index excludes no row" if index_tested else "file indexes are not used"


def explained(verdicts: Sequence[FileVerdict]) -> str:
    """The verdicts as lines of text, after a line with the totals."""
    kept = sum(verdict.kept for verdict in verdicts)
    lines = [f"{kept} of {len(verdicts)} files are read"]
    for verdict in verdicts:
        place = "/".join(part for part in (verdict.partition, f"bucket-{verdict.bucket}", verdict.file_name) if part)
        lines.append(f"{'read' if verdict.kept else 'skip'} {place}: {verdict.reason}")
    return "\n".join(lines)
