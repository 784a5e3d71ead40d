"""Unions of theta sketches: estimates, and the bytes that Java writes."""

from itertools import pairwise

import numpy as np
import pyarrow as pa
import pytest
from datasketches import compact_theta_sketch, update_theta_sketch

from maintenance.errors import DataError
from maintenance.format.bytes.theta_sketches import united_sketches
from maintenance.merge.aggregates.aggregate import AggregatedColumn
from maintenance.merge.aggregates.theta_sketch import _as_java, _union, union_theta
from maintenance.merge.inputs import Inputs
from maintenance.types.data_type import DataField, parse_type

COLUMN = AggregatedColumn(DataField(1, "b", parse_type("BYTES")), {})
FLAGS = 5
EMPTY, SINGLE = 0x04, 0x20


def sketch(*numbers: int) -> bytes:
    made = update_theta_sketch()
    for number in numbers:
        made.update(number)
    data: bytes = made.compact().serialize()
    return data


def union(*sketches: bytes) -> bytes:
    inputs = Inputs(pa.array(sketches, pa.binary()), np.arange(len(sketches)), np.array([0]))
    made: bytes = union_theta(inputs, COLUMN)[0].as_py()
    return made


def test_each_number_counts_once() -> None:
    assert compact_theta_sketch.deserialize(union(sketch(1, 2, 3), sketch(3, 4))).get_estimate() == 4


def test_java_says_that_every_number_was_sampled() -> None:
    """The probability 1.0 stands at byte 12, where there is a preamble of more than one long."""
    made = union(sketch(1, 2), sketch(3))
    assert made[:1] == b"\x02"
    assert made[12:16] == b"\x00\x00\x80\x3f"
    assert not made[FLAGS] & SINGLE


def test_java_says_that_there_is_one_number() -> None:
    made = union(sketch(1), sketch(1))
    assert made[0] & 0x3F == 1
    assert made[FLAGS] & SINGLE
    assert len(made) == 16


def test_without_numbers_the_sketch_is_empty() -> None:
    made = union(sketch(), sketch())
    assert made[FLAGS] & EMPTY
    assert not made[FLAGS] & SINGLE
    assert len(made) == 8


def unordered(*numbers: int) -> bytes:
    made = update_theta_sketch()
    for number in numbers:
        made.update(number)
    data: bytes = made.compact(ordered=False).serialize()
    return data


# Few and many numbers, none, and so many that they are sampled; as Java writes them, too.
_WRITTEN = [
    *(
        sketch(*range(first, first + count))
        for first, count in ((0, 1), (7, 1), (1, 3), (2, 50), (30, 60), (500, 3000))
    ),
    sketch(),
    sketch(*range(20_000)),
    unordered(5, 3, 9, 1),
]
POOL = [*_WRITTEN, *map(_as_java, _WRITTEN[:7]), union(sketch(1), sketch(1)), union(sketch(1, 2), sketch(3))]


@pytest.mark.parametrize("seed", range(2))
def test_many_at_once_are_what_they_are_one_by_one(seed: int) -> None:
    random = np.random.default_rng(seed)
    column = pa.array(POOL, pa.binary()).take(pa.array(random.integers(0, len(POOL), 2000)))
    starts = np.append(0, np.unique(random.integers(1, 2000, 900)))
    made = union_theta(Inputs(column, np.arange(2000), starts), COLUMN).to_pylist()
    groups = [column[start:end].to_pylist() for start, end in pairwise([*starts.tolist(), 2000])]
    assert made == [group[0] if len(group) == 1 else _union(group, "") for group in groups]


def test_sketches_of_few_numbers_are_united_at_once() -> None:
    parts = [
        sketch(1, 2),
        sketch(2, 3),
        sketch(4),
        sketch(4),
        sketch(*range(4000)),
        sketch(*range(3000, 4500)),
        sketch(),
    ]
    found = united_sketches(pa.array([*parts, sketch(1)], pa.binary()), np.array([0, 2, 4, 6]))
    assert found.groups.tolist() == [1, 0]
    assert [found.united[number] for number in range(2)] == [_union(parts[2:4], ""), _union(parts[:2], "")]


def test_bytes_that_are_no_sketch() -> None:
    with pytest.raises(DataError, match="not a theta sketch"):
        union(sketch(1), b"\x00\x01")
