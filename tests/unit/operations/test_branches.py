"""Branches: created, renamed, deleted, and made the table."""

from pathlib import Path

import pytest

from maintenance.catalog import CatalogTable, Schema, SetOption, open_catalog
from maintenance.errors import AlreadyExistsError, NotFoundError, OptionError
from maintenance.metadata.branches import Branches
from maintenance.operations import compact, delete, delete_tag, fsck
from maintenance.operations.expiry.expire_snapshots import expire_snapshots
from maintenance.operations.refs.create_branch import create_branch
from maintenance.operations.refs.create_tag import create_tag
from maintenance.operations.refs.delete_branch import delete_branch
from maintenance.operations.refs.fast_forward import fast_forward
from maintenance.operations.refs.rename_branch import rename_branch
from maintenance.operations.refs.rollback_to import rollback_to
from tests.small_tables import put, rows, rows_at, rows_of_tag, small_table, table_in


@pytest.fixture
def table(tmp_path: Path) -> CatalogTable:
    """Snapshots 1 to 3; tag `one` holds the first."""
    table = small_table(tmp_path)
    for i in (1, 2, 3):
        put(table, {i: str(i)})
    create_tag(table, "one", snapshot_id=1)
    return table


def names(table: CatalogTable) -> list[str]:
    return Branches(table.file_io, table.paths).names()


def files_of(table: CatalogTable, branch: str) -> set[str]:
    folder = Path(table.location, f"branch/branch-{branch}")
    return {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()}


def test_a_branch_from_a_tag(table: CatalogTable) -> None:
    report = create_branch(table, "b", tag="one")
    assert (report.snapshot_id, report.created) == (1, True)
    assert files_of(table, "b") == {"schema/schema-0", "snapshot/snapshot-1", "tag/tag-one"}
    branch = table.on_branch("b")
    assert rows(branch) == [(1, "1")]
    put(branch, {7: "b"})
    assert (rows(branch), rows(table)) == ([(1, "1"), (7, "b")], [(1, "1"), (2, "2"), (3, "3")])
    assert branch.snapshots.list_ids() == [1, 2]


def test_a_branch_from_nothing(table: CatalogTable) -> None:
    assert create_branch(table, "b").snapshot_id is None
    assert files_of(table, "b") == {"schema/schema-0"}
    branch = table.on_branch("b")
    assert rows(branch) == []
    assert put(branch, {1: "first"}) == 1


def test_a_branch_from_a_snapshot(table: CatalogTable) -> None:
    report = create_branch(table, "b", snapshot_id=2)
    assert (report.snapshot_id, report.created) == (2, True)
    assert files_of(table, "b") == {"schema/schema-0", "snapshot/snapshot-2"}
    branch = table.on_branch("b")
    expire_snapshots(table, retain_min=1, retain_max=1)
    assert rows(branch) == [(1, "1"), (2, "2")]
    assert table.tags.names() == ["one"]
    with pytest.raises(NotFoundError, match="snapshot 2 does not exist"):
        create_branch(table, "c", snapshot_id=2)
    with pytest.raises(OptionError, match="starts once"):
        create_branch(table, "c", snapshot_id=3, tag="one")
    assert (set(names(table)), table.tags.names()) == ({"b", "main"}, ["one"])


def test_every_step_on_a_branch(table: CatalogTable) -> None:
    create_branch(table, "b", tag="one")
    branch = table.on_branch("b")
    for i in range(4):
        put(branch, {1: f"b{i}", 10 + i: "b"})
    whole = rows(branch)
    assert compact(None, branch, full=True).snapshot_ids == (6,)
    create_tag(branch, "kept", snapshot_id=3)
    assert expire_snapshots(branch, retain_min=1, retain_max=1).expired == (1, 2, 3, 4, 5)
    assert (rows(branch), branch.snapshots.list_ids(), branch.tags.names()) == (whole, [6], ["kept", "one"])
    assert rows_of_tag(branch, "kept") == [(1, "b1"), (10, "b"), (11, "b")]
    delete_tag(branch, "kept")
    assert rows(table) == [(1, "1"), (2, "2"), (3, "3")]
    assert fsck(table.file_io, table.location, deep=True).healthy
    delete(None, branch, "k = 1")
    assert rollback_to(branch, snapshot_id=6).current == 6
    assert rows(branch) == whole


def test_a_branch_of_an_expired_snapshot_and_its_schemas(tmp_path: Path, table: CatalogTable) -> None:
    catalog = open_catalog({"warehouse": str(tmp_path)})
    catalog.alter_table("db.t", [SetOption("file.compression", "lz4")])
    expire_snapshots(table, retain_max=1, retain_min=1)
    create_branch(table, "b", tag="one")
    assert files_of(table, "b") == {"schema/schema-0", "snapshot/snapshot-1", "tag/tag-one"}
    assert rows(table.on_branch("b")) == [(1, "1")]
    create_branch(table, "c")
    assert files_of(table, "c") == {"schema/schema-0", "schema/schema-1"}


@pytest.mark.parametrize("name", ["main", "", " ", "12", "a/b", "a$b", "../x", "a\0b", "a:b", "x" * 250])
def test_names_that_no_branch_can_have(table: CatalogTable, name: str) -> None:
    with pytest.raises(OptionError, match="cannot be a branch"):
        create_branch(table, name)
    create_branch(table, "b")
    with pytest.raises(OptionError, match="cannot be a branch"):
        rename_branch(table, "b", name)
    assert names(table) == ["main", "b"]


def test_what_is_there_or_not(table: CatalogTable) -> None:
    create_branch(table, "b", tag="one")
    with pytest.raises(AlreadyExistsError):
        create_branch(table, "b")
    assert create_branch(table, "b", ignore_if_exists=True).created is False
    with pytest.raises(NotFoundError, match="'two'"):
        create_branch(table, "c", tag="two")
    for wrong in (
        lambda: delete_branch(table, "c"),
        lambda: rename_branch(table, "c", "d"),
        lambda: fast_forward(table, "c"),
    ):
        with pytest.raises(NotFoundError, match="branch 'c'"):
            wrong()
    create_branch(table, "c")
    with pytest.raises(AlreadyExistsError):
        rename_branch(table, "b", "c")
    with pytest.raises(NotFoundError, match="has no snapshot"):
        fast_forward(table, "c")
    for refused in (
        lambda: delete_branch(table, "main"),
        lambda: rename_branch(table, "main", "x"),
        lambda: fast_forward(table, "main"),
        lambda: fast_forward(table.on_branch("b"), "b"),
        lambda: fast_forward(table.on_branch("b"), "c"),
    ):
        with pytest.raises(OptionError, match="main"):
            refused()


def test_a_branch_is_renamed_and_deleted_unless_an_option_names_it(tmp_path: Path, table: CatalogTable) -> None:
    create_branch(table, "b", tag="one")
    put(table.on_branch("b"), {7: "b"})
    rename_branch(table, "b", "c")
    assert names(table) == ["main", "c"]
    assert rows(table.on_branch("c")) == [(1, "1"), (7, "b")]
    open_catalog({"warehouse": str(tmp_path)}).alter_table("db.t", [SetOption("scan.fallback-branch", "c")])
    with pytest.raises(OptionError, match=r"scan\.fallback-branch"):
        delete_branch(table_in(tmp_path), "c")
    delete_branch(table, "c")
    assert names(table) == ["main"]
    assert list(Path(table.location, "branch").iterdir()) == []
    assert len(rows(table)) == 3


def test_fast_forward_when_main_moved_on(table: CatalogTable) -> None:
    """Main's later snapshots and tags go; the branch's take their place."""
    create_tag(table, "three", snapshot_id=3)
    create_branch(table, "b", tag="one")
    branch = table.on_branch("b")
    put(branch, {7: "b"})
    create_tag(branch, "mine")
    report = fast_forward(table, "b")
    assert (report.previous, report.current) == (3, 2)
    assert rows(table) == rows(branch) == [(1, "1"), (7, "b")]
    assert rows_at(table, 1) == [(1, "1")]
    assert table.snapshots.list_ids() == [1, 2]
    assert table.tags.names() == ["mine", "one"]
    assert fast_forward(table, "b").current == 2
    put(table, {8: "m"})
    assert rows(table) == [(1, "1"), (7, "b"), (8, "m")]


def test_fast_forward_to_a_longer_branch(table: CatalogTable) -> None:
    create_branch(table, "b", tag="one")
    for i in range(4):
        put(table.on_branch("b"), {10 + i: "b"})
    assert fast_forward(table, "b").current == 5
    assert [key for key, _ in rows(table)] == [1, 10, 11, 12, 13]
    assert [key for key, _ in rows_at(table, 2)] == [1, 10]


def test_fast_forward_to_what_main_has_expired(table: CatalogTable) -> None:
    create_branch(table, "b", tag="one")
    put(table.on_branch("b"), {7: "b"})
    for i in (4, 5):
        put(table, {i: str(i)})
    expire_snapshots(table, retain_max=1, retain_min=1)
    assert table.snapshots.list_ids() == [5]
    fast_forward(table, "b")
    assert table.snapshots.list_ids() == [1, 2]
    assert table.snapshots.earliest_id() == 1
    assert rows(table) == [(1, "1"), (7, "b")]


def test_fast_forward_brings_the_branchs_schemas(tmp_path: Path, table: CatalogTable) -> None:
    catalog = open_catalog({"warehouse": str(tmp_path)})
    create_branch(table, "b", tag="one")
    catalog.alter_table("db.t", [SetOption("file.compression", "lz4")])
    catalog.alter_table("db.t", [SetOption("file.compression", "gzip")])
    catalog.alter_table("db.t$branch_b", [SetOption("file.compression", "none")])
    put(table.on_branch("b"), {7: "b"})
    fast_forward(table, "b")
    after = table_in(tmp_path)
    assert (after.schema.id, after.options["file.compression"]) == (1, "none")
    assert after.schemas.list_ids() == [0, 1]
    assert rows(after) == [(1, "1"), (7, "b")]


def test_on_a_store_without_folders() -> None:
    """fsspec's memory renames file by file, as object stores do."""
    catalog = open_catalog({"warehouse": "memory://branches"})
    catalog.create_database("db")
    catalog.create_table("db.t", Schema([("k", "BIGINT NOT NULL"), ("v", "STRING")], ["k"], options={"bucket": "1"}))
    table = catalog.get_table("db.t")
    assert isinstance(table, CatalogTable)
    put(table, {1: "1"})
    create_tag(table, "one")
    create_branch(table, "b", tag="one")
    put(table.on_branch("b"), {7: "b"})
    rename_branch(table, "b", "c")
    assert names(table) == ["main", "c"]
    fast_forward(table, "c")
    assert rows(table) == [(1, "1"), (7, "b")]
    delete_branch(table, "c")
    assert names(table) == ["main"]
    rollback_to(table, tag="one")
    assert rows(table) == [(1, "1")]
