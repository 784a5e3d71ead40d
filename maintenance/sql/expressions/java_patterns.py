"""Regular expressions of Java, as RE2 has them, in which DuckDB searches. Source: Java's `Pattern`, RE2's syntax."""

import re

from sqlglot import exp

from maintenance.sql.expressions import refusals
from maintenance.sql.expressions.entries import Call

# Java ends lines with more signs than RE2, has more of them for white space, and other letters for some of these.
_LINE_ENDS = r"\n\r\x{85}\x{2028}\x{2029}"
_AT_END = rf"(?:\r\n|[{_LINE_ENDS}])?\z"
_CLASSES = {
    "s": r"\t-\r ", "S": r"\x00-\x08\x0e-\x1f!-\x{10ffff}", "v": r"\n-\r\x{85}\x{2028}\x{2029}",
    "h": r" \t\x{a0}\x{1680}\x{180e}\x{2000}-\x{200a}\x{202f}\x{205f}\x{3000}",
}  # fmt: skip
_OTHERS = {"R": r"(?:\r\n|[\n-\r\x{85}\x{2028}\x{2029}])", "e": r"\x1b"}
_POSIX = ("Lower", "Upper", "Alpha", "Digit", "Alnum", "Punct", "Graph", "Print", "Blank", "Cntrl", "XDigit", "Space")
_PIECE = re.compile(
    r"(?s)\\(?P<code>u[0-9A-Fa-f]{4})|\\(?P<not>[pP])\{(?P<posix>\w+)\}|\\Q(?P<quoted>.*?)(?:\\E|$)|\\(?P<escaped>.)"
    r"|(?P<open>\[\^?\]?)|(?P<both>&&)|(?P<plain>.)"
)
_HAS_DOT_FOR_ALL, _HAS_LINES = re.compile(r"\(\?[a-z]*s"), re.compile(r"\(\?[a-z]*m")


def of_java(pattern: str, *, takes_end: bool = False) -> str | None:
    """The same pattern for RE2; None: that has none.

    Args: `takes_end`: whether a line end that ends the text may be part of what is found at ``$``.
    """
    made, is_class = "", False
    has_all, has_lines = (found.search(pattern) is not None for found in (_HAS_DOT_FOR_ALL, _HAS_LINES))
    for piece in _PIECE.finditer(pattern):
        text, sign, escaped = piece[0], piece["plain"], piece["escaped"]
        if is_class and (piece["open"] or piece["both"]):
            return None  # a class of classes
        if piece["open"]:
            is_class = True
        elif sign == "]":
            is_class = False
        elif piece["code"]:
            text = rf"\x{{{piece['code'][1:]}}}"
        elif piece["posix"] in _POSIX:
            text = f"[:{'^' if piece['not'] == 'P' else ''}{piece['posix'].lower()}:]"
            text = text if is_class else f"[{text}]"
        elif escaped in _CLASSES:
            text = _CLASSES[escaped] if is_class else f"[{_CLASSES[escaped]}]"
        elif escaped == "Z" and takes_end:
            text = _AT_END
        elif escaped is not None:
            text = _OTHERS.get(escaped, text)
        elif sign == "." and not is_class and not has_all:
            text = f"[^{_LINE_ENDS}]"
        elif sign == "$" and not is_class and not has_lines and takes_end:
            text = _AT_END
        made += text
    return made


def translate_pattern(call: Call, *, takes_end: bool = False) -> None:
    """The pattern in quotes that is the second argument becomes one of RE2; a computed one stays.

    Raises: SqlUnsupportedError: RE2 has none like it.
    """
    pattern = call.arguments[1].text
    if pattern is None:
        return
    made = of_java(pattern, takes_end=takes_end)
    if made is None:
        what = "a class of signs in another one in a pattern"
        fix = r"Write its signs out, \p{Alpha} for [:alpha:], and '\\[' for the sign."
        raise refusals.unsupported(call.typing.source, call.arguments[1].written, what, fix)
    call.arguments[1].node = exp.Literal.string(made)
