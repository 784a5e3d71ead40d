"""Global indexes in a commit: which are concerned, and whether the rows that were indexed are still there."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from maintenance.commit.conflicts import Conflict
from maintenance.commit.global_indexes import check_added, ids_of, indexed_fields, indexes_of
from maintenance.format.global_index import bitmap, btree
from maintenance.format.metadata.index_manifest import GlobalIndexMeta, IndexManifestEntry
from maintenance.format.metadata.manifest import FileKind, ManifestEntry
from maintenance.format.metadata.schema import TableSchema
from maintenance.format.rows.binary_row import EMPTY_ROW
from maintenance.types.data_type import DataField, parse_type
from tests.unit.metadata.states import HandMade, file, vectors_of

A, B = 1, 2
SCHEMA = TableSchema(0, (DataField(A, "a", parse_type("INT")), DataField(B, "b", parse_type("INT"))), 2)
HERE = (EMPTY_ROW, 0)


def index(
    first: int,
    last: int,
    field: int = A,
    *,
    kind: str = btree.NAME,
    partition: bytes = EMPTY_ROW,
    further: tuple[int, ...] | None = None,
) -> IndexManifestEntry:
    meta = GlobalIndexMeta(first, last, field, further)
    return IndexManifestEntry(FileKind.ADD, partition, 0, kind, f"index-{first}", 5, 1, global_index=meta)


def rows(
    name: str, first: int | None, count: int, *, made: int = 1, columns: tuple[str, ...] | None = None
) -> ManifestEntry:
    return file(name, first_row_id=first, row_count=count, max_sequence_number=made, write_cols=columns)


def test_the_columns_of_an_index() -> None:
    assert indexed_fields(GlobalIndexMeta(0, 1, A)) == (A,)
    assert indexed_fields(GlobalIndexMeta(0, 1, A, (B,))) == (A, B)


def test_indexes_that_are_concerned() -> None:
    plain, several, elsewhere = index(0, 9), index(0, 9, further=(B,)), index(0, 9, partition=b"x")
    listed = [plain, several, elsewhere, index(0, 9, 3), vectors_of()]
    assert indexes_of(listed, {EMPTY_ROW}, {A}) == [plain, several]
    assert indexes_of(listed, {EMPTY_ROW}, {B}) == [several]
    assert indexes_of(listed, {b"x"}, {A, B}) == [elsewhere]
    assert indexes_of(listed, {EMPTY_ROW}, set()) == []


def test_row_ids_of_files() -> None:
    files = [rows("a", 0, 2).file, rows("b", 7, 1).file, rows("c", None, 5).file]
    assert list(ids_of(files)) == [0, 1, 7]


def conflict(
    folder: Path,
    added: Sequence[IndexManifestEntry],
    live: Sequence[ManifestEntry],
    there: Sequence[IndexManifestEntry] = (),
    seen: int = 5,
) -> Conflict | None:
    table = HandMade(folder)
    latest = table.state(9, base=live, index=there)
    return check_added(table.manifests, lambda ids: dict.fromkeys(ids, SCHEMA), added, latest, seen)


LIVE = [rows("a", 0, 10), rows("b", 10, 10)]


@pytest.mark.parametrize(
    ("live", "there"),
    [
        (LIVE, []),
        (LIVE, [index(20, 29)]),
        (LIVE, [index(0, 9, B)]),
        (LIVE, [index(0, 9, kind=bitmap.NAME)]),
        (LIVE, [index(0, 9, partition=b"x")]),
        ([*LIVE, rows("new", 0, 10, made=6, columns=("b",))], []),
        ([*LIVE, rows("new", 0, 10, made=5, columns=("a",))], []),
        ([*LIVE, rows("new", 20, 10, made=6)], []),
    ],
)
def test_indexes_of_rows_that_are_there_unchanged_do_not_conflict(
    tmp_path: Path, live: Sequence[ManifestEntry], there: Sequence[IndexManifestEntry]
) -> None:
    assert conflict(tmp_path, [index(0, 9), index(10, 19)], live, there) is None


@pytest.mark.parametrize(
    ("live", "there"),
    [
        ([], []),
        (LIVE[:1], []),
        ([LIVE[0], rows("b", 10, 9)], []),
        ([LIVE[0], replace(LIVE[1], partition=b"x")], []),
        ([*LIVE, rows("new", 0, 10, made=6, columns=("a",))], []),
        ([*LIVE, rows("new", 19, 1, made=6)], []),
        (LIVE, [index(19, 25)]),
        (LIVE, [index(0, 0, B, further=(A,))]),
    ],
)
def test_indexes_of_rows_gone_changed_or_indexed_already_conflict(
    tmp_path: Path, live: Sequence[ManifestEntry], there: Sequence[IndexManifestEntry]
) -> None:
    """Rows that are gone, rows with newer values in the column, rows that another index has."""
    actual = conflict(tmp_path, [index(0, 9), index(10, 19)], live, there)
    assert actual is not None
    assert actual.groups == {HERE}


def test_without_a_snapshot_no_row_is_there(tmp_path: Path) -> None:
    manifests = HandMade(tmp_path).manifests
    assert check_added(manifests, lambda _: {}, [index(0, 9)], None, 5) is not None
    assert check_added(manifests, lambda _: {}, [], None, 5) is None
