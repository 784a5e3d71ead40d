"""Strict mode: what others have done to the same partitions since a snapshot, and what stands in nobody's way."""

from dataclasses import replace
from pathlib import Path

import pytest

from maintenance.commit.conflicts import Conflict
from maintenance.commit.strict import StrictMode
from maintenance.format.metadata.manifest import ManifestEntry
from maintenance.format.metadata.snapshot import CommitKind, Snapshot
from maintenance.format.rows.binary_row import EMPTY_ROW
from tests.unit.commit.entries import add
from tests.unit.metadata.states import HandMade, vectors_of

APPEND, COMPACT, OVERWRITE = CommitKind.APPEND, CommitKind.COMPACT, CommitKind.OVERWRITE


@pytest.fixture
def table(tmp_path: Path) -> HandMade:
    return HandMade(tmp_path)


def published(table: HandMade, number: int, kind: CommitKind, *delta: ManifestEntry, user: str = "other") -> Snapshot:
    snapshot = table.state(number, delta=delta, commit_kind=kind, commit_user=user)
    assert table.snapshots.publish(snapshot)
    return snapshot


def strict(table: HandMade, last_safe: int | None) -> StrictMode:
    return StrictMode(table.snapshots, table.manifests, last_safe, "me")


def found(mode: StrictMode, latest: Snapshot | None, kind: CommitKind = APPEND) -> Conflict | None:
    return mode.found(kind, [add("new")], latest)


@pytest.mark.parametrize(
    ("theirs", "mine", "clashes"),
    [
        (COMPACT, APPEND, True),
        (OVERWRITE, APPEND, True),
        (APPEND, APPEND, False),
        (APPEND, COMPACT, False),
        (APPEND, OVERWRITE, True),
        (COMPACT, OVERWRITE, True),
        (CommitKind.ANALYZE, OVERWRITE, False),
    ],
)
def test_the_kinds_of_both_commits_decide_whether_they_clash(
    table: HandMade, theirs: CommitKind, mine: CommitKind, clashes: bool
) -> None:
    latest = published(table, 1, theirs, add("a"))
    conflict = found(strict(table, 0), latest, mine)
    assert (conflict is not None) == clashes
    if conflict is not None:
        assert conflict.reason.startswith(f"snapshot 1 ({theirs.value}) of user 'other' changed the same partitions")
        assert conflict.groups == {(EMPTY_ROW, 0)}


def test_own_commits_and_other_partitions_are_in_nobodys_way(table: HandMade) -> None:
    assert found(strict(table, 0), published(table, 1, COMPACT, add("a"), user="me")) is None
    assert found(strict(table, 0), published(table, 2, COMPACT, add("b", partition=b"elsewhere"))) is None


def test_what_waits_for_a_bucket_is_in_the_way_of_no_overwrite(table: HandMade) -> None:
    latest = published(table, 1, APPEND, add("a", bucket=-2))
    assert found(strict(table, 0), latest, OVERWRITE) is None
    latest = published(table, 2, COMPACT, add("b", bucket=-2))
    assert found(strict(table, 1), latest, OVERWRITE) is not None


def test_only_snapshots_after_the_safe_one_count(table: HandMade) -> None:
    published(table, 1, COMPACT, add("a"))
    latest = published(table, 2, APPEND, add("b"))
    assert found(strict(table, None), latest) is None
    assert found(strict(table, 1), latest) is None
    assert found(strict(table, 0), latest) is not None
    assert found(strict(table, 0), None) is None


def test_below_0_the_first_attempt_finds_what_is_safe(table: HandMade) -> None:
    mode = strict(table, -1)
    assert found(mode, published(table, 1, COMPACT, add("a"))) is None
    assert found(mode, published(table, 2, COMPACT, add("b"))) is not None


def test_what_was_looked_at_is_not_looked_at_again(table: HandMade) -> None:
    mode = strict(table, 0)
    assert found(mode, published(table, 1, APPEND, add("a"))) is None
    Path(table.paths.snapshot(1)).unlink()
    assert found(mode, published(table, 2, APPEND, add("b"))) is None


def test_what_has_expired_cannot_be_looked_at(table: HandMade) -> None:
    conflict = found(strict(table, 0), published(table, 2, APPEND, add("b")))
    assert conflict is not None
    assert conflict.reason.startswith("snapshot 1 has expired before 'commit.strict-mode.last-safe-snapshot'")


def test_a_changed_index_counts_as_a_change_of_its_partitions(table: HandMade) -> None:
    first = table.state(1, index=[vectors_of()], commit_kind=COMPACT, commit_user="me")
    assert table.snapshots.publish(first)
    second = table.state(2, index=[vectors_of(name="index-1")], commit_kind=COMPACT, commit_user="other")
    assert table.snapshots.publish(second)
    assert found(strict(table, 1), second) is not None
    assert strict(table, 1).found(APPEND, [add("new", partition=b"elsewhere")], second) is None
    third = table.state(3, commit_kind=COMPACT, commit_user="other")
    same = replace(third, index_manifest=second.index_manifest)
    assert table.snapshots.publish(same)
    assert found(strict(table, 2), same) is None
    Path(table.paths.snapshot(2)).unlink()
    assert found(strict(table, 2), same) is not None, "nobody knows what was there before"
