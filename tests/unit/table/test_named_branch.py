"""A table whose stored options name a branch is read and written there."""

from datetime import UTC, datetime
from pathlib import Path

import pytest

from maintenance.catalog import AddColumn, CatalogTable, RemoveOption, Schema, SetOption
from maintenance.errors import NotFoundError, OptionError, SchemaError
from maintenance.operations import compact, create_tag, expire_snapshots
from tests.small_tables import branch_from_tag
from tests.tables import KEYED, create_table, get_table, keyed, live_files, open_warehouse, state


@pytest.fixture
def table(tmp_path: Path) -> CatalogTable:
    """`db.t` with the option, whose branch b has changed since."""
    table = create_table(tmp_path)
    table.write_arrow(keyed({1: "main"}))
    create_tag(table, "one")
    branch_from_tag(table, "b", "one").write_arrow(keyed({2: "branch"}))
    table.write_arrow(keyed({3: "main"}))
    open_warehouse(tmp_path).alter_table("db.t", [SetOption("branch", "b"), SetOption("file.format", "orc")])
    return get_table(tmp_path)


def test_the_branch_is_read_and_written(tmp_path: Path, table: CatalogTable) -> None:
    assert state(table) == {1: "main", 2: "branch"}
    assert table.identifier == "db.t$branch_b"
    table.write_arrow(keyed({1: "new"}))
    compact(None, table, full=True)
    assert state(get_table(tmp_path)) == state(get_table(tmp_path, "db.t$branch_b")) == {1: "new", 2: "branch"}
    assert state(table, options={"branch": "main"}) == {1: "main", 3: "main"}
    (file,) = live_files(table)
    assert file.file_name.endswith(".orc"), "under the options of main"
    snapshots = open_warehouse(tmp_path).get_table("db.t$snapshots").to_arrow()
    assert snapshots["snapshot_id"].to_pylist() == [1, 2, 3, 4]


def test_expiry_is_of_the_branch(tmp_path: Path, table: CatalogTable) -> None:
    table.write_arrow(keyed({1: "new"}))
    expire_snapshots(table, retain_max=1, retain_min=1, older_than=datetime.now(UTC))
    assert table.snapshots.list_ids() == [3]
    assert table.on_branch("main").snapshots.list_ids() == [1, 2]


def test_columns_that_differ_are_refused_until_both_have_them(tmp_path: Path, table: CatalogTable) -> None:
    catalog = open_warehouse(tmp_path)
    catalog.alter_table("db.t$branch_b", [AddColumn("w", "INT")])
    with pytest.raises(SchemaError, match=r"Make the same changes to db\.t\$branch_b"):
        catalog.get_table("db.t")
    catalog.alter_table("db.t", [AddColumn("w", "INT")])
    assert table.schema.field_names != get_table(tmp_path).schema.field_names == ("id", "v", "w")
    catalog.alter_table("db.t", [RemoveOption("branch")])
    assert state(get_table(tmp_path)) == {1: "main", 3: "main"}


def test_branches_that_are_not_there(tmp_path: Path) -> None:
    create_table(tmp_path)
    catalog = open_warehouse(tmp_path)
    with pytest.raises(NotFoundError, match=r"branch 'c' does not exist"):
        catalog.alter_table("db.t", [SetOption("branch", "c")])
    with pytest.raises(OptionError, match=r"'branch' = 'c': a new table has no branch"):
        catalog.create_table("db.u", Schema(KEYED, ["id"], options={"branch": "c"}))
