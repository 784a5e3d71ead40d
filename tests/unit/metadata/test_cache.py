"""What a process keeps of metadata never hides what storage holds."""

import os
from pathlib import Path

import pytest

from maintenance.catalog import open_catalog
from maintenance.errors import PaimonError
from maintenance.metadata.cache import RecentlyUsed, metadata_cache
from maintenance.table.table import Table
from tests.tables import create_table, get_table, keyed, live_files, state


def test_the_longest_unused_leaves_first() -> None:
    kept = RecentlyUsed(10)
    kept.put("a", 1, "A", 4)
    kept.put("b", 1, "B", 4)
    assert kept.get("a", 1) == "A"
    kept.put("c", 1, "C", 4)
    assert [kept.get(path, 1) for path in "abc"] == ["A", None, "C"]
    kept.put("d", 1, "D", 11)
    assert kept.get("d", 1) is None, "larger than the whole cache"
    assert kept.get("a", 1) == "A"


def test_another_version_is_another_file() -> None:
    kept = RecentlyUsed(10)
    kept.put("a", 1, "old", 9)
    assert kept.get("a", 2) is None
    kept.put("a", 2, "new", 9)
    assert (kept.get("a", 2), kept.get("a", 1)) == ("new", None)


def manifest_paths(table: Table) -> list[str]:
    snapshot = table.latest_snapshot()
    assert snapshot is not None
    return [table.paths.manifest(meta.file_name) for meta in table.manifests.data_manifests(snapshot)]


def test_a_manifest_is_decoded_once(tmp_path: Path) -> None:
    table = create_table(tmp_path)
    table.write_arrow(keyed({1: "a"}))
    (path,) = manifest_paths(table)
    live_files(table)
    version = table.file_io.version(path)
    columns = metadata_cache(table.file_io.cache).manifests.get(path, version)
    assert [entry.file.row_count for entry in columns.select()] == [1]
    live_files(table)
    assert metadata_cache(table.file_io.cache).manifests.get(path, version) is columns


@pytest.mark.parametrize("damage", ["flip", "remove"])
def test_damage_shows_after_the_first_read(tmp_path: Path, damage: str) -> None:
    table = create_table(tmp_path)
    table.write_arrow(keyed({1: "a"}))
    assert state(table) == {1: "a"}
    (path,) = manifest_paths(table)
    if damage == "flip":
        data = bytearray(Path(path).read_bytes())
        data[len(data) // 2 :] = bytes(len(data) - len(data) // 2)
        Path(path).write_bytes(data)
    else:
        os.unlink(path)
    with pytest.raises(PaimonError, match="manifest-"):
        state(table)


def test_a_snapshot_that_takes_the_place_of_another_is_seen(tmp_path: Path) -> None:
    table = create_table(tmp_path)
    table.write_arrow(keyed({1: "a"}))
    table.write_arrow(keyed({1: "b"}))
    assert state(table) == {1: "b"}
    Path(table.paths.snapshot(2)).unlink()
    table.snapshots.write_hint("LATEST", 1)
    get_table(str(tmp_path)).write_arrow(keyed({1: "c"}))
    assert table.snapshots.latest_id() == 2
    assert state(table) == {1: "c"}


def test_it_can_be_switched_off(tmp_path: Path) -> None:
    create_table(tmp_path).write_arrow(keyed({1: "a"}))
    catalog = open_catalog({"warehouse": str(tmp_path), "cache-enabled": "false"})
    table = catalog.get_table(get_table(str(tmp_path)).identifier)
    assert isinstance(table, Table)
    assert state(table) == {1: "a"}
    (path,) = manifest_paths(table)
    assert metadata_cache(table.file_io.cache).manifests.get(path, table.file_io.version(path)) is None
