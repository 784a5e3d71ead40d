"""The proof of rewrites that keep every row, on its own; and of files whose numbers grow."""

import dataclasses
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from maintenance.compaction.proof.findings import Findings
from maintenance.compaction.proof.hashing import ROWS, HashedRows, Hashing
from maintenance.compaction.proof.renumbered import RenumberProof, not_ascending
from maintenance.compaction.proof.settings import ProofMode, ProofResult, ProofSettings
from maintenance.compaction.proof.stream import StreamProof, rows_once, wrong_rows
from maintenance.format.metadata.data_file import DataFileMeta
from maintenance.format.rows.binary_row import EMPTY_ROW
from maintenance.read.data_file import DataFileReader, ReadContext
from maintenance.types.row_hash import Digest
from maintenance.write.context import FileNames, WriteContext
from maintenance.write.message import CommitMessage
from maintenance.write.rolling import FilePlace, RollingFileWriter
from tests.tables import create_table
from tests.unit.compaction.files import data_file

ROWS_OF_A = pa.table({"id": pa.array([3, 1, 2], pa.int32()), "v": ["c", "a", "b"]})
FULL = ProofSettings(ProofMode.FULL)


@pytest.fixture
def context(tmp_path: Path) -> WriteContext:
    return create_table(tmp_path, [("id", "INT"), ("v", "STRING")], ()).write_context()


def read_again(context: WriteContext, file: DataFileMeta) -> DataFileReader:
    read = ReadContext(context.file_io, {0: context.schema}, context.row_fields, keyed=context.has_primary_key)
    return DataFileReader(read, context.paths.data_file(EMPTY_ROW, 0, file), file, {})


def old(*rows: int) -> list[DataFileMeta]:
    return [dataclasses.replace(data_file(f"old-{n}"), row_count=count) for n, count in enumerate(rows)]


def judged(
    context: WriteContext,
    read: pa.Table,
    given: pa.Table,
    *,
    files: Sequence[DataFileMeta] | None = None,
    gone: Mapping[str, int | None] | None = None,
    replaced: Sequence[DataFileMeta] | None = None,
    expected: Digest | None = None,
    settings: ProofSettings = FULL,
) -> ProofResult | list[str]:
    """What the proof says of a rewrite that has read some rows, and given some to the writer."""
    files = old(2, 1) if files is None else files
    proof = StreamProof(settings, context, files, gone or {})
    writer = RollingFileWriter(context, FilePlace(EMPTY_ROW, 0), FileNames.of(context), observer=proof.output)
    for start in range(0, read.num_rows, 2):
        proof.reads(read.slice(start, 2))
    writer.write(given)
    after = writer.close()
    before = tuple(files if replaced is None else replaced)
    message = CommitMessage(EMPTY_ROW, 0, -1, compact_before=before, compact_after=after)
    try:
        return proof.check(message, lambda file: read_again(context, file), expected=expected)
    except Findings as findings:
        return list(findings.wrong)


def digest(rows: pa.Table) -> Digest:
    return Digest.of(HashedRows(rows, Hashing(("id", "v"))).of(ROWS))


def test_the_same_rows_in_another_order_are_proved(context: WriteContext) -> None:
    result = judged(context, ROWS_OF_A, ROWS_OF_A.sort_by("id"))
    assert isinstance(result, ProofResult)
    assert (result.mode, result.share, result.rows_in, result.rows_out) == ("full", 1, 3, 3)
    assert (result.digest, result.read_back) == (digest(ROWS_OF_A), 3)
    little = judged(context, ROWS_OF_A, ROWS_OF_A, settings=ProofSettings(read_back=0))
    assert isinstance(little, ProofResult)
    assert little.read_back == 0


def test_other_rows_and_fewer_rows_are_told(context: WriteContext) -> None:
    other = ROWS_OF_A.set_column(1, "v", pa.array(["c", "b", "a"]))
    assert judged(context, ROWS_OF_A, other) == ["the rows of the new files are not those read"]
    assert judged(context, ROWS_OF_A, ROWS_OF_A[:2]) == ["the rows of the new files are not those read"]


def test_rows_that_are_not_read(context: WriteContext) -> None:
    assert judged(context, ROWS_OF_A[:2], ROWS_OF_A[:2]) == ["2 rows were read, and the files hold 3"]
    assert isinstance(judged(context, ROWS_OF_A[:2], ROWS_OF_A[:2], gone={"old-0": 1}), ProofResult)


def test_others_that_read_the_rows(context: WriteContext) -> None:
    """Then their digest counts, and how many rows were read here does not."""
    nothing = ROWS_OF_A[:0]
    actual = judged(context, nothing, ROWS_OF_A, expected=digest(ROWS_OF_A))
    assert isinstance(actual, ProofResult)
    assert judged(context, nothing, ROWS_OF_A[1:], expected=digest(ROWS_OF_A)) == [
        "the rows of the new files are not those read"
    ]


def test_files_that_should_not_go(context: WriteContext) -> None:
    assert judged(context, ROWS_OF_A, ROWS_OF_A, replaced=old(2)) == [
        "files ['old-0', 'old-1'] were to be replaced, and ['old-0'] are"
    ]


@pytest.mark.parametrize(
    ("gone", "read", "wrong"),
    [
        ({}, 6, False),
        ({}, 5, True),
        ({"a": 2}, 4, False),
        ({"a": 2}, 6, True),
        ({"a": 2, "b": 1}, 3, False),
        ({"a": 0}, 6, False),
        ({"a": None}, 1, False),
        ({"z": 5}, 6, False),
    ],
)
def test_rows_that_files_hold(gone: dict[str, int | None], read: int, wrong: bool) -> None:
    """Where an old index does not say how many are deleted, nothing can be said."""
    files = [dataclasses.replace(data_file(name), row_count=count) for name, count in (("a", 4), ("b", 2))]
    assert len([*wrong_rows(files, gone, read)]) == wrong


def test_files_of_the_same_rows_count_once() -> None:
    def file(name: str, first: int | None) -> DataFileMeta:
        return dataclasses.replace(data_file(name), first_row_id=first, row_count=5)

    files = [file("a", 0), file("b", 0), file("c", 5), file("d", None), file("e", None)]
    assert [each.file_name for each in rows_once(files)] == ["b", "c", "d", "e"]
    assert [*wrong_rows(files, {}, 20)] == []
    assert [*wrong_rows(files, {}, 25)] == ["25 rows were read, and the files hold 20"]


# Numbers


def keyed(numbers: Sequence[int], values: str) -> pa.Table:
    return pa.table(
        {
            "_SEQUENCE_NUMBER": pa.array(numbers, pa.int64()),
            "_VALUE_KIND": pa.array([0] * len(numbers), pa.int8()),
            "id": pa.array(range(len(numbers)), pa.int32()),
            "v": list(values),
        }
    )


def renumbered(folder: Path, read: pa.Table, given: pa.Table, *, level: int = 0, shift: int = 10, **how: Any) -> Any:
    """What the proof says of the file of the rows 0, 1, 2 that is written again with other numbers."""
    context = create_table(folder, [("id", "INT NOT NULL"), ("v", "STRING")], ("id",)).write_context()
    file = dataclasses.replace(data_file("old"), row_count=3)
    proof = RenumberProof(ProofSettings(**how), context, file, shift)
    for start in range(read.num_rows):
        proof.reads(read.slice(start, 1))
    place = FilePlace(EMPTY_ROW, 0, level)
    writer = RollingFileWriter(context, place, FileNames.of(context), observer=proof.observer)
    writer.write(given)
    try:
        return proof.check(writer.close(), lambda made: read_again(context, made))
    except Findings as findings:
        return list(findings.wrong)


THREE = keyed([0, 1, 2], "abc")


@pytest.mark.parametrize("how", [{"mode": ProofMode.FULL}, {"read_back": 1 << 15}, {"read_back": 0}], ids=str)
def test_rows_whose_numbers_grew_are_proved(tmp_path: Path, how: dict[str, Any]) -> None:
    result = renumbered(tmp_path, THREE, keyed([10, 11, 12], "abc"), **how)
    assert isinstance(result, ProofResult)
    assert (result.mode, result.share, result.rows_in, result.rows_out) == ("full", 1, 3, 3)
    assert result.read_back == (0 if how.get("read_back") == 0 else 3)
    assert (result.by_key, result.keys_by_count) == ((), 0)


@pytest.mark.parametrize(
    ("given", "level", "said"),
    [
        (keyed([10, 12, 11], "abc"), 0, ["are not the same with higher"]),
        (keyed([10, 11, 12], "abd"), 0, ["are not the same with higher"]),
        (keyed([0, 1, 2], "abc"), 0, ["are not the same with higher"]),
        (keyed([10, 11], "ab"), 0, ["are not the same with higher"]),
        (keyed([10, 11, 12], "abc"), 1, ["old is on level 0, but its replacement is not"]),
    ],
)
def test_numbers_that_did_not(tmp_path: Path, given: pa.Table, level: int, said: list[str]) -> None:
    actual = renumbered(tmp_path, THREE, given, level=level)
    assert len(actual) == len(said)
    assert all(text in problem for text, problem in zip(said, actual, strict=True))


def test_a_file_that_is_not_read_whole(tmp_path: Path) -> None:
    assert renumbered(tmp_path, THREE[:2], keyed([10, 11], "ab")) == [
        "2 rows of old were read, and it holds 3",
    ]


def test_a_sample_counts_all_rows(tmp_path: Path) -> None:
    """A row that is lost shows though its key may not be one of those proved."""
    for lost in range(3):
        given = keyed([10, 11, 12], "abc")
        given = pa.concat_tables([given[:lost], given[lost + 1 :]])
        actual = renumbered(tmp_path / str(lost), THREE, given, mode=ProofMode.SAMPLED)
        assert actual == ["the rows of old are not the same with higher sequence numbers"]
    result = renumbered(tmp_path / "all", THREE, keyed([10, 11, 12], "abc"), mode=ProofMode.SAMPLED)
    assert (result.mode, result.share) == ("sampled", 16)


def numbered(low: int, high: int) -> DataFileMeta:
    return dataclasses.replace(data_file("f"), min_sequence_number=low, max_sequence_number=high)


@pytest.mark.parametrize(
    ("parts", "before", "wrong"),
    [
        ([[numbered(0, 4)], [numbered(5, 9)]], None, []),
        ([[numbered(0, 4)], [numbered(4, 9)]], None, [4]),
        ([[numbered(5, 9), numbered(0, 4)], [numbered(10, 11)]], None, []),
        ([[numbered(5, 9), numbered(0, 4)], [numbered(9, 11)]], None, [9]),
        ([[numbered(0, 4)]], 0, [0]),
        ([[numbered(1, 4)]], 0, []),
        # What is too low hides nothing that follows it.
        ([[numbered(3, 4)], [numbered(9, 9)]], 9, [3, 9]),
        ([[numbered(3, 4)], [numbered(10, 10)]], 9, [3]),
    ],
)
def test_later_rows_have_higher_numbers(parts: list[list[DataFileMeta]], before: int | None, wrong: list[int]) -> None:
    actual = [*not_ascending({7: parts}, {} if before is None else {7: before})]
    assert actual == [
        f"in bucket 7 sequence number {low} is not higher than those of rows committed before" for low in wrong
    ]
