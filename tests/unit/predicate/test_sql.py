"""Filter texts: what they mean, which are refused, and that a predicate survives the way to text and back."""

import math
from collections.abc import Callable
from decimal import Decimal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from maintenance.errors import PredicateError
from maintenance.predicate.moments import NANOS_PER_DAY
from maintenance.predicate.sql import parse, to_sql
from maintenance.predicate.tree import (
    FALSE,
    TRUE,
    UNKNOWN,
    And,
    Compare,
    Contains,
    EndsWith,
    In,
    IsNull,
    Like,
    Not,
    Or,
    Predicate,
    StartsWith,
    always,
    columns_of,
    never,
)
from maintenance.types.data_type import DataField, parse_type
from maintenance.types.values import Value
from tests.examples import examples
from tests.models.predicates import truth
from tests.unit.predicate.strategies import FIELDS, predicates, rows, texts

LEAP_DAY = 19782
NOON = LEAP_DAY * NANOS_PER_DAY + NANOS_PER_DAY // 2


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("number = 5", Compare("=", "number", 5)),
        ("number == 5", Compare("=", "number", 5)),
        ("number != 5", Compare("!=", "number", 5)),
        ("number <> -5", Compare("!=", "number", -5)),
        ("5 < number", Compare(">", "number", 5)),
        ("(5) >= (number)", Compare("<=", "number", 5)),
        ("number < 1.5", Compare("<=", "number", 1)),
        ("number = 1.5", never("number")),
        ("tiny < 1000", always("tiny")),
        ("tiny > 127.5", never("tiny")),
        ("number = 5L", Compare("=", "number", 5)),
        ("number = '5'", Compare("=", "number", 5)),
        ("number = NULL", UNKNOWN),
        ("big = -9223372036854775808", Compare("=", "big", -(2**63))),
        ("price = 1.5", Compare("=", "price", Decimal("1.50"))),
        ("price = 1.5BD", Compare("=", "price", Decimal("1.50"))),
        ("price > 0.1D", Compare(">=", "price", Decimal("0.11"))),
        ("price < 1000", always("price")),
        ("price = 1000", never("price")),
        ("price <> 1000", always("price")),
        ("tiny = 1000", never("tiny")),
        ("big = 1e30", never("big")),
        ("nanos = '9999-12-31'", Compare("=", "nanos", 2932896 * NANOS_PER_DAY)),
        ("double = 2", Compare("=", "double", 2.0)),
        ("double = -0.0", Compare("=", "double", 0.0)),
        ("double < 1e3", Compare("<", "double", 1000.0)),
        ("double < CAST('-inf' AS DOUBLE)", Compare("<", "double", -math.inf)),
        ("single = 0.1", never("single")),
        ("single = 0.1F", Compare("=", "single", 0.10000000149011612)),
        ("flag = TRUE", Compare("=", "flag", True)),
        ("flag", Compare("=", "flag", True)),
        ("NOT flag", Not(Compare("=", "flag", True))),
        ("flag = 'false'", Compare("=", "flag", False)),
        ("name = 'x'", Compare("=", "name", "x")),
        ('name = "x"', Compare("=", "name", "x")),
        ("name = 'it''s'", Compare("=", "name", "it's")),
        (r"name = 'a\d\n\'\\\u00e9\0'", Compare("=", "name", "ad\n'\\é\0")),
        (r"name = r'a\n'", Compare("=", "name", r"a\n")),
        ("raw = X'0aFF'", Compare("=", "raw", b"\x0a\xff")),
        ("raw = X'aFF'", Compare("=", "raw", b"\x0a\xff")),
        ("raw < 'a'", Compare("<", "raw", b"a")),
        ("day = '2024-2-29'", Compare("=", "day", LEAP_DAY)),
        ("day = DATE '2024-02-29'", Compare("=", "day", LEAP_DAY)),
        ("day < TIMESTAMP '2024-02-29 12:00:00'", Compare("<=", "day", LEAP_DAY)),
        ("day >= TIMESTAMP '2024-02-29 12:00:00'", Compare(">=", "day", LEAP_DAY + 1)),
        ("clock = TIME '12:00:00.5'", Compare("=", "clock", 43_200_500)),
        ("clock >= '1:02'", Compare(">=", "clock", 3_720_000)),
        ("clock < CAST('12:00:00.0005' AS TIME)", Compare("<=", "clock", 43_200_000)),
        ("clock = '12:00:00.0005'", never("clock")),
        ("millis = '2024-02-29 12:00:00'", Compare("=", "millis", NOON)),
        ("millis = TIMESTAMP '2024-02-29 13:00:00+01:00'", Compare("=", "millis", NOON)),
        ("millis = TIMESTAMP_NTZ '2024-02-29T12:00'", Compare("=", "millis", NOON)),
        ("millis = '2024-02-29 12:00:00.0001'", never("millis")),
        ("millis > DATE '2024-02-29'", Compare(">", "millis", LEAP_DAY * NANOS_PER_DAY)),
        ("millis < '9999-12-31'", Compare("<", "millis", 2932896 * NANOS_PER_DAY)),
        ("nanos < '9999-12-31'", Compare("<", "nanos", 2932896 * NANOS_PER_DAY)),
        ("nanos = '2024-02-29 12:00:00.000000001'", Compare("=", "nanos", NOON + 1)),
        ("instant = TIMESTAMP '2024-02-29 12:00:00'", Compare("=", "instant", NOON)),
        ("instant = TIMESTAMP '2024-02-29 12:00:00Z'", Compare("=", "instant", NOON)),
        ("instant = '2024-02-29 07:00:00-05:00'", Compare("=", "instant", NOON)),
        ("number IN (1, 2.0, 1)", In("number", (1, 2))),
        ("number IN (1, NULL)", Or((In("number", (1,)), UNKNOWN))),
        ("number IN (1.5)", never("number")),
        ("number NOT IN (1)", Not(In("number", (1,)))),
        ("number BETWEEN 1 AND 5", And((Compare(">=", "number", 1), Compare("<=", "number", 5)))),
        ("number NOT BETWEEN 1 AND 5", Not(And((Compare(">=", "number", 1), Compare("<=", "number", 5))))),
        ("number IS NULL", IsNull("number")),
        ("number IS NOT NULL", Not(IsNull("number"))),
        ("number <=> NULL", IsNull("number")),
        ("number <=> 5", And((Not(IsNull("number")), Compare("=", "number", 5)))),
        ("name LIKE 'a%'", StartsWith("name", "a")),
        ("name LIKE '%a'", EndsWith("name", "a")),
        ("name LIKE '%a%'", Contains("name", "a")),
        ("name LIKE 'a'", Compare("=", "name", "a")),
        ("name LIKE ''", Compare("=", "name", "")),
        ("name LIKE '%'", always("name")),
        ("name LIKE 'a%b'", Like("name", "a%b")),
        ("name LIKE 'a_'", Like("name", "a_")),
        (r"name LIKE '10\%%'", StartsWith("name", "10%")),
        ("name LIKE '10!%%' ESCAPE '!'", StartsWith("name", "10%")),
        ("name NOT LIKE 'a%'", Not(StartsWith("name", "a"))),
        ("name NOT LIKE 'a!_' ESCAPE '!'", Not(Compare("=", "name", "a_"))),
        ("startswith(name, 'a')", StartsWith("name", "a")),
        ("ENDSWITH(name, 'a')", EndsWith("name", "a")),
        ("contains(name, 'a')", Contains("name", "a")),
        ("TRUE", TRUE),
        ("FALSE OR NULL", UNKNOWN),
        ("number = 1 OR tiny = 2 AND big = 3",
         Or((Compare("=", "number", 1), And((Compare("=", "tiny", 2), Compare("=", "big", 3)))))),
        ("NOT number = 1 AND tiny = 2", And((Not(Compare("=", "number", 1)), Compare("=", "tiny", 2)))),
        ("number = 1 -- one", Compare("=", "number", 1)),
    ],
)  # fmt: skip
def test_a_text_is_the_predicate_that_it_means(text: str, expected: Predicate) -> None:
    assert parse(text, FIELDS) == expected


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("", "not a single condition"),
        ("number = 1; number = 2", "not a single condition"),
        ("number = ", "cannot be parsed"),
        ("number = 5 5", "cannot be parsed"),
        ("number = 1 one", "AS one"),
        ("SELECT 1", "SELECT 1"),
        ("number = 0x1F", "0x1F"),
        ("number + 1 = 2", r"`number \+ 1 = 2` is not supported"),
        ("number = 1 AND upper(name) = 'A'", r"`UPPER\(name\) = 'A'` is not supported"),
        ("number = tiny", "two columns"),
        ("1 = 1", "`1 = 1` is not supported"),
        ("number IN (SELECT 1)", "is not supported"),
        ("number IN ()", "is not supported"),
        ("number BETWEEN SYMMETRIC 5 AND 1", "is not supported"),
        ("flag IS TRUE", "is not supported"),
        ("name RLIKE 'a'", "is not supported"),
        ("name ILIKE 'a'", "is not supported"),
        ("name LIKE ANY ('a')", "is not supported"),
        (r"name LIKE 'a\\b'", "must be followed by"),
        ("name LIKE 'a' ESCAPE '!!'", "not one character"),
        ("number LIKE '5%'", "is not a text"),
        ("startswith(number, '5')", "is not a text"),
        ("startswith(name, 5)", "is not a text"),
        ("number", "is not a condition"),
        ("t.number = 5", "plain name"),
        ("name = 5", "STRING cannot be compared with a number, unless it is in quotes: 5"),
        ("number = 'x'", "INT cannot be compared with a text"),
        ("day = '2023-02-29'", "day is out of range"),
        ("millis = '2024-01-01 25:00:00'", "is not a time of day"),
        ("clock = '24:00:00'", "is not a time of day"),
        ("clock = 'noon'", "is not a time"),
        ("clock = TIME(3) '12:00:00'", "not supported|cannot be parsed"),
        ("clock = TIMESTAMP '2024-01-01 12:00:00'", "cannot be compared with a timestamp"),
        ("millis = '2024-01-01 00:00:00 Europe/Oslo'", "is not a timestamp"),
        ("millis = TIMESTAMP_NTZ '2024-01-01 00:00:00Z'", "time zone"),
        ("number = 500Y", "not TINYINT without loss"),
        ("number = CAST(1.5 AS INT)", "not INT without loss"),
        ("day = CAST('2024-02-29' AS DATE DEFAULT NULL ON CONVERSION ERROR)", "not supported|cannot be parsed"),
        ("day = CAST('2024-02-29' AS DATE FORMAT 'yyyy-dd-MM')", "not supported|cannot be parsed"),
        ("number = " + "9" * 39, "38 digits"),
        ("double < 1e400", "beyond the largest double"),
        ("number = 5 COLLATE UTF8_LCASE", "is not supported"),
        ("name = INTERVAL '1' DAY", "is not supported"),
    ],
)
def test_what_is_no_supported_condition_is_refused_with_what_was_found(text: str, found: str) -> None:
    with pytest.raises(PredicateError, match=found):
        parse(text, FIELDS)


def test_an_error_shows_the_text_and_what_is_supported() -> None:
    with pytest.raises(PredicateError) as caught:
        parse("number = 1 AND abs(number) = 2", FIELDS)
    assert "abs(number) = 2" in caught.value.found.lower()
    assert "number = 1 AND abs(number) = 2" in caught.value.where
    assert "BETWEEN" in caught.value.fix


def test_columns_are_found_in_any_case_unless_that_is_ambiguous() -> None:
    fields = [DataField(i, name, parse_type("INT")) for i, name in enumerate(("Id", "a", "A", "two words", "ti`ck"))]
    assert parse("ID = 1", fields) == Compare("=", "Id", 1)
    assert parse("a = 1", fields) == Compare("=", "a", 1)
    assert parse("A = 1", fields) == Compare("=", "A", 1)
    assert parse("`two words` = 1 OR `ti``ck` = 2", fields) == Or(
        (Compare("=", "two words", 1), Compare("=", "ti`ck", 2))
    )
    with pytest.raises(PredicateError, match=r"'B' does not exist.*The columns are: Id, a, A, two words, ti`ck\."):
        parse("B = 1", fields)
    ambiguous = [DataField(i, name, parse_type("INT")) for i, name in enumerate(("ab", "AB"))]
    with pytest.raises(PredicateError, match=r"'Ab' is ambiguous.*ab, AB\."):
        parse("Ab = 1", ambiguous)


def test_many_conditions_do_not_exhaust_the_stack() -> None:
    parsed = parse(" OR ".join(f"number = {n}" for n in range(3000)), FIELDS)
    assert isinstance(parsed, Or)
    assert len(parsed.children) == 3000
    assert FALSE not in parsed.children


@settings(max_examples=examples(120))
@given(predicates(), st.data())
def test_a_predicate_survives_as_text(predicate: Predicate, data: st.DataObject) -> None:
    again = parse(to_sql(predicate, FIELDS), FIELDS)
    for row in data.draw(rows(columns_of(predicate), max_size=5)):
        assert truth(again, row) is truth(predicate, row)


@settings(deadline=None)
@given(texts | st.text(), st.binary())
def test_every_text_and_binary_survives_as_text(text: str, binary: bytes) -> None:
    for predicate in (Compare("=", "name", text), Contains("name", text), Compare("=", "raw", binary)):
        assert parse(to_sql(predicate, FIELDS), FIELDS) == predicate


def test_to_sql_of_an_unknown_column() -> None:
    with pytest.raises(PredicateError, match="'nope' does not exist"):
        to_sql(IsNull("nope"), FIELDS)


@pytest.mark.parametrize("text", ["(" * 3000 + "number = 1" + ")" * 3000, "NOT " * 3000 + "number = 1"])
def test_what_is_nested_too_deeply_is_refused(text: str) -> None:
    with pytest.raises(PredicateError, match="nested too deeply") as caught:
        parse(text, FIELDS)
    assert len(str(caught.value)) < 2000


@pytest.mark.parametrize(
    ("column", "literal", "value"),
    [
        ("number", "{}", int),
        ("number", "-{}", lambda i: -i),
        ("price", "{}.25", lambda i: Decimal(f"{i}.25")),
        ("name", "'v{}, IN (1)'", "v{}, IN (1)".format),
        ("double", "CAST('{}.5' AS DOUBLE)", lambda i: i + 0.5),
    ],
)
def test_a_long_list_of_literals(column: str, literal: str, value: Callable[[int], Value]) -> None:
    listed = ", ".join(literal.format(i) for i in range(500))
    actual = parse(f"name LIKE '% in (%' AND `{column}` NOT IN ({listed}) OR `{column}` IN ({listed})", FIELDS)
    expected = In(column, tuple(value(i) for i in range(500)))
    assert actual == Or((And((Contains("name", " in ("), Not(expected))), expected))
    assert parse(to_sql(actual, FIELDS), FIELDS) == actual


@pytest.mark.parametrize("bad", ["1 + 1", "'a'", "other", "x'00'", "TRUE"])
def test_a_mistake_in_a_long_list(bad: str) -> None:
    with pytest.raises(PredicateError) as caught:
        parse(f"number IN ({', '.join(map(str, range(500)))}, {bad})", FIELDS)
    assert len(str(caught.value)) < 5000


def test_a_long_list_of_another_type() -> None:
    words = ", ".join(["'a'"] * 500)
    with pytest.raises(PredicateError, match=r"`number IN \(…\)`: a column of type INT cannot be compared with a text"):
        parse(f"number IN ({words})", FIELDS)
