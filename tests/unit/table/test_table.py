"""The table handle: reading columns and rows, writing, and what it refuses."""

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from maintenance.catalog import CatalogTable, SetOption
from maintenance.errors import (
    ConflictError,
    DataError,
    NotFoundError,
    OptionError,
    PredicateError,
    SchemaError,
    UnsupportedError,
)
from maintenance.format.variant.extension import plain_schema
from maintenance.operations.compaction.compact import compact
from maintenance.options.model import TableModel
from maintenance.table.shape import table_shape
from maintenance.table.table import new_commit_user
from maintenance.types.values import arrow_of_values, values_of_arrow
from tests.examples import examples
from tests.tables import create_table, data_files, files_on_disk, get_table, keyed, open_warehouse, state
from tests.unit.predicate.strategies import FIELDS, rows

FRUIT = {1: "apple", 2: "banana", 3: None}


@pytest.fixture
def table(tmp_path: Path) -> CatalogTable:
    table = create_table(tmp_path, options={"bucket": "2"})
    table.write_arrow(keyed(FRUIT))
    return table


def test_columns_in_the_order_wanted(table: CatalogTable) -> None:
    assert table.to_arrow().schema == pa.schema([("id", pa.int32()), ("v", pa.string())])
    assert table.to_arrow(columns=["v", "id"]).schema.names == ["v", "id"]
    assert sorted(table.to_arrow(columns=["id"]).column("id").to_pylist()) == [1, 2, 3]
    assert table.to_arrow(columns=[]).num_rows == 3
    with pytest.raises(SchemaError, match="no column 'x'"):
        table.to_arrow(columns=["x"])


def test_a_condition_keeps_the_rows_that_match_or_is_refused(table: CatalogTable) -> None:
    assert state(table, where="v like 'b%'") == {2: "banana"}
    assert state(table, where="v is null or id = 1") == {1: "apple", 3: None}
    assert table.to_arrow(columns=["id"], where="v = 'apple'").to_pylist() == [{"id": 1}], "a filter may use others"
    with pytest.raises(PredicateError, match="x"):
        table.to_arrow(where="x = 1")
    with pytest.raises(PredicateError):
        table.to_arrow(where="id = ")


def test_dynamic_options_are_stored_nowhere(table: CatalogTable) -> None:
    copied = table.copy({"scan.snapshot-id": "1", "write-buffer-size": "1 mb"})
    assert copied.options["write-buffer-size"] == "1 mb"
    assert "write-buffer-size" not in table.options
    table.write_arrow(keyed({9: "new"}))
    assert 9 not in state(copied)
    assert 9 in state(table)
    with pytest.raises(OptionError, match="'merge-engine' cannot be set"):
        table.copy({"merge-engine": "aggregation"})
    with pytest.raises(OptionError, match=r"deletion-vectors\.enabled"):
        table.copy({"deletion-vectors.enabled": "true"})


def test_the_highest_level_alone(tmp_path: Path) -> None:
    table = create_table(tmp_path)
    table.write_arrow(keyed(FRUIT))

    def optimized() -> dict[int, str | None]:
        view = open_warehouse(tmp_path).get_table("db.t$ro")
        assert isinstance(view, CatalogTable)
        return state(view)

    assert optimized() == {}
    compact(None, table, full=True)
    table.write_arrow(keyed({1: "newer"}))
    assert optimized() == FRUIT
    assert state(table)[1] == "newer"
    open_warehouse(tmp_path).alter_table("db.t", [SetOption("num-levels", "9")])
    assert optimized() == {}, "the highest level is another one now"
    log = create_table(tmp_path, [("a", "INT")], (), name="db.log")
    log.write_arrow(pa.table({"a": [1]}))
    assert open_warehouse(tmp_path).get_table("db.log$ro").to_arrow().num_rows == 1


@pytest.mark.parametrize(
    ("rows", "kinds", "message"),
    [
        (pa.table({"id": [1], "x": [1]}), None, "column 'x'"),
        (pa.table({"v": ["a"]}), None, "null in column 'id'"),
        (pa.table({"id": ["a"]}), None, "'id' does not fit"),
        (pa.table({"id": [1]}), ["?"], "'\\?' is not a row kind"),
        (pa.table({"id": [1]}), [None], "is not a row kind"),
    ],
)
def test_rows_that_do_not_fit_leave_nothing(
    table: CatalogTable, rows: pa.Table, kinds: list[str] | None, message: str
) -> None:
    with pytest.raises(DataError, match=message):
        table.write_arrow(rows, kinds)
    assert state(table) == FRUIT
    assert files_on_disk(table) == data_files(table)


def test_a_batch_a_table_or_nothing(table: CatalogTable) -> None:
    table.write_arrow(keyed({7: "x"}).to_batches()[0])
    assert state(table)[7] == "x"
    assert table.write_arrow(keyed({})) == ()
    table.write_arrow(pa.concat_tables([keyed({8: "y"}), keyed({8: "z"})]))
    assert state(table)[8] == "z"


def test_a_number_of_kinds_that_is_not_the_number_of_rows(table: CatalogTable) -> None:
    with pytest.raises((DataError, pa.ArrowInvalid)):
        table.write_arrow(keyed({1: "a"}), ["+I", "-D"])
    assert state(table) == FRUIT


def test_an_unknown_snapshot_and_unsupported_reads_are_refused(table: CatalogTable) -> None:
    with pytest.raises(NotFoundError):
        table.to_arrow(options={"scan.snapshot-id": "99"})
    with pytest.raises(UnsupportedError):
        table.to_arrow(options={"scan.ignore-lost-files": "true"})


def test_each_commit_user_is_new_and_has_the_prefix_of_the_table() -> None:
    assert new_commit_user(TableModel()) != new_commit_user(TableModel())
    assert new_commit_user(TableModel({"commit.user-prefix": "nightly"})).startswith("nightly_")


def test_the_shape_counts_snapshots_files_rows_and_sorted_runs(table: CatalogTable) -> None:
    shape = table_shape(table)
    assert (shape.snapshot_id, shape.snapshots, shape.partitions, shape.tags) == (1, 1, 1, 0)
    assert (shape.buckets, shape.files, shape.level0_files, shape.rows) == (2, 2, 2, 3)
    table.write_arrow(keyed({1: "a"}))
    compact(None, table)
    shape = table_shape(table)
    assert (shape.snapshot_id, shape.sorted_runs_max, shape.sorted_runs_avg) == (2, 2, 1.5)


def test_the_shape_of_an_empty_table_counts_nothing(tmp_path: Path) -> None:
    shape = table_shape(create_table(tmp_path))
    assert (shape.snapshot_id, shape.files, shape.sorted_runs_max, shape.sorted_runs_avg) == (None, 0, 0, 0.0)


def test_errors_of_two_writers_leave_the_other_ones_rows(tmp_path: Path) -> None:
    table = create_table(tmp_path)
    table.write_arrow(keyed({1: "a"}))
    open_warehouse(tmp_path).alter_table("db.t", [SetOption("bucket", "2")])
    with pytest.raises(ConflictError):
        get_table(tmp_path).write_arrow(keyed({1: "b"}))
    assert state(table) == {1: "a"}


@settings(max_examples=examples(15))
@given(st.data())
def test_every_type_comes_back_as_it_went(tmp_path_factory: pytest.TempPathFactory, data: st.DataObject) -> None:
    fields = [field for field in FIELDS if field.name != "seconds"]
    table = create_table(tmp_path_factory.mktemp("types"), [(f.name, str(f.type)) for f in fields], ())
    values = data.draw(rows(frozenset(field.name for field in fields), 5))
    arrow = pa.table({f.name: arrow_of_values([row[f.name] for row in values], f.type) for f in fields})
    table.write_arrow(arrow)
    read = table.to_arrow()
    assert read.schema == plain_schema(fields)
    for field in fields:
        assert repr(values_of_arrow(read.column(field.name))) == repr(values_of_arrow(arrow.column(field.name)))


def test_a_filtered_read_looks_up_its_snapshot_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    table = create_table(tmp_path)
    table.write_arrow(keyed({1: "a", 2: "b"}))
    looked: list[str] = []
    right = CatalogTable.target

    def counted(self: CatalogTable) -> Any:
        looked.append(self.identifier)
        return right(self)

    monkeypatch.setattr(CatalogTable, "target", counted)
    assert table.to_arrow(where="id = 2").to_pylist() == [{"id": 2, "v": "b"}]
    assert len(looked) == 1
