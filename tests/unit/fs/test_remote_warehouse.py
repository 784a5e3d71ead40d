"""A whole table through fsspec: nothing but `fs` may take a path for a local one."""

import pickle
import uuid
from pathlib import Path

import pyarrow as pa
import pytest

from maintenance.catalog import CatalogTable, Schema, SetOption
from maintenance.operations.compaction.compact import compact
from maintenance.operations.compaction.produce_changelog import produce_changelog
from maintenance.operations.expiry.expire_snapshots import expire_snapshots
from maintenance.operations.indexes.rewrite_file_index import rewrite_file_index
from maintenance.operations.ingestion.ingest import ingest
from maintenance.operations.refs.create_tag import create_tag
from maintenance.table.shape import table_shape
from tests.tables import create_table, get_table, keyed, open_warehouse, state


@pytest.fixture(params=["memory", "local"])
def warehouse(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    return f"memory://{uuid.uuid4()}" if request.param == "memory" else f"local://{tmp_path}/remote"


def test_the_life_of_a_table(warehouse: str) -> None:
    options = {
        "bucket": "2",
        "changelog-producer": "full-compaction",
        "file-index.bloom-filter.columns": "v",
        "file-index.in-manifest-threshold": "1 b",
    }
    table = create_table(warehouse, options=options)
    for i in range(6):
        ingest(None, table, keyed({key: str(i) for key in range(i, 10)}), commit_user="me", commit_identifier=i)
    expected = {key: str(min(key, 5)) for key in range(10)}
    assert state(table) == expected
    assert compact(None, table).count("committed") == 2
    assert state(table) == expected
    table.write_arrow(keyed({3: None}), ["-D"])
    del expected[3]
    assert produce_changelog(None, table).changelog_rows["-D"] == 1
    create_tag(table, "kept")
    open_warehouse(warehouse).alter_table("db.t", [SetOption("file-index.bloom-filter.columns", "id,v")])
    table = get_table(warehouse)
    assert rewrite_file_index(None, table).written_files == 2
    table.write_arrow(keyed({1: "x"}))
    report = expire_snapshots(table, retain_max=1, retain_min=1)
    assert report.deleted_files
    assert not any(table.file_io.exists(path) for path in report.deleted_files)
    assert state(table) == {**expected, 1: "x"}
    assert state(table, where="v = '5'") == {key: v for key, v in expected.items() if v == "5"}
    assert state(table, options={"scan.tag-name": "kept"}) == expected
    assert table_shape(table).snapshots == 1


def test_a_partitioned_append_table_is_compacted_read_and_dropped(warehouse: str) -> None:
    catalog = open_warehouse(warehouse)
    fields = [("p", "STRING"), ("a", "INT")]
    catalog.create_table("db.log", Schema(fields, partition_keys=["p"], options={"bucket": "-1"}))
    table = catalog.get_table("db.log")
    assert isinstance(table, CatalogTable)
    for i in range(3):
        table.write_arrow(pa.table({"p": ["x y", "z/=%", None], "a": pa.array([i] * 3, pa.int32())}))
    assert compact(None, table, full=True).count("committed") == 3
    assert sorted(table.to_arrow(where="p = 'z/=%'").column("a").to_pylist()) == [0, 1, 2]
    assert table.to_arrow(where="p is null").num_rows == 3
    catalog.drop_table("db.log")
    assert catalog.list_tables("db") == []


def test_readers_read_on_their_own(warehouse: str) -> None:
    """Plans travel to other processes: what they hold must find the storage again."""
    table = create_table(warehouse)
    table.write_arrow(keyed({1: "a"}))
    plan, read = pickle.loads(pickle.dumps(table.plan()))
    assert [rows.to_pylist() for split in plan.splits for rows in read.tables(split)] == [[{"id": 1, "v": "a"}]]


def test_int96_and_nested_columns(warehouse: str) -> None:
    """The footer of a file with INT96 is read apart from its columns."""
    fields = [("id", "INT NOT NULL"), ("t", "TIMESTAMP(9)"), ("l", "ARRAY<TIMESTAMP(9)>")]
    table = create_table(warehouse, fields)
    nanos = pa.array([1, -1], pa.int64()).cast(pa.timestamp("ns"))
    rows = pa.table({"id": [1, 2], "t": nanos, "l": pa.array([[nanos[0]], None], pa.list_(pa.timestamp("ns")))})
    table.write_arrow(rows)
    table.write_arrow(rows.slice(1))
    assert table.to_arrow().sort_by("id").column("t").combine_chunks().equals(nanos)
    assert table.to_arrow(columns=["l"], where="id = 1").column("l").to_pylist() == [[nanos[0].as_py()]]
