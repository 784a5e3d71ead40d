"""Statistics over the partitions of a manifest's entries: full minimum, maximum and null count of each column."""

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

from maintenance.format.metadata.simple_stats import SimpleStats
from maintenance.format.rows.binary_row import EMPTY_ROW, parse_row, serialize_row
from maintenance.types.data_type import DataType
from maintenance.types.values import Value

# Beyond this many partitions, looking at each takes longer than reading the manifest.
_MAX_PARTITIONS = 1000


def partition_stats_of(partitions: Mapping[bytes, int], types: Sequence[DataType]) -> SimpleStats:
    """The SimpleStats of serialized partition rows, never truncated. Source: Java `PartitionStatsCollector`.

    `partitions`: how many entries each has.

    Bytes and columns with NaN get no bounds, and zeros are bounds that hold for both, as in `column_stats`.
    """
    if not types:
        return SimpleStats(EMPTY_ROW, EMPTY_ROW, ())
    rows = [(parse_row(partition, types), count) for partition, count in partitions.items()]
    minimums: list[Value] = []
    maximums: list[Value] = []
    nulls = []
    for column in range(len(types)):
        values = [row[column] for row, _ in rows if row[column] is not None]
        low, high = _bounds(values)
        minimums.append(low)
        maximums.append(high)
        nulls.append(sum(count for row, count in rows if row[column] is None))
    return SimpleStats(serialize_row(minimums, types), serialize_row(maximums, types), tuple(nulls))


def _bounds(values: Sequence[Value]) -> tuple[Value, Value]:
    """Smallest and largest of values that are not null; None where there are no bounds."""
    if not values or any(isinstance(value, bytes) or value != value for value in values):
        return None, None
    low, high = min(values, key=_order), max(values, key=_order)
    if isinstance(low, float) and isinstance(high, float):
        return low or -0.0, high or 0.0
    return low, high


def may_hold(stats: SimpleStats, partitions: Collection[bytes], types: Sequence[DataType]) -> bool:
    """Whether a manifest with these statistics can have an entry of one of these partitions."""
    return holding(partitions, types)(stats)


def holding(partitions: Collection[bytes], types: Sequence[DataType]) -> Callable[[SimpleStats], bool]:
    """Whether a manifest with statistics can have an entry of one of these partitions, to be asked of many."""
    if not types or len(partitions) > _MAX_PARTITIONS:
        return lambda _: bool(partitions)
    rows = [parse_row(partition, types) for partition in partitions]

    def holds(stats: SimpleStats) -> bool:
        lows, highs = parse_row(stats.min_values, types), parse_row(stats.max_values, types)
        nulls = stats.null_counts or (None,) * len(types)
        bounds = list(zip(lows, highs, nulls, strict=True))
        return any(all(_within(value, *bound) for value, bound in zip(row, bounds, strict=True)) for row in rows)

    return holds


def _within(value: Value, low: Value, high: Value, nulls: int | None) -> bool:
    if value is None:
        return nulls != 0
    # Writers differ in how they order bytes and NaN; without bounds nothing is known.
    if low is None or high is None or isinstance(value, bytes | float):
        return True
    return bool(_order(low) <= _order(value) <= _order(high))


def sort_word(value: Value) -> tuple[bool, Any]:
    """What a value of a partition column sorts by: null first, text by its bytes."""
    return value is not None, _order(value)


def _order(value: Value) -> Any:
    return value.encode() if isinstance(value, str) else value
