"""Small files under another one's name are found; damaged ones that hold nothing known are passed over."""

import shutil
from pathlib import Path

import pytest

from maintenance.catalog import CatalogTable
from maintenance.errors import CorruptFileError
from maintenance.metadata.branches import Branches
from maintenance.metadata.own_files import check_own_files
from maintenance.operations.refs.create_branch import create_branch
from maintenance.operations.refs.create_tag import create_tag
from tests.small_tables import put, small_table


@pytest.fixture
def table(tmp_path: Path) -> CatalogTable:
    table = small_table(tmp_path)
    for value in "ab":
        put(table, {1: value})
    create_tag(table, "t", snapshot_id=1)
    create_branch(table, "b", tag="t")
    table.changelogs.keep(table.snapshots.get(1))
    return table


def check(table: CatalogTable) -> None:
    check_own_files(Branches(table.file_io, table.paths))


def test_a_table_as_it_should_be(table: CatalogTable) -> None:
    check(table)


@pytest.mark.parametrize(
    ("source", "target", "found"),
    [
        ("snapshot/snapshot-2", "snapshot/snapshot-1", "expected snapshot 1, found snapshot 2"),
        ("snapshot/snapshot-2", "branch/branch-b/snapshot/snapshot-1", "expected snapshot 1, found snapshot 2"),
        ("snapshot/snapshot-2", "changelog/changelog-1", "expected changelog 1, found changelog 2"),
        ("schema/schema-0", "tag/tag-t", "expected a tag, found a file of another kind"),
        ("tag/tag-t", "schema/schema-0", "expected schema 0, found a file of another kind"),
        ("tag/tag-t", "branch/branch-b/schema/schema-0", "expected schema 0, found a file of another kind"),
    ],
)
def test_a_file_under_another_name(table: CatalogTable, source: str, target: str, found: str) -> None:
    root = Path(table.location)
    shutil.copy(root / source, root / target)
    with pytest.raises(CorruptFileError, match=found):
        check(table)


def test_a_file_of_another_format(table: CatalogTable) -> None:
    manifest = next(Path(table.location, "manifest").iterdir())
    shutil.copy(manifest, table.paths.tag("t"))
    with pytest.raises(CorruptFileError, match="expected a tag, found what cannot be read"):
        check(table)


def test_damaged_files_that_hold_nothing_known_are_passed_over(table: CatalogTable) -> None:
    Path(table.paths.snapshot(1)).write_bytes(b"\0" * 50)
    Path(table.paths.tag("t")).write_bytes(b"")
    check(table)
