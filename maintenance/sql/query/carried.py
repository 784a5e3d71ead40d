"""Rows on their way through DuckDB, whose timestamps of nanoseconds lose digits in casts and end in 1677 and 2262.

A TIMESTAMP(7..9) is a struct there: microseconds, and the nanoseconds behind them. Structs compare, sort, group and
join by their parts in this order, and nothing rounds them. Expressions that need a timestamp name the microseconds.
"""

import json
from collections.abc import Sequence

import pyarrow as pa

from maintenance.format.variant.extension import VariantType, far_type
from maintenance.types import nanos
from maintenance.types.arrow import VARIANT, arrow_type
from maintenance.types.data_type import DataField, DataType
from maintenance.types.far_timestamps import FarTimestampType, in_far
from maintenance.types.nanos import NANOS, in_nanoseconds
from maintenance.types.nested import Path, Rebuild, leaves_of, retyped
from maintenance.types.type_text import parse_data_type

MICROS, REST = "paimon_micros", "paimon_nanos"
"""The parts of such a struct."""
CARRIED = f"STRUCT({MICROS} "
"""How the name of its type begins in DuckDB."""


class _CarriedType(pa.ExtensionType):  # type: ignore[misc]
    """The struct as one leaf, while columns are taken apart."""

    def __init__(self, tz: str | None) -> None:
        self.tz = tz
        parts = [pa.field(MICROS, pa.timestamp("us", tz)), pa.field(REST, pa.int16())]
        super().__init__(pa.struct(parts), "paimon.carried")

    def __arrow_ext_serialize__(self) -> bytes:
        return (self.tz or "").encode()

    @classmethod
    def __arrow_ext_deserialize__(cls, storage_type: pa.DataType, serialized: bytes) -> "_CarriedType":
        return cls(serialized.decode() or None)


def carried(rows: pa.Table, fields: Sequence[DataField]) -> pa.Table:
    """Rows as DuckDB gets them. `fields`: the columns, whose timestamps may be in any form."""
    schema, columns = carried_schema(fields), []
    for column, field, wanted in zip(rows.columns, fields, schema, strict=True):
        made = column
        if column.type != wanted.type:
            made = _REBUILD.column(_REBUILD.column(column, retyped(far_type(field), _as_leaf)), wanted.type)
        columns.append(made)
    return pa.Table.from_arrays(columns, schema=schema)


_DECLARED = b"paimon_declared"
"""Under this key a schema has the types of its columns as a table declares them, in the order of their names."""


def with_declared(rows: pa.Table, fields: Sequence[DataField]) -> pa.Table:
    """The rows, which know what their columns are declared as: with lengths and NOT NULL."""
    return rows.replace_schema_metadata({_DECLARED: json.dumps([[each.name, str(each.type)] for each in fields])})


def declared_types(schema: pa.Schema) -> list[tuple[str, DataType]]:
    """The types by name, as far as they are known."""
    listed = json.loads((schema.metadata or {}).get(_DECLARED, b"[]"))
    return [(name, parse_data_type(text)) for name, text in listed]


def carried_schema(fields: Sequence[DataField]) -> pa.Schema:
    """The schema of such rows."""
    return pa.schema([(field.name, retyped(retyped(far_type(field), _as_leaf), _stored)) for field in fields])


def uncarried(rows: pa.Table) -> pa.Table:
    """Rows as users get them: timestamps in nanoseconds, or far ones where these do not hold all of a column.

    Instants are in UTC, whatever the zone that DuckDB shows them in.
    """
    for number, field in enumerate(rows.schema):
        column, counted = rows.column(number), retyped(field.type, _counted)
        has_far = False
        if counted != field.type:
            column = _REBUILD.column(column, counted)
            leaves = leaves_of(pa.table({"": column}))
            has_far = any(leaf.type == NANOS and not nanos.fits_nanoseconds(leaf) for leaf in leaves)
        kind = retyped(field.type, _far if has_far else _near)
        if kind != field.type:
            rows = rows.set_column(number, field.with_type(kind), _REBUILD.column(column, kind))
    return rows


def natural(column: pa.ChunkedArray, field: DataField) -> pa.ChunkedArray:
    """A column as the engine has it, in whatever form it was read. Its values are not checked."""
    kind = arrow_type(field.type, f"column {field.name}")
    return column if column.type == kind else _REBUILD.column(column, kind)


def is_carried(arrow: pa.DataType) -> bool:
    """Whether it is the type of such a struct."""
    return pa.types.is_struct(arrow) and [part.name for part in arrow] == [MICROS, REST]


def _as_leaf(arrow: pa.DataType) -> pa.DataType | None:
    return _CarriedType(arrow.tz) if isinstance(arrow, FarTimestampType) else None


def _stored(arrow: pa.DataType) -> pa.DataType | None:
    if isinstance(arrow, _CarriedType):
        return arrow.storage_type
    return VARIANT if isinstance(arrow, VariantType) else None


def _counted(arrow: pa.DataType) -> pa.DataType | None:
    return NANOS if is_carried(arrow) else None


def _far(arrow: pa.DataType) -> pa.DataType | None:
    return FarTimestampType(_zone(arrow.field(0).type)) if is_carried(arrow) else _in_utc(arrow)


def _near(arrow: pa.DataType) -> pa.DataType | None:
    return pa.timestamp("ns", _zone(arrow.field(0).type)) if is_carried(arrow) else _in_utc(arrow)


def _in_utc(arrow: pa.DataType) -> pa.DataType | None:
    return pa.timestamp(arrow.unit, _zone(arrow)) if pa.types.is_timestamp(arrow) else None


def _zone(arrow: pa.TimestampType) -> str | None:
    return None if arrow.tz is None else "UTC"


def _leaf(array: pa.Array, target: pa.DataType, _: Path) -> pa.Array:
    if isinstance(target, VariantType):
        return pa.ExtensionArray.from_storage(target, array)
    if isinstance(target, FarTimestampType):
        return in_far(array, target)
    if isinstance(target, _CarriedType):
        counted = _nanos_of(array)
        parts = nanos.parts_of(counted)
        typed = [pa.array(part).cast(field.type) for part, field in zip(parts, target.storage_type, strict=True)]
        mask = counted.is_null() if counted.null_count else None
        storage = pa.StructArray.from_arrays(typed, fields=list(target.storage_type), mask=mask)
        return pa.ExtensionArray.from_storage(target, storage)
    if target == NANOS:
        return _nanos_of(array)
    if pa.types.is_timestamp(target):
        return in_nanoseconds(array, target.tz) if array.type == NANOS else array.cast(target)
    return array


def _nanos_of(array: pa.Array) -> pa.Array:
    """Timestamps in any form as the engine has them."""
    if pa.types.is_timestamp(array.type):
        return nanos.widened(array)
    if array.type == NANOS:
        return array
    micros, rest = array.flatten()  # null where the struct is
    return nanos.with_rest(micros, rest.cast(pa.int64()).fill_null(0).to_numpy(zero_copy_only=False))


_REBUILD = Rebuild(_leaf)
