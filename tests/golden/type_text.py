"""Paimon's type texts with nested types, as `expected.json` has them: ``ARRAY<ROW<`u` INT, `w` STRING>>``."""

from collections.abc import Iterator

from maintenance.types.data_type import DataField, DataType, parse_type

_NOT_NULL = " NOT NULL"


def parse_nested_type(text: str) -> DataType:
    """The type of a text, nested or not."""
    head, bracket, _ = text.partition("<")
    if not bracket:
        return parse_type(text)
    nullable = not text.endswith(_NOT_NULL)
    parts = list(_split(text.removesuffix(_NOT_NULL)[len(head) + 1 : -1]))
    match head:
        case "ARRAY" | "MULTISET":
            return DataType(head, nullable, element=parse_nested_type(parts[0]))
        case "VECTOR":
            return DataType(head, nullable, element=parse_nested_type(parts[0]), length=int(parts[1]))
        case "MAP":
            return DataType(head, nullable, key=parse_nested_type(parts[0]), value=parse_nested_type(parts[1]))
        case "ROW":
            return DataType(head, nullable, fields=tuple(_field(i, part) for i, part in enumerate(parts)))
    raise AssertionError(f"{text} is not a type")


def _field(number: int, text: str) -> DataField:
    name, _, type_text = text.removeprefix("`").partition("` ")
    return DataField(number, name, parse_nested_type(type_text))


def _split(text: str) -> Iterator[str]:
    """Parts between the commas that are in no bracket."""
    depth = start = 0
    for position, character in enumerate(text):
        depth += (character in "<(") - (character in ">)")
        if character == "," and not depth:
            yield text[start:position].strip()
            start = position + 1
    yield text[start:].strip()
