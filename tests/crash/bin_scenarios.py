"""What is killed of deletions with a bin: nothing may be lost, wherever the process dies."""

from contextlib import suppress
from datetime import UTC, datetime, timedelta

from maintenance.catalog import CatalogTable
from maintenance.errors import NotFoundError
from maintenance.operations.bin.empty_bin import empty_bin
from maintenance.operations.bin.restore import restore
from maintenance.operations.bin.run import BinRun, list_runs
from maintenance.operations.checks.fsck import fsck
from maintenance.operations.compaction.compact import compact
from maintenance.operations.expiry.expire_snapshots import expire_snapshots
from maintenance.operations.orphans.remove_orphan_files import remove_orphan_files
from maintenance.operations.refs.create_tag import create_tag
from tests.models.reachable import files_on_disk, unreachable_files
from tests.small_tables import Place, put, rows_at, small_table, table_in

STRAYS = ("manifest/manifest-x-0", "index/index-x-0", "bucket-0/data-x-0.orc", "bucket-1/data-y-0.orc")


def warehouse_of(table: CatalogTable) -> str:
    return table.location.rsplit("/", 2)[0]


def prepare_orphans(place: Place) -> None:
    table = small_table(place)
    put(table, {1: "a", 2: "b"})
    put(table, {3: "c"})
    for stray in STRAYS:
        table.file_io.write_bytes(f"{table.location}/{stray}", stray.encode())


def remove_orphans(table: CatalogTable) -> None:
    into = BinRun.begin(table, warehouse_of(table), "remove_orphan_files")
    remove_orphan_files(None, table, into=into, now=_later())


def destroy_orphans(table: CatalogTable) -> None:
    remove_orphan_files(None, table, now=_later())


def _later() -> datetime:
    """When every file is old enough to be an orphan."""
    return datetime.now(UTC) + timedelta(days=2)


def check_no_orphans(table: CatalogTable) -> None:
    assert unreachable_files(table) == set()


def check_orphans_in_bin(_whole: CatalogTable, table: CatalogTable) -> None:
    check_no_orphans(table)
    _restore_all(table)
    assert unreachable_files(table) == {f"{table.location}/{place}" for place in STRAYS}
    assert all(table.file_io.read_bytes(f"{table.location}/{place}") == place.encode() for place in STRAYS)


def check_orphans_destroyed(whole: CatalogTable, table: CatalogTable) -> None:
    check_no_orphans(table)
    assert len(files_on_disk(whole)) == len(files_on_disk(table))


def prepare_history(place: Place) -> None:
    table = small_table(place, {"changelog-producer": "full-compaction", "snapshot.expire.limit": "3"})
    for i in range(3):
        put(table, {1: f"{i}", i: "x"})
        compact(None, table, full=True)
    create_tag(table, "stays", snapshot_id=1)


def expire_into_bin(table: CatalogTable) -> None:
    into = BinRun.begin(table, warehouse_of(table), "expire_snapshots")
    expire_snapshots(table, retain_min=1, retain_max=1, into=into)


def check_expired(table: CatalogTable) -> None:
    assert table.snapshots.list_ids() == [6]
    check_no_orphans(table)


def check_all_comes_back(_whole: CatalogTable, table: CatalogTable) -> None:
    check_expired(table)
    _restore_all(table)
    check_restored(table)


def prepare_bin(place: Place) -> None:
    prepare_history(place)
    expire_into_bin(table_in(place))


def _restore_all(table: CatalogTable) -> None:
    """What a killed run and the one after it took: the states of one may need files of the other."""
    for _ in range(2):
        for run in list_runs(table.file_io, warehouse_of(table)):
            with suppress(NotFoundError):  # one that was killed before its first journal
                restore(table, warehouse_of(table), run)


def restore_all(table: CatalogTable) -> None:
    _restore_all(table)


def check_restored(table: CatalogTable) -> None:
    assert [rows_at(table, i) for i in range(1, 7)] == [
        [(0, "x"), (1, "0")] if i < 3 else [(0, "x"), (1, "x")] if i < 5 else [(0, "x"), (1, "2"), (2, "x")]
        for i in range(1, 7)
    ]
    report = fsck(table.file_io, table.location)
    assert report.healthy, report.faults
    check_no_orphans(table)


def check_restored_like(_whole: CatalogTable, table: CatalogTable) -> None:
    check_restored(table)


def empty(table: CatalogTable) -> None:
    empty_bin(table.file_io, warehouse_of(table), window=timedelta(0))


def check_empty(table: CatalogTable) -> None:
    assert list_runs(table.file_io, warehouse_of(table)) == []
    check_expired(table)


def check_emptied(_whole: CatalogTable, table: CatalogTable) -> None:
    check_empty(table)
