"""Orphans, the bin and coming back on an S3 server: the store copies files itself, and requests are few."""

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta

import pytest

from maintenance.catalog import CatalogTable
from maintenance.operations import compact, create_tag, empty_bin, expire_snapshots, fsck, remove_orphan_files, restore
from maintenance.operations.bin.run import BinRun, list_runs
from tests.models.reachable import files_on_disk, unreachable_files
from tests.servers.relay import Relay
from tests.servers.s3 import S3
from tests.small_tables import put, rows_at, rows_of_tag, small_table, table_in

LATER = datetime.now(UTC) + timedelta(days=2)
STRAYS = 25


@pytest.fixture
def place(s3: S3) -> Mapping[str, str]:
    """A warehouse with a table of six snapshots, and files that nothing names."""
    actual = s3.options(s3.new_bucket())
    table = small_table(actual)
    for number in range(3):
        put(table, {1: f"{number}", number: "x"})
        compact(None, table, full=True)
    create_tag(table, "first", snapshot_id=1)
    for number in range(STRAYS):
        table.file_io.write_bytes(f"{table.location}/bucket-0/data-{number}-0.orc", b"stray" * number)
    return actual


def strays(table: CatalogTable) -> set[str]:
    return {f"{table.location}/bucket-0/data-{number}-0.orc" for number in range(STRAYS)}


def warehouse_of(place: Mapping[str, str]) -> str:
    return place["warehouse"]


def test_orphans_are_deleted_with_one_request(place: Mapping[str, str], relay: Relay) -> None:
    table = table_in(place)
    relay.reset()
    report = remove_orphan_files(None, table, now=LATER)
    assert report.deleted_files == STRAYS
    assert relay.counts["BULK_DELETE"] <= 2
    assert relay.counts["DELETE"] + relay.counts["HEAD"] <= 4
    assert relay.total <= 48, relay.counts
    assert unreachable_files(table) == set()


def test_orphans_go_into_the_bin_and_come_back(place: Mapping[str, str], relay: Relay) -> None:
    """Each file is copied by the store: none of it passes through this process."""
    table, warehouse = table_in(place), warehouse_of(place)
    before = files_on_disk(table)
    relay.reset()
    remove_orphan_files(None, table, into=BinRun.begin(table, warehouse, "remove_orphan_files"), now=LATER)
    assert relay.counts["COPY"] == STRAYS
    assert not any(".orc" in line for line in relay.log if line.startswith(("GET", "PUT", "PART")))
    assert relay.total <= 53 + 2 * STRAYS, relay.counts
    assert files_on_disk(table) == before - strays(table)
    (run,) = list_runs(table.file_io, warehouse)
    relay.reset()
    restore(table, warehouse, run)
    assert relay.counts["COPY"] == STRAYS
    assert relay.total <= 30 + 5 * STRAYS, relay.counts
    assert files_on_disk(table) == before
    assert unreachable_files(table) == strays(table)


@pytest.mark.slow
def test_an_expiry_comes_back(place: Mapping[str, str], relay: Relay) -> None:
    table, warehouse = table_in(place), warehouse_of(place)
    before = {number: rows_at(table, number) for number in range(1, 7)}
    tagged = rows_of_tag(table, "first")
    relay.reset()
    expire_snapshots(table, retain_min=1, retain_max=1, into=BinRun.begin(table, warehouse, "expire_snapshots"))
    moved = relay.counts["COPY"]
    assert moved > 0
    assert not any(line.startswith(("GET", "PUT")) and "/bucket-" in line for line in relay.log)
    assert table.snapshots.list_ids() == [6]
    (run,) = list_runs(table.file_io, warehouse)
    relay.reset()
    restore(table_in(place), warehouse, run)
    assert relay.counts["COPY"] <= moved
    again = table_in(place)
    assert {number: rows_at(again, number) for number in range(1, 7)} == before
    assert rows_of_tag(again, "first") == tagged
    assert fsck(again.file_io, again.location).healthy


def test_the_bin_is_emptied_with_few_requests(place: Mapping[str, str], relay: Relay) -> None:
    table, warehouse = table_in(place), warehouse_of(place)
    remove_orphan_files(None, table, into=BinRun.begin(table, warehouse, "remove_orphan_files"), now=LATER)
    relay.reset()
    empty_bin(table.file_io, warehouse, window=timedelta(0))
    assert relay.counts["DELETE"] <= 3
    assert relay.counts["BULK_DELETE"] <= 5
    assert relay.total <= 12, relay.counts
    assert list_runs(table.file_io, warehouse) == []
    assert relay.counts["COPY"] == 0
