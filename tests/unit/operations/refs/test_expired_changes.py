"""A tag keeps a state longer than its changelog: what becomes a snapshot again does not name what is gone."""

from collections.abc import Callable
from pathlib import Path

import pytest

from maintenance.catalog import CatalogTable
from maintenance.metadata.branches import Branches
from maintenance.operations import fsck
from maintenance.operations.expiry.expire_snapshots import expire_snapshots
from maintenance.operations.refs import create_branch as creating
from maintenance.operations.refs.create_branch import create_branch
from maintenance.operations.refs.create_tag import create_tag
from maintenance.operations.refs.rollback_to import rollback_to
from tests.models.reachable import missing_files
from tests.small_tables import put, rows, small_table


@pytest.fixture
def table(tmp_path: Path) -> CatalogTable:
    """Snapshots 1 to 3, each with a changelog; tag `one` holds the first."""
    table = small_table(tmp_path, {"changelog-producer": "input", "snapshot.time-retained": "0 s"})
    for i in (1, 2, 3):
        put(table, {i: str(i)})
    create_tag(table, "one", snapshot_id=1)
    return table


def expire(table: CatalogTable) -> None:
    expire_snapshots(table, retain_min=1, retain_max=1)


def check(table: CatalogTable, *, changelog: bool) -> None:
    snapshot = table.snapshots.get(1)
    assert (snapshot.changelog_manifest_list is not None) == changelog
    assert (snapshot.changelog_record_count is not None) == changelog
    assert not missing_files(table, snapshot)
    assert rows(table) == [(1, "1")]
    assert fsck(table.file_io, table.location, deep=True).healthy


def test_a_branch_of_a_tag(table: CatalogTable) -> None:
    create_branch(table, "before", tag="one")
    expire(table)
    check(table.on_branch("before"), changelog=True)
    create_branch(table, "after", tag="one")
    check(table.on_branch("after"), changelog=False)


def test_a_branch_of_a_tag_whose_changelog_is_gone(table: CatalogTable) -> None:
    expire(table)
    create_branch(table, "b", tag="one")
    check(table.on_branch("b"), changelog=False)


def test_a_changelog_that_goes_while_the_branch_is_made(table: CatalogTable, monkeypatch: pytest.MonkeyPatch) -> None:
    fill: Callable[..., dict[str, bytes]] = creating._fill

    def slowly(*arguments: object) -> dict[str, bytes]:
        written = fill(*arguments)
        expire(table)
        return written

    monkeypatch.setattr(creating, "_fill", slowly)
    create_branch(table, "b", tag="one")
    assert Branches(table.file_io, table.paths).names() == ["main", "b"]
    check(table.on_branch("b"), changelog=False)


def test_a_rollback_to_a_tag(table: CatalogTable) -> None:
    expire(table)
    rollback_to(table, tag="one")
    check(table, changelog=False)
