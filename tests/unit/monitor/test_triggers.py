"""Each trigger fires when its limit is reached, names what it saw, and is silent after the compaction it asks for."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from maintenance.catalog import CatalogTable, Schema, open_catalog
from maintenance.monitor.triggers import CompactionNeed, Triggers, judge
from maintenance.operations.compaction.compact import compact
from maintenance.operations.compaction.produce_changelog import produce_changelog
from maintenance.operations.rows.delete import delete
from maintenance.table.shape import table_shape


def create(folder: Path, *, keyed: bool = True, **options: str) -> CatalogTable:
    catalog = open_catalog({"warehouse": str(folder)})
    catalog.create_database("db")
    columns = [("day", "STRING NOT NULL"), ("id", "INT NOT NULL"), ("v", "INT")]
    chosen = {"bucket": "1" if keyed else "-1", "write-only": "true"}
    chosen |= {key.replace("_", "-"): text for key, text in options.items()}
    schema = Schema(columns, primary_keys=["day", "id"] if keyed else [], partition_keys=["day"], options=chosen)
    catalog.create_table("db.t", schema)
    opened = catalog.get_table("db.t")
    assert isinstance(opened, CatalogTable)
    return opened


def put(table: CatalogTable, *days: str, ids: int = 10) -> None:
    rows = [{"day": day, "id": number, "v": number} for day in days for number in range(ids)]
    schema = pa.schema([("day", pa.string()), ("id", pa.int32()), ("v", pa.int32())])
    table.write_arrow(pa.Table.from_pylist(rows, schema))


def need(table: CatalogTable, **limits: Any) -> CompactionNeed:
    return judge(table, table_shape(table), Triggers(**limits))


def days(found: CompactionNeed) -> list[str]:
    return [spec["day"] for spec in found.partitions]


@pytest.mark.parametrize(
    ("limits", "said"),
    [
        ({"level0_files": 3}, "there are 3 files of level 0 in a bucket, the trigger is 3"),
        ({"small_files": 3}, "there are 3 small files in a bucket, the trigger is 3"),
    ],
)
def test_files_of_a_bucket(tmp_path: Path, limits: Mapping[str, int], said: str) -> None:
    table = create(tmp_path)
    put(table, "a", "b")
    put(table, "a")
    assert not need(table, **limits).due
    put(table, "a")
    actual = need(table, **limits)
    assert (actual.due, actual.full, days(actual), actual.reason) == (True, True, ["a"], said)
    assert not need(table, **dict.fromkeys(limits, 4)).due
    compact(None, table, full=True, partitions=actual.partitions)
    assert not need(table, **limits).due


def test_small_files_of_a_table_without_a_key(tmp_path: Path) -> None:
    table = create(tmp_path, keyed=False)
    for _ in range(3):
        put(table, "a")
    assert not need(table).due, "the table's own trigger is 5"
    assert days(need(table, small_files=3)) == ["a"]
    assert not need(table, level0_files=2).due, "it has no levels"
    soon = need(table, sorted_runs=3)
    assert (soon.due, soon.full, soon.reason) == (True, False, "a bucket has 3 files, the trigger is 3")
    large = table.copy({"target-file-size": "1 b"})
    assert not judge(large, table_shape(large), Triggers(sorted_runs=3)).due, "there is nothing to pack"


def test_deleted_rows_of_vectors(tmp_path: Path) -> None:
    table = create(tmp_path, keyed=False, **{"deletion-vectors.enabled": "true"})
    put(table, "a", "b")
    delete(None, table, "day = 'a' AND id < 4")
    actual = need(table, deleted_share=0.4)
    assert (days(actual), actual.reason) == (["a"], "there are 40% of the rows deleted, the trigger is 40%")
    assert not need(table, deleted_share=0.41).due
    compact(None, table, full=True, partitions=actual.partitions)
    assert not need(table, deleted_share=0.01).due


def test_deletes_that_wait_in_level_0(tmp_path: Path) -> None:
    table = create(tmp_path)
    put(table, "a")
    delete(None, table, "id < 5")
    actual = need(table, deleted_share=0.3)
    assert (days(actual), actual.reason) == (["a"], "there are 33% of the rows deleted, the trigger is 30%")
    compact(None, table, full=True)
    assert not need(table, deleted_share=0.01).due


@pytest.mark.parametrize("producer", ["lookup", "full-compaction", "none"])
def test_a_changelog_that_lags(tmp_path: Path, producer: str) -> None:
    table = create(tmp_path, changelog_producer=producer)
    put(table, "a")
    put(table, "b")
    assert not need(table, changelog_lag=3).due
    put(table, "a")
    actual = need(table, changelog_lag=3)
    assert actual.due is (producer != "none")
    if actual.due:
        assert (actual.full, actual.reason) == (False, "3 commits are not in a changelog yet, the trigger is 3")
        produce_changelog(None, table)
        assert not need(table, changelog_lag=1).due


def test_an_empty_table_needs_nothing(tmp_path: Path) -> None:
    table = create(tmp_path, changelog_producer="lookup")
    everything = {"level0_files": 2, "small_files": 2, "deleted_share": 0.1, "changelog_lag": 1, "sorted_runs": 2}
    assert not need(table, **everything).due
