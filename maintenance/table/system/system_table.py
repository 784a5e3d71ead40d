"""What a system table is."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Self

import pyarrow as pa

from maintenance.predicate.tree import Predicate
from maintenance.table.table import Table

LOCAL_TIMESTAMP = pa.timestamp("ms")


@dataclass(frozen=True, slots=True)
class SystemTable:
    """A read-only table over a table's metadata.

    Attributes:
        schema: the columns, as Paimon 2.0 shows them.
        rows: of the table as its options say, with `schema` and then `hidden`.
        hidden: columns that are read only by name: Paimon has them in other releases.
        check: raises NotFoundError where a condition names what Paimon refuses to look for.
    """

    name: str
    schema: pa.Schema
    rows: Callable[[Table], list[tuple[object, ...]]]
    hidden: tuple[pa.Field, ...] = ()
    check: Callable[[Table, Predicate], None] | None = None

    def with_hidden(self) -> Self:
        """This table with all of its columns shown."""
        return replace(self, schema=pa.schema([*self.schema, *self.hidden]), hidden=())

    def read(self, table: Table) -> pa.Table:
        """All rows, with the hidden columns."""
        fields = [*self.schema, *self.hidden]
        columns: Sequence[Sequence[object]] = list(zip(*self.rows(table), strict=True)) or [[] for _ in fields]
        arrays = [_array(values, field.type) for values, field in zip(columns, fields, strict=True)]
        return pa.Table.from_arrays(arrays, schema=pa.schema([field.with_nullable(True) for field in fields]))


def required(name: str, kind: pa.DataType) -> pa.Field:
    """A column that always has a value."""
    return pa.field(name, kind, nullable=False)


def _array(values: Sequence[object], data_type: pa.DataType) -> pa.Array:
    if pa.types.is_timestamp(data_type):
        return pa.array(values, pa.int64()).cast(data_type)
    return pa.array(values, data_type)
