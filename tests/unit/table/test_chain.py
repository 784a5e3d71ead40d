"""Chain tables: what a partition consists of, read through the table itself."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from maintenance.catalog import AddColumn, CatalogTable, Schema
from maintenance.errors import BucketNumberError, DataError, NotFoundError, OptionError, UnsupportedError
from maintenance.operations import compact, delete, delete_branch
from maintenance.table.stream import TableStream
from tests.chain_tables import BRANCHES, BY_HOUR, COLUMNS, HOURS, OPTIONS, chain_table, found, put, rows
from tests.tables import create_table, get_table, open_warehouse


@pytest.fixture
def table(tmp_path: Path) -> CatalogTable:
    """The 10th is complete, the 11th to the 13th have changes; the 12th is complete as well."""
    table = chain_table(tmp_path)
    put(table, "snapshot", ("20250810", 1, 1, "old"), ("20250810", 2, 1, "old"))
    put(table, "delta", ("20250811", 2, 2, "new"), ("20250811", 3, 2, "new"))
    put(table, "snapshot", ("20250812", 9, 9, "whole"))
    put(table, "delta", ("20250812", 8, 9, "unseen"), ("20250813", 9, 1, "older"), ("20250813", 7, 1, "late"))
    return table


ELEVENTH = [("20250811", 1, 1, "old"), ("20250811", 2, 2, "new"), ("20250811", 3, 2, "new")]


def test_partitions_are_put_together(table: CatalogTable) -> None:
    assert found(table) == [
        ("20250810", 1, 1, "old"),
        ("20250810", 2, 1, "old"),
        *ELEVENTH,
        ("20250812", 9, 9, "whole"),
        ("20250813", 7, 1, "late"),
        ("20250813", 9, 9, "whole"),
    ]


def test_partitions_of_both_branches_are_listed(tmp_path: Path, table: CatalogTable) -> None:
    listed = open_warehouse(tmp_path).list_partitions("db.t")

    assert {partition.spec["day"] for partition in listed} == {day for day, *_ in found(table)}


def test_filters_see_the_merged_rows(table: CatalogTable) -> None:
    assert found(table, "day = '20250811'") == ELEVENTH
    assert found(table, "day = '20250811' AND v = 'old'") == ELEVENTH[:1]
    assert found(table, "v = 'older'") == []
    assert found(table, "day >= '20250811' AND k = 2") == ELEVENTH[1:2]
    assert found(table, "day = '20250814'") == []
    columns = table.to_arrow(["v"], where="day = '20250813'").to_pydict()
    assert sorted(columns["v"]) == ["late", "whole"]


def test_branches_are_plain_tables(table: CatalogTable) -> None:
    assert found(table.on_branch("delta"), "day = '20250811'") == ELEVENTH[1:]
    compact(None, table.on_branch("delta"), full=True)
    compact(None, table.on_branch("snapshot"), full=True)
    assert found(table, "day <= '20250811'")[2:] == ELEVENTH


def test_deletions_reach_the_anchor(table: CatalogTable) -> None:
    delta = table.on_branch("delta")
    assert isinstance(delta, CatalogTable)
    delta.write_arrow(rows(("20250811", 1, 5, "gone")), row_kinds=["-D"])
    assert found(table, "day = '20250811'") == ELEVENTH[1:]
    compact(None, delta, full=True)
    assert found(table, "day = '20250811'") == ELEVENTH[1:], "a compaction keeps the deletion"
    assert found(delta, "day = '20250811'") == ELEVENTH[1:]


def test_deletion_vectors_reach_the_anchor(tmp_path: Path) -> None:
    table = chain_table(tmp_path, {**OPTIONS, "deletion-vectors.enabled": "true"})
    put(table, "snapshot", ("20250810", 1, 1, "a"), ("20250810", 2, 1, "b"))
    many = [("20250811", k, 2, str(k * 7919 % 10007)) for k in range(100, 3000)]
    put(table, "delta", ("20250811", 1, 2, "c"), ("20250811", 3, 2, "d"), *many)
    for branch in ("snapshot", "delta"):
        compact(None, table.on_branch(branch), full=True)
    delta = table.on_branch("delta")
    put(table, "delta", ("20250811", 3, 3, "e"))
    delete(None, delta, "k = 1")
    compact(None, delta)
    snapshot = delta.latest_snapshot()
    assert snapshot is not None
    assert delta.manifests.deletion_vectors(snapshot)
    assert found(table, "day = '20250811' AND k < 100") == [("20250811", 2, 1, "b"), ("20250811", 3, 3, "e")]


def test_a_partition_of_the_table_itself_comes_first(table: CatalogTable) -> None:
    table.write_arrow(rows(("20250811", 5, 1, "own")))
    assert found(table, "day = '20250811'") == [("20250811", 5, 1, "own")]


def test_without_an_anchor_all_changes_count(tmp_path: Path) -> None:
    table = chain_table(tmp_path)
    put(table, "delta", ("20250801", 1, 1, "a"), ("20250803", 1, 2, "b"), ("20250803", 2, 2, "c"))
    assert found(table, "day = '20250803'") == [("20250803", 1, 2, "b"), ("20250803", 2, 2, "c")]
    assert found(table, "day = '20250801'") == [("20250801", 1, 1, "a")]


def test_each_group_is_a_chain_by_the_hour(tmp_path: Path) -> None:
    table = chain_table(tmp_path, HOURS, BY_HOUR)
    put(table, "snapshot", ("eu", "20250810", "22", 1, 1, "anchor"), columns=BY_HOUR)
    put(table, "delta", ("eu", "20250810", "21", 4, 1, "before"), ("eu", "20250810", "23", 2, 1, "x"), columns=BY_HOUR)
    put(table, "delta", ("eu", "20250811", "01", 3, 1, "y"), ("us", "20250811", "01", 5, 1, "z"), columns=BY_HOUR)
    assert [row[3:] for row in found(table, "region = 'eu' AND day = '20250811'")] == [
        (1, 1, "anchor"),
        (2, 1, "x"),
        (3, 1, "y"),
    ]
    assert [row[3:] for row in found(table, "region = 'us'")] == [(5, 1, "z")]


def test_files_of_older_schemas_of_both_branches(tmp_path: Path) -> None:
    table = chain_table(tmp_path)
    put(table, "snapshot", ("20250810", 1, 1, "a"))
    catalog = open_warehouse(tmp_path)
    for name in ("db.t", "db.t$branch_snapshot", "db.t$branch_delta"):
        catalog.alter_table(name, [AddColumn("w", "INT")])
    table = get_table(tmp_path)
    wide = (*COLUMNS, ("w", "INT"))
    put(table, "delta", ("20250811", 2, 1, "b", 7), columns=wide)
    assert found(table, "day = '20250811'")[0][-1] is None
    assert found(table, "w = 7") == [("20250811", 2, 1, "b", 7)]


def test_partitions_that_are_no_day_do_not_count(tmp_path: Path) -> None:
    """As in Paimon, which makes the names of the days between an anchor and a partition itself."""
    options = {**OPTIONS, "partition.timestamp-formatter": "yyyyMMddHH"}
    table = chain_table(tmp_path, options)
    put(table, "snapshot", ("2025081000", 1, 1, "a"))
    put(table, "delta", ("2025081012", 2, 1, "noon"), ("2025081100", 3, 1, "b"))
    assert [row[1] for row in found(table, "day = '2025081100'")] == [1, 3]
    put(table, "delta", ("noday", 4, 1, "b"))
    with pytest.raises(DataError, match="names no time: 'noday'"):
        found(table, "day = 'noday'")


def test_other_numbers_of_buckets_are_refused(table: CatalogTable) -> None:
    delta = table.on_branch("delta")
    schema = replace(delta.schema, options={**delta.schema.options, "bucket": "2"})
    replace(delta, schema=schema).write_arrow(rows(("20250814", 1, 1, "two")))
    with pytest.raises(BucketNumberError, match=r"day=20250814 have 1 and 2 buckets"):
        found(table, "day = '20250814'")


def test_what_is_of_branches_alone(table: CatalogTable) -> None:
    for options in ({"scan.snapshot-id": "1"}, {"incremental-between": "1,2"}):
        with pytest.raises(UnsupportedError, match="newest state alone"):
            table.to_arrow(options=options)
    with pytest.raises(UnsupportedError, match=r"streams of a chain table"):
        TableStream(table).start()
    with pytest.raises(UnsupportedError, match=r"changes of rows of a chain table"):
        delete(None, table, "k = 1")
    with pytest.raises(OptionError, match=r"scan\.fallback-delta-branch"):
        delete_branch(table, "delta")


def test_without_its_branches_it_is_a_plain_table(tmp_path: Path) -> None:
    table = create_table(tmp_path, COLUMNS, ("day", "k"), OPTIONS, partition_keys=("day",))
    table.write_arrow(rows(("20250810", 1, 1, "a")))
    assert found(table) == [("20250810", 1, 1, "a")]
    with pytest.raises(NotFoundError, match="branch 'snapshot'"):
        found(table.copy(BRANCHES))


@pytest.mark.parametrize(
    ("without", "more", "problem"),
    [
        ("sequence.field", {}, "without 'sequence.field'"),
        ("partition.timestamp-pattern", {}, "without 'partition.timestamp-pattern'"),
        ("partition.timestamp-formatter", {}, "without 'partition.timestamp-formatter'"),
        ("", {"changelog-producer": "lookup"}, "'changelog-producer' = 'lookup'"),
        ("bucket-key", {"bucket": "-1"}, "fixed number of buckets"),
        ("", {"chain-table.chain-partition-keys": "k"}, "'chain-table.chain-partition-keys' = 'k'"),
        ("", {"deletion-vectors.enabled": "true", "merge-engine": "partial-update"}, "deletion vectors"),
        ("", {"partition.expiration-time": "1 d", "partition.expiration-strategy": "update-time"}, "'values-time'"),
    ],
)
def test_options_that_do_not_fit(tmp_path: Path, without: str, more: Mapping[str, str], problem: str) -> None:
    options = {key: value for key, value in {**OPTIONS, **more}.items() if key != without}
    with pytest.raises(OptionError, match=problem):
        open_warehouse(tmp_path).create_table("db.t", Schema(COLUMNS, ("day", "k"), ("day",), options))
