"""Statistics of files as columns: which files of a manifest a filter certainly rules out, without an object for each.

Only what is plain is looked at: conditions that a column's values lie in a range, in files whose schema has the column
under a type with the same values. All other files are kept, and judged one by one. Source: as of `pruning`.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from maintenance.format.metadata.manifest import ManifestColumns
from maintenance.format.metadata.schema import TableSchema
from maintenance.format.rows.binary_slots import field_values, is_read
from maintenance.predicate.tree import Compare, In, Predicate, conjuncts
from maintenance.types.casts.matrix import keeps_values
from maintenance.types.data_type import DataField

Mask = npt.NDArray[np.bool_]
# Files of a manifest with more different columns are judged one by one.
_MOST_SHAPES = 8
_NANOS_PER_MILLI = 1_000_000
_INT64 = range(-(1 << 63), 1 << 63)


@dataclass(frozen=True, slots=True)
class _Range:
    """A part of a filter that no row matches whose value of the column is below `low` or above `high`; None = any."""

    column: str
    low: Any
    high: Any


def _ranges(predicate: Predicate) -> Iterator[_Range]:
    for part in conjuncts(predicate):
        if isinstance(part, Compare) and part.op != "!=":
            low, high = part.op in ("=", ">", ">="), part.op in ("=", "<", "<=")
            yield _Range(part.column, part.value if low else None, part.value if high else None)
        elif isinstance(part, In) and part.values and not part.value_set.has_nan:
            yield _Range(part.column, part.value_set.ascending[0], part.value_set.ascending[-1])


def may_match_columns(
    columns: ManifestColumns, predicate: Predicate | None, schema: TableSchema, schemas: Mapping[int, TableSchema]
) -> Mask:
    """Of which files rows may match, by the statistics of their columns, shape (n,); False is certain.

    Args: `schema`: the one that the filter's columns are named in; `schemas`: of the files, by id.
    """
    kept = np.ones(len(columns), np.bool_)
    named = {field.name: field for field in schema.fields}
    parts = () if predicate is None else _ranges(predicate)
    ranges = [part for part in parts if part.column in named and is_read(named[part.column].type)]
    shapes = columns.stats_shapes(_MOST_SHAPES) if ranges else ()
    if not shapes:
        return kept
    bounds = columns.table("_VALUE_STATS._MIN_VALUES", "_VALUE_STATS._MAX_VALUES").combine_chunks()
    for shape in shapes:
        own = {field.name: field for field in schemas[shape.schema_id].fields}
        names = [*own] if shape.stats_cols is None and shape.write_cols is None else shape.stats_cols
        if names is None or not own.keys() >= set(names):
            continue
        rows = bounds if len(shape.rows) == len(kept) else bounds.take(shape.rows)
        lows, highs = (column.combine_chunks() for column in rows.columns)
        for part in ranges:
            kept[shape.rows] &= _matches(part, named[part.column], [own[name] for name in names], lows, highs)
    return kept


def _matches(
    part: _Range, field: DataField, fields: Sequence[DataField], lows: pa.BinaryArray, highs: pa.BinaryArray
) -> Mask:
    """`fields`: those that the bounds have values of, in their order."""
    place = next((at for at, each in enumerate(fields) if each.id == field.id), None)
    if place is None or not _is_comparable(fields[place], field):
        return np.ones(len(lows), np.bool_)
    source = fields[place].type
    outside = np.zeros(len(lows), np.bool_)
    if part.high is not None:
        limit = _limit(part.high, source.is_timestamp)
        if limit is not None:
            outside |= _certain(pc.greater(field_values(lows, len(fields), place, source), limit))
    if part.low is not None:
        limit = _limit(part.low, source.is_timestamp)
        if limit is not None:
            values = field_values(highs, len(fields), place, source)
            below = pc.less(values, limit)
            if pa.types.is_binary(values.type):
                # A text that Java cut before U+D800 has a maximum that ends in `?`, which is too small.
                below = pc.and_(below, pc.not_equal(pc.binary_slice(values, -1), b"?"))
            outside |= _certain(below)
    return ~outside


def _is_comparable(source: DataField, field: DataField) -> bool:
    """Whether bounds of a file's column are bounds of the filter's, and in the same form."""
    is_alike = source.type.is_integer if field.type.is_integer else source.type.root == field.type.root
    return is_alike and is_read(source.type) and keeps_values(source.type, field.type)


def _limit(value: Any, is_timestamp: bool) -> pa.Scalar | None:
    """A value of a filter in the form that `field_values` gives; None: there is none."""
    if isinstance(value, str):
        return pa.scalar(value.encode("utf-8", "surrogatepass"), pa.binary())
    number = value // _NANOS_PER_MILLI if is_timestamp else value
    return pa.scalar(number, pa.int64()) if isinstance(number, int) and number in _INT64 else None


def _certain(truth: pa.Array) -> Mask:
    mask: Mask = pc.fill_null(truth, False).to_numpy(zero_copy_only=False)
    return mask
