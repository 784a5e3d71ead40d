"""JSON files of format tables, as Paimon writes and reads them."""

import pyarrow as pa
import pytest

from maintenance.errors import DataError, UnsupportedError
from maintenance.format.plain.json_lines import parse_json_lines, serialize_json_lines
from maintenance.types.arrow import arrow_type
from maintenance.types.data_type import DataField
from maintenance.types.type_text import parse_data_type

TYPES = {"a": "INT", "arr": "ARRAY<INT>", "m": "MAP<STRING, INT>", "r": "ROW<`x` INT, `y` STRING>"}
COLUMNS = [DataField(i, name, parse_data_type(text)) for i, (name, text) in enumerate(TYPES.items())]
LINES = (
    b'{"a":"1","arr":["1",null,"3"],"m":{"k":"1"},"r":{"x":"7","y":"x"}}\n'
    b'{"a":"2","arr":null,"m":null,"r":null}\n'
)  # fmt: skip
ROWS = [
    {"a": 1, "arr": [1, None, 3], "m": [("k", 1)], "r": {"x": 7, "y": "x"}},
    {"a": 2, "arr": None, "m": None, "r": None},
]


def test_every_leaf_is_a_text() -> None:
    table = parse_json_lines(LINES, COLUMNS, "f.json")
    assert table.to_pylist() == ROWS
    assert table.schema.types == [arrow_type(field.type) for field in COLUMNS]
    assert serialize_json_lines(table, COLUMNS) == LINES


def test_values_of_other_programs_and_missing_keys() -> None:
    json_lines = parse_json_lines(b'{"a":5,"other":1}\n\n{"arr":[2]}', COLUMNS, "f.json")
    assert json_lines.to_pylist() == [
        {"a": 5, "arr": None, "m": None, "r": None},
        {"a": None, "arr": [2], "m": None, "r": None},
    ]


def test_what_cannot_be_read_or_written_is_named() -> None:
    with pytest.raises(DataError, match=r"f\.json"):
        parse_json_lines(b'{"a":', COLUMNS, "f.json")
    binary = [DataField(0, "b", parse_data_type("BYTES"))]
    with pytest.raises(UnsupportedError, match="'b'"):
        serialize_json_lines(pa.table({"b": [b"x"]}), binary)
