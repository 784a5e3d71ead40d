"""Which parts of variants are worth a column: inferred from the first rows of a file.

Values of one place are of one type, or the place stays as it is; integers and decimals are of one type that holds all
of them, and null is of any. A field must be in a share of the variants, and there is a limit to the columns of a file.
Source: option `variant.inferShreddingSchema`, Java `InferVariantShreddingSchema`.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from math import ceil
from typing import TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from maintenance.format.bytes.ragged import Ragged
from maintenance.format.variant import binary, scalars
from maintenance.format.variant.dictionary import Names
from maintenance.format.variant.shredding import Shredding
from maintenance.format.variant.stored import present
from maintenance.options import formats
from maintenance.types.data_type import DataField, DataType, parse_type

_VARIANT = parse_type("VARIANT")
P = TypeVar("P")
_MAX_FIELDS = 1000
_LONG_DIGITS = 18
_SCALARS = {
    "BOOLEAN": (binary.TRUE, binary.FALSE),
    "FLOAT": (binary.FLOAT,),
    "DOUBLE": (binary.DOUBLE,),
    "DATE": (binary.DATE,),
    "TIMESTAMP(6)": (binary.TIMESTAMP_NTZ,),
    "TIMESTAMP(6) WITH LOCAL TIME ZONE": (binary.TIMESTAMP,),
    "BYTES": (binary.BINARY,),
}
_INTEGERS = (binary.INT8, binary.INT16, binary.INT32, binary.INT64)
_DECIMALS = (binary.DECIMAL4, binary.DECIMAL8, binary.DECIMAL16)


@dataclass(frozen=True, slots=True)
class InferenceOptions:
    """How parts are inferred. `ratio`: share of the variants that a field must be in; `rows`: to look at."""

    width: int = 300
    depth: int = 50
    ratio: float = 0.1
    rows: int = 4096

    @classmethod
    def of(cls, options: Mapping[str, str]) -> "InferenceOptions | None":
        """None: nothing is inferred."""
        if not formats.VARIANT_INFER_SHREDDING_SCHEMA.of(options):
            return None
        return cls(
            formats.VARIANT_SHREDDING_MAX_SCHEMA_WIDTH.of(options),
            formats.VARIANT_SHREDDING_MAX_SCHEMA_DEPTH.of(options),
            formats.VARIANT_SHREDDING_MIN_FIELD_CARDINALITY_RATIO.of(options),
            formats.VARIANT_SHREDDING_MAX_INFER_BUFFER_ROW.of(options),
        )


def inferred(columns: Mapping[P, pa.ChunkedArray], how: InferenceOptions) -> dict[P, Shredding]:
    """How variants are shredded, by where they stand; those that are not are left out."""
    room = _Room(how.width)
    shreddings: dict[P, Shredding] = {}
    for name, column in columns.items():
        sample = column.slice(0, how.rows).combine_chunks()
        array = sample.chunk(0) if isinstance(sample, pa.ChunkedArray) else sample
        rows, values, metadata = present(array)
        seen = _seen(values, np.arange(len(rows)), Names.of(metadata), how.depth)
        chosen = _chosen(seen, ceil(len(rows) * how.ratio), room)
        if chosen.root != "VARIANT":
            shreddings[name] = Shredding(chosen)
    return shreddings


@dataclass(slots=True)
class _Room:
    """How many more columns there may be."""

    columns: int


@dataclass(frozen=True, slots=True)
class _Seen:
    """What the values of one place are. `fields`: with how often each is there, in the order of their names.

    `type`: None = only nulls, or none at all.
    """

    type: DataType | None
    fields: Mapping[str, tuple[int, "_Seen"]] = field(default_factory=dict)
    element: "_Seen | None" = None


_MIXED = _Seen(_VARIANT)


def _seen(values: Ragged, rows: np.ndarray, names: Names, depth: int) -> _Seen:
    """`rows`: number of the variant that each value is in; `depth`: how many more levels are looked into."""
    other = np.flatnonzero(~scalars.of_type(values, binary.NULL))
    values, rows = values.take(other), rows[other]
    if not len(values):
        return _Seen(None)
    kinds = binary.kinds(values)
    if (kinds == binary.OBJECT).all():
        return _MIXED if depth <= 0 else _seen_objects(values, rows, names, depth)
    if (kinds == binary.ARRAY).all():
        return _MIXED if depth <= 0 else _seen_arrays(values, rows, names, depth)
    return _Seen(_scalar_type(values))


def _seen_objects(values: Ragged, rows: np.ndarray, names: Names, depth: int) -> _Seen:
    inner = binary.children(values)
    owners = rows[inner.parents]
    texts = names.of_fields(owners, inner.names)
    ranks = names.ranks
    fields: dict[str, tuple[int, _Seen]] = {}
    for text in sorted(np.unique(texts).tolist(), key=lambda number: ranks[number])[:_MAX_FIELDS]:
        own = np.flatnonzero(texts == text)
        content = _seen(inner.values.take(own), owners[own], names, depth - 1)
        fields[names.texts[text].as_py()] = (len(own), content)
    return _Seen(DataType("ROW"), fields)


def _seen_arrays(values: Ragged, rows: np.ndarray, names: Names, depth: int) -> _Seen:
    inner = binary.children(values)
    is_value = ~scalars.of_type(inner.values, binary.NULL)
    # An array without a value has elements of no type, with which no other goes.
    if (np.bincount(inner.parents[is_value], minlength=len(values)) == 0).any():
        return _Seen(DataType("ARRAY", element=_VARIANT), element=_MIXED)
    element = _seen(inner.values, rows[inner.parents], names, depth - 1)
    return _Seen(DataType("ARRAY", element=_VARIANT), element=element)


def _scalar_type(values: Ragged) -> DataType:
    """The one type of scalars; VARIANT where there is none."""
    if scalars.is_text(values).all():
        return parse_type("STRING")
    for text, primitives in _SCALARS.items():
        if scalars.of_type(values, *primitives).all():
            return parse_type(text)
    whole, decimal = scalars.of_type(values, *_INTEGERS), scalars.of_type(values, *_DECIMALS)
    return _number_type(values, whole, decimal) if (whole | decimal).all() else _VARIANT


def _number_type(values: Ragged, whole: np.ndarray, decimal: np.ndarray) -> DataType:
    """The type of integers and decimals. Integers count as decimals of their digits, long ones as those of 19."""
    lengths = _digits(scalars.integers(values.take(np.flatnonzero(whole))))
    is_long = lengths > _LONG_DIGITS
    before, after = int(lengths[~is_long].max(initial=0)), 0
    unscaled, scales = scalars.decimals(values.take(np.flatnonzero(decimal)))
    for digits, scale in _stripped(unscaled, scales):
        before, after = max(before, digits - scale), max(after, scale)
    if is_long.any() and (after or before > _LONG_DIGITS):
        before = max(before, _LONG_DIGITS + 1)
    if before + after > scalars.MAX_DECIMAL_DIGITS:
        return _VARIANT
    if before <= _LONG_DIGITS and not after:
        return parse_type("BIGINT")
    wide = _LONG_DIGITS if before + after <= _LONG_DIGITS else scalars.MAX_DECIMAL_DIGITS
    return parse_type(f"DECIMAL({wide}, {after})")


def _digits(numbers: np.ndarray) -> np.ndarray:
    """How many digits each integer has. int64, shape (n,)."""
    texts = pc.utf8_ltrim(pa.array(numbers, pa.int64()).cast(pa.string()), "-")
    return np.asarray(pc.utf8_length(texts).to_numpy(zero_copy_only=False), np.int64)


def _stripped(unscaled: pa.Array, scales: np.ndarray) -> Iterator[tuple[int, int]]:
    """Digits and scale of decimals, without zeros at the end of the fraction; each pair once."""
    texts = pc.utf8_ltrim(unscaled.cast(pa.string()), "-")
    length = pc.utf8_length(texts).to_numpy(zero_copy_only=False).astype(np.int64)
    kept = pc.utf8_length(pc.utf8_rtrim(texts, "0")).to_numpy(zero_copy_only=False).astype(np.int64)
    cut = np.where(kept == 0, scales, np.minimum(length - kept, scales))
    digits, scale = np.maximum(length - cut, 1), scales - cut
    yield from sorted(set(zip(np.maximum(digits, scale).tolist(), scale.tolist(), strict=True)))


def _chosen(seen: _Seen, least: int, room: _Room) -> DataType:
    """The type of a `typed_value`, VARIANT for none. `least`: how often a field must be there."""
    room.columns -= 1
    if room.columns <= 0 or seen.type is None or seen.type.root == "VARIANT":
        return _VARIANT
    if seen.type.root == "ROW":
        fields: list[DataField] = []
        for name, (count, content) in seen.fields.items():
            if count >= least and room.columns > 0:
                fields.append(DataField(len(fields), name, _chosen(content, least, room)))
        return DataType("ROW", fields=tuple(fields)) if fields else _VARIANT
    if seen.element is not None:
        return DataType("ARRAY", element=_chosen(seen.element, least, room))
    room.columns -= 1
    return seen.type
