"""The numbers that stand for values, whatever other values are there."""

from decimal import Decimal

import numpy as np
import pyarrow as pa
import pytest

from maintenance.compaction.order.codes import column_bytes, column_codes
from maintenance.errors import UnsupportedError

HALF = 1 << 63


@pytest.mark.parametrize(
    ("column", "codes"),
    [
        (pa.array([False, True, None]), [0, HALF, 0]),
        (pa.array([-128, -1, 0, 1, None], pa.int8()), [HALF - 128, HALF - 1, HALF, HALF + 1, 0]),
        (pa.array([-(2**63), 2**63 - 1], pa.int64()), [0, 2**64 - 1]),
        (pa.array([0.0, 1.0, None], pa.float64()), [HALF, 0xBFF0000000000000, 0]),
        (pa.array([-0.0, -1.0], pa.float64()), [HALF - 1, 0x400FFFFFFFFFFFFF]),
        (pa.array([1.0, None], pa.float32()), [0xBFF0000000000000, 0]),
        (pa.array([Decimal("1.00"), None], pa.decimal128(5, 2)), [0xBFF0000000000000, 0]),
        (pa.array([-1, 0, None], pa.date32()), [HALF - 1, HALF, 0]),
        (pa.array([7, None], pa.time32("ms")), [HALF + 7, 0]),
        (pa.array([7, -7, None], pa.timestamp("s")), [HALF + 7, HALF - 7, 0]),
        (pa.array([7, -7, None], pa.timestamp("ms")), [HALF + 7, HALF - 7, 0]),
        (pa.array([7999, -1, None], pa.timestamp("us")), [HALF + 7, HALF - 1, 0]),
        (pa.array([7_999_999, -1, None], pa.timestamp("ns")), [HALF + 7, HALF - 1, 0]),
        (pa.array(["", "a", "\x7f" * 9, None]), [0, 0x61 << 56, 0x7F7F7F7F7F7F7F7F, 0]),
        (pa.array([b"\x01\x02\x03\x04\x05\x06\x07\x08\x09", b"\xff"]), [0x0102030405060708, 0xFF << 56]),
    ],
    ids=lambda part: str(part.type) if isinstance(part, pa.Array) else "",
)
def test_each_value_has_its_code_also_in_a_slice(column: pa.Array, codes: list[int]) -> None:
    assert column_codes(column).tolist() == codes
    assert column_codes(pa.concat_arrays([column, column]).slice(len(column))).tolist() == codes


def test_every_nan_is_the_largest() -> None:
    other = np.array([0xFFF8000000000001], np.uint64).view(np.float64)[0]
    codes = column_codes(pa.array([float("nan"), other, float("inf"), float("-inf")], pa.float64()))
    assert codes[0] == codes[1] == codes.max()
    assert codes[2] == 0xFFF0000000000000
    assert codes[3] == 0x000FFFFFFFFFFFFF


@pytest.mark.parametrize("width", [1, 3, 8, 9, 20])
def test_bytes_of_texts_are_cut_or_filled_up_to_the_width(width: int) -> None:
    texts = ["", "a", "paimon", "0123456789abcdef", None, "é" * 12]
    actual = column_bytes(pa.array(["left out", *texts]).slice(1), width)
    expected = [(text or "").encode()[:width].ljust(width, b"\0") for text in texts]
    assert [bytes(row) for row in actual] == expected


def test_bytes_of_numbers_are_those_of_their_codes() -> None:
    actual = column_bytes(pa.array([0, None, -1], pa.int32()), 3)
    assert [bytes(row).hex() for row in actual] == ["80" + "00" * 7, "00" * 8, "7f" + "ff" * 7]


def test_values_without_an_order() -> None:
    with pytest.raises(UnsupportedError, match="cannot be ordered"):
        column_codes(pa.array([[1]]))
