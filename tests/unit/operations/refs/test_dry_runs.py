"""Dry runs of what changes branches: they check and report as the step does, and change nothing."""

import os
from pathlib import Path

import pytest

from maintenance.catalog import CatalogTable, SetOption, open_catalog
from maintenance.errors import CorruptFileError, NotFoundError, OptionError
from maintenance.metadata.branches import Branches
from maintenance.operations import (
    compact,
    create_branch,
    create_tag,
    delete_branch,
    fast_forward,
    remove_orphan_files,
    rename_branch,
)
from maintenance.sql import Session
from tests.small_tables import put, rows, rows_of_tag, small_table


def contents(folder: Path) -> dict[str, bytes]:
    return {str(path): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.fixture
def table(tmp_path: Path) -> CatalogTable:
    """Main with snapshots 1 to 4 and tags of 2 and 4; the branch with 2 and 3 of its own, and a tag."""
    table = small_table(tmp_path)
    for number in (1, 2):
        put(table, {number: "a"})
    create_branch(table, "b", snapshot_id=2)
    for number in (3, 4):
        put(table, {number: "a"})
    create_tag(table, "two", snapshot_id=2)
    create_tag(table, "four", snapshot_id=4)
    put(table.on_branch("b"), {9: "b"})
    create_tag(table.on_branch("b"), "of b")
    return table


def branches(table: CatalogTable) -> list[str]:
    return Branches(table.file_io, table.paths).names()


def test_a_dry_fast_forward_tells_what_leaves_and_what_comes(table: CatalogTable, tmp_path: Path) -> None:
    before, tags = contents(tmp_path), set(table.tags.names())
    dry = fast_forward(table, "b", dry_run=True)
    assert contents(tmp_path) == before
    assert (dry.previous, dry.current, dry.dry_run) == (4, 3, True)
    assert (dry.leaving, dry.coming) == ((3, 4), (3,))
    assert (dry.leaving_tags, dry.coming_tags) == (("four", "two"), ("of b",))
    done = fast_forward(table, "b")
    assert (done.leaving, done.coming, done.leaving_tags) == (dry.leaving, dry.coming, dry.leaving_tags)
    assert tags - set(table.tags.names()) == set(dry.leaving_tags)
    assert rows(table) == [(1, "a"), (2, "a"), (9, "b")]
    again = fast_forward(table, "b", dry_run=True)
    assert (again.leaving, again.coming, again.leaving_tags, again.coming_tags) == ((), (), (), ())


def test_a_fast_forward_that_would_fail_fails_dry(table: CatalogTable) -> None:
    branch = table.on_branch("b")
    (entry,) = branch.manifests.delta_entries(branch.snapshots.get(3))
    Path(table.paths.data_file(entry.partition, entry.bucket, entry.file)).unlink()
    with pytest.raises(CorruptFileError):
        fast_forward(table, "b", dry_run=True)


def test_a_dry_deletion_tells_what_only_the_branch_needs(table: CatalogTable, tmp_path: Path) -> None:
    branch = table.on_branch("b")
    (own,) = branch.manifests.delta_entries(branch.snapshots.get(3))
    before = contents(tmp_path)
    dry = delete_branch(table, "b", dry_run=True)
    assert contents(tmp_path) == before
    assert (dry.snapshots, dry.tags) == ((2, 3), ("of b",))
    assert (dry.orphan_files, dry.orphan_bytes) == (1, own.file.file_size), "main needs the others"
    assert delete_branch(table, "b").orphan_files is None
    assert branches(table) == ["main"]
    old = 1_577_836_800
    for path in Path(table.location).rglob("*"):
        os.utime(path, (old, old))
    removed = remove_orphan_files(None, table)
    assert [orphan.bytes for orphan in removed.orphans if orphan.kind == "data file"] == [own.file.file_size]


def test_what_main_has_merged_since_is_left_to_the_branch(table: CatalogTable) -> None:
    compact(None, table, full=True)
    assert delete_branch(table, "b", dry_run=True).orphan_files == 1, "main's older snapshots still need the others"
    create_branch(table, "same", snapshot_id=2)
    assert delete_branch(table, "same", dry_run=True).orphan_files == 0
    with pytest.raises(NotFoundError):
        delete_branch(table, "none", dry_run=True)


def test_a_dry_renaming_checks_and_tells_the_options_it_concerns(table: CatalogTable, tmp_path: Path) -> None:
    dry = rename_branch(table, "b", "c", dry_run=True)
    assert (dry.options, branches(table)) == ((), ["main", "b"])
    with pytest.raises(OptionError):
        rename_branch(table, "main", "c", dry_run=True)
    catalog = open_catalog({"warehouse": str(tmp_path)})
    catalog.alter_table("db.t", [SetOption("scan.fallback-branch", "b")])
    named = catalog.get_table("db.t")
    assert rename_branch(named, "b", "c", dry_run=True).options == ("scan.fallback-branch",)
    assert rename_branch(named, "b", "c").dry_run is False
    assert branches(table) == ["main", "c"]


def test_they_are_parameters_of_procedures(table: CatalogTable, tmp_path: Path) -> None:
    session, before = Session({"warehouse": str(tmp_path)}), contents(tmp_path)

    def call(text: str) -> list[dict[str, object]]:
        actual: list[dict[str, object]] = session.sql(f"CALL sys.{text}").to_arrow().to_pylist()
        return actual

    assert {"kind": "tag", "change": "goes", "name": "four"} in call(
        "fast_forward(`table` => 'db.t', branch => 'b', dry_run => true)"
    )
    (gone,) = call("delete_branch(`table` => 'db.t', branch => 'b', dry_run => true)")
    assert (gone["snapshots"], gone["tags"], gone["orphan_files"]) == (2, 1, 1)
    named = call("rename_branch(`table` => 'db.t', from_branch => 'b', to_branch => 'c', dry_run => true)")
    assert named == [{"from_branch": "b", "to_branch": "c", "options": ""}]
    assert call("rollback(`table` => 'db.t', version => '1', dry_run => true)") == [
        {"previous_snapshot_id": 4, "current_snapshot_id": 1, "snapshots": 3, "tags": "four, two"}
    ]
    assert contents(tmp_path) == before
    assert rows_of_tag(table, "two") == [(1, "a"), (2, "a")]
