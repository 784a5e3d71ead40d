"""A partition as what it is: the serialized values of its columns. Texts are how it is shown, and name its folder.

Several values share a folder: null, blank texts and the text `partition.default-name`; and with `partition.legacy-name`
= `false` both instants of a clock's reading that comes twice. So a partition is never told by its folder. What it is
shown as differs from the folder where others may share it: the text in quotes, the instant with its offset.
"""

import datetime as dt
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache
from typing import Self
from zoneinfo import ZoneInfo

import pyarrow as pa

from maintenance.format.rows.binary_row import parse_row, serialize_row
from maintenance.metadata.partition_path import is_blank
from maintenance.types.data_type import DataField, DataType
from maintenance.types.values import Value, arrow_of_values

BYTES_IN_HEX = re.compile(r"[Xx]'((?:[0-9a-fA-F]{2})*)'")
_QUOTED = re.compile(r"'(.*)'", re.DOTALL)
_EPOCH = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)

WHOLE_TABLE = "whole table"
"""How the one partition of a table without partition columns is shown."""


class PartitionValue(Mapping[str, str]):
    """A partition, or all that have the same values in some of the partition columns.

    To people it is a mapping of columns to texts, which name no other value. Given to an operation it means its values,
    whatever other partitions there are.

    Attributes:
        fields: the columns, in the table's order.
        row: their values, serialized.
    """

    __slots__ = ("_texts", "fields", "row")

    def __init__(self, fields: Sequence[DataField], row: bytes, texts: Sequence[str]) -> None:
        self.fields = tuple(fields)
        self.row = row
        self._texts = tuple(texts)

    @property
    def values_by_name(self) -> dict[str, Value]:
        """Columns and their internal values."""
        values = parse_row(self.row, [field.type for field in self.fields])
        return dict(zip((field.name for field in self.fields), values, strict=True))

    def by_name(self) -> dict[str, str | None]:
        """Columns and texts, None for null: what names this partition and no other."""
        values = self.values_by_name
        return {name: None if values[name] is None else text for name, text in self.items()}

    def columns(self) -> dict[str, pa.Array]:
        """Columns and their values, as Arrow arrays of one."""
        named = zip(self.fields, self.values_by_name.values(), strict=True)
        return {field.name: arrow_of_values([value], field.type) for field, value in named}

    def __getitem__(self, name: str) -> str:
        for field, text in zip(self.fields, self._texts, strict=True):
            if field.name == name:
                return text
        raise KeyError(name)

    def __iter__(self) -> Iterator[str]:
        return (field.name for field in self.fields)

    def __len__(self) -> int:
        return len(self.fields)

    def __eq__(self, other: object) -> bool:
        if isinstance(other, PartitionValue):
            return self.row == other.row and list(self) == list(other)
        return Mapping.__eq__(self, other)

    def __hash__(self) -> int:
        return hash(self.row)

    def __reduce__(self) -> tuple[type[Self], tuple[object, ...]]:
        return type(self), (self.fields, self.row, self._texts)

    def __deepcopy__(self, _: object) -> Self:
        return self

    def __str__(self) -> str:
        return "/".join(f"{name}={text}" for name, text in self.items()) or WHOLE_TABLE

    def __repr__(self) -> str:
        return f"PartitionValue({self})"


def covering(fields: Sequence[DataField], chosen: Iterable[PartitionValue]) -> Callable[[bytes], bool]:
    """Says of a serialized partition whether it is one of those chosen. `fields`: all partition columns."""
    wanted: dict[tuple[int, ...], set[bytes]] = {}
    places = {field.name: number for number, field in enumerate(fields)}
    for one in chosen:
        wanted.setdefault(tuple(places[name] for name in one), set()).add(one.row)
    types = [field.type for field in fields]

    @cache
    def covers(partition: bytes) -> bool:
        values = parse_row(partition, types)
        return any(
            serialize_row([values[place] for place in columns], [types[place] for place in columns]) in rows
            for columns, rows in wanted.items()
        )

    return covers


def shown_text(value: Value, text: str, data_type: DataType, default_name: str, zone: str | None) -> str:
    """What a value is shown as, which no other value of its type is.

    Args: `text`: of its folder, before null and blank texts get the default name; `zone`: that the text has instants
        in, None = UTC.
    """
    if value is None:
        return default_name
    if data_type.is_bytes and isinstance(value, bytes) and (value != text.encode() or BYTES_IN_HEX.fullmatch(text)):
        return f"X'{value.hex().upper()}'"
    if data_type.root == "TIMESTAMP_LTZ" and zone is not None and isinstance(value, int):
        return text + _offset_if_twice(value, zone)
    return f"'{text}'" if needs_quotes(text, default_name) else text


def needs_quotes(text: str, default_name: str) -> bool:
    """Whether a value's text would be taken for null, or for another text in quotes."""
    quoted = _QUOTED.fullmatch(text)
    return is_blank(text) or text == default_name or (quoted is not None and needs_quotes(quoted[1], default_name))


def unquoted(text: str, default_name: str) -> str | None:
    """The text of the value that is shown in quotes; None: it is not one."""
    quoted = _QUOTED.fullmatch(text)
    return quoted[1] if quoted is not None and needs_quotes(quoted[1], default_name) else None


def instants_of_reading(nanos: int, zone: str) -> tuple[int, ...]:
    """The instants at which a clock in a zone reads this: two, earlier first, when it is put back, none when it jumps.

    Args: `nanos`: the reading, as if in UTC. Returns nanoseconds since 1970-01-01 UTC.
    """
    local = ZoneInfo(zone)
    seconds, rest = divmod(nanos, 10**9)
    found = []
    try:
        reading = _EPOCH.replace(tzinfo=None) + dt.timedelta(seconds=seconds)
        for fold in (0, 1):
            moment = reading.replace(tzinfo=local, fold=fold).astimezone(dt.UTC)
            if moment.astimezone(local).replace(tzinfo=None, fold=0) == reading:
                found.append((moment - _EPOCH) // dt.timedelta(seconds=1) * 10**9 + rest)
    except OverflowError:  # a year before 1 or after 9999
        return (nanos,)
    return tuple(dict.fromkeys(found))


def _offset_if_twice(nanos: int, zone: str) -> str:
    """``+02:00`` of an instant whose local time comes twice, else nothing."""
    try:
        moment = (_EPOCH + dt.timedelta(seconds=nanos // 10**9)).astimezone(ZoneInfo(zone))
        other = moment.replace(fold=1 - moment.fold)
        if moment.utcoffset() == other.utcoffset():
            return ""
    except OverflowError:
        return ""
    reading = (moment.replace(tzinfo=dt.UTC) - _EPOCH) // dt.timedelta(seconds=1) * 10**9
    is_twice = len(instants_of_reading(reading, zone)) > 1
    offset = moment.isoformat()[len("0001-01-01T00:00:00") :]
    return offset if is_twice and len(offset) == len("+00:00") else ""
