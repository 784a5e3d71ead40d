"""What only the place of the next snapshot says of its files."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from maintenance.commit import publish as module
from maintenance.commit.changes import Changes
from maintenance.commit.target import CommitTarget
from maintenance.format.metadata.data_file import FileSource
from maintenance.format.metadata.manifest import ManifestEntry
from maintenance.format.metadata.snapshot import CommitKind
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
    numbered = module._numbered(with_options(tmp_path, ORDERED), changes, before)
    assert numbers(numbered) == [(number, number), (0, 9), (0, 9)]


@pytest.mark.parametrize(
    ("kind", "bring_back"), [(CommitKind.COMPACT, False), (CommitKind.OVERWRITE, True), (CommitKind.COMPACT, True)]
)
def test_what_compactions_write_and_what_comes_back_keeps_its_numbers(
    tmp_path: Path, kind: CommitKind, bring_back: bool
) -> None:
    changes = Changes(kind, (add("a"),), bring_back=bring_back)
    assert numbers(module._numbered(with_options(tmp_path, ORDERED), changes, snapshot_of(4))) == [(0, 9)]


@pytest.mark.parametrize(
    ("latest", "asked", "first"),
    [(None, None, 0), (None, 7, 7), (0, None, 0), (50, None, 50), (50, 7, 50), (50, 70, 70)],
)
def test_rows_get_the_next_ids(tmp_path: Path, latest: int | None, asked: int | None, first: int) -> None:
    before = None if latest is None else snapshot_of(3, next_row_id=latest or None)
    changes = Changes(CommitKind.APPEND, (add("a"),), next_row_id=asked)
    numbered = module._numbered(with_options(tmp_path, TRACKED), changes, before)
    assert (numbered.entries[0].file.first_row_id, numbered.next_row_id) == (first, first + 10)


def test_other_tables_need_nothing(tmp_path: Path) -> None:
    changes = Changes(CommitKind.APPEND, (add("a"),))
    assert module._numbered(with_options(tmp_path, {}), changes, None) is changes


def test_identities_that_may_come_back() -> None:
    """A file that only gets another index has the name and level of one that goes."""
    moved = (delete("a", index=b"x"), add("a"), add("b"), delete("c", level=5), add("c"))
    assert Changes(CommitKind.COMPACT, moved).returning == {add("a").identity}
    assert Changes(CommitKind.OVERWRITE, moved, bring_back=True).returning == {
        add(name).identity for name in ("a", "b", "c")
    }


def test_the_watermark_is_the_largest() -> None:
    assert module._watermark(None, None) is None
    assert module._watermark(snapshot_of(1, watermark=5), None) == 5
    assert module._watermark(snapshot_of(1, watermark=5), 3) == 5
    assert module._watermark(snapshot_of(1, watermark=5), 7) == 7
    assert module._watermark(snapshot_of(1), 7) == 7
