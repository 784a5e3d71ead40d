"""Stores whose drivers are missing, or do not start."""

import importlib.util
import os

import pytest

from maintenance.catalog import open_catalog
from maintenance.errors import StorageError
from maintenance.fs.file_io import FileIO


@pytest.mark.parametrize(
    ("scheme", "module", "fix"),
    [
        ("gs", "gcsfs", "pip install gcsfs"),
        ("oss", "ossfs", "pip install ossfs"),
        ("nope", "nope", "Use a path on disk, or one of s3://"),
    ],
)
def test_a_store_without_its_driver(scheme: str, module: str, fix: str) -> None:
    if importlib.util.find_spec(module) is not None:
        pytest.skip(f"{module} is installed")
    catalog = open_catalog({"warehouse": f"{scheme}://lake/w"})
    for attempt in (catalog.list_databases, catalog.warehouse_exists, lambda: catalog.get_table("db.t")):
        with pytest.raises(StorageError, match=rf"'{scheme}://' cannot be opened: .*\({scheme}://lake/w.*{fix}"):
            attempt()


@pytest.mark.skipif("HADOOP_HOME" in os.environ, reason="Hadoop is installed")
def test_hdfs_without_hadoop() -> None:
    with pytest.raises(StorageError, match=r"'hdfs://' cannot be opened: .*\(hdfs://host/w/x\)\. .*libhdfs") as caught:
        FileIO().read_bytes("hdfs://host/w/x")
    assert "\n" not in str(caught.value)


def test_settings_that_a_driver_does_not_know() -> None:
    catalog = open_catalog({"warehouse": "github://lake/w", "fs.org": "no repo"})
    with pytest.raises(StorageError, match=r"Check the catalog options fs\.org"):
        catalog.list_databases()
