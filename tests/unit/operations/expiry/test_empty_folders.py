"""Folders that an expiry leaves empty."""

from pathlib import Path

from maintenance.catalog import CatalogTable
from maintenance.fs.file_io import FileIO
from maintenance.operations import create_tag, delete_tag, drop_partitions, expire_snapshots
from tests.small_tables import put, rows, small_table

CLEAN = {"snapshot.clean-empty-directories": "true", "bucket": "1", "bucket-key": "k"}


def partitions(table: CatalogTable) -> set[str]:
    return {path.name for path in Path(table.location).iterdir() if "=" in path.name}


def filled(folder: Path, options: dict[str, str]) -> CatalogTable:
    table = small_table(folder, options, primary_key=False, partition_keys=["v"])
    put(table, {1: "a", 2: "b"})
    drop_partitions(table, [{"v": "a"}])
    return table


def test_they_go_where_the_option_says_so(tmp_path: Path) -> None:
    for number, options in enumerate(({**CLEAN, "snapshot.clean-empty-directories": "false"}, CLEAN)):
        table = filled(tmp_path / str(number), options)
        expire_snapshots(table, retain_min=1, retain_max=1, dry_run=True)
        assert partitions(table) == {"v=a", "v=b"}
        expire_snapshots(table, retain_min=1, retain_max=1)
        assert partitions(table) == ({"v=b"} if number else {"v=a", "v=b"})
        assert rows(table) == [(2, "b")]


def test_a_folder_with_a_file_of_others_stays(tmp_path: Path) -> None:
    table = filled(tmp_path, CLEAN)
    marker = Path(table.location, "v=a", "_SUCCESS")
    marker.write_text("{}")
    expire_snapshots(table, retain_min=1, retain_max=1)
    assert list(Path(table.location, "v=a").iterdir()) == [marker]


def test_with_the_last_tag(tmp_path: Path) -> None:
    table = small_table(tmp_path, CLEAN, primary_key=False, partition_keys=["v"])
    put(table, {1: "a", 2: "b"})
    create_tag(table, "t")
    drop_partitions(table, [{"v": "a"}])
    expire_snapshots(table, retain_min=1, retain_max=1)
    assert partitions(table) == {"v=a", "v=b"}
    delete_tag(table, "t")
    assert partitions(table) == {"v=b"}


def test_each_storage_deletes_empty_folders_alone(tmp_path: Path) -> None:
    for place in (str(tmp_path / "a"), f"local://{tmp_path}/b"):
        file_io = FileIO()
        file_io.make_folder(f"{place}/x")
        file_io.write_bytes(f"{place}/x/file", b"1")
        assert not file_io.delete_empty_folder(f"{place}/x")
        file_io.delete_quietly([f"{place}/x/file"])
        assert file_io.delete_empty_folder(f"{place}/x")
        assert file_io.delete_empty_folder(f"{place}/x")
        assert not file_io.folder_exists(f"{place}/x")
