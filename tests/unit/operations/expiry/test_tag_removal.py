"""Tags that go or move while snapshots expire: nothing held is deleted, nothing is left that nobody holds."""

import re
import shutil
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from maintenance.catalog import CatalogTable
from maintenance.errors import NotFoundError, PaimonError
from maintenance.format.metadata.snapshot import Snapshot
from maintenance.format.metadata.tag import Tag
from maintenance.metadata.completeness import check_complete
from maintenance.metadata.hints import EARLIEST
from maintenance.metadata.manifests import Manifests
from maintenance.operations.compaction.compact import compact
from maintenance.operations.expiry import tag_removal
from maintenance.operations.expiry.expire_snapshots import expire_snapshots
from maintenance.operations.expiry.expire_tags import expire_tags
from maintenance.operations.expiry.tag_removal import plan_tag_removal, remove_tags
from maintenance.operations.refs.create_branch import create_branch
from maintenance.operations.refs.create_tag import create_tag, kept
from maintenance.operations.refs.delete_tag import delete_tag
from maintenance.operations.refs.rename_tag import rename_tag
from maintenance.operations.refs.replace_tag import replace_tag
from tests.models.reachable import unreachable_files
from tests.small_tables import put, rows, small_table, table_in


def tagged(folder: Path) -> CatalogTable:
    """Eight snapshots, of which number 3 has the tag `old`, the last one the tag `new`."""
    table = small_table(folder)
    for i in range(4):
        put(table, {1: f"{i}", i: "x"})
        compact(None, table, full=True)
    create_tag(table, "old", snapshot_id=3)
    create_tag(table, "new")
    return table


def test_snapshots_expire_while_a_tag_is_about_to_go(tmp_path: Path) -> None:
    table = tagged(tmp_path)
    due = {"old": table.tags.get("old")}
    plan = plan_tag_removal(table, due)
    expire_snapshots(table, retain_min=1, retain_max=1)
    remove_tags(table, due, plan, lambda _: None)
    assert unreachable_files(table) == set()
    assert rows(table, {"scan.tag-name": "new"}) == rows(table)


def test_snapshots_of_a_branch_expire_while_a_tag_is_about_to_go(tmp_path: Path) -> None:
    table = tagged(tmp_path)
    create_branch(table, "b", tag="old")
    branch = table.on_branch("b")
    put(branch, {7: "branch"})
    expire_snapshots(table, retain_min=1, retain_max=1)
    branch.tags.remove("old")
    due = {"old": table.tags.get("old")}
    plan = plan_tag_removal(table, due)
    compact(None, branch, full=True)
    expire_snapshots(branch, retain_min=1, retain_max=1)
    remove_tags(table, due, plan, lambda _: None)
    assert unreachable_files(table) == set()


def test_a_tag_of_a_snapshot_that_is_there_goes_without_a_look_at_the_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = tagged(tmp_path)

    def refused(*given: object, **named: object) -> None:
        raise AssertionError(f"all snapshots are read: {given} {named}")

    with monkeypatch.context() as patch:
        patch.setattr(tag_removal, "holders_of", refused)
        gone = delete_tag(table, "old", "new").deleted_files
    assert {path.rpartition("/")[2] for path in gone} == {"tag-old", "tag-new"}
    assert unreachable_files(table) == set()
    # Where the snapshot is gone, is given up by its hint, or is another one, they are.
    create_tag(table, "old", snapshot_id=3)
    create_tag(table, "newer", snapshot_id=5)
    for name in ("old", "newer"):
        tag = table.tags.get(name)
        if name == "old":
            table.snapshots.write_hint(EARLIEST, 4)
        else:
            table.snapshots.file_io.delete_quietly([table.paths.snapshot(5)])
        with monkeypatch.context() as patch:
            patch.setattr(tag_removal, "holders_of", refused)
            with pytest.raises(AssertionError, match="all snapshots"):
                plan_tag_removal(table, {name: tag})


def test_a_tag_that_came_too_late_leaves_nothing(tmp_path: Path) -> None:
    table = tagged(tmp_path)
    late = Tag(table.snapshots.get(5))
    table.tags.publish("late", late)
    expire_snapshots(table, retain_min=1, retain_max=1)
    with pytest.raises(NotFoundError, match="snapshot 5 expired meanwhile"):
        kept(table, "late", late)
    assert unreachable_files(table) == set()
    assert table.tags.names() == ["new", "old"]


_HOOKS: list[Callable[[str, tuple[Any, ...]], None]] = []


@contextmanager
def hooked(hook: Callable[[str, tuple[Any, ...]], None]) -> Iterator[None]:
    """Hear of what this process does on storage, right before it does."""
    if not _HOOKS:
        # A hook stays for ever, so there is one; it is called even when Python has taken away the names of this module.
        _HOOKS.append(lambda *_: None)
        hooks = _HOOKS
        sys.addaudithook(lambda event, arguments: hooks[-1](event, tuple(arguments)))
    _HOOKS.append(hook)
    try:
        yield
    finally:
        _HOOKS.pop()


def at_link(path: str, do: Callable[[], object]) -> AbstractContextManager[None]:
    """Do something, once, right before a file is published."""
    left = [do]

    def hook(event: str, arguments: tuple[Any, ...]) -> None:
        if event == "os.link" and str(arguments[1]) == path and left:
            left.pop()()

    return hooked(hook)


def right_after_rename(path: str, do: Callable[[], object]) -> AbstractContextManager[None]:
    """Do something, once, at the next step on storage after a file was replaced."""
    replaced: list[str] = []

    def hook(event: str, arguments: tuple[Any, ...]) -> None:
        if event == "os.rename" and str(arguments[1]) == path:
            replaced.append(path)
        elif len(replaced) == 1 and event in ("open", "os.scandir", "os.remove"):
            replaced.append(event)
            do()

    return hooked(hook)


def test_snapshots_expire_while_a_tag_is_moved_to_one_of_them(tmp_path: Path) -> None:
    table = tagged(tmp_path)
    expected = rows(table, {"scan.snapshot-id": "5"})
    with right_after_rename(table.paths.tag("old"), lambda: expire_snapshots(table, retain_min=1, retain_max=1)):
        replace_tag(table, "old", snapshot_id=5)
    assert table.snapshots.list_ids() == [8]
    assert rows(table, {"scan.tag-name": "old"}) == expected
    assert table.tags.names() == ["new", "old"]
    assert unreachable_files(table) == set()


def test_a_snapshot_that_expires_before_a_tag_is_moved_to_it_is_said_to_have_expired(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = tagged(tmp_path)

    def late(manifests: Manifests, snapshot: Snapshot) -> None:
        expire_snapshots(table, retain_min=1, retain_max=1)
        check_complete(manifests, snapshot)

    monkeypatch.setattr("maintenance.operations.refs.replace_tag.check_complete", late)
    with pytest.raises(NotFoundError, match="snapshot 5 expired meanwhile"):
        replace_tag(table, "old", snapshot_id=5)
    assert table.tags.get("old").snapshot.id == 3
    assert unreachable_files(table) == set()


def test_a_tag_goes_while_it_is_renamed(tmp_path: Path) -> None:
    table = tagged(tmp_path)
    expire_snapshots(table, retain_min=1, retain_max=1)
    with (
        at_link(table.paths.tag("renamed"), lambda: delete_tag(table, "old")),
        pytest.raises(NotFoundError, match="tag 'old' was deleted meanwhile"),
    ):
        rename_tag(table, "old", "renamed")
    assert table.tags.names() == ["new"]
    assert unreachable_files(table) == set()


def tags_alone(folder: Path) -> CatalogTable:
    """The tags `old` and `older` hold one snapshot, `new` another one; all other snapshots but the last are gone."""
    table = tagged(folder)
    create_tag(table, "older", snapshot_id=3)
    replace_tag(table, "new", snapshot_id=5)
    expire_snapshots(table, retain_min=1, retain_max=1)
    return table


def at_step(number: int, do: Callable[[], object]) -> AbstractContextManager[None]:
    """Do something right before the step of that number that concerns tags or snapshots."""
    steps: list[str] = []

    def hook(event: str, arguments: tuple[Any, ...]) -> None:
        paths = [str(argument) for argument in arguments if isinstance(argument, str | Path)]
        if event in ("os.link", "os.rename", "os.remove", "os.scandir", "os.listdir", "open") and any(
            re.search("/(tag|snapshot)(/|$)", path) for path in paths
        ):
            steps.append(event)
            if len(steps) == number:
                do()

    return hooked(hook)


CHANGES: dict[str, Callable[[CatalogTable], object]] = {
    "replace": lambda table: replace_tag(table, "old", snapshot_id=5),
    "rename": lambda table: rename_tag(table, "old", "renamed"),
    "delete": lambda table: delete_tag(table, "old"),
    "branch": lambda table: create_branch(table, "b", snapshot_id=3),
}
REMOVALS: dict[str, Callable[[CatalogTable], object]] = {
    "delete both": lambda table: [delete_tag(table, name) for name in ("old", "older")],
    "delete the others": lambda table: [delete_tag(table, name) for name in ("new", "older")],
    "expire": lambda table: [expire_tags(table, older_than=datetime.max), expire_snapshots(table)],
}


@pytest.mark.slow
@pytest.mark.parametrize("removal", REMOVALS)
@pytest.mark.parametrize("change", CHANGES)
def test_tags_go_at_each_step_of_a_change_and_leave_nothing(tmp_path: Path, change: str, removal: str) -> None:
    tags_alone(tmp_path / "first")
    number = 1
    while _disturbed(tmp_path, number, CHANGES[change], REMOVALS[removal]):
        number += 1
    assert number > 10


def _disturbed(folder: Path, number: int, change: Callable[..., object], removal: Callable[..., object]) -> bool:
    """Whether the change has a step of that number, before which the removal was done."""
    place = folder / f"{number}"
    shutil.copytree(folder / "first", place)
    table, done = table_in(place), []

    def remove() -> None:
        done.append(number)
        with suppress(PaimonError):
            removal(table_in(place))

    with at_step(number, remove), suppress(PaimonError):
        change(table)
    for name in table.tags.names():
        rows(table, {"scan.tag-name": name})
    assert unreachable_files(table) == set(), number
    return bool(done)
