"""Look up what levels above the output of a compaction hold of the keys that it merges.

A file whose key range or file index rules the keys out is not opened. Of a large file the keys are read first, from the
row groups that may hold one of the requested keys, and then the row groups in which one was found. Only rows with such
a key are kept, so memory grows with the requested keys and not with the levels. A key found in a level is not looked up
in the levels above it, which it covers. Source: Java `LookupLevels`, which looks up key by key in local copies of
files.
"""

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyroaring import BitMap

from maintenance.compaction.record_expiry import RecordExpiry
from maintenance.format.metadata.data_file import DataFileMeta
from maintenance.format.rows.binary_row import parse_row
from maintenance.format.rows.system_fields import ROW_ID
from maintenance.merge.sort_words import key_ranks
from maintenance.predicate.tree import Compare, In, Predicate, conjunction
from maintenance.read.data_file import DataFileReader
from maintenance.read.row_selection import RowSelection
from maintenance.types.data_type import DataField
from maintenance.types.values import arrow_of_values, values_of_arrow

_BATCH_ROWS = 1 << 16
_LISTED = 256
_KEYS_FIRST = 1 << 14


@dataclass(frozen=True, slots=True)
class OlderRecords:
    """Records of one level. `rows`: with the columns that readers yield, among them rows of other keys.

    `places`: row numbers of the requested keys by data file, those of expired rows among them; of readers that yield
    row ids. `expired`: the rows that count as gone; None where rows do not expire.
    """

    level: int
    rows: pa.Table
    expired: pa.Table | None = None
    places: Mapping[str, BitMap] = dataclasses.field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class LookupLevels:
    """The levels above an output level.

    Attributes:
        readers: of their files.
        key_fields: columns of the trimmed key.
        expiry: rows that count as gone; None = none.
        by_key: the files are sorted by key; otherwise their smallest and largest keys say nothing.
    """

    readers: tuple[DataFileReader, ...]
    key_fields: tuple[DataField, ...]
    expiry: RecordExpiry | None = None
    by_key: bool = True

    def find(self, keys: pa.Table) -> list[OlderRecords]:
        """What the lowest level that holds a key holds of it. `keys`: n > 0 different keys in order.

        Columns of several keys are compared one by one, so rows of keys that were not asked for may come along.
        """
        older = []
        for level in sorted({reader.file.level for reader in self.readers}):
            parts = self._of_level([reader for reader in self.readers if reader.file.level == level], keys)
            if parts:
                rows = pa.concat_tables([part for _, part in parts])
                matched, _ = self._shared(keys, rows)
                places = _places(parts, matched) if ROW_ID.name in rows.column_names else {}
                rows = rows.drop_columns([ROW_ID.name]) if ROW_ID.name in rows.column_names else rows
                living, expired = (rows, None) if self.expiry is None else self.expiry.divided(rows)
                older.append(OlderRecords(level, living, expired, places))
                _, held = self._shared(keys, living)
                keys = keys.filter(pa.array(~held))
                if not keys.num_rows:
                    break
        return older

    def _of_level(self, readers: Sequence[DataFileReader], keys: pa.Table) -> list[tuple[str, pa.Table]]:
        """Rows with one of the keys, with the names of their files."""
        parts: list[tuple[str, pa.Table]] = []
        for reader, (start, end) in zip(readers, self._ranges([r.file for r in readers], keys), strict=True):
            if end > start:
                rows = self._of_file(reader, keys.slice(start, end - start))
                parts.extend((reader.file.file_name, part) for part in rows)
        return parts

    def _ranges(self, files: Sequence[DataFileMeta], keys: pa.Table) -> list[tuple[int, int]]:
        """Of each file the range of the keys between its smallest and its largest."""
        if not self.by_key:
            return [(0, keys.num_rows)] * len(files)
        types = [field.type for field in self.key_fields]
        bounds = [parse_row(key, types) for file in files for key in (file.min_key, file.max_key)]
        columns = []
        for number, field in enumerate(self.key_fields):
            bounds_of_field = arrow_of_values([bound[number] for bound in bounds], field.type)
            columns.append(pa.concat_arrays([keys.column(field.name).combine_chunks(), bounds_of_field]))
        ranks = key_ranks(columns)
        of_keys, of_bounds = ranks[: keys.num_rows], ranks[keys.num_rows :]
        starts = np.searchsorted(of_keys, of_bounds[::2], side="left")
        ends = np.searchsorted(of_keys, of_bounds[1::2], side="right")
        return [(int(start), int(end)) for start, end in zip(starts, ends, strict=True)]

    def _of_file(self, reader: DataFileReader, keys: pa.Table) -> list[pa.Table]:
        pruned = replace(reader, predicate=self._pruning(keys), indexed=True)
        if reader.file.row_count >= _KEYS_FIRST:
            row_positions = self._positions(pruned, keys)
            if not len(row_positions):
                return []
            pruned = replace(reader, rows=RowSelection(exactly=row_positions))
        parts = (self._matching(rows, keys) for rows in pruned.batches(_BATCH_ROWS))
        return [part for part in parts if part.num_rows]

    def _positions(self, reader: DataFileReader, keys: pa.Table) -> np.ndarray:
        """Row numbers of the rows with one of the keys, by the columns of the key alone."""
        of_keys = replace(reader, context=replace(reader.context, fields=self.key_fields))
        hits = [self._has_key_of(rows, keys).to_numpy() for rows in of_keys.batches(_BATCH_ROWS)]
        positions = of_keys.positions()
        return positions[np.concatenate(hits)] if hits else positions[:0]

    def _pruning(self, keys: pa.Table) -> Predicate | None:
        """What the first column of the keys says about row groups; nothing of floats, whose zeros have two orders."""
        field = self.key_fields[0]
        if field.type.root in ("FLOAT", "DOUBLE"):
            return None
        column = keys.column(field.name)
        if keys.num_rows <= _LISTED:
            return In(field.name, tuple(values_of_arrow(column.unique())))
        low, high = (values_of_arrow(column.slice(at, 1))[0] for at in (0, keys.num_rows - 1))
        return conjunction([Compare(">=", field.name, low), Compare("<=", field.name, high)])

    def _matching(self, rows: pa.Table, keys: pa.Table) -> pa.Table:
        return rows.filter(self._has_key_of(rows, keys))

    def _has_key_of(self, rows: pa.Table, keys: pa.Table) -> pa.ChunkedArray:
        keep = None
        for field in self.key_fields:
            matches = pc.is_in(rows.column(field.name), value_set=keys.column(field.name))
            keep = matches if keep is None else pc.and_(keep, matches)
        return keep

    def _shared(self, keys: pa.Table, rows: pa.Table) -> tuple[np.ndarray, np.ndarray]:
        """Which rows have one of the keys, and which keys one of the rows has."""
        names = [field.name for field in self.key_fields]
        columns = [
            pa.concat_arrays([keys.column(name).combine_chunks(), rows.column(name).combine_chunks()]) for name in names
        ]
        ranks = key_ranks(columns)
        of_keys, of_rows = ranks[: keys.num_rows], ranks[keys.num_rows :]
        return np.isin(of_rows, of_keys), np.isin(of_keys, of_rows)


def _places(parts: Sequence[tuple[str, pa.Table]], matched: np.ndarray) -> dict[str, BitMap]:
    by_file: dict[str, BitMap] = {}
    start = 0
    for name, rows in parts:
        positions = rows.column(ROW_ID.name).to_numpy()[matched[start : start + rows.num_rows]]
        if len(positions):
            by_file.setdefault(name, BitMap()).update(positions)
        start += rows.num_rows
    return by_file
