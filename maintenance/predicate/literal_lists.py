"""Long lists of literals (``IN (1, 2, 3, …)``) of a filter text, read without a syntax tree.

sqlglot takes a tenth of a millisecond for a literal, so tens of thousands of them take longer than the read that they
filter. A list of plain literals is cut out of the text before it is parsed, and replaced by a column with a name that
the text does not contain. Texts with escapes, comments or double quotes are left to sqlglot completely, since it
decides where a string ends.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from sqlglot import exp

from maintenance.predicate.literals import Literal
from maintenance.predicate.sql_syntax import cast_literal, number_literal

_LEAST_ITEMS = 32
_STRING = r"'([^'\\]*)'"
_ITEM = re.compile(
    rf"(-?)(\d+(?:\.\d+)?)|{_STRING}|(DATE|TIME|TIMESTAMP|TIMESTAMP_NTZ)\s+{_STRING}|CAST\({_STRING} AS (DOUBLE)\)",
    re.IGNORECASE | re.ASCII,
)
_ONE = re.sub(r"(?<!\\)\((?!\?)", "(?:", _ITEM.pattern)
_LIST = re.compile(rf"\s*(?:{_ONE})(?:\s*,\s*(?:{_ONE}))*\s*(?=\))", re.IGNORECASE | re.ASCII)
# What may hold the word IN without meaning it, and the beginning of a list.
_TOKEN = re.compile(r"'[^']*'|`[^`]*`|\bIN\s*\(", re.IGNORECASE)
_OTHERS = re.compile(r"[\\\"]|--|/\*")
_TYPES = {
    name: exp.DataType.build(name, dialect="spark") for name in ("DATE", "TIME", "TIMESTAMP", "TIMESTAMP_NTZ", "DOUBLE")
}


@dataclass(frozen=True, slots=True)
class LiftedText:
    """A filter text in which columns stand for long lists.

    `original`: the text with its lists; `lists`: the text of each list by the column's name.
    """

    original: str
    text: str
    lists: Mapping[str, str] = field(default_factory=dict)

    def literals(self, column: str) -> list[Literal] | None:
        """The literals that a column stands for, None for a real column. Raises: ValueError: one is not valid."""
        listed = self.lists.get(column)
        return None if listed is None else [_literal(match) for match in _ITEM.finditer(listed)]

    def shown(self, text: str) -> str:
        """A part of the text as users may see it."""
        for name in self.lists:
            text = text.replace(f"`{name}`", "…").replace(name, "…")
        return text


def lifted(text: str) -> LiftedText:
    """The text without its long lists, or as it is if it has none."""
    prefix = "literals"
    while prefix in text:
        prefix += "_"
    lists: dict[str, str] = {}
    kept: list[str] = []
    at = 0
    start = 0
    while (token := _TOKEN.search(text, at)) is not None:
        at = token.end()
        if text[token.start()] in "'`":
            continue
        listed = _LIST.match(text, at)
        if listed is None or listed[0].count(",") < _LEAST_ITEMS - 1:
            continue
        name = f"{prefix}{len(lists)}"
        lists[name] = listed[0]
        kept.append(f"{text[start:at]}`{name}`")
        start = at = listed.end()
    rest = "".join((*kept, text[start:]))
    return LiftedText(text, rest, lists) if lists and not _OTHERS.search(rest) else LiftedText(text, text)


def _literal(match: re.Match[str]) -> Literal:
    sign, number, string, kind, of_kind, of_cast, cast = match.groups()
    if number is not None:
        value = number_literal(number)
        return -value if sign else value
    if string is not None:
        return str(string)
    return (
        cast_literal(of_kind, _TYPES[kind.upper()]) if kind is not None else cast_literal(of_cast, _TYPES[cast.upper()])
    )
