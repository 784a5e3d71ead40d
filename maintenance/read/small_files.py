"""Read data files one after the other, small ones together.

For a file of a few kilobytes most of the time goes into converting its columns, which costs the same for a few rows as
for many. So small parquet files with one schema are converted as one table; they are decoded in one call if their types
allow it, else one by one. If anything is unusual, each file is read separately, which also names the file in an error.
"""

from collections.abc import Iterator, Sequence

import pyarrow as pa

from maintenance.errors import PaimonError
from maintenance.format.data_format import natural_table
from maintenance.format.parquet.reader import read_stored
from maintenance.format.parquet.together import read_together
from maintenance.format.rows.system_fields import SYSTEM_FIELDS
from maintenance.read.data_file import DataFileReader

_SMALL_BYTES = 1 << 20
_TOGETHER_BYTES = 32 << 20
_SYSTEM_IDS = frozenset(field.id for field in SYSTEM_FIELDS)

_Kind = tuple[int, tuple[str, ...] | None]


def batches_of_files(readers: Sequence[DataFileReader], batch_rows: int) -> Iterator[pa.Table]:
    """The rows of files in the order given, in tables of at most `batch_rows` rows, or as many as a file has."""
    group: list[DataFileReader] = []
    rows = size = 0
    kind: _Kind | None = None
    for reader in readers:
        file, other = reader.file, _kind(reader)
        full = rows + file.row_count > batch_rows or size + file.file_size > _TOGETHER_BYTES
        if group and (full or other is None or other != kind):
            yield from _read(group, batch_rows)
            group, rows, size = [], 0, 0
        group.append(reader)
        kind, rows, size = other, rows + file.row_count, size + file.file_size
    if group:
        yield from _read(group, batch_rows)


def _kind(reader: DataFileReader) -> _Kind | None:
    """Files of one kind can be converted together; None for one whose rows depend on more than what it holds."""
    small = reader.file.file_size <= _SMALL_BYTES and reader.path.endswith(".parquet")
    chosen = reader.predicate is not None or not reader.rows.is_all
    if not small or chosen or any(field.id in _SYSTEM_IDS for field in reader.context.fields):
        return None
    return reader.file.schema_id, reader.file.write_cols


def _read(group: Sequence[DataFileReader], batch_rows: int) -> Iterator[pa.Table]:
    together = _together(group) if len(group) > 1 else None
    if together is not None:
        yield together
        return
    for reader in group:
        yield from reader.batches(batch_rows)


def _together(group: Sequence[DataFileReader]) -> pa.Table | None:
    """The rows of small files with the same schema; None where one of them is not what its metadata says."""
    first = group[0]
    fields = first.file_fields()
    names = [field.name for field in fields]
    try:
        stored = _decoded_together(group, names)
        if stored is None:
            stored = _decoded_one_by_one(group, names)
        if stored is None:
            return None
        return first.conform(natural_table(stored, fields, first.path))
    except PaimonError:
        return None


def _decoded_together(group: Sequence[DataFileReader], names: Sequence[str]) -> pa.Table | None:
    try:
        contents = group[0].context.file_io.read_many([reader.path for reader in group])
        if any(len(data) != reader.file.file_size for data, reader in zip(contents, group, strict=True)):
            return None
        rows = read_together(contents, names)
    except OSError:
        return None
    return rows if rows is not None and rows.num_rows == sum(reader.file.row_count for reader in group) else None


def _decoded_one_by_one(group: Sequence[DataFileReader], names: Sequence[str]) -> pa.Table | None:
    tables: list[pa.Table] = []
    for reader in group:
        with reader.context.file_io.open_input(reader.path, reader.file.file_size) as source:
            if source.size() != reader.file.file_size:
                return None
            rows = read_stored(source, names, reader.path)
        if rows.num_rows != reader.file.row_count or (tables and rows.schema != tables[0].schema):
            return None
        tables.append(rows)
    return pa.concat_tables(tables).combine_chunks()
