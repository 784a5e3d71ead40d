"""Reading ORC data files. Source: data section 1.5, Java `OrcReaderFactory`."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import orc

from maintenance.errors import CorruptFileError, UnsupportedError
from maintenance.format.data_format import DataFormat, natural_table
from maintenance.format.orc_writer import prepare_writer
from maintenance.types.data_type import DataField

T = TypeVar("T")


class _OrcReader:
    def __init__(self, source: pa.NativeFile, path: str) -> None:
        self._path = path
        try:
            self._file = orc.ORCFile(source)
        except (pa.ArrowException, OSError) as error:
            raise CorruptFileError(f"the file is not ORC: {error}", path, "Restore it, or roll back.") from error

    def read(self, fields: Sequence[DataField], filter_: pc.Expression | None) -> pa.Table:
        names = [field.name for field in fields]
        table = self._decoded(partial(self._file.read, names))
        return _without_padding(natural_table(table, fields, self._path), fields)

    def batches(
        self, fields: Sequence[DataField], batch_rows: int, filter_: pc.Expression | None
    ) -> Iterator[pa.Table]:
        names = [field.name for field in fields]
        for stripe in range(self._file.nstripes):
            batch = self._decoded(partial(self._file.read_stripe, stripe, names))
            table = natural_table(pa.Table.from_batches([batch]), fields, self._path)
            table = _without_padding(table, fields)
            for start in range(0, table.num_rows, batch_rows):
                yield table.slice(start, batch_rows)

    def positions(self, filter_: pc.Expression | None) -> np.ndarray | None:
        return None

    def _decoded(self, read: Callable[[], T]) -> T:
        try:
            return read()
        except (pa.ArrowException, OSError) as error:
            if "out of range for nanosecond" not in str(error):
                raise CorruptFileError(
                    f"the file is damaged: {error}", self._path, "Restore it, or roll back."
                ) from error
            raise UnsupportedError(
                f"ORC timestamps before 1677-09-21 or after 2262-04-11 are not supported yet: {error}",
                self._path,
                "Leave the column out of the read, or store the table as parquet.",
            ) from error


def _without_padding(table: pa.Table, fields: Sequence[DataField]) -> pa.Table:
    """ORC pads a CHAR(n) with blanks up to its length, and Java's reader takes them off."""
    for number, field in enumerate(fields):
        if field.type.root == "CHAR":
            table = table.set_column(number, field.name, pc.utf8_rtrim(table.column(number), " "))
    return table


def _open_reader(source: pa.NativeFile, path: str, _: Mapping[str, str]) -> _OrcReader:
    return _OrcReader(source, path)


ORC = DataFormat("orc", _open_reader, prepare_writer)
