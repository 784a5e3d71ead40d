"""A comparison with any literal, also one that the column cannot hold, decides as the plain comparison of numbers."""

import math
from decimal import Decimal
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from maintenance.predicate.literals import Clock, Day, Literal, Moment, compare, null_safe_equal, within
from maintenance.predicate.moments import NANOS_PER_DAY
from maintenance.predicate.tree import Operator, Predicate
from maintenance.types.data_type import DataField, parse_type
from tests.examples import examples
from tests.models import predicates as model
from tests.unit.predicate.strategies import BY_NAME, TYPES, values

OPERATORS: tuple[Operator, ...] = ("=", "!=", "<", "<=", ">", ">=")
EXACT = ("tiny", "small", "number", "big", "price", "total")
LARGE = (2**53 + 1, 2**63 - 1, 2**63, -(2**63), 10**18, 999999999999999936, 128, -129, 10**28)

operators = st.sampled_from(OPERATORS)
numbers = (
    st.integers(-4, 4)
    | st.sampled_from(LARGE)
    | st.decimals(-1000, 1000, places=3)
    | st.integers(-4, 4).map(lambda number: Decimal(number) / 2)
)
doubles = st.sampled_from((0.1, -0.01, 1.5, 2.0, 1e18, 2.0**63, math.nan, math.inf, -math.inf, -0.0)) | st.floats()
on_grid = st.sampled_from(EXACT).flatmap(lambda name: st.tuples(st.just(BY_NAME[name]), values(BY_NAME[name])))


def decide(predicate: Predicate, field: DataField, value: Any) -> bool | None:
    return model.truth(predicate, {field.name: value})


@settings(max_examples=examples(200))
@given(on_grid, operators, numbers)
def test_exact_numbers_are_compared_exactly(
    column: tuple[DataField, Any], op: Operator, literal: int | Decimal
) -> None:
    field, value = column
    expected = model.compare(op, Fraction(value), Fraction(literal))
    assert decide(compare(op, field, literal), field, value) is expected
    assert decide(compare(op, field, literal), field, None) is None


@settings(max_examples=examples(200))
@given(on_grid, operators, doubles)
def test_doubles_compare_with_the_value_rounded_to_a_double(
    column: tuple[DataField, Any], op: Operator, literal: float
) -> None:
    field, value = column
    for near in (value, *neighbours(field, literal)):
        expected = model.compare(op, model.order(float(near)), model.order(literal))
        assert decide(compare(op, field, literal), field, near) is expected, near
    assert decide(compare(op, field, literal), field, None) is None


def neighbours(field: DataField, literal: float) -> list[int]:
    """Integers of the column that round to the literal, or just not."""
    if field.name != "big" or not -(2.0**63) < literal < 2.0**63:
        return []
    spread = (-513, -512, -511, -65, -64, -1, 0, 1, 64, 65, 511, 512, 513)
    return [near for step in spread if abs(near := int(literal) + step) < 2**63]


@settings(max_examples=examples(200))
@given(st.sampled_from(("single", "double")), operators, numbers | doubles, st.data())
def test_floats_are_compared_with_the_literal_as_a_double(
    name: str, op: Operator, literal: Any, data: st.DataObject
) -> None:
    field = BY_NAME[name]
    value = data.draw(values(field))
    expected = model.compare(op, model.order(value), model.order(float(literal)))
    assert decide(compare(op, field, literal), field, value) is expected
    assert decide(compare(op, field, literal), field, None) is None


@pytest.mark.parametrize("literal", [0.1, -0.1, 1e40, -1e40, 1e-50, -1e-50, 16777217.0])
def test_a_double_between_two_floats(literal: float) -> None:
    field = BY_NAME["single"]
    near = [0.0, -0.0, 0.10000000149011612, 0.09999999403953552, -0.10000000149011612, 3.4028234663852886e38, math.inf]
    near += [-3.4028234663852886e38, -math.inf, math.nan, 16777216.0, 16777218.0, 1.401298464324817e-45]
    for op in OPERATORS:
        for value in near:
            expected = model.compare(op, model.order(value), model.order(literal))
            assert decide(compare(op, field, literal), field, value) is expected, (op, value)


@settings(deadline=None)
@given(st.sampled_from(("day", "seconds", "millis", "micros", "nanos", "instant")), operators, st.data())
def test_dates_and_timestamps_are_compared_by_their_nanoseconds(name: str, op: Operator, data: st.DataObject) -> None:
    field = BY_NAME[name]
    value = data.draw(values(field))
    nanos = value * NANOS_PER_DAY if name == "day" else value
    near = st.integers(-3, 3).map(lambda step: nanos + step) | st.integers(-(10**19), 10**19)
    literal = data.draw(near.map(Moment) | st.integers(-10, 10).map(Day))
    expected = model.compare(op, nanos, literal.nanos if isinstance(literal, Moment) else literal.days * NANOS_PER_DAY)
    assert decide(compare(op, field, literal), field, value) is expected


@settings(deadline=None)
@given(operators, st.data())
def test_times_of_day_are_compared_by_their_nanoseconds(op: Operator, data: st.DataObject) -> None:
    field = BY_NAME["clock"]
    value = data.draw(values(field))
    literal = data.draw(st.integers(-3, 3).map(lambda step: max(0, value * 10**6 + step)) | st.integers(0, 10**14))
    expected = model.compare(op, value * 10**6, literal)
    assert decide(compare(op, field, Clock(literal)), field, value) is expected


@settings(deadline=None)
@given(st.lists(st.none() | numbers, max_size=4), st.sampled_from(("tiny", "price")), st.data())
def test_a_list_decides_as_each_of_its_literals(literals: list[Any], name: str, data: st.DataObject) -> None:
    field = BY_NAME[name]
    value = data.draw(values(field))
    equal = [None if literal is None else Fraction(value) == Fraction(literal) for literal in literals]
    expected = True if True in equal else None if None in equal else False
    assert decide(within(field, literals), field, value) is expected
    if literals:
        assert decide(within(field, literals), field, None) is None


def test_null_safe_equal_is_never_null() -> None:
    field = BY_NAME["number"]
    assert [decide(null_safe_equal(field, 5), field, value) for value in (5, 6, None)] == [True, False, False]
    assert [decide(null_safe_equal(field, None), field, value) for value in (5, None)] == [False, True]
    assert [decide(null_safe_equal(field, Decimal("5.5")), field, value) for value in (5, None)] == [False, False]


@pytest.mark.parametrize(
    ("name", "literal"),
    [
        ("name", 5), ("name", b"a"), ("name", Day(1)), ("number", "five"), ("number", "1.5"), ("number", True),
        ("number", Day(1)), ("price", "1.5"), ("flag", 1), ("flag", "maybe"), ("day", 5), ("day", "2023-02-29"),
        ("millis", 1.5), ("millis", "2024-01-01 00:00:00Z"), ("raw", 5), ("double", True), ("double", "one"),
        ("instant", "yesterday"), ("clock", Day(1)), ("clock", Moment(0)), ("clock", "24:00:00"), ("clock", 5),
        ("millis", Clock(0)), ("day", Clock(0)), ("name", Clock(0)),
    ],
)  # fmt: skip
def test_refuses_what_it_cannot_compare_exactly(name: str, literal: Literal) -> None:
    with pytest.raises(ValueError, match=r"."):
        compare("=", BY_NAME[name], literal)


@pytest.mark.parametrize("text", ["VARIANT"])
def test_refuses_types_that_have_no_literals(text: str) -> None:
    with pytest.raises(ValueError, match="cannot be compared"):
        compare("=", DataField(0, "odd", parse_type(text)), "x")


def test_every_type_of_the_strategies_compares_with_its_own_values() -> None:
    own: dict[str, Literal] = {
        "flag": True,
        "name": "x",
        "code": "x",
        "raw": b"x",
        "fixed": b"x",
        "day": Day(1),
        "clock": Clock(0),
    }
    for name in TYPES:
        field = BY_NAME[name]
        literal = own.get(name, Moment(0) if field.type.is_timestamp else 1)
        assert decide(compare("=", field, literal), field, None) is None
