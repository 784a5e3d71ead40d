"""Canal's messages, as its guide shows them."""

from datetime import UTC, date, datetime, time
from decimal import Decimal
from typing import Any

from tests.change_messages import fields, read, rows

NAME = "canal-json"
PRODUCTS = fields(id="INT NOT NULL", name="STRING", weight="DECIMAL(10, 2)")


def change(kind: str, data: Any, old: Any = None, **more: Any) -> dict[str, Any]:
    return {
        "data": data, "database": "inventory", "es": 1589373560000, "id": 9, "isDdl": False,
        "mysqlType": {"id": "INTEGER", "name": "VARCHAR(255)", "weight": "FLOAT"}, "old": old, "pkNames": ["id"],
        "sql": "", "sqlType": {"id": 4, "name": 12, "weight": 7}, "table": "products", "ts": 1589373560798,
        "type": kind, **more,
    }  # fmt: skip


def product(key: str, name: str | None, weight: str | None) -> dict[str, Any]:
    return {"id": key, "name": name, "weight": weight}


def test_every_type_of_change() -> None:
    lines = [
        change("INSERT", [product("101", "scooter", "3.14"), product("102", None, "8.1")]),
        change("UPDATE", [product("101", "scooter", "5.15"), product("102", "battery", None)],
               [{"weight": "3.14"}, {"name": None, "weight": "8.1"}]),
        change("DELETE", [product("102", "battery", None)]),
        change("ALTER", None, isDdl=True, sql="ALTER TABLE products ADD c INT"),
    ]  # fmt: skip
    found = read(NAME, lines, PRODUCTS)
    assert rows(found) == [
        ("+I", 101, "scooter", Decimal("3.14")),
        ("+I", 102, None, Decimal("8.10")),
        ("-U", 101, "scooter", Decimal("3.14")),
        ("+U", 101, "scooter", Decimal("5.15")),
        ("-U", 102, None, Decimal("8.10")),
        ("+U", 102, "battery", None),
        ("-D", 102, "battery", None),
    ]
    assert found.passed == {"changes of the source's definition": 1}


def test_all_values_are_texts() -> None:
    types = fields(
        flag="BOOLEAN", big="DECIMAL(38, 18)", day="DATE", at="TIMESTAMP(6)", seen="TIMESTAMP_LTZ(3)", clock="TIME(3)",
        data="BYTES", ratio="DOUBLE", count="BIGINT",
    )  # fmt: skip
    values = {
        "flag": "1", "big": "12345678901234567890.123456789012345678", "day": "2020-05-13",
        "at": "2020-05-13 12:39:20.5", "seen": "2020-05-13 20:39:20", "clock": "12:39:20", "data": "\x00aÿ",
        "ratio": "1.5E-3",
        "count": "-9223372036854775808",
    }  # fmt: skip
    lines = [change("INSERT", [values, dict.fromkeys(values)])]
    assert rows(read(NAME, lines, types, time_zone="Asia/Shanghai")) == [
        (
            "+I", True, Decimal("12345678901234567890.123456789012345678"), date(2020, 5, 13),
            datetime(2020, 5, 13, 12, 39, 20, 500000), datetime(2020, 5, 13, 12, 39, 20, tzinfo=UTC), time(12, 39, 20),
            b"\x00a\xff", 0.0015, -9223372036854775808,
        ),
        ("+I", *[None] * 9),
    ]  # fmt: skip


def test_numbers_of_enums_and_sets_are_the_names_that_the_source_has_for_them() -> None:
    types = fields(id="INT", size="STRING", tags="ARRAY<STRING>", said="STRING")
    declared = {"id": "int", "size": "enum('s','it''s m')", "tags": "set('a','b','c')", "said": "set('x','y')"}
    values = [("1", "2", "5", "3"), ("2", "0", "0", "0"), ("3", None, None, None), ("4", "s", "a,c", "y")]
    lines = [change("INSERT", [dict(zip(declared, row, strict=True))], mysqlType=declared) for row in values]
    lines.append(change("UPDATE", [dict(zip(declared, values[0], strict=True))], [{"size": "1"}], mysqlType=declared))
    found = read(NAME, lines, types)
    assert rows(found) == [
        ("+I", 1, "it's m", ["a", "c"], "x,y"),
        ("+I", 2, "", [], ""),
        ("+I", 3, None, None, None),
        ("+I", 4, "s", ["a", "c"], "y"),
        ("-U", 1, "s", ["a", "c"], "x,y"),
        ("+U", 1, "it's m", ["a", "c"], "x,y"),
    ]
    lines = [change("INSERT", [{"id": "1", "size": "3"}], mysqlType=declared)]
    assert [bad.problem for bad in read(NAME, lines, types).bad] == ["column 'size': 3 is none of s, it's m"]


def test_lines_that_are_no_change_are_reported() -> None:
    lines = [
        change("TRUNCATE", None, isDdl=True),
        change("UPDATE", [product("1", "a", "1")]),
        change("INSERT", []),
        {"data": []},
        change("INSERT", [product("1", "a", "much")]),
        change("SOMETHING", None),
        change("INSERT", ["a row"]),
        change("INSERT", [product("7", "good", "1")]),
    ]
    found = read(NAME, lines, PRODUCTS)
    assert found.rows.num_rows == 1
    assert [bad.line for bad in found.bad] == [1, 2, 3, 4, 5, 6, 7]
    assert found.bad[0].problem.startswith("the source table was truncated")
    assert found.bad[4].problem.startswith("column 'weight': 'much' is not a value of type DECIMAL(10, 2)")
