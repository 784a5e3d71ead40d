"""Variants shredded into typed columns of a parquet file, and put together again.

A shredded variant has a third part, `typed_value`. Where a value has the type of this column it is there and `value` is
null; any other value is in `value`. The `typed_value` of objects has a group for each field that was named, again of
`value` and `typed_value`, and `value` then holds the other fields; a field that is not there is null in both. Elements
of arrays are such groups, too.

Which fields get a column the option `variant.shreddingSchema` says: a ROW with a field for each column of the table.
Source: Parquet variant shredding, Java `ShreddingUtils`, `PaimonShreddingUtils`.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from maintenance.errors import OptionError, SchemaError, UnsupportedError
from maintenance.format.bytes.ragged import Ragged, ends
from maintenance.format.rows.system_fields import element_field_id
from maintenance.format.variant import binary, scalars
from maintenance.format.variant.binary import Children
from maintenance.format.variant.dictionary import Names, binaries_of, bytes_of, texts_of
from maintenance.format.variant.stored import plain_variants, present, spread_over, storage_of
from maintenance.options.formats import VARIANT_SHREDDING_SCHEMA
from maintenance.types.arrow import arrow_type, element_of, is_list
from maintenance.types.data_type import DataField, DataType, parse_type

_SCALARS = ("BOOLEAN", "TINYINT", "SMALLINT", "INT", "BIGINT", "FLOAT", "DOUBLE", "DECIMAL", "DATE", "VARCHAR")
_MOMENTS = ("TIMESTAMP", "TIMESTAMP_LTZ")
_MICRO_DIGITS = 6
_OF_ANY_LENGTH = {"CHAR": parse_type("STRING"), "BINARY": parse_type("BYTES")}
_TYPED_ID = 2


def unshredded(array: pa.Array) -> pa.Array:
    """Variants as a file has them, in the usual form. Raises: pa.ArrowInvalid, CorruptFileError."""
    if not pa.types.is_struct(array.type) or array.type.get_field_index("typed_value") < 0:
        return plain_variants(array)
    valid = array.is_valid().to_numpy(zero_copy_only=False)
    rows = np.flatnonzero(valid)
    there = array.take(pa.array(rows))
    metadata = bytes_of(there.field("metadata"))
    values, is_there = _whole(there, np.arange(len(rows)), Names.of(metadata))
    values = _or_null(values, is_there)
    count = len(array)
    return storage_of(scalars.joined([(rows, values)], count), scalars.joined([(rows, metadata)], count), ~valid)


def _or_null(values: Ragged, is_there: np.ndarray) -> Ragged:
    """The values, and variants that are null where none is there."""
    missing = np.flatnonzero(~is_there)
    if not len(missing):
        return values
    own = np.flatnonzero(is_there)
    nulls = scalars.of_constants(np.full(len(missing), binary.NULL))
    return scalars.joined([(own, values.take(own)), (missing, nulls)], len(is_there))


def _whole(groups: pa.Array, rows: np.ndarray, names: Names) -> tuple[Ragged, np.ndarray]:
    """The values of groups of `value` and `typed_value`, and which of them are there.

    Args: `groups`: structs, none of them null; `rows`: number of the variant that each belongs to.
    """
    parts = []
    is_there = np.zeros(len(groups), bool)
    value = _part(groups, "value")
    typed = _part(groups, "typed_value")
    if typed is not None:
        at = np.flatnonzero(typed.is_valid().to_numpy(zero_copy_only=False))
        content = typed.take(pa.array(at))
        if pa.types.is_struct(content.type):
            rest = None if value is None else value.take(pa.array(at))
            made = _objects(content, rest, rows[at], names)
        elif is_list(content.type):
            made = _arrays(content, rows[at], names)
        else:
            made = scalars.of_arrow(content)
        parts.append((at, made))
        is_there[at] = True
    if value is not None:
        at = np.flatnonzero(value.is_valid().to_numpy(zero_copy_only=False) & ~is_there)
        whole = bytes_of(value.take(pa.array(at)))
        binary.check_whole(whole)
        parts.append((at, whole))
        is_there[at] = True
    return scalars.joined(parts, len(groups)), is_there


def _part(groups: pa.Array, name: str) -> pa.Array | None:
    return groups.field(name) if groups.type.get_field_index(name) >= 0 else None


def _objects(typed: pa.Array, rest: pa.Array | None, rows: np.ndarray, names: Names) -> Ragged:
    """Objects of the fields with columns, and of the rest of their fields."""
    parents, numbers, values = [], [], []
    for field in typed.type:
        group = typed.field(field.name)
        at = np.flatnonzero(group.is_valid().to_numpy(zero_copy_only=False))
        content, is_there = _whole(group.take(pa.array(at)), rows[at], names)
        own = np.flatnonzero(is_there)
        number = names.numbers_of(field.name)[rows[at[own]]]
        if (number < 0).any():
            raise binary.damaged(f"the metadata lacks the name '{field.name}'")
        parents.append(at[own])
        numbers.append(number)
        values.append(content.take(own))
    if rest is not None:
        at = np.flatnonzero(rest.is_valid().to_numpy(zero_copy_only=False))
        others = bytes_of(rest.take(pa.array(at)))
        if (binary.kinds(others) != binary.OBJECT).any():
            raise binary.damaged("the rest of an object is not an object")
        inner = binary.children(others)
        parents.append(at[inner.parents])
        numbers.append(inner.names)
        values.append(inner.values)
    parent, number = np.concatenate(parents), np.concatenate(numbers)
    rank = names.ranks[names.of_fields(rows[parent], number)]
    order = np.lexsort((rank, parent))
    counts = np.bincount(parent, minlength=len(typed))
    return binary.objects(counts, number[order], concatenated(values).take(order))


def _arrays(typed: pa.Array, rows: np.ndarray, names: Names) -> Ragged:
    counts = pc.list_value_length(typed).to_numpy(zero_copy_only=False).astype(np.int64)
    elements = typed.flatten()
    if not pa.types.is_struct(elements.type):
        raise binary.damaged(f"its elements are {elements.type}")
    valid = np.flatnonzero(elements.is_valid().to_numpy(zero_copy_only=False))
    values, is_there = _whole(elements.take(pa.array(valid)), np.repeat(rows, counts)[valid], names)
    whole = np.zeros(len(elements), bool)
    whole[valid] = is_there
    return binary.arrays(counts, _or_null(scalars.joined([(valid, values)], len(elements)), whole))


def concatenated(parts: list[Ragged]) -> Ragged:
    """All values, one part after the other."""
    data = [part.data[int(part.offsets[0]) : int(part.offsets[-1])] for part in parts]
    return Ragged(np.concatenate(data), ends(np.concatenate([part.sizes for part in parts])))


@dataclass(frozen=True, slots=True)
class Shredding:
    """How a column of variants is shredded. `type`: of its `typed_value`."""

    type: DataType

    @property
    def stored(self) -> pa.DataType:
        """The Arrow type of the shredded column, with the field ids of parquet."""
        return pa.struct(
            [
                _with_id("metadata", pa.binary(), 0, nullable=False),
                _with_id("value", pa.binary(), 1),
                _with_id("typed_value", _typed(self.type, _TYPED_ID), _TYPED_ID),
            ]
        )

    def shredded(self, column: pa.Array) -> pa.Array:
        """A column of variants, shredded."""
        rows, values, metadata = present(column)
        names = Names.of(metadata)
        value, typed = _split(values, np.arange(len(rows)), names, self.type)
        texts = [part.cast(pa.binary()) for part in (binaries_of(metadata), value)]
        made = pa.StructArray.from_arrays([*texts, typed], fields=list(self.stored))
        return spread_over(made, rows, len(column))


def _with_id(name: str, arrow: pa.DataType, number: int, *, nullable: bool = True) -> pa.Field:
    return pa.field(name, arrow, nullable, {"PARQUET:field_id": str(number)})


def _group(data_type: DataType, *, of_element: bool = False) -> pa.DataType:
    """Of a field, which may not be there, or of an element."""
    if data_type.root == "VARIANT":
        return pa.struct([_with_id("value", pa.binary(), 0, nullable=not of_element)])
    return pa.struct([_with_id("value", pa.binary(), 0), _with_id("typed_value", _typed(data_type, 1), 1)])


def _typed(data_type: DataType, own_id: int) -> pa.DataType:
    """The Arrow type of a `typed_value`. `own_id`: its field id in parquet."""
    if data_type.root == "ROW":
        return pa.struct([_with_id(f.name, _group(f.type), f.id, nullable=False) for f in data_type.fields])
    if data_type.root == "ARRAY":
        return pa.list_(
            _with_id("element", _group(element_of(data_type), of_element=True), element_field_id(own_id, 1))
        )
    return arrow_type(data_type)


def _split(values: Ragged, rows: np.ndarray, names: Names, data_type: DataType) -> tuple[pa.Array, pa.Array]:
    """The `value` and the `typed_value` of values. `rows`: number of the variant that each is in."""
    if data_type.root == "ROW":
        return _split_objects(values, rows, names, data_type)
    if data_type.root == "ARRAY":
        return _split_arrays(values, rows, names, data_type)
    fits, typed = _typed_scalars(values, data_type)
    return binaries_of(values, fits), _over(typed, fits, _typed(data_type, 1))


def _over(found: pa.Array, fits: np.ndarray, kind: pa.DataType) -> pa.Array:
    """What was found where something fits, null elsewhere."""
    taken = spread_over(found, np.flatnonzero(fits), len(fits))
    return taken if pa.types.is_nested(kind) else taken.cast(kind)


def _split_objects(values: Ragged, rows: np.ndarray, names: Names, data_type: DataType) -> tuple[pa.Array, pa.Array]:
    is_object = binary.kinds(values) == binary.OBJECT
    at = np.flatnonzero(is_object)
    inner = binary.children(values.take(at))
    field_rows = rows[at][inner.parents]
    texts = names.of_fields(field_rows, inner.names)
    left = np.ones(len(texts), bool)
    groups = []
    for field in data_type.fields:
        text = pc.index(names.texts, field.name).as_py()
        own = np.flatnonzero(texts == text) if text >= 0 else np.empty(0, np.int64)
        left[own] = False
        content = Children(inner.parents[own], inner.names[own], inner.values.take(own))
        groups.append(_filled(_group(field.type), field.type, content, field_rows[own], names, len(at)))
    target = _typed(data_type, 1)
    typed = pa.StructArray.from_arrays(groups, fields=list(target))
    others = inner.take(np.flatnonzero(left))
    counts = np.bincount(others.parents, minlength=len(at))
    rest = binary.objects(counts, others.names, others.values)
    stay = np.flatnonzero(~is_object)
    value = scalars.joined([(stay, values.take(stay)), (at, rest)], len(values))
    nothing = np.zeros(len(values), bool)
    nothing[at] = counts == 0
    return binaries_of(value, nothing), _over(typed, is_object, target)


def _filled(
    kind: pa.DataType, data_type: DataType, found: Children, rows: np.ndarray, names: Names, count: int
) -> pa.Array:
    """The groups, with what was found for some of them, its `parents`. `rows`: of each the variant it is in."""
    values = found.values
    parts = (binaries_of(values),) if data_type.root == "VARIANT" else _split(values, rows, names, data_type)
    places = np.full(count, -1)
    places[found.parents] = np.arange(len(values))
    indices = pa.array(places, mask=places < 0)
    columns = [part.take(indices) for part in parts]
    return pa.StructArray.from_arrays([columns[0].cast(pa.binary()), *columns[1:]], fields=list(kind))


def _split_arrays(values: Ragged, rows: np.ndarray, names: Names, data_type: DataType) -> tuple[pa.Array, pa.Array]:
    is_array = binary.kinds(values) == binary.ARRAY
    at = np.flatnonzero(is_array)
    inner = binary.children(values.take(at))
    every, element = np.arange(len(inner.parents)), element_of(data_type)
    elements = Children(every, inner.names, inner.values)
    kind = _group(element, of_element=True)
    group = _filled(kind, element, elements, rows[at][inner.parents], names, len(every))
    target = _typed(data_type, 1)
    offsets = pa.array(ends(inner.counts(len(at))).astype(np.int32))
    typed = pa.ListArray.from_arrays(offsets, group, type=target)
    return binaries_of(values, is_array), _over(typed, is_array, target)


def _typed_scalars(values: Ragged, data_type: DataType) -> tuple[np.ndarray, pa.Array]:
    """Which values are of a type, so that the column gives them back as they were, and these."""
    kind = arrow_type(data_type)
    if data_type.is_integer:
        fits = scalars.of_type(values, binary.INT8, binary.INT16, binary.INT32, binary.INT64)
        numbers = scalars.integers(values.take(np.flatnonzero(fits)))
        most = 1 << kind.bit_width - 1
        within = (numbers >= -most) & (numbers <= most - 1)
        fits[np.flatnonzero(fits)[~within]] = False
        return fits, pa.array(numbers[within]).cast(kind)
    if data_type.root == "BOOLEAN":
        fits = scalars.of_type(values, binary.TRUE, binary.FALSE)
        return fits, pa.array(binary.types(values)[fits] == binary.TRUE)
    if data_type.root == "VARCHAR":
        fits = scalars.is_text(values)
        return fits, texts_of(scalars.texts(values.take(np.flatnonzero(fits))))
    if data_type.root == "VARBINARY":
        fits = scalars.of_type(values, binary.BINARY)
        return fits, binaries_of(scalars.texts(values.take(np.flatnonzero(fits))))
    if data_type.root == "DECIMAL":
        return _typed_decimals(values, kind)
    primitives = {
        "FLOAT": binary.FLOAT,
        "DOUBLE": binary.DOUBLE,
        "DATE": binary.DATE,
        "TIMESTAMP": binary.TIMESTAMP_NTZ,
        "TIMESTAMP_LTZ": binary.TIMESTAMP,
    }
    primitive = primitives[data_type.root]
    fits = scalars.of_type(values, primitive)
    return fits, scalars.fixed_values(values.take(np.flatnonzero(fits)), primitive)


def _typed_decimals(values: Ragged, kind: pa.DataType) -> tuple[np.ndarray, pa.Array]:
    fits = scalars.of_type(values, binary.DECIMAL4, binary.DECIMAL8, binary.DECIMAL16)
    whole, scales = scalars.decimals(values.take(np.flatnonzero(fits)))
    digits = pc.utf8_length(pc.utf8_ltrim(whole.cast(pa.string()), "-")).to_numpy(zero_copy_only=False)
    within = (scales == kind.scale) & (digits <= kind.precision)
    fits[np.flatnonzero(fits)[~within]] = False
    own = whole.filter(pa.array(within))
    return fits, pa.Array.from_buffers(kind, len(own), own.buffers(), 0, own.offset)


def shreddings(options: Mapping[str, str]) -> Mapping[str, Shredding]:
    """How columns are shredded, by their names. Raises: OptionError, UnsupportedError."""
    key = next((name for name in VARIANT_SHREDDING_SCHEMA.keys if name in options), None)
    if key is None:
        return {}
    try:
        data_type = _type_of(json.loads(options[key]))
    except (ValueError, KeyError, TypeError, AttributeError, SchemaError) as error:
        raise OptionError(
            f"'{key}' = '{options[key]}' is not a ROW type as JSON: {error}",
            "options",
            'Write {"type": "ROW", "fields": [{"name": "column", "type": {"type": "ROW", "fields": […]}}]}.',
        ) from error
    if data_type.root != "ROW":
        raise OptionError(f"'{key}' is {data_type}", "options", "Give a ROW with a field for each VARIANT column.")
    for field in data_type.fields:
        _check(field.type, f"option '{key}', column {field.name}")
    return {field.name: Shredding(field.type) for field in data_type.fields}


def _type_of(form: object) -> DataType:
    """The type of its form in JSON, in which fields need no ids."""
    if isinstance(form, str):
        # Values of JSON have no fixed length, and keep theirs.
        return _OF_ANY_LENGTH.get((parsed := parse_type(form)).root, parsed)
    if not isinstance(form, Mapping):
        raise TypeError(f"{form!r} is not a type")
    root = form["type"].upper().split()[0]
    if root == "ARRAY":
        return DataType("ARRAY", element=_type_of(form["element"]))
    if root != "ROW":
        raise ValueError(f"{root} is not a type of JSON values")
    fields = [
        DataField(int(field.get("id", n)), str(field["name"]), _type_of(field["type"]))
        for n, field in enumerate(form["fields"], 1)
    ]
    return DataType("ROW", fields=tuple(fields))


def _check(data_type: DataType, where: str) -> None:
    """Raises: UnsupportedError: a variant has no values of the type."""
    if data_type.root == "ROW" and data_type.fields:
        for field in data_type.fields:
            _check(field.type, f"{where}.{field.name}")
    elif data_type.root == "ARRAY":
        _check(element_of(data_type), f"{where}.element")
    elif not (
        data_type.root in (*_SCALARS, "VARIANT", "VARBINARY")
        or (data_type.root in _MOMENTS and data_type.precision == _MICRO_DIGITS)
    ):
        raise UnsupportedError(
            f"values of {data_type} in a VARIANT", where, "Use numbers, texts, BYTES, DATE, TIMESTAMP(6), ROW, ARRAY."
        )
