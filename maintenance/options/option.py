"""A typed option, and how durations, memory sizes and similar values are written as text."""

import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, timedelta, timezone, tzinfo
from typing import Generic, TypeVar
from zoneinfo import ZoneInfo

from maintenance.errors import OptionError
from maintenance.options.state import HONOURED, State

T = TypeVar("T")

_SIZE_UNITS = {
    "": 1, "b": 1, "bytes": 1,
    "k": 1 << 10, "kb": 1 << 10, "kibibytes": 1 << 10,
    "m": 1 << 20, "mb": 1 << 20, "mebibytes": 1 << 20,
    "g": 1 << 30, "gb": 1 << 30, "gibibytes": 1 << 30,
    "t": 1 << 40, "tb": 1 << 40, "tebibytes": 1 << 40,
}  # fmt: skip

_DURATION_UNITS = {
    **dict.fromkeys(("d", "day", "days"), timedelta(days=1)),
    **dict.fromkeys(("h", "hour", "hours"), timedelta(hours=1)),
    **dict.fromkeys(("m", "min", "minute", "minutes"), timedelta(minutes=1)),
    **dict.fromkeys(("s", "sec", "secs", "second", "seconds"), timedelta(seconds=1)),
    **dict.fromkeys(("ms", "milli", "millis", "millisecond", "milliseconds", ""), timedelta(milliseconds=1)),
    **dict.fromkeys(("µs", "us", "micro", "micros", "microsecond", "microseconds"), timedelta(microseconds=1)),
}

_NUMBER_AND_UNIT = re.compile(r"\s*(\d+)\s*([a-zA-Zµ]*)\s*")
_OFFSET = re.compile(r"(?:UTC|GMT|UT)?([+-])(\d{1,2})(?::?(\d{2}))?")
_ISO_DURATION = re.compile(r"P(?:(\d+)D)?(?:T(?:(\d+)H)?(?:(\d+)M)?(?:(\d+(?:\.\d+)?)S)?)?", re.IGNORECASE)


def integer(text: str) -> int:
    """A decimal integer of 32 bits, as Java's int."""
    return _within(text, 31)


def long_integer(text: str) -> int:
    """A decimal integer of 64 bits, as Java's long."""
    return _within(text, 63)


def _within(text: str, bits: int) -> int:
    try:
        value = int(text.strip())
    except ValueError:
        raise ValueError("expected an integer") from None
    if not -(1 << bits) <= value < 1 << bits:
        raise ValueError(f"expected an integer from {-(1 << bits)} to {(1 << bits) - 1}")
    return value


def number(text: str) -> float:
    """A finite floating point number."""
    try:
        value = float(text.strip())
    except ValueError:
        raise ValueError("expected a number") from None
    if not math.isfinite(value):
        raise ValueError("expected a finite number")
    return value


def share(text: str) -> float:
    """A number above 0 that is at most 1."""
    value = number(text)
    if not 0 < value <= 1:
        raise ValueError("expected a number above 0 that is at most 1")
    return value


def boolean(text: str) -> bool:
    """``true`` or ``false`` in any case."""
    match text.strip().lower():
        case "true":
            return True
        case "false":
            return False
    raise ValueError("expected true or false")


def string(text: str) -> str:
    """The text as is."""
    return text


def not_empty(text: str) -> str:
    """The text as is, unless there is none."""
    if not text:
        raise ValueError("expected a text that is not empty")
    return text


def names(text: str) -> tuple[str, ...]:
    """Comma-separated names, trimmed, empty ones dropped."""
    return tuple(name for part in text.split(",") if (name := part.strip()))


def untrimmed_names(text: str) -> tuple[str, ...]:
    """Comma-separated names as they are, blanks included, as Java takes those of a few options."""
    return tuple(text.split(",")) if text else ()


def per_level(text: str) -> dict[int, str]:
    """Settings of levels, such as ``0:avro,5:orc``. Source: Java's map options."""
    levels = {}
    for part in names(text):
        level, colon, setting = part.partition(":")
        if not colon or not level.strip().isdecimal() or not setting.strip():
            raise ValueError("expected levels with their settings, such as 0:avro,5:orc")
        levels[int(level)] = setting.strip()
    return levels


def at_least(lowest: int) -> Callable[[str], int]:
    """A parser of 64 bit integers that are not below `lowest`."""

    def parse(text: str) -> int:
        value = long_integer(text)
        if value < lowest:
            raise ValueError(f"expected an integer of at least {lowest}")
        return value

    return parse


positive = at_least(1)


def one_of(*choices: str) -> Callable[[str], str]:
    """A parser that accepts the given words in any case, ``_`` and ``-`` being the same."""

    def parse(text: str) -> str:
        word = text.strip().lower().replace("_", "-")
        if word not in choices:
            raise ValueError(f"expected one of {', '.join(choices)}")
        return word

    return parse


def memory_size(text: str) -> int:
    """Bytes of a text such as ``128 mb``, ``4kb`` or ``512``. Units are powers of 1024. Source: Java `MemorySize`."""
    match = _NUMBER_AND_UNIT.fullmatch(text)
    if match is None or match[2].lower() not in _SIZE_UNITS:
        raise ValueError("expected a memory size such as 128 mb")
    size = _digits(match[1]) * _SIZE_UNITS[match[2].lower()]
    if size >= 1 << 63:
        raise ValueError("expected a memory size below 2^63 bytes")
    return size


def duration(text: str) -> timedelta:
    """A duration such as ``1 h``, ``30min``, ``500`` (milliseconds) or ``PT24H``. Source: Java `TimeUtils`."""
    match = _NUMBER_AND_UNIT.fullmatch(text)
    iso = _ISO_DURATION.fullmatch(text.strip())
    try:
        if match is not None and match[2].lower() in _DURATION_UNITS:
            return _digits(match[1]) * _DURATION_UNITS[match[2].lower()]
        if iso is not None and any(iso.groups()):
            days, hours, minutes, seconds = (float(part or 0) for part in iso.groups())
            return timedelta(days=days, hours=hours, minutes=minutes, seconds=seconds)
    except OverflowError:
        raise ValueError(f"expected a duration of at most {timedelta.max.days} days") from None
    raise ValueError("expected a duration such as 1 h, 30 min, 10 s or PT24H")


def time_zone(text: str) -> tzinfo:
    """A time zone such as ``Europe/Oslo``, ``UTC``, ``GMT-08:00`` or ``+02:00``. Source: Java `ZoneId.of`."""
    name = text.strip()
    match = _OFFSET.fullmatch(name)
    if match is not None:
        offset = timedelta(hours=int(match[2]), minutes=int(match[3] or 0))
        return timezone(-offset if match[1] == "-" else offset)
    if name in ("Z", "UTC", "GMT", "UT"):
        return UTC
    try:
        return ZoneInfo(name)
    except (OSError, ValueError, KeyError):
        raise ValueError("expected a time zone such as Europe/Oslo or GMT-08:00") from None


def _digits(text: str) -> int:
    try:
        return int(text)
    except ValueError:  # Python reads no more than some thousands of digits
        raise ValueError("expected a smaller number") from None


@dataclass(frozen=True, slots=True)
class Option(Generic[T]):
    """An option: its key, how its text is read, its default, older spellings of the key, and what becomes of it here.

    `parse` raises ValueError saying what it expected.
    """

    key: str
    parse: Callable[[str], T]
    default: T
    fallbacks: tuple[str, ...] = ()
    state: State = HONOURED

    @property
    def keys(self) -> tuple[str, ...]:
        """Its key and the older spellings, in the order they are looked for."""
        return (self.key, *self.fallbacks)

    def of(self, options: Mapping[str, str]) -> T:
        """The value in `options`, else the default. Raises OptionError naming the key and the text."""
        for key in self.keys:
            if key in options:
                try:
                    return self.parse(options[key])
                except ValueError as error:
                    raise OptionError(
                        f"'{key}' = '{options[key]}': {error}", "options", f"The default is {self.default}."
                    ) from error
        return self.default
