"""Incremental clustering: what is picked, how it is sorted, and who does it."""

from pathlib import Path

import pyarrow as pa
import pytest

from maintenance.catalog import CatalogTable, SetOption, open_catalog
from maintenance.compaction.clustering import ClusterRules, clustered_by
from maintenance.errors import OptionError, UnsupportedError
from maintenance.monitor.triggers import judge
from maintenance.operations import compact
from maintenance.options.model import TableModel
from maintenance.sql.session import Session
from maintenance.table.shape import table_shape
from tests.tables import create_table, get_table, live
from tests.unit.compaction.files import data_file

FIELDS = (("p", "INT"), ("a", "INT"), ("b", "STRING"))
CLUSTERED = {"clustering.incremental": "true", "clustering.columns": "a", "num-sorted-run.compaction-trigger": "3"}


def clustered(folder: Path, **options: str) -> CatalogTable:
    given = {**CLUSTERED, **{key.replace("_", "-").replace("--", "."): value for key, value in options.items()}}
    return create_table(folder, FIELDS, (), given, partition_keys=["p"])


def put(table: CatalogTable, values: list[int], partition: int = 0) -> None:
    rows = [{"p": partition, "a": value, "b": f"{value}"} for value in values]
    table.write_arrow(pa.Table.from_pylist(rows, table.to_arrow().schema))


def levels(table: CatalogTable) -> list[int]:
    return sorted(entry.file.level for entry in live(table))


def test_only_what_is_new_is_sorted(tmp_path: Path) -> None:
    table = clustered(tmp_path)
    put(table, list(range(500, 0, -1)))
    put(table, [7])
    assert compact(None, table).snapshot_ids == ()
    compact(None, table, full=True)
    assert (levels(table), table.to_arrow().column("a").to_pylist()) == ([3], sorted([7, *range(1, 501)]))
    for value in (3, 1, 2):
        put(table, [value, value - 10])
    compact(None, table)
    assert 3 in levels(table)
    assert len(levels(table)) == 2
    assert compact(None, table).snapshot_ids == ()


def test_a_new_order_is_a_reason_for_a_full_one(tmp_path: Path) -> None:
    table = clustered(tmp_path)
    put(table, [3, 1, 2])
    compact(None, table, full=True)
    assert compact(None, table, full=True).snapshot_ids == ()
    open_catalog({"warehouse": str(tmp_path)}).alter_table("db.t", [SetOption("clustering.columns", "b")])
    now = get_table(tmp_path)
    assert compact(None, now).snapshot_ids == ()
    assert compact(None, now, full=True).snapshot_ids
    assert compact(None, now, full=True).snapshot_ids == ()


def test_deleted_rows_go_with_a_full_one(tmp_path: Path) -> None:
    table = clustered(tmp_path, deletion_vectors__enabled="true", target_file_size="1 b")
    put(table, list(range(20)))
    compact(None, table, full=True)
    table.delete("a = 7")
    assert compact(None, table).snapshot_ids == ()
    compact(None, table, full=True)
    assert sum(entry.file.row_count for entry in live(table)) == 19
    assert sorted(table.to_arrow().column("a").to_pylist()) == [i for i in range(20) if i != 7]


def test_partitions_that_nobody_writes_to_are_finished(tmp_path: Path) -> None:
    table = clustered(
        tmp_path,
        **{"clustering.history-partition.idle-to-full-sort": "1 ms", "clustering.history-partition.limit": "2"},
    )
    for partition in range(4):
        put(table, [2, 1], partition)
    report = compact(None, table, partitions=[{"p": "3"}])
    assert report.snapshot_ids
    by_partition = {table.paths.spec_of(entry.partition)["p"]: entry.file.level for entry in live(table)}
    assert by_partition == {"0": 3, "1": 3, "2": 0, "3": 0}
    assert compact(None, table).snapshot_ids == ()


def test_local_sort_makes_files_of_their_own(tmp_path: Path) -> None:
    table = clustered(tmp_path, clustering__incremental__mode="local-sort", target_file_size="3 kb")
    for start in range(4):
        put(table, list(range(900 + start, start, -4)))
    compact(None, table, full=True)
    assert set(levels(table)) == {3}
    assert len(live(table)) > 1
    assert table.to_arrow().num_rows == 4 * 225


def test_buckets_are_clustered_by_compactions_alone(tmp_path: Path) -> None:
    table = clustered(tmp_path, bucket="2", bucket_key="b", bucket_append_ordered="false", write_only="false")
    for _ in range(4):
        put(table, [5, 3, 1, 4, 2, 6])
    assert set(levels(table)) == {0}
    compact(None, table, full=True)
    assert set(levels(table)) == {3}
    assert sorted(table.to_arrow().column("a").to_pylist()) == sorted([1, 2, 3, 4, 5, 6] * 4)
    assert table.to_arrow(where="b = '3'").num_rows == 4


def test_the_procedure_and_the_sensor_count_runs(tmp_path: Path) -> None:
    table = clustered(tmp_path)
    for value in range(2):
        put(table, [value])
    assert not judge(table, table_shape(table)).due
    session = Session({"warehouse": str(tmp_path)})
    session.sql("CALL sys.compact(`table` => 'db.t')")
    assert levels(table) == [0, 0]
    put(table, [2])
    assert judge(table, table_shape(table)).due
    session.sql("CALL sys.compact(`table` => 'db.t', compact_strategy => 'full')")
    assert levels(table) == [3]


@pytest.mark.parametrize(
    ("columns", "strategy", "expected"),
    [("a", "auto", "order"), ("a, b", "auto", "zorder"), ("p,a,b", "hilbert", "hilbert"), ("a", "zorder", "zorder")],
)
def test_the_order_by_number_of_columns(tmp_path: Path, columns: str, strategy: str, expected: str) -> None:
    table = clustered(tmp_path, clustering__columns=columns, clustering__strategy=strategy)
    by = clustered_by(table.schema, table.options, "here")
    assert (by.strategy, ",".join(by.columns)) == (expected, columns.replace(" ", ""))


@pytest.mark.parametrize(
    ("options", "keys", "message"),
    [
        ({"clustering.columns": ""}, (), "clustering.columns"),
        ({"clustering.columns": "x"}, (), "names 'x'"),
        ({"clustering.columns": "a,a"}, (), "a, a"),
        ({"clustering.strategy": "hilbert"}, (), "with one column"),
        ({}, ("a",), "with a primary key"),
        ({"bucket": "2", "bucket-key": "a"}, (), "keep their order"),
    ],
)
def test_what_cannot_be_meant(tmp_path: Path, options: dict[str, str], keys: tuple[str, ...], message: str) -> None:
    fields = (("p", "INT"), ("a", "INT NOT NULL"), ("b", "STRING"))
    with pytest.raises(OptionError, match=message):
        create_table(tmp_path, fields, keys, {**CLUSTERED, **options})


def test_an_order_of_a_call_does_not_go_with_the_tables_own(tmp_path: Path) -> None:
    with pytest.raises(OptionError, match="an order of its own"):
        compact(None, clustered(tmp_path), order_strategy="order", order_by=["b"])
    fields = (("p", "INT"), ("a", "ARRAY<INT>"))
    with pytest.raises(UnsupportedError, match="nested type"):
        create_table(tmp_path / "n", fields, (), CLUSTERED)


@pytest.mark.parametrize(
    ("sizes", "mode", "parts"),
    [
        ([100, 100, 100], "global-sort", [3]),
        ([100, 100, 100], "local-sort", [2, 1]),
        ([100, 101, 1], "local-sort", [1, 2]),
        ([300, 300], "local-sort", [1, 1]),
        ([200], "local-sort", [1]),
    ],
)
def test_files_that_are_sorted_together(sizes: list[int], mode: str, parts: list[int]) -> None:
    """With the target of 200 bytes; one larger file is a part of its own."""
    options = {"target-file-size": "200 b", "clustering.incremental.mode": mode}
    files = [data_file(str(i), size=size) for i, size in enumerate(sizes)]
    actual = list(ClusterRules(TableModel(options), lambda _: ()).sorted_together(files))
    assert [len(part) for part in actual] == parts
    assert [file for part in actual for file in part] == files


def test_new_files_are_as_large_as_those_of_tables_without_a_key() -> None:
    """256 MB unless the table says otherwise."""
    options = {"clustering.incremental.mode": "local-sort"}
    files = [data_file(str(i), size=100 << 20) for i in range(5)]
    actual = list(ClusterRules(TableModel(options), lambda _: ()).sorted_together(files))
    assert [len(part) for part in actual] == [2, 2, 1]
