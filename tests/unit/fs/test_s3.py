"""A warehouse on S3, through a server of this process."""

from pathlib import Path

import pytest

from maintenance.catalog import Catalog, Schema, open_catalog
from maintenance.errors import StorageAccessError, StorageError
from maintenance.fs.file_io import FileIO
from tests.servers.relay import Relay
from tests.servers.s3 import S3
from tests.tables import KEYED, keyed, state, table_of


@pytest.fixture
def catalog(s3: S3) -> Catalog:
    return open_catalog(s3.options(s3.new_bucket()))


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
    one, other = (FileIO.of({**s3.options("x"), "fs.max_retries": n}) for n in ("9", "10"))
    one.write_bytes(f"{path}/a", b"1")
    assert (one.list_names(path), other.list_names(path)) == (["a"], ["a"])
    other.write_bytes(f"{path}/b", b"2")
    assert (one.list_names(path), one.exists(f"{path}/b"), one.size(f"{path}/b")) == (["a", "b"], True, 1)
    assert [file.path for file in one.list_tree(path)] == ["a", "b"]


def test_a_published_name_is_not_replaced_by_other_content(s3: S3) -> None:
    path, file_io = f"s3://{s3.new_bucket()}/wh/snapshot-1", FileIO.of(s3.options("x"))
    assert file_io.publish(path, b"first")
    assert not file_io.publish(path, b"second")
    assert file_io.read_bytes(path) == b"first"
    # What a request that is sent again after a lost answer finds is its own object.
    assert file_io.publish(path, b"first")


def test_many_files_are_deleted_in_few_requests(s3: S3, relay: Relay) -> None:
    folder, file_io = f"s3://{s3.new_bucket()}/wh", FileIO.of(s3.options("x"))
    names = [f"{folder}/f{n}" for n in range(30)]
    for name in names:
        file_io.write_bytes(name, b"1")
    relay.reset()
    file_io.delete_unordered([*names, f"{folder}/missing"])
    assert relay.counts == {"BULK_DELETE": 1}
    assert file_io.list_names(folder) == []
    file_io.delete_unordered(names)
    file_io.delete_quietly(names[:2])


def test_more_files_than_a_page_holds_are_listed_and_deleted(
    s3: S3, relay: Relay, monkeypatch: pytest.MonkeyPatch
) -> None:
    bucket, file_io = s3.new_bucket(), FileIO.of(s3.options("x"))
    client = s3.client()
    monkeypatch.setenv("MOTO_S3_DEFAULT_MAX_KEYS", "5")
    for n in range(12):
        client.put_object(Bucket=bucket, Key=f"wh/f/{n:04}", Body=b"")
    relay.reset()
    assert len(file_io.list_names(f"s3://{bucket}/wh/f")) == 12
    assert relay.counts == {"LIST": 3}
    file_io.delete_folder(f"s3://{bucket}/wh/f")
    assert relay.counts == {"LIST": 7, "BULK_DELETE": 1}
    assert not file_io.folder_exists(f"s3://{bucket}/wh/f")


def test_folders_of_other_programs(s3: S3) -> None:
    """Hadoop's stores leave an empty object whose key ends with a slash."""
    bucket, client = s3.new_bucket(), s3.client()
    for key in ("wh/db.db/", "wh/db.db/t 1/", "wh/other.db/"):
        client.put_object(Bucket=bucket, Key=key, Body=b"")
    catalog = open_catalog(s3.options(bucket))
    assert (catalog.list_databases(), catalog.list_tables("db")) == (["db", "other"], [])
    assert FileIO.of(s3.options(bucket)).list_files(f"s3://{bucket}/wh/db.db") == []
    catalog.drop_database("db", cascade=True)
    assert catalog.list_databases() == ["other"]
    assert [item["Key"] for item in client.list_objects_v2(Bucket=bucket)["Contents"]] == ["wh/other.db/"]


@pytest.mark.parametrize("size", [0, 1, 5 << 20, 20 << 20])
def test_files_of_all_sizes(s3: S3, relay: Relay, size: int) -> None:
    path, file_io = f"s3://{s3.new_bucket()}/wh/f", FileIO.of(s3.options("x"))
    content = bytes(range(256)) * (size // 256) + b"x" * (size % 256)
    with file_io.open_output(path) as sink:
        for start in range(0, size, 3 << 20):
            sink.write(content[start : start + (3 << 20)])
        assert sink.tell() == size
    for known in (size, None, size + 7):
        relay.reset()
        with file_io.open_input(path, known) as source:
            assert source.size() == size
            for start in (size - 8, size // 2, 0):
                source.seek(max(0, start))
                assert source.read(100) == content[max(0, start) : max(0, start) + 100]
            source.seek(min(1, size))
            assert source.read() == content[1:]
        assert relay.counts["HEAD"] <= (size == 0)
    assert file_io.read_part(path, 3, 2 * size) == (content[3:], size)
    assert file_io.read_part(path, size + 1, 5) == (b"", size)


def test_a_missing_bucket_is_not_an_empty_warehouse(s3: S3) -> None:
    catalog = open_catalog(s3.options("no-such-bucket"))
    for attempt in (catalog.list_databases, lambda: catalog.create_database("db"), lambda: catalog.get_table("db.t")):
        with pytest.raises(StorageAccessError, match="the bucket 'no-such-bucket' does not exist"):
            attempt()


def test_a_server_that_is_not_there(tmp_path: Path) -> None:
    del tmp_path
    retries = {"fs.max_retries": "1"}
    options = {"warehouse": "s3://lake/wh", "s3.endpoint": "http://127.0.0.1:1", **retries}
    catalog = open_catalog({**options, "s3.access-key": "k", "s3.secret-key": "dont-show-me"})
    with pytest.raises(StorageError, match="s3://lake/wh") as caught:
        catalog.list_databases()
    assert "dont-show-me" not in str(caught.value)
