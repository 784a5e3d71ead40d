"""Reading ORC data files. Source: data section 1.5, Java `OrcReaderFactory`.

Arrow reads whole stripes; those that a filter rules out are left out here, by the statistics of the file's end.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import orc

from maintenance.errors import RESTORE, CorruptFileError, PaimonError
from maintenance.format.data_format import (
    EVERY_ROW,
    DataFormat,
    FileSelection,
    in_batches,
    is_of_storage,
    natural_table,
)
from maintenance.format.orc.map_keys import check_map_keys, has_map
from maintenance.format.orc.stripes import matching_stripes
from maintenance.format.orc.tail import OrcTail
from maintenance.format.orc.timestamps import ExactStripes, is_legacy, is_wrong_in_arrow, times_in
from maintenance.format.orc.writer import prepare_writer
from maintenance.format.orc.zones import is_missing_database, missing_database
from maintenance.types.arrow import element_of, map_parts
from maintenance.types.data_type import DataField, DataType
from maintenance.types.nested import Path, Rebuild

T = TypeVar("T")


class _OrcReader:
    def __init__(self, source: pa.NativeFile, path: str, options: Mapping[str, str]) -> None:
        self._source = source
        self._path = path
        self._legacy = is_legacy(options)
        self._exact: ExactStripes | None = None
        self._matching: list[int] | None = None
        self._file = self._safely(lambda: orc.ORCFile(source))

    @cached_property
    def _tail(self) -> OrcTail:
        """Parsed here, which damaged bytes make fail in every way."""
        return OrcTail.read(self._source)

    def read(self, fields: Sequence[DataField], selection: FileSelection = EVERY_ROW) -> pa.Table:
        tables = list(self._tables(fields, selection))
        if not tables:
            names = [field.name for field in fields]
            empty = self._file.schema.empty_table()
            tables = [self._natural(empty.select([name for name in names if name in empty.column_names]), fields)]
        return pa.concat_tables(tables)

    def batches(
        self, fields: Sequence[DataField], batch_rows: int, selection: FileSelection = EVERY_ROW
    ) -> Iterator[pa.Table]:
        return in_batches(self._tables(fields, selection), batch_rows)

    def _tables(self, fields: Sequence[DataField], selection: FileSelection) -> Iterator[pa.Table]:
        """The stripes that the filter does not rule out."""
        self._check_columns(fields)
        if any(map(has_map, fields)):
            self._safely(lambda: check_map_keys(self._tail, fields, self._path))
        if self._has_wrong_times(times_in(fields)):
            self._exact = self._exact_stripes()
        for number in self._stripes(selection):
            yield self._natural(self._stripe(number, fields), fields)

    def _has_wrong_times(self, times: set[str]) -> bool:
        return bool(times) and self._safely(
            lambda: is_wrong_in_arrow(self._source, self._tail, times, legacy=self._legacy)
        )

    def _stripes(self, selection: FileSelection) -> Sequence[int]:
        """Numbers of the stripes that may hold wanted rows."""
        every = range(self._file.nstripes)
        if self._file.nstripes <= 1:
            return every
        filter_ = selection.filter
        if filter_ is not None and self._matching is None:
            self._matching = self._safely(lambda: matching_stripes(self._tail, self._file.schema, filter_))
        matching = every if filter_ is None or self._matching is None else self._matching
        if selection.rows is None:
            return matching
        within = selection.within(self._starts())
        return [number for number in matching if within[number]]

    def _starts(self) -> np.ndarray:
        """First row of each stripe, and the number of rows."""
        rows = [stripe.rows for stripe in self._safely(lambda: self._tail).stripes]
        return np.cumsum([0, *rows])

    def positions(self, selection: FileSelection = EVERY_ROW) -> np.ndarray | None:
        matching = self._stripes(selection)
        if len(matching) == self._file.nstripes:
            return None
        firsts = self._starts()
        parts = [np.arange(firsts[number], firsts[number + 1]) for number in matching]
        return np.concatenate(parts) if parts else np.zeros(0, np.int64)

    def _check_columns(self, fields: Sequence[DataField]) -> None:
        for field in fields:
            if field.name not in self._file.schema.names:
                raise CorruptFileError(f"the file has no column '{field.name}'", self._path, RESTORE)

    def _stripe(self, number: int, fields: Sequence[DataField]) -> pa.Table:
        names = [field.name for field in fields]
        if self._exact is None:
            try:
                return pa.Table.from_batches([self._file.read_stripe(number, names)])
            except (pa.ArrowException, OSError) as error:
                if is_of_storage(error):
                    raise
                if is_missing_database(error):
                    raise missing_database(self._path) from error
                if "out of range for nanosecond" not in str(error):
                    raise self._damaged(error) from error
                self._exact = self._exact_stripes()
        exact = self._exact
        return self._safely(lambda: exact.stripe(number, fields))

    def _exact_stripes(self) -> ExactStripes:
        return self._safely(lambda: ExactStripes(self._source, self._path, legacy=self._legacy))

    def _natural(self, table: pa.Table, fields: Sequence[DataField]) -> pa.Table:
        return _without_padding(natural_table(table, fields, self._path), fields)

    def _safely(self, read: Callable[[], T]) -> T:
        """What a decoder returns. It meets bytes of unknown origin, and damaged ones make it fail in every way."""
        try:
            return read()
        except PaimonError:
            raise
        except Exception as error:
            if is_of_storage(error):
                raise
            raise self._damaged(error) from error

    def _damaged(self, error: Exception) -> CorruptFileError:
        return CorruptFileError(f"the file is not ORC, or damaged: {error}", self._path, RESTORE)


def _without_padding(table: pa.Table, fields: Sequence[DataField]) -> pa.Table:
    """ORC pads a CHAR(n) with blanks up to its length, and Java's reader takes them off."""
    for number, field in enumerate(fields):
        padded = set(_char_paths(field.type))
        if padded:
            column = table.column(number)
            table = table.set_column(number, field.name, _trimming(padded).column(column, column.type))
    return table


def _char_paths(data_type: DataType, path: Path = ()) -> Iterator[Path]:
    """Where a type contains CHAR."""
    match data_type.root:
        case "CHAR":
            yield path
        case "ARRAY":
            yield from _char_paths(element_of(data_type), (*path, "element"))
        case "MAP" | "MULTISET":
            for name, part in zip(("key", "value"), map_parts(data_type), strict=True):
                yield from _char_paths(part, (*path, name))
        case "ROW":
            for field in data_type.fields:
                yield from _char_paths(field.type, (*path, field.name))


def _trimming(padded: set[Path]) -> Rebuild:
    return Rebuild(lambda array, _, path: pc.utf8_rtrim(array, " ") if path in padded else array)


def _open_reader(
    source: pa.NativeFile, path: str, options: Mapping[str, str], columns: Sequence[DataField] = ()
) -> _OrcReader:
    return _OrcReader(source, path, options)


ORC = DataFormat("orc", _open_reader, prepare_writer, keeps_long_decimals=False)
