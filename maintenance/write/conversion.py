"""Bring a column of a user's data into the natural Arrow type of a table's column, at every level of nesting.

Digits of times behind the declared precision are cut off towards the past, as the casts of SQL engines do; for TIME a
warning in the log says so, since Java's core would keep milliseconds. TIME holds no finer digits than milliseconds
whatever its precision, so finer digits that the type declares are refused. Lengths, NOT NULL and zones are checked.
"""

import logging
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from maintenance.errors import DataError, PaimonError
from maintenance.format.variant.json_parse import parse_json
from maintenance.format.variant.stored import checked_variants, is_text
from maintenance.types import nanos
from maintenance.types.arrow import VARIANT, arrow_type, element_of, in_unit, map_parts, timestamp_type
from maintenance.types.data_type import MAX_LENGTH, DataField, DataType
from maintenance.types.far_timestamps import of_far
from maintenance.types.nanos import NANOS
from maintenance.types.nested import Path, Rebuild
from maintenance.types.values import MILLIS_PER_DAY

_LOG = logging.getLogger(__name__)
_DIGITS = {"s": 0, "ms": 3, "us": 6, "ns": 9}
_MILLI_DIGITS = 3
_BYTES = DataType("VARBINARY", nullable=False, length=MAX_LENGTH)


def converted(column: pa.ChunkedArray, field: DataField, where: str) -> pa.ChunkedArray:
    """The column in the type of `field`. NOT NULL of the column itself is not checked here, that of its parts is.

    Raises: DataError: a value does not fit; it names the column and the path inside it, and `where`.
    """
    conversion = _Conversion(field, where, dict(_leaves(field.type, ())))
    try:
        rebuild = Rebuild(conversion.leaf, conversion.refuse_null, strict=True, variants=conversion.variants)
        made = rebuild.column(column, arrow_type(field.type, f"column {field.name}"))
        for chunk in made.chunks:
            for path, data_type, vectors in _vectors(chunk, field.type, ()):
                conversion.check_vectors(vectors, data_type, path)
        return made
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
        raise DataError(
            f"column '{field.name}' does not fit {field.type}: {error}", where, "Cast the column before writing."
        ) from error


def _leaves(data_type: DataType, path: Path) -> list[tuple[Path, DataType]]:
    """What is not nested in a type, with where it is."""
    match data_type.root:
        case "ARRAY" | "VECTOR":
            return _leaves(element_of(data_type), (*path, "element"))
        case "MAP" | "MULTISET":
            key, value = map_parts(data_type)
            return _leaves(key, (*path, "key")) + _leaves(value, (*path, "value"))
        case "VARIANT":
            return [((*path, part.name), _BYTES) for part in VARIANT]
        case "ROW":
            return [leaf for field in data_type.fields for leaf in _leaves(field.type, (*path, field.name))]
    return [(path, data_type)]


def _vectors(array: pa.Array, data_type: DataType, path: Path) -> Iterator[tuple[Path, DataType, pa.Array]]:
    """The vectors in a column: where they are, their type, and the lists."""
    match data_type.root:
        case "VECTOR":
            yield path, data_type, array
        case "ARRAY":
            yield from _vectors(array.flatten(), element_of(data_type), (*path, "element"))
        case "MAP" | "MULTISET":
            for name, part, values in zip(
                ("key", "value"), map_parts(data_type), (array.keys, array.items), strict=True
            ):
                yield from _vectors(values, part, (*path, name))
        case "ROW":
            for field, values in zip(data_type.fields, array.flatten(), strict=True):
                yield from _vectors(values, field.type, (*path, field.name))


@dataclass(frozen=True, slots=True)
class _Conversion:
    field: DataField
    where: str
    types: dict[Path, DataType]

    def leaf(self, array: pa.Array, target: pa.DataType, path: Path) -> pa.Array:
        data_type = self.types[path]
        if target == NANOS:
            return nanos.floored(_of_any_moment(array, data_type), data_type.precision or 0)
        if pa.types.is_timestamp(target) and pa.types.is_timestamp(array.type):
            array = _of_timestamp(array, target, data_type)
        elif pa.types.is_time(target) and pa.types.is_time(array.type):
            array = self._of_time(array, target, data_type, path)
        elif array.type != target:
            array = array.cast(target)
            if data_type.is_timestamp or data_type.root == "TIME":
                array = _floored(array, data_type.precision or 0)
        self._check_length(array, data_type, path)
        if data_type.root == "TIME":
            self._check_time(array, path)
        return array

    def variants(self, array: pa.Array, path: Path) -> pa.Array:
        """Variants as they are, or out of JSON texts."""
        try:
            return parse_json(array) if is_text(array.type) else checked_variants(array)
        except PaimonError as error:
            raise DataError(f"{error.found} in {self._name(path)}", self.where, error.fix) from error

    def refuse_null(self, path: Path) -> None:
        raise DataError(f"null in {self._name(path)}, which is NOT NULL", self.where, "Fill the column before writing.")

    def check_vectors(self, array: pa.Array, data_type: DataType, path: Path) -> None:
        """Vectors have as many elements as their type says, and none of them is null."""
        other = array.filter(pc.not_equal(pc.list_value_length(array), data_type.length))
        if len(other):
            problem = f"{len(other[0])} elements in {self._name(path)}, which is {data_type}"
            raise DataError(problem, self.where, "Give each list as many elements as the column's type says.")
        if array.flatten().null_count:
            raise DataError(
                f"a null among the elements of {self._name(path)}", self.where, "A VECTOR has a number in each place."
            )

    def _check_length(self, array: pa.Array, data_type: DataType, path: Path) -> None:
        """CHAR(n), VARCHAR(n), BINARY(n), VARBINARY(n) hold at most n characters or bytes."""
        if data_type.length in (None, MAX_LENGTH) or not (data_type.is_string or data_type.is_bytes):
            return
        lengths = pc.utf8_length(array) if data_type.is_string else pc.binary_length(array)
        longest = pc.max(lengths).as_py()
        if longest is not None and longest > data_type.length:
            fix = "Shorten the value, or make the column's type longer with ALTER TABLE."
            raise DataError(f"a value of length {longest} in {self._name(path)}, which is {data_type}", self.where, fix)

    def _of_time(self, array: pa.Array, target: pa.DataType, data_type: DataType, path: Path) -> pa.Array:
        precision = data_type.precision or 0
        if precision > _MILLI_DIGITS:
            # Fails where finer digits are there.
            return array.cast(target)
        cut = _floored(array, precision)
        changed = pc.not_equal(cut, array)
        if pc.any(changed).as_py():
            first = array.filter(changed)[0].as_py()
            fix = f"declare it TIME({_MILLI_DIGITS})" if precision < _MILLI_DIGITS else "Paimon keeps milliseconds"
            _LOG.warning("%s is %s: digits of %s and others are cut off; %s", self._name(path), data_type, first, fix)
        return cut.cast(target)

    def _check_time(self, array: pa.Array, path: Path) -> None:
        """Numbers are taken for milliseconds, and Arrow lets every one pass."""
        bounds = pc.min_max(array.view(pa.int32())).as_py()
        if bounds["min"] is not None and not 0 <= bounds["min"] <= bounds["max"] < MILLIS_PER_DAY:
            problem = f"a time of {bounds['min']} to {bounds['max']} milliseconds in {self._name(path)}"
            raise DataError(problem, self.where, "Write times of 0 to 86399999 milliseconds: a day has 86400000.")

    def _name(self, path: Path) -> str:
        return f"column '{'.'.join((self.field.name, *path))}'"


def _of_timestamp(array: pa.Array, target: pa.DataType, data_type: DataType) -> pa.Array:
    _check_zone(array.type, data_type)
    return _floored(in_unit(array, target.unit).cast(target), data_type.precision or 0)


def _of_any_moment(array: pa.Array, data_type: DataType) -> pa.Array:
    """Timestamps of any form as those of a type finer than microseconds. Raises: pa.ArrowInvalid."""
    if array.type == NANOS:
        return array
    kind = timestamp_type(data_type)
    if pa.types.is_struct(array.type):
        return of_far(array, kind.tz)
    if pa.types.is_timestamp(array.type):
        _check_zone(array.type, data_type)
        return nanos.widened(array)
    try:
        return nanos.widened(array.cast(kind))
    except pa.ArrowInvalid:  # texts of years that nanoseconds do not have
        return nanos.widened(array.cast(pa.timestamp("us", kind.tz)))


def _check_zone(arrow: pa.TimestampType, data_type: DataType) -> None:
    if (arrow.tz is None) != (data_type.root == "TIMESTAMP"):
        raise pa.ArrowInvalid(f"{arrow} against {data_type}: one has a time zone, the other has not")


def _floored(array: pa.Array, precision: int) -> pa.Array:
    """Times or timestamps without the digits behind a precision."""
    step = 10 ** (_DIGITS[array.type.unit] - precision) if precision < _DIGITS[array.type.unit] else 1
    if step == 1:
        return array
    numbers = array.view(pa.int64() if array.type.bit_width == 64 else pa.int32())
    nulls: np.ndarray = numbers.is_null().to_numpy(zero_copy_only=False)
    floored = numbers.fill_null(0).to_numpy(zero_copy_only=False) // step * step
    return pa.array(floored, numbers.type, mask=nulls).view(array.type)
