"""What a process keeps of metadata never hides what storage holds."""

import os
from pathlib import Path

import pytest

from maintenance.catalog import CatalogTable, open_catalog
from maintenance.errors import PaimonError
from maintenance.metadata import cache
from maintenance.metadata.cache import RecentlyUsed, metadata_cache
from maintenance.options.catalog import CacheSettings
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


def manifest_paths(table: CatalogTable) -> list[str]:
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
    assert isinstance(table, CatalogTable)
    assert state(table) == {1: "a"}
    (path,) = manifest_paths(table)
    assert metadata_cache(table.file_io.cache).manifests.get(path, table.file_io.version(path)) is None


def test_what_fills_the_cache_exactly_stays() -> None:
    kept = RecentlyUsed(10)
    kept.put("a", 1, "A", 10)
    assert kept.get("a", 1) == "A"
    kept.put("a", 2, "B", 5)
    kept.put("b", 1, "C", 5)
    assert [kept.get("a", 2), kept.get("b", 1)] == ["B", "C"], "what was replaced weighs nothing"
    kept.put("c", 1, "D", 1)
    assert [kept.newest(path) for path in "abc"] == [None, (1, "C"), (1, "D")]
    kept.put("d", 1, "E", 4)
    assert [kept.newest(path) for path in "bcd"] == [(1, "C"), (1, "D"), (1, "E")], "room was made"


def test_the_newest_is_used_when_it_is_asked_for() -> None:
    kept = RecentlyUsed(2)
    kept.put("a", 1, "A")
    kept.put("b", 1, "B")
    assert kept.newest("a") == (1, "A")
    kept.put("c", 1, "C")
    assert [kept.newest(path) for path in "abc"] == [(1, "A"), None, (1, "C")]


def test_a_table_may_have_more_snapshots_kept_while_others_have_fewer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cache, "_MAX_TABLES", 2)
    kept = cache.metadata_cache(CacheSettings(snapshots_per_table=3, max_file_bytes=7)).snapshots
    for number in range(6):
        kept.put(f"a/snapshot-{number}", 1, number)
    kept.get("a/snapshot-0", 1)
    kept.put("b/snapshot-1", 1, 1)
    held = [number for number in range(6) if kept.get(f"a/snapshot-{number}", 1) is not None]
    assert held == [0, 2, 3, 4, 5], "the one that was used longest ago made room"
