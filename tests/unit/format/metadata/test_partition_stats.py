"""Statistics over partitions: bounds that every reader takes alike, or none."""

import math
import struct
from collections import Counter

import pytest

from maintenance.format.metadata.partition_stats import may_hold, partition_stats_of
from maintenance.format.rows.binary_row import parse_row, serialize_row
from maintenance.types.data_type import parse_type
from maintenance.types.values import Value


@pytest.mark.parametrize(
    ("text", "values", "bounds"),
    [
        ("INT", [3, None, -1, 3], (-1, 3)),
        ("STRING", ["b", "", "\ue000", "\U0001f600"], ("", "\U0001f600")),
        ("TIME(3)", [5, 86_399_999], (5, 86_399_999)),
        ("DOUBLE", [1.5, -2.0], (-2.0, 1.5)),
        ("DOUBLE", [0.0, 1.0], (-0.0, 1.0)),
        ("FLOAT", [-0.0], (-0.0, 0.0)),
        ("DOUBLE", [math.nan, 1.0], (None, None)),
        ("DOUBLE", [1.0, math.nan], (None, None)),
        ("BYTES", [b"a", b"\xff"], (None, None)),
        ("INT", [None], (None, None)),
    ],
)
def test_bounds_hold_every_partition_or_there_are_none(
    text: str, values: list[Value], bounds: tuple[Value, Value]
) -> None:
    types = [parse_type(text)]
    partitions = [serialize_row([value], types) for value in values]
    stats = partition_stats_of(Counter(partitions), types)
    actual = (*parse_row(stats.min_values, types), *parse_row(stats.max_values, types))
    assert list(map(bits, actual)) == list(map(bits, bounds))
    assert stats.null_counts == (values.count(None),)
    assert all(may_hold(stats, [partition], types) for partition in partitions)


def bits(value: Value) -> object:
    return struct.pack("<d", value) if isinstance(value, float) else value
