"""What a writer makes of the snapshots that it finds around its own one, however they came to be."""

import shutil
from collections.abc import Collection, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from maintenance.catalog import CatalogTable
from maintenance.commit import publish_check
from maintenance.commit.publish_check import PublishCheck
from maintenance.errors import InfrastructureError
from maintenance.format.metadata.manifest import FileKind, ManifestEntry
from maintenance.format.metadata.snapshot import Snapshot, serialize_snapshot
from maintenance.metadata.hints import EARLIEST
from tests.tables import create_table, get_table, keyed
from tests.unit.commit.entries import add

MINE = add("mine")


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A warehouse."""
    folder = tmp_path_factory.mktemp("written")
    table = create_table(folder)
    for number in range(6):
        table.write_arrow(keyed({number: "a"}))
    return folder


@pytest.fixture
def table(tmp_path: Path, written: Path) -> CatalogTable:
    """Of six snapshots, each with one more file."""
    shutil.copytree(written, tmp_path / "warehouse")
    return get_table(tmp_path / "warehouse")


def left(table: CatalogTable, *ids: int, earliest: int | None = None) -> None:
    """Only these snapshots stay. `earliest`: what the hint says."""
    folder = Path(table.location, "snapshot")
    for path in folder.glob("snapshot-*"):
        if int(path.name.removeprefix("snapshot-")) not in ids:
            path.unlink()
    (folder / EARLIEST).unlink(missing_ok=True)
    if earliest is not None:
        (folder / EARLIEST).write_text(str(earliest))


def made(
    table: CatalogTable, snapshot_id: int = 3, entries: Sequence[ManifestEntry] = (MINE,), *, first: bool = False
) -> PublishCheck:
    """A snapshot of this number; of its own files unless they are given no later snapshot knows any."""
    known = {number: table.snapshots.get(number) for number in (snapshot_id, snapshot_id - 1)}
    previous = None if first else known[snapshot_id - 1]
    return PublishCheck(table.file_io, table.paths, known[snapshot_id], previous, entries)


def remote(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(publish_check, "is_local", lambda _: False)


# Before the file is created


@pytest.mark.parametrize(
    ("ids", "earliest", "may"),
    [
        ((1, 2), None, True),
        ((1, 2), 1, True),
        ((1,), None, False),
        # Others are newer, and nothing has expired: creating the file will fail, and that is all.
        ((1, 2, 4, 5), None, True),
        ((2, 4, 5), 3, True),
        ((2, 4, 5), 4, False),
        # What the hint says is from before a rollback.
        ((1, 2), 4, True),
        ((1, 2, 3), 4, True),
    ],
)
def test_a_number_that_may_be_used(table: CatalogTable, ids: Collection[int], earliest: int | None, may: bool) -> None:
    mine = made(table)
    left(table, *ids, earliest=earliest)
    assert mine.may_publish() == may


def test_without_a_previous_snapshot_the_number_may_be_used(table: CatalogTable) -> None:
    mine = made(table, 2, first=True)
    left(table)
    assert mine.may_publish()
    left(table, earliest=5)
    assert mine.may_publish()


def test_another_snapshot_with_the_number_of_the_previous_one(table: CatalogTable) -> None:
    mine = made(table)
    other = replace(table.snapshots.get(2), commit_user="someone else")
    left(table, 1)
    Path(table.location, "snapshot", "snapshot-2").write_bytes(serialize_snapshot(other))
    assert not mine.may_publish()


def test_a_store_moves_its_hint_and_deletes_in_any_order(table: CatalogTable, monkeypatch: pytest.MonkeyPatch) -> None:
    """There only the previous snapshot counts: files are created if they are not there, and looked for afterwards."""
    remote(monkeypatch)
    mine = made(table)
    left(table, 2, 4, 5, earliest=4)
    assert mine.may_publish()


# After it was created


@pytest.mark.parametrize(("earliest", "local"), [(None, True), (9, True), (None, False), (2, False), (3, False)])
def test_where_the_previous_one_is_there_it_counts(
    table: CatalogTable, monkeypatch: pytest.MonkeyPatch, earliest: int | None, local: bool
) -> None:
    """Whatever later ones hold. Of a store the hint must not have passed it."""
    mine = made(table)
    left(table, 2, 3, 5, earliest=earliest)
    if not local:
        remote(monkeypatch)
    assert mine.is_next()


def test_a_hint_of_a_store_that_has_passed_it(table: CatalogTable, monkeypatch: pytest.MonkeyPatch) -> None:
    """Then what later snapshots hold decides, though the previous one has not been deleted yet."""
    remote(monkeypatch)
    mine = made(table)
    left(table, 2, 3, 4, 5, earliest=4)
    assert not mine.is_next()
    own = made_of_own(table)
    left(table, 2, 3, 4, 5, earliest=4)
    assert own.is_next()


def made_of_own(table: CatalogTable) -> PublishCheck:
    """The snapshot 3 that is in the later ones."""
    snapshot = table.snapshots.find(3)
    assert snapshot is not None
    previous = replace(snapshot, id=2)
    return PublishCheck(table.file_io, table.paths, snapshot, previous, table.manifests.delta_entries(snapshot))


@pytest.mark.parametrize(
    ("ids", "others", "own"),
    [
        # Nothing is newer. Only a rollback leaves snapshots before a gap; an expiry leaves none.
        ((3,), True, True),
        ((1, 3), False, False),
        # The next one was made from it, or not.
        ((3, 4), False, True),
        ((4,), False, True),
        ((3, 4, 6), False, True),
        # Later ones that do not follow at once: what was below is not in them, if it is still there.
        ((3, 5), False, True),
        ((3, 6), False, True),
        ((5,), None, True),
        ((), None, None),
        ((1,), None, None),
    ],
)
def test_where_the_previous_one_is_gone(
    table: CatalogTable, ids: Collection[int], others: bool | None, own: bool | None
) -> None:
    """`others`, `own`: whether a snapshot holds that the later ones were not made from, and one that they were."""
    for mine, holds in ((made(table), others), (made_of_own(table), own)):
        mine = replace(mine, previous=replace(mine.snapshot, id=9))
        snapshots = {number: table.snapshots.get(number) for number in range(1, 7)}
        left(table, *ids)
        if holds is None:
            with pytest.raises(InfrastructureError, match="snapshot 3 was created while others expired"):
                mine.is_next()
        else:
            assert mine.is_next() == holds
        restored(table, snapshots)


def restored(table: CatalogTable, snapshots: dict[int, Snapshot]) -> None:
    for number, snapshot in snapshots.items():
        Path(table.location, "snapshot", f"snapshot-{number}").write_bytes(serialize_snapshot(snapshot))


def test_the_first_snapshot_with_others_before_it(table: CatalogTable) -> None:
    """It was made from nothing, so its number was free: what is there now says whether it counts."""
    mine = replace(made(table), previous=None)
    snapshots = {number: table.snapshots.get(number) for number in range(1, 7)}
    left(table, 2, 3)
    assert mine.is_next()
    restored(table, snapshots)
    left(table, 1, 3)
    assert not mine.is_next()


def test_files_that_were_added_and_deleted_again_say_nothing(table: CatalogTable) -> None:
    gone = replace(MINE, kind=FileKind.DELETE)
    mine = replace(made(table, entries=(MINE, gone)), previous=None)
    left(table, 4)
    with pytest.raises(InfrastructureError):
        mine.is_next()


def test_files_that_it_deletes_and_the_next_one_has(table: CatalogTable) -> None:
    """Then the next one was made from what was before. Later ones may have come by them in other ways."""
    (old,) = table.manifests.delta_entries(table.snapshots.get(1))
    deletes = replace(made(table, entries=(replace(old, kind=FileKind.DELETE),)), previous=None)
    snapshots = {number: table.snapshots.get(number) for number in range(1, 7)}
    left(table, 3, 4)
    assert not deletes.is_next()
    restored(table, snapshots)
    left(table, 4)
    assert not deletes.is_next()
    restored(table, snapshots)
    left(table, 5)
    with pytest.raises(InfrastructureError):
        deletes.is_next()
    # A file that the next one does not have says nothing.
    restored(table, snapshots)
    left(table, 4)
    other = replace(deletes, entries=(replace(MINE, kind=FileKind.DELETE),))
    with pytest.raises(InfrastructureError):
        other.is_next()


@pytest.mark.parametrize(
    ("before", "own", "later", "known"),
    [
        (None, "i-3", "i-3", True),
        ("i-2", "i-3", "i-3", True),
        ("i-3", "i-3", "i-3", False),
        (None, "i-3", "i-4", False),
        (None, None, None, False),
    ],
)
@pytest.mark.parametrize("next_one", [4, 5])
def test_an_index_manifest_that_later_ones_have(
    table: CatalogTable, before: str | None, own: str | None, later: str | None, known: bool, next_one: int
) -> None:
    """It shows that they were made from it, if the one before had another."""
    mine = made(table, entries=())
    previous = replace(mine.snapshot, id=2, index_manifest=before)
    mine = replace(mine, snapshot=replace(mine.snapshot, index_manifest=own), previous=previous)
    follower = replace(table.snapshots.get(next_one), index_manifest=later)
    left(table)
    restored(table, {next_one: follower})
    if known:
        assert mine.is_next()
    else:
        with pytest.raises(InfrastructureError, match="whether it counts is unknown"):
            mine.is_next()


def test_a_later_one_whose_files_are_gone_says_nothing(table: CatalogTable) -> None:
    mine = replace(made(table), previous=None)
    later = table.snapshots.get(4)
    left(table, 4)
    for name in (later.base_manifest_list, later.delta_manifest_list):
        Path(table.location, "manifest", name).unlink()
    with pytest.raises(InfrastructureError):
        mine.is_next()


def test_it_looks_again_while_others_expire(table: CatalogTable) -> None:
    """A later snapshot that goes while it is looked at is looked for again, a few times."""
    mine = made_of_own(table)
    left(table, 4, 5)
    looks: list[int] = []
    right = PublishCheck._is_in

    def expiring(self: PublishCheck, later_id: int, *, there: bool) -> bool | None:
        looks.append(later_id)
        return None if len(looks) < 3 else right(self, later_id, there=there)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(PublishCheck, "_is_in", expiring)
        assert mine.is_next()
    assert looks == [4, 4, 4]
