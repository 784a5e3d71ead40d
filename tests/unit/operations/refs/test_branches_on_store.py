"""Branches on a store, whose files come and go one after the other."""

from datetime import UTC, datetime, timedelta

import pyarrow as pa
import pytest

from maintenance.catalog import CatalogTable
from maintenance.errors import AlreadyExistsError, NotFoundError
from maintenance.metadata.branches import Branches
from maintenance.operations import (
    create_branch,
    create_tag,
    delete_branch,
    purge_files,
    remove_orphan_files,
    rename_branch,
)
from maintenance.operations.orphans.orphan_removal import OrphanRemoval
from tests.servers.s3 import S3
from tests.small_tables import put, rows, small_table


@pytest.fixture
def table(s3: S3) -> CatalogTable:
    actual = small_table(s3.options(s3.new_bucket()))
    put(actual, {1: "a"})
    create_tag(actual, "t", snapshot_id=1)
    return actual


def branches_of(table: CatalogTable) -> Branches:
    return Branches(table.file_io, table.paths)


def leave_half_a_branch(table: CatalogTable) -> None:
    branches_of(table).hide("b")
    table.file_io.write_bytes(f"{table.location}/branch/branch-b/tag/tag-old", b"{}")


def test_half_a_branch_is_none(table: CatalogTable) -> None:
    leave_half_a_branch(table)
    assert (branches_of(table).names(), branches_of(table).hidden()) == (["main"], ["b"])
    with pytest.raises(NotFoundError):
        delete_branch(table, "b")
    create_branch(table, "b", tag="t")
    assert (branches_of(table).names(), branches_of(table).hidden()) == (["main", "b"], [])
    assert branches_of(table).tags("b").names() == ["t"]
    assert rows(table.on_branch("b")) == [(1, "a")]


def test_a_branch_that_somebody_creates_meanwhile(table: CatalogTable, monkeypatch: pytest.MonkeyPatch) -> None:
    create_branch(table, "b", tag="t")
    put(table.on_branch("b"), {2: "b"})
    with monkeypatch.context() as patched:
        patched.setattr(Branches, "names", lambda _: ["main"])  # as it was a moment before
        with pytest.raises(AlreadyExistsError):
            create_branch(table, "b", tag="t")
    assert rows(table.on_branch("b")) == [(1, "a"), (2, "b")]


def test_nothing_of_a_deleted_branch_is_left(table: CatalogTable) -> None:
    create_branch(table, "b", tag="t")
    delete_branch(table, "b")
    assert table.file_io.list_tree(f"{table.location}/branch") == []


def test_purging_takes_what_was_interrupted(table: CatalogTable) -> None:
    leave_half_a_branch(table)
    branches_of(table).hide("c")
    purge_files(table, minimum_age=timedelta(0))
    assert table.file_io.list_tree(f"{table.location}/branch") == []


def test_orphan_removal_takes_a_half_branch_that_is_old(table: CatalogTable) -> None:
    leave_half_a_branch(table)
    assert remove_orphan_files(None, table, minimum_age=timedelta(hours=1)).deleted_files == 0
    assert branches_of(table).hidden() == ["b"]
    later = datetime.now(UTC) + timedelta(days=2)
    dry = remove_orphan_files(None, table, dry_run=True, now=later)
    assert [(orphan.path.rpartition("/branch/")[2], orphan.kind) for orphan in dry.orphans] == [
        ("branch-b/tag/tag-old", "file of a half branch")
    ]
    assert branches_of(table).hidden() == ["b"]
    remove_orphan_files(None, table, now=later)
    assert (branches_of(table).hidden(), table.file_io.list_tree(f"{table.location}/branch")) == ([], [])


def test_orphan_removal_leaves_a_branch_that_is_created_meanwhile(
    table: CatalogTable, monkeypatch: pytest.MonkeyPatch
) -> None:
    leave_half_a_branch(table)
    table.file_io.write_bytes(f"{table.location}/branch/branch-b/tag/tag-t", b"{}")
    listed = OrphanRemoval.find

    def find(removal: OrphanRemoval) -> pa.Table:
        actual = listed(removal)
        create_branch(table, "b", tag="t")
        return actual

    monkeypatch.setattr(OrphanRemoval, "find", find)
    report = remove_orphan_files(None, table, now=datetime.now(UTC) + timedelta(days=2))
    assert (report.deleted_files, len(report.kept)) == (0, 2)
    assert rows(table.on_branch("b")) == [(1, "a")]
    assert branches_of(table).tags("b").names() == ["t"]


def test_a_renaming_is_finished_unless_the_old_name_was_written_to(
    table: CatalogTable, monkeypatch: pytest.MonkeyPatch
) -> None:
    create_branch(table, "b", tag="t")
    with monkeypatch.context() as patched:
        patched.setattr("maintenance.operations.refs.rename_branch.remove_branch", died)
        with pytest.raises(OSError, match="killed"):
            rename_branch(table, "b", "c")
    assert branches_of(table).names() == ["main", "b", "c"]
    put(table.on_branch("b"), {2: "late"})
    with pytest.raises(AlreadyExistsError, match="'b' has changed since it was copied there"):
        rename_branch(table, "b", "c")
    assert rows(table.on_branch("b")) == [(1, "a"), (2, "late")]
    delete_branch(table, "c")
    rename_branch(table, "b", "c")
    assert branches_of(table).names() == ["main", "c"]
    assert rows(table.on_branch("c")) == [(1, "a"), (2, "late")]
    with pytest.raises(NotFoundError):
        rename_branch(table, "b", "c")
    create_branch(table, "b", tag="t")
    with pytest.raises(AlreadyExistsError, match="branch 'c' exists"):
        rename_branch(table, "b", "c")


def died(*_: object) -> None:
    raise OSError("killed")
