"""Texts to points in time as Java reads them: by a pattern of `DateTimeFormatter`, or as Paimon's partition times.

A time is nanoseconds since 1970 of a clock without a zone; a date alone is its midnight. A text that is not a time
gives None. By a pattern parts must be in range, except that a day beyond the end of its month is the month's last
day, and 24:00 the midnight that follows; Paimon's own form takes parts out of range and counts on (month 13, hour 25).
Patterns may hold y, u, M, d, D, H, k, m, s, S, optional parts in brackets and literals; letters that stand for texts,
zones, weeks or halves of days are refused. Source: metadata section 10.5, Java `PartitionTimeExtractor`.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime

_SECOND = 10**9
_DAY = 86_400 * _SECOND
_LARGEST_YEAR = 999_999_999
_LENIENT = re.compile(
    r"(?P<y>-?[0-9]{1,10})-(?P<M>-?[0-9]{1,2})-(?P<d>-?[0-9]{1,2})"
    r"(?: (?P<H>-?[0-9]{1,2}):(?P<m>-?[0-9]{1,2}):(?P<s>-?[0-9]{1,2})(?:\.(?P<S>[0-9]{1,9}))?)?"
)
_TOKENS = re.compile(r"'(?:[^']|'')*'|([A-Za-z])\1*|.", re.DOTALL)
_ANY_NUMBER = "-?[0-9]{1,19}"
_RANGES = {
    "u": (-_LARGEST_YEAR, _LARGEST_YEAR),
    "y": (1, _LARGEST_YEAR),
    "M": (1, 12),
    "d": (1, 31),
    "D": (1, 366),
    "H": (0, 24),
    "k": (0, 24),
    "m": (0, 59),
    "s": (0, 59),
}


def days_of(year: int, month: int, day: int) -> int:
    """Days from 1970-01-01 to a date of the ISO calendar, whatever its year. `month`: 1 to 12."""
    shifted = year - (month <= 2)
    era, of_era = divmod(shifted, 400)
    of_year = (153 * ((month + 9) % 12) + 2) // 5 + day - 1
    return era * 146_097 + of_era * 365 + of_era // 4 - of_era // 100 + of_year - 719_468


def _is_leap(year: int) -> bool:
    return year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)


def _last_day(year: int, month: int) -> int:
    return 28 + _is_leap(year) if month == 2 else 30 + (month in (1, 3, 5, 7, 8, 10, 12))


def default_time(text: str) -> int | None:
    """The time of a text like ``2026-01-31`` or ``2026-1-31 7:05:00.5``."""
    match = _LENIENT.fullmatch(text)
    if match is None or any(re.fullmatch("-0+", part or "") for part in match.groups()):
        return None
    year, month, day, hour, minute, second = (int(match[name] or 0) for name in "yMdHms")
    if abs(year) > _LARGEST_YEAR:
        return None
    years, months = divmod(month - 1, 12)
    days = days_of(year + years, months + 1, 1) + day - 1
    fraction = int((match["S"] or "").ljust(9, "0"))
    return days * _DAY + (hour * 3600 + minute * 60 + second) * _SECOND + fraction


@dataclass(frozen=True, slots=True)
class TimePattern:
    """A pattern of Java's `DateTimeFormatter`."""

    text: str
    _regex: re.Pattern[str]

    @classmethod
    def parse(cls, text: str) -> "TimePattern":
        """Raises: ValueError saying what of the pattern is not supported."""
        depth, parts, tokens = 0, [], [*_tokens(text)]
        for number, token in enumerate(tokens):
            depth += (token == "[") - (token == "]")
            if depth < 0:
                raise ValueError("expected '[' before ']'")
            parts.append(_part(token, number))
            if _is_wide(token) and not _is_fixed(tokens[number + 1] if number + 1 < len(tokens) else ""):
                parts.append("(?![0-9])")  # takes all digits there are, unless numbers of a known width follow
        # A bracket that is left open ends with the pattern.
        return cls(text, re.compile("".join(parts) + ")?" * depth))

    def time_of(self, text: str) -> int | None:
        """The time that a text means."""
        match = self._regex.fullmatch(text)
        if match is None:
            return None
        fields: dict[str, int] = {}
        for name, part in match.groupdict().items():
            if part is None:
                continue
            value = _value(name, part)
            letter = "y" if name[0] == "Y" else name[0]
            if value is None or fields.setdefault(letter, value) != value:
                return None
        return _resolved(fields)


def _tokens(text: str) -> Iterator[str]:
    for match in _TOKENS.finditer(text):
        token = match[0]
        if token == "'" or token in "{}#":
            raise ValueError(f"expected letters of a time, texts in quotes and [ ], not {token}")
        yield token


def _is_wide(token: str) -> bool:
    """Whether a number of any width stands there."""
    return token[0] in "yuMLdHkmsD" and len(token) != 2 and not _is_fixed(token)


def _is_fixed(token: str) -> bool:
    """Whether a number of a known width stands there."""
    return token[:1] == "S" or token == "DDD" or (token[:1] in "yuMLdHkms" and len(token) == 2)


def _part(token: str, number: int) -> str:
    """The regular expression of a token; groups are named by letter and number, a year of two digits by Y."""
    letter, count = token[0], len(token)
    if token in "[]":
        return "(?:" if token == "[" else ")?"
    if letter == "'":
        return re.escape(token[1:-1].replace("''", "'") or "'")
    if not (letter.isascii() and letter.isalpha()):
        return re.escape(token)
    letter = "M" if letter == "L" else letter
    name = f"?P<{letter}{number}>"
    if letter in "yu" and count == 2:
        return f"(?P<Y{number}>[0-9]{{2}})"
    if letter in "yu" and 4 <= count <= 19:
        return f"({name}[0-9]{{{count}}}|\\+[0-9]{{{count + 1},19}}|-[0-9]{{{count},19}})"
    if letter in "yu" and count == 3:
        return f"({name}-?[0-9]{{3,19}})"
    if letter == "S" and count <= 9:
        return f"({name}[0-9]{{{count}}})"
    if letter in "yuMdHkmsD" and count == 1:
        return f"({name}{_ANY_NUMBER})"
    if letter in "MdHkms" and count == 2:
        return f"({name}[0-9]{{2}})"
    if letter == "D" and count <= 3:
        return f"({name}[0-9]{{{count},3}})"
    raise ValueError(f"expected of numbers y, u, M, d, D, H, k, m, s, S, not '{token}'")


def _value(name: str, part: str) -> int | None:
    """A part as a number; fractions as nanoseconds. None: it is out of range."""
    if name[0] == "S":
        return int(part.ljust(9, "0"))
    if name[0] == "Y":
        return 2000 + int(part)
    value = int(part)
    least, most = _RANGES[name[0]]
    return value if least <= value <= most and not (part[0] == "-" and value == 0) else None


def _resolved(fields: Mapping[str, int]) -> int | None:
    day = _day(fields)
    if day is None:
        return None
    hour, minute, second, nanos = (fields.get(letter) for letter in "HmsS")
    if "k" in fields:
        clock = fields["k"] % 24
        if hour is not None and hour != clock:
            return None
        hour = clock
    lacks = (minute is None and (second is not None or nanos is not None)) or (second is None and nanos is not None)
    if hour is None or lacks:
        return day * _DAY  # read as a date
    rest = ((minute or 0) * 60 + (second or 0)) * _SECOND + (nanos or 0)
    if hour == 24 and rest:
        return None
    return day * _DAY + hour * 3600 * _SECOND + rest


def _day(fields: Mapping[str, int]) -> int | None:
    year = fields.get("u", fields.get("y"))
    if year is None or fields.get("y", year) != year:
        return None
    if "M" in fields and "d" in fields:
        month = fields["M"]
        return days_of(year, month, min(fields["d"], _last_day(year, month)))
    if "D" in fields and fields["D"] <= 365 + _is_leap(year):
        return days_of(year, 1, 1) + fields["D"] - 1
    return None


def text_by_pattern(moment: datetime, pattern: str) -> str:
    """A moment as Java's `DateTimeFormatter` writes it with a pattern of years to seconds, by the clock of its zone.

    Raises: ValueError saying what of the pattern is not supported.
    """
    values = {
        "y": moment.year,
        "u": moment.year,
        "M": moment.month,
        "L": moment.month,
        "d": moment.day,
        "D": moment.timetuple().tm_yday,
        "H": moment.hour,
        "m": moment.minute,
        "s": moment.second,
    }
    parts = []
    for token in _tokens(pattern):
        letter = token[0]
        if letter == "'":
            parts.append(token[1:-1].replace("''", "'") or "'")
        elif not (letter.isascii() and letter.isalpha()):
            parts.append("" if letter in "[]" else token)
        elif letter in values and (len(token) <= 2 or letter in "yu"):
            short = letter in "yu" and len(token) == 2
            parts.append(f"{values[letter] % 100 if short else values[letter]:0{len(token)}d}")
        else:
            raise ValueError(f"expected of numbers y, u, M, d, D, H, m, s, not '{token}'")
    return "".join(parts)
