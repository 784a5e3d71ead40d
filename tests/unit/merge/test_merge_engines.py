"""Merge engines and aggregate functions against models that take one record after the other."""

import math
from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from maintenance.errors import DataError
from maintenance.format.metadata.schema import TableSchema
from maintenance.merge.engine import MergeEngine
from maintenance.merge.ordered import group_by_key
from maintenance.options.model import TableModel
from maintenance.types.arrow import arrow_type
from maintenance.types.data_type import DataField, DataType, parse_type, type_of_json
from maintenance.types.values import Value, arrow_of_values, values_of_arrow
from tests.examples import examples
from tests.models.aggregates import FUNCTIONS, Function, RangeError, RetractError
from tests.models.merge_engines import Engine, Group, RefusedError, aggregation, first_row, partial_update
from tests.models.merging import grouped
from tests.models.order import Record
from tests.strategies import bits

KINDS = [0, 0, 0, 2, 1, 3]
NESTED = {
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
TIMED = {
    "type": "MAP",
    "key": "STRING NOT NULL",
    "value": {
        "type": "ROW",
        "fields": [{"id": 10, "name": "v", "type": "INT"}, {"id": 11, "name": "ts", "type": "STRING"}],
    },
}

# Values that meet each other often, and come near the limits of their types.
FEW: Mapping[str, Sequence[Value]] = {
    "TINYINT": (0, 1, -1, 100, -128),
    "SMALLINT": (0, 3, -2, 32767),
    "INT": (0, 1, 2, -3, 2**31 - 1, -(2**31)),
    "BIGINT": (0, 5, -7, 2**62, 2**63 - 1, -(2**63)),
    "FLOAT": (0.0, -0.0, 1.5, 0.30000001192092896, 3.0000000054977558e38, math.nan, -math.inf),
    "DOUBLE": (0.0, -0.0, 0.1, 1e308, -2.5, math.nan, math.inf),
    "DECIMAL(5, 2)": (Decimal("0.00"), Decimal("999.99"), Decimal("-1.50"), Decimal("0.03")),
    "DECIMAL(18, 0)": (Decimal(10**18 - 1), Decimal(-(10**18) + 1), Decimal(3)),
    "DECIMAL(38, 6)": (Decimal((0, (9,) * 38, -6)), Decimal("-0.000001"), Decimal("12.5"), Decimal("2.0")),
    "BOOLEAN": (True, False),
    "STRING": ("", "a", " ", "b,a", "a,,b", "é", "z" * 20),
    "BYTES": (b"", b"\xff", b"ab"),
    "DATE": (0, -5, 19_000),
    "TIMESTAMP(6)": (0, 10**15, -(10**12)),
}


def few(text: str) -> st.SearchStrategy[Value]:
    return st.sampled_from([None, *FEW[text]])


def spec(function: str, text: str, **options: str) -> tuple[str, str, dict[str, str]]:
    return function, text, {name.replace("_", "-"): value for name, value in options.items()}


FLAT = [
    *(
        spec(f, t)
        for f in ("sum", "product")
        for t in ("TINYINT", "BIGINT", "FLOAT", "DECIMAL(5, 2)", "DECIMAL(38, 6)")
    ),
    spec("sum", "DECIMAL(18, 0)"),
    spec("count", "INT"),
    *(spec("max", t) for t in ("INT", "DOUBLE", "DECIMAL(38, 6)", "STRING", "BOOLEAN")),
    *(spec("min", t) for t in ("SMALLINT", "FLOAT", "BYTES", "DATE", "TIMESTAMP(6)")),
    spec("last_value", "INT"),
    spec("last_non_null_value", "STRING"),
    spec("first_value", "STRING"),
    spec("first_non_null_value", "INT"),
    spec("first_not_null_value", "STRING"),
    spec("bool_and", "BOOLEAN"),
    spec("bool_or", "BOOLEAN"),
    spec("listagg", "STRING"),
    spec("listagg", "STRING", distinct="true"),
    spec("listagg", "STRING", distinct="true", list_agg_delimiter="a"),
]


def fields_of(columns: Mapping[str, DataType]) -> tuple[DataField, ...]:
    return tuple(DataField(i, name, data_type) for i, (name, data_type) in enumerate(columns.items()))


def table_of(records: Sequence[Record], columns: Mapping[str, DataType]) -> pa.Table:
    arrays = {name: column_of([r[name] for r in records], data_type) for name, data_type in columns.items()}
    return pa.table(
        {
            "_SEQUENCE_NUMBER": pa.array([r["_SEQUENCE_NUMBER"] for r in records], pa.int64()),
            "_VALUE_KIND": pa.array([r["_VALUE_KIND"] for r in records], pa.int8()),
            **arrays,
        }
    ).combine_chunks()


def column_of(values: Sequence[Any], data_type: DataType) -> pa.Array:
    if data_type.is_nested:
        return pa.array([list(v.items()) if isinstance(v, dict) else v for v in values], arrow_type(data_type))
    return arrow_of_values(values, data_type)


def records_with(columns: Mapping[str, st.SearchStrategy[Any]], kinds: Sequence[int] = KINDS) -> st.SearchStrategy[Any]:
    """Records of three keys in any order, each sequence number once."""
    row = st.fixed_dictionaries({"k": st.integers(1, 3), "_VALUE_KIND": st.sampled_from(kinds), **columns})
    return st.lists(row, min_size=1, max_size=14).flatmap(
        lambda rows: st.permutations(range(len(rows))).map(
            lambda numbers: [{**r, "_SEQUENCE_NUMBER": n} for r, n in zip(rows, numbers, strict=True)]
        )
    )


def merged(columns: Mapping[str, DataType], options: Mapping[str, str], records: Sequence[Record]) -> list[Any]:
    """The rows by this engine, in key order: kind, number, then the columns."""
    schema = TableSchema(0, fields_of(columns), 99, (), ("k",), dict(options))
    engine = MergeEngine.of(schema, TableModel(options))
    table = table_of(records, columns)
    actual = engine.merge(table, group_by_key(table, engine.order))
    actual.validate()
    names = ["_VALUE_KIND", *columns]
    arrays = [_values(actual.column(name)) for name in names]
    return [[canonical(value) for value in row] for row in zip(*arrays, strict=True)]


def _values(column: pa.ChunkedArray) -> list[Any]:
    actual: list[Any] = column.to_pylist() if pa.types.is_nested(column.type) else values_of_arrow(column)
    return actual


def canonical(value: Any) -> Any:
    """Values to compare by; what has no order is sorted."""
    if isinstance(value, dict):
        return sorted(([canonical(k), canonical(v)] for k, v in value.items()), key=repr)
    if isinstance(value, (list, tuple)):
        parts = [canonical(part) for part in value]
        # The entries of a map, and rows, which have no order where they have a key.
        return sorted(parts, key=repr) if value and not isinstance(value[0], int) else parts
    if isinstance(value, float) and math.isnan(value):
        return "NaN"
    return (type(value).__name__, bits(value)) if isinstance(value, (bool, float)) else value


def expected(rows: Sequence[Mapping[str, Any]], columns: Mapping[str, DataType]) -> list[Any]:
    return [[canonical(row[name]) for name in ("_VALUE_KIND", *columns)] for row in rows]


def same(columns: Mapping[str, DataType], options: Mapping[str, str], records: Sequence[Record], model: Any) -> None:
    """The engine and the model give the same rows, or both refuse."""
    descending = options.get("sequence.field.sort-order") == "descending"
    sequence = [name for name in options.get("sequence.field", "").split(",") if name]
    groups = grouped(records, ("k",), sequence, descending=descending)
    try:
        rows = [model(members) for members in groups]
    except (RetractError, RangeError, RefusedError):
        with pytest.raises(DataError):
            merged(columns, options, records)
        return
    assert merged(columns, options, records) == expected(rows, columns)
    # Windows hold some of the keys at a time: what a key becomes does not depend on the others.
    windows = [[record for record in records if record["k"] == key] for key in (1, 2, 3)]
    assert [row for w in windows if w for row in merged(columns, options, w)] == expected(rows, columns)


def model_function(name: str, data_type: DataType, options: Mapping[str, str]) -> Function:
    return FUNCTIONS[name](data_type.root, (data_type.precision or 0, data_type.scale or 0), options)


@pytest.mark.parametrize(("function", "text", "further"), FLAT, ids=str)
@settings(max_examples=examples(20))
@given(data=st.data())
def test_aggregation_makes_what_the_model_makes(
    function: str, text: str, further: dict[str, str], data: st.DataObject
) -> None:
    data_type = parse_type(text)
    columns = {"k": parse_type("INT NOT NULL"), "v": data_type}
    ignore, remove = data.draw(st.sampled_from([(False, False), (True, False), (False, True)]))
    kinds = data.draw(st.sampled_from([[0, 2], KINDS]))
    options = {
        "merge-engine": "aggregation",
        "fields.v.aggregate-function": function,
        "fields.v.ignore-retract": str(ignore).lower(),
        "aggregation.remove-record-on-delete": str(remove).lower(),
        **{f"fields.v.{name}": value for name, value in further.items()},
    }
    records = data.draw(records_with({"v": few(text)}, kinds))

    def model(members: Sequence[Record]) -> dict[str, Any]:
        functions = {"k": FUNCTIONS["last_value"]("INT"), "v": model_function(function, data_type, further)}
        functions["k"].retract = functions["k"].add  # type: ignore[method-assign]
        return aggregation(members, Engine(list(columns), functions, ["v"] if ignore else [], remove_on_delete=remove))

    same(columns, options, records, model)


@pytest.mark.parametrize(("function", "text", "further"), FLAT, ids=str)
@settings(max_examples=examples(20))
@given(data=st.data())
def test_aggregation_in_a_sequence_group(
    function: str, text: str, further: dict[str, str], data: st.DataObject
) -> None:
    data_type = parse_type(text)
    columns = {"k": parse_type("INT NOT NULL"), "v": data_type, "g": parse_type("INT"), "w": parse_type("INT")}
    ignore = data.draw(st.booleans())
    removes = data.draw(st.booleans())
    kinds = data.draw(st.sampled_from([[0, 2], KINDS]))
    options = {
        "merge-engine": "partial-update",
        "fields.g.sequence-group": "v,w",
        "fields.v.aggregate-function": function,
        "fields.v.ignore-retract": str(ignore).lower(),
        **{f"fields.v.{name}": value for name, value in further.items()},
    }
    if removes:
        options["partial-update.remove-record-on-sequence-group"] = "g"
    sequence = st.sampled_from([None, 1, 2, 3])
    records = data.draw(records_with({"v": few(text), "g": sequence, "w": few("INT")}, kinds))

    def model(members: Sequence[Record]) -> dict[str, Any]:
        engine = Engine(list(columns), {"v": model_function(function, data_type, further)}, ["v"] if ignore else [])
        return partial_update(members, engine, [Group(["g"], ["v", "w"], removes)])

    same(columns, options, records, model)


# Type of the column v, whose function is `product`, and the records of a key that a -D removes in the end: kind, v.
REMOVED_TOO_LATE: Mapping[str, tuple[str, Sequence[tuple[str, Value]]]] = {
    "zero opens the row": ("TINYINT", [("-U", 0), ("-D", None)]),
    "zero by zero": ("INT", [("+I", 0), ("-U", 0), ("-D", None)]),
    "by a decimal zero": ("DECIMAL(5, 2)", [("+I", Decimal("1.00")), ("-U", Decimal("0.00")), ("-D", None)]),
    "not exact": ("DECIMAL(5, 2)", [("+I", Decimal("1.00")), ("-U", Decimal("3.00")), ("-D", None)]),
    "removed before, too": ("INT", [("+I", 1), ("-D", 5), ("+I", 2), ("-U", 0), ("-D", None), ("+I", 7)]),
}
PRODUCT = {"fields.v.aggregate-function": "product"}
REMOVING: Mapping[str, Mapping[str, str]] = {
    "aggregation": {"merge-engine": "aggregation", "aggregation.remove-record-on-delete": "true", **PRODUCT},
    "partial-update": {
        "merge-engine": "partial-update",
        "fields.g.sequence-group": "v",
        "partial-update.remove-record-on-sequence-group": "g",
        **PRODUCT,
    },
}


@pytest.mark.parametrize("engine", REMOVING)
@pytest.mark.parametrize("case", REMOVED_TOO_LATE)
def test_a_division_fails_though_its_row_is_removed_later(case: str, engine: str) -> None:
    """As in Java, see `tests/java/test_merge_engines.py`. Other keys are as they are without it."""
    text, changes = REMOVED_TOO_LATE[case]
    if engine == "aggregation" and case == "zero opens the row":
        changes = [("+I", 0), *changes]
    columns = {"k": parse_type("INT NOT NULL"), "v": parse_type(text), "g": parse_type("INT")}
    kinds = ["+I", "-U", "+U", "-D"]
    records = [
        {"k": 1, "v": v, "g": 1, "_VALUE_KIND": kinds.index(kind), "_SEQUENCE_NUMBER": number}
        for number, (kind, v) in enumerate(changes)
    ]
    others = [{**record, "k": key, "_VALUE_KIND": 0} for record in records[:1] for key in (0, 2)]
    with pytest.raises(DataError, match="product"):
        merged(columns, REMOVING[engine], [*records, *others])
    kept = [record for record in records if record["_VALUE_KIND"] != kinds.index("-U")]
    values = [row[2] for row in merged(columns, REMOVING[engine], [*kept, *others])]
    assert values[0] == values[2] == changes[0][1]


COLUMNS = {name: parse_type("INT") for name in ("a", "b", "c", "d", "g1", "g2", "g3")}


@settings(max_examples=examples(100))
@given(data=st.data())
def test_partial_update_with_sequence_groups(data: st.DataObject) -> None:
    columns = {"k": parse_type("INT NOT NULL"), **COLUMNS}
    groups = [Group(["g1"], ["a"]), Group(["g3", "g2"], ["c", "b"])]
    removing = data.draw(st.sampled_from([(), ("g1",), ("g2",), ("g1", "g3"), ("g3", "g2")]))
    ignore = not removing and data.draw(st.booleans())
    for group in groups:
        group.removes = bool(set(removing) & set(group.order_by))
    options = {
        "merge-engine": "partial-update",
        "fields.g1.sequence-group": "a",
        "fields.g3,g2.sequence-group": "c,b",
        "fields.default-aggregate-function": data.draw(st.sampled_from(["", "last_non_null_value"])),
        "ignore-delete": str(ignore).lower(),
    }
    if removing:
        options["partial-update.remove-record-on-sequence-group"] = ",".join(removing)
    if not options["fields.default-aggregate-function"]:
        del options["fields.default-aggregate-function"]
    small = st.sampled_from([None, 0, 1, 2])
    records = data.draw(records_with(dict.fromkeys(COLUMNS, small)))

    def model(members: Sequence[Record]) -> dict[str, Any]:
        functions = {}
        if "fields.default-aggregate-function" in options:
            functions = {name: FUNCTIONS["last_non_null_value"]("INT") for name in ("a", "b", "c")}
        return partial_update(members, Engine(list(columns), functions, ignore_delete=ignore), groups)

    same(columns, options, records, model)


@settings(max_examples=examples(60))
@given(
    records_with({"a": few("INT"), "b": few("STRING")}), st.sampled_from(["refuse", "ignore", "remove"]), st.booleans()
)
def test_partial_update_makes_what_the_model_makes(records: list[Record], deletes: str, sequenced: bool) -> None:
    columns = {"k": parse_type("INT NOT NULL"), "a": parse_type("INT"), "b": parse_type("STRING")}
    options = {
        "merge-engine": "partial-update",
        "ignore-delete": str(deletes == "ignore").lower(),
        "partial-update.remove-record-on-delete": str(deletes == "remove").lower(),
    }
    if sequenced:
        options["sequence.field"] = "a"
    engine = Engine(list(columns), ignore_delete=deletes == "ignore", remove_on_delete=deletes == "remove")
    same(columns, options, records, lambda members: partial_update(members, engine))


@settings(max_examples=examples(40))
@given(records_with({"a": few("INT")}), st.booleans())
def test_first_row_makes_what_the_model_makes(records: list[Record], ignore_delete: bool) -> None:
    columns = {"k": parse_type("INT NOT NULL"), "a": parse_type("INT")}
    options = {"merge-engine": "first-row", "ignore-delete": str(ignore_delete).lower()}

    def model(members: Sequence[Record]) -> Record:
        actual = first_row(members, ignore_delete=ignore_delete)
        # A key of retractions alone has no row: the record that stands for it is one.
        return members[0] if actual is None else actual

    same(columns, options, records, model)


def rows() -> st.SearchStrategy[Any]:
    part = st.fixed_dictionaries(
        {
            "id": st.sampled_from([1, 2, None]),
            "a": st.sampled_from(["x", "y", None]),
            "s": st.sampled_from([None, 1, 2]),
        }
    )
    return st.none() | st.lists(st.none() | part, max_size=3)


def timed() -> st.SearchStrategy[Any]:
    row = st.fixed_dictionaries({"v": st.integers(0, 9), "ts": st.sampled_from([None, "1", "10", "9"])})
    return st.none() | st.dictionaries(st.sampled_from("ab"), st.none() | row, max_size=2)


# Kept in order, unlike what stands in maps and rows.
NUMBERS = st.none() | st.lists(st.sampled_from([1, 2, None]), max_size=3)
MAPS = st.none() | st.dictionaries(st.sampled_from(["a", "b"]), st.sampled_from([1, 2, None]), max_size=2)
COLLECTED = {"type": "ARRAY", "element": "INT"}
MAPPED = {"type": "MAP", "key": "STRING NOT NULL", "value": "INT"}
OF_NESTED = [
    (spec("collect", ""), COLLECTED, NUMBERS),
    (spec("collect", "", distinct="true"), COLLECTED, NUMBERS),
    (spec("merge_map", ""), MAPPED, MAPS),
    (spec("merge_map_with_keytime", ""), TIMED, timed()),
    (spec("nested_update", ""), NESTED, rows()),
    (spec("nested_update", "", count_limit="2"), NESTED, rows()),
    (spec("nested_update", "", nested_key="id"), NESTED, rows()),
    (spec("nested_update", "", nested_key="id,a", count_limit="1"), NESTED, rows()),
    (spec("nested_update", "", nested_key="id", nested_key_null_strategy="ignore"), NESTED, rows()),
    (spec("nested_update", "", nested_key="id", nested_sequence_field="s"), NESTED, rows()),
    (spec("nested_partial_update", "", nested_key="id"), NESTED, rows()),
]


@pytest.mark.parametrize(("function", "form", "values"), OF_NESTED, ids=lambda part: str(part)[:60])
@settings(max_examples=examples(20))
@given(data=st.data())
def test_functions_of_nested_types(
    function: tuple[str, str, dict[str, str]], form: Any, values: st.SearchStrategy[Any], data: st.DataObject
) -> None:
    name, _, further = function
    data_type = type_of_json(form)
    in_group = data.draw(st.booleans())
    kinds = data.draw(st.sampled_from([[0, 2], KINDS]))
    columns = {"k": parse_type("INT NOT NULL"), "v": data_type, "g": parse_type("INT")}
    options = {
        "merge-engine": "partial-update" if in_group else "aggregation",
        "fields.v.aggregate-function": name,
        **{f"fields.v.{key}": value for key, value in further.items()},
    }
    if in_group:
        options["fields.g.sequence-group"] = "v"
    records = data.draw(records_with({"v": values, "g": st.sampled_from([None, 1, 2])}, kinds))

    def model(members: Sequence[Record]) -> dict[str, Any]:
        functions = {column: FUNCTIONS["last_non_null_value"]("INT") for column in ("k", "g")}
        functions["k"].retract = functions["k"].add  # type: ignore[method-assign]
        functions["v"] = model_function(name, data_type, further)
        if in_group:
            return partial_update(members, Engine(list(columns), {"v": functions["v"]}), [Group(["g"], ["v"])])
        return aggregation(members, Engine(list(columns), functions))

    same(columns, options, records, model)
