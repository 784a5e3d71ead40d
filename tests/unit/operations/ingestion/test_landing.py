"""Which landed batches are still to be committed, as the table itself says."""

from datetime import UTC, datetime
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from maintenance.catalog import CatalogTable, Schema, open_catalog
from maintenance.errors import DataError, NotFoundError
from maintenance.fs.file_io import FileIO
from maintenance.operations.expiry.expire_snapshots import expire_snapshots
from maintenance.operations.ingestion.ingest_landed import ingest_landed
from maintenance.operations.ingestion.landing import LandingFolder, committed_identifier, landed_batches
from maintenance.operations.refs.create_tag import create_tag


@pytest.fixture
def table(tmp_path: Path) -> CatalogTable:
    catalog = open_catalog({"warehouse": str(tmp_path)})
    catalog.create_database("db")
    catalog.create_table("db.t", Schema(fields=[("id", "BIGINT")], options={"bucket": "-1"}))
    actual = catalog.get_table("db.t")
    assert isinstance(actual, CatalogTable)
    return actual


def commit(table: CatalogTable, user: str, identifier: int) -> None:
    table.write_arrow(pa.table({"id": pa.array([identifier], pa.int64())}), None, user, identifier)


def expire_all_but_one(table: CatalogTable) -> None:
    expire_snapshots(table, retain_min=1, retain_max=1, older_than=datetime.now(UTC))


def test_a_feed_that_never_committed_starts_at_the_beginning(table: CatalogTable) -> None:
    assert committed_identifier(table, "feed") is None
    commit(table, "someone", 7)
    assert committed_identifier(table, "feed") is None


def test_the_newest_commit_of_the_feed_counts(table: CatalogTable) -> None:
    for identifier in (1, 2):
        commit(table, "feed", identifier)
    commit(table, "someone", 9)
    assert committed_identifier(table, "feed") == 2


def test_a_tag_remembers_what_expired(table: CatalogTable) -> None:
    commit(table, "feed", 5)
    create_tag(table, "kept")
    commit(table, "someone", 9)
    expire_all_but_one(table)
    assert committed_identifier(table, "feed") == 5


def test_a_commit_record_remembers_what_expired(table: CatalogTable) -> None:
    commit(table, "feed", 5)
    for identifier in (9, 10):
        commit(table, "someone", identifier)
    expire_all_but_one(table)
    assert committed_identifier(table, "feed") == 5


def test_a_lost_history_is_an_error_and_no_beginning(table: CatalogTable) -> None:
    commit(table, "feed", 5)
    commit(table, "someone", 9)
    expire_all_but_one(table)
    table.file_io.delete_folder(table.paths.commit_record_folder())
    with pytest.raises(NotFoundError, match="there is no snapshot and no commit record of 'feed'") as caught:
        committed_identifier(table, "feed")
    assert "committed" in caught.value.fix


def test_a_file_that_is_no_batch_is_refused(tmp_path: Path) -> None:
    (tmp_path / "00001-batch-00001.parquet").touch()
    (tmp_path / "_SUCCESS").touch()
    assert [batch.identifier for batch in landed_batches(FileIO(), LandingFolder(str(tmp_path), "feed"))] == [1]
    (tmp_path / "orders.parquet").touch()
    with pytest.raises(DataError, match=r"orders\.parquet"):
        landed_batches(FileIO(), LandingFolder(str(tmp_path), "feed"))


def test_a_folder_that_is_not_there_yet_is_empty(tmp_path: Path) -> None:
    assert landed_batches(FileIO(), LandingFolder(str(tmp_path / "later"), "feed")) == []


def test_this_process_commits_parquet_where_there_is_no_session(table: CatalogTable, tmp_path: Path) -> None:
    folder = tmp_path / "landing"
    folder.mkdir()
    for number in (1, 2):
        pq.write_table(pa.table({"id": [number]}), folder / f"{number}-batch-{number}.parquet")
    (folder / "3-batch-3.parquet").write_bytes(b"PAR1 cut")
    landing = LandingFolder(str(folder), "feed")
    with pytest.raises(DataError, match=r"not a Parquet file.*3-batch-3"):
        ingest_landed(lambda: None, table, landing, progress=lambda _: None)
    assert sorted(table.to_arrow()["id"].to_pylist()) == [1, 2]
