"""Partitions get another number of buckets."""

from pathlib import Path

import pytest

from maintenance.catalog import CatalogTable
from maintenance.errors import ConflictError, NotFoundError, OptionError, UnsupportedError
from maintenance.operations import compact, delete, fsck, rescale
from maintenance.sql import Session
from tests.interference import interfered_with
from tests.small_tables import put, rows, small_table, table_in
from tests.tables import texts_of


def buckets(table: CatalogTable) -> set[tuple[str, int, int]]:
    """Partition, bucket and number of buckets of each live file."""
    latest = table.latest_snapshot()
    assert latest is not None
    entries = table.manifests.live_entries(latest)
    return {(table.paths.spec_of(e.partition).get("v", ""), e.bucket, e.total_buckets) for e in entries}


def with_buckets(folder: Path, number: int) -> CatalogTable:
    """The table after its option was changed."""
    Session({"warehouse": str(folder)}).sql(f"ALTER TABLE db.t SET TBLPROPERTIES ('bucket' = '{number}')")
    return table_in(folder)


@pytest.mark.parametrize("producer", ["none", "input"])
def test_a_keyed_table_keeps_its_rows_in_more_buckets(tmp_path: Path, producer: str) -> None:
    table = small_table(tmp_path, {"changelog-producer": producer})
    put(table, dict.fromkeys(range(40), "a"))
    put(table, dict.fromkeys(range(20), "b"), [39])
    before = rows(table)
    table = with_buckets(tmp_path, 5)
    dry = rescale(None, table, dry_run=True)
    assert (dry.buckets, dry.files, table.snapshots.latest_id()) == (5, 4, 2)
    report = rescale(None, table)
    assert (report.snapshot_id, rows(table)) == (3, before)
    assert buckets(table) == {("", bucket, 5) for bucket in range(5)}
    assert rescale(None, table).snapshot_id is None
    put(table, {1: "z"})
    assert rows(table)[1] == (1, "z")
    assert len(rows(table)) == 39
    assert fsck(table.file_io, table.location, deep=True).healthy


def test_chosen_partitions_alone_are_rescaled(tmp_path: Path) -> None:
    options = {"bucket": "2", "bucket-key": "k"}
    table = small_table(tmp_path, options, primary_key=False, partition_keys=["v"])
    put(table, {number: "ab"[number % 2] for number in range(20)})
    before = rows(table)
    report = rescale(None, table, bucket_num=1, partitions=[{"v": "a"}])
    assert texts_of(report.partitions) == ({"v": "a"},)
    assert buckets(table) == {("a", 0, 1), ("b", 0, 2), ("b", 1, 2)}
    assert rows(table) == before
    with pytest.raises(NotFoundError, match="no partition column w"):
        rescale(None, table, partitions=[{"w": "a"}])


def test_rows_of_another_writer_are_not_lost(tmp_path: Path) -> None:
    table = small_table(tmp_path)
    put(table, {1: "a"})
    # Another writer commits when the first data file is read.
    beside = interfered_with(table, "data-", lambda: put(table, {2: "late"}))
    with pytest.raises(ConflictError, match="being rewritten"):
        rescale(None, beside, bucket_num=3)
    assert rows(table) == [(1, "a"), (2, "late")]
    rescale(None, table, bucket_num=3)
    assert rows(table) == [(1, "a"), (2, "late")]


@pytest.mark.parametrize("merged", ["true", "false"])
def test_rows_that_wait_for_a_bucket_go_on_waiting(tmp_path: Path, merged: str) -> None:
    options = {"bucket": "-2", "postpone.merge-on-read": merged, "postpone.batch-write-fixed-bucket": "false"}
    table = small_table(tmp_path, options)
    put(table, dict.fromkeys(range(20), "a"))
    compact(None, table)
    put(table, {1: "b", 30: "c"})
    [waiting] = [each for each in buckets(table) if each[1] < 0]
    beside = interfered_with(table, "data-", lambda: put(table, {31: "late"}))
    rescale(None, beside, bucket_num=3)
    assert buckets(table) == {waiting, *(("", bucket, 3) for bucket in range(3))}
    assert rows(table.copy({"postpone.merge-on-read": "false"})) == [(number, "a") for number in range(20)]
    compact(None, table)
    assert {total for _, _, total in buckets(table)} == {3}
    changed = {**dict.fromkeys(range(20), "a"), 1: "b", 30: "c", 31: "late"}
    assert rows(table) == sorted(changed.items())
    assert fsck(table.file_io, table.location, deep=True).healthy


def test_vectors_go_with_the_files(tmp_path: Path) -> None:
    options = {"bucket": "2", "bucket-key": "k", "deletion-vectors.enabled": "true"}
    table = small_table(tmp_path, options, primary_key=False)
    put(table, dict.fromkeys(range(10), "a"))
    delete(None, table, "k = 3")
    rescale(None, table, bucket_num=1)
    assert [key for key, _ in rows(table)] == [0, 1, 2, 4, 5, 6, 7, 8, 9]
    assert fsck(table.file_io, table.location, deep=True).healthy


def test_what_cannot_be_rescaled(tmp_path: Path) -> None:
    with pytest.raises(NotFoundError, match="no snapshot"):
        rescale(None, small_table(tmp_path / "a"))
    with pytest.raises(OptionError, match="not a fixed number"):
        rescale(None, small_table(tmp_path / "b", primary_key=False), bucket_num=3)
    waiting = small_table(tmp_path / "c", {"deletion-vectors.enabled": "true"})
    put(waiting, {1: "a"})
    with pytest.raises(UnsupportedError, match="wait for a compaction"):
        rescale(None, waiting, bucket_num=3)


def test_it_is_a_procedure(tmp_path: Path) -> None:
    table = small_table(tmp_path)
    put(table, {1: "a"})
    Session({"warehouse": str(tmp_path)}).sql("CALL sys.rescale(table => 'db.t', bucket_num => 4)")
    assert {total for _, _, total in buckets(table)} == {4}
