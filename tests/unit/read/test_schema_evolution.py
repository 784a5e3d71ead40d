"""Random histories of a table whose columns change, against plain Python: reads, filters, compaction.

Each row of the model knows the types it was written with; reading casts each value once, from that type to today's.
"""

import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import Path
from typing import Any, get_args

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from maintenance.catalog import (
    FIRST,
    AddColumn,
    CatalogTable,
    DropColumn,
    RemoveOption,
    RenameColumn,
    SchemaChange,
    SetOption,
    UpdateColumnPosition,
    UpdateColumnType,
    after,
)
from maintenance.errors import ConflictError, DataError
from maintenance.operations.compaction.compact import compact
from maintenance.operations.indexes.rewrite_file_index import rewrite_file_index
from maintenance.predicate.tree import And, Compare, In, IsNull, Not, Operator, Or, Predicate
from maintenance.table.rows import read_splits
from maintenance.types.arrow import arrow_schema
from maintenance.types.casts.matrix import may_change
from maintenance.types.data_type import DataField, DataType, parse_type
from maintenance.types.values import arrow_of_values, values_of_arrow
from tests.examples import examples
from tests.models.casts import cast_value
from tests.models.predicates import truth
from tests.strategies import bits, present_values
from tests.tables import create_table, get_table, open_warehouse, splits_of

_TYPES = tuple(
    map(
        parse_type,
        ("TINYINT", "INT", "BIGINT", "DOUBLE", "STRING", "VARCHAR(3)", "DECIMAL(6, 1)", "BOOLEAN", "BYTES", "DATE"),
    )
)
_INDEX = "file-index.bloom-filter.columns"
_INDEXED = ("TINYINT", "INT", "BIGINT", "DOUBLE", "VARCHAR", "VARBINARY", "DATE")
_LAYOUTS: tuple[tuple[tuple[str, ...], Mapping[str, str]], ...] = (
    ((), {"bucket": "-1", "file.format": "parquet", _INDEX: "a", "file-index.in-manifest-threshold": "1 mb"}),
    ((), {"bucket": "-1", "file.format": "orc"}),
    ((), {"bucket": "-1", "file.format": "avro", "metadata.stats-mode": "full"}),
    ((), {"bucket": "-1", "file.format": "row"}),
    (("id",), {"bucket": "1", "file.format": "row", _INDEX: "a"}),
    (("id",), {"bucket": "1", "metadata.stats-mode": "full"}),
    (("id",), {"bucket": "2", _INDEX: "a", "metadata.stats-dense-store": "false"}),
    (("id",), {"bucket": "1", "file.format": "orc", "metadata.stats-mode": "counts"}),
)  # fmt: skip


def values(data_type: DataType) -> st.SearchStrategy[Any]:
    """Few values, so that filters meet them."""
    if data_type.is_integer:
        return st.integers(-2, 2) | st.sampled_from((100, -128)) | present_values(data_type)
    if data_type.is_string:
        return st.text("ab1", max_size=3)
    if data_type.is_bytes:
        return st.text("ab1", max_size=3).map(str.encode)
    if data_type.root == "DATE":
        return st.integers(-3, 20_000)
    if data_type.root == "DOUBLE":
        return st.sampled_from((0.0, -0.0, 1.0, 1.5, -2.75, 1e7, 1e-4, 300.0, 123456.789))
    return present_values(data_type)


@dataclass
class Model:
    """Columns by id and rows with the types that they were written with.

    `index`: the column with a file index; `former`: all types that a column has had, by id: files keep them.
    """

    key: str | None
    index: str | None
    columns: dict[int, DataField] = field(default_factory=dict)
    order: list[int] = field(default_factory=list)
    rows: list[dict[int, tuple[DataType, Any]]] = field(default_factory=list)
    former: dict[int, list[DataType]] = field(default_factory=dict)

    @property
    def fields(self) -> list[DataField]:
        return [self.columns[number] for number in self.order]

    def write(self, batch: Sequence[Mapping[str, Any]]) -> None:
        for row in batch:
            known = {number: (part.type, row[part.name]) for number, part in self.columns.items()}
            if self.key is not None:
                self.rows = [old for old in self.rows if old[0][1] != known[0][1]]
            self.rows.append(known)

    def read(self) -> list[dict[str, Any]]:
        return [
            {part.name: cast_value(row[number][1], row[number][0], part.type) if number in row else None
             for number, part in ((n, self.columns[n]) for n in self.order)}
            for row in self.rows
        ]  # fmt: skip


def _change(data: st.DataObject, model: Model, number: int) -> list[SchemaChange]:
    """A random change, made in the model too."""
    draw = data.draw
    free = [name for name in "abcdefg" if name not in {part.name for part in model.fields}]
    position = draw(st.sampled_from((None, FIRST, after(model.fields[0].name))))
    column = draw(st.sampled_from(model.order))
    part = model.columns[column]
    match draw(st.sampled_from(("add", "rename", "drop", "type", "type", "move"))):
        case "rename" if free:
            model.columns[column] = DataField(column, draw(st.sampled_from(free)), part.type)
            return [RenameColumn(part.name, model.columns[column].name), *_index_follows(model, part.name, column)]
        case "drop" if column != 0 and len(model.order) > 2:
            model.order.remove(column)
            del model.columns[column]
            return [DropColumn(part.name), *_index_follows(model, part.name, None)]
        case "type" if column != 0:
            types = model.former.setdefault(column, [])
            types.append(part.type)
            wanted = [
                t for t in _TYPES if all(may_change(old, t, explicit=True) and _is_modelled(old, t) for old in types)
            ]
            model.columns[column] = DataField(column, part.name, draw(st.sampled_from(wanted or [part.type])))
            if model.columns[column].type == part.type:
                return []
            return [UpdateColumnType(part.name, model.columns[column].type), *_index_follows(model, part.name, column)]
        case "move" if len(model.order) > 1 and model.order[0] != column:
            model.order.remove(column)
            model.order.insert(0, column)
            return [UpdateColumnPosition(part.name, FIRST)]
    if not free:
        return []
    added = DataField(number, draw(st.sampled_from(free)), draw(st.sampled_from(_TYPES)))
    model.columns[number] = added
    at = len(model.order) if position is None else 0 if position is FIRST else 1
    model.order.insert(at, number)
    return [AddColumn(added.name, added.type, position=position)]


def _is_modelled(source: DataType, target: DataType) -> bool:
    return not source.is_string or target.is_string or target.is_bytes


def _index_follows(model: Model, name: str, column: int | None) -> list[SchemaChange]:
    """Options name columns, so that they change with them."""
    if model.index != name:
        return []
    now = None if column is None else model.columns[column]
    model.index = now.name if now is not None and now.type.root in _INDEXED else None
    return [RemoveOption(_INDEX) if model.index is None else SetOption(_INDEX, model.index)]


def _rows(data: st.DataObject, model: Model) -> list[dict[str, Any]]:
    count = data.draw(st.integers(1, 5))
    return [
        {part.name: data.draw(st.integers(0, 9) if number == 0 else st.none() | values(part.type))
         for number, part in model.columns.items()}
        for _ in range(count)
    ]  # fmt: skip


def _leaf(data: st.DataObject, model: Model, rows: Sequence[Mapping[str, Any]]) -> Predicate:
    part = data.draw(st.sampled_from(model.fields))
    present = [row[part.name] for row in rows if row[part.name] is not None]
    literal = st.sampled_from(present) if present else values(part.type)
    match data.draw(st.sampled_from(("compare", "in", "null", "not"))):
        case "null":
            return IsNull(part.name)
        case "in":
            return In(part.name, tuple(data.draw(st.lists(literal | values(part.type), min_size=1, max_size=3))))
        case "not":
            inner: tuple[Predicate, Predicate] = (IsNull(part.name), In(part.name, (data.draw(literal),)))
            return Not(data.draw(st.sampled_from(inner)))
    op = data.draw(st.sampled_from(get_args(Operator)))
    return Compare(op, part.name, data.draw(literal | values(part.type)))


def _arrow(batch: Sequence[Mapping[str, Any]], model: Model) -> pa.Table:
    arrays = [arrow_of_values([row[part.name] for row in batch], part.type) for part in model.fields]
    return pa.Table.from_arrays(arrays, names=[part.name for part in model.fields])


def _found(table: CatalogTable, predicate: Predicate | None) -> list[str]:
    plan, read = table.plan(predicate=predicate)
    names = [part.name for part in table.schema.fields]
    rows = [
        row
        for part in read_splits(plan.splits, read)
        for row in zip(*(values_of_arrow(part.column(name)) for name in names), strict=True)
    ]
    return sorted(repr([bits(value) for value in row]) for row in rows)


def _expected(model: Model, predicate: Predicate | None) -> list[str]:
    rows = [row for row in model.read() if predicate is None or truth(predicate, row) is True]
    return sorted(repr([bits(row[part.name]) for part in model.fields]) for row in rows)


@given(st.data())
@settings(max_examples=examples(25))
def test_any_history_of_columns_reads_as_the_model(data: st.DataObject) -> None:
    keys, options = data.draw(st.sampled_from(_LAYOUTS))
    with tempfile.TemporaryDirectory() as folder:
        warehouse = Path(folder)
        first = DataField(0, "id", parse_type("INT").as_nullable(not keys)), DataField(1, "a", parse_type("INT"))
        create_table(warehouse, [(part.name, str(part.type)) for part in first], keys, options)
        model = Model("id" if keys else None, options.get(_INDEX), {part.id: part for part in first}, [0, 1])
        number = 2
        for _ in range(data.draw(st.integers(1, 3))):
            batch = _rows(data, model)
            get_table(warehouse).write_arrow(_arrow(batch, model))
            model.write(batch)
            for _ in range(data.draw(st.integers(0, 3))):
                changes = _change(data, model, number)
                if changes:
                    open_warehouse(warehouse).alter_table("db.t", changes)
                number = get_table(warehouse).schema.highest_field_id + 1
        table = get_table(warehouse)
        assert table.schema.field_names == tuple(part.name for part in model.fields)
        rows = model.read()
        leaves = [_leaf(data, model, rows) for _ in range(4)]
        filters = [None, *leaves, And((leaves[0], leaves[1])), Or((leaves[2], leaves[3]))]
        for step in ("as written", "compacted"):
            for predicate in filters:
                assert _found(table, predicate) == _expected(model, predicate), (step, predicate)
            compact(None, table, full=True)
            table = get_table(warehouse)


def test_an_index_and_statistics_belong_to_ids_not_names(tmp_path: Path) -> None:
    """Two columns change names: what a file knows of one must not rule out rows by the other's values."""
    options = {_INDEX: "a,b", "file-index.in-manifest-threshold": "1 mb"}
    table = create_table(tmp_path, (("id", "INT"), ("a", "INT"), ("b", "INT")), (), options)
    table.write_arrow(pa.table({"id": [1, 2], "a": [10, 10], "b": [20, 21]}, _ints("id", "a", "b")))
    swap = [RenameColumn("a", "c"), RenameColumn("b", "a"), RenameColumn("c", "b")]
    open_warehouse(tmp_path).alter_table("db.t", swap)
    swapped = get_table(tmp_path)
    assert swapped.to_arrow(["id"], "a = 20")["id"].to_pylist() == [1]
    assert swapped.to_arrow(["id"], "b = 10")["id"].to_pylist() == [1, 2]
    plan, _ = swapped.plan(predicate=swapped.predicate("a = 30"))
    assert plan.splits == ()


def test_a_name_given_again_is_another_column(tmp_path: Path) -> None:
    options = {_INDEX: "a", "file-index.in-manifest-threshold": "1 mb"}
    table = create_table(tmp_path, (("id", "INT"), ("a", "INT")), (), options)
    table.write_arrow(pa.table({"id": [1], "a": [10]}, _ints("id", "a")))
    again: list[SchemaChange] = [RemoveOption(_INDEX), DropColumn("a"), AddColumn("a", "INT"), SetOption(_INDEX, "a")]
    open_warehouse(tmp_path).alter_table("db.t", again)
    table = get_table(tmp_path)
    table.write_arrow(pa.table({"id": [2], "a": [11]}, _ints("id", "a")))
    assert table.to_arrow().to_pylist() == [{"id": 1, "a": None}, {"id": 2, "a": 11}]
    assert table.to_arrow(["id"], "a is null")["id"].to_pylist() == [1]
    assert table.to_arrow(["id"], "a = 10").num_rows == 0
    plan, _ = table.plan(predicate=table.predicate("a = 11"))
    assert [len(split.files) for split in splits_of(plan)] == [1]


def test_old_rows_keep_null_where_a_default_came_later(tmp_path: Path) -> None:
    create_table(tmp_path, (("id", "INT"),), ()).write_arrow(pa.table({"id": [1]}, _ints("id")))
    open_warehouse(tmp_path).alter_table("db.t", [AddColumn("d", "DATE", default_value="'2024-2-9'")])
    table = get_table(tmp_path)
    table.write_arrow(pa.table({"id": [2]}, _ints("id")))
    assert [str(value) for value in table.to_arrow()["d"].to_pylist()] == ["None", "2024-02-09"]


def test_what_cannot_be_cast_names_file_column_and_value(tmp_path: Path) -> None:
    table = create_table(tmp_path, (("id", "INT"), ("t", "STRING")), ())
    table.write_arrow(pa.table({"id": pa.array([1, 2], pa.int32()), "t": ["7", "seven"]}))
    open_warehouse(tmp_path).alter_table("db.t", [UpdateColumnType("t", "INT")])
    with pytest.raises(DataError, match=r"'seven' is not a value of type INT .*data-.*column 't', which was STRING"):
        get_table(tmp_path).to_arrow()
    open_warehouse(tmp_path).alter_table("db.t", [UpdateColumnType("t", "STRING")])
    assert get_table(tmp_path).to_arrow()["t"].to_pylist() == ["7", "seven"]


def test_old_rows_are_read_under_todays_nested_columns(tmp_path: Path) -> None:
    columns = (
        ("id", "INT"),
        ("r", "ROW<x INT, y STRING>"),
        ("l", "ARRAY<ROW<u INT, v INT>>"),
        ("m", "MAP<STRING, INT>"),
    )
    table = create_table(tmp_path, columns, ("id",))
    first = {"id": 1, "r": {"x": 5, "y": "q"}, "l": [{"u": 1, "v": 2}, None], "m": [("a", 7), ("b", None)]}
    schema = arrow_schema(table.schema.fields)
    table.write_arrow(pa.Table.from_pylist([first, {"id": 2, "r": None, "l": None, "m": []}], schema))
    changes = (
        AddColumn(("r", "n"), "DATE", position=FIRST),
        RenameColumn(("r", "y"), "why"),
        UpdateColumnType(("r", "x"), "STRING"),
        DropColumn(("l", "element", "u")),
        UpdateColumnType(("m", "value"), "DECIMAL(4, 1)"),
    )
    open_warehouse(tmp_path).alter_table("db.t", changes)
    evolved = {
        "id": 1,
        "r": {"n": None, "x": "5", "why": "q"},
        "l": [{"v": 2}, None],
        "m": [("a", Decimal(7)), ("b", None)],
    }
    expected = [evolved, {"id": 2, "r": None, "l": None, "m": []}]
    table = get_table(tmp_path)
    assert sorted(table.to_arrow().to_pylist(), key=lambda row: row["id"]) == expected
    table.write_arrow(pa.Table.from_pylist([{**evolved, "id": 3}], arrow_schema(table.schema.fields)))
    compact(None, get_table(tmp_path), full=True)
    rows = sorted(get_table(tmp_path).to_arrow().to_pylist(), key=lambda row: row["id"])
    assert rows == [*expected, {**evolved, "id": 3}]


def _ints(*names: str) -> pa.Schema:
    return pa.schema([(name, pa.int32()) for name in names])


def test_a_compaction_that_does_not_know_the_new_columns_stops(tmp_path: Path) -> None:
    """It would bring files back to the old columns."""
    stale = create_table(tmp_path, (("id", "INT"), ("v", "INT")), ("id",))
    stale.write_arrow(pa.table({"id": [1], "v": [1]}, _ints("id", "v")))
    open_warehouse(tmp_path).alter_table("db.t", [UpdateColumnType("v", "BIGINT")])
    wide = pa.table({"id": pa.array([2], pa.int32()), "v": pa.array([2**40], pa.int64())})
    get_table(tmp_path).write_arrow(wide)
    with pytest.raises(ConflictError, match=r"schema 1.*opened with schema 0"):
        compact(None, stale, full=True)
    compact(None, get_table(tmp_path), full=True)
    assert sorted(get_table(tmp_path).to_arrow()["v"].to_pylist()) == [1, 2**40]


def test_changelogs_have_the_columns_of_the_compaction(tmp_path: Path) -> None:
    """Rows before a change of the columns are told under the names and types after it."""
    options = {"changelog-producer": "full-compaction", "changelog-producer.row-deduplicate": "true"}
    table = create_table(tmp_path, (("id", "INT"), ("v", "INT"), ("gone", "INT")), ("id",), options)
    table.write_arrow(pa.table({"id": [1, 2], "v": [1, 2], "gone": [0, 0]}, _ints("id", "v", "gone")))
    compact(None, get_table(tmp_path), full=True)
    changes: list[SchemaChange] = [
        RenameColumn("v", "w"), UpdateColumnType("w", "STRING"), DropColumn("gone"), AddColumn("n", "INT"),
    ]  # fmt: skip
    open_warehouse(tmp_path).alter_table("db.t", changes)
    table = get_table(tmp_path)
    news = {"id": pa.array([1, 2], pa.int32()), "w": ["one", "2"], "n": pa.array([None, None], pa.int32())}
    table.write_arrow(pa.table(news))
    compact(None, get_table(tmp_path), full=True)
    table = get_table(tmp_path)
    expected = [{"id": 1, "w": "one", "n": None}, {"id": 2, "w": "2", "n": None}]
    assert sorted(table.to_arrow().to_pylist(), key=str) == expected
    log = table.to_arrow(options={"incremental-between": "2,4", "incremental-between-scan-mode": "changelog"})
    assert log.to_pylist() == [{"id": 1, "w": "1", "n": None}, {"id": 1, "w": "one", "n": None}]


def test_files_show_statistics_under_the_columns_of_today(tmp_path: Path) -> None:
    """As Java 1.4 shows the same table."""
    columns = (("id", "INT"), ("a", "INT"), ("b", "STRING"), ("c", "INT"), ("t", "STRING"))
    table = create_table(tmp_path, columns, (), {"metadata.stats-mode": "full"})
    rows = pa.table({"id": [1, 2], "a": [5, 6], "c": [300, -1]}, _ints("id", "a", "c"))
    table.write_arrow(rows.append_column("b", [["x", None]]).append_column("t", [["7", "no number"]]))
    changes: list[SchemaChange] = [
        RenameColumn("a", "z"), DropColumn("b"), UpdateColumnType("c", "STRING"), AddColumn("n", "INT"),
        UpdateColumnType("t", "INT"),
    ]  # fmt: skip
    open_warehouse(tmp_path).alter_table("db.t", changes)
    shown = open_warehouse(tmp_path).get_table("db.t$files").to_arrow()
    assert shown["null_value_counts"].to_pylist() == ["{c=0, id=0, n=2, t=0, z=0}"]
    assert shown["min_value_stats"].to_pylist() == ["{c=-1, id=1, n=null, t=7, z=5}"]
    assert shown["max_value_stats"].to_pylist() == ["{c=300, id=2, n=null, t=null, z=6}"]


def test_buckets_of_a_key_that_had_another_type(tmp_path: Path) -> None:
    """Values hash otherwise as another type: old rows are where the old type put them, also after a compaction."""
    options = {"bucket": "7", "bucket-key": "id"}
    table = create_table(tmp_path, (("id", "INT"), ("v", "INT")), (), options)
    for _ in range(3):
        table.write_arrow(pa.table({"id": list(range(20)), "v": list(range(20))}, _ints("id", "v")))
    open_warehouse(tmp_path).alter_table("db.t", [UpdateColumnType("id", "STRING")])
    for _ in range(2):
        table = get_table(tmp_path)
        assert [table.to_arrow(where=f"id = '{i}'").num_rows for i in range(20)] == [3] * 20
        compact(None, table, full=True)
    unchanged = create_table(tmp_path, (("id", "INT"),), (), options, name="db.other")
    unchanged.write_arrow(pa.table({"id": list(range(20))}, _ints("id")))
    open_warehouse(tmp_path).alter_table("db.other", [AddColumn("v", "INT")])
    plan, _ = (other := get_table(tmp_path, "db.other")).plan(predicate=other.predicate("id = 3"))
    assert len(plan.splits) == 1


def test_an_index_added_later_is_of_the_column_of_that_id(tmp_path: Path) -> None:
    table = create_table(tmp_path, (("id", "INT"), ("a", "INT"), ("b", "INT")), ())
    table.write_arrow(pa.table({"id": [1, 2], "a": [10, 12], "b": [20, 22]}, _ints("id", "a", "b")))
    swap: list[SchemaChange] = [
        RenameColumn("a", "c"), RenameColumn("b", "a"), RenameColumn("c", "b"), SetOption(_INDEX, "a"),
    ]  # fmt: skip
    open_warehouse(tmp_path).alter_table("db.t", swap)
    assert rewrite_file_index(None, get_table(tmp_path)).written_files == 1
    table = get_table(tmp_path)
    assert table.to_arrow(["id"], "a = 20")["id"].to_pylist() == [1]
    assert table.plan(predicate=table.predicate("a = 21"))[0].skipped_by_index == 1
    assert table.to_arrow(["id"], "b = 10")["id"].to_pylist() == [1]
