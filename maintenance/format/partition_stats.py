"""Statistics over the partitions of a manifest's entries: full minimum, maximum and null count of each column."""

from collections.abc import Sequence
from typing import Any

from maintenance.format.binary_row import EMPTY_ROW, parse_row, serialize_row
from maintenance.format.simple_stats import SimpleStats
from maintenance.types.data_type import DataType
from maintenance.types.values import Value


def partition_stats_of(partitions: Sequence[bytes], types: Sequence[DataType]) -> SimpleStats:
    """The SimpleStats of serialized partition rows, never truncated. Source: Java `PartitionStatsCollector`."""
    if not types:
        return SimpleStats(EMPTY_ROW, EMPTY_ROW, ())
    counts: dict[bytes, int] = {}
    for partition in partitions:
        counts[partition] = counts.get(partition, 0) + 1
    rows = [(parse_row(partition, types), count) for partition, count in counts.items()]
    minimums: list[Value] = []
    maximums: list[Value] = []
    nulls = []
    for column in range(len(types)):
        values = [row[column] for row, _ in rows if row[column] is not None]
        minimums.append(min(values, key=_order) if values else None)
        maximums.append(max(values, key=_order) if values else None)
        nulls.append(sum(count for row, count in rows if row[column] is None))
    return SimpleStats(serialize_row(minimums, types), serialize_row(maximums, types), tuple(nulls))


def _order(value: Value) -> Any:
    return value.encode() if isinstance(value, str) else value
