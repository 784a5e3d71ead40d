"""Commits of new columns of rows: what kind of snapshot they are, and what others may have done meanwhile."""

from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pytest

from maintenance.catalog import CatalogTable
from maintenance.commit.columns import commit_columns
from maintenance.commit.identity import CommitIdentity
from maintenance.errors import ConflictError
from maintenance.format.metadata.snapshot import CommitKind
from maintenance.operations import create_global_index, delete
from maintenance.write.message import CommitMessage
from tests.tables import create_table, live

FIELDS = (("id", "INT"), ("a", "STRING"), ("b", "STRING"))
OPTIONS = {"row-tracking.enabled": "true", "data-evolution.enabled": "true", "deletion-vectors.enabled": "true"}
A, B = 1, 2


@pytest.fixture
def table(tmp_path: Path) -> CatalogTable:
    """One snapshot with the row ids 0 to 2."""
    table = create_table(tmp_path, FIELDS, (), OPTIONS)
    table.write_arrow(pa.table({"id": pa.array([0, 1, 2], pa.int32()), "a": ["x"] * 3, "b": ["y"] * 3}))
    return table


def columns(table: CatalogTable, rows: int = 3, column: str = "a") -> CommitMessage:
    """New values of a column of the first rows."""
    entry = live(table)[0]
    file = replace(entry.file, file_name=f"new-{column}.parquet", first_row_id=0, row_count=rows, write_cols=(column,))
    Path(table.paths.data_file(entry.partition, entry.bucket, file)).touch()
    return CommitMessage(entry.partition, entry.bucket, entry.total_buckets, new_files=(file,))


def commit(table: CatalogTable, message: CommitMessage, *updated: int, seen: int = 1) -> int:
    return commit_columns(
        table.commit_target(), [message], [], CommitIdentity("me"), table.snapshots.get(seen), updated
    )


def indexed(table: CatalogTable) -> list[int]:
    """The columns that have global indexes."""
    snapshot = table.latest_snapshot()
    assert snapshot is not None
    metas = [entry.global_index for entry in table.manifests.read_index(snapshot)]
    return sorted(meta.index_field_id for meta in metas if meta is not None)


def test_columns_are_added_beside_those_that_stay(table: CatalogTable) -> None:
    assert commit(table, columns(table), A) == 2
    snapshot = table.snapshots.get(2)
    assert (snapshot.commit_kind, snapshot.commit_user) == (CommitKind.APPEND, "me")
    assert len(live(table)) == 2
    delete(None, table, "id = 1")
    assert table.snapshots.get(3).commit_kind == CommitKind.OVERWRITE, "rows go"


def test_columns_of_a_part_of_the_rows_of_a_file_are_refused(table: CatalogTable) -> None:
    message = columns(table, rows=2)
    with pytest.raises(ConflictError):
        commit(table, message, A)
    assert table.snapshots.list_ids() == [1]
    assert not Path(table.paths.data_file(message.partition, message.bucket, message.new_files[0])).exists()


def test_the_same_columns_that_others_changed_meanwhile_are_refused(table: CatalogTable) -> None:
    table.update({"a": "'other'"}, "id = 0")
    with pytest.raises(ConflictError):
        commit(table, columns(table), A, seen=1)
    assert commit(table, columns(table, column="b"), B, seen=1) == 3


def test_an_index_on_the_columns_that_came_meanwhile(table: CatalogTable) -> None:
    create_global_index(None, table, "a", "btree")
    with pytest.raises(ConflictError, match="the columns got a global index meanwhile"):
        commit(table, columns(table), A)
    assert commit(table, columns(table, column="b"), B) == 3
    assert indexed(table) == [A]


def test_indexes_go_with_the_old_values_where_an_option_says_so(table: CatalogTable) -> None:
    create_global_index(None, table, "a", "btree")
    create_global_index(None, table, "b", "bitmap")
    dropping = table.copy({"global-index.column-update-action": "drop-partition-index"})
    assert commit(dropping, columns(table), A) == 4
    assert indexed(table) == [B]
