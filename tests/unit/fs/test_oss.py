"""OSS through its S3-compatible API, as a job's catalog gives it: requests go to the bucket's own host."""

import logging
from collections.abc import Iterator

import pytest

from maintenance.errors import StorageAccessError
from maintenance.fs import object_storage
from maintenance.fs.file_io import FileIO
from maintenance.fs.storages import oss_region
from maintenance.metadata.branches import Branches
from maintenance.operations import (
    compact,
    create_branch,
    create_tag,
    expire_snapshots,
    fsck,
    remove_orphan_files,
    rename_branch,
)
from tests.servers.s3 import S3, running
from tests.small_tables import put, rows, small_table, table_in


@pytest.fixture(scope="module")
def server() -> Iterator[S3]:
    """A server without a relay: requests to OSS's hosts reach it as those of a proxy's clients do."""
    with running() as s3:
        yield s3


@pytest.fixture
def options(server: S3) -> dict[str, str]:
    keys = {"fs.oss.accessKeyId": "123", "fs.oss.accessKeySecret": "456", "fs.oss.proxy-url": server.url}
    place = {"warehouse": f"oss://{server.new_bucket()}/wh", "fs.oss.endpoint": "http://oss-eu-central-1.aliyuncs.com"}
    return {**place, **keys}


def test_a_table_lives_in_a_bucket(options: dict[str, str], server: S3) -> None:
    table = small_table(options)
    for number in range(4):
        put(table, {number: "a", 9: f"{number}"}, deleted=[7])
    create_tag(table, "t", snapshot_id=2)
    create_branch(table, "b", tag="t")
    put(table.on_branch("b"), {5: "branch"})
    rename_branch(table, "b", "c")
    compact(None, table, full=True)
    expire_snapshots(table, retain_min=1, retain_max=1)
    remove_orphan_files(None, table)
    actual = table_in(options)
    assert rows(actual) == [(0, "a"), (1, "a"), (2, "a"), (3, "a"), (9, "3")]
    assert rows(actual.on_branch("c")) == [(0, "a"), (1, "a"), (5, "branch"), (9, "1")]
    assert Branches(actual.file_io, actual.paths).names() == ["main", "c"]
    assert fsck(actual.file_io, actual.location, deep=True).healthy
    bucket = options["warehouse"].removeprefix("oss://").partition("/")[0]
    names = [actual["Key"] for actual in server.client().list_objects_v2(Bucket=bucket)["Contents"]]
    assert all(name.startswith("wh/db.db/t/") or name.endswith(".folder") for name in names)


def test_an_object_is_created_once(options: dict[str, str], caplog: pytest.LogCaptureFixture) -> None:
    """As on S3: the condition is the same. Whether OSS itself honours it, no emulator can tell, and the log says so."""
    object_storage._warn_of_oss.cache_clear()
    file_io, path = FileIO.of(options), f"{options['warehouse']}/snapshot-1"
    with caplog.at_level(logging.WARNING):
        assert file_io.publish(path, b"first")
        assert not file_io.publish(path, b"second")
    assert file_io.read_bytes(path) == b"first"
    assert caplog.text.count("whether OSS honours 'create if absent' is not known") == 1


def test_a_bucket_that_does_not_exist_is_an_error(options: dict[str, str]) -> None:
    with pytest.raises(StorageAccessError, match="the bucket 'nowhere-at-all' does not exist"):
        table_in({**options, "warehouse": "oss://nowhere-at-all/wh"})


@pytest.mark.parametrize(
    ("endpoint", "region"),
    [
        ("https://oss-cn-hangzhou.aliyuncs.com", "cn-hangzhou"),
        ("https://oss-cn-hangzhou-internal.aliyuncs.com", "cn-hangzhou"),
        ("https://s3.oss-ap-southeast-1.aliyuncs.com", "ap-southeast-1"),
        ("https://lake.oss-eu-central-1.aliyuncs.com", "eu-central-1"),
        ("http://storage.example.com:9000", "storage"),
    ],
)
def test_requests_are_signed_for_the_region_of_the_endpoint(endpoint: str, region: str) -> None:
    assert oss_region(endpoint) == region
