"""Unions of 32-bit roaring bitmaps."""

import struct
from collections.abc import Iterable
from itertools import pairwise

import numpy as np
import pyarrow as pa
import pytest
from pyroaring import BitMap

from maintenance.errors import DataError
from maintenance.merge.aggregates.aggregate import AggregatedColumn
from maintenance.merge.aggregates.rbm32 import RBM32, _union, union32
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


def optimized(numbers: Iterable[int]) -> bytes:
    made = BitMap(numbers)
    made.run_optimize()
    return bytes(made.serialize())


# Few and many values and containers; neighbours, also across containers; runs, bits, and what is between the two.
POOL = [
    *(BitMap(np.random.default_rng(seed).integers(0, 1 << 20, 50)).serialize() for seed in range(20)),
    *(BitMap(np.random.default_rng(seed).integers(0, 300, 40)).serialize() for seed in range(5)),
    *(BitMap(np.random.default_rng(seed).integers(0, 1 << 16, 3000)).serialize() for seed in range(3)),
    *(BitMap([seed, (1 << 16) - 1, 1 << 16, (1 << 32) - 1]).serialize() for seed in range(3)),
    BitMap(range(0, 3_000_000, 1000)).serialize(),
    BitMap(range(0, 1 << 28, 1 << 16)).serialize(),
    BitMap(range(0, 1 << 16, 2)).serialize(),
    optimized(range(100)),
    optimized([2, 6, 8, 9, 10]),
    optimized([1, *range(8, 12), *range(70_000, 80_000)]),
    BitMap().serialize(),
]


@pytest.mark.parametrize("seed", range(2))
def test_many_at_once_are_what_they_are_one_by_one(seed: int) -> None:
    random = np.random.default_rng(seed)
    column = pa.array(POOL, pa.binary()).take(pa.array(random.integers(0, len(POOL), 900)))
    starts = np.append(0, np.unique(random.integers(1, 900, 450)))
    made = union32(Inputs(column, np.arange(900), starts), COLUMN).to_pylist()
    groups = [column[start:end].to_pylist() for start, end in pairwise([*starts.tolist(), 900])]
    assert made == [group[0] if len(group) == 1 else _union(group, "") for group in groups]


def test_what_was_runs_on_the_way_stays_runs() -> None:
    # 1 to 5 are runs; with 10 and 20 an array takes as little space.
    assert union(*(BitMap(numbers).serialize() for numbers in ([1, 3, 5], [2, 4], [10, 20])))[:2] == b"\x3b\x30"
    assert union(*(BitMap(numbers).serialize() for numbers in ([1, 3, 5], [10, 20], [2])))[:2] == b"\x3a\x30"


def test_a_damaged_bitmap_among_many_is_found() -> None:
    good = BitMap([1, 5, 70_000]).serialize()
    falling = struct.pack("<IIHHIHH", 12346, 1, 0, 1, 16, 5, 3)
    twice = struct.pack("<IIHHHHIIHH", 12346, 2, 7, 0, 7, 0, 24, 26, 5, 9)
    for bad in (falling, twice, good[:-1], good[:9]):
        column = pa.array([good, good, good, bad, good, good], pa.binary())
        with pytest.raises(DataError, match="not a roaring bitmap"):
            union32(Inputs(column, np.arange(6), np.array([0, 2, 4])), COLUMN)


@pytest.mark.parametrize("data", [b"", b"\x00", b"\xff" * 9])
def test_bytes_that_are_no_bitmap(data: bytes) -> None:
    with pytest.raises(DataError, match="not a roaring bitmap"):
        union(BitMap([1]).serialize(), data)


def test_it_takes_bytes_of_any_length_alone() -> None:
    assert RBM32.accepts(parse_type("VARBINARY(9)"))
    assert RBM32.accepts(parse_type("BYTES"))
    assert not RBM32.accepts(parse_type("BINARY(9)"))
