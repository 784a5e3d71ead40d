"""Patterns of Java for times, as those of DuckDB. Source: Java's `DateTimeFormatter`."""

import re
from collections.abc import Mapping

_SIGNS: Mapping[str, str] = {
    "yyyy": "%Y", "y": "%-Y" , "yy": "%y", "MM": "%m", "M": "%-m", "MMM": "%b", "MMMM": "%B", "dd": "%d", "d": "%-d",
    "HH": "%H", "H": "%-H", "hh": "%I", "h": "%-I", "mm": "%M", "m": "%-M", "ss": "%S", "s": "%-S", "SSS": "%g",
    "SSSSSS": "%f", "a": "%p", "E": "%a", "EEE": "%a", "EEEE": "%A", "DDD": "%j", "D": "%-j", "uuuu": "%Y",
}  # fmt: skip
_PIECE = re.compile(r"'((?:[^']|'')*)'|([A-Za-z])\2*|[^A-Za-z']")


def duck_format(pattern: str) -> str | None:
    """The same pattern; None: DuckDB has none."""
    made, at = "", 0
    for piece in _PIECE.finditer(pattern):
        if piece.start() != at:
            return None
        at = piece.end()
        text = piece[0]
        if text.startswith("'"):
            made += (piece[1].replace("''", "'") or "'").replace("%", "%%")
        elif text[0].isalpha():
            if text not in _SIGNS or text == "y":
                if text != "y":
                    return None
                made += "%Y"
            else:
                made += _SIGNS[text]
        else:
            made += text.replace("%", "%%")
    return made if at == len(pattern) else None
