"""The rows of a data file whose keys are in a range, for tasks that share the files of a bucket."""

from collections.abc import Iterator
from dataclasses import dataclass, replace

import pyarrow as pa

from maintenance.format.metadata.data_file import DataFileMeta
from maintenance.merge.sort_words import key_ranks
from maintenance.predicate.tree import Compare, conjunction
from maintenance.read.data_file import DataFileReader
from maintenance.types.values import Value, values_of_arrow


@dataclass(frozen=True, slots=True)
class KeyRange:
    """Keys from `low` up to `high`, which is not among them; each one row of the key's columns, None = no end."""

    low: pa.Table | None = None
    high: pa.Table | None = None

    @property
    def is_all(self) -> bool:
        """Whether no key is out of it."""
        return self.low is None and self.high is None

    def narrowed(self, reader: DataFileReader) -> DataFileReader:
        """The reader, without parts of the file whose first key column is out of the range."""
        predicates: list[Compare] = []
        if self.low is not None:
            predicates.append(Compare(">=", *_first(self.low)))
        if self.high is not None:
            predicates.append(Compare("<=", *_first(self.high)))
        # Floats have two zeros, in two orders.
        exact = not any(isinstance(predicate.value, float) for predicate in predicates)
        return replace(reader, predicate=conjunction(predicates)) if exact and predicates else reader

    def of(self, rows: pa.Table) -> pa.Table:
        """Those of the rows, which ascend by key, that are in the range."""
        start = 0 if self.low is None else _first_from(rows, self.low)
        end = rows.num_rows if self.high is None else _first_from(rows, self.high)
        return rows.slice(start, max(0, end - start))

    def is_behind(self, rows: pa.Table) -> bool:
        """Whether the range ends before the last of the rows."""
        return self.high is not None and rows.num_rows > 0 and not is_below(rows, rows.num_rows - 1, self.high)


ALL_KEYS = KeyRange()


@dataclass(frozen=True, slots=True)
class RowsInRange:
    """A reader of a file that yields the rows of a range of keys."""

    reader: DataFileReader
    keys: KeyRange

    @property
    def file(self) -> DataFileMeta:
        return self.reader.file

    def unfiltered(self) -> DataFileReader:
        """The file without regard to the range."""
        return self.reader.unfiltered()

    def read(self) -> pa.Table:
        return self.keys.of(self.reader.read())

    def batches(self, batch_rows: int) -> Iterator[pa.Table]:
        for rows in self.reader.batches(batch_rows):
            inside = self.keys.of(rows)
            if inside.num_rows:
                yield inside
            if self.keys.is_behind(rows):
                return


def within(reader: DataFileReader, keys: KeyRange) -> DataFileReader | RowsInRange:
    """The reader of a file, which yields the rows of the range alone."""
    return reader if keys.is_all else RowsInRange(keys.narrowed(reader), keys)


def _first(key: pa.Table) -> tuple[str, Value]:
    """The first column of a key, and its value."""
    return key.column_names[0], values_of_arrow(key.column(0))[0]


def _first_from(rows: pa.Table, key: pa.Table) -> int:
    """The number of the first row that is not below a key. `rows`: ascending by key."""
    low, high = 0, int(rows.num_rows)
    if not high or not is_below(rows, 0, key):
        return 0
    if is_below(rows, high - 1, key):
        return high
    while low < high:
        middle = (low + high) // 2
        low, high = (middle + 1, high) if is_below(rows, middle, key) else (low, middle)
    return low


def is_below(rows: pa.Table, number: int, key: pa.Table) -> bool:
    """Whether a row is below a key, as records are merged."""
    pairs = [
        pa.concat_arrays([rows.column(name).slice(number, 1).combine_chunks(), key.column(name).combine_chunks()])
        for name in key.column_names
    ]
    row, other = key_ranks(pairs)
    return bool(row < other)
