"""Partition directory names: escaping, and the text of each type of value."""

import datetime as dt
import decimal

import pytest

from maintenance.errors import UnsupportedError
from maintenance.metadata.partition_path import escape, is_blank, partition_path, partition_spec, partition_text
from maintenance.types.data_type import DataField, parse_type
from maintenance.types.values import Value


def test_escapes_what_a_path_must_not_hold() -> None:
    assert escape("a:b/c=d%e 中") == "a%3Ab%2Fc%3Dd%25e 中"
    assert escape("\x00\x1f \x7f~") == "%00%1F %7F~"


def nanos(text: str) -> int:
    return int(dt.datetime.fromisoformat(text).replace(tzinfo=dt.UTC).timestamp() * 1000) * 10**6


@pytest.mark.parametrize(
    ("value", "type_text", "legacy", "plain"),
    [
        (19857, "DATE", "19857", "2024-05-14"),
        (nanos("2024-05-14 10:20:00"), "TIMESTAMP(3)", "2024-05-14T10:20", "2024-05-14 10:20:00.000"),
        (nanos("2024-05-14 10:20:30.120"), "TIMESTAMP(3)", "2024-05-14T10:20:30.120", "2024-05-14 10:20:30.120"),
        (nanos("0907-05-14 10:20:30"), "TIMESTAMP(0)", "0907-05-14T10:20:30", "0907-05-14 10:20:30"),
        (0, "TIMESTAMP(3)", "1970-01-01T00:00", "1970-01-01 00:00:00.000"),
        (120_000, "TIMESTAMP(6)", "1970-01-01T00:00:00.000120", "1970-01-01 00:00:00.000120"),
        (1, "TIMESTAMP(9)", "1970-01-01T00:00:00.000000001", "1970-01-01 00:00:00.000000001"),
        (True, "BOOLEAN", "true", "true"),
        (43_200_500, "TIME(3)", "43200500", "12:00:00.5"),
        (43_200_000, "TIME(0)", "43200000", "12:00:00"),
        (decimal.Decimal("1E+2"), "DECIMAL(5, 0)", "100", "100"),
        (1.0, "DOUBLE", "1.0", "1.0"),
        (1e7, "DOUBLE", "1.0E7", "1.0E7"),
        (-0.00099, "DOUBLE", "-9.9E-4", "-9.9E-4"),
        (0.10000000149011612, "FLOAT", "0.1", "0.1"),
        (float("-inf"), "FLOAT", "-Infinity", "-Infinity"),
        (-0.0, "DOUBLE", "-0.0", "-0.0"),
    ],
)
def test_values_have_a_text_in_either_way_of_naming(value: Value, type_text: str, legacy: str, plain: str) -> None:
    data_type = parse_type(type_text)
    assert partition_text(value, data_type, legacy=True) == legacy
    assert partition_text(value, data_type, legacy=False) == plain


def test_null_and_blank_share_a_directory() -> None:
    fields = [DataField(0, "p", parse_type("STRING")), DataField(1, "q", parse_type("INT"))]
    null = partition_spec([None, 1], fields, "__DEFAULT_PARTITION__", legacy=True)
    blank = partition_spec([" ", 1], fields, "__DEFAULT_PARTITION__", legacy=True)
    assert partition_path(null) == partition_path(blank) == "p=__DEFAULT_PARTITION__/q=1"


def test_bytes_have_a_text_in_the_new_names_only() -> None:
    assert partition_text("x/é".encode(), parse_type("BYTES"), legacy=False) == "x/é"
    with pytest.raises(UnsupportedError, match="BYTES"):
        partition_text(b"x", parse_type("BYTES"), legacy=True)


def test_instants_are_shown_in_the_zone_of_the_process() -> None:
    instant, data_type = nanos("2024-05-14 10:20:30"), parse_type("TIMESTAMP(0) WITH LOCAL TIME ZONE")
    assert partition_text(instant, data_type, legacy=False, zone="Asia/Shanghai") == "2024-05-14 18:20:30"
    assert partition_text(instant, data_type, legacy=True, zone="Asia/Shanghai") == "2024-05-14T10:20:30"


@pytest.mark.parametrize("text", ["", " ", "\t\n", "\u3000"])
def test_empty_texts_and_those_of_whitespace_are_blank(text: str) -> None:
    assert is_blank(text)


@pytest.mark.parametrize("text", ["\xa0", "\x85", "\u2007", " \u202f", "x"])
def test_texts_that_are_blank_to_python_alone(text: str) -> None:
    assert not is_blank(text)


def test_each_column_has_a_value() -> None:
    with pytest.raises(ValueError, match="shorter"):
        partition_spec([], [DataField(0, "p", parse_type("INT"))], "none", legacy=True)
