"""Where a damaged table can go back to."""

from collections.abc import Callable
from pathlib import Path

import pytest

from maintenance.catalog import CatalogTable
from maintenance.errors import CorruptFileError, MissingFileError, PaimonError
from maintenance.operations.checks.way_back import WayBack, way_back
from maintenance.operations.compaction.compact import compact
from maintenance.operations.expiry.expire_snapshots import expire_snapshots
from maintenance.operations.refs.create_tag import create_tag
from maintenance.operations.refs.rollback_to import rollback_to
from tests.small_tables import put, rows, small_table, table_in


@pytest.fixture
def table(tmp_path: Path) -> CatalogTable:
    """Six snapshots of one row each, the fifth a full compaction."""
    table = small_table(tmp_path, {"bucket": "1", "snapshot.num-retained.min": "1"})
    for key in range(4):
        put(table, {key: "v"})
    compact(None, table, full=True)
    put(table, {5: "v"})
    return table


def data_file(table: CatalogTable, snapshot_id: int) -> Path:
    """The data file that a snapshot adds."""
    (entry,) = (e for e in table.manifests.delta_entries(table.snapshots.get(snapshot_id)) if e.kind.value == 0)
    return Path(table.paths.data_file(entry.partition, entry.bucket, entry.file))


def flip(path: Path) -> None:
    """The size stays, so only reading tells."""
    path.write_bytes(path.read_bytes()[:-4] + b"XXXX")


def error_of(table: CatalogTable) -> PaimonError:
    with pytest.raises((CorruptFileError, MissingFileError)) as caught:
        rows(table)
    return caught.value


def found(table: CatalogTable, error: PaimonError) -> WayBack | None:
    return way_back(table.file_io, table.location, error)


@pytest.mark.parametrize(
    "damage", [flip, Path.unlink, lambda path: path.write_bytes(b"")], ids=["flipped", "gone", "empty"]
)
@pytest.mark.parametrize(("broken", "expected"), [(5, 4), (6, 5)])
def test_the_last_snapshot_without_the_file(
    table: CatalogTable, tmp_path: Path, broken: int, expected: int, damage: Callable[[Path], None]
) -> None:
    damage(data_file(table, broken))
    way = found(table, error_of(table_in(tmp_path)))
    assert way is not None
    assert (way.snapshot_id, way.latest_id, way.tags) == (expected, 6, ())
    assert f"rollback_to(table, snapshot_id={expected})" in way.summary
    rollback_to(table_in(tmp_path), snapshot_id=way.snapshot_id)
    assert rows(table_in(tmp_path)) == [(key, "v") for key in range(4)]


def test_a_state_that_lacks_another_file_is_no_way_back(table: CatalogTable, tmp_path: Path) -> None:
    flip(data_file(table, 5))
    data_file(table, 4).unlink()
    way = found(table, error_of(table_in(tmp_path)))
    assert way is not None
    assert way.snapshot_id == 3


def test_a_tag_of_an_expired_snapshot(table: CatalogTable, tmp_path: Path) -> None:
    for name, snapshot in (("older", 2), ("newer", 3), ("with", 5)):
        create_tag(table, name, snapshot_id=snapshot)
    expire_snapshots(table, retain_max=2, retain_min=1)
    flip(data_file(table, 5))
    way = found(table, error_of(table_in(tmp_path)))
    assert way is not None
    assert (way.snapshot_id, way.tags) == (3, ("newer",))
    assert "tag 'newer'" in way.summary
    rollback_to(table_in(tmp_path), snapshot_id=way.snapshot_id)
    assert rows(table_in(tmp_path)) == [(key, "v") for key in range(3)]


def test_a_broken_snapshot_or_manifest(table: CatalogTable, tmp_path: Path) -> None:
    newest = table.snapshots.get(6)
    list_ = Path(table.paths.manifest(newest.base_manifest_list))
    list_.write_bytes(list_.read_bytes()[:40])
    way = found(table, error_of(table_in(tmp_path)))
    assert way is not None
    assert way.snapshot_id == 5
    Path(table.paths.snapshot(6)).write_bytes(b"{")
    with pytest.raises(CorruptFileError) as caught:
        table_in(tmp_path).latest_snapshot()
    way = found(table, caught.value)
    assert way is not None
    assert (way.snapshot_id, way.latest_id) == (5, 6)


def test_without_an_older_state_there_is_no_way_back(table: CatalogTable, tmp_path: Path) -> None:
    expire_snapshots(table, retain_max=1, retain_min=1)
    flip(data_file(table, 6))
    assert found(table, error_of(table_in(tmp_path))) is None


def test_a_broken_file_of_the_past_needs_no_way_back(table: CatalogTable) -> None:
    error = CorruptFileError("the file is damaged", str(data_file(table, 2)), "Restore it.")
    way = found(table, error)
    assert way is not None
    assert way.snapshot_id == 6
    assert "the table itself can be used" in way.summary
