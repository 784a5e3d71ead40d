"""Look for known values through the file indexes: no file that holds one may be left out, many others should be.

Values are taken from rows of a few data files. For each value the file's index must keep its row, and a scan for the
value must read the file; the report counts how many other files the scan skips.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa

from maintenance.format.file_index.kinds import column_indexes
from maintenance.format.metadata.manifest import ManifestEntry
from maintenance.predicate.sql import to_sql
from maintenance.predicate.tree import Compare, IsNull, Predicate
from maintenance.read.data_file import DataFileReader, ReadContext
from maintenance.scan.file_index import has_index
from maintenance.scan.plan import ScanSource, live_entries, plan_scan, selections
from maintenance.scan.pruning import Pruning
from maintenance.scan.split import Split
from maintenance.table.table import Table
from maintenance.types.data_type import DataField
from maintenance.types.values import values_of_arrow

_FILES = 3
_ROWS = 1 << 12


@dataclass(frozen=True, slots=True)
class IndexProbe:
    """What a probe found.

    Attributes:
        snapshot_id: that was probed, None without one.
        values: looked for; `checks`: conditions tested against the row that a value is from.
        missed: conditions for which a file or a row that matches was left out. There must be none.
        files: that the scans for the values could have read, summed over the values.
        skipped_by_stats, skipped_by_index: of those, what statistics and then file indexes left out.
    """

    snapshot_id: int | None = None
    values: int = 0
    checks: int = 0
    missed: tuple[str, ...] = ()
    files: int = 0
    skipped_by_stats: int = 0
    skipped_by_index: int = 0

    @property
    def skipped_share(self) -> float:
        """Files that indexes left out, of those that statistics did not."""
        tested = self.files - self.skipped_by_stats
        return self.skipped_by_index / tested if tested else 0.0


def probe_file_index(table: Table, *, files: int = _FILES) -> IndexProbe:
    """Check the file indexes of a table's latest snapshot. `files`: how many data files to take values from."""
    table = table.copy({"file-index.read.enabled": "true"})
    snapshot = table.latest_snapshot()
    source = table.scan_source()
    if snapshot is None:
        return IndexProbe()
    entries = live_entries(source, snapshot, None)
    indexed = [entry for entry in entries if has_index(entry.file)]
    probe = IndexProbe(snapshot.id)
    declared = column_indexes(table.options, table.schema.fields)
    fields = tuple({index.field.id: index.field for index in declared if index.key is None}.values())
    for entry in spread(indexed, files):
        for row, condition in _conditions(table, source, entry, fields):
            text = f"{to_sql(condition, table.schema.fields)} in row {row} of {entry.file.file_name}"
            probe = replace(probe, checks=probe.checks + 1)
            if not _holds(source, entry, condition, row):
                probe = replace(probe, missed=(*probe.missed, text))
            if not isinstance(condition, Compare) or condition.op != "=":
                continue
            plan = plan_scan(source, snapshot, condition)
            if not any(isinstance(split, Split) and entry.file in split.files for split in plan.splits):
                probe = replace(probe, missed=(*probe.missed, f"{text}, planning"))
            probe = replace(
                probe,
                values=probe.values + 1,
                files=probe.files + plan.live_files,
                skipped_by_stats=probe.skipped_by_stats + plan.skipped_by_stats,
                skipped_by_index=probe.skipped_by_index + plan.skipped_by_index,
            )
    return probe


def spread(entries: Sequence[ManifestEntry], count: int) -> list[ManifestEntry]:
    """Some entries from all over."""
    if not entries:
        return []
    places = np.unique(np.linspace(0, len(entries) - 1, min(count, len(entries))).astype(int))
    return [entries[place] for place in places]


def _conditions(
    table: Table, source: ScanSource, entry: ManifestEntry, fields: Sequence[DataField]
) -> Iterator[tuple[int, Predicate]]:
    """Conditions that a row of the file satisfies, with the row's number in the file."""
    if not fields:
        return
    schemas = {entry.file.schema_id: source.load_schemas([entry.file.schema_id])[entry.file.schema_id]}
    context = ReadContext(table.file_io, {**schemas, table.schema.id: table.schema}, tuple(fields))
    path = table.paths.data_file(entry.partition, entry.bucket, entry.file)
    rows = next(DataFileReader(context, path, entry.file, {}).batches(_ROWS), None)
    if rows is None:
        return
    for field in fields:
        column: pa.ChunkedArray = rows.column(field.name)
        valid = column.is_valid().to_numpy()
        present, absent = np.flatnonzero(valid), np.flatnonzero(~valid)
        if len(present):
            row = int(present[len(present) // 2])
            value = values_of_arrow(column.slice(row, 1))[0]
            yield row, Compare("=", field.name, value)
            yield row, Compare("<=", field.name, value)
            yield row, Compare(">=", field.name, value)
        if len(absent):
            yield int(absent[0]), IsNull(field.name)


def _holds(source: ScanSource, entry: ManifestEntry, condition: Predicate, row: int) -> bool:
    """Whether the file's index leaves over a row that satisfies the condition."""
    schemas = source.load_schemas([entry.file.schema_id])
    pruning = Pruning(source.schema, {**schemas, source.schema.id: source.schema}, condition)
    return all(selection.rows is None or row in selection.rows for _, selection in selections(source, pruning, [entry]))
