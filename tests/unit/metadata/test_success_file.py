"""Success files: when they were made, and when they were last confirmed."""

import json
from pathlib import Path

import pytest

from maintenance.fs.file_io import FileIO
from maintenance.metadata.success_file import write_success_file


def written(path: Path, millis: int) -> dict[str, int]:
    write_success_file(FileIO(), str(path), millis)
    form: dict[str, int] = json.loads(path.read_bytes())
    return form


def test_the_first_time_stays(tmp_path: Path) -> None:
    path = tmp_path / "tag-success"
    assert written(path, 7) == {"creationTime": 7, "modificationTime": 7}
    assert written(path, 9) == {"creationTime": 7, "modificationTime": 9}


@pytest.mark.parametrize("damage", ["", "[1]", "{", "{}", '{"creationTime": null}', '{"creationTime": "soon"}'])
def test_one_that_nobody_can_read_is_written_again(tmp_path: Path, damage: str) -> None:
    path = tmp_path / "tag-success"
    path.write_text(damage)
    assert written(path, 9) == {"creationTime": 9, "modificationTime": 9}
