"""Consumers: how far each reader is, and which have stopped."""

import datetime as dt
import os
from pathlib import Path

import pytest

from maintenance.errors import CorruptFileError, OptionError
from maintenance.metadata.consumers import Consumers
from maintenance.metadata.paths import TablePaths
from maintenance.names import MAX_BYTES, TEMPORARY_BYTES
from tests.unit.metadata.states import FILE_IO


@pytest.fixture
def consumers(tmp_path: Path) -> Consumers:
    return Consumers(FILE_IO, TablePaths(str(tmp_path)))


def test_how_far_each_is(consumers: Consumers, tmp_path: Path) -> None:
    assert (consumers.names(), consumers.next_snapshots(), consumers.find("a")) == ([], {}, None)
    consumers.record("b", 2**63 - 1)
    consumers.record("a", 1)
    (tmp_path / "consumer" / "other").touch()
    assert consumers.names() == ["a", "b"]
    assert consumers.next_snapshots() == {"a": 1, "b": 2**63 - 1}
    assert Path(consumers.paths.consumer("a")).read_text() == '{\n  "nextSnapshot" : 1\n}'
    consumers.record("a", 3)
    assert consumers.find("a") == 3
    consumers.remove(["a", "missing"])
    assert consumers.names() == ["b"]


@pytest.mark.parametrize("number", [-1, 0, 2**63])
def test_no_snapshot_has_that_id(consumers: Consumers, number: int) -> None:
    with pytest.raises(OptionError, match=f"snapshot {number} for a consumer"):
        consumers.record("a", number)
    assert consumers.names() == []


@pytest.mark.parametrize("content", ["{}", "[1]", '{"nextSnapshot": null}', '{"nextSnapshot": "x"}', "3}"])
def test_damage_is_not_guessed_at(consumers: Consumers, content: str) -> None:
    consumers.record("a", 1)
    path = Path(consumers.paths.consumer("a"))
    path.write_text(content)
    os.utime(path, (0, 0))
    with pytest.raises(CorruptFileError, match="has no next snapshot"):
        consumers.next_snapshots()


def test_the_longest_name_is_taken_and_a_longer_one_is_refused(consumers: Consumers) -> None:
    longest = "x" * (MAX_BYTES - TEMPORARY_BYTES - len("consumer-"))
    consumers.record(longest, 1)
    with pytest.raises(OptionError, match="a consumer id"):
        consumers.record(longest + "x", 1)
    assert consumers.names() == [longest]


def test_others_may_have_named_one_as_nobody_may_now(consumers: Consumers) -> None:
    with pytest.raises(OptionError, match="blank"):
        consumers.record(" ", 1)
    Path(consumers.paths.consumer_folder()).mkdir()
    Path(consumers.paths.consumer(" ")).write_text('{"nextSnapshot": 1}')
    consumers.record(" ", 2)
    assert consumers.find(" ") == 2


def test_which_have_made_no_progress(consumers: Consumers, tmp_path: Path) -> None:
    for name, second in (("c", 99), ("a", 98), ("b", 100), ("d", 101)):
        consumers.record(name, 1)
        os.utime(consumers.paths.consumer(name), (second, second))
    other = tmp_path / "consumer" / "other"
    other.touch()
    os.utime(other, (1, 1))
    assert consumers.idle_since(dt.datetime.fromtimestamp(100, dt.UTC)) == ["a", "c"]
    assert consumers.idle_since(dt.datetime.fromtimestamp(98.001, dt.UTC)) == ["a"]
