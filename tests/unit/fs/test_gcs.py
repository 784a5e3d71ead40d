"""A warehouse on Google Cloud Storage: what its driver does otherwise than S3's."""

import json
from urllib.request import Request, urlopen

import pytest

from maintenance.catalog import CatalogTable, Schema, open_catalog
from maintenance.errors import StorageAccessError
from maintenance.fs.file_io import FileIO
from tests.servers.gcs import GCS
from tests.tables import KEYED, keyed, state

pytestmark = pytest.mark.slow


def test_first_steps_in_an_empty_bucket(gcs: GCS) -> None:
    catalog = open_catalog(gcs.options(gcs.new_bucket()))
    assert catalog.list_databases() == []
    catalog.create_database("db")
    catalog.create_table("db.t", Schema(KEYED, ["id"], options={"bucket": "1"}))
    for rows in ({1: "a"}, {1: "b", 2: "c"}):
        table = catalog.get_table("db.t")
        assert isinstance(table, CatalogTable)
        table.write_arrow(keyed(rows))
    catalog.rename_table("db.t", "db.u")
    table = catalog.get_table("db.u")
    assert isinstance(table, CatalogTable)
    assert state(table) == {1: "b", 2: "c"}
    catalog.drop_database("db", cascade=True)
    assert catalog.list_databases() == []


def test_a_published_name_is_not_replaced_by_other_content(gcs: GCS) -> None:
    path, file_io = f"gs://{gcs.new_bucket()}/wh/snapshot-1", FileIO.of(gcs.options("x"))
    assert file_io.publish(path, b"first")
    assert not file_io.publish(path, b"second")
    assert file_io.read_bytes(path) == b"first"
    assert file_io.publish(path, b"first")


def test_more_files_than_a_page_holds_are_listed_and_deleted(gcs: GCS) -> None:
    folder, file_io = f"gs://{gcs.new_bucket()}/wh/f", FileIO.of(gcs.options("x"))
    names = [f"{number:04}" for number in range(1100)]
    for name in names:
        file_io.write_bytes(f"{folder}/{name}", b"")
    assert sorted(file_io.list_names(folder)) == names
    file_io.delete_unordered([f"{folder}/{name}" for name in (*names, "missing")])
    assert file_io.list_names(folder) == []


@pytest.mark.parametrize("size", [0, 1, 20 << 20])
def test_files_of_all_sizes(gcs: GCS, size: int) -> None:
    path, file_io = f"gs://{gcs.new_bucket()}/wh/f", FileIO.of(gcs.options("x"))
    content = bytes(range(256)) * (size // 256) + b"x" * (size % 256)
    with file_io.open_output(path) as sink:
        for start in range(0, size, 3 << 20):
            sink.write(content[start : start + (3 << 20)])
    for known in (size, None, size + 7):
        with file_io.open_input(path, known) as source:
            assert source.size() == size
            assert source.read() == content
    assert file_io.read_part(path, size + 1, 5) == (b"", size)


def test_folders_of_other_programs(gcs: GCS) -> None:
    """Hadoop's connector leaves an empty object whose name ends with a slash."""
    bucket = gcs.new_bucket()
    for name in ("wh%2Fdb.db%2F", "wh%2Fother.db%2F"):
        address = f"{gcs.server}/upload/storage/v1/b/{bucket}/o?uploadType=media&name={name}"
        urlopen(Request(address, data=b"", headers={"Content-Type": "application/octet-stream"})).close()
    catalog = open_catalog(gcs.options(bucket))
    assert (catalog.list_databases(), catalog.list_tables("db")) == (["db", "other"], [])
    catalog.drop_database("db", cascade=True)
    with urlopen(f"{gcs.server}/storage/v1/b/{bucket}/o") as answer:
        assert [item["name"] for item in json.load(answer)["items"]] == ["wh/other.db/"]


def test_a_missing_bucket_is_not_an_empty_warehouse(gcs: GCS) -> None:
    catalog = open_catalog(gcs.options("no-such-bucket"))
    with pytest.raises(StorageAccessError, match="the bucket 'no-such-bucket' does not exist"):
        catalog.list_databases()
