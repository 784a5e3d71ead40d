"""Read one data file under a newer schema.

Columns are found by name in the schema the file was written with and mapped to the wanted columns by field id; a column
that the file lacks is null. Partition columns are filled from the manifest's partition, not from the file.
Source: seed 000 (schema evolution), Java `SchemaEvolutionUtil`.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from maintenance.errors import UnsupportedError
from maintenance.format.data_file import DataFileMeta
from maintenance.format.data_formats import open_data_file
from maintenance.format.schema import TableSchema
from maintenance.format.system_fields import SEQUENCE_NUMBER, VALUE_KIND
from maintenance.fs.file_io import FileIO
from maintenance.predicate.arrow import expression
from maintenance.predicate.tree import Predicate
from maintenance.types.arrow import arrow_type
from maintenance.types.data_type import DataField, DataType
from maintenance.types.values import Value, arrow_of_values

_SYSTEM_IDS = (SEQUENCE_NUMBER.id, VALUE_KIND.id)


@dataclass(frozen=True, slots=True)
class ReadContext:
    """What reading any file of a table needs.

    Attributes:
        schemas: the schemas that the files were written with, by id.
        fields: the columns wanted, in order; may hold the system columns of sequence number and row kind.
        partition_keys: names of partition columns.
    """

    file_io: FileIO
    schemas: Mapping[int, TableSchema]
    fields: tuple[DataField, ...]
    partition_keys: tuple[str, ...] = ()

    @property
    def arrow_schema(self) -> pa.Schema:
        """Schema of what is read: natural types; all nullable, for a missing column reads null."""
        return pa.schema([pa.field(f.name, arrow_type(f.type, f"column {f.name}")) for f in self.fields])


@dataclass(frozen=True, slots=True)
class DataFileReader:
    """One data file, opened anew for each reading.

    Attributes:
        partition: partition columns and their values, from the manifest.
        predicate: over wanted columns; only prunes row groups, rows are not filtered.
    """

    context: ReadContext
    path: str
    file: DataFileMeta
    partition: Mapping[str, Value]
    predicate: Predicate | None = None

    def read(self) -> pa.Table:
        """The whole file, without the parts that the predicate rules out."""
        with self.context.file_io.open_input(self.path) as source:
            return self._conform(
                open_data_file(source, self.path, self._options).read(self._file_fields(), self._filter())
            )

    def batches(self, batch_rows: int) -> Iterator[pa.Table]:
        """The file in tables of at most `batch_rows` rows, decoded as they are asked for."""
        with self.context.file_io.open_input(self.path) as source:
            reader = open_data_file(source, self.path, self._options)
            for table in reader.batches(self._file_fields(), batch_rows, self._filter()):
                yield self._conform(table)

    @property
    def _options(self) -> Mapping[str, str]:
        return self.context.schemas[self.file.schema_id].options

    def _filter(self) -> pc.Expression | None:
        """The predicate over the file's own columns; None if their names or types may differ from the wanted ones."""
        if self.predicate is None or self.file.schema_id != max(self.context.schemas):
            return None
        return expression(self.predicate, [f for f in self.context.fields if f.name not in self.partition])

    def _sources(self) -> list[DataField | None]:
        """For each wanted column the file's own column of that id, None if it has none."""
        own = {field.id: field for field in self.context.schemas[self.file.schema_id].fields}
        own |= {SEQUENCE_NUMBER.id: SEQUENCE_NUMBER, VALUE_KIND.id: VALUE_KIND}
        return [None if f.name in self.partition else own.get(f.id) for f in self.context.fields]

    def _file_fields(self) -> list[DataField]:
        """The file's own columns to read; one even if none is wanted, for the number of rows."""
        found = [field for field in self._sources() if field is not None]
        return found or list(self.context.schemas[self.file.schema_id].fields[:1])

    def _conform(self, table: pa.Table) -> pa.Table:
        """The file's columns as the wanted ones."""
        columns: list[pa.ChunkedArray | pa.Array] = []
        for field, source in zip(self.context.fields, self._sources(), strict=True):
            if source is None:
                columns.append(_constant(self.partition.get(field.name), field, table.num_rows))
            else:
                columns.append(_converted(table.column(source.name), source, field, self.path))
        return pa.Table.from_arrays(columns, schema=self.context.arrow_schema)


def _constant(value: Value, field: DataField, rows: int) -> pa.Array:
    single = arrow_of_values([value], field.type)
    return pa.repeat(single[0], rows) if value is not None else pa.nulls(rows, single.type)


def _converted(column: pa.ChunkedArray, source: DataField, target: DataField, where: str) -> pa.ChunkedArray:
    if source.type.as_nullable() == target.type.as_nullable():
        return column
    wanted = arrow_type(target.type, f"column {target.name}")
    if _holds(target.type, source.type):
        return column.cast(wanted)
    raise UnsupportedError(
        f"column '{target.name}' changed from {source.type} to {target.type}: this cast is not supported yet",
        where,
        "Leave the column out of the read.",
    )


def _holds(target: DataType, source: DataType) -> bool:
    """Whether each value of `source` is one of `target` as it stands. CHAR and BINARY pad, so they do not."""
    if source.is_integer and target.is_integer:
        return arrow_type(target).bit_width >= arrow_type(source).bit_width
    if target.root == ("VARCHAR" if source.is_string else "VARBINARY" if source.is_bytes else None):
        return (target.length or 0) >= (source.length or 0)
    if source.is_timestamp and arrow_type(source) == arrow_type(target):
        return (target.precision or 0) >= (source.precision or 0)
    return False


def read_fields(names: Sequence[str] | None, schema: TableSchema) -> tuple[DataField, ...]:
    """The columns of these names in this order; all of the table's for None."""
    return tuple(schema.fields) if names is None else schema.fields_of(tuple(names))
