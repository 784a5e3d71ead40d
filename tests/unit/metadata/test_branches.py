"""Branches: listed, hidden while they are made or deleted, and each with files of its own."""

import os
from dataclasses import replace
from pathlib import Path

import pytest

from maintenance.errors import MissingFileError
from maintenance.format.metadata.tag import Tag
from maintenance.fs.file_io import FileIO
from maintenance.metadata.branches import Branches
from maintenance.metadata.paths import TablePaths
from maintenance.metadata.schemas import Schemas
from tests.unit.metadata.states import FILE_IO, schema_of, snapshot_of


@pytest.fixture
def branches(tmp_path: Path) -> Branches:
    for name in ("b", "a"):
        (tmp_path / "branch" / f"branch-{name}").mkdir(parents=True)
    (tmp_path / "branch" / "other").mkdir()
    return Branches(FILE_IO, TablePaths(str(tmp_path)))


def test_main_comes_first_and_is_not_asked_when_it_changed(branches: Branches, tmp_path: Path) -> None:
    assert branches.names() == ["main", "a", "b"]
    assert Branches(FILE_IO, TablePaths(str(tmp_path / "none"))).names() == ["main"]
    os.utime(tmp_path / "branch" / "branch-a", (5, 5))
    changed = branches.changed()
    assert (list(changed), changed["a"]) == (["a", "b"], 5000)


def test_a_hidden_one_is_not_listed(branches: Branches) -> None:
    assert branches.hidden() == []
    branches.hide("b")
    branches.hide("a")
    assert (branches.names(), branches.hidden()) == (["main"], ["a", "b"])
    branches.show("a")
    assert (branches.names(), branches.hidden()) == (["main", "a"], ["b"])


def test_each_has_its_own_files(branches: Branches, tmp_path: Path) -> None:
    of_branch = replace(branches, paths=replace(branches.paths, branch="b"))
    assert of_branch.names() == branches.names(), "the paths may be of any branch"
    assert branches.snapshots("b").publish(snapshot_of(3))
    assert branches.tags("b").publish("t", Tag(snapshot_of(2)))
    branches.changelogs("b").keep(snapshot_of(1))
    root = tmp_path / "branch" / "branch-b"
    for path in ("snapshot/snapshot-3", "tag/tag-t", "changelog/changelog-1"):
        assert (root / path).is_file()
        assert not (tmp_path / path).exists()
    assert of_branch.snapshots("main").list_ids() == []
    assert of_branch.snapshots("b").list_ids() == [3]


def test_the_options_are_of_the_newest_schema(branches: Branches) -> None:
    assert branches.options("a") == {}
    schemas = Schemas(FILE_IO, replace(branches.paths, branch="b").schema_folder())
    for number, kind in enumerate(("none", "input")):
        schemas.publish(schema_of(number, producer=kind))
    assert branches.options("b") == {"producer": "input"}


def test_a_branch_that_is_deleted_meanwhile_has_no_options(tmp_path: Path, branches: Branches) -> None:
    class Vanishing(FileIO):
        def list_names(self, folder: str) -> list[str]:
            return ["schema-0"]

    vanishing = Branches(Vanishing(), branches.paths)
    assert vanishing.options("gone") == {}
    with pytest.raises(MissingFileError, match="schema 0 does not exist"):
        vanishing.options("a")


def test_what_a_process_that_died_has_left(branches: Branches, tmp_path: Path) -> None:
    """Only what is older than the given moment: later ones may still be worked on."""
    root = f"{tmp_path}/branch"
    branches.hide("b")
    marker = f"{root}/.hidden-b"
    folders = {
        ".hidden-b": 5000,
        ".c.tmp": 5000,
        ".d.deleted": 9000,
        "branch-a": 1,
        "other": 1,
        ".other": 1,
        "x.tmp": 1,
    }
    assert branches.unfinished(5000, folders) == {}
    assert branches.unfinished(5001, folders) == {f"{root}/branch-b": marker, f"{root}/.c.tmp": ""}
    assert branches.unfinished(7000, {".hidden-b": 0}) == {}, "a store tells no time of a folder without files"
    file = Path(marker) / "file"
    file.write_text("")
    os.utime(file, (7, 7))
    assert branches.unfinished(7000, {".hidden-b": 0}) == {}
    assert branches.unfinished(7001, {".hidden-b": 0}) == {f"{root}/branch-b": marker}


def test_a_renaming_is_on_record_until_it_is_done(branches: Branches) -> None:
    assert branches.renamed_to("a") is None
    branches.note_renaming("a", "c")
    assert branches.renamed_to("a") == "c"
    assert branches.names() == ["main", "a", "b"]
    branches.forget_renaming("a")
    assert branches.renamed_to("a") is None
