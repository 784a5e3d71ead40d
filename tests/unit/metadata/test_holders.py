"""What must stay: of snapshots, tags and changelogs of every branch."""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from maintenance.errors import CorruptFileError
from maintenance.format.metadata.index_manifest import DeletionVectorRange
from maintenance.format.metadata.manifest import ManifestEntry
from maintenance.format.metadata.snapshot import Snapshot
from maintenance.format.metadata.tag import Tag
from maintenance.fs.file_io import FileIO
from maintenance.metadata import holders as module
from maintenance.metadata.hints import EARLIEST
from maintenance.metadata.holders import History, Holder, HolderCensus, counting_ids, holders_of, needed_by
from maintenance.metadata.manifests import merge_scan
from maintenance.metadata.schemas import Schemas
from maintenance.options.catalog import CacheSettings
from tests.unit.commit.entries import delete
from tests.unit.metadata.states import FILE_IO, HandMade, file, schema_of, snapshot_of, vectors_of


@pytest.fixture
def table(tmp_path: Path) -> HandMade:
    return HandMade(tmp_path / "t")


def held(snapshot: Snapshot, *, is_tag: bool = False, changes: bool = False, delta: bool = False) -> Holder:
    return Holder("the holder", snapshot, is_tag, is_changelog=changes, delta=delta)


def used(table: HandMade, holders: Sequence[Holder], *candidates: str) -> set[str]:
    return needed_by(holders, table.manifests).data_files(table.manifests, candidates)


def test_snapshots_below_the_hint_count_only_if_nothing_is_gone(table: HandMade) -> None:
    """From the earliest on; below it only where nothing is gone."""
    assert counting_ids(table.snapshots, table.manifests) == []
    for number in (1, 2, 4, 5):
        table.published(table.state(number))
    assert counting_ids(table.snapshots, table.manifests) == [1, 2, 4, 5]
    table.snapshots.write_hint(EARLIEST, 4)
    assert counting_ids(table.snapshots, table.manifests) == [1, 2, 4, 5]
    (table.folder / "manifest" / table.snapshots.get(4).base_manifest_list).unlink()
    assert counting_ids(table.snapshots, table.manifests) == [1, 2, 4, 5], "only what is below is asked"
    broken = table.snapshots.get(2)
    Path(table.paths.manifest(broken.base_manifest_list)).unlink()
    assert counting_ids(table.snapshots, table.manifests) == [4, 5]


def test_snapshots_tags_and_changelogs_of_all_branches_hold(table: HandMade) -> None:
    for number in (1, 2, 3):
        table.published(table.state(number))
    tags = table.branches.tags("main")
    tags.publish("a", Tag(snapshot_of(1)))
    tags.publish("b", Tag(snapshot_of(2)))
    table.branches.changelogs("main").keep(snapshot_of(7))
    other = table.branched("x")
    other.published(table.state(1))
    table.branches.tags("x").publish("a", Tag(snapshot_of(1)))
    table.branches.changelogs("x").keep(snapshot_of(7))

    def names(branch: str = "main", **less: Any) -> list[str]:
        actual = holders_of(History(table.branches, table.manifests), branch, **less)
        return [holder.name for holder in actual]

    of_branch = ["snapshot 1 of branch x", "tag 'a' of branch x", "changelog 7 of branch x"]
    of_main = ["snapshot 1", "snapshot 2", "snapshot 3", "tag 'a'", "tag 'b'", "changelog 7"]
    assert names() == [*of_main, *of_branch]
    assert names(first_snapshot=2) == [*of_main[1:], *of_branch]
    assert names(first_snapshot=4) == [*of_main[3:], *of_branch]
    assert names(without_tags=["a"], without_changelogs=[7]) == [*of_main[:3], "tag 'b'", *of_branch]
    assert names("x", first_snapshot=2, without_tags=["a"], without_changelogs=[7]) == of_main
    assert names(to_changelogs=[snapshot_of(8)]) == [*of_main, "changelog 8", *of_branch]
    assert names(to_changelogs=[snapshot_of(8)], without_changelogs=[8]) == [*of_main, *of_branch]
    kinds = {(h.name, h.branch, h.is_tag, h.is_changelog, h.delta) for h in holders_of(
        History(table.branches, table.manifests), "main"
    )}  # fmt: skip
    assert kinds >= {
        ("snapshot 1", "main", False, False, False),
        ("tag 'a' of branch x", "x", True, False, False),
        ("changelog 7", "main", False, True, True),
        ("changelog 7 of branch x", "x", False, True, True),
    }


def test_a_producer_of_changelogs_spares_the_delta(table: HandMade) -> None:
    Schemas(FILE_IO, table.paths.schema_folder()).publish(schema_of(1, **{"changelog-producer": "input"}))
    table.branches.changelogs("main").keep(snapshot_of(1))
    (holder,) = holders_of(History(table.branches, table.manifests), "main")
    assert (holder.is_changelog, holder.delta) == (True, False)


def test_the_census_has_each_branchs_tags_and_earliest_snapshot(table: HandMade) -> None:
    assert HolderCensus.of(table.branches) == HolderCensus({"main": {}}, {"main": None})
    table.published(snapshot_of(3))
    tags = table.branches.tags("main")
    tags.publish("a", Tag(snapshot_of(1)))
    tags.publish("b", Tag(snapshot_of(2)))
    table.branched("x")
    census = HolderCensus.of(table.branches)
    assert census == HolderCensus({"main": {"a": snapshot_of(1), "b": snapshot_of(2)}, "x": {}}, {"main": 3, "x": None})
    assert census.without_tags("main", ["a"]).tags == {"main": {"b": snapshot_of(2)}, "x": {}}
    assert census.without_earliest("main").earliest == {"main": None, "x": None}
    assert census.without_earliest("main").tags == census.tags


def test_the_metadata_that_is_needed(table: HandMade) -> None:
    index = vectors_of()
    state = table.state(1, [file("a")], [file("b")], changelog=[file("c")], index=[index], statistics="stat")
    manifests = {meta.file_name for meta in table.manifests.data_manifests(state)}
    lists = {state.base_manifest_list, state.delta_manifest_list}
    needed = needed_by([held(state)], table.manifests)
    assert needed.metadata == {*manifests, *lists, state.index_manifest, "index-0", "stat"}
    assert needed.changelogs == {state.changelog_manifest_list}
    assert needed.holds(state)
    assert not needed.holds(replace(state, base_manifest_list="other"))
    assert not needed.holds(replace(state, delta_manifest_list="other"))
    assert needed_by([held(state, is_tag=True)], table.manifests).changelogs == frozenset()
    bare = table.state(2)
    needed = needed_by([held(bare)], table.manifests)
    assert needed.metadata == {bare.base_manifest_list, bare.delta_manifest_list}
    assert needed.holds(bare)
    assert needed_by([], table.manifests).metadata == frozenset()


def test_the_data_that_is_needed(table: HandMade) -> None:
    extra = file("b", extra_files=("b.index",))
    one = table.state(1, [file("a")], [extra])
    two = table.state(2, [file("a"), extra], [delete("a"), file("c")])
    every = ("a", "b", "b.index", "c", "d")
    assert used(table, [held(one)], *every) == {"a", "b", "b.index"}
    assert used(table, [held(two)], *every) == {"b", "b.index", "c"}
    assert used(table, [held(one), held(two)], *every) == {"a", "b", "b.index", "c"}
    assert used(table, [held(one)], "a") == {"a"}
    assert used(table, [held(one)]) == set()
    assert used(table, [], *every) == set()


def test_a_state_that_is_shared_is_read_once(table: HandMade) -> None:
    state = table.state(1, [file("a")])
    needed = needed_by([held(state), held(replace(state, id=2)), held(state, is_tag=True)], table.manifests)
    assert len(needed.states) == 1
    name, size = table.list_of()
    newer = replace(state, id=3, delta_manifest_list=name, delta_manifest_list_size=size)
    uncached = replace(table.manifests, file_io=FileIO(cache=CacheSettings(0, 0, 0)))
    both = needed_by([held(state), held(newer)], uncached).states
    assert len(both) == 2
    assert both[0].manifests[0] is both[1].manifests[0], "kept once"


def test_what_a_changelog_needs(table: HandMade) -> None:
    """Where there is no producer its delta, but nothing deleted that a compaction wrote; of that what is there."""
    state = table.state(1, [file("a")], [file("b", extra_files=("b.index",)), delete("a")], statistics="stat")
    table.branches.changelogs("main").keep(state)
    changes = held(state, changes=True, delta=True)
    (meta,) = table.manifests.delta_manifests(state)
    needed = needed_by([changes], table.manifests)
    assert needed.metadata == {state.delta_manifest_list, meta.file_name}
    assert (needed.states, len(needed.deltas)) == ((), 1)
    assert used(table, [changes], "a", "b", "b.index") == {"a", "b", "b.index"}
    assert len(needed_by([changes, changes], table.manifests).deltas) == 1
    assert used(table, [held(state, changes=True)], "a", "b") == set(), "a producer wrote its changes"
    produced = replace(changes, snapshot=replace(state, changelog_manifest_list="list"))
    needed = needed_by([produced], table.manifests)
    assert (needed.deltas, needed.changelogs) == ((), frozenset({"list"}))
    Path(table.paths.manifest(meta.file_name)).unlink()
    assert needed_by([changes], table.manifests).metadata == {state.delta_manifest_list}
    Path(table.paths.manifest(state.delta_manifest_list)).unlink()
    assert needed_by([changes], table.manifests).metadata == frozenset()


def test_damage_names_the_holder(table: HandMade) -> None:
    state = table.published(table.state(1, [file("a")]))
    (meta,) = table.manifests.data_manifests(state)
    path = Path(table.paths.manifest(meta.file_name))
    whole = path.read_bytes()
    path.write_bytes(whole + b"x")
    with pytest.raises(CorruptFileError, match="the holder cannot be read completely, so nothing is deleted: expected"):
        needed_by([held(state)], table.manifests)
    path.unlink()
    with pytest.raises(CorruptFileError, match=r"the holder .* a manifest is missing"):
        needed_by([held(state)], table.manifests)


def test_vectors_of_files_that_do_not_live(table: HandMade) -> None:
    good, bad = (vectors_of(DeletionVectorRange(name, 0, 1, 10)) for name in ("a", "gone"))
    state = table.published(table.state(1, [file("a")], index=[good]))
    assert used(table, [held(state)], "other") == set(), "the file with the vector is looked for, too"
    wrong = table.published(table.state(2, [file("a")], index=[bad]))
    with pytest.raises(CorruptFileError, match=r"the holder .* one of gone, which does not live"):
        used(table, [held(wrong)], "a")


def test_lists_that_disagree_on_a_manifest_are_each_checked(table: HandMade) -> None:
    (meta,) = table.writer().write([file("a")], 0)
    lists = [table.writer().write_list([one]) for one in (meta, replace(meta, file_size=meta.file_size + 1))]
    empty = table.list_of()
    states = [
        table.published(snapshot_of(number, base_manifest_list=name, delta_manifest_list=empty[0]))
        for number, (name, _) in enumerate(lists, 1)
    ]
    with pytest.raises(CorruptFileError, match=f"the holder .* expected {meta.file_size + 1} bytes"):
        needed_by([held(state) for state in states], table.manifests)


def test_states_that_differ_in_other_files_are_looked_at_once(table: HandMade, monkeypatch: pytest.MonkeyPatch) -> None:
    base = table.list_of([file("a"), file("b")])
    named: dict[str, Any] = {"base_manifest_list": base[0], "base_manifest_list_size": base[1]}
    later = [table.state(number, [], [file(f"new-{number}")], **named) for number in range(1, 6)]
    without = table.state(6, [], [delete("a")], **named)
    merges: list[int] = []

    def counted(entries: Iterable[ManifestEntry]) -> list[ManifestEntry]:
        merges.append(1)
        return merge_scan(entries)

    monkeypatch.setattr(module, "merge_scan", counted)
    assert used(table, list(map(held, later)), "a") == {"a"}
    assert len(merges) == 1
    assert used(table, [held(without), *map(held, later)], "a", "b") == {"a", "b"}
    assert used(table, [held(without)], "a", "b") == {"b"}
    assert used(table, [held(later[0]), held(without)], "a", "new-2") == {"a"}
    assert len(merges) == 1 + 2 + 1 + 2
