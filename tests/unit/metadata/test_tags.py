"""Tags: listed, found, created once, replaced, and retired with a record."""

import datetime as dt
from pathlib import Path

import pytest

from maintenance.errors import CorruptFileError, NotFoundError
from maintenance.format.metadata.tag import Tag
from maintenance.metadata.paths import TablePaths
from maintenance.metadata.tags import Tags
from tests.unit.metadata.states import FILE_IO, snapshot_of


@pytest.fixture
def tags(tmp_path: Path) -> Tags:
    return Tags(FILE_IO, TablePaths(str(tmp_path)))


ONE, TWO = (Tag(snapshot_of(number)) for number in (1, 2))


def test_a_table_without_any(tags: Tags) -> None:
    assert (tags.names(), tags.all(), tags.retired(), tags.find("a")) == ([], {}, {}, None)
    with pytest.raises(NotFoundError, match=r"tag 'a' does not exist .*There are: none"):
        tags.get("a")


def test_they_are_listed_by_name(tags: Tags, tmp_path: Path) -> None:
    assert tags.publish("b", TWO)
    assert tags.publish("a", ONE)
    (tmp_path / "tag" / "other").touch()
    assert tags.names() == ["a", "b"]
    assert tags.all() == {"a": ONE, "b": TWO}
    assert tags.get("b") == TWO
    with pytest.raises(NotFoundError, match="There are: a, b"):
        tags.get("c")


def test_a_name_is_given_once(tags: Tags) -> None:
    assert tags.publish("a", ONE)
    assert not tags.publish("a", TWO)
    assert tags.get("a") == ONE
    timed = Tag(TWO.snapshot, dt.datetime(2024, 5, 14, 1, 2, 3), dt.timedelta(days=1))
    tags.replace("a", timed)
    assert tags.get("a") == timed
    tags.remove("a")
    assert tags.find("a") is None


def test_a_retired_tag_is_on_record(tags: Tags) -> None:
    tags.publish("a", ONE)
    tags.publish("b", TWO)
    path = tags.retire("a")
    assert tags.names() == ["b"]
    assert tags.retired() == {path: ONE}
    tags.publish("a", TWO)
    again = tags.retire("a")
    assert tags.retired() == {path: ONE, again: TWO}
    assert list(tags.retired()) == sorted([path, again])
    with pytest.raises(NotFoundError, match="'a'"):
        tags.retire("a")


def test_a_tag_that_cannot_be_read_is_not_retired(tags: Tags) -> None:
    tags.publish("a", ONE)
    Path(tags.paths.tag("a")).write_bytes(b'{"id": 1}')
    with pytest.raises(CorruptFileError):
        tags.retire("a")
    assert tags.names() == ["a"]


def test_the_record_of_a_long_name_shows_its_beginning(tags: Tags) -> None:
    tags.publish("é" * 51, ONE)
    path = tags.retire("é" * 51)
    assert path.endswith("-" + "é" * 50)
    assert path.count("é") == 50
    tags.publish("x" * 102, ONE)
    assert tags.retire("x" * 102).rpartition("-")[2] == "x" * 100
