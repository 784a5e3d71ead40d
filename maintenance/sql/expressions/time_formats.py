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
_HOUR = "CASE WHEN hour(a) = 0 THEN 24 ELSE hour(a) END"
_WRITTEN: Mapping[str, str] = {
    "y": "CAST(year(a) AS VARCHAR)", "k": f"CAST({_HOUR} AS VARCHAR)", "kk": f"lpad(CAST({_HOUR} AS VARCHAR), 2, '0')",
    "Q": "CAST(quarter(a) AS VARCHAR)", "QQQ": "concat('Q', quarter(a))",
    **{"S" * digits: f"left(strftime(a, '%n'), {digits})" for digits in range(1, 10) if digits not in (3, 6)},
}  # fmt: skip
"""What DuckDB has no sign for, as the text that is written of a time `a`."""
# What Java reads for them: DuckDB takes fewer digits as well.
_READ: Mapping[str, str] = {
    "yyyy": "[0-9]{4}", "uuuu": "[0-9]{4}", "y": "[0-9]+", "yy": "[0-9]{2}", "MMM": "[A-Za-z]+", "MMMM": "[A-Za-z]+",
    "SSS": "[0-9]{1,3}", "SSSSSS": "[0-9]{1,6}", "a": "(?i:AM|PM)", "DDD": "[0-9]{3}", "D": "[0-9]{1,3}",
    "hh": "(?:0[1-9]|1[0-2])", "h": "(?:0?[1-9]|1[0-2])",
    "kk": "(?:0[1-9]|1[0-9]|2[0-3])", "k": "(?:0?[1-9]|1[0-9]|2[0-3])",
    **dict.fromkeys(("MM", "dd", "HH", "mm", "ss"), "[0-9]{2}"),
    **dict.fromkeys(("M", "d", "H", "m", "s"), "[0-9]{1,2}"),
}  # fmt: skip
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
