"""Whether all files of a state are there: each kind that is missing, or has another size, shows."""

from collections.abc import Callable
from pathlib import Path

import pytest

from maintenance.errors import CorruptFileError, MissingFileError
from maintenance.format.metadata.index_manifest import DeletionVectorRange
from maintenance.format.metadata.snapshot import Snapshot
from maintenance.metadata.completeness import check_complete, check_vectors, is_untouched
from tests.unit.commit.entries import delete
from tests.unit.metadata.states import FILE_IO, HandMade, file, vectors_of

DATA, EXTRA, CHANGE = file("a"), file("b", extra_files=("b.index",)), file("change")


@pytest.fixture
def table(tmp_path: Path) -> HandMade:
    return HandMade(tmp_path / "t")


@pytest.fixture
def snapshot(table: HandMade) -> Snapshot:
    """Two files, one with a deletion vector, a file that is gone, a changelog and statistics."""
    table.store([DATA, EXTRA, CHANGE])
    index = vectors_of(DeletionVectorRange("a", 0, 1, 10))
    FILE_IO.overwrite(table.paths.index_file(index), bytes(index.file_size))
    FILE_IO.overwrite(table.paths.statistics_file("stat"), b"{}")
    snapshot = table.state(
        1, [DATA, file("gone")], [EXTRA, delete("gone")], changelog=[CHANGE], index=[index], statistics="stat"
    )
    return table.published(snapshot)


def test_a_state_with_all_its_files_is_complete_and_untouched(table: HandMade, snapshot: Snapshot) -> None:
    check_complete(table.manifests, snapshot)
    assert is_untouched(table.manifests, snapshot)


def test_an_empty_state_is_complete_and_untouched(table: HandMade) -> None:
    snapshot = table.published(table.state(1))
    check_complete(table.manifests, snapshot)
    assert is_untouched(table.manifests, snapshot)


@pytest.mark.parametrize("name", ["bucket-0/a", "bucket-0/b", "bucket-0/b.index", "index/index-0", "statistics/stat"])
def test_a_missing_file_of_each_kind_is_named(table: HandMade, snapshot: Snapshot, name: str) -> None:
    (table.folder / name).unlink()
    with pytest.raises(CorruptFileError, match=f"a file that the state needs is missing .*{name}"):
        check_complete(table.manifests, snapshot)
    assert not is_untouched(table.manifests, snapshot)


@pytest.mark.parametrize("name", ["bucket-0/a", "bucket-0/b", "index/index-0"])
def test_a_file_of_another_size(table: HandMade, snapshot: Snapshot, name: str) -> None:
    (table.folder / name).write_bytes(b"12")
    with pytest.raises(CorruptFileError, match="bytes, found 2"):
        check_complete(table.manifests, snapshot)


def test_the_size_of_what_is_beside_a_file_is_not_known(table: HandMade, snapshot: Snapshot) -> None:
    (table.folder / "bucket-0/b.index").write_bytes(b"another size")
    (table.folder / "statistics/stat").write_bytes(b"another size")
    check_complete(table.manifests, snapshot)


def test_a_missing_schema_of_a_snapshot_or_a_file_is_named(table: HandMade) -> None:
    """Of the snapshot, or of a file."""
    newer = file("n", schema_id=1)
    table.store([newer])
    for state in (table.state(1, schema_id=1), table.state(2, [newer])):
        with pytest.raises(MissingFileError, match="schema 1"):
            check_complete(table.manifests, table.published(state))
        assert not is_untouched(table.manifests, state)


def test_a_changelog_is_no_part_of_the_state(table: HandMade, snapshot: Snapshot) -> None:
    (table.folder / "bucket-0/change").unlink()
    check_complete(table.manifests, snapshot)
    assert not is_untouched(table.manifests, snapshot)


def test_what_a_changelog_deletes_need_not_be_there(table: HandMade) -> None:
    snapshot = table.published(table.state(1, changelog=[delete("gone")]))
    assert is_untouched(table.manifests, snapshot)


def test_a_snapshot_that_is_gone_is_not_untouched(table: HandMade, snapshot: Snapshot) -> None:
    (table.folder / "manifest" / snapshot.base_manifest_list).unlink()
    Path(table.paths.snapshot(1)).unlink()
    assert not is_untouched(table.manifests, snapshot)


@pytest.mark.parametrize(
    ("part", "why"),
    [
        (DeletionVectorRange("other", 0, 1, 1), "one of other, which does not live"),
        (DeletionVectorRange("other", 0, 1), "one of other, which does not live"),
        (DeletionVectorRange("a", 0, 1, 11), "one of a, which has 10 rows"),
    ],
)
def test_vectors_of_another_state(table: HandMade, part: DeletionVectorRange, why: str) -> None:
    table.store([DATA])
    index = vectors_of(part)
    FILE_IO.overwrite(table.paths.index_file(index), bytes(5))
    snapshot = table.published(table.state(1, [DATA], index=[index]))
    checks: list[Callable[[], None]] = [
        lambda: check_vectors(table.manifests, snapshot, [index], [DATA]),
        lambda: check_complete(table.manifests, snapshot),
    ]
    for check in checks:
        with pytest.raises(CorruptFileError, match=why):
            check()


def test_vectors_fit_the_data_files_of_their_bucket_alone(table: HandMade) -> None:
    table.store([DATA])
    snapshot = table.published(table.state(1, [DATA], index=[vectors_of(DeletionVectorRange("a", 0, 1, 1))]))
    check_vectors(table.manifests, snapshot, [], [])
    for cardinality in (None, 0, 1, 10):
        index = [vectors_of(DeletionVectorRange("a", 0, 1, cardinality))]
        check_vectors(table.manifests, snapshot, index, [DATA])
    other = [vectors_of(DeletionVectorRange("a", 0, 1, 1), bucket=1)]
    with pytest.raises(CorruptFileError):
        check_vectors(table.manifests, snapshot, other, [DATA])
