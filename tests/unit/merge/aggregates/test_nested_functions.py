"""Functions of maps and arrays where records come late, where values are set, and where they are retracted."""

from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from maintenance.errors import DataError
from maintenance.merge.aggregates.aggregate import AggregatedColumn
from maintenance.merge.aggregates.registry import AGGREGATES
from maintenance.merge.inputs import Inputs, Op
from maintenance.types.arrow import arrow_type
from maintenance.types.data_type import DataField, DataType, parse_type, type_of_json

A, R, B, S = Op.ADD, Op.RETRACT, Op.BEHIND, Op.SET
ROWS = type_of_json(
    {
        "type": "ARRAY",
        "element": {
            "type": "ROW",
            "fields": [{"id": 1, "name": "k", "type": "INT"}, {"id": 2, "name": "v", "type": "STRING"}],
        },
    }
)
TIMED = type_of_json(
    {
        "type": "MAP",
        "key": "STRING NOT NULL",
        "value": {
            "type": "ROW",
            "fields": [{"id": 1, "name": "v", "type": "INT"}, {"id": 2, "name": "ts", "type": "STRING"}],
        },
    }
)
NUMBERS = type_of_json({"type": "ARRAY", "element": "INT"})
MAP = type_of_json({"type": "MAP", "key": "STRING NOT NULL", "value": "INT"})


def merged(function: str, data_type: DataType, steps: list[tuple[Op, Any]], **options: str) -> Any:
    """What steps of one key make, oldest first."""
    column = pa.array([value for _, value in steps], arrow_type(data_type))
    ops = np.array([op for op, _ in steps], np.int8)
    inputs = Inputs(column, np.arange(len(steps)), np.array([0]), ops if ops.any() else None)
    settings = {f"fields.c.{name.replace('_', '-')}": value for name, value in options.items()}
    field = DataField(3, "c", data_type)
    return AGGREGATES[function].reduce(inputs, AggregatedColumn(field, settings))[0].as_py()


def row(key: int | None, value: str | None) -> dict[str, Any]:
    return {"k": key, "v": value}


@pytest.mark.parametrize(
    ("steps", "made"),
    [
        ([(A, [row(1, "a")]), (A, [row(1, None), row(2, "b")])], [row(1, "a"), row(2, "b")]),
        ([(A, [row(1, "a")]), (A, [row(1, "b")])], [row(1, "b")]),
        ([(A, [row(1, "a")]), (B, [row(1, "b"), row(2, None)])], [row(1, "a"), row(2, None)]),
        ([(A, [row(1, None)]), (B, [row(1, "b")])], [row(1, "b")]),
        ([(A, [row(1, None)]), (B, [row(1, "b")]), (B, [row(1, "c")])], [row(1, "b")]),
        ([(A, None), (A, [row(1, "a"), None])], [row(1, "a")]),
        ([(A, None), (A, None)], None),
        ([(S, [row(1, "a"), row(1, "b"), None])], [row(1, "a"), row(1, "b"), None]),
        ([(A, [row(7, "x")]), (S, [row(1, "a"), None]), (A, None)], [row(1, "a"), None]),
        ([(S, [row(1, "a"), None]), (A, [row(1, "b")])], [row(1, "b")]),
        ([(S, [row(1, "a"), None]), (B, [row(1, "b")])], [row(1, "a")]),
        ([(A, None), (B, [row(1, "a"), None])], [row(1, "a"), None]),
        ([(B, [row(1, "a"), None]), (B, [row(2, "b")])], [row(1, "a"), row(2, "b")]),
    ],
)
def test_nested_partial_update_fills_the_row_of_each_key(steps: list[tuple[Op, Any]], made: Any) -> None:
    """What was set, or came late to a null, stays as it came until something is merged to it."""
    actual = merged("nested_partial_update", ROWS, steps, nested_key="k")
    assert _any_order(actual) == _any_order(made)


def _any_order(rows: list[Any] | None) -> Any:
    return None if rows is None else sorted(map(str, rows))


@pytest.mark.parametrize(
    ("steps", "made"),
    [
        ([(A, [row(1, "a")]), (A, [row(1, "a"), None, row(2, "b")])], [row(1, "a"), row(1, "a"), row(2, "b")]),
        ([(A, [row(1, "a")]), (B, [row(2, "b")])], [row(2, "b"), row(1, "a")]),
        ([(A, [row(1, "a"), row(2, "b"), row(1, "a")]), (R, [row(1, "a")])], [row(2, "b")]),
        ([(R, [row(1, "a")]), (A, [row(1, "a")])], [row(1, "a")]),
        ([(S, [row(1, "a"), None])], [row(1, "a"), None]),
        ([(S, [row(1, "a"), None]), (A, [row(2, "b")])], [row(1, "a"), row(2, "b")]),
        ([(S, [row(1, "a"), None]), (R, [row(2, "b")])], [row(1, "a")]),
    ],
)
def test_nested_update_without_key(steps: list[tuple[Op, Any]], made: Any) -> None:
    assert merged("nested_update", ROWS, steps) == made


def test_at_most_so_many_rows() -> None:
    rows = [row(number, "a") for number in range(5)]
    for first in range(5):
        steps = [(A, rows[:first]), (A, rows[first:])]
        assert merged("nested_update", ROWS, steps, count_limit="3") == rows[:3]
    over = [(S, rows[:4]), (A, rows[4:])]
    assert merged("nested_update", ROWS, over, count_limit="3") == rows[:4]


def test_with_a_key_only_new_keys_are_limited() -> None:
    steps = [(A, [row(1, "a"), row(2, "b")]), (A, [row(3, "c"), row(2, "B")])]
    assert merged("nested_update", ROWS, steps, nested_key="k", count_limit="2") == [row(1, "a"), row(2, "B")]
    assert merged("nested_update", ROWS, steps, nested_key="k", count_limit="3") == [
        row(1, "a"), row(2, "B"), row(3, "c"),
    ]  # fmt: skip
    over = [(S, [row(1, "a"), row(2, "b"), row(3, "c")]), (A, [row(4, "d"), row(1, "A")])]
    assert merged("nested_update", ROWS, over, nested_key="k", count_limit="2") == [
        row(1, "A"), row(2, "b"), row(3, "c"),
    ]  # fmt: skip


def test_a_row_replaces_one_whose_sequence_is_not_larger() -> None:
    options = {"nested_key": "k", "nested_sequence_field": "v"}
    assert merged("nested_update", ROWS, [(A, [row(1, "b")]), (A, [row(1, "a")])], **options) == [row(1, "b")]
    assert merged("nested_update", ROWS, [(A, [row(1, "b")]), (A, [row(1, "c")])], **options) == [row(1, "c")]
    assert merged("nested_update", ROWS, [(A, [row(1, None)]), (A, [row(1, "a")])], **options) == [row(1, "a")]


@pytest.mark.parametrize(
    ("steps", "made"),
    [
        ([(A, {"a": 1, "b": 2}), (A, {"b": 3})], {"a": 1, "b": 3}),
        ([(A, {"a": 1}), (B, {"a": 2, "b": 3}), (B, {"b": 4})], {"a": 1, "b": 3}),
        ([(A, {"a": 1, "b": 2}), (R, {"a": 9})], {"b": 2}),
        ([(A, {"a": 1}), (R, {"a": 1}), (A, {"a": 5})], {"a": 5}),
        ([(A, {"a": 1}), (R, {"a": 1}), (B, {"a": 7}), (B, {"a": 8})], {"a": 7}),
        ([(B, {"a": 7}), (A, {"a": 1}), (R, {"a": 1})], {}),
        ([(A, {"a": 1}), (S, {"b": None}), (A, None)], {"b": None}),
        ([(A, {}), (A, None)], {}),
        ([(A, None)], None),
    ],
)
def test_merge_map_has_the_newest_value_of_each_key(steps: list[tuple[Op, Any]], made: dict[str, Any] | None) -> None:
    actual = merged("merge_map", MAP, steps)
    assert (None if actual is None else dict(actual)) == made


def at(value: int, time: str | None) -> dict[str, Any]:
    return {"v": value, "ts": time}


@pytest.mark.parametrize(
    ("steps", "made"),
    [
        ([(A, {"a": at(1, "5")}), (A, {"a": at(2, "4"), "b": at(3, "1")})], {"a": at(1, "5"), "b": at(3, "1")}),
        ([(A, {"a": at(1, "5")}), (A, {"a": at(2, "5")})], {"a": at(1, "5")}),
        ([(A, {"a": at(1, "5")}), (A, {"a": at(2, "6")})], {"a": at(2, "6")}),
        ([(A, {"a": at(1, "5")}), (A, {"a": at(2, "10")})], {"a": at(1, "5")}),
        ([(A, {"a": at(1, "5")}), (A, {"a": None, "b": None})], {}),
        ([(A, {"a": at(1, "5")}), (A, {"a": at(2, None), "b": at(2, None)})], {"a": at(1, "5")}),
        ([(A, {"a": at(1, None)}), (A, {"a": at(2, "")})], {"a": at(2, "")}),
        ([(A, {"a": None}), (A, {"a": at(2, "1")})], {"a": at(2, "1")}),
        ([(A, {"a": None, "b": at(1, None)}), (A, {})], {"a": None, "b": at(1, None)}),
        ([(A, {"a": at(1, "5")}), (B, {"a": at(2, "5"), "b": at(3, None)})], {"a": at(2, "5"), "b": at(3, None)}),
        ([(A, {"a": at(1, "5")}), (B, {"a": at(2, "4")})], {"a": at(1, "5")}),
        ([(A, None), (A, None)], None),
        ([(A, None), (A, {"a": at(1, None)})], {"a": at(1, None)}),
    ],
)
def test_merge_map_with_keytime(steps: list[tuple[Op, Any]], made: dict[str, Any] | None) -> None:
    """Times compare as texts; the first map is not changed, and a late one counts as that."""
    actual = merged("merge_map_with_keytime", TIMED, steps)
    assert (None if actual is None else dict(actual)) == made


def test_a_field_that_is_named_is_the_time() -> None:
    fields = [{"id": 1, "name": "ts", "type": "STRING"}, {"id": 2, "name": "v", "type": "STRING"}]
    data_type = type_of_json({"type": "MAP", "key": "INT NOT NULL", "value": {"type": "ROW", "fields": fields}})
    steps = [(A, [(1, {"ts": "2", "v": "1"})]), (A, [(1, {"ts": "1", "v": "2"})])]
    assert merged("merge_map_with_keytime", data_type, steps) == [(1, {"ts": "1", "v": "2"})]
    assert merged("merge_map_with_keytime", data_type, steps, ts_field="ts") == [(1, {"ts": "2", "v": "1"})]


def test_a_row_of_one_field_has_no_time() -> None:
    accepts = AGGREGATES["merge_map_with_keytime"].accepts
    one = {"type": "ROW", "fields": [{"id": 1, "name": "ts", "type": "STRING"}]}
    assert accepts(TIMED)
    assert not accepts(type_of_json({"type": "MAP", "key": "INT NOT NULL", "value": one}))
    assert not accepts(MAP)
    assert not accepts(ROWS)


@pytest.mark.parametrize(
    ("steps", "made"),
    [
        ([(A, "a"), (A, "b"), (A, None)], "a,b"),
        ([(A, "a"), (B, "b"), (A, "c"), (B, "d")], "d,b,a,c"),
        ([(B, "b"), (A, "a")], "b,a"),
        ([(A, "x"), (S, "a"), (A, "b")], "a,b"),
        ([(A, None)], None),
        ([(S, " "), (A, None)], " "),
        ([(A, " "), (A, "")], None),
        ([(A, " "), (B, "  ")], "  "),
        ([(S, " "), (A, "a")], "a"),
    ],
)
def test_listagg_joins_texts_and_late_ones_come_first(steps: list[tuple[Op, Any]], made: str | None) -> None:
    assert merged("listagg", parse_type("STRING"), steps) == made


@pytest.mark.parametrize(
    ("steps", "made", "distinct"),
    [
        ([(A, [1, 2]), (A, [2, None]), (A, None)], [1, 2, 2, None], [1, 2, None]),
        ([(A, [1]), (B, [3, 1])], [1, 3, 1], [1, 3]),
        ([(A, [1, 2, 1]), (R, [1])], [2, 1], [2]),
        ([(A, [1]), (R, [1, 5])], [], []),
        ([(A, [5]), (S, [1, 1]), (A, [1])], [1, 1, 1], [1]),
        ([(A, [5]), (S, [1, 1])], [1, 1], [1, 1]),
        ([(S, [1, 1]), (A, None)], [1, 1], [1]),
        ([(S, [1, 1, 1]), (R, [1])], [1, 1], [1, 1]),
        ([(S, [1, 1, 1]), (R, [1]), (A, [2])], [1, 1, 2], [1, 2]),
        ([(A, None)], None, None),
    ],
)
def test_collect_gathers_elements_and_retractions_take_them_away(
    steps: list[tuple[Op, Any]], made: Any, distinct: Any
) -> None:
    """A retraction takes each of its elements away once. Late arrays come at the end like others."""
    assert merged("collect", NUMBERS, steps) == made
    assert merged("collect", NUMBERS, steps, distinct="true") == distinct


@pytest.mark.parametrize(
    ("strategy", "made"),
    [
        ("merge", [row(1, "a"), row(None, "c"), row(2, None)]),
        ("ignore", [row(1, "a"), row(2, None)]),
        ("error", None),
    ],
)
@pytest.mark.parametrize("function", ["nested_update", "nested_partial_update"])
def test_nulls_in_the_key_of_a_nested_row(function: str, strategy: str, made: list[dict[str, Any]] | None) -> None:
    """Of rows that are there: one that is null has no key."""
    steps = [(A, [row(1, "a"), row(None, "b"), None]), (A, [row(None, "c"), row(2, None)])]
    options = {"nested_key": "k", "nested_key_null_strategy": strategy}
    if made is None:
        with pytest.raises(DataError, match="null in the key of a nested row"):
            merged(function, ROWS, steps, **options)
        assert merged(function, ROWS, [(A, [row(1, "a"), None]), (A, [row(2, "b")])], **options) == [
            row(1, "a"),
            row(2, "b"),
        ]
    else:
        # Rows by key have no order.
        assert sorted(merged(function, ROWS, steps, **options), key=repr) == sorted(made, key=repr)
