"""Plain JSON: a row on each line."""

from datetime import UTC, datetime
from decimal import Decimal

import pytest

from maintenance.errors import DataError, UnsupportedError
from tests.change_messages import fields, read, rows

NAME = "json"


def test_rows_with_and_without_kinds() -> None:
    types = fields(id="INT", name="STRING")
    assert rows(read(NAME, ['{"id": 1, "name": "a"}', "", '{"id": 2}'], types)) == [("+I", 1, "a"), ("+I", 2, None)]
    lines = [{"id": 1, "op's": kind} for kind in ("+I", "-U", "+U", "-D")]
    assert [row[0] for row in rows(read(NAME, lines, types, "op's"))] == ["+I", "-U", "+U", "-D"]
    found = read(NAME, [{"id": 1, "op": "insert"}, {"id": 1}], types, "op")
    assert [bad.problem for bad in found.bad] == ["the row's kind is none of +I, -U, +U and -D"] * 2


def test_values_of_every_type_are_read_without_loss_of_digits() -> None:
    types = fields(
        d="DECIMAL(38, 10)", at="TIMESTAMP(9)", seen="TIMESTAMP_LTZ(6)", local="TIMESTAMP_LTZ(0)", m="MAP<STRING, INT>",
        r="ROW<x DOUBLE, y ARRAY<INT>>", data="VARBINARY(9)",
    )  # fmt: skip
    line = (
        '{"d": 1234567890123456789012345678.0123456789, "at": "2024-02-29T12:00:00.123456789",'
        ' "seen": "2024-02-29T12:00:00.5-05:30", "local": "2024-02-29 12:00:00", "m": {"k": 1},'
        ' "r": {"x": 1e3, "y": [1, null]}, "data": "AQI="}'
    )
    found = read(NAME, [line, "{}"], types, time_zone="+02:00")
    first, second = rows(found)
    assert first[1] == Decimal("1234567890123456789012345678.0123456789")
    assert first[3:] == (
        datetime(2024, 2, 29, 17, 30, 0, 500000, UTC), datetime(2024, 2, 29, 10, tzinfo=UTC), [("k", 1)],
        {"x": 1000.0, "y": [1, None]}, b"\x01\x02",
    )  # fmt: skip
    assert second == ("+I", *[None] * 7)
    assert found.rows["at"][0].as_py() is not None


def test_values_of_other_types_are_reported() -> None:
    types = fields(i="INT", at="TIMESTAMP(3)", d="DECIMAL(20, 2)")
    lines = [{"i": 1.5}, {"i": 3000000000}, {"at": 1700000000}, {"at": "2024-01-01T00:00:00Z"}, {"d": True}, {"i": 7}]
    found = read(NAME, lines, types)
    assert [bad.line for bad in found.bad] == [1, 2, 3, 4, 5]
    assert found.rows["i"].to_pylist() == [7]


def test_a_value_that_is_not_nested_as_its_column_is_reported() -> None:
    types = fields(id="INT", tags="ARRAY<STRING>", parts="ARRAY<ROW<`x` INT>>", more="MAP<STRING, INT>")
    lines = [
        {"id": 1, "tags": ["a"], "parts": [{"x": 1}, None], "more": {"k": 1}},
        {"id": 2, "tags": "a"},
        {"id": 3, "parts": [{"x": 1}, "x"]},
        {"id": 4, "more": [1]},
        {"id": 5, "tags": None},
    ]
    found = read(NAME, lines, types)
    assert found.rows["id"].to_pylist() == [1, 5]
    assert [(bad.line, bad.problem) for bad in found.bad] == [
        (2, "column 'tags': no ARRAY<STRING>"),
        (3, "column 'parts': no ARRAY<ROW<`x` INT>>"),
        (4, "column 'more': no MAP<STRING, INT>"),
    ]


def test_numbers_keep_their_own_text() -> None:
    types = fields(s="STRING", l="ARRAY<STRING>", d="ARRAY<DECIMAL(38, 18)>", j="STRING", t="STRING")
    number = "12345678901234567890.123456789012345678"
    nested = '{"k": [1.10, "x, 2.50"]}'
    line = f'{{"s": {number}, "l": [1.10, -2e5, "1.50"], "d": [{number}], "j": {nested}, "t": "a\\" 1.5"}}'
    own_mark = '{"s": 1.5, "t": "\\ufdd0 2.5"}'
    rows = read(NAME, [line, own_mark], types).rows.to_pylist()
    assert [rows[0][name] for name in ("s", "l", "d")] == [number, ["1.10", "-2e5", "1.50"], [Decimal(number)]]
    assert (rows[0]["j"], rows[0]["t"]) == ('{"k":[1.10,"x, 2.50"]}', 'a" 1.5')
    assert (rows[1]["s"], rows[1]["t"]) == ("1.5", "\ufdd0 2.5")


def test_what_cannot_be_read_is_refused() -> None:
    with pytest.raises(UnsupportedError, match="cannot be read from JSON messages"):
        read(NAME, [{"v": 1}], fields(v="VARIANT"))
    with pytest.raises(UnsupportedError, match="'v' and 'V' differ by case alone"):
        read(NAME, [{"v": 1}], fields(v="INT", V="INT"))
    for line in ({"i": "x"}, "x"):
        with pytest.raises(DataError, match="1001 lines are bad, line 1 first"):
            read(NAME, [line] * 1001, fields(i="INT"))
