"""What a format of data files is to the rest of the engine: a reader, and a writer with its settings.

Each format has a module of its own; `data_formats` lists them.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Protocol, TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from maintenance.errors import RESTORE, CorruptFileError, OptionError, UnsupportedError
from maintenance.format.parquet.int96 import STORED, unpacked
from maintenance.format.variant.shredding import unshredded
from maintenance.options.model import TableModel
from maintenance.types.arrow import arrow_type, in_unit
from maintenance.types.data_type import DataField
from maintenance.types.nanos import NANOS, widened
from maintenance.types.nested import Path, Rebuild

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class RowFilter:
    """Tells which rows of a file are wanted.

    Attributes:
        columns: of the file, whose values tell it.
        mask: of a table with these columns, in natural types: which rows are wanted. bool, shape (n,).
    """

    columns: frozenset[str]
    mask: Callable[[pa.Table], np.ndarray]


@dataclass(frozen=True, slots=True)
class FileSelection:
    """Which rows of a file are wanted; a reader may leave out parts of the file that hold none.

    Attributes:
        filter: over the file's columns, for its statistics; None for all.
        rows: numbers in the file, ascending; None for all.
        matching: rows may be left out one by one; positions are not asked for then. None for all.
    """

    filter: pc.Expression | None = None
    rows: np.ndarray | None = None
    matching: RowFilter | None = None

    def within(self, starts: np.ndarray) -> np.ndarray:
        """Which parts of the file hold one of the `rows`. `starts`: first row of each part, and the end of the last."""
        if self.rows is None:
            return np.ones(len(starts) - 1, bool)
        return np.diff(np.searchsorted(self.rows, starts)) > 0


EVERY_ROW = FileSelection()


def in_batches(tables: Iterable[pa.Table], batch_rows: int) -> Iterator[pa.Table]:
    """Tables that are decoded at once, cut into such of at most `batch_rows` rows."""
    for table in tables:
        for start in range(0, table.num_rows, batch_rows):
            yield table.slice(start, batch_rows)


class DataReader(Protocol):
    """An open data file. Takes columns as the file's own schema declares them, and returns natural Arrow types."""

    def read(self, fields: Sequence[DataField], selection: FileSelection = EVERY_ROW) -> pa.Table:
        """All rows, without those parts of the file that have no requested row, and perhaps without single ones."""

    def batches(
        self, fields: Sequence[DataField], batch_rows: int, selection: FileSelection = EVERY_ROW
    ) -> Iterator[pa.Table]:
        """The same in tables of at most `batch_rows` rows, decoded as they are asked for where the format allows."""

    def positions(self, selection: FileSelection = EVERY_ROW) -> np.ndarray | None:
        """Numbers in the file, from 0, of the rows that `read` and `batches` give, ascending; None = of all rows."""


class DataWriter(Protocol):
    """A data file being written. The sink it was opened on stays open."""

    @property
    def size(self) -> int:
        """Bytes written so far; what a format still holds in memory does not count."""

    def write(self, rows: pa.Table) -> None:
        """Take rows: the file's columns in its order, in natural Arrow types. Parquet makes one row group of them."""

    def close(self) -> None:
        """Write the rest."""


@dataclass(frozen=True, slots=True)
class FileSettings:
    """How data files of one level, or changelog files, are written.

    Attributes:
        format: name of the format, which is the file's extension.
        compression: as options name it, in lower case; every format has its own codecs.
        zstd_level: of the compression `zstd`.
        block_bytes: of a row group or stripe in memory.
        target_bytes: size at which a file is closed.
        options: the table's, for the keys that belong to a format (`orc.…`).
        threads: that may encode rows; what they have at hand is held in memory.
    """

    format: str = "parquet"
    compression: str = "zstd"
    zstd_level: int = 1
    block_bytes: int = 128 << 20
    target_bytes: int = 128 << 20
    options: TableModel = field(default_factory=TableModel)
    threads: int = 1


OpenWriter = Callable[[pa.NativeFile], DataWriter]


class OpenReader(Protocol):
    """Opens a file. Raises: CorruptFileError."""

    def __call__(
        self, source: pa.NativeFile, path: str, options: Mapping[str, str], columns: Sequence[DataField] = ()
    ) -> DataReader:
        """A reader.

        Args: `path`: for messages; `options`: of the table that the file belongs to; `columns`: all of the file, in its
            order, for formats whose files do not say it.
        """


@dataclass(frozen=True, slots=True)
class DataFormat:
    """A format.

    Attributes:
        prepare_writer: checks that a file with these columns and settings can be written, and returns what opens one.
            Raises OptionError, UnsupportedError.
        keeps_long_decimals: a sum with more digits than its type has can be read again; else it is null.
    """

    name: str
    open_reader: OpenReader
    prepare_writer: Callable[[Sequence[DataField], FileSettings], OpenWriter]
    keeps_long_decimals: bool = True


def is_of_storage(error: Exception) -> bool:
    """Whether reading failed, which says nothing about the file's content. Arrow's decoders raise a plain OSError.

    So does its ORC reader where the storage fails, and says so.
    """
    if not isinstance(error, OSError):
        return False
    return error.errno is not None or type(error) is not OSError or str(error).startswith("Arrow error: IOError: ")


@contextmanager
def decoding(path: str, problem: str = "the file is damaged") -> Iterator[None]:
    """Decoding a data file, whose bytes may be anything. Raises: CorruptFileError for what Arrow says of them."""
    try:
        yield
    except (pa.ArrowException, OSError) as error:
        if is_of_storage(error):
            raise
        raise CorruptFileError(f"{problem}: {error}", path, RESTORE) from error


def natural_table(table: pa.Table, fields: Sequence[DataField], path: str) -> pa.Table:
    """The columns in the order wanted, in natural types. Raises: CorruptFileError: one is missing or does not fit."""
    for part in fields:
        if part.name not in table.column_names:
            raise CorruptFileError(f"the file has no column '{part.name}'", path, RESTORE)
    try:
        columns = [natural(table.column(part.name), part) for part in fields]
    except UnsupportedError as error:
        raise error.at(path) from error
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
        raise CorruptFileError(
            f"the file holds values that its columns cannot: {error}", path, "Leave these columns out of the read."
        ) from error
    if not fields:
        return table
    return pa.Table.from_arrays(columns, names=[part.name for part in fields])


def natural(column: pa.ChunkedArray, field: DataField) -> pa.ChunkedArray:
    """A column as read, in the natural Arrow type of its Paimon type where the file holds another form.

    Raises: pa.ArrowInvalid, pa.ArrowNotImplementedError: it has no such form; UnsupportedError: a value is too large.
    """
    target = arrow_type(field.type, f"column {field.name}")
    # Arrow takes lists and maps for equal whatever their parts are called, and whether they allow null.
    if column.type == target and not pa.types.is_nested(target):
        return column
    try:
        return _NATURAL.column(column, target)
    except UnsupportedError as error:
        raise error.at(f"column {field.name}") from error


def _natural_leaf(array: pa.Array, target: pa.DataType, _: Path) -> pa.Array:
    if array.type == target:
        return array
    if target == NANOS:
        return unpacked(array, target) if array.type == STORED else widened(array)
    if pa.types.is_timestamp(target):
        if array.type == STORED:
            return unpacked(array, target)
        if pa.types.is_timestamp(array.type):
            # Units differ, or the zone: Paimon's readers take the number as is.
            return in_unit(array.cast(pa.timestamp(array.type.unit)), target.unit).cast(target)
    if pa.types.is_time64(array.type) and pa.types.is_time32(target):
        return array.cast(target, safe=False)
    return array.cast(target)


_NATURAL = Rebuild(_natural_leaf, variants=lambda array, _: unshredded(array))


def format_options(settings: FileSettings, honoured: Sequence[str], harmless: Sequence[str] = ()) -> dict[str, str]:
    """The settings' options of its format, without the prefix.

    Args: `honoured`: keys that the format's writer follows; `harmless`: those of readers, and how much a writer
        buffers.
    Raises: UnsupportedError: another key is set.
    """
    prefix = f"{settings.format}."
    of_format = {key.removeprefix(prefix): text for key, text in settings.options.items() if key.startswith(prefix)}
    for key, text in of_format.items():
        if key not in honoured and key not in harmless:
            raise UnsupportedError(
                f"option '{prefix}{key}' = '{text}' is not supported when writing",
                "options",
                f"Unset it. Supported are {', '.join(prefix + name for name in honoured)}.",
            )
    return {key: text for key, text in of_format.items() if key in honoured}


def number_of_option(
    settings: FileSettings, options: Mapping[str, str], key: str, default: T, parse: Callable[[str], T]
) -> T:
    """The value of a key out of `format_options`. Raises: OptionError: it is not a number."""
    if key not in options:
        return default
    try:
        return parse(options[key])
    except ValueError as error:
        problem = f"'{settings.format}.{key}' = '{options[key]}': expected a number"
        raise OptionError(problem, "options", f"Correct the option, or unset it: the default is {default}.") from error
