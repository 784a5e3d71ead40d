"""Columns of the rows of row files, without a loop over values.

Rows have no marks between their values: where one ends, the next begins. So columns are decoded in order, each for all
rows at once, from the places where the one before it ended; a column that nobody wants is only passed over. The
elements of lists are found in the same way: all first ones, all second ones, and so on.
Source: Paimon's specification of the row format, Java `RowBlockReader`.
"""

from collections.abc import Collection, Sequence

import numpy as np
import pyarrow as pa

from maintenance.errors import UnsupportedError
from maintenance.format.bytes.decimals import decimals_of_digits
from maintenance.format.bytes.ragged import ends
from maintenance.format.bytes.varints import read_varints
from maintenance.format.row_file.encoding import COMPACT_DIGITS, COMPACT_PRECISION
from maintenance.format.rows.nested import entries
from maintenance.types.arrow import arrow_type, element_of, has_nanos, map_parts
from maintenance.types.data_type import DataField, DataType
from maintenance.types.nanos import of_parts

PADDING = bytes(16)
"""What has to stand behind the content: values of fixed width are looked at whole, also where there are none."""
_NUMBERS = {
    "BOOLEAN": "u1", "TINYINT": "i1", "SMALLINT": "<i2", "INT": "<i4", "DATE": "<i4", "TIME": "<i4", "BIGINT": "<i8",
    "FLOAT": "<f4", "DOUBLE": "<f8",
}  # fmt: skip
_TEXTS = ("CHAR", "VARCHAR", "BINARY", "VARBINARY", "BLOB")
_WALKED = 64  # elements of longer lists of texts are found by doubling steps
_SIZE_BYTES = 5
_MAX_MILLIS = (2**63 - 1) // 1000 - 1

_Valid = np.ndarray | None
"""Which values there are, None = all."""


def decode_rows(
    content: bytes, starts: np.ndarray, stops: np.ndarray, fields: Sequence[DataField], wanted: Collection[str]
) -> dict[str, pa.Array]:
    """The wanted columns of rows, by name, in natural types.

    Args: `content`: with `PADDING` behind it; `starts`, `stops`: of each row, ascending, int64, shape (rows,);
        `fields`: all columns of the file, in its order.
    Raises: ValueError, IndexError: the content is damaged; UnsupportedError: Arrow cannot hold a value.
    """
    data, columns = _Content(content), dict[str, pa.Array]()
    bits, at = _Bits(data, starts), starts + _bytes_of_bits(len(fields))
    for number, field in enumerate(fields):
        if len(columns) == len(wanted):
            break
        valid = bits.valid(number, None)
        if field.name in wanted:
            columns[field.name], at = data.read(field.type, at, valid)
        else:
            at = data.passed(field.type, at, valid)
    if (at > stops).any() or (len(columns) == len(fields) and (at != stops).any()):
        raise ValueError("a row is not as long as the file says")
    return columns


def _bytes_of_bits(count: int) -> int:
    return (count + 7) // 8


class _Bits:
    """The bits in front of the values of rows, set where one is null. `at`: where they begin, shape (rows,)."""

    def __init__(self, data: "_Content", at: np.ndarray) -> None:
        self._data, self._at = data, at
        self._byte = np.zeros(0, np.uint8)

    def valid(self, number: int, among: _Valid) -> _Valid:
        """Which rows have a value of this number. To be asked in ascending order. `among`: which rows there are."""
        if not number % 8:
            self._byte = self._data.bytes[np.minimum(self._at + number // 8, len(self._data.bytes) - 1)]
        there = (self._byte & (1 << number % 8)) == 0
        if among is not None:
            return np.asarray(there & among)
        return None if there.all() else there


class _Content:
    """The decompressed content of blocks. `at`: where values are or would be, ascending, int64, shape (values,)."""

    def __init__(self, content: bytes) -> None:
        self._content = content
        self.bytes = np.frombuffer(content, np.uint8)
        self._size = len(content) - len(PADDING)

    def read(self, data_type: DataType, at: np.ndarray, valid: _Valid) -> tuple[pa.Array, np.ndarray]:
        """Values, null where there is none, and where each ends."""
        match data_type.root:
            case "CHAR" | "VARCHAR" | "BINARY" | "VARBINARY" | "BLOB":
                return self._texts(at, valid, arrow_type(data_type))
            case "DECIMAL":
                return self._decimals(data_type, at, valid)
            case "TIMESTAMP" | "TIMESTAMP_LTZ":
                return self._timestamps(data_type, at, valid)
            case "VARIANT":
                value, at = self._texts(at, valid, pa.binary())
                metadata, at = self._texts(at, valid, pa.binary())
                return _array(arrow_type(data_type), len(at), valid, children=[value, metadata]), at
            case "ROW":
                return self._row(data_type, at, valid)
            case "ARRAY" | "VECTOR":
                return self._list(data_type, at, valid)
            case "MAP" | "MULTISET":
                return self._map(data_type, at, valid)
        values = self._numbers(_NUMBERS[data_type.root], at)
        stored = np.packbits(values != 0, bitorder="little") if data_type.root == "BOOLEAN" else values
        return _array(arrow_type(data_type), len(at), valid, stored), _behind(at, values.itemsize, valid)

    def passed(self, data_type: DataType, at: np.ndarray, valid: _Valid) -> np.ndarray:
        """Where each value ends."""
        width = _width(data_type)
        if width is not None:
            return _behind(at, width, valid)
        match data_type.root:
            case "TIMESTAMP" | "TIMESTAMP_LTZ":
                return self._sizes(_behind(at, 8, valid), valid)[1]
            case "VARIANT":
                return self._behind_texts(self._behind_texts(at, valid), valid)
            case "ROW":
                bits, at = _Bits(self, at), _behind(at, _bytes_of_bits(len(data_type.fields)), valid)
                for number, field in enumerate(data_type.fields):
                    at = self.passed(field.type, at, bits.valid(number, valid))
                return at
            case "ARRAY" | "VECTOR":
                return self._elements(element_of(data_type), at, valid, bits=data_type.root == "ARRAY")[-1]
            case "MAP" | "MULTISET":
                for part in map_parts(data_type):
                    at = self._elements(part, at, valid)[-1]
                return at
        return self._behind_texts(at, valid)

    def _numbers(self, kind: str, at: np.ndarray) -> np.ndarray:
        """Values of fixed width, whatever bytes stand where there is none."""
        width = np.dtype(kind).itemsize
        at_every_byte = np.ndarray((len(self._content) - width + 1,), kind, self._content, strides=(1,))
        return np.asarray(at_every_byte[at])

    def _sizes(self, at: np.ndarray, valid: _Valid) -> tuple[np.ndarray, np.ndarray]:
        """Numbers of varying width, 0 where there is none, and where each ends."""
        if valid is None:
            return read_varints(self.bytes, at)
        numbers, stops = np.zeros(len(at), np.int64), at.copy()
        numbers[valid], stops[valid] = read_varints(self.bytes, at[valid])
        return numbers, stops

    def _behind_texts(self, at: np.ndarray, valid: _Valid) -> np.ndarray:
        sizes, at = self._sizes(at, valid)
        return np.asarray(at + sizes)

    def _texts(self, at: np.ndarray, valid: _Valid, arrow: pa.DataType) -> tuple[pa.Array, np.ndarray]:
        """Texts or bytes. Seen by Arrow, values and what is between them take turns, and it leaves out the latter."""
        sizes, starts = self._sizes(at, valid)
        stops = starts + sizes
        if not len(at):
            return pa.array([], arrow), at
        if stops[-1] > self._size or (starts[1:] < stops[:-1]).any():
            raise ValueError("a text is longer than its row")
        bounds = np.empty(2 * len(at), np.int64 if pa.types.is_large_binary(arrow) else np.int32)
        bounds[0::2], bounds[1::2] = starts, stops
        both = pa.Array.from_buffers(
            arrow, len(bounds) - 1, [None, pa.py_buffer(bounds), pa.py_buffer(self._content)], null_count=0
        )
        every_other = pa.py_buffer(np.full(_bytes_of_bits(len(both)), 0b01010101, np.uint8))
        texts = both.filter(pa.Array.from_buffers(pa.bool_(), len(both), [None, every_other], null_count=0))
        return _array(arrow, len(at), valid, *texts.buffers()[1:]), stops

    def _decimals(self, data_type: DataType, at: np.ndarray, valid: _Valid) -> tuple[pa.Array, np.ndarray]:
        arrow = arrow_type(data_type)
        if (data_type.precision or 0) > COMPACT_DIGITS:
            digits, at = self._texts(at, valid, pa.binary())
            return decimals_of_digits(digits, arrow), at
        words = np.empty((len(at), 2), np.int64)
        words[:, 0] = self._numbers("<i8", at)
        words[:, 1] = words[:, 0] >> 63
        return _array(arrow, len(at), valid, words), _behind(at, 8, valid)

    def _timestamps(self, data_type: DataType, at: np.ndarray, valid: _Valid) -> tuple[pa.Array, np.ndarray]:
        """Milliseconds and, of finer ones, the nanoseconds behind them."""
        millis, at = self._numbers("<i8", at), _behind(at, 8, valid)
        if valid is not None:
            millis = np.where(valid, millis, 0)
        if (data_type.precision or 0) <= COMPACT_PRECISION:
            return _array(arrow_type(data_type), len(at), valid, millis), at
        behind, at = self._sizes(at, valid)
        if (np.abs(millis) > _MAX_MILLIS).any():
            raise UnsupportedError("a timestamp is too far from 1970", str(data_type), "Leave the column out.")
        more, rest = np.divmod(behind, 1000)
        micros = millis * 1000 + more
        if has_nanos(data_type):
            return of_parts(micros, rest, None if valid is None else ~valid), at
        return _array(arrow_type(data_type), len(at), valid, micros), at

    def _row(self, data_type: DataType, at: np.ndarray, valid: _Valid) -> tuple[pa.Array, np.ndarray]:
        bits, at = _Bits(self, at), _behind(at, _bytes_of_bits(len(data_type.fields)), valid)
        parts = []
        for number, field in enumerate(data_type.fields):
            part, at = self.read(field.type, at, bits.valid(number, valid))
            parts.append(part)
        return _array(arrow_type(data_type), len(at), valid, children=parts), at

    def _list(self, data_type: DataType, at: np.ndarray, valid: _Valid) -> tuple[pa.Array, np.ndarray]:
        element = element_of(data_type)
        counts, places, there, stops = self._elements(element, at, valid, bits=data_type.root == "ARRAY")
        values, _ = self.read(element, places, there)
        offsets = ends(counts).astype(np.int32)
        return _array(arrow_type(data_type), len(at), valid, offsets, children=[values]), stops

    def _map(self, data_type: DataType, at: np.ndarray, valid: _Valid) -> tuple[pa.Array, np.ndarray]:
        key, value = map_parts(data_type)
        counts, of_keys, has_key, at = self._elements(key, at, valid)
        others, of_values, has_value, at = self._elements(value, at, valid)
        if (counts != others).any():
            raise ValueError("a map has more keys than values, or fewer")
        if has_key is not None:
            raise UnsupportedError(
                "a map has a null key, which Arrow cannot hold", str(data_type), "Leave the column out of the read."
            )
        arrow = arrow_type(data_type)
        parts = [self.read(key, of_keys, None)[0], self.read(value, of_values, has_value)[0]]
        return _array(arrow, len(at), valid, ends(counts).astype(np.int32), children=[entries(arrow, parts)]), at

    def _elements(
        self, element: DataType, at: np.ndarray, valid: _Valid, *, bits: bool = True
    ) -> tuple[np.ndarray, np.ndarray, _Valid, np.ndarray]:
        """Of lists: how many elements each has, where these are, which of them are not null, and where each list ends.

        Args: `bits`: whether there is a bit for each element, set where it is null.
        """
        counts, at = self._sizes(at, valid)
        if int(counts.max(initial=0)) > 8 * self._size or int(counts.sum()) > 8 * self._size:
            raise ValueError("a list is longer than the file")
        firsts = ends(counts)
        if not bits:
            places, at = self._reached(element, at, counts)
            return counts, places, None, at
        order = np.arange(firsts[-1]) - np.repeat(firsts[:-1], counts)
        byte = self.bytes[np.repeat(at, counts) + (order >> 3)]
        there = (byte >> (order & 7).astype(np.uint8)) & 1 == 0
        at = at + (counts + 7) // 8
        if there.all():
            places, at = self._reached(element, at, counts)
            return counts, places, None, at
        before = ends(there)
        reached, at = self._reached(element, at, np.diff(before[firsts]))
        # One that is null is where the next begins.
        return counts, np.append(reached, at[-1])[before[:-1]], there, at

    def _reached(self, element: DataType, at: np.ndarray, counts: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Where so many elements are that follow each other from each place, and where the last of each ends."""
        firsts, width = ends(counts), _width(element)
        if width is not None:
            order = np.arange(firsts[-1]) - np.repeat(firsts[:-1], counts)
            return np.repeat(at, counts) + order * width, at + counts * width
        if element.root in _TEXTS and int(counts.max(initial=0)) > _WALKED:
            return self._leapt(at, counts)
        places, at = np.empty(firsts[-1], np.int64), at.copy()
        going, turn = np.flatnonzero(counts), 0
        while len(going):
            places[firsts[going] + turn] = at[going]
            at[going] = self.passed(element, at[going], None)
            turn += 1
            going = going[counts[going] > turn]
        return places, at

    def _leapt(self, at: np.ndarray, counts: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """As `_reached`, of texts: from every byte one text on, then two, four, and so on."""
        step = self._one_text_on()
        with_end = counts + 1
        firsts = ends(with_end)
        order = np.arange(firsts[-1]) - np.repeat(firsts[:-1], with_end)
        places = np.repeat(at, with_end)
        for power in range(int(counts.max()).bit_length()):
            leaping = (order >> power) & 1 == 1
            places[leaping] = step[places[leaping]]
            step = step[step]
        last = np.zeros(len(places), bool)
        last[firsts[1:] - 1] = True
        return places[~last], places[last]

    def _one_text_on(self) -> np.ndarray:
        """Where a text ends that begins at each byte; no further than the content does."""
        size, places = np.zeros(self._size + 1, np.int64), np.arange(self._size + 1)
        stops, going = places.copy(), np.ones(self._size + 1, bool)
        for turn in range(_SIZE_BYTES):
            byte = self.bytes[turn : self._size + 1 + turn]
            size += np.where(going, (byte & 0x7F).astype(np.int64) << (7 * turn), 0)
            stops += going
            going &= byte > 0x7F
        return np.asarray(np.minimum(stops + size, self._size))


def _width(data_type: DataType) -> int | None:
    """Bytes of every value of a type, None if they differ."""
    if data_type.root in _NUMBERS:
        return int(np.dtype(_NUMBERS[data_type.root]).itemsize)
    compact = COMPACT_PRECISION if data_type.is_timestamp else COMPACT_DIGITS if data_type.root == "DECIMAL" else -1
    return 8 if (data_type.precision or 0) <= compact else None


def _behind(at: np.ndarray, width: int, valid: _Valid) -> np.ndarray:
    return np.asarray(at + width if valid is None else at + width * valid)


def _array(
    arrow: pa.DataType,
    count: int,
    valid: _Valid,
    *buffers: "np.ndarray | pa.Buffer | None",
    children: Sequence[pa.Array] = (),
) -> pa.Array:
    """An array of its parts. `buffers`: behind the one of the nulls."""
    nulls = None if valid is None else pa.py_buffer(np.packbits(valid, bitorder="little"))
    rest = [pa.py_buffer(part) if isinstance(part, np.ndarray) else part for part in buffers]
    return pa.Array.from_buffers(arrow, count, [nulls, *rest], children=list(children))
