"""The folder of Iceberg metadata: where it is, which versions are there, and what is passed over."""

from collections.abc import Mapping
from pathlib import Path

import pytest

from maintenance.errors import UnsupportedError
from maintenance.metadata.iceberg import IcebergFolder, iceberg_folder
from maintenance.options.model import TableModel
from tests.unit.metadata.states import FILE_IO

STORAGE = "metadata.iceberg.storage"
PLACE = "metadata.iceberg.storage-location"
BESIDE = "/w/db.db/t/metadata"
CATALOG = "/w/iceberg/db/t/metadata"


@pytest.mark.parametrize(
    ("options", "folder"),
    [
        ({STORAGE: "table-location"}, BESIDE),
        ({STORAGE: "hadoop-catalog"}, CATALOG),
        ({STORAGE: "hadoop-catalog", PLACE: "table-location"}, BESIDE),
        ({STORAGE: "table-location", PLACE: "catalog-location"}, CATALOG),
    ],
)
def test_where_the_metadata_is(options: Mapping[str, str], folder: str) -> None:
    assert iceberg_folder("/w/db.db/t", TableModel(options)) == folder


def test_a_table_in_no_database_has_no_catalog_beside_it() -> None:
    with pytest.raises(UnsupportedError, match=r"the folder 'db' of the database does not end with '\.db'"):
        iceberg_folder("/w/db/t", TableModel({STORAGE: "hadoop-catalog"}))
    assert iceberg_folder("/w/db/t", TableModel({STORAGE: "table-location"})) == "/w/db/t/metadata"


@pytest.fixture
def folder(tmp_path: Path) -> IcebergFolder:
    return IcebergFolder(FILE_IO, str(tmp_path))


def test_versions_are_listed_by_number_and_other_files_are_not(folder: IcebergFolder, tmp_path: Path) -> None:
    assert folder.versions() == []
    assert folder.path(7) == f"{tmp_path}/v7.metadata.json"
    for name in ("v10", "v9", "v", "x3", "vv4", "v-1", "00001-uuid", "5"):
        (tmp_path / f"{name}.metadata.json").write_text("")
    (tmp_path / "v11.avro").write_text("")
    assert folder.versions() == [9, 10]


@pytest.mark.parametrize("content", [None, "", "{}", "[]", '{"format-version": 2'])
def test_a_version_that_cannot_be_read_is_none(folder: IcebergFolder, tmp_path: Path, content: str | None) -> None:
    if content is not None:
        (tmp_path / "v1.metadata.json").write_text(content)
    assert folder.find(1) is None


@pytest.mark.parametrize(("text", "version"), [("12", 12), ("12\n", 12), ("", None), ("x", None), ("é", None)])
def test_the_hint_is_a_version_or_none(folder: IcebergFolder, tmp_path: Path, text: str, version: int | None) -> None:
    assert folder.hint() is None
    (tmp_path / "version-hint.text").write_text(text)
    assert folder.hint() == version
    folder.write_hint(3)
    assert folder.hint() == 3


def test_the_name_of_a_file_says_where_it_is(folder: IcebergFolder, tmp_path: Path) -> None:
    """Paths in the files may be those of a folder that was renamed."""
    for path in ("file:/old/place/snap-1.avro", "snap-1.avro", "/a/snap-1.avro"):
        assert folder.place(path) == f"{tmp_path}/snap-1.avro"
