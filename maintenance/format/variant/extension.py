"""VARIANT columns as users of Arrow get them: an extension type over the stored struct.

The storage keeps the bytes, so that what was read can be written again without a change. As Python values variants are
JSON texts. Everything inside the engine works on the storage.
"""

from collections.abc import Sequence
from typing import Any

import pyarrow as pa

from maintenance.format.variant.json_text import json_texts
from maintenance.types.arrow import VARIANT, VARIANT_NAME, arrow_type, element_of, map_parts
from maintenance.types.data_type import DataField, DataType
from maintenance.types.nested import Path, Rebuild


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
    """Rows with `VariantType` in place of its storage, wherever a column has a VARIANT. `fields`: the columns."""
    for number, field in enumerate(fields):
        kind = _shown_type(field.type)
        if kind is not None:
            column = _REBUILD.column(rows.column(number), kind)
            rows = rows.set_column(number, rows.schema.field(number).with_type(kind), column)
    return rows


def _shown_type(data_type: DataType) -> pa.DataType | None:
    """The type that users get; None = it has no VARIANT."""
    if data_type.root == "VARIANT":
        return VariantType()
    if data_type.root in ("ARRAY", "MAP", "MULTISET", "ROW"):
        plain_type = arrow_type(data_type)
        kind = _with_variants(data_type, plain_type)
        return None if kind is plain_type else kind
    return None


def _with_variants(data_type: DataType, arrow: pa.DataType) -> pa.DataType:
    """The same type where no VARIANT is in it."""
    if data_type.root == "VARIANT":
        return VariantType()
    if data_type.root == "ARRAY":
        field = arrow.value_field
        kind = _with_variants(element_of(data_type), field.type)
        return arrow if kind is field.type else pa.list_(field.with_type(kind))
    if data_type.root == "MAP":
        _, value = map_parts(data_type)
        field = arrow.item_field
        kind = _with_variants(value, field.type)
        return arrow if kind is field.type else pa.map_(arrow.key_field, field.with_type(kind))
    if data_type.root == "ROW":
        before = [part.type for part in arrow]
        after = [_with_variants(own.type, kind) for own, kind in zip(data_type.fields, before, strict=True)]
        if all(new is old for new, old in zip(after, before, strict=True)):
            return arrow
        return pa.struct([part.with_type(kind) for part, kind in zip(arrow, after, strict=True)])
    return arrow


def as_stored(rows: pa.Table) -> pa.Table:
    """Rows with the storage in place of `VariantType`, which Arrow's functions do not take."""
    for number, field in enumerate(rows.schema):
        kind = _plain_type(field.type)
        if kind != field.type:
            rows = rows.set_column(number, field.with_type(kind), _REBUILD.column(rows.column(number), kind))
    return rows


def _plain_type(arrow: pa.DataType) -> pa.DataType:
    if isinstance(arrow, VariantType):
        return VARIANT
    if pa.types.is_list(arrow):
        return pa.list_(_plain_field(arrow.value_field))
    if pa.types.is_map(arrow):
        return pa.map_(arrow.key_field, _plain_field(arrow.item_field))
    return pa.struct(list(map(_plain_field, arrow))) if pa.types.is_struct(arrow) else arrow


def _plain_field(field: pa.Field) -> pa.Field:
    return field.with_type(_plain_type(field.type))


def _leaf(array: pa.Array, target: pa.DataType, _: Path) -> pa.Array:
    return pa.ExtensionArray.from_storage(target, array) if isinstance(target, VariantType) else array


_REBUILD = Rebuild(_leaf)
