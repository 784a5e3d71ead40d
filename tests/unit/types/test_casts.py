"""Casts of whole columns against single values cast plainly; zones, nested types, what is refused.

Value by value against the Java core: `tests/java/test_casts.py`.
"""

import datetime as dt
import math
import zoneinfo
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from maintenance.errors import DataError, SchemaError, UnsupportedError
from maintenance.types.arrow import arrow_type
from maintenance.types.casts.cast import cast
from maintenance.types.casts.civil import civil_of_days, days_of_civil, month_lengths
from maintenance.types.casts.default import default_value
from maintenance.types.casts.matrix import is_castable, keeps_values, may_change
from maintenance.types.casts.zones import instants_of, wall_clock
from maintenance.types.data_type import DataField, DataType, parse_type
from maintenance.types.type_text import parse_data_type
from maintenance.types.values import arrow_of_values, values_of_arrow
from tests.models.casts import cast_value, java_double
from tests.strategies import bits, present_values

_MODELLED = tuple(
    parse_type(text)
    for text in (
        "TINYINT", "SMALLINT", "INT", "BIGINT", "DOUBLE", "DECIMAL(6, 1)", "DECIMAL(30, 3)", "BOOLEAN", "DATE",
        "STRING", "VARCHAR(3)", "BYTES",
    )
)  # fmt: skip
STRING = parse_type("STRING")


def column_of(values: list[Any], data_type: DataType) -> pa.ChunkedArray:
    """Two chunks, the first at an offset."""
    array = arrow_of_values([None, *values], data_type)
    middle = 1 + len(values) // 2
    return pa.chunked_array([array.slice(1, middle - 1), array.slice(middle)], array.type)


def cast_values(values: list[Any], source: str, target: str, zone: str = "UTC") -> list[Any]:
    old, new = parse_type(source), parse_type(target)
    return values_of_arrow(cast(column_of(values, old), old, new, zone))


@given(st.sampled_from(_MODELLED), st.sampled_from(_MODELLED), st.data())
def test_columns_are_cast_as_single_values_are(source: DataType, target: DataType, data: st.DataObject) -> None:
    if not may_change(source, target, explicit=True) or (
        source.is_string and not (target.is_string or target.is_bytes)
    ):
        return
    value = present_values(source)
    if source.root == "DATE":
        value = st.integers(-700_000, 2_900_000)
    elif source.root == "DOUBLE":
        # Infinity has no decimal, and next to zero the model does not know the digits.
        value = st.floats(
            allow_nan=target.root != "DECIMAL", allow_infinity=target.root != "DECIMAL", allow_subnormal=False
        )
    elif source.is_bytes:
        value = st.text(max_size=5).map(str.encode)
    if target.root == "DECIMAL" and source.root == "DOUBLE":
        value = st.floats(-1e20, 1e20)
    values = data.draw(st.lists(st.none() | value, max_size=6))
    actual = cast(column_of(values, source), source, target)
    assert actual.type == arrow_type(target)
    actual.validate(full=True)
    assert list(map(bits, values_of_arrow(actual))) == [bits(cast_value(v, source, target)) for v in values]


@given(st.lists(st.floats(), max_size=8))
def test_texts_of_doubles_are_javas_and_read_back(values: list[float]) -> None:
    texts = cast_values(values, "DOUBLE", "STRING")
    for value, text in zip(values, texts, strict=True):
        assert bits(float(text.replace("E", "e"))) == bits(value) or math.isnan(value)
        if math.isinf(value) or math.isnan(value) or abs(value) > 1e-300:
            assert text == java_double(value)


def test_texts_next_to_zero() -> None:
    assert cast_values([5e-324, -1e-323, 2e-323, 0.0, -0.0], "DOUBLE", "STRING") == [
        "4.9E-324", "-9.9E-324", "2.0E-323", "0.0", "-0.0",
    ]  # fmt: skip
    assert cast_values([2.0**-149], "FLOAT", "STRING") == ["1.4E-45"]


def test_times_with_a_t_are_texts_too() -> None:
    assert cast_values(["2024-02-29T12:34", "2024-02-29T12:34:56.7"], "STRING", "TIMESTAMP(3)") == [
        1_709_210_040_000_000_000, 1_709_210_096_700_000_000,
    ]  # fmt: skip


@given(
    st.datetimes(dt.datetime(1950, 1, 1), dt.datetime(2300, 1, 1)),
    st.sampled_from(["Europe/Berlin", "America/New_York"]),
)
def test_instants_and_wall_clocks_are_those_of_pythons_zones(moment: dt.datetime, name: str) -> None:
    """As Python has them, which goes on with the rules after 2037; of skipped hours as Java."""
    zone = zoneinfo.ZoneInfo(name)
    wall = pa.array([moment, None], pa.timestamp("us"))
    instant = moment.replace(tzinfo=zone).astimezone(dt.UTC)
    assert instants_of(wall, name).to_pylist() == [instant, None]
    utc = wall.cast(pa.timestamp("us", "UTC"))
    local = moment.replace(tzinfo=dt.UTC).astimezone(zone).replace(tzinfo=None)
    assert wall_clock(utc, name).to_pylist() == [local, None]


@given(st.integers(-4_000_000, 4_000_000))
def test_days_become_dates_and_dates_become_days(day: int) -> None:
    year, month, of_month = (int(part[0]) for part in civil_of_days(np.array([day])))
    assert days_of_civil(*(np.array([part]) for part in (year, month, of_month))).tolist() == [day]
    if 1 <= year <= 9999:
        assert dt.date(year, month, of_month).toordinal() - 719_163 == day
    assert 1 <= of_month <= month_lengths(np.array([year]), np.array([month]))[0]


def test_rows_are_matched_by_id() -> None:
    old = DataType("ROW", fields=(DataField(7, "a", parse_type("INT")), DataField(8, "b", STRING)))
    new = DataType(
        "ROW",
        fields=(DataField(8, "bb", STRING), DataField(9, "a", STRING), DataField(7, "x", parse_type("BIGINT"))),
    )
    rows = [{"a": 1, "b": "q"}, None, {"a": None, "b": "w"}]
    expected = [{"bb": "q", "a": None, "x": 1}, None, {"bb": "w", "a": None, "x": None}]
    for wrap, unwrap in ((lambda t: t, lambda v: v), (lambda t: DataType("ARRAY", element=t), lambda v: [v])):
        source, target = wrap(old), wrap(new)
        column = pa.chunked_array([pa.array([unwrap(rows[2]), *map(unwrap, rows)], arrow_type(source)).slice(1)])
        actual = cast(column, source, target)
        actual.validate(full=True)
        assert actual.to_pylist() == list(map(unwrap, expected))


def test_texts_of_nested_values() -> None:
    for text, value, expected in (
        ("ARRAY<DOUBLE>", [1.0, None], "[1.0, null]"),
        ("ARRAY<ARRAY<INT>>", [[1], []], "[[1], []]"),
        ("MAP<STRING, DATE>", [("a", dt.date(2024, 2, 29)), ("b", None)], "{a -> 2024-02-29, b -> null}"),
        ("ROW<x INT, y ARRAY<STRING>>", {"x": None, "y": ["q"]}, "{null, [q]}"),
    ):
        source = parse_data_type(text)
        column = pa.chunked_array([pa.array([value, None], arrow_type(source))])
        assert cast(column, source, STRING).to_pylist() == [expected, None]


def test_values_and_types_that_cannot_be_cast_are_refused() -> None:
    with pytest.raises(DataError, match="'x' is not a value of type INT"):
        cast_values(["1", "x"], "STRING", "INT")
    with pytest.raises(DataError, match="not UTF-8"):
        cast_values([b"\xff"], "BYTES", "STRING")
    with pytest.raises(UnsupportedError, match="hexadecimal"):
        cast_values(["0x1p3"], "STRING", "DOUBLE")
    with pytest.raises(UnsupportedError, match="BOOLEAN cannot be cast to DATE"):
        cast_values([True], "BOOLEAN", "DATE")


def test_dates_become_strings_of_any_length_only() -> None:
    assert is_castable(parse_type("DATE"), STRING)
    assert not is_castable(parse_type("DATE"), parse_type("VARCHAR(20)"))


@given(st.sampled_from(_MODELLED), st.sampled_from(_MODELLED), st.data())
def test_casts_that_keep_values_keep_their_order(source: DataType, target: DataType, data: st.DataObject) -> None:
    if not keeps_values(source, target):
        return
    assert may_change(source, target, explicit=False) or source.as_nullable() == target.as_nullable()
    # Of one type, so that they can be compared, which a union of all types does not say.
    drawn: list[Any] = data.draw(st.lists(present_values(source).filter(lambda v: v == v), max_size=6))
    values = sorted(drawn)
    rows: list[Any] = values_of_arrow(cast(column_of(values, source), source, target))
    assert rows == values
    assert sorted(rows) == rows


def test_texts_of_defaults_become_values_or_are_refused() -> None:
    assert default_value("'2024-2-9'", parse_type("DATE"), "UTC").as_py() == dt.date(2024, 2, 9)
    assert default_value("TRUE", parse_type("BOOLEAN"), "UTC").as_py() is True
    assert default_value("''", STRING, "UTC").as_py() == ""
    assert default_value("99", parse_type("DECIMAL(1, 0)"), "UTC").as_py() is None
    with pytest.raises(SchemaError, match="not a value of type INT"):
        default_value("x", parse_type("INT"), "UTC")
    with pytest.raises(SchemaError, match="a single quote"):
        default_value("'", STRING, "UTC")


@pytest.mark.parametrize(
    ("text", "data_type", "expected"),
    [
        ("[1, null, 3]", "ARRAY<INT>", [1, None, 3]),
        (" array ( [1] , [ ] )", "ARRAY<ARRAY<INT>>", [[1], []]),
        ("[]", "ARRAY<INT>", []),
        ("{a -> 1, b->null}", "MAP<STRING, INT>", [("a", 1), ("b", None)]),
        ('MAP("a,b", 1)', "MAP<STRING, INT>", [("a,b", 1)]),
        ("NULL", "MAP<STRING, INT>", None),
        ("{1, [x, y]}", "ROW<i INT, l ARRAY<STRING>>", {"i": 1, "l": ["x", "y"]}),
        ("STRUCT()", "ROW<i INT, l ARRAY<STRING>>", {"i": None, "l": None}),
    ],
)
def test_defaults_of_nested_types_are_read_in_their_spellings(text: str, data_type: str, expected: Any) -> None:
    assert default_value(text, parse_data_type(data_type), "UTC").as_py() == expected


@pytest.mark.parametrize(
    ("text", "data_type"),
    [("1, 2", "ARRAY<INT>"), ("[x]", "ARRAY<INT>"), ("{1}", "ROW<a INT, b INT>"), ("{a}", "MAP<STRING, INT>"),
     ("MAP(a)", "MAP<STRING, INT>"), ("[1]", "MULTISET<INT>")],
)  # fmt: skip
def test_nested_defaults_that_are_none(text: str, data_type: str) -> None:
    with pytest.raises(SchemaError, match="default value"):
        default_value(text, parse_data_type(data_type), "UTC")
