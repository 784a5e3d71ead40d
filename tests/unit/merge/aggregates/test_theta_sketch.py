"""Unions of theta sketches: estimates, and the bytes that Java writes."""

import numpy as np
import pyarrow as pa
import pytest
from datasketches import compact_theta_sketch, update_theta_sketch

from maintenance.errors import DataError
from maintenance.merge.aggregates.aggregate import AggregatedColumn
from maintenance.merge.aggregates.theta_sketch import union_theta
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


def test_bytes_that_are_no_sketch() -> None:
    with pytest.raises(DataError, match="not a theta sketch"):
        union(sketch(1), b"\x00\x01")
