"""Tag files: a snapshot kept under a name. Source: metadata section 10.2, Java `Tag`."""

from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any

from maintenance.errors import CorruptFileError
from maintenance.format.json_object import parse_object, read_back, serialize_object
from maintenance.format.metadata.snapshot import Snapshot, json_of_snapshot, snapshot_of_json
from maintenance.options.option import duration

_CREATE_TIME = "tagCreateTime"
_TIME_RETAINED = "tagTimeRetained"


@dataclass(frozen=True, slots=True)
class Tag:
    """A tag. Without `time_retained` its file is exactly the snapshot's.

    Attributes:
        create_time: local time of the writer, without zone; Java's nanoseconds are cut to microseconds.
        time_retained: how long the tag lives from `create_time`; None = for ever.
    """

    snapshot: Snapshot
    create_time: datetime | None = None
    time_retained: timedelta | None = None


def parse_tag(data: bytes, where: str) -> Tag:
    """The tag of a file.

    Raises: CorruptFileError: no snapshot, or its times cannot be read; UnsupportedError: as `parse_snapshot`.
    """
    form = parse_object(data, where)
    snapshot = snapshot_of_json(form, where)
    try:
        return Tag(snapshot, _create_time(form.get(_CREATE_TIME)), _time_retained(form.get(_TIME_RETAINED)))
    except (TypeError, ValueError, OverflowError) as error:
        raise CorruptFileError(f"times of the tag: {error}", where, "Delete the tag and create it again.") from error


def serialize_tag(tag: Tag) -> bytes:
    """The bytes of a tag file. Raises: DataError: reading them would not give the tag."""
    form = json_of_snapshot(tag.snapshot)
    if tag.create_time is not None:
        form[_CREATE_TIME] = _time_parts(tag.create_time)
    if tag.time_retained is not None:
        # A float loses no microsecond below 285 years; Java prints nine decimals and reads any number of them.
        form[_TIME_RETAINED] = tag.time_retained.total_seconds()

    def parse(data: bytes, where: str) -> Tag:
        return replace(parse_tag(data, where), time_retained=tag.time_retained)

    return read_back(tag, serialize_object(form), parse, "the tag")


def _create_time(value: Any) -> datetime | None:
    """`[y, M, d, h, m, s, nanos]` without its last parts where they are 0, or ISO text."""
    if value is None or isinstance(value, str):
        return None if value is None else datetime.fromisoformat(value)
    year, month, day, hour, minute, second, nanos = (*value, 0, 0)[: max(7, len(value))]
    return datetime(year, month, day, hour, minute, second, nanos // 1000)


def _time_parts(time: datetime) -> list[int]:
    parts = [time.year, time.month, time.day, time.hour, time.minute, time.second, time.microsecond * 1000]
    while len(parts) > 5 and parts[-1] == 0:
        parts.pop()
    return parts


def _time_retained(value: Any) -> timedelta | None:
    """Seconds as a number, or text such as ``PT24H``."""
    if value is None or isinstance(value, str):
        return None if value is None else duration(value)
    return timedelta(seconds=value)
