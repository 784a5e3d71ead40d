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


def test_numbers_with_a_fraction_are_doubles_as_java_shows_them() -> None:
    fields = [DataField(0, "s", parse_data_type("STRING")), DataField(1, "d", parse_data_type("DECIMAL(38, 18)"))]
    number = "12345678901234567890.123456789012345678"
    lines = f'{{"s":{number},"d":{number}}}\n{{"s":"1.50","d":-1e2}}\n{{"s":1.50,"d":12345678901234567890}}\n'
    found = parse_json_lines(f'{lines}{{"s":1e400}}'.encode(), fields, "f.json")
    assert found["s"].to_pylist() == ["1.2345678901234567E19", "1.50", "1.5", "Infinity"]
    values = [None if value is None else str(value) for value in found["d"].to_pylist()]
    assert values == [f"{digits}.{18 * '0'}" for digits in ("12345678901234567000", "-100", "12345678901234567890")] + [
        None
    ]
    with pytest.raises(DataError, match="not a JSON file"):
        parse_json_lines(b'{"s":01.5}', fields, "f.json")


@pytest.mark.parametrize(
    ("column", "value"),
    [
        ("arr", '"1"'),
        ("arr", '{"x": 1}'),
        ("m", "[1]"),
        ("r", '"x"'),
        ("rows", '[{"x": 1}, 5]'),
        ("lists", '{"k": [[1], 2]}'),
        ("nested", '{"a": {"b": "no array"}}'),
    ],
)
def test_what_is_not_nested_as_the_type_says_is_no_null(column: str, value: str) -> None:
    """As in Paimon, which expects an array or an object there."""
    deep = {"rows": "ARRAY<ROW<`x` INT>>", "lists": "MAP<STRING, ARRAY<ARRAY<INT>>>"}
    deep["nested"] = "ROW<`a` ROW<`b` ARRAY<INT>>>"
    fields = [*COLUMNS, *(DataField(9, name, parse_data_type(text)) for name, text in deep.items())]
    right = '{"rows": [{"x": 1}, null], "lists": {"k": [[1], null]}, "nested": {"a": {"b": null}}}'
    assert parse_json_lines(right.encode(), fields, "f.json").num_rows == 1
    with pytest.raises(DataError, match=rf"column '{column}' is no .*f\.json"):
        parse_json_lines(f'{right}\n{{"{column}": {value}}}'.encode(), fields, "f.json")


def test_what_cannot_be_read_or_written_is_named() -> None:
    with pytest.raises(DataError, match=r"f\.json"):
        parse_json_lines(b'{"a":', COLUMNS, "f.json")
    binary = [DataField(0, "b", parse_data_type("BYTES"))]
    with pytest.raises(UnsupportedError, match="'b'"):
        serialize_json_lines(pa.table({"b": [b"x"]}), binary)
