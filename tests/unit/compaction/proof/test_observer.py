"""What is noted of the rows that reach encoders, and what new files are compared with, against the rows themselves."""

import dataclasses
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from maintenance.catalog import CatalogTable
from maintenance.compaction.proof.files import ReadBack, same_key, written_files
from maintenance.compaction.proof.findings import Timer
from maintenance.compaction.proof.hashing import ROWS, HashedRows, Hashing
from maintenance.compaction.proof.observer import HEAD_ROWS, FileSeen, WrittenRows
from maintenance.format.metadata.data_file import DataFileMeta
from maintenance.format.rows.binary_row import EMPTY_ROW
from maintenance.fs.file_io import FileIO
from maintenance.read.data_file import DataFileReader, ReadContext
from maintenance.types.row_hash import Digest
from maintenance.write.context import FileNames
from maintenance.write.rolling import FilePlace, RollingFileWriter
from tests.examples import examples
from tests.tables import create_table

NAMES = ("_SEQUENCE_NUMBER", "_VALUE_KIND", "id", "v")
HASHING = Hashing(NAMES, ("id",))
Row = tuple[int, int, int, str]


def table_of(rows: Sequence[Row], *, stored: Sequence[int | None] | None = None) -> pa.Table:
    """`stored`: what the file's own column of the key holds; None = the key."""
    ids = [row[2] for row in rows]
    return pa.table(
        {
            "_KEY_id": pa.array(ids if stored is None else stored, pa.int32()),
            "_SEQUENCE_NUMBER": pa.array([row[0] for row in rows], pa.int64()),
            "_VALUE_KIND": pa.array([row[1] for row in rows], pa.int8()),
            "id": pa.array(ids, pa.int32()),
            "v": pa.array([row[3] for row in rows], pa.string()),
        }
    )


def digest(rows: Sequence[Row]) -> Digest:
    return Digest.of(HashedRows(table_of(rows), HASHING).of(ROWS))


ROW = st.tuples(st.integers(0, 9), st.sampled_from([0, 1, 2, 3]), st.integers(0, 5), st.sampled_from("ab"))


@settings(max_examples=examples(150))
@given(st.lists(st.lists(ROW, max_size=4), min_size=1, max_size=4), st.booleans(), st.booleans())
def test_what_is_seen_of_a_file(parts: list[list[Row]], ordered: bool, digests: bool) -> None:
    observer = WrittenRows(HASHING, ordered=ordered, digests=digests)
    for part in parts:
        observer.wrote("f", table_of(part))
    rows = [row for part in parts for row in part]
    if not rows:
        assert (observer.rows, observer.digest) == (0, Digest())
        return
    assert set(observer.files) == {"f"}
    seen = observer.files["f"]
    assert observer.rows == seen.rows == seen.head_rows == len(rows)
    assert seen.retracts == sum(row[1] in (1, 3) for row in rows)
    assert (seen.low, seen.high) == (min(row[0] for row in rows), max(row[0] for row in rows))
    assert seen.first is not None
    assert seen.last is not None
    assert (seen.first["id"].to_pylist(), seen.last["id"].to_pylist()) == ([rows[0][2]], [rows[-1][2]])
    ids = [row[2] for row in rows]
    assert seen.ascending == (not ordered or all(a < b for a, b in zip(ids, ids[1:], strict=False)))
    assert seen.head == digest(rows)
    assert seen.digest == observer.digest == (digest(rows) if digests else Digest())


def test_files_are_kept_apart() -> None:
    observer = WrittenRows(HASHING, ordered=True)
    observer.wrote("a", table_of([(1, 0, 1, "x")]))
    observer.wrote("b", table_of([(2, 3, 0, "y")]))
    observer.wrote("a", table_of([(3, 0, 2, "z")]))
    assert (observer.files["a"].rows, observer.files["b"].rows, observer.rows) == (2, 1, 3)
    assert observer.files["a"].ascending
    assert observer.files["b"].retracts == 1
    assert observer.digest == digest([(1, 0, 1, "x"), (2, 3, 0, "y"), (3, 0, 2, "z")])


@pytest.mark.parametrize(
    ("stored", "same"), [([1, 2], True), ([1, 3], False), ([0, 2], False), ([1, None], False)], ids=str
)
def test_the_files_own_columns_of_the_key(stored: list[int | None], same: bool) -> None:
    """What readers compare by, and the table's column, must be the same."""
    rows: list[Row] = [(1, 0, 1, "x"), (2, 0, 2, "y")]
    observer = WrittenRows(HASHING, ordered=False)
    observer.wrote("a", table_of(rows, stored=stored))
    assert observer.files["a"].ascending == same
    joined = pa.concat_tables([table_of(rows[:1], stored=stored[:1]), table_of(rows[1:], stored=stored[1:])])
    observer.wrote("b", joined)
    assert observer.files["b"].ascending == same, "in several pieces"
    whole = WrittenRows(HASHING, ordered=False)
    whole.wrote("a", table_of(rows).drop_columns(["_KEY_id"]))
    assert whole.files["a"].ascending, "thin files have none"


@pytest.mark.parametrize("shift", [0, 1, 3])
def test_the_start_of_a_file_is_noted_whole(shift: int) -> None:
    """Whatever share of the keys is proved, as many rows as are read again."""
    rows: list[Row] = [(n, 0, n, "x") for n in range(HEAD_ROWS + 100)]
    hashing = dataclasses.replace(HASHING, shift=shift)
    observer = WrittenRows(hashing, ordered=True)
    for start, stop in ((0, 5000), (5000, 8000), (8000, len(rows))):
        observer.wrote("f", table_of(rows[start:stop]))
    seen = observer.files["f"]
    assert (seen.head_rows, seen.rows) == (HEAD_ROWS, len(rows))
    assert seen.head == digest(rows[:HEAD_ROWS])
    hashes = HashedRows(table_of(rows), hashing)
    assert seen.digest == Digest.of(hashes.sampled().of(ROWS))
    assert (seen.digest.rows < len(rows)) == bool(shift)


def test_without_a_key_rows_are_counted_and_proved() -> None:
    observer = WrittenRows(Hashing(("v",)), ordered=False)
    for text in ("b", "a"):
        observer.wrote("f", pa.table({"v": [text]}))
    seen = observer.files["f"]
    assert (seen.rows, seen.first, seen.ascending) == (2, None, True)
    assert seen.digest == Digest.of(HashedRows(pa.table({"v": ["a", "b"]}), Hashing(("v",))).of(ROWS))


# New files


def written(folder: Path, rows: Sequence[Row], format_name: str = "parquet") -> tuple[CatalogTable, Any, DataFileMeta]:
    """A table, what was seen of a file of it, and the file."""
    options = {"file.format": format_name}
    table = create_table(folder, [("id", "INT NOT NULL"), ("v", "STRING")], ("id",), options)
    context = table.write_context()
    observer = WrittenRows(HASHING, ordered=True)
    writer = RollingFileWriter(context, FilePlace(EMPTY_ROW, 0), FileNames.of(context), observer=observer)
    writer.write(table_of(rows).drop_columns(["_KEY_id"]))
    (file,) = writer.close()
    return table, observer, file


SOME: list[Row] = [(4, 0, 1, "a"), (9, 3, 2, "b"), (5, 1, 7, "c")]


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({}, []),
        ({"row_count": 4}, ["got 3 rows, but its entry says 4"]),
        ({"delete_row_count": 1}, ["got 2 retractions, but its entry says 1"]),
        ({"min_sequence_number": 5}, ["got sequence numbers 4 to 9, but its entry says others"]),
        ({"max_sequence_number": 5}, ["got sequence numbers 4 to 9, but its entry says others"]),
        ({"min_key": "max_key"}, ["is (1,), its manifest entry says (7,)"]),
        ({"max_key": "min_key"}, ["is (7,), its manifest entry says (1,)"]),
    ],
    ids=str,
)
def test_entries_say_what_was_written(tmp_path: Path, change: dict[str, Any], said: list[str]) -> None:
    table, observer, file = written(tmp_path, SOME)
    values = {name: getattr(file, value) if isinstance(value, str) else value for name, value in change.items()}
    actual = [*written_files([dataclasses.replace(file, **values)], observer, table.schema)]
    assert len(actual) == len(said)
    assert all(text in problem and file.file_name in problem for text, problem in zip(said, actual, strict=True))


def test_files_that_only_one_side_knows(tmp_path: Path) -> None:
    table, observer, file = written(tmp_path, SOME)
    assert [*written_files([], observer, table.schema)] == [f"file {file.file_name} was written, and is not committed"]
    other = dataclasses.replace(file, file_name="x.parquet")
    # And of the others all is said.
    wrong = [*written_files([other, dataclasses.replace(file, row_count=1)], observer, table.schema)]
    assert wrong == [
        "file x.parquet was not written, and is committed",
        f"{file.file_name} got 3 rows, but its entry says 1",
    ]


def test_keys_that_do_not_ascend(tmp_path: Path) -> None:
    table, observer, file = written(tmp_path, SOME)
    observer.files[file.file_name].ascending = False
    (problem,) = written_files([file], observer, table.schema)
    assert "do not ascend" in problem


@pytest.mark.parametrize(
    ("left", "right", "same"),
    [
        ((1, "a"), (1, "a"), True),
        ((1, "a"), (1, "b"), False),
        ((2, "a"), (1, "a"), False),
        ((float("nan"),), (float("nan"),), True),
        ((float("nan"),), (1.0,), False),
        ((1.0,), (float("nan"),), False),
        ((), (), True),
    ],
)
def test_keys_that_are_the_same(left: tuple[object, ...], right: tuple[object, ...], same: bool) -> None:
    assert same_key(left, right) == same


def reader(table: CatalogTable, file: DataFileMeta, file_io: FileIO | None = None) -> DataFileReader:
    context = ReadContext(file_io or table.file_io, {0: table.schema}, table.write_context().row_fields)
    return DataFileReader(context, table.paths.data_file(EMPTY_ROW, 0, file), file, {})


def read_back(
    table: CatalogTable, observer: WrittenRows, file: DataFileMeta, rows: int = 10**6, *, whole: bool = True
) -> tuple[int, list[str]]:
    return ReadBack(HASHING, {file.file_name: reader(table, file)}, rows, whole).check(observer)


@pytest.mark.parametrize("format_name", ["parquet", "orc", "avro", "row"])
@pytest.mark.parametrize("whole", [False, True])
def test_what_a_file_holds(tmp_path: Path, format_name: str, whole: bool) -> None:
    table, observer, file = written(tmp_path, SOME, format_name)
    assert read_back(table, observer, file, whole=whole) == (3, [])
    assert read_back(table, observer, file, 1, whole=whole) == (3, []), "a file that is begun is read"
    assert read_back(table, observer, file, 0, whole=whole) == (0, []), "but for its footer"
    due = dataclasses.replace(observer.files[file.file_name])
    due.head = due.digest = digest([*SOME[:2], (5, 1, 7, "?")])
    observer.files[file.file_name] = due
    read, (problem,) = read_back(table, observer, file, whole=whole)
    assert (read, problem) == (3, f"{file.file_name} was given {due.head}, and holds {digest(SOME)}")


@pytest.mark.parametrize("format_name", ["parquet", "orc"])
def test_footers_say_how_many_rows_there_are(tmp_path: Path, format_name: str) -> None:
    table, observer, file = written(tmp_path, SOME, format_name)
    observer.files[file.file_name].rows = 4
    assert read_back(table, observer, file, 0) == (
        0,
        [f"{file.file_name} was given 4 rows, and its footer says 3"],
    )


def test_sizes_are_those_of_the_entries(tmp_path: Path) -> None:
    table, observer, file = written(tmp_path, SOME)
    size = file.file_size
    for said in (size - 1, size + 1):
        wrong = read_back(table, observer, dataclasses.replace(file, file_size=said))[1]
        assert any(str(said) in problem for problem in wrong)


@pytest.mark.parametrize("further", [1, 5, HEAD_ROWS + 1])
def test_only_the_start_is_read_where_not_all_is(tmp_path: Path, further: int) -> None:
    rows: list[Row] = [(n, 0, n, "x") for n in range(HEAD_ROWS + further)]
    table, observer, file = written(tmp_path, rows)
    assert read_back(table, observer, file, whole=False) == (HEAD_ROWS, [])
    assert read_back(table, observer, file, whole=True) == (len(rows), [])


def test_several_files_until_it_is_enough(tmp_path: Path) -> None:
    table, observer, file = written(tmp_path / "a", SOME)
    others, other_observer, other = written(tmp_path / "b", [(1, 0, 1, "x"), (1, 0, 2, "y")])
    both = WrittenRows(HASHING, ordered=True)
    both.files = {**observer.files, **other_observer.files}
    readers = {file.file_name: reader(table, file), other.file_name: reader(others, other)}
    for rows, read in ((10, 5), (4, 5), (3, 3), (1, 3), (0, 0)):
        assert ReadBack(HASHING, readers, rows, whole=True).check(both) == (read, [])
    # After a fault no content is read any more; a file nobody saw is left alone.
    both.files[file.file_name].rows = 9
    assert ReadBack(HASHING, readers, 10, whole=True).check(both)[0] == 0
    del both.files[file.file_name]
    assert ReadBack(HASHING, readers, 10, whole=True).check(both) == (2, [])


def test_a_file_that_is_gone_is_a_finding(tmp_path: Path) -> None:
    table, observer, file = written(tmp_path, SOME)
    Path(table.paths.data_file(EMPTY_ROW, 0, file)).unlink()
    read, (problem,) = read_back(table, observer, file)
    assert read == 0
    assert problem.startswith(f"{file.file_name} cannot be read again: ")


def test_a_storage_that_fails_says_nothing_of_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    table, observer, file = written(tmp_path, SOME)

    def failing(*_: object) -> Any:
        raise PermissionError(13, "not now")

    monkeypatch.setattr(FileIO, "open_input", failing)
    with pytest.raises(PermissionError):
        read_back(table, observer, file)


def test_the_rows_seen_of_a_new_file_are_none() -> None:
    seen = FileSeen()
    assert (seen.rows, seen.retracts, seen.head_rows, seen.ascending) == (0, 0, 0, True)
    assert seen.low > seen.high


def test_a_timer_that_is_entered_twice_counts_once(monkeypatch: pytest.MonkeyPatch) -> None:
    now = iter([10.0, 13.0, 20.0, 21.0])
    monkeypatch.setattr("maintenance.compaction.proof.findings.time.thread_time", lambda: next(now))
    timer = Timer()
    with timer:
        with timer:
            pass
        assert timer.seconds == 0
    assert timer.seconds == 3
    with timer:
        pass
    assert timer.seconds == 4


def test_hashes_in_a_sample_are_those_of_the_rows() -> None:
    rows: list[Row] = [(n, 0, n, "x") for n in range(200)]
    hashed = HashedRows(table_of(rows), dataclasses.replace(HASHING, shift=2)).hash(ROWS)
    sampled = hashed.sampled()
    assert 0 < sampled.rows.num_rows < 200
    assert sampled.of(ROWS).tolist() == HashedRows(sampled.rows, HASHING).of(ROWS).tolist()
    assert hashed.only(np.arange(200)) is hashed
