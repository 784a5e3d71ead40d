"""Statistics of columns, from Arrow data to the `SimpleStats` of a manifest and back to values for pruning.

A file may be written in several batches: `collect_stats` takes each, `merge_stats` joins the results, and only at the
end `stored_stats` cuts texts and packs everything, since cut bounds cannot be joined.

A column with NaN gets no bounds, and no column of bytes: readers differ in where they sort NaN, and whether they take
bytes as signed numbers. Zero bounds become -0.0 below and 0.0 above, which holds both for readers that tell them apart
and for others. Source: metadata section 5.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from decimal import Decimal

import pyarrow as pa
import pyarrow.compute as pc

from maintenance.errors import RESTORE, CorruptFileError
from maintenance.format.metadata.simple_stats import SimpleStats
from maintenance.format.metadata.stats_mode import StatsKind, StatsMode
from maintenance.format.rows.binary_layout import is_supported
from maintenance.format.rows.binary_row import EMPTY_ROW, parse_row, serialize_row
from maintenance.types.data_type import DataField, DataType
from maintenance.types.values import Value, values_of_arrow

# Parquet files of Java have INT96 beyond microseconds, which carries no order.
_MAX_TIMESTAMP_DIGITS = 6
_UP_TO_BLANK = "".join(map(chr, range(0x21)))


@dataclass(frozen=True, slots=True)
class CollectedStats:
    """What is known of one column so far.

    Attributes:
        min, max: exact bounds; None while all values are null, or when there are no bounds.
        null_count: None when the column gets no statistics.
        bounded: False once a value was seen that has no place in the order.
    """

    min: Value = None
    max: Value = None
    null_count: int | None = None
    bounded: bool = True


def collect_stats(
    columns: Sequence[pa.Array | pa.ChunkedArray],
    fields: Sequence[DataField],
    modes: Sequence[StatsMode],
    *,
    nested: bool = False,
) -> tuple[CollectedStats, ...]:
    """Exact statistics of each column, as far as its mode and type have any.

    Args: `columns`: of the fields' Arrow types, any number of rows; `fields`, `modes`: one per column; `nested`:
        whether nulls of nested columns are counted, as Java does for all formats but parquet.
    """
    return tuple(
        CollectedStats() if field.type.is_nested and not nested else _collected(column, field.type, mode)
        for column, field, mode in zip(columns, fields, modes, strict=True)
    )


def _collected(column: pa.Array | pa.ChunkedArray, data_type: DataType, mode: StatsMode) -> CollectedStats:
    if mode.kind == StatsKind.NONE or not (is_supported(data_type) or data_type.is_nested):
        return CollectedStats()
    counted = CollectedStats(null_count=column.null_count)
    if mode.kind == StatsKind.COUNTS or data_type.is_nested or column.null_count == len(column):
        return counted
    if data_type.is_bytes or (data_type.is_timestamp and (data_type.precision or 0) > _MAX_TIMESTAMP_DIGITS):
        return replace(counted, bounded=False)
    is_float = data_type.root in ("FLOAT", "DOUBLE")
    if is_float and pc.any(pc.is_nan(column)).as_py():
        return replace(counted, bounded=False)
    bounds = pc.min_max(column)
    low, high = (values_of_arrow(pa.array([bounds[end]], column.type))[0] for end in ("min", "max"))
    if data_type.root == "DECIMAL" and not all(_fits(bound, data_type) for bound in (low, high)):
        return replace(counted, bounded=False)
    if is_float:
        low, high = (-0.0 if low == 0 else low), (0.0 if high == 0 else high)
    return replace(counted, min=low, max=high)


def _fits(value: Value, data_type: DataType) -> bool:
    """Whether a decimal has no more digits than its type: a sum of short ones may have more."""
    assert isinstance(value, Decimal)
    return len(value.as_tuple().digits) <= (data_type.precision or 0)


def merge_stats(left: Sequence[CollectedStats], right: Sequence[CollectedStats]) -> tuple[CollectedStats, ...]:
    """Statistics of two batches of the same columns, collected under the same modes, as of one."""
    return tuple(_merged(one, other) for one, other in zip(left, right, strict=True))


def _merged(left: CollectedStats, right: CollectedStats) -> CollectedStats:
    if left.null_count is None or right.null_count is None:
        return CollectedStats()
    nulls = left.null_count + right.null_count
    if not (left.bounded and right.bounded):
        return CollectedStats(null_count=nulls, bounded=False)
    bounds: list[tuple[Value, Value]] = [(part.min, part.max) for part in (left, right) if part.min is not None]
    if not bounds:
        return CollectedStats(null_count=nulls)
    # Values of one column compare with each other; text by code point is text by UTF-8 byte.
    low = min(bound[0] for bound in bounds)  # type: ignore[type-var]
    high = max(bound[1] for bound in bounds)  # type: ignore[type-var]
    return CollectedStats(low, high, nulls)


def stored_stats(
    collected: Sequence[CollectedStats], fields: Sequence[DataField], modes: Sequence[StatsMode], *, dense: bool
) -> tuple[SimpleStats, tuple[str, ...] | None]:
    """The statistics as a manifest stores them, and their `value_stats_cols`.

    Args: `dense`: option `metadata.stats-dense-store`: leave out the columns of which nothing is known. Key statistics
        are never dense.
    Returns: None instead of names when every column is there.
    """
    kept = []
    for part, field, mode in zip(collected, fields, modes, strict=True):
        low, high = mode.bounds(part.min, part.max) if part.bounded else (None, None)
        if not dense or part.null_count is not None:
            kept.append((field, low, high, part.null_count))
    types = [field.type.as_nullable() for field, _, _, _ in kept]
    stats = SimpleStats(
        serialize_row([low for _, low, _, _ in kept], types),
        serialize_row([high for _, _, high, _ in kept], types),
        tuple(nulls for _, _, _, nulls in kept),
    )
    return stats, None if len(kept) == len(fields) else tuple(field.name for field, _, _, _ in kept)


def stats_values(stats: SimpleStats, fields: Sequence[DataField]) -> tuple[tuple[Value, Value, int | None], ...]:
    """Minimum, maximum and null count of each column, for pruning; None = unknown, of bounds also: all null.

    Args: `fields`: the columns the statistics cover, in their order.
    Raises: CorruptFileError: they cover another number of columns.
    """
    if is_empty(stats):
        return ((None, None, None),) * len(fields)
    types = [field.type for field in fields]
    lows = parse_row(stats.min_values, types, skip_unsupported=True)
    highs = parse_row(stats.max_values, types, skip_unsupported=True)
    nulls = stats.null_counts if stats.null_counts is not None else (None,) * len(fields)
    if len(nulls) != len(fields):
        raise CorruptFileError(f"{len(nulls)} null counts of {len(fields)} columns", "statistics", RESTORE)
    return tuple(
        # Java stores NaN as the largest value of a column that has one; that is not a bound to compare with.
        (None, None, count) if low != low or high != high else (_without_padding(low, part), high, count)
        for part, low, high, count in zip(types, lows, highs, nulls, strict=True)
    )


def is_empty(stats: SimpleStats) -> bool:
    """Whether nothing is known of any column: rows of no fields, as some writers store without naming the columns."""
    return stats.min_values == stats.max_values == EMPTY_ROW and not stats.null_counts


def _without_padding(low: Value, data_type: DataType) -> Value:
    """A lower bound: of CHAR it may be padded with blanks, which come after what stands in texts before a blank."""
    return low.rstrip(_UP_TO_BLANK) if data_type.root == "CHAR" and isinstance(low, str) else low
