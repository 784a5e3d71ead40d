"""The deletion vectors that follow a commit, and those that are not as they were planned on."""

from pathlib import Path

import pytest

from maintenance.commit.conflicts import Conflict
from maintenance.commit.vectors import check_vectors, vectors_after, without_vectors_of
from maintenance.format.metadata.index_manifest import DeletionVectorRange, IndexManifestEntry
from maintenance.format.metadata.snapshot import Snapshot
from maintenance.format.rows.binary_row import EMPTY_ROW
from maintenance.write.message import CommitMessage, VectorsChange
from tests.unit.commit.entries import add
from tests.unit.metadata.states import HandMade, vectors_of


def of(*files: str, name: str = "index-0", bucket: int = 0) -> IndexManifestEntry:
    """An index file with a vector for each of these data files."""
    return vectors_of(*(DeletionVectorRange(file, 1, 2, 1) for file in files), name=name, bucket=bucket)


def message(change: VectorsChange | None, bucket: int = 0) -> CommitMessage:
    return CommitMessage(EMPTY_ROW, bucket, 1, vectors=change)


@pytest.fixture
def latest(tmp_path: Path) -> tuple[HandMade, Snapshot]:
    """Files a, b and c, of which a has a vector; file d of another bucket has one, too."""
    table = HandMade(tmp_path)
    files = [add("a"), add("b"), add("c"), add("d", bucket=1)]
    index = [of("a"), of("d", name="index-1", bucket=1)]
    return table, table.state(1, base=files, index=index)


def conflict(latest: tuple[HandMade, Snapshot], *messages: CommitMessage) -> Conflict | None:
    table, snapshot = latest
    return check_vectors(table.manifests, messages, snapshot)


def test_the_state_that_follows() -> None:
    assert vectors_after([message(None)]) is None
    assert vectors_after([message(VectorsChange({"a": None}))]) is None
    old, new = [of("a"), of("b", name="index-1")], of("a", "c", name="index-2")
    after = vectors_after([message(VectorsChange({}, ("index-0",), (new,)))])
    assert after is not None
    assert after(old) == [old[1], new]
    only_added = vectors_after([message(None), message(VectorsChange({}, (), (new,)))])
    assert only_added is not None
    assert only_added(old) == [*old, new]
    only_removed = vectors_after([message(VectorsChange({}, ("index-1",)))])
    assert only_removed is not None
    assert only_removed(old) == [old[0]]


def test_vectors_of_files_that_go_are_left_out() -> None:
    both, other = of("a", "b"), of("a", name="index-1", bucket=1)
    (left, untouched) = without_vectors_of({(EMPTY_ROW, 0, "a")})([both, other])
    assert [part.data_file_name for part in left.dv_ranges or ()] == ["b"]
    assert (left.row_count, untouched) == (1, other)
    assert without_vectors_of({(EMPTY_ROW, 0, "a"), (EMPTY_ROW, 0, "b")})([both, other]) == [other]
    assert without_vectors_of({(EMPTY_ROW, 0, "x")})([both]) == [both]


def test_what_is_as_it_was_planned_on(latest: tuple[HandMade, Snapshot]) -> None:
    assert conflict(latest) is None
    assert conflict(latest, message(None)) is None
    assert conflict(latest, message(VectorsChange({"a": "index-0", "b": None}, ("index-0",), (of("a"),)))) is None
    assert conflict(latest, message(VectorsChange({"b": None}, (), (of("b"),)))) is None
    assert conflict(latest, message(VectorsChange({"d": "index-1"}, ("index-1",)), bucket=1)) is None


@pytest.mark.parametrize(
    "change",
    [
        VectorsChange({"gone": None}),
        VectorsChange({"d": "index-1"}),
        VectorsChange({"a": None}),
        VectorsChange({"a": "index-7"}),
        VectorsChange({"b": "index-0"}),
        VectorsChange({}, ("index-7",)),
        VectorsChange({}, ("index-1",)),
        VectorsChange({"b": None}, (), (of("b"),), only=True),
        VectorsChange({"b": None}, ("index-0", "index-1"), (), only=True),
    ],
)
def test_what_is_not_as_it_was_planned_on_conflicts(latest: tuple[HandMade, Snapshot], change: VectorsChange) -> None:
    """Files that are gone, vectors in other index files, index files that are gone or came."""
    actual = conflict(latest, message(VectorsChange({"d": "index-1"}), bucket=1), message(change))
    assert actual is not None
    assert actual.groups == {(EMPTY_ROW, 0)}
    assert "deleted rows of the same files meanwhile" in actual.reason


def test_one_index_file_stands_in_place_of_all(latest: tuple[HandMade, Snapshot]) -> None:
    assert conflict(latest, message(VectorsChange({"a": "index-0"}, ("index-0",), (of("a"),), only=True))) is None
    assert conflict(latest, message(VectorsChange({"b": None}, only=True))) is None


def test_without_a_snapshot_no_file_is_there(tmp_path: Path) -> None:
    manifests = HandMade(tmp_path).manifests
    assert check_vectors(manifests, [message(VectorsChange({"a": None}))], None) is not None
    assert check_vectors(manifests, [message(VectorsChange({}))], None) is None
