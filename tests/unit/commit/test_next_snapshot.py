"""Which snapshot follows a state, and what only its place says of its files."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from maintenance.commit.changes import Changes
from maintenance.commit.identity import CommitIdentity
from maintenance.commit.next_snapshot import (
    MAX_SEQUENCE_NUMBER,
    Staged,
    TableState,
    next_snapshot,
    numbered,
    watermark,
)
from maintenance.commit.target import CommitTarget
from maintenance.format.metadata.data_file import FileSource
from maintenance.format.metadata.manifest import ManifestEntry
from maintenance.format.metadata.snapshot import CommitKind, Snapshot
from tests.tables import create_table
from tests.unit.commit.entries import add, delete
from tests.unit.metadata.states import snapshot_of

ORDERED = {"sequence.snapshot-ordering": "true"}
TRACKED = {"row-tracking.enabled": "true"}


def with_options(folder: Path, options: dict[str, str]) -> CommitTarget:
    target = create_table(folder).commit_target()
    return replace(target, options={**target.options, **options})


def file(name: str, **parts: Any) -> ManifestEntry:
    entry = add(name)
    return replace(entry, file=replace(entry.file, **parts))


def numbers(changes: Changes) -> list[tuple[int, int]]:
    return [(entry.file.min_sequence_number, entry.file.max_sequence_number) for entry in changes.entries]


@pytest.mark.parametrize(("latest", "number"), [(None, 1), (4, 5)])
def test_records_are_as_new_as_the_snapshot(tmp_path: Path, latest: int | None, number: int) -> None:
    """Those that are appended; what is deleted or written by compactions keeps its numbers."""
    compacted = file("c", file_source=FileSource.COMPACT)
    changes = Changes(CommitKind.APPEND, (add("a"), delete("b"), compacted))
    before = None if latest is None else snapshot_of(latest)
    made = numbered(with_options(tmp_path, ORDERED).model, changes, before)
    assert numbers(made) == [(number, number), (0, 9), (0, 9)]


@pytest.mark.parametrize(
    ("kind", "bring_back"), [(CommitKind.COMPACT, False), (CommitKind.OVERWRITE, True), (CommitKind.COMPACT, True)]
)
def test_what_compactions_write_and_what_comes_back_keeps_its_numbers(
    tmp_path: Path, kind: CommitKind, bring_back: bool
) -> None:
    changes = Changes(kind, (add("a"),), bring_back=bring_back)
    assert numbers(numbered(with_options(tmp_path, ORDERED).model, changes, snapshot_of(4))) == [(0, 9)]


@pytest.mark.parametrize(
    ("latest", "asked", "first"),
    [(None, None, 0), (None, 7, 7), (0, None, 0), (50, None, 50), (50, 7, 50), (50, 70, 70)],
)
def test_rows_get_the_next_ids(tmp_path: Path, latest: int | None, asked: int | None, first: int) -> None:
    before = None if latest is None else snapshot_of(3, next_row_id=latest or None)
    changes = Changes(CommitKind.APPEND, (add("a"),), next_row_id=asked)
    made = numbered(with_options(tmp_path, TRACKED).model, changes, before)
    assert (made.entries[0].file.first_row_id, made.next_row_id) == (first, first + 10)


def test_other_tables_need_nothing(tmp_path: Path) -> None:
    changes = Changes(CommitKind.APPEND, (add("a"),))
    assert numbered(with_options(tmp_path, {}).model, changes, None) is changes


def test_identities_that_may_come_back() -> None:
    """A file that only gets another index has the name and level of one that goes."""
    moved = (delete("a", index=b"x"), add("a"), add("b"), delete("c", level=5), add("c"))
    assert Changes(CommitKind.COMPACT, moved).returning == {add("a").identity}
    assert Changes(CommitKind.OVERWRITE, moved, bring_back=True).returning == {
        add(name).identity for name in ("a", "b", "c")
    }


def test_the_watermark_is_the_largest() -> None:
    assert watermark(None, None) is None
    assert watermark(snapshot_of(1, watermark=5), None) == 5
    assert watermark(snapshot_of(1, watermark=5), 3) == 5
    assert watermark(snapshot_of(1, watermark=5), 7) == 7
    assert watermark(snapshot_of(1), 7) == 7


STAGED = Staged(("base", 1), ("delta", 2), None, None, None)


def following(latest: Snapshot | None, changes: Changes, staged: Staged = STAGED, **state: Any) -> Snapshot:
    moment = TableState(latest, **{"schema_id": 0, "time_millis": 7, "properties": {}, **state})
    return next_snapshot(moment, changes, CommitIdentity("me", 3, 5, {"own": "1"}), staged)


def test_the_first_snapshot_has_number_one_and_its_own_counts() -> None:
    made = following(None, Changes(CommitKind.APPEND, (add("a"), add("b"))), schema_id=2, properties={"table": "t"})
    assert made == Snapshot(
        id=1,
        schema_id=2,
        base_manifest_list="base",
        base_manifest_list_size=1,
        delta_manifest_list="delta",
        delta_manifest_list_size=2,
        commit_user="me",
        commit_identifier=3,
        commit_kind=CommitKind.APPEND,
        time_millis=7,
        total_record_count=20,
        delta_record_count=20,
        watermark=5,
        properties={"table": "t", "own": "1"},
    )


def test_rows_that_come_and_go_are_counted() -> None:
    before = snapshot_of(4, total_record_count=30)
    changes = Changes(CommitKind.OVERWRITE, (delete("a"), delete("b"), add("c")), changelog=(add("d"),))
    made = following(before, changes, replace(STAGED, changelog=("changelog", 9)))
    assert (made.id, made.total_record_count, made.delta_record_count) == (5, 20, -10)
    logged = (made.changelog_manifest_list, made.changelog_manifest_list_size, made.changelog_record_count)
    assert logged == ("changelog", 9, 10)
    assert following(before, replace(changes, total=1)).total_record_count == 1


@pytest.mark.parametrize(
    ("schema_id", "own", "expected"), [(0, None, "old"), (1, None, None), (0, "new", "new"), (1, "new", "new")]
)
def test_statistics_stay_as_long_as_the_columns(schema_id: int, own: str | None, expected: str | None) -> None:
    before = snapshot_of(1, schema_id=0, statistics="old")
    assert (
        following(before, Changes(CommitKind.ANALYZE, (), statistics=own), schema_id=schema_id).statistics == expected
    )


def test_what_a_table_says_of_row_ids_and_sequence_numbers_goes_on() -> None:
    nothing = Changes(CommitKind.APPEND, ())
    before = snapshot_of(1, next_row_id=8)
    assert following(before, nothing).next_row_id == 8
    assert following(before, replace(nothing, next_row_id=9)).next_row_id == 9
    assert following(None, nothing).next_row_id is None
    numbered_on = following(before, nothing, replace(STAGED, index="index", max_sequence=0))
    assert numbered_on.properties == {"own": "1", MAX_SEQUENCE_NUMBER: "0"}
    assert numbered_on.index_manifest == "index"
