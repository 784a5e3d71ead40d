"""The table of casts in the documentation is the one that decides."""

from collections.abc import Iterator
from pathlib import Path

from maintenance.types.casts.matrix import may_change
from maintenance.types.data_type import DataType
from maintenance.types.type_text import parse_data_type

PAGE = Path(__file__).parents[3] / "docs" / "schema-evolution.md"
TYPES = {
    "DECIMAL": "DECIMAL(10, 2)", "CHAR": "CHAR(5)", "VARCHAR": "VARCHAR(9)", "BINARY": "BINARY(5)",
    "VARBINARY": "VARBINARY(9)", "TIME": "TIME(3)", "TIMESTAMP": "TIMESTAMP(6)",
    "LTZ": "TIMESTAMP(6) WITH LOCAL TIME ZONE", "ARRAY": "ARRAY<INT>", "MAP": "MAP<INT, INT>", "ROW": "ROW<x INT>",
}  # fmt: skip


def rows() -> Iterator[tuple[str, list[str], list[str]]]:
    lines = PAGE.read_text().split("| from | always | unless explicit casts are disabled |\n")[1].splitlines()[1:]
    for line in lines:
        if not line.startswith("|"):
            return
        source, implicit, explicit = (cell.strip().replace("–", "").split() for cell in line.strip("|").split("|"))
        yield source[0], implicit, explicit


def type_of(name: str) -> DataType:
    return parse_data_type(TYPES.get(name, name))


def test_the_page_says_what_is_allowed() -> None:
    table = list(rows())
    names = [source for source, _, _ in table]
    assert len(names) == 21
    for source, implicit, explicit in table:
        others = [name for name in names if name != source]
        may = [name for name in others if may_change(type_of(source), type_of(name), explicit=True)]
        safe = [name for name in may if may_change(type_of(source), type_of(name), explicit=False)]
        assert implicit == safe, source
        assert explicit == [name for name in may if name not in safe], source
