"""Partitions by the texts that users, statements and plans name them by.

A text is a value as it is written in SQL, or as its folder or a report shows it. One that several partitions of the
table may be meant by names none of them.
"""

import decimal
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from maintenance.errors import DataError
from maintenance.format.rows.binary_row import parse_row, serialize_row
from maintenance.metadata.partition_path import is_blank
from maintenance.metadata.partition_value import (
    BYTES_IN_HEX,
    PartitionValue,
    covering,
    instants_of_reading,
    unquoted,
)
from maintenance.metadata.paths import TablePaths
from maintenance.predicate.literals import compare
from maintenance.predicate.moments import nanos_of_text
from maintenance.predicate.tree import Compare
from maintenance.types.data_type import DataField, DataType
from maintenance.types.values import Value

Spec = Mapping[str, str | None]
"""Some of the partition columns and their texts, None = null; or a `PartitionValue`, or what `kept` makes of one."""

_TEXTS, _ROW = "partition", "row"


class Exactly(str):
    """A text that is the value itself, and not what a folder shows."""

    __slots__ = ()


# Days or milliseconds, as folders show dates and times by `partition.legacy-name`.
_COUNT = re.compile(r"-?\d+", re.ASCII)

Rows = Callable[[], Iterable[bytes]]
"""The serialized partitions that a table has; asked for only if a text may mean several values."""


@dataclass(frozen=True, slots=True)
class PartitionNames:
    """How the partitions of a table are named.

    Attributes: `where`: the table, for errors; `rows`: its partitions.
    """

    paths: TablePaths
    where: str
    rows: Rows = tuple

    def chosen(self, specs: Iterable[Spec], *, may_be_new: bool = False) -> tuple[PartitionValue, ...]:
        """The partitions that are named, whether the table has them or not, each once.

        Args: `may_be_new`: a text that may mean several values, of which the table has none, is refused, too.
        Raises: DataError: no column or one that is not a partition column; a text that is no value of its column, or
            may mean several partitions.
        """
        return tuple(dict.fromkeys(self._one(spec, may_be_new=may_be_new) for spec in specs))

    def shown(self, texts: Spec) -> PartitionValue:
        """What is shown as these texts. Raises: DataError, as `chosen`."""
        readings = [self._read(field, texts[field.name]) for field in self._columns(texts)]
        unclear = [one for one in readings if len(one.values) > 1 and not one.is_literal and one.values[0] is not None]
        if unclear:
            raise self._ambiguous(texts, self._products(readings))
        return self._value([reading.field for reading in readings], [reading.values[0] for reading in readings])

    def values(self, spec: Spec) -> PartitionValue:
        """What texts mean as literals, whatever the table has: nothing but itself. Raises: DataError, as `chosen`."""
        readings = [self._read(field, spec[field.name]) for field in self._columns(spec)]
        unclear = [reading for reading in readings if len(reading.values) > 1 and not reading.is_literal]
        if unclear:
            raise self._ambiguous(spec, self._products(readings))
        return self._value([reading.field for reading in readings], [reading.values[-1] for reading in readings])

    def _one(self, spec: Spec, *, may_be_new: bool) -> PartitionValue:
        exactly = self._exactly(spec)
        if exactly is not None:
            return exactly
        fields = self._columns(spec)
        readings = [self._read(field, spec[field.name]) for field in fields]
        if all(reading.is_clear for reading in readings):
            return self._value(fields, [reading.values[0] for reading in readings])
        found = list(dict.fromkeys(self._meant(readings)))
        if len(found) > 1 or (may_be_new and not found):
            raise self._ambiguous(spec, found or self._products(readings))
        return found[0] if found else self._value(fields, [reading.values[0] for reading in readings])

    def _exactly(self, spec: Spec) -> PartitionValue | None:
        """The partition that is given as its values, and not as texts."""
        if isinstance(spec, PartitionValue):
            return self.paths.partition_of(self._columns(spec), spec.row)
        texts, row = spec.get(_TEXTS), spec.get(_ROW)
        if not isinstance(texts, Mapping) or row is None:
            return None
        return self.paths.partition_of(self._columns(texts), bytes.fromhex(row))

    def _columns(self, spec: Spec) -> list[DataField]:
        fields = [field for field in self.paths.partition_fields if field.name in spec]
        if not spec or len(fields) < len(spec):
            keys = [field.name for field in self.paths.partition_fields]
            columns = f"Partition columns are {', '.join(keys) or 'none'}."
            raise DataError(f"{dict(spec)} is not a partition", self.where, columns)
        return fields

    def _read(self, field: DataField, text: str | None) -> "_Reading":
        reading = _read(field, text, self.paths)
        if not reading.values:
            problem = f"partition column {field.name} = '{text}', which is not a {field.type}"
            raise DataError(problem, self.where, "Write a value of this type, or the name that SHOW PARTITIONS has.")
        return reading

    def _meant(self, readings: Sequence["_Reading"]) -> Iterator[PartitionValue]:
        """The partitions of the table that the readings fit."""
        keys = [field.name for field in self.paths.partition_fields]
        types = [field.type for field in self.paths.partition_fields]
        for row in dict.fromkeys(self.rows()):
            values = dict(zip(keys, parse_row(row, types), strict=True))
            folder = self.paths.spec_of(row)
            if all(reading.fits(values[reading.field.name], folder) for reading in readings):
                yield self._value(
                    [reading.field for reading in readings], [values[reading.field.name] for reading in readings]
                )

    def _products(self, readings: Sequence["_Reading"]) -> list[PartitionValue]:
        first = [reading.values[0] for reading in readings]
        fields = [reading.field for reading in readings]
        return [
            self._value(fields, [*first[:place], value, *first[place + 1 :]])
            for place, reading in enumerate(readings)
            if not reading.is_clear
            for value in reading.values
        ]

    def _value(self, fields: Sequence[DataField], values: Sequence[Value]) -> PartitionValue:
        return self.paths.partition_of(fields, serialize_row(values, [field.type for field in fields]))

    def _ambiguous(self, spec: Spec, meanings: Sequence[PartitionValue]) -> DataError:
        written = ", ".join(f"{name} IS NULL" if text is None else f"{name} = {text!r}" for name, text in spec.items())
        listed = [", ".join(_condition(part, name) for name in part) for part in meanings]
        null = next((name for part in meanings for name, text in part.by_name().items() if text is None), None)
        how = "" if null is None else f": PARTITION ({null} = NULL) in SQL, {null} IS NULL for CALL, None in Python"
        return DataError(
            f"{written} may mean several partitions: {' or '.join(listed)}",
            self.where,
            f"Nothing was changed. Name the one that you mean by its value{how}.",
        )


def columns_of(spec: Spec) -> Collection[str]:
    """The columns that are named."""
    texts = spec.get(_TEXTS)
    return texts.keys() if isinstance(texts, Mapping) else spec.keys()


def kept(spec: Spec) -> dict[str, Any]:
    """A partition as JSON keeps it: its texts for people, and what it is."""
    return {_TEXTS: dict(spec), _ROW: spec.row.hex()} if isinstance(spec, PartitionValue) else dict(spec)


@dataclass(frozen=True, slots=True)
class _Reading:
    """What a text may mean for a column.

    Attributes:
        values: first the one that folders and reports show by it; empty: it is no value of the type.
        folder: other values may be meant, too: those whose folder it names; None: nothing but the values.
        is_literal: the last of the values is what the text is as a literal.
    """

    field: DataField
    values: tuple[Value, ...]
    folder: str | None = None
    is_literal: bool = False

    @property
    def is_clear(self) -> bool:
        return len(self.values) == 1 and self.folder is None

    def fits(self, value: Value, folder: Mapping[str, str]) -> bool:
        types = [self.field.type]
        same = serialize_row([value], types) in [serialize_row([meant], types) for meant in self.values]
        return same or (self.folder is not None and folder[self.field.name] == self.folder)


def _read(field: DataField, text: str | None, paths: TablePaths) -> _Reading:
    data_type, default = field.type, paths.default_partition_name
    if text is None:
        return _Reading(field, (None,))
    is_text = data_type.is_string or data_type.is_bytes
    if isinstance(text, Exactly) and is_text:
        return _Reading(field, _values(text, data_type, paths))
    quoted = unquoted(text, default)
    if quoted is not None:
        literal = _values(text, data_type, paths) if is_text else ()
        return _Reading(field, (*_values(quoted, data_type, paths), *literal), is_literal=True)
    if text != default:
        # Bytes that are no text have the folder of others.
        folder = text if data_type.is_bytes and "\ufffd" in text else None
        return _Reading(field, _values(text, data_type, paths), folder)
    values = (None, *_values(text, data_type, paths))
    return _Reading(field, values, text, is_literal=True) if is_text else _Reading(field, values)


def _values(text: str, data_type: DataType, paths: TablePaths) -> tuple[Value, ...]:
    """The values of a type that a text is; empty: none."""
    try:
        return _parsed(text, data_type, paths)
    except (ValueError, ArithmeticError):
        return ()


def _parsed(text: str, data_type: DataType, paths: TablePaths) -> tuple[Value, ...]:
    root = data_type.root
    if data_type.is_string:
        return (text,)
    if data_type.is_bytes:
        hexed = BYTES_IN_HEX.fullmatch(text)
        return (text.encode() if hexed is None else bytes.fromhex(hexed[1]),)
    if root in ("DATE", "TIME") and paths.legacy_partition_name and _COUNT.fullmatch(text.strip()):
        return (int(text),)
    if "_" in text:  # Python's own numbers may have some
        return ()
    if root in ("FLOAT", "DOUBLE"):
        return (float(np.float32(text)) if root == "FLOAT" else float(text),)
    if root == "TIMESTAMP_LTZ":
        nanos, is_zoned = nanos_of_text(text)
        # Legacy folders alone have a T, and show UTC; everything else shows the clock of this process.
        is_instant = is_zoned or (paths.legacy_partition_name and "T" in text)
        instants = (nanos,) if is_instant else instants_of_reading(nanos, paths.zone)
        return instants if nanos % 10 ** (9 - (data_type.precision or 0)) == 0 else ()
    literal = decimal.Decimal(text) if root == "DECIMAL" else text
    same: Any = compare("=", DataField(0, "", data_type), literal)
    return (same.value,) if isinstance(same, Compare) else ()


def _condition(part: PartitionValue, name: str) -> str:
    """What a value fulfils, as SQL writes it."""
    value, text = part.values_by_name[name], part[name]
    if value is None:
        return f"{name} IS NULL"
    if isinstance(value, str | bytes):
        plain = value if isinstance(value, str) else value.decode(errors="replace")
        text = plain if is_blank(plain) else text
    return f"{name} = '" + text.replace("'", "''") + "'"


def missing(paths: TablePaths, chosen: Sequence[PartitionValue], rows: Collection[bytes]) -> tuple[PartitionValue, ...]:
    """Those of the chosen that none of these serialized partitions is."""
    return tuple(one for one in chosen if not any(map(covering(paths.partition_fields, [one]), rows)))
