"""Join the files that hold columns of the same rows: table option `data-evolution.enabled`.

The files of a group have the same row ids, so row n of one continues row n of another. Each column comes from the
newest file that has it. Nothing is filtered before the join, and the deletion vector, whose positions are those of the
group's oldest file, is applied after it. Source: Java `DataEvolutionSplitRead`, `DataEvolutionUtils`.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa

from maintenance.errors import ROLL_BACK, CorruptFileError
from maintenance.format.metadata.data_file import DataFileMeta, is_apart_from_rows, written_fields
from maintenance.format.metadata.schema import TableSchema
from maintenance.format.rows.system_fields import ROW_ID, SEQUENCE_NUMBER
from maintenance.read.apart import Open, tables_apart
from maintenance.read.data_file import ReadContext
from maintenance.read.row_selection import ALL_ROWS, RowSelection
from maintenance.scan.data_evolution import row_id_range
from maintenance.types.chosen_rows import chosen_rows
from maintenance.types.data_type import DataField


def anchor(files: Sequence[DataFileMeta]) -> DataFileMeta:
    """The file of a group that its deletion vector is named after: the oldest."""
    return min(_of_rows(files), key=lambda file: (file.max_sequence_number, file.file_name))


@dataclass(frozen=True, slots=True)
class _Part:
    """Some of the columns wanted, and the files that they are in: one of rows, or those apart from the rows."""

    fields: tuple[DataField, ...]
    files: tuple[DataFileMeta, ...]


def _parts(files: Sequence[DataFileMeta], context: ReadContext) -> list[_Part]:
    """Which columns to read of which files. Columns that no file has go with the first.

    Args: `files`: of one group, newest first. Raises: CorruptFileError: the files do not have the same rows.
    """
    rows = _of_rows(files)
    if len({(file.first_row_id, file.row_count) for file in rows}) > 1:
        raise CorruptFileError(
            "files of the same rows have other row ids",
            ", ".join(file.file_name for file in rows),
            ROLL_BACK,
        )
    own = {f.file_name: {own.id for own in written_fields(f, context.schemas[f.schema_id])} for f in files}
    apart = columns_apart(files, context.schemas.__getitem__)
    missing = list(context.fields)
    parts = []
    for file in rows:
        ids = own[file.file_name] - apart | {ROW_ID.id, SEQUENCE_NUMBER.id}
        of_file = tuple(field for field in missing if field.id in ids or field.name in context.partition_keys)
        missing = [field for field in missing if field not in of_file]
        if of_file:
            parts.append(_Part(of_file, (file,)))
    own_files = []
    for field in tuple(missing):
        holders = tuple(file for file in files if is_apart_from_rows(file) and field.id in own[file.file_name])
        if holders:
            missing.remove(field)
            own_files.append(_Part((field,), holders))
    if missing:
        first = parts[0] if parts else _Part((), (rows[0],))
        parts[:1] = [_Part((*first.fields, *missing), first.files)]
    return parts + own_files


def columns_apart(files: Sequence[DataFileMeta], schema_of: Callable[[int], TableSchema]) -> frozenset[int]:
    """The columns, by id, of a group that are in files apart from the rows, and in no file of the rows.

    A file of rows that does not say which columns it has lacks those. Args: `schema_of`: loads schemas by id.
    """
    rows, own_files = set[int](), set[int]()
    for file in files:
        if is_apart_from_rows(file):
            own_files.update(field.id for field in written_fields(file, schema_of(file.schema_id)))
        elif file.write_cols is not None:
            rows.update(field.id for field in written_fields(file, schema_of(file.schema_id)))
    return frozenset(own_files - rows)


def joined(
    files: Sequence[DataFileMeta],
    context: ReadContext,
    open_file: Open,
    batch_rows: int,
    chosen: RowSelection = ALL_ROWS,
) -> Iterator[pa.Table]:
    """The rows of a group in tables of bounded size, with the columns of `context` in its order.

    Args: `files`: of the group, newest first; `open_file`: reads columns of one of them, without deletion vector;
        `chosen`: which rows of the group.
    """
    rows = row_id_range(_of_rows(files)[0])
    chosen = chosen.loaded(context.file_io, len(rows))
    live, only, count = None, ALL_ROWS, len(rows)
    if chosen.only_deletes:  # what is read of all parts is compared with their number of rows
        live = chosen.live(len(rows))
    elif (numbers := chosen.numbers(len(rows))) is not None:
        only, count = RowSelection(exactly=numbers), len(numbers)
    streams = [_Stream(_tables(part, rows, open_file, batch_rows, only)) for part in _parts(files, context)]
    names = [field.name for field in context.fields]
    start = 0
    for taken in _in_step(streams):
        columns = {name: part.column(name) for part in taken for name in part.column_names}
        table = pa.table([columns[name] for name in names], names=names)
        end = start + table.num_rows
        yield table if live is None else chosen_rows(table, live[start:end])
        start = end
    if start != count:
        raise CorruptFileError(
            f"files of the same rows end after {start} of {count} rows",
            ", ".join(file.file_name for file in files),
            ROLL_BACK,
        )


def _tables(part: _Part, rows: range, open_file: Open, batch_rows: int, chosen: RowSelection) -> Iterator[pa.Table]:
    if is_apart_from_rows(part.files[0]):
        return tables_apart(part.files, part.fields, rows, open_file, batch_rows, chosen)
    return replace(open_file(part.files[0], part.fields), rows=chosen).batches(batch_rows)


class _Stream:
    """Tables of the same columns, of which any number of rows can be taken."""

    def __init__(self, tables: Iterator[pa.Table]) -> None:
        self._tables = tables
        self._rest: pa.Table | None = next(self._tables, None)

    def __len__(self) -> int:
        """Rows at hand, 0 at the end of the file."""
        while self._rest is not None and not self._rest.num_rows:
            self._rest = next(self._tables, None)
        return 0 if self._rest is None else self._rest.num_rows

    def take(self, rows: int) -> pa.Table:
        assert self._rest is not None
        taken, self._rest = self._rest.slice(0, rows), self._rest.slice(rows)
        return taken


def _in_step(streams: Sequence[_Stream]) -> Iterator[list[pa.Table]]:
    """Tables of all streams with the same rows, until one ends: batches of files end where their row groups do."""
    while rows := int(np.min([len(stream) for stream in streams])):
        yield [stream.take(rows) for stream in streams]


def _of_rows(files: Sequence[DataFileMeta]) -> list[DataFileMeta]:
    """The files of a group that have all of its rows."""
    row_files = [file for file in files if not is_apart_from_rows(file)]
    if not row_files:
        raise CorruptFileError(
            "a file apart from the rows is there, and no file of the rows",
            files[0].file_name,
            ROLL_BACK,
        )
    return row_files
