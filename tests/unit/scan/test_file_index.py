"""Bodies of file indexes: from the bytes that are there, or from the file."""

from pathlib import Path

import pytest

from maintenance.errors import CorruptFileError
from maintenance.fs.file_io import FileIO
from maintenance.scan.file_index import IndexContainer

PLACES = {"v": {"bitmap": (2, 4)}}


def test_a_body_within_the_first_bytes_needs_no_file(tmp_path: Path) -> None:
    container = IndexContainer(PLACES, b"..body", str(tmp_path / "missing"), FileIO())
    assert container.body("v", "bitmap") == b"body"


def test_a_body_beyond_the_first_bytes_is_read(tmp_path: Path) -> None:
    (tmp_path / "index").write_bytes(b"..body..")
    assert IndexContainer(PLACES, b"..bo", str(tmp_path / "index"), FileIO()).body("v", "bitmap") == b"body"


def test_embedded_bytes_that_are_cut_off() -> None:
    with pytest.raises(CorruptFileError, match="an index of 4 bytes is cut off after 3"):
        IndexContainer(PLACES, b"..bod", None, FileIO()).body("v", "bitmap")
