"""Texts of types with nested ones among them: ``MAP<STRING, ARRAY<INT NOT NULL>>``, ``ROW<`a` INT, `b` DATE>``.

Java writes nested types so in messages and SQL; schema files hold JSON instead (`data_type`). Fields of a ROW may have
their name in backticks, in which a backtick is doubled; their ids count from 0 until a table gives them its own.
Source: Java `DataType.asSQLString`, Flink and Spark DDL.
"""

import re
from collections.abc import Iterator

from maintenance.errors import SchemaError
from maintenance.types.data_type import DataField, DataType, parse_type, vector

_NESTED = re.compile(r"\s*(ARRAY|MULTISET|MAP|VECTOR|ROW|STRUCT)\s*<(.*)>(\s+NOT\s+NULL|\s+NULL)?\s*", re.I | re.S)
_FIELD = re.compile(r"(?:`((?:[^`]|``)+)`|([^\s:`]+))(?:\s*:\s*|\s+)(.+)", re.S)
_COMMENT = re.compile(r"(.*?\S)\s+(?:COMMENT\s+)?'((?:[^']|'')*)'", re.I | re.S)


def parse_data_type(text: str) -> DataType:
    """The type of a text, nested or not. Raises: SchemaError: it is not a type."""
    try:
        return _parsed(text)
    except RecursionError:
        shown = f"{text[:60]}…"
        raise SchemaError(f"'{shown}' is nested too deeply", "data type", "Use fewer levels.") from None


def _parsed(text: str) -> DataType:
    match = _NESTED.fullmatch(text)
    if match is None:
        return parse_type(text)
    root, nullable = match[1].upper(), "NOT" not in (match[3] or "").upper()
    parts = [part.strip() for part in _split(match[2], text)]
    if root in ("ROW", "STRUCT"):
        return DataType("ROW", nullable, fields=tuple(_field(n, part, text) for n, part in enumerate(parts) if part))
    if len(parts) != (2 if root in ("MAP", "VECTOR") else 1):
        raise _wrong(text, f"{len(parts)} parts")
    first = _parsed(parts[0])
    if root == "MAP":
        return DataType("MAP", nullable, key=first, value=_parsed(parts[1]))
    if root == "VECTOR":
        if not parts[1].isdecimal():
            raise _wrong(text, f"'{parts[1]}' is not a length")
        return vector(first, int(parts[1]), nullable)
    return DataType(root, nullable, element=first)


def _field(number: int, text: str, whole: str) -> DataField:
    comment = _COMMENT.fullmatch(text)
    match = _FIELD.fullmatch(comment[1] if comment else text)
    if match is None:
        raise _wrong(whole, f"'{text}' is not a field of a ROW")
    name = match[1].replace("``", "`") if match[1] else match[2]
    return DataField(number, name, _parsed(match[3]), comment[2].replace("''", "'") if comment else None)


def _split(text: str, whole: str) -> Iterator[str]:
    """Parts between the commas that stand in no bracket, backticks or quotes."""
    depth = start = 0
    quote = ""
    for position, character in enumerate(text):
        if quote:
            quote = "" if character == quote else quote
        elif character in "`'":
            quote = character
        elif character == "," and not depth:
            yield text[start:position]
            start = position + 1
        else:
            depth += (character in "<(") - (character in ">)")
    if depth or quote:
        raise _wrong(whole, "brackets or quotes are not closed")
    yield text[start:]


def _wrong(text: str, why: str) -> SchemaError:
    return SchemaError(f"'{text}' is not a data type: {why}", "data type", "Write it as MAP<STRING, ARRAY<INT>>.")
