"""What a proof expects of each column, against models that take one record after the other."""

import math
from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from maintenance.compaction.proof.expected import (
    expect_unit,
    hash_of_nulls,
    is_row_engine,
    picked_rows,
    unit_hashes,
    unit_of_function,
    units_of,
)
from maintenance.compaction.proof.hashing import HashedRows, Hashing
from maintenance.compaction.proof.records import Groups, ProofRecords, RecordOrigin, batch_of, grouped
from maintenance.compaction.proof.unit import Expected, Unit
from maintenance.format.metadata.schema import TableSchema
from maintenance.merge.ordered import RecordOrder
from maintenance.options.model import TableModel
from maintenance.types.arrow import arrow_type
from maintenance.types.data_type import DataField, DataType, parse_type, type_of_json
from maintenance.types.row_hash import NULL, column_words
from maintenance.types.values import arrow_of_values
from tests.examples import examples
from tests.models.aggregates import FUNCTIONS
from tests.models.merge_engines import Engine, Group, partial_update

Record = Mapping[str, Any]


def records_of(rows: Sequence[Record], columns: Mapping[str, DataType], units: Sequence[Unit]) -> ProofRecords:
    """Records of the key `k` in the order of their numbers, as one run."""
    table = pa.table(
        {
            "_SEQUENCE_NUMBER": pa.array(range(len(rows)), pa.int64()),
            "_VALUE_KIND": pa.array([row.get("_VALUE_KIND", 0) for row in rows], pa.int8()),
            "k": pa.array([row["k"] for row in rows], pa.int32()),
            **{name: column_of([row[name] for row in rows], kind) for name, kind in columns.items()},
        }
    )
    words = {unit.name: unit.words for unit in units if unit.words is not column_words}
    names = {unit.name: unit.names for unit in units}
    hashing = Hashing(tuple(table.column_names), ("k",), units=names, words=words)
    records = ProofRecords(RecordOrder(("k",)), 0)
    wanted = tuple(dict.fromkeys(name for unit in units for name in unit.columns))
    records.add(batch_of(HashedRows(table, hashing), RecordOrigin(0, 0), tuple(names), wanted))
    records.settle()
    return records


def column_of(values: Sequence[Any], kind: DataType) -> pa.Array:
    if kind.is_nested:
        return pa.array([list(v.items()) if isinstance(v, dict) else v for v in values], arrow_type(kind))
    return arrow_of_values(values, kind)


def keys_of(rows: Sequence[Record], groups: Groups) -> list[int]:
    """The keys in the order of the groups."""
    return [rows[record]["k"] for record in groups.oldest.tolist()]


def members(rows: Sequence[Record], key: int) -> list[Record]:
    return [row for row in rows if row["k"] == key]


def proved(expected: Expected) -> list[bool]:
    if expected.proved is None:
        return [True] * len(expected.hashes)
    return [bool(flag) for flag in expected.proved]


NESTED = type_of_json(
    {
        "type": "ARRAY",
        "element": {
            "type": "ROW",
            "fields": [
                {"id": 10, "name": "id", "type": "INT"},
                {"id": 11, "name": "a", "type": "STRING"},
                {"id": 12, "name": "s", "type": "INT"},
            ],
        },
    }
)
NUMBERS = type_of_json({"type": "ARRAY", "element": "INT"})
MAP = type_of_json({"type": "MAP", "key": "STRING NOT NULL", "value": "INT"})
ROW = st.fixed_dictionaries(
    {"id": st.sampled_from([1, 2, None]), "a": st.sampled_from(["x", "y", None]), "s": st.sampled_from([None, 1, 2])}
)
VALUES: dict[str, tuple[DataType, Any]] = {
    "TINYINT": (parse_type("TINYINT"), st.sampled_from([None, 0, 1, -1, 2, -2])),
    "BIGINT": (parse_type("BIGINT"), st.sampled_from([None, 0, 5, -7, 40])),
    "DECIMAL(9, 0)": (parse_type("DECIMAL(9, 0)"), st.sampled_from([None, Decimal(0), Decimal(3), Decimal(-2)])),
    "DECIMAL(18, 2)": (parse_type("DECIMAL(18, 2)"), st.sampled_from([None, Decimal("0.01"), Decimal("-5.25")])),
    "FLOAT": (parse_type("FLOAT"), st.sampled_from([None, 0.0, -0.0, 1.5, -2.25, math.inf, math.nan])),
    "DOUBLE": (parse_type("DOUBLE"), st.sampled_from([None, 0.0, -0.0, 0.1, 1e308, -math.inf, math.nan])),
    "STRING": (parse_type("STRING"), st.sampled_from([None, "", " ", "a", "b,a", "a,,b", "é"])),
    "BOOLEAN": (parse_type("BOOLEAN"), st.sampled_from([None, True, False])),
    "DATE": (parse_type("DATE"), st.sampled_from([None, 0, -5, 19_000])),
    "numbers": (NUMBERS, st.none() | st.lists(st.sampled_from([1, 2, None]), max_size=3)),
    "map": (MAP, st.none() | st.dictionaries(st.sampled_from("ab"), st.sampled_from([1, 2, None]), max_size=2)),
    "rows": (NESTED, st.none() | st.lists(ROW, max_size=3)),
}
KEYED = {"nested-key": "id"}
# Function, values, options.
CASES: list[tuple[str | None, str, dict[str, str]]] = [
    *((f, t, {}) for f in ("sum", "product") for t in ("TINYINT", "BIGINT", "DECIMAL(9, 0)", "FLOAT", "DOUBLE")),
    ("sum", "DECIMAL(18, 2)", {}),
    ("count", "BIGINT", {}),
    *((f, t, {}) for f in ("max", "min") for t in ("TINYINT", "DECIMAL(18, 2)", "DOUBLE", "STRING", "DATE")),
    (None, "TINYINT", {}),
    *((f, "STRING", {}) for f in ("last_value", "last_non_null_value", "first_value", "first_non_null_value")),
    ("first_not_null_value", "DOUBLE", {}),
    ("bool_and", "BOOLEAN", {}),
    ("bool_or", "BOOLEAN", {}),
    ("listagg", "STRING", {}),
    ("listagg", "STRING", {"distinct": "true"}),
    ("listagg", "STRING", {"list-agg-delimiter": "; "}),
    ("collect", "numbers", {}),
    ("collect", "numbers", {"distinct": "true"}),
    ("merge_map", "map", {}),
    ("nested_update", "rows", {}),
    ("nested_update", "rows", {"count-limit": "2"}),
    ("nested_update", "rows", KEYED),
    ("nested_update", "rows", {**KEYED, "nested-sequence-field": "s"}),
    ("nested_update", "rows", {"nested-key": "id,a", "nested-key-null-strategy": "ignore"}),
    ("nested_partial_update", "rows", KEYED),
]


@pytest.mark.parametrize(("function", "values", "options"), CASES, ids=str)
@settings(max_examples=examples(40))
@given(data=st.data())
def test_a_column_is_what_its_function_makes_of_the_records(
    function: str | None, values: str, options: dict[str, str], data: st.DataObject
) -> None:
    """And every key is proved: nothing here is near a limit."""
    kind, strategy = VALUES[values]
    given = data.draw(st.lists(st.fixed_dictionaries({"k": st.integers(1, 3), "v": strategy}), min_size=1, max_size=9))
    unit = unit_of_function(
        DataField(7, "v", kind), function, TableModel({f"fields.v.{name}": value for name, value in options.items()})
    )
    assert (unit.names, unit.text) == (("v",), "v")
    records = records_of(given, {"v": kind}, [unit])
    groups = grouped(records)
    assert unit.expect is not None
    actual = unit.expect(unit, records, groups)
    due = []
    for key in keys_of(given, groups):
        model = FUNCTIONS[function or "last_non_null_value"](kind.root, (kind.precision or 0, kind.scale or 0), options)
        own = members(given, key)
        value = None
        for row in own:
            value = model.add(value, row["v"])
        due.append(value)
    words = unit.words(column_of(due, kind))
    assert proved(actual) == [True] * len(due)
    assert actual.hashes.tolist() == words.tolist()


@pytest.mark.parametrize(
    ("function", "text", "values", "is_proved"),
    [
        ("sum", "BIGINT", [2**61 - 1, 2**60], True),
        ("sum", "BIGINT", [2**61, 2**61], False),
        ("sum", "BIGINT", [2**61, -(2**61)], False),
        ("sum", "DECIMAL(18, 0)", [Decimal(9 * 10**17), Decimal(9 * 10**16)], True),
        ("sum", "DECIMAL(18, 0)", [Decimal(9 * 10**17), Decimal(10**17)], False),
        ("sum", "DECIMAL(3, 0)", [Decimal(900), Decimal(90)], True),
        ("sum", "DECIMAL(3, 0)", [Decimal(900), Decimal(99)], False),
        ("product", "BIGINT", [2**30, 2**31], True),
        ("product", "BIGINT", [1] * 100, True),
        ("product", "BIGINT", [2**31, -(2**31)], False),
        ("product", "BIGINT", [2**31, 2**31, 0], False),
        ("product", "DECIMAL(3, 0)", [Decimal(10), Decimal(99)], True),
        ("product", "DECIMAL(3, 0)", [Decimal(27), Decimal(37)], False),
        ("sum", "DOUBLE", [0.1] * 64, True),
        ("sum", "DOUBLE", [0.1] * 65, False),
        ("product", "FLOAT", [1.25] * 64, True),
        ("product", "FLOAT", [1.25] * 65, False),
    ],
)
def test_numbers_near_a_limit_are_left_to_the_keys(
    function: str, text: str, values: Sequence[Any], is_proved: bool
) -> None:
    """What is proved is what the model says; nothing is, beyond what steps on the way may leave."""
    kind = parse_type(text)
    given: list[Record] = [{"k": 1, "v": value} for value in values]
    unit = unit_of_function(DataField(7, "v", kind), function, TableModel())
    records = records_of(given, {"v": kind}, [unit])
    assert unit.expect is not None
    actual = unit.expect(unit, records, grouped(records))
    assert proved(actual) == [is_proved]
    model, total = FUNCTIONS[function](kind.root, (kind.precision or 0, kind.scale or 0)), None
    for value in values if is_proved else ():
        total = model.add(total, value)
    assert not is_proved or actual.hashes.tolist() == column_words(column_of([total], kind)).tolist()


@pytest.mark.parametrize("function", ["sum", "product", "max", "first_non_null_value"])
@pytest.mark.parametrize("keys", [(1, 2), (2, 1), (1, 1)])
def test_keys_without_a_value(function: str, keys: tuple[int, int]) -> None:
    kind = parse_type("DOUBLE")
    given: list[Record] = [{"k": keys[0], "v": 2.5}, {"k": keys[1], "v": None}]
    unit = unit_of_function(DataField(7, "v", kind), function, TableModel())
    records = records_of(given, {"v": kind}, [unit])
    groups = grouped(records)
    assert unit.expect is not None
    actual = unit.expect(unit, records, groups)
    due = [2.5 if key == keys[0] else None for key in keys_of(given, groups)]
    assert actual.hashes.tolist() == column_words(column_of(due, kind)).tolist()
    assert proved(actual) == [True] * len(due)


@pytest.mark.parametrize(
    ("function", "text"),
    [
        ("sum", "DECIMAL(19, 0)"),
        ("product", "DECIMAL(19, 0)"),
        ("product", "DECIMAL(9, 2)"),
        ("theta_sketch", "BYTES"),
        ("hll_sketch", "BYTES"),
    ],
)
def test_what_is_not_known_is_proved_for_lone_records(function: str, text: str) -> None:
    kind = parse_type(text)
    unit = unit_of_function(DataField(7, "v", kind), function, TableModel())
    assert unit == Unit(("v",))
    value: Any = b"x" if text == "BYTES" else Decimal(3)
    given: list[Record] = [{"k": 1, "v": value}, {"k": 2, "v": value}, {"k": 2, "v": value}]
    records = records_of(given, {"v": kind}, [unit])
    groups = grouped(records)
    lone = groups.counts == 1
    assert proved(expect_unit(unit, records, groups, lone)) == [key == 1 for key in keys_of(given, groups)]


def test_a_lone_record_is_the_row_as_it_is() -> None:
    """Its array keeps what is there twice, which merging takes out."""
    unit = unit_of_function(DataField(7, "v", NUMBERS), "collect", TableModel({"fields.v.distinct": "true"}))
    given: list[Record] = [{"k": 1, "v": [1, 1]}, {"k": 2, "v": [1, 1]}, {"k": 2, "v": None}]
    records = records_of(given, {"v": NUMBERS}, [unit])
    groups = grouped(records)
    lone = groups.counts == 1
    actual = dict(zip(keys_of(given, groups), expect_unit(unit, records, groups, lone).hashes.tolist(), strict=True))
    as_is, once = unit.words(column_of([[1, 1], [1]], NUMBERS)).tolist()
    assert actual == {1: as_is, 2: once}
    merged = expect_unit(unit, records, groups, np.zeros(2, bool))
    assert merged.hashes.tolist() == [once, once]
    whole = expect_unit(unit, records, groups, np.ones(2, bool))
    assert whole.proved is None


# Sequence groups

COLUMNS = {name: parse_type("INT") for name in ("g", "h", "a", "b", "s", "m", "n", "p", "f", "o")}
PARTIAL = {
    "merge-engine": "partial-update",
    "fields.g,h.sequence-group": "a,b,s,m,n,p,f",
    "fields.s.aggregate-function": "sum",
    "fields.m.aggregate-function": "max",
    "fields.n.aggregate-function": "min",
    "fields.p.aggregate-function": "product",
    "fields.f.aggregate-function": "first_value",
}


def schema_of(columns: Mapping[str, DataType], options: Mapping[str, str]) -> TableSchema:
    fields = [DataField(0, "k", parse_type("INT NOT NULL"))]
    fields += [DataField(number, name, kind) for number, (name, kind) in enumerate(columns.items(), 1)]
    return TableSchema(0, tuple(fields), 99, (), ("k",), dict(options))


@settings(max_examples=examples(150))
@given(
    st.lists(
        st.fixed_dictionaries(
            {
                "k": st.integers(1, 3),
                **dict.fromkeys(("g", "h"), st.sampled_from([None, 1, 2])),
                **dict.fromkeys(("a", "b", "s", "m", "n", "p", "f", "o"), st.sampled_from([None, 3, 4, -5])),
            }
        ),
        min_size=1,
        max_size=10,
    )
)
def test_sequence_groups_are_what_a_partial_update_makes_of_them(given: list[dict[str, Any]]) -> None:
    units = units_of(schema_of(COLUMNS, PARTIAL), TableModel(PARTIAL))
    assert sorted(unit.text for unit in units) == ["f", "g,h,a,b", "k", "m", "n", "o", "p", "s"]
    records = records_of(given, COLUMNS, units)
    groups = grouped(records)
    keys = keys_of(given, groups)
    rows = []
    for key in keys:
        named = {"s": "sum", "m": "max", "n": "min", "p": "product", "f": "first_value"}
        functions = {column: FUNCTIONS[function]("INT") for column, function in named.items()}
        own = [{**row, "_VALUE_KIND": 0, "_SEQUENCE_NUMBER": n} for n, row in enumerate(members(given, key))]
        # A lone record is not merged: that is not what is asked for here.
        nothing = {**dict.fromkeys(own[0]), "k": key, "_VALUE_KIND": 0, "_SEQUENCE_NUMBER": -1}
        model = Engine(["k", *COLUMNS], functions)
        rows.append(partial_update([nothing, *own], model, [Group(["g", "h"], ["a", "b", *functions])]))
    for unit in units:
        actual = expect_unit(unit, records, groups, np.zeros(len(keys), bool))
        if unit.text == "f":
            assert unit.expect is None, "which record comes first depends on which ones come too late"
            continue
        kinds = {"k": parse_type("INT NOT NULL"), **COLUMNS}
        due = unit_hashes([column_words(column_of([row[n] for row in rows], kinds[n])) for n in unit.names])
        assert proved(actual) == [True] * len(keys)
        assert actual.hashes.tolist() == due.tolist(), unit.text


def test_units_of_an_aggregation() -> None:
    options = {
        "merge-engine": "aggregation",
        "sequence.field": "g",
        "fields.default-aggregate-function": "max",
        "fields.a.aggregate-function": "min",
        "fields.g.aggregate-function": "sum",
    }
    units = units_of(schema_of({name: COLUMNS[name] for name in ("g", "a", "b")}, options), TableModel(options))
    given = [{"k": 1, "g": 5, "a": 1, "b": 1}, {"k": 1, "g": 3, "a": 2, "b": 2}]
    records = records_of(given, {name: COLUMNS[name] for name in ("g", "a", "b")}, units)
    groups = grouped(records)
    actual = {unit.text: expect_unit(unit, records, groups, np.zeros(1, bool)).hashes.tolist() for unit in units}
    # The newest of the sequence's column, whatever its function.
    assert actual == {"k": [1], "g": [3], "a": [1], "b": [2]}


def test_the_hash_of_nulls() -> None:
    assert hash_of_nulls(1) == NULL
    assert hash_of_nulls(2) == unit_hashes([np.full(1, NULL), np.full(1, NULL)])[0] != hash_of_nulls(3)


# Engines that take records whole


@pytest.mark.parametrize(
    ("engine", "whole"),
    [("deduplicate", True), ("first-row", True), ("partial-update", False), ("aggregation", False)],
)
def test_engines_that_take_records_whole(engine: str, whole: bool) -> None:
    assert is_row_engine(TableModel({"merge-engine": engine})) == whole


@settings(max_examples=examples(100))
@given(
    st.lists(st.tuples(st.integers(1, 3), st.sampled_from([0, 2, 1, 3])), min_size=1, max_size=8),
    st.booleans(),
    st.sampled_from(["deduplicate", "first-row"]),
)
def test_the_record_that_is_picked(given: list[tuple[int, int]], ignores: bool, engine: str) -> None:
    rows = [{"k": key, "v": number, "_VALUE_KIND": kind} for number, (key, kind) in enumerate(given)]
    records = records_of(rows, {"v": COLUMNS["a"]}, [Unit(("v",))])
    groups = grouped(records)
    options = {"merge-engine": engine, "ignore-delete": str(ignores).lower()}
    picked = [rows[record] for record in picked_rows(TableModel(options), records, groups).tolist()]
    for key, row in zip(keys_of(rows, groups), picked, strict=True):
        own: list[Any] = members(rows, key)
        added = [each for each in own if each["_VALUE_KIND"] in (0, 2)]
        candidates = added if ignores and added else own
        assert row == candidates[0 if engine == "first-row" else -1]
