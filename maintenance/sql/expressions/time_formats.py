"""Patterns of Java for times, as those of DuckDB. Source: Java's `DateTimeFormatter`."""

import re
from collections.abc import Mapping
from types import MappingProxyType

_SIGNS: Mapping[str, str] = {
    "yyyy": "%Y", "y": "%Y", "yy": "%y", "MM": "%m", "M": "%-m", "MMM": "%b", "MMMM": "%B", "dd": "%d", "d": "%-d",
    "HH": "%H", "H": "%-H", "hh": "%I", "h": "%-I", "mm": "%M", "m": "%-M", "ss": "%S", "s": "%-S", "SSS": "%g",
    "SSSSSS": "%f", "a": "%p", "E": "%a", "EEE": "%a", "EEEE": "%A", "DDD": "%j", "D": "%-j", "uuuu": "%Y",
    "kk": "%H", "k": "%-H",
}  # fmt: skip
LAST_HOUR: Mapping[str, str] = {"kk": "24", "k": "24"}
"""What stands for midnight where hours are counted from 1."""
_AWAY = "lpad(CAST(abs(o) // %s AS VARCHAR), 2, '0')"


def _away(mark: str, *, has_zero: bool, has_minutes: bool = True) -> str:
    """The text of how far clocks are from UTC, in seconds `o`. `has_zero`: nothing is Z."""
    minutes = f"{mark} || {_AWAY % '60 % 60'}"
    if not has_minutes:
        minutes = f"CASE WHEN abs(o) // 60 % 60 = 0 THEN '' ELSE {minutes} END"
    text = f"CASE WHEN o < 0 AND abs(o) >= 60 THEN '-' ELSE '+' END || {_AWAY % '3600'} || {minutes}"
    return f"CASE WHEN abs(o) < 60 THEN 'Z' ELSE {text} END" if has_zero else text


_HOUR = "CASE WHEN hour(a) = 0 THEN 24 ELSE hour(a) END"
_WRITTEN: Mapping[str, str] = {
    "y": "CAST(year(a) AS VARCHAR)", "k": f"CAST({_HOUR} AS VARCHAR)", "kk": f"lpad(CAST({_HOUR} AS VARCHAR), 2, '0')",
    "Q": "CAST(quarter(a) AS VARCHAR)", "QQQ": "concat('Q', quarter(a))",
    "XXX": _away("':'", has_zero=True), "xxx": _away("':'", has_zero=False), "XX": _away("''", has_zero=True),
    **dict.fromkeys(("xx", "Z", "ZZ", "ZZZ"), _away("''", has_zero=False)),
    "X": _away("''", has_zero=True, has_minutes=False), "x": _away("''", has_zero=False, has_minutes=False),
    **{"S" * digits: f"left(strftime(a, '%n'), {digits})" for digits in range(1, 10) if digits not in (3, 6)},
}  # fmt: skip
"""What DuckDB has no sign for, as the text that is written of a time `a`, whose clock is `o` seconds ahead of UTC."""
# What Java reads for them: DuckDB takes fewer digits as well.
_READ: Mapping[str, str] = {
    "yyyy": "[0-9]{4}", "uuuu": "[0-9]{4}", "y": "[0-9]+", "yy": "[0-9]{2}", "MMM": "[A-Za-z]+", "MMMM": "[A-Za-z]+",
    "SSS": "[0-9]{1,3}", "SSSSSS": "[0-9]{1,6}", "a": "(?i:AM|PM)", "DDD": "[0-9]{3}", "D": "[0-9]{1,3}",
    "hh": "(?:0[1-9]|1[0-2])", "h": "(?:0?[1-9]|1[0-2])",
    "kk": "(?:0[1-9]|1[0-9]|2[0-3])", "k": "(?:0?[1-9]|1[0-9]|2[0-3])",
    **dict.fromkeys(("MM", "dd", "HH", "mm", "ss"), "[0-9]{2}"),
    **dict.fromkeys(("M", "d", "H", "m", "s"), "[0-9]{1,2}"),
}  # fmt: skip
_TO_MINUTES, _TO_HOURS = "(?:(?:0[0-9]|1[0-7])%s[0-5][0-9]|18%s00)", "(?:(?:0[0-9]|1[0-7])(?:[0-5][0-9])?|18(?:00)?)"
_ZONES: Mapping[str, str] = {
    "XXX": f"(?:[Zz]|[+-]{_TO_MINUTES % (':', ':')})", "xxx": f"[+-]{_TO_MINUTES % (':', ':')}",
    "XX": f"(?:[Zz]|[+-]{_TO_MINUTES % ('', '')})", "X": f"(?:[Zz]|[+-]{_TO_HOURS})", "x": f"[+-]{_TO_HOURS}",
    **dict.fromkeys(("xx", "Z", "ZZ", "ZZZ"), f"[+-]{_TO_MINUTES % ('', '')}"),
}  # fmt: skip
ZONES = frozenset(_ZONES)
"""What stands in patterns for how far a clock is ahead of UTC."""
# What Java has a meaning for that is none here stands in no pattern.
_PIECE = re.compile(r"'((?:[^']|'')*)'|([A-Za-z])\2*|[^A-Za-z'\[\]{}#]")


def duck_format(pattern: str, fixed: Mapping[str, str] = MappingProxyType({})) -> str | None:
    """The same pattern; None: DuckDB has none. `fixed`: texts in the places of numbers."""
    made, at = "", 0
    for piece in _PIECE.finditer(pattern):
        if piece.start() != at:
            return None
        at = piece.end()
        text = piece[0]
        if text.startswith("'"):
            made += (piece[1].replace("''", "'") or "'").replace("%", "%%")
        elif text[0].isalpha():
            if text not in _SIGNS:
                return None
            made += fixed.get(text, _SIGNS[text])
        else:
            made += text.replace("%", "%%")
    return made if at == len(pattern) else None


def written(pattern: str) -> tuple[str, dict[str, str]] | None:
    """A template for the text of a time `a` by a pattern, and DuckDB's patterns in it by name; None: it has none."""
    own = [piece for piece in _PIECE.finditer(pattern) if piece[0] in _WRITTEN]
    parts, formats, at = list[str](), dict[str, str](), 0
    for number, piece in enumerate([*own, None]):
        format_ = duck_format(pattern[at : len(pattern) if piece is None else piece.start()])
        if format_ is None:
            return None
        if format_ or not own:
            formats[f"f{number}"] = format_
            parts.append(f"strftime(a, f{number})")
        if piece is not None:
            parts.append(f"({_WRITTEN[piece[0]]})")
            at = piece.end()
    return " || ".join(parts), formats


def zone_behind(pattern: str) -> tuple[str, str] | None:
    """A pattern without the distance from UTC at its end, and how that looks in a text; None: it ends otherwise."""
    last = list(_PIECE.finditer(pattern))[-1:]
    if not last or last[0][0] not in _ZONES or last[0].end() != len(pattern):
        return None
    return pattern[: last[0].start()], _ZONES[last[0][0]]


SECONDS_AWAY = (
    "CASE WHEN upper(w) = 'Z' THEN 0 ELSE CASE WHEN left(w, 1) = '-' THEN -60 ELSE 60 END * (CAST(substring(w, 2, 2)"
    " AS INTEGER) * 60 + CAST('0' || replace(substring(w, 4), ':', '') AS INTEGER)) END"
)
"""How many seconds clocks are ahead of UTC by the text `w` of it."""


def letters(pattern: str) -> set[str]:
    """What a pattern has in the places of numbers and names."""
    return {piece[0] for piece in _PIECE.finditer(pattern) if piece[0][0].isalpha()}


def read_format(pattern: str, fixed: Mapping[str, str] = MappingProxyType({})) -> str | None:
    """What a text looks like that a pattern of Java reads, as a regular expression. The pattern is known.

    None: it has days of the week, which Spark does not read. `fixed`: as of `duck_format`.
    """
    if not letters(pattern) <= _READ.keys():
        return None
    made = ""
    for piece in _PIECE.finditer(pattern):
        text = piece[0]
        quoted = (piece[1].replace("''", "'") or "'") if text.startswith("'") else text
        made += fixed.get(text, _READ[text]) if text[0].isalpha() else re.sub(r"(\W)", r"\\\1", quoted)
    return made
