"""Maxwell's messages, as its page on the data format shows them."""

from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

from tests.change_messages import fields, read, rows

NAME = "maxwell-json"
EVENTS = fields(id="BIGINT NOT NULL", name="STRING", m="DECIMAL(20, 6)", c="TIMESTAMP(6)", comment="STRING")


def change(kind: str, data: str, old: str | None = None) -> str:
    """A message as text, so that numbers keep their digits."""
    before = "" if old is None else f', "old": {old}'
    return (
        f'{{"database": "test", "table": "e", "type": "{kind}", "ts": 1477053217, "xid": 23396, "commit": true,'
        f' "position": "master.000006:800911", "data": {data}{before}}}'
    )


def event(name: str, m: str, comment: str = "null") -> str:
    return f'{{"id": 1, "name": {name}, "m": {m}, "c": "2016-10-21 05:33:37.523000", "comment": {comment}}}'


def test_every_type_of_change() -> None:
    lines = [
        change("bootstrap-start", "{}"),
        change("bootstrap-insert", event('"x"', "4.2341")),
        change("bootstrap-complete", "{}"),
        change("insert", event("null", "12345678901234.123456", '"I am a creature of light."')),
        change("update", event('"y"', "12345678901234.123457"), '{"m": 12345678901234.123456, "name": null}'),
        change("delete", event('"y"', "5.444")),
        '{"type": "table-alter", "database": "test", "table": "e", "old": {}, "def": {}, "ts": 1, "sql": "ALTER"}',
    ]
    found = read(NAME, lines, EVENTS)
    at = datetime(2016, 10, 21, 5, 33, 37, 523000)
    assert rows(found) == [
        ("+I", 1, "x", Decimal("4.234100"), at, None),
        ("+I", 1, None, Decimal("12345678901234.123456"), at, "I am a creature of light."),
        ("-U", 1, None, Decimal("12345678901234.123456"), at, None),
        ("+U", 1, "y", Decimal("12345678901234.123457"), at, None),
        ("-D", 1, "y", Decimal("5.444000"), at, None),
    ]
    assert found.passed == {"marks of a bootstrap": 2, "changes of the source's definition": 1}


def test_values_become_those_of_the_columns_and_too_large_ones_are_bad() -> None:
    types = fields(
        flag="BOOLEAN", data="BYTES", seen="TIMESTAMP_LTZ(3)", chosen="ARRAY<STRING>", doc="STRING", n="BIGINT"
    )
    data = (
        '{"flag": 1, "data": "AQI=", "seen": "2020-01-01 10:00:00", "chosen": ["a", "b"], "doc": {"k": [1]},'
        ' "n": 18446744073709551615}'
    )
    found = read(NAME, [change("insert", data), change("insert", data.replace("18446744073709551615", "5"))], types)
    assert [bad.line for bad in found.bad] == [1]
    (row,) = found.rows.drop_columns(["_paimon_row_kind"]).to_pylist()
    assert tuple(row.values()) == (True, b"\x01\x02", datetime(2020, 1, 1, 10, tzinfo=UTC), ["a", "b"], '{"k":[1]}', 5)


def test_lines_that_are_no_change_are_reported() -> None:
    lines: list[Any] = [
        change("update", event('"x"', "1")),
        change("table-drop", "{}"),
        {"data": {"id": 1}},
        change("insert", "null"),
        change("insert", event('"x"', '"much"')),
    ]
    found = read(NAME, lines, EVENTS)
    assert found.rows.num_rows == 0
    assert [bad.line for bad in found.bad] == [1, 2, 3, 4, 5]
