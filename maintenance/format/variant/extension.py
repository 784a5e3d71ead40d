"""Columns as users of Arrow get them, where these are not what the engine works on.

A VARIANT is an extension type over the stored struct. The storage keeps the bytes, so that what was read can be
written again without a change. As Python values variants are JSON texts.

A TIMESTAMP(7..9) is in Arrow's nanoseconds where they hold all values of the rows, else a `FarTimestampType`.
"""

from collections.abc import Sequence
from typing import Any

import pyarrow as pa

from maintenance.errors import UnsupportedError
from maintenance.format.variant.json_text import json_texts
from maintenance.types import nanos
from maintenance.types.arrow import (
    VARIANT,
    VARIANT_NAME,
    arrow_type,
    element_of,
    has_nanos,
    map_parts,
    timestamp_type,
    vector_type,
)
from maintenance.types.data_type import DataField, DataType
from maintenance.types.far_timestamps import FarTimestampType, in_far
from maintenance.types.nanos import NANOS, in_nanoseconds
from maintenance.types.nested import Path, Rebuild, leaves_of


class VariantScalar(pa.ExtensionScalar):  # type: ignore[misc]
    """One variant."""

    def as_py(self, **_: Any) -> str | None:
        """The JSON text, None of null."""
        if self.value is None:
            return None
        text: str = json_texts(pa.array([self.value.as_py()], VARIANT))[0].as_py()
        return text


class VariantArray(pa.ExtensionArray):  # type: ignore[misc]
    """Variants."""

    def to_pylist(self, **_: Any) -> list[str | None]:
        """The JSON texts, None of null."""
        texts: list[str | None] = self.to_json().to_pylist()
        return texts

    def to_json(self) -> pa.Array:
        """The JSON texts as an Arrow array."""
        return json_texts(self.storage)


class VariantType(pa.ExtensionType):  # type: ignore[misc]
    """The type of VARIANT columns: `struct<value: binary, metadata: binary>` underneath."""

    def __init__(self) -> None:
        super().__init__(VARIANT, VARIANT_NAME)

    def __arrow_ext_serialize__(self) -> bytes:
        return b""

    @classmethod
    def __arrow_ext_deserialize__(cls, storage_type: pa.DataType, serialized: bytes) -> "VariantType":
        return cls()

    def __arrow_ext_class__(self) -> type[VariantArray]:
        return VariantArray

    def __arrow_ext_scalar_class__(self) -> type[VariantScalar]:
        return VariantScalar


def shown(rows: pa.Table, fields: Sequence[DataField]) -> pa.Table:
    """Rows with the types that users get, also inside nested ones. `fields`: the columns."""
    for number, field in enumerate(fields):
        kind = _shown_type(field.type, rows.select([number]))
        if kind is not None:
            column = _REBUILD.column(rows.column(number), kind)
            rows = rows.set_column(number, rows.schema.field(number).with_type(kind), column)
    return rows


def _shown_type(data_type: DataType, column: pa.Table) -> pa.DataType | None:
    """The type that users get; None = the one inside the engine. `column`: of this type, alone."""
    if not (data_type.root == "VARIANT" or has_nanos(data_type) or data_type.is_nested):
        return None
    plain_type = arrow_type(data_type)
    has_far = any(leaf.type == NANOS and not nanos.fits_nanoseconds(leaf) for leaf in leaves_of(column))
    kind = _for_users(data_type, plain_type, has_far)
    return None if kind is plain_type else kind


def _for_users(data_type: DataType, arrow: pa.DataType, has_far: bool) -> pa.DataType:
    """The same type where users get no other one."""
    if data_type.root == "VARIANT":
        return VariantType()
    if has_nanos(data_type):
        kind = timestamp_type(data_type)
        return FarTimestampType(kind.tz) if has_far else kind
    if data_type.root == "ARRAY":
        field = arrow.value_field
        kind = _for_users(element_of(data_type), field.type, has_far)
        return arrow if kind is field.type else pa.list_(field.with_type(kind))
    if data_type.root == "VECTOR":
        return vector_type(data_type, arrow.value_field)
    if data_type.root in ("MAP", "MULTISET"):
        parts = zip(map_parts(data_type), (arrow.key_field, arrow.item_field), strict=True)
        key, value = (field.with_type(_for_users(part, field.type, has_far)) for part, field in parts)
        same = key.type is arrow.key_type and value.type is arrow.item_type
        return arrow if same else pa.map_(key, value)
    if data_type.root == "ROW":
        before = [part.type for part in arrow]
        after = [_for_users(own.type, kind, has_far) for own, kind in zip(data_type.fields, before, strict=True)]
        if all(new is old for new, old in zip(after, before, strict=True)):
            return arrow
        return pa.struct([part.with_type(kind) for part, kind in zip(arrow, after, strict=True)])
    return arrow


def far_type(field: DataField) -> pa.DataType:
    """The type of a column whose TIMESTAMP(7..9) all are far ones."""
    return _for_users(field.type, arrow_type(field.type, f"column {field.name}"), True)


def plain_schema(fields: Sequence[DataField]) -> pa.Schema:
    """The schema of `plain` rows."""
    types = [_for_users(f.type, arrow_type(f.type, f"column {f.name}"), False) for f in fields]
    return pa.schema([(f.name, _plain_type(kind)) for f, kind in zip(fields, types, strict=True)])


def plain(rows: pa.Table, fields: Sequence[DataField]) -> pa.Table:
    """Rows in types that Arrow's functions and other engines take. `fields`: the columns.

    Raises: UnsupportedError: a timestamp that Arrow's nanoseconds do not hold.
    """
    for_users = shown(rows, fields)
    stored = as_stored(for_users)
    for number, (field, wanted) in enumerate(zip(fields, plain_schema(fields), strict=True)):
        changed = for_users.schema.field(number).type != rows.schema.field(number).type
        if changed and stored.schema.field(number).type != wanted.type:
            raise UnsupportedError(
                f"column '{field.name}' has timestamps before 1677-09-21 or after 2262-04-11, which queries and these "
                f"files do not take as {field.type}",
                "rows",
                "Filter them out, declare six digits of a second at most, or read them with to_arrow.",
            )
    return stored


def as_stored(rows: pa.Table) -> pa.Table:
    """Rows with the storage in place of these extension types, which Arrow's functions do not take."""
    for number, field in enumerate(rows.schema):
        kind = _plain_type(field.type)
        if kind != field.type:
            rows = rows.set_column(number, field.with_type(kind), _REBUILD.column(rows.column(number), kind))
    return rows


def _plain_type(arrow: pa.DataType) -> pa.DataType:
    if isinstance(arrow, VariantType | FarTimestampType):
        return arrow.storage_type
    if pa.types.is_list(arrow):
        return pa.list_(_plain_field(arrow.value_field))
    if pa.types.is_map(arrow):
        return pa.map_(_plain_field(arrow.key_field), _plain_field(arrow.item_field))
    return pa.struct(list(map(_plain_field, arrow))) if pa.types.is_struct(arrow) else arrow


def _plain_field(field: pa.Field) -> pa.Field:
    return field.with_type(_plain_type(field.type))


def _leaf(array: pa.Array, target: pa.DataType, _: Path) -> pa.Array:
    if array.type == NANOS:
        return in_far(array, target) if isinstance(target, FarTimestampType) else in_nanoseconds(array, target.tz)
    return pa.ExtensionArray.from_storage(target, array) if isinstance(target, VariantType) else array


_REBUILD = Rebuild(_leaf)
