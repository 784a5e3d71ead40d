"""Debezium's messages, as its reference shows them."""

import json
from datetime import UTC, date, datetime, time
from decimal import Decimal
from typing import Any

import pytest

from maintenance.errors import DataError, OptionError
from tests.change_messages import fields, read, rows

NAME = "debezium-json"
CUSTOMERS = fields(id="INT NOT NULL", first_name="STRING", email="STRING")
SOURCE = {
    "version": "3.2.0.Final", "connector": "mysql", "name": "server1", "ts_ms": 0, "snapshot": "false",
    "db": "inventory", "table": "customers", "server_id": 0, "gtid": None, "file": "mysql-bin.000003", "pos": 154,
    "row": 0, "thread": 7, "query": None,
}  # fmt: skip


def change(op: str, before: Any, after: Any) -> dict[str, Any]:
    return {"op": op, "ts_ms": 1465491411815, "before": before, "after": after, "source": SOURCE, "transaction": None}


def customer(key: int, first_name: str | None, email: str = "annek@noanswer.org") -> dict[str, Any]:
    return {"id": key, "first_name": first_name, "email": email}


def with_schema(payload: Any, *columns: dict[str, Any]) -> dict[str, Any]:
    row = {"type": "struct", "fields": list(columns), "optional": True, "name": "server1.inventory.t.Value"}
    envelope = [
        {**row, "field": "before"},
        {**row, "field": "after"},
        {"type": "string", "optional": False, "field": "op"},
    ]
    return {"schema": {"type": "struct", "fields": envelope, "optional": False, "name": "Envelope"}, "payload": payload}


def test_every_operation_gives_the_rows_of_its_kinds() -> None:
    lines = [
        change("r", None, customer(1004, "Anne")),
        change("c", None, customer(1005, None)),
        change("u", customer(1004, "Anne"), customer(1004, "Anne Marie")),
        change("u", None, customer(1004, "A.")),  # without REPLICA IDENTITY FULL there is no old row
        change("d", customer(1005, None), None),
        "null",
        change("m", None, None),
    ]
    found = read(NAME, lines, CUSTOMERS)
    assert rows(found) == [
        ("+I", 1004, "Anne", "annek@noanswer.org"),
        ("+I", 1005, None, "annek@noanswer.org"),
        ("-U", 1004, "Anne", "annek@noanswer.org"),
        ("+U", 1004, "Anne Marie", "annek@noanswer.org"),
        ("+U", 1004, "A.", "annek@noanswer.org"),
        ("-D", 1005, None, "annek@noanswer.org"),
    ]
    assert found.passed == {"tombstones": 1, "messages without rows": 1}


def test_schemas_of_messages_say_what_numbers_mean() -> None:
    columns: list[dict[str, Any]] = [
        {"type": "int32", "optional": False, "field": "id"},
        {"type": "int32", "optional": True, "name": "io.debezium.time.Date", "version": 1, "field": "day"},
        {"type": "int64", "optional": True, "name": "io.debezium.time.Timestamp", "version": 1, "field": "at"},
        {"type": "int64", "optional": True, "name": "io.debezium.time.MicroTimestamp", "version": 1, "field": "fine"},
        {"type": "string", "optional": True, "name": "io.debezium.time.ZonedTimestamp", "version": 1, "field": "zoned"},
        {"type": "int64", "optional": True, "name": "io.debezium.time.MicroTime", "version": 1, "field": "clock"},
        {"type": "bytes", "optional": True, "name": "org.apache.kafka.connect.data.Decimal", "version": 1,
         "parameters": {"scale": "3", "connect.decimal.precision": "10"}, "field": "price"},
        {"type": "bytes", "optional": True, "field": "data"},
        {"type": "array", "items": {"type": "int64", "name": "io.debezium.time.Timestamp"}, "field": "times"},
    ]  # fmt: skip
    payload = {
        "id": 1, "day": 16766, "at": 1529507596945, "fine": 1529507596945104,
        "zoned": "2018-06-20T13:37:03.123456+02:00", "clock": 36000123456, "price": "AN6t", "data": "AQID",
        "times": [1529507596945, None],
    }  # fmt: skip
    types = fields(
        id="INT", day="DATE", at="TIMESTAMP(6)", fine="TIMESTAMP(6)", zoned="TIMESTAMP_LTZ(6)", clock="TIME(3)",
        price="DECIMAL(10, 3)", data="BYTES", times="ARRAY<TIMESTAMP(6)>",
    )  # fmt: skip
    lines = [with_schema(change("c", None, payload), *columns), with_schema(None, *columns)]
    nothing = change("c", None, {**dict.fromkeys(payload), "id": 2})
    found = read(NAME, [*lines, with_schema(nothing, *columns)], types)
    expected = (
        "+I", 1, date(2015, 11, 27), datetime(2018, 6, 20, 15, 13, 16, 945000),
        datetime(2018, 6, 20, 15, 13, 16, 945104), datetime(2018, 6, 20, 11, 37, 3, 123456, UTC), time(10, 0, 0,
        123000), Decimal("57.005"), b"\x01\x02\x03",
        [datetime(2018, 6, 20, 15, 13, 16, 945000), None],
    )  # fmt: skip
    assert rows(found) == [expected, ("+I", 2, *[None] * 8)]
    assert found.passed == {"tombstones": 1}


def test_sets_of_mysql_are_lists_of_texts() -> None:
    types = fields(id="INT", tags="ARRAY<STRING>", said="STRING")
    declared = {"type": "string", "name": "io.debezium.data.EnumSet", "parameters": {"allowed": "a,b"}}
    columns: list[dict[str, Any]] = [{"type": "int32", "field": "id"}]
    columns += [{**declared, "field": "tags"}, {**declared, "field": "said"}]
    values = [{"id": n, "tags": text, "said": text} for n, text in enumerate(("a,b", "", None))]
    lines = [with_schema(change("c", None, value), *columns) for value in values]
    assert rows(read(NAME, lines, types)) == [("+I", 0, ["a", "b"], "a,b"), ("+I", 1, [], ""), ("+I", 2, None, None)]


@pytest.mark.parametrize(
    ("mode", "at", "fine", "clock"),
    [
        ("adaptive", 1529507596945, 1529507596945104, 36000123),
        ("adaptive_time_microseconds", 1529507596945, 1529507596945104, 36000123000),
        ("connect", 1529507596945, 1529507596945, 36000123),
        ("microseconds", 1529507596945000, 1529507596945104, 36000123000),
        ("isostring", "2018-06-20T15:13:16.945Z", "2018-06-20T15:13:16.945104Z", "10:00:00.123Z"),
    ],
)
def test_without_schemas_the_connectors_options_say_it(mode: str, at: Any, fine: Any, clock: Any) -> None:
    local = "TIMESTAMP_LTZ" if mode == "isostring" else "TIMESTAMP"
    types = fields(at=f"{local}(3)", fine=f"{local}(6)", clock="TIME(3)", price="DECIMAL(10, 2)")
    line = change("c", None, {"at": at, "fine": fine, "clock": clock, "price": "12.50"})
    found = read(NAME, [line], types, time_precision_mode=mode, decimal_handling_mode="string")
    ((_, first, second, third, price),) = rows(found)
    assert first.replace(tzinfo=None) == datetime(2018, 6, 20, 15, 13, 16, 945000)
    assert second.replace(tzinfo=None) == datetime(2018, 6, 20, 15, 13, 16, 945104 if mode != "connect" else 945000)
    assert (third, price) == (time(10, 0, 0, 123000), Decimal("12.50"))


@pytest.mark.parametrize(("text", "value"), [("AA==", "0"), ("/w==", "-0.01"), ("BNI=", "12.34"), ("+y4=", "-12.34")])
def test_decimals_are_bytes_unless_said_otherwise(text: str, value: str) -> None:
    found = read(NAME, [change("c", None, {"d": text})], fields(d="DECIMAL(20, 2)"))
    assert rows(found)[0][1] == Decimal(value)


def test_decimals_that_are_numbers_are_no_bytes() -> None:
    """As Kafka's JSON converter writes them by its option `decimal.format`: 1111 and "1111" are not the same."""
    decimal = {"type": "bytes", "name": "org.apache.kafka.connect.data.Decimal", "parameters": {"scale": "2"}}
    columns = [{**decimal, "field": "d"}, {"type": "array", "items": decimal, "field": "listed"}]
    types = fields(d="DECIMAL(10, 2)", listed="ARRAY<DECIMAL(10, 2)>")
    value = {"d": 1111, "listed": [2222, "BNI=", 0.5, None]}
    for line in (with_schema(change("c", None, value), *columns), change("c", None, value)):
        listed = [Decimal(2222), Decimal("12.34"), Decimal("0.5"), None]
        assert rows(read(NAME, [line], types)) == [("+I", Decimal(1111), listed)]
    number = "123456789012345678.25"
    written = json.dumps(change("c", None, {"d": 0})).replace('"d": 0', f'"d": {number}')
    assert rows(read(NAME, [written], fields(d="DECIMAL(20, 2)"))) == [("+I", Decimal(number))]


def test_keys_of_maps_and_fields_of_rows_may_be_decimals() -> None:
    """Kafka's JSON converter writes maps whose keys are no texts as lists of pairs."""
    decimal = {"type": "bytes", "name": "org.apache.kafka.connect.data.Decimal", "parameters": {"scale": "2"}}
    columns: list[dict[str, Any]] = [
        {"field": "m", "type": "map", "keys": decimal, "values": decimal},
        {"field": "r", "type": "struct", "fields": [{**decimal, "field": "d"}]},
        {"field": "n", "type": "map", "keys": {"type": "int32"}, "values": {"type": "string"}},
    ]
    types = fields(m="MAP<DECIMAL(10, 2), DECIMAL(10, 2)>", r="ROW<d DECIMAL(10, 2)>", n="MAP<INT, STRING>")
    pairs = {"m": [["BNI=", "/w=="], [1111, 2.5], [0.5, None]], "r": {"d": "BNI="}, "n": [[7, "a"], [8, None]]}
    found = [(Decimal("12.34"), Decimal("-0.01")), (Decimal(1111), Decimal("2.5")), (Decimal("0.5"), None)]
    for line in (with_schema(change("c", None, pairs), *columns), change("c", None, pairs)):
        assert rows(read(NAME, [line], types)) == [("+I", found, {"d": Decimal("12.34")}, [(7, "a"), (8, None)])]
    as_object = {"m": {"BNI=": "/w=="}, "r": None, "n": {"7": "a"}}
    expected = [("+I", found[:1], None, [(7, "a")])]
    assert rows(read(NAME, [change("c", None, as_object)], types)) == expected
    assert len(read(NAME, [change("c", None, {"m": [1]})], types).bad) == 1


def test_decimals_of_38_digits() -> None:
    number = -12345678901234567890123456789012345678
    import base64

    text = base64.b64encode(number.to_bytes(16, "big", signed=True)).decode()
    found = read(NAME, [change("c", None, {"d": text})], fields(d="DECIMAL(38, 0)"))
    assert rows(found)[0][1] == Decimal(number)


def test_lines_that_are_no_change_are_reported() -> None:
    lacking = {"id": 1, "first_name": "__debezium_unavailable_value", "email": None}
    lines = [
        "{cut", change("c", None, customer(1, "x")), change("t", None, None), change("u", lacking, lacking), "[1]",
        "{}", change("d", None, None), change("c", None, {"id": "seven"}), "",
    ]  # fmt: skip
    found = read(NAME, lines, CUSTOMERS)
    assert found.rows.num_rows == 1
    assert [(bad.line, bad.problem.split(":")[0]) for bad in found.bad] == [
        (1, "this is not JSON"),
        (3, "the source table was truncated"),
        (4, "a value is not in the message"),
        (5, "neither a change of Debezium's (op c, r, u or d) nor a tombstone"),
        (6, "neither a change of Debezium's (op c, r, u or d) nor a tombstone"),
        (7, "the change has no row, an object with the columns"),
        (8, "column 'id'"),
    ]
    assert found.bad[0].text == "{cut"


def test_a_new_column_is_not_lost() -> None:
    with pytest.raises(DataError, match=r"the table has no column 'phone' \(00001-batch-00001.json, line 2\)"):
        read(
            NAME,
            [change("c", None, customer(1, "x")), change("c", None, {**customer(2, "y"), "phone": "1"})],
            CUSTOMERS,
        )


def test_unknown_options_and_values_are_refused() -> None:
    with pytest.raises(OptionError, match="'nonsense' is no option"):
        read(NAME, [], CUSTOMERS, nonsense="x")
    with pytest.raises(OptionError, match="Use one of precise, string, double"):
        read(NAME, [], CUSTOMERS, decimal_handling_mode="exact")
