"""Unions of 32-bit roaring bitmaps."""

import numpy as np
import pyarrow as pa
import pytest
from pyroaring import BitMap

from maintenance.errors import DataError
from maintenance.merge.aggregates.aggregate import AggregatedColumn
from maintenance.merge.aggregates.rbm32 import RBM32, union32
from maintenance.merge.inputs import Inputs
from maintenance.types.data_type import DataField, parse_type

COLUMN = AggregatedColumn(DataField(1, "b", parse_type("BYTES")), {})


def union(*bitmaps: bytes) -> bytes:
    inputs = Inputs(pa.array(bitmaps, pa.binary()), np.arange(len(bitmaps)), np.array([0]))
    made: bytes = union32(inputs, COLUMN)[0].as_py()
    return made


def test_all_values_are_there_and_runs_are_stored_as_runs() -> None:
    made = union(BitMap(range(100)).serialize(), BitMap([7, 1 << 20]).serialize())
    assert BitMap.deserialize(made) == BitMap([*range(100), 1 << 20])
    assert len(made) < 50


def test_runs_stay_runs_where_an_array_is_as_small_as_in_java() -> None:
    points, run = "3a30000001000000000001001000000002000600", "3b3000000100000300010008000300"
    # What Java's FieldRoaringBitmap32Agg makes of 2, 6 and 8 to 11; CRoaring makes it an array.
    united = "3b30000001000005000300020000000600000008000300"
    assert union(bytes.fromhex(points), bytes.fromhex(run)).hex() == united


@pytest.mark.parametrize("data", [b"", b"\x00", b"\xff" * 9])
def test_bytes_that_are_no_bitmap(data: bytes) -> None:
    with pytest.raises(DataError, match="not a roaring bitmap"):
        union(BitMap([1]).serialize(), data)


def test_it_takes_bytes_of_any_length_alone() -> None:
    assert RBM32.accepts(parse_type("VARBINARY(9)"))
    assert RBM32.accepts(parse_type("BYTES"))
    assert not RBM32.accepts(parse_type("BINARY(9)"))
