"""Which files of the same rows may be together: new columns of rows, and files that another writer put there."""

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pyarrow as pa
import pytest

from maintenance.catalog import CatalogTable
from maintenance.commit.conflicts import Conflict
from maintenance.commit.row_ranges import torn_rows
from maintenance.format.metadata.manifest import FileKind, ManifestEntry
from maintenance.metadata.manifests import Manifests
from maintenance.operations.rows.update import update
from tests.tables import create_table, live

FIELDS = (("id", "INT"), ("a", "STRING"), ("b", "STRING"))
OPTIONS = {"row-tracking.enabled": "true", "data-evolution.enabled": "true"}


@pytest.fixture
def table(tmp_path: Path) -> CatalogTable:
    """Snapshot 1 adds a file of the row ids 0 to 2, snapshot 2 one of 3 to 5."""
    table = create_table(tmp_path, FIELDS, (), OPTIONS)
    for ids in ([0, 1, 2], [3, 4, 5]):
        texts = [str(i) for i in ids]
        table.write_arrow(pa.table({"id": pa.array(ids, pa.int32()), "a": texts, "b": texts}))
    return table


def columns(table: CatalogTable, first: int, rows: int, name: str = "new.parquet", *cols: str) -> ManifestEntry:
    """New values of columns for some rows; of ``a`` unless others are named."""
    entry = live(table)[0]
    file = replace(
        entry.file, file_name=name, first_row_id=first, row_count=rows, write_cols=cols or ("a",),
        min_sequence_number=3, max_sequence_number=3,
    )  # fmt: skip
    return replace(entry, file=file)


def conflict(table: CatalogTable, *entries: ManifestEntry, seen: int | None = None) -> Conflict | None:
    return torn_rows(table.manifests, entries, table.latest_snapshot(), seen=seen)


@pytest.mark.parametrize("first", [0, 3])
def test_new_columns_of_the_rows_of_a_file_fit(table: CatalogTable, first: int) -> None:
    assert conflict(table, columns(table, first, 3)) is None
    assert conflict(table, columns(table, first, 3), seen=2) is None


@pytest.mark.parametrize(("first", "rows"), [(0, 2), (1, 2), (2, 2), (3, 4), (0, 6)])
def test_other_rows_than_those_of_a_file_do_not(table: CatalogTable, first: int, rows: int) -> None:
    torn = conflict(table, columns(table, first, rows))
    assert torn is not None
    assert "other files" in torn.reason
    assert torn.groups == {(live(table)[0].partition, live(table)[0].bucket)}


def test_rows_that_are_gone_get_no_columns(table: CatalogTable) -> None:
    gone = [replace(entry, kind=FileKind.DELETE) for entry in live(table) if entry.file.first_row_id == 0]
    assert conflict(table, *gone, columns(table, 3, 3), seen=2) is None
    late = conflict(table, *gone, columns(table, 0, 3), seen=2)
    assert late is not None
    assert "same columns" in late.reason
    assert conflict(table, columns(table, 6, 3), seen=2) is not None


def test_who_has_not_seen_the_last_change_of_these_rows_loses(table: CatalogTable) -> None:
    assert conflict(table, columns(table, 0, 3), seen=1) is None
    assert conflict(table, columns(table, 3, 3), seen=1) is not None


def test_numbers_above_the_snapshots_are_no_change(table: CatalogTable) -> None:
    """pypaimon counts on from the id of the snapshot for each file of blobs."""
    update(None, table, {"a": "'new'"}, "id = 1")
    high = [replace(entry, file=replace(entry.file, max_sequence_number=9)) for entry in live(table)]
    manifests = cast("Manifests", SimpleNamespace(live_entries=lambda *_: high))
    for seen, collides in ((3, False), (2, True)):
        actual = torn_rows(manifests, [columns(table, 0, 3)], table.latest_snapshot(), seen=seen)
        assert (actual is not None) == collides


def test_files_beside_the_rows_may_have_some_of_one_file_alone(table: CatalogTable) -> None:
    for first, rows in ((0, 1), (1, 2), (0, 3), (3, 3), (5, 1)):
        assert conflict(table, columns(table, first, rows, "x.blob")) is None
    for first, rows in ((2, 2), (0, 4), (5, 2), (7, 1)):
        assert conflict(table, columns(table, first, rows, "x.blob")) is not None


def test_without_row_ids_there_is_nothing_to_compare(table: CatalogTable) -> None:
    plain = columns(table, 0, 2)
    assert conflict(table, replace(plain, file=replace(plain.file, first_row_id=None)), seen=0) is None
    assert conflict(table, replace(plain, kind=FileKind.DELETE), seen=0) is None
    assert torn_rows(table.manifests, [columns(table, 0, 3)], None) is None


def test_only_the_same_columns_collide(table: CatalogTable) -> None:
    """Snapshot 3 brings new values of column a; whoever began before may still change column b."""
    update(None, table, {"a": "'new'"}, "id = 1")
    assert conflict(table, columns(table, 0, 3, "new.parquet", "b"), seen=2) is None
    assert conflict(table, columns(table, 0, 3, "new.parquet", "a"), seen=2) is not None
    assert conflict(table, columns(table, 0, 3, "new.parquet", "a"), seen=3) is None


def test_files_without_row_ids_hold_no_rows_of_others(tmp_path: Path) -> None:
    """As in a table whose rows had no ids at first."""
    table = create_table(tmp_path, FIELDS, (), {})
    table.write_arrow(pa.table({"id": pa.array([0, 1, 2], pa.int32()), "a": ["x"] * 3, "b": ["x"] * 3}))
    assert live(table)[0].file.first_row_id is None
    assert conflict(table, columns(table, 0, 3)) is None
    late = conflict(table, columns(table, 0, 2), seen=1)
    assert late is not None
    assert "same columns" in late.reason


def test_the_last_rows_of_a_file_meet_the_first_of_the_next(table: CatalogTable) -> None:
    """Files that only touch each other are not of the same rows."""
    (gone,) = (replace(entry, kind=FileKind.DELETE) for entry in live(table) if entry.file.first_row_id == 0)
    assert conflict(table, gone, columns(table, 0, 3), columns(table, 0, 3, "b.parquet"), seen=9) is not None
    assert conflict(table, gone, columns(table, 0, 3), columns(table, 6, 1, "b.parquet")) is None
    assert conflict(table, gone, columns(table, 0, 4), columns(table, 6, 1, "b.parquet")) is not None


def test_who_changes_rows_of_two_files_must_have_seen_both(table: CatalogTable) -> None:
    """A change of rows that only reaches into the next file counts as one of these, too."""
    gone = [replace(entry, kind=FileKind.DELETE) for entry in live(table)]
    assert conflict(table, *gone, columns(table, 0, 6), seen=2) is not None, "none of its rows is there"
    assert conflict(table, columns(table, 3, 3), seen=2) is None
    assert conflict(table, columns(table, 3, 3, "x.blob"), seen=1) is not None
