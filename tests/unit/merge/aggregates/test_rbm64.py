"""Unions of 64-bit roaring bitmaps, with the places for containers that Java's array has after them."""

import numpy as np
import pyarrow as pa
import pytest
from pyroaring import BitMap

from maintenance.errors import DataError
from maintenance.format.bytes.roaring import Bitmap64, bitmaps_of, parse_bitmap64, parse_portable, serialize_bitmap64
from maintenance.merge.aggregates.aggregate import AggregatedColumn
from maintenance.merge.aggregates.rbm64 import union64
from maintenance.merge.inputs import Inputs
from maintenance.types.data_type import DataField, parse_type

COLUMN = AggregatedColumn(DataField(1, "b", parse_type("BYTES")), {})


def bitmap(containers: dict[int, list[int]], slots: int = 0) -> bytes:
    """Args: `containers`: values of 16 bits by the upper 48 bits; `slots`: places, at least one for each."""
    made = {key: parse_portable(BitMap(values).serialize())[0][1] for key, values in containers.items()}
    return serialize_bitmap64(Bitmap64(made, max(slots, len(made))))


def union(*bitmaps: bytes | None) -> bytes:
    inputs = Inputs(pa.array(bitmaps, pa.binary()), np.arange(len(bitmaps)), np.array([0]))
    made: bytes = union64(inputs, COLUMN)[0].as_py()
    return made


def values(data: bytes) -> set[int]:
    parts = bitmaps_of(parse_bitmap64(data, "here"))
    return {high << 32 | low for high, part in parts.items() for low in part}


def test_all_values_are_there() -> None:
    made = union(bitmap({7: [1, 5], 1 << 20: [2]}), bitmap({7: [5, 6], 3: [65535]}))
    assert values(made) == {7 << 16 | 1, 7 << 16 | 5, 7 << 16 | 6, 1 << 36 | 2, 3 << 16 | 65535}


def test_containers_keep_the_order_of_the_first_and_new_ones_come_by_key() -> None:
    made = parse_bitmap64(union(bitmap({7: [1], 2: [1]}), bitmap({9: [1], 2: [3], 4: [1]}), bitmap({1: [1]})), "here")
    assert list(made.containers) == [7, 2, 4, 9, 1]


@pytest.mark.parametrize(
    ("slots", "keys", "expected"),
    [(2, 0, 2), (2, 1, 3), (3, 1, 3), (4, 2, 4), (4, 3, 6), (4, 5, 9), (1, 1, 2)],
)
def test_places_grow_by_half_when_they_are_full(slots: int, keys: int, expected: int) -> None:
    """Two containers (one if there is one place), and more of other keys."""
    first = {key: [1] for key in range(min(slots, 2))}
    made = union(bitmap(first, slots), bitmap({0: [2], **{key: [1] for key in range(10, 10 + keys)}}))
    assert parse_bitmap64(made, "here").slots == expected


def test_bytes_that_are_no_bitmap() -> None:
    with pytest.raises(DataError, match="not a 64-bit roaring bitmap"):
        union(bitmap({1: [1]}), b"\x01\x02")
