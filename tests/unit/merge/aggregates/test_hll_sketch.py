"""Unions of HLL sketches."""

import sys

import numpy as np
import pyarrow as pa
import pytest
from datasketches import hll_sketch, tgt_hll_type

from maintenance.errors import DataError, UnsupportedError
from maintenance.merge.aggregates.aggregate import AggregatedColumn
from maintenance.merge.aggregates.hll_sketch import union_hll
from maintenance.merge.aggregates.sketches import sketch_library
from maintenance.merge.inputs import Inputs
from maintenance.types.data_type import DataField, parse_type

COLUMN = AggregatedColumn(DataField(1, "b", parse_type("BYTES")), {})


def sketch(numbers: range, precision: int = 12) -> bytes:
    made = hll_sketch(precision, tgt_hll_type.HLL_4)
    for number in numbers:
        made.update(number)
    data: bytes = made.serialize_compact()
    return data


def union(*sketches: bytes) -> bytes:
    inputs = Inputs(pa.array(sketches, pa.binary()), np.arange(len(sketches)), np.array([0]))
    made: bytes = union_hll(inputs, COLUMN)[0].as_py()
    return made


def test_each_number_counts_once() -> None:
    made = union(sketch(range(4)), sketch(range(2, 6)), sketch(range(5, 8)))
    assert hll_sketch.deserialize(made).get_estimate() == pytest.approx(8, rel=1e-3)


@pytest.mark.parametrize(("first", "second"), [(11, 12), (12, 11)])
def test_the_sketch_that_is_added_gives_the_precision(first: int, second: int) -> None:
    made = hll_sketch.deserialize(union(sketch(range(900), first), sketch(range(900, 1800), second)))
    assert made.lg_config_k == min(first, second)
    assert made.tgt_type == tgt_hll_type.HLL_4


@pytest.mark.parametrize("data", [b"", b"\x01\x02", b"\x02\x01\x07" + bytes(30)])
def test_bytes_that_are_no_sketch(data: bytes) -> None:
    for parts in ((sketch(range(3)), data), (data, sketch(range(3)))):
        with pytest.raises(DataError, match="not an HLL sketch"):
            union(*parts)


def test_without_the_library_more_than_one_sketch_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "datasketches", None)
    with pytest.raises(UnsupportedError, match=r"datasketches.*Install it"):
        sketch_library("column s")
