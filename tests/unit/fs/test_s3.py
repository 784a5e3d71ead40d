"""A warehouse on S3, through a server of this process."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from maintenance.catalog import Catalog, CatalogTable, Schema, open_catalog
from maintenance.errors import StorageAccessError, StorageError
from maintenance.fs.file_io import FileIO
from tests.servers import s3 as s3_server
from tests.servers.s3 import S3
from tests.tables import KEYED, keyed, state

pytest.importorskip("s3fs", reason="s3fs is not installed: run scripts/install test.")
pytest.importorskip("moto", reason="moto is not installed: run scripts/install test.")


@pytest.fixture(scope="module")
def s3() -> Iterator[S3]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("AWS_DEFAULT_REGION", "us-east-1")
        with s3_server.running() as server:
            yield server


@pytest.fixture
def catalog(s3: S3) -> Catalog:
    return open_catalog(s3.options(s3.new_bucket()))


def table_of(catalog: Catalog) -> CatalogTable:
    table = catalog.get_table("db.t")
    assert isinstance(table, CatalogTable)
    return table


def test_first_steps_in_an_empty_bucket(catalog: Catalog) -> None:
    assert catalog.list_databases() == []
    catalog.create_database("db")
    catalog.create_database("db", ignore_if_exists=True)
    assert (catalog.list_databases(), catalog.list_tables("db")) == (["db"], [])
    catalog.create_table("db.t", Schema(KEYED, ["id"], options={"bucket": "1"}))
    table_of(catalog).write_arrow(keyed({1: "a"}))
    table_of(catalog).write_arrow(keyed({1: "b", 2: "c"}))
    assert state(table_of(catalog)) == {1: "b", 2: "c"}
    catalog.rename_table("db.t", "db.u")
    catalog.rename_table("db.u", "db.t")
    assert state(table_of(catalog)) == {1: "b", 2: "c"}
    catalog.drop_database("db", cascade=True)
    assert catalog.list_databases() == []


def test_what_others_write_is_seen_at_once(s3: S3) -> None:
    """Two that list a folder before the other writes to it see the other's files."""
    path = f"s3://{s3.new_bucket()}/wh/f"
    one, other = (FileIO.of({**s3.options("x"), "fs.max_concurrency": n}) for n in ("9", "10"))
    one.write_bytes(f"{path}/a", b"1")
    assert (one.list_names(path), other.list_names(path)) == (["a"], ["a"])
    other.write_bytes(f"{path}/b", b"2")
    assert (one.list_names(path), one.exists(f"{path}/b"), one.size(f"{path}/b")) == (["a", "b"], True, 1)
    assert [file.path for file in one.list_tree(path)] == ["a", "b"]


def test_publishing_is_conditional(s3: S3) -> None:
    path, file_io = f"s3://{s3.new_bucket()}/wh/snapshot-1", FileIO.of(s3.options("x"))
    assert file_io.publish(path, b"first")
    assert not file_io.publish(path, b"second")
    assert file_io.read_bytes(path) == b"first"
    # What a request that is sent again after a lost answer finds is its own object.
    assert file_io.publish(path, b"first")


def test_many_files_are_deleted_in_few_requests(s3: S3, caplog: pytest.LogCaptureFixture) -> None:
    folder, file_io = f"s3://{s3.new_bucket()}/wh", FileIO.of(s3.options("x"))
    names = [f"{folder}/f{n}" for n in range(30)]
    for name in names:
        file_io.write_bytes(name, b"1")
    with caplog.at_level("INFO", logger="werkzeug"):
        caplog.clear()
        file_io.delete_unordered([*names, f"{folder}/missing"])
    assert len(caplog.records) == 1
    assert file_io.list_names(folder) == []
    file_io.delete_unordered(names)
    file_io.delete_quietly(names[:2])


def test_a_missing_bucket_is_not_an_empty_warehouse(s3: S3) -> None:
    catalog = open_catalog(s3.options("no-such-bucket"))
    for attempt in (catalog.list_databases, lambda: catalog.create_database("db"), lambda: catalog.get_table("db.t")):
        with pytest.raises(StorageAccessError, match="the bucket 'no-such-bucket' does not exist"):
            attempt()


def test_a_server_that_is_not_there(tmp_path: Path) -> None:
    del tmp_path
    retries = {"fs.config_kwargs": '{"retries": {"max_attempts": 0}, "connect_timeout": 1}'}
    options = {"warehouse": "s3://lake/wh", "s3.endpoint": "http://127.0.0.1:1", **retries}
    catalog = open_catalog({**options, "s3.access-key": "k", "s3.secret-key": "dont-show-me"})
    with pytest.raises(StorageError, match="s3://lake/wh") as caught:
        catalog.list_databases()
    assert "dont-show-me" not in str(caught.value)
