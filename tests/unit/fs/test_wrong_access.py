"""Azure and Google Cloud Storage: wrong keys, missing containers and answers that send elsewhere are errors of ours."""

import base64
from collections.abc import Callable
from pathlib import Path

import pytest

from maintenance.catalog import open_catalog
from maintenance.errors import PaimonError, StorageAccessError
from maintenance.fs.file_io import FileIO
from tests.servers.azure import ACCOUNT, Azure
from tests.servers.gcs import GCS

_KEY = f"fs.azure.account.key.{ACCOUNT}.dfs.core.windows.net"


def attempts(options: dict[str, str]) -> list[Callable[[], object]]:
    """Opening a warehouse to look into it and to write, and what the engine does on files there."""
    path, file_io = f"{options['warehouse']}/f", FileIO.of(options)
    return [
        lambda: open_catalog(options).list_databases(),
        lambda: open_catalog(options).create_database("db"),
        lambda: file_io.read_bytes(path),
        lambda: file_io.publish(path, b"x"),
        lambda: file_io.list_names(options["warehouse"]),
        lambda: file_io.delete_unordered([path]),
    ]


@pytest.mark.slow
def test_another_accounts_key_for_azure(azure: Azure) -> None:
    wrong = base64.b64encode(b"another accounts key").decode()
    options = {**azure.options(azure.new_container()), _KEY: wrong}
    for attempt in attempts(options):
        with pytest.raises(StorageAccessError, match=r"\(abfs://.*\)\. Check the keys") as caught:
            attempt()
        assert wrong not in str(caught.value)


@pytest.mark.slow
def test_a_missing_container_of_azure(azure: Azure) -> None:
    options = azure.options("missing")
    for attempt in attempts(options)[:5]:
        with pytest.raises(StorageAccessError, match=r"missing.*does not exist"):
            attempt()


def test_a_key_of_azure_that_is_no_key() -> None:
    options = {"warehouse": f"abfs://c@{ACCOUNT}.dfs.core.windows.net/wh", _KEY: "not-base64-dont-show-me"}
    with pytest.raises(PaimonError, match=r"abfs://|fs\.azure") as caught:
        open_catalog(options).list_databases()
    assert "dont-show-me" not in str(caught.value)


@pytest.mark.parametrize(
    ("content", "named"),
    [
        (None, "does not exist"),
        ("{}", "keys.json"),
        ("not json", "keys.json"),
        ('{"type": "dont-show-me"}', "keys.json"),
    ],
)
def test_key_files_of_google_that_are_wrong(tmp_path: Path, content: str | None, named: str) -> None:
    path = tmp_path / "keys.json"
    if content is not None:
        path.write_text(content)
    options = {"warehouse": "gs://lake/wh", "fs.gs.auth.service.account.json.keyfile": str(path)}
    fix = r"cannot be opened.*Check the catalog options fs\.gs\.auth\.service\.account\.json\.keyfile"
    with pytest.raises(PaimonError, match=fix) as caught:
        open_catalog(options).list_databases()
    assert "dont-show-me" not in str(caught.value)


@pytest.mark.slow
def test_a_missing_bucket_of_google(gcs: GCS) -> None:
    for attempt in attempts(gcs.options("missing"))[:2]:
        with pytest.raises(StorageAccessError, match=r"'missing' does not exist"):
            attempt()
