"""What pages say about the results of their examples."""

from collections.abc import Callable, Mapping
from typing import Any
from unittest.mock import patch

import pyarrow as pa

from maintenance.catalog import Schema
from maintenance.merge.aggregates.registry import AGGREGATES
from maintenance.operations import fsck


def _readme(names: dict[str, Any]) -> None:
    assert names["table"].to_arrow().to_pylist() == [{"id": 1, "v": "a"}]
    assert names["catalog"].get_table("demo.t").to_arrow().to_pylist() == [{"id": 1, "text": "a", "price": None}]
    # The dry runs have changed nothing.
    assert names["table"].latest_snapshot().id == 2


def _catalogs(names: dict[str, Any]) -> None:
    assert names["table"].to_arrow().num_rows == names["rows"].num_rows
    assert names["head"] == b"a cat of more th"


def _compaction(names: dict[str, Any]) -> None:
    orders, places = names["table"], names["places"]
    partitions = names["catalog"].list_partitions("sales.orders")
    assert {partition.total_buckets for partition in partitions} == {8}
    assert orders.to_arrow().num_rows == 22
    assert places.to_arrow().num_rows == 6
    assert places.latest_snapshot().commit_kind.value == "COMPACT"


def _global_indexes(names: dict[str, Any]) -> None:
    """The last call was a dry run: both indexes are there, the second of one partition."""
    indexes = names["catalog"].open_table("db.events$table_indexes").to_arrow().to_pylist()
    assert len(indexes) == 3
    assert names["table"].to_arrow(where="user_id = 2").num_rows == 1


def _materialized(names: dict[str, Any]) -> None:
    assert names["catalog"].list_tables("sales") == ["orders"]


def _merge_engines(names: dict[str, Any]) -> None:
    """The function is called, and gives what `bool_and` is to give."""
    options = {"bucket": "1", "merge-engine": "aggregation", "fields.b.aggregate-function": "bool_and"}
    names["catalog"].create_table("sales.flags", Schema([("k", "INT"), ("b", "BOOLEAN")], ["k"], (), options))
    table = names["catalog"].get_table("sales.flags")
    keys = pa.array([1, 1, 2, 2, 3, 3, 3], pa.int32())
    given = pa.array([True, False, True, None, None, None, None])
    with patch.dict(AGGREGATES, {"bool_and": names["BOOL_AND"]}):
        table.write_arrow(pa.table({"k": keys, "b": given}))
        rows = table.to_arrow().to_pylist()
    assert {row["k"]: row["b"] for row in rows} == {1: False, 2: True, 3: None}


def _operations(names: dict[str, Any]) -> None:
    table = names["table"]
    assert not set(table.to_arrow()["k"].to_pylist()) & {1, 2}
    assert fsck(table.file_io, table.location).healthy
    # Two are retained, and one was brought back from the bin.
    ids = names["catalog"].open_table("sales.orders$snapshots").to_arrow()["snapshot_id"].to_pylist()
    assert ids == [7, 8, 9]


def _reading(names: dict[str, Any]) -> None:
    table, log = names["table"], names["log"]
    assert table.to_arrow(options={"scan.version": "first"}).num_rows == 2
    kinds = [row["rowkind"] for row in log.to_arrow(options={"incremental-between": "2,4"}).to_pylist()]
    assert kinds == ["-U", "+U", "-D"]
    both = table.to_arrow(options={"scan.fallback-branch": "dev"}).to_pylist()
    assert [(row["day"], row["state"]) for row in both] == [("mon", "paid"), ("tue", "test")]


def _schema_evolution(names: dict[str, Any]) -> None:
    (row,) = names["table"].to_arrow().to_pylist()
    assert list(row) == ["id", "price", "text", "address", "id_of_shop", "tags"]
    assert row["address"] == {"street": "Main", "zip": None}
    assert row["tags"] == ["3"]


def _sql(names: dict[str, Any]) -> None:
    """The first query; what COPY INTO has loaded; and the plan that deleted the row without a city."""
    assert names["rows"].to_pylist() == [{"city": "Rome"}]
    loaded = names["session"].sql("SELECT city FROM trips WHERE id = 11").to_arrow().to_pylist()
    assert loaded == [{"city": "Bonn"}]
    assert names["session"].sql("SELECT id FROM db.trips").to_arrow().to_pylist() == [{"id": 1}]


def _tuning(names: dict[str, Any]) -> None:
    assert names["report"].best


def _changelogs(names: dict[str, Any]) -> None:
    """The copy has the rows that the stream began with."""
    copied = names["catalog"].get_table("shop.copy").to_arrow()
    assert copied.num_rows == names["catalog"].get_table("shop.orders").to_arrow().num_rows == 22
    assert names["catalog"].open_table("shop.orders$consumers").to_arrow()["consumer_id"].to_pylist() == ["billing"]


def _deletes_and_updates(names: dict[str, Any]) -> None:
    """The older row of station 7 is deleted, the other one recalibrated; a correction without a value deletes."""
    rows = names["table"].to_arrow().to_pylist()
    assert {(row["station"], row["celsius"]) for row in rows} == {(7, 1.5), (5, 9.0)}


def _writing(names: dict[str, Any]) -> None:
    """The batch with a number is written once, and the data source and the stream append."""
    table = names["catalog"].get_table("shop.orders")
    assert table.to_arrow().num_rows == 26
    users = names["catalog"].open_table("sales.orders$snapshots").to_arrow()["commit_user"].to_pylist()
    assert users[-1] == "feed"


def _streamed(names: dict[str, Any]) -> None:
    assert names["catalog"].get_table("default.copy").to_arrow().to_pylist() == [{"id": 11, "city": "Bonn"}]


CLAIMS: Mapping[str, Callable[[dict[str, Any]], None]] = {
    "README.md": _readme,
    "catalogs.md": _catalogs,
    "compaction.md": _compaction,
    "global-indexes.md": _global_indexes,
    "materialized-tables.md": _materialized,
    "merge-engines.md": _merge_engines,
    "operations.md": _operations,
    "reading.md": _reading,
    "schema-evolution.md": _schema_evolution,
    "sql.md": _sql,
    "tuning.md": _tuning,
}
CLAIMS_ON_SPARK: Mapping[str, Callable[[dict[str, Any]], None]] = {
    "changelogs.md": _changelogs,
    "deletes-and-updates.md": _deletes_and_updates,
    "operations.md": _operations,
    "sql.md": _streamed,
    "writing.md": _writing,
}
