"""Which files outside its folder a table names."""

import logging
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from maintenance.catalog import CatalogTable
from maintenance.errors import StorageError
from maintenance.fs.file_io import FileIO
from maintenance.metadata.external_files import external_files
from maintenance.operations import compact, create_branch, create_tag, expire_snapshots
from tests.small_tables import put, small_table

PATHS, STRATEGY = "data-file.external-paths", "data-file.external-paths.strategy"


@pytest.fixture
def table(tmp_path: Path) -> CatalogTable:
    """With snapshots, a tag whose snapshot is gone, a branch and a changelog."""
    options = {PATHS: f"file:{tmp_path}/a", STRATEGY: "round-robin", "bucket": "1", "changelog-producer": "input"}
    made = small_table(tmp_path / "w", options)
    put(made, {1: "x"})
    create_tag(made, "old")
    compact(None, made, full=True)
    create_branch(made, "dev", tag="old")
    put(made.on_branch("dev"), {2: "y"})
    put(made, {1: "z"})
    expire_snapshots(made, retain_min=1, retain_max=1)
    return made


def there(folder: Path) -> set[str]:
    return {f"file:{path}" for path in (folder / "a").rglob("*") if path.is_file()}


def test_all_that_anything_names(table: CatalogTable, tmp_path: Path) -> None:
    assert there(tmp_path) <= set(external_files(table.file_io, table.location))
    assert len(there(tmp_path)) > 3


def test_a_table_without_such_paths_has_none(tmp_path: Path) -> None:
    plain = small_table(tmp_path)
    put(plain, {1: "x"})
    assert external_files(plain.file_io, plain.location) == []


def test_damage_is_passed_over_and_said(table: CatalogTable, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    latest = table.latest_snapshot()
    assert latest is not None
    Path(table.paths.manifest(latest.delta_manifest_list)).write_bytes(b"broken")
    with caplog.at_level(logging.WARNING):
        actual = set(external_files(table.file_io, table.location))
    assert there(tmp_path) - actual
    assert actual & there(tmp_path)
    assert latest.delta_manifest_list in caplog.text


def test_storage_that_does_not_answer_stops_it(table: CatalogTable, monkeypatch: pytest.MonkeyPatch) -> None:
    read: Callable[..., Any] = FileIO.read_bytes

    def fails(self: FileIO, path: str) -> Any:
        if "/manifest/" in path:
            raise StorageError("no answer", path, "Try again.")
        return read(self, path)

    monkeypatch.setattr(FileIO, "read_bytes", fails)
    with pytest.raises(StorageError):
        external_files(table.file_io, table.location)
