"""Index manifests that may be exchanged: nothing that they name is deleted, and the expiry says so."""

import os
from dataclasses import replace
from pathlib import Path

import pytest

from maintenance.catalog import CatalogTable
from maintenance.errors import CorruptFileError
from maintenance.format.metadata.snapshot import Snapshot
from maintenance.operations.expiry.doubtful_vectors import doubtful_index_manifests
from maintenance.operations.expiry.expire_snapshots import expire_snapshots
from maintenance.operations.refs.create_tag import create_tag
from maintenance.operations.refs.delete_tag import delete_tag
from tests.damage.swaps import exchange
from tests.deletion_vectors import set_index
from tests.models.reachable import unreachable_files
from tests.small_tables import put, rows, rows_of_tag, small_table


@pytest.fixture
def table(tmp_path: Path) -> CatalogTable:
    """Rows of one file are deleted in snapshots 2, 3 and 4; snapshot 5 leaves the vectors as they are."""
    table = small_table(tmp_path, {"deletion-vectors.enabled": "true"}, primary_key=False)
    put(table, dict.fromkeys(range(9), "a"))
    for key in (1, 4, 7):
        table.delete(f"k = {key}")
    put(table, {20: "b"})
    return table


def index_manifest(table: CatalogTable, snapshot_id: int) -> str:
    name = table.snapshots.get(snapshot_id).index_manifest
    assert name is not None
    return table.paths.manifest(name)


def pairs_of(table: CatalogTable) -> list[tuple[Snapshot, Snapshot]]:
    actual = [table.snapshots.get(number) for number in table.snapshots.list_ids()]
    return list(zip(actual, actual[1:], strict=False))


def test_vectors_that_only_grow_are_not_doubted(table: CatalogTable) -> None:
    assert doubtful_index_manifests(pairs_of(table), table.manifests) == set()
    report = expire_snapshots(table, retain_min=1, retain_max=1)
    assert report.notes == ()
    assert unreachable_files(table) == set()


def test_a_file_that_goes_takes_its_vector_along(table: CatalogTable) -> None:
    table.truncate()
    put(table, {1: "new"})
    assert doubtful_index_manifests(pairs_of(table), table.manifests) == set()


def test_exchanged_index_manifests_lose_nothing(table: CatalogTable) -> None:
    """That of an expired snapshot holds what the newest one needs."""
    expected = rows(table)
    old, new = index_manifest(table, 3), index_manifest(table, 4)
    exchange(Path(table.location), *(os.path.relpath(path, table.location) for path in (old, new)))
    report = expire_snapshots(table, retain_min=1, retain_max=1)
    assert report.expired == (1, 2, 3, 4)
    assert [os.path.basename(old) in note for note in report.notes] == [True]
    exchange(Path(table.location), *(os.path.relpath(path, table.location) for path in (old, new)))
    assert rows(table) == expected


def test_a_tag_with_a_vector_of_a_dead_file_can_be_deleted(table: CatalogTable) -> None:
    """Another engine's damage must not be there for ever; what its index manifest names stays."""
    (entry,) = table.manifests.read_index(table.snapshots.get(5))
    (part,) = entry.dv_ranges or ()
    set_index(table, [replace(entry, dv_ranges=(replace(part, data_file_name="data-dead.parquet"),))])
    path = table.paths.index_file(entry)
    create_tag(table, "damaged")
    table.truncate()
    put(table, {1: "new"})
    with pytest.raises(CorruptFileError, match="tag 'damaged' cannot be read completely"):
        expire_snapshots(table, retain_min=1, retain_max=1)
    table.file_io.delete_quietly(map(table.paths.snapshot, range(1, 6)))
    report = delete_tag(table, "damaged")
    assert report.expired == ("damaged",)
    assert any("another snapshot may need it" in note for note in report.notes)
    assert os.path.exists(path)
    assert rows(table) == [(1, "new")]


def test_tags_keep_their_vectors(table: CatalogTable) -> None:
    create_tag(table, "third", snapshot_id=3)
    expected = rows_of_tag(table, "third")
    expire_snapshots(table, retain_min=1, retain_max=1)
    assert rows_of_tag(table, "third") == expected
    assert unreachable_files(table) == set()
