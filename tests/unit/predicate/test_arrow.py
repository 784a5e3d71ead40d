"""The mask against the model, and the expression: it may keep more than the mask, never less."""

import datetime as dt
import io
import math
from typing import Any

import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from maintenance.errors import PredicateError
from maintenance.format.variant.extension import plain
from maintenance.predicate.arrow import expression, mask
from maintenance.predicate.tree import (
    Compare,
    Constant,
    Contains,
    In,
    IsNull,
    Not,
    Operator,
    Or,
    Predicate,
    StartsWith,
    columns_of,
)
from maintenance.types.data_type import DataField, DataType
from maintenance.types.values import arrow_of_values
from tests.examples import examples
from tests.models.predicates import truth
from tests.unit.predicate.strategies import BY_NAME, FIELDS, leaves_of, predicates, rows


def batch_of(found: list[dict[str, Any]], columns: frozenset[str]) -> pa.RecordBatch:
    arrays = {name: arrow_of_values([row[name] for row in found], BY_NAME[name].type) for name in sorted(columns)}
    arrays["row"] = pa.array(range(len(found)), pa.int32())
    return pa.RecordBatch.from_pydict(arrays)


def fragment_of(table: pa.Table, row_group_size: int) -> ds.ParquetFileFragment:
    written = io.BytesIO()
    fields = [BY_NAME.get(name, DataField(0, name, DataType("INT"))) for name in table.column_names]
    pq.write_table(plain(table, fields), written, row_group_size=row_group_size)
    return ds.ParquetFileFormat().make_fragment(pa.py_buffer(written.getvalue()))


@settings(max_examples=examples(80))
@given(predicates(), st.data())
def test_mask_is_the_truth_of_each_row(predicate: Predicate, data: st.DataObject) -> None:
    check_mask(predicate, data)


@pytest.mark.parametrize("field", FIELDS, ids=lambda field: field.name)
@settings(max_examples=examples(25))
@given(data=st.data())
def test_mask_of_one_column(field: DataField, data: st.DataObject) -> None:
    check_mask(data.draw(leaves_of(field)), data)


def check_mask(predicate: Predicate, data: st.DataObject) -> None:
    columns = columns_of(predicate)
    actual = data.draw(rows(columns))
    expected = [truth(predicate, row) for row in actual]
    batch = batch_of(actual, columns)
    assert mask(predicate, batch).to_pylist() == expected
    halves = pa.Table.from_batches([batch.slice(0, len(actual) // 2), batch.slice(len(actual) // 2)])
    chunked = mask(predicate, halves)
    assert isinstance(chunked, pa.ChunkedArray)
    assert chunked.to_pylist() == expected


@settings(max_examples=examples(80))
@given(predicates(), st.data())
def test_expression_keeps_every_row_that_matches(predicate: Predicate, data: st.DataObject) -> None:
    check_expression(predicate, data)


@pytest.mark.parametrize("field", FIELDS, ids=lambda field: field.name)
@settings(max_examples=examples(25))
@given(data=st.data())
def test_expression_of_one_column(field: DataField, data: st.DataObject) -> None:
    leaf = data.draw(leaves_of(field))
    check_expression(data.draw(st.sampled_from((leaf, Not(leaf)))), data)


def check_expression(predicate: Predicate, data: st.DataObject) -> None:
    columns = columns_of(predicate)
    actual = data.draw(rows(columns))
    asked = expression(predicate, FIELDS)
    if asked is None:
        return
    fragment = fragment_of(pa.Table.from_batches([batch_of(actual, columns)]), row_group_size=3)
    matching = {number for number, row in enumerate(actual) if truth(predicate, row)}
    assert matching <= set(fragment.to_table(filter=asked)["row"].to_pylist())
    groups = fragment.split_by_row_group(filter=asked)
    assert matching <= {row for group in groups for row in group.to_table()["row"].to_pylist()}


def test_expression_skips_row_groups() -> None:
    """The point of it: a group whose bounds exclude the predicate is not read."""
    table = pa.table({"number": pa.array(range(12), pa.int32()), "name": [f"n{i:02d}" for i in range(12)]})
    fragment = fragment_of(table, row_group_size=4)
    for predicate, groups in (
        (Compare("<", "number", 5), 2),
        (In("number", (9, 11)), 1),
        (Not(Compare("<=", "number", 7)), 1),
        (StartsWith("name", "n0"), 3),
        (StartsWith("name", "n1"), 1),
        (IsNull("name"), 0),
        (Or((Compare("=", "number", 0), Compare("=", "number", 11))), 2),
    ):
        assert len(fragment.split_by_row_group(filter=expression(predicate, FIELDS))) == groups, predicate


@pytest.mark.parametrize(
    "predicate",
    [
        Constant(True),
        Or((Compare("=", "number", 1), Constant(True))),
        Or((Compare("=", "number", 1), Compare("=", "unknown", 1))),
    ],
)
def test_expression_is_none_where_nothing_can_be_asked(predicate: Predicate) -> None:
    assert expression(predicate, FIELDS) is None


def test_a_group_of_one_number_and_nan_is_kept_for_what_nan_satisfies() -> None:
    """Arrow takes equal bounds without nulls for a group of one value; the NaN in it must not be lost."""
    fragment = fragment_of(pa.table({"double": [5.0, math.nan], "row": [0, 1]}), row_group_size=2)
    asked_for: list[tuple[Operator, float]] = [
        (">", 5.0), (">=", 6.0), ("!=", 5.0), ("=", math.nan), (">=", math.nan),
    ]  # fmt: skip
    for op, value in asked_for:
        asked = expression(Compare(op, "double", value), FIELDS)
        assert 1 in fragment.to_table(filter=asked)["row"].to_pylist(), (op, value)


@pytest.mark.parametrize(
    "arrow", [pa.large_string(), pa.string_view(), pa.dictionary(pa.int8(), pa.string()), pa.string()]
)
def test_mask_takes_every_form_of_texts(arrow: pa.DataType) -> None:
    batch = pa.RecordBatch.from_pydict({"name": pa.array(["ab", None, "b", "ab"]).cast(arrow)})
    assert mask(Compare("=", "name", "ab"), batch).to_pylist() == [True, None, False, True]
    assert mask(In("name", ("ab", "c")), batch).to_pylist() == [True, None, False, True]
    assert mask(Contains("name", "b"), batch).to_pylist() == [True, None, True, True]


@pytest.mark.parametrize("name", ["single", "double"])
def test_both_zeros_are_one_number(name: str) -> None:
    batch = batch_of([{name: 0.0}, {name: -0.0}], frozenset((name,)))
    for zero in (0.0, -0.0):
        for predicate in (Compare("=", name, zero), In(name, (zero, 5.0)), Not(Compare("<", name, zero))):
            assert mask(predicate, batch).to_pylist() == [True, True], predicate
            fragment = fragment_of(pa.Table.from_batches([batch]), row_group_size=1)
            assert fragment.to_table(filter=expression(predicate, FIELDS))["row"].to_pylist() == [0, 1], predicate


def test_nan_is_the_largest_number_and_equals_itself() -> None:
    batch = batch_of([{"double": value} for value in (math.nan, math.inf, None)], frozenset(("double",)))
    cases: list[tuple[Operator, float, list[bool]]] = [
        (">", math.inf, [True, False]), (">=", math.inf, [True, True]), ("<", math.nan, [False, True]),
        ("=", math.nan, [True, False]), ("!=", math.nan, [False, True]), ("<=", math.nan, [True, True]),
        (">", math.nan, [False, False]), (">=", math.nan, [True, False]), ("!=", 1.0, [True, True]),
    ]  # fmt: skip
    for op, value, expected in cases:
        predicate = Compare(op, "double", value)
        assert mask(predicate, batch).to_pylist() == [*expected, None], predicate


def test_mask_filters_away_what_is_null() -> None:
    batch = pa.RecordBatch.from_pydict({"number": pa.array([1, None, 3], pa.int32())})
    assert batch.filter(mask(Not(Compare("=", "number", 1)), batch))["number"].to_pylist() == [3]


def test_mask_of_a_nested_column_knows_nulls() -> None:
    batch = pa.RecordBatch.from_pydict({"list": pa.array([[1], None], pa.list_(pa.int32()))})
    assert mask(IsNull("list"), batch).to_pylist() == [False, True]


def test_mask_names_the_column_that_is_missing() -> None:
    with pytest.raises(PredicateError, match=r"'nope' does not exist.*The columns are: number"):
        mask(IsNull("nope"), pa.RecordBatch.from_pydict({"number": [1]}))


def test_mask_refuses_a_literal_between_two_values_of_the_unit() -> None:
    batch = pa.RecordBatch.from_pydict({"seconds": pa.array([dt.datetime(2024, 1, 1)], pa.timestamp("s"))})
    with pytest.raises(PredicateError, match="between two values"):
        mask(Compare("<", "seconds", 1_500_000_000), batch)
