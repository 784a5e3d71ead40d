"""Stores whose drivers are missing, or do not start."""

import importlib.util
import multiprocessing
from collections.abc import Mapping

import pytest

from maintenance.catalog import open_catalog
from maintenance.errors import StorageAccessError, StorageError
from maintenance.fs.file_io import FileIO


@pytest.mark.parametrize(
    ("scheme", "module", "fix"),
    [
        ("sftp", "paramiko", r"Install its driver .*SFTPFileSystem"),
        ("nope", "nope", "Use a path on disk, or one of s3://"),
        ("oss", "nope", "'fs.oss.endpoint' is not set"),
    ],
)
def test_a_store_without_its_driver_or_address(scheme: str, module: str, fix: str) -> None:
    if importlib.util.find_spec(module) is not None:
        pytest.skip(f"{module} is installed")
    catalog = open_catalog({"warehouse": f"{scheme}://lake/w"})
    for attempt in (catalog.list_databases, catalog.warehouse_exists, lambda: catalog.get_table("db.t")):
        with pytest.raises(StorageError, match=rf"'{scheme}://' cannot be opened: .*\({scheme}://lake/w") as caught:
            attempt()
        assert caught.match(fix)


def test_settings_that_a_driver_does_not_know() -> None:
    catalog = open_catalog({"warehouse": "github://lake/w", "fs.org": "no repo"})
    with pytest.raises(StorageError, match=r"Check the catalog options fs\.org"):
        catalog.list_databases()


@pytest.mark.parametrize(
    ("warehouse", "options"),
    [
        ("s3://lake/w", {"s3.path.style.access": "dont-show-me"}),
        ("gs://lake/w", {"fs.gs.auth.service.account.json.keyfile": "/dont-show-me.json"}),
        ("gs://lake/w", {"fs.service_account_key": '{"private_key": "dont-show-me"}'}),
        ("abfss://c@lake.dfs.core.windows.net/w", {"fs.azure.account.key.lake.dfs.core.windows.net": "dont-show-me"}),
    ],
)
def test_settings_that_are_wrong_are_not_shown(warehouse: str, options: Mapping[str, str]) -> None:
    with pytest.raises(StorageAccessError, match="cannot be opened") as caught:
        open_catalog({"warehouse": warehouse, **options}).list_databases()
    assert "dont-show-me" not in str(caught.value)
    assert caught.value.__cause__ is None
    assert all(option.removeprefix("fs.") in str(caught.value) for option in options)


def _lookup() -> None:
    keys = {"s3.access-key": "k", "s3.secret-key": "s", "fs.max_retries": "0"}
    FileIO.of({"s3.endpoint": "http://127.0.0.1:1", **keys}).exists("s3://lake/x")


def _exists_in_child(answers: "multiprocessing.SimpleQueue[str]") -> None:
    try:
        _lookup()
    except StorageError as error:
        answers.put(str(error))


def test_a_process_that_was_forked_says_so_and_does_not_hang() -> None:
    with pytest.raises(StorageError, match="connection refused"):
        _lookup()
    fork = multiprocessing.get_context("fork")
    answers = fork.SimpleQueue()
    child = fork.Process(target=_exists_in_child, args=(answers,))
    child.start()
    child.join(60)
    assert "forked from one that has used object stores" in answers.get()
