"""Proved moves out of the postpone bucket: sound ones pass, and what goes wrong in one never reaches a snapshot."""

import json
import shutil
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import maintenance.compaction.postpone as postpone
import maintenance.operations.compaction.postponed as compact_postponed
import maintenance.write.bucket_writer as bucket_writer
import maintenance.write.renumber as renumbering
from maintenance.catalog import CatalogTable
from maintenance.compaction.postpone import PostponeCompaction
from maintenance.compaction.proof.postponed import PostponeProof
from maintenance.compaction.superseded import NewerKeys
from maintenance.merge.engine import MergeEngine
from maintenance.merge.ordered import KeyGroups
from maintenance.operations.checks.fsck import fsck
from maintenance.operations.compaction.compact import compact
from maintenance.read.data_file import DataFileReader
from maintenance.write.buckets import buckets_of
from maintenance.write.context import WriteContext
from maintenance.write.message import CommitMessage
from maintenance.write.rolling import RollingFileWriter
from maintenance.write.sequence import sequence_numbers
from maintenance.write.table_write import TableWrite
from tests.examples import examples
from tests.tables import create_table, data_files, files_on_disk, get_table, live

FIELDS = (("id", "INT NOT NULL"), ("s", "INT"), ("a", "INT"), ("b", "STRING"))
WAITING = {"bucket": "-2", "postpone.batch-write-fixed-bucket": "false", "postpone.default-bucket-num": "3"}
GROUPS = {"merge-engine": "partial-update", "fields.s.sequence-group": "a,b"}
SUMS = {"merge-engine": "aggregation", "fields.a.aggregate-function": "sum", "fields.b.aggregate-function": "max"}
# Every so many bytes that a bucket gets are a sorted run of their own.
RUNS = {"write-buffer-size": "300 b"}
Change = Callable[[pa.Table], pa.Table]


def rows(keys: Sequence[int], salt: int) -> pa.Table:
    ids = np.array(keys)
    return pa.table(
        {
            "id": pa.array(ids, pa.int32()),
            "s": pa.array((ids + salt) % 5, pa.int32()),
            "a": pa.array(ids * 7 + salt, pa.int32()),
            "b": pa.array([f"{salt} of {key}" for key in keys]),
        }
    )


def waiting(folder: Path, options: dict[str, str] | None = None) -> CatalogTable:
    """A table in which rows wait, each key three times and more."""
    table = create_table(folder, FIELDS, ("id",), {**WAITING, **(options or {})})
    for salt in range(3):
        table.write_arrow(rows([*range(40), *range(0, 40, 2)], salt))
    return table


def everything(table: CatalogTable) -> list[tuple[Any, ...]]:
    """The live files."""
    return sorted((entry.bucket, entry.file.file_name, entry.file.level) for entry in live(table))


def refused(table: CatalogTable, **how: Any) -> dict[str, Any]:
    """Compact, which must fail with both digests, leave the table as it was, and put the files away."""
    before, snapshot = everything(table), table.snapshots.latest_id()
    report = compact(None, table, **how)
    (group,) = report.failed
    assert group.bucket == -2
    assert table.snapshots.latest_id() == snapshot
    assert everything(table) == before
    (reported,) = Path(table.location).glob("_quarantine/*/proof.json")
    document: dict[str, Any] = json.loads(reported.read_text())
    for side in ("expected", "given"):
        assert document[side]["digest"] in group.message
    assert document["expected"] != document["given"] or document["wrong"]
    assert document["bucket"] == -2
    moved = {str(path.relative_to(reported.parent)) for path in reported.parent.rglob("*") if path.is_file()}
    assert moved - {"proof.json"} == set(document["files"])
    assert {path for path in files_on_disk(table) if "_quarantine" not in path} == data_files(table)
    assert fsck(table.file_io, table.location, deep=True).healthy
    return document


def changed_on_the_way(change: Change, monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows change between the reader and the writer."""
    right = postpone._write

    def wrong(writer: TableWrite, given: pa.Table, buckets: np.ndarray, plan: PostponeCompaction) -> None:
        # What is changed goes with the bucket it had.
        changed = change(given.append_column("_BUCKET", pa.array(buckets)))
        right(writer, changed.drop_columns(["_BUCKET"]), changed.column("_BUCKET").to_numpy(), plan)

    monkeypatch.setattr(postpone, "_write", wrong)


def with_column(given: pa.Table, name: str, values: pa.Array | pa.ChunkedArray) -> pa.Table:
    return given.set_column(given.column_names.index(name), name, values)


WRONG: dict[str, Change] = {
    "loses a row": lambda given: given.slice(1),
    "doubles a row": lambda given: pa.concat_tables([given.slice(0, 1), given]),
    # The first of all rows and the last one: some engine takes each.
    "has another value": lambda given: with_column(
        given, "b", pa.array(["?", *given.column("b").to_pylist()[1:-1], "?"], pa.string())
    ),
    "swaps values": lambda given: with_column(given, "a", given.column("a").take(pa.array(range(len(given)))[::-1])),
    "has another order": lambda given: given.take(pa.array(range(given.num_rows))[::-1]),
}
ENGINES: dict[str, dict[str, str]] = {
    "deduplicate": {},
    "partial-update": {"merge-engine": "partial-update"},
    "first-row": {"merge-engine": "first-row"},
    "groups": GROUPS,
    "aggregation": SUMS,
    "runs": RUNS,
    "runs of aggregates": {**SUMS, **RUNS},
}


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("mode", ["auto", "full", "sampled"])
def test_a_sound_move_is_proved(engine: str, mode: str, tmp_path: Path) -> None:
    table = waiting(tmp_path, ENGINES[engine])
    report = compact(None, table, proof=mode)
    assert not report.failed
    (moved,) = (group for group in report.groups if group.bucket == -2)
    assert moved.proof.startswith("sampled (1 key in 16): " if mode == "sampled" else "full: ")
    assert moved.output_files == 0
    assert {entry.bucket for entry in live(table)} == {0, 1, 2}


@pytest.mark.parametrize("engine", ["runs", "runs of aggregates"])
@pytest.mark.parametrize("pieces", [5, 9, 17, 40])
def test_buckets_whose_runs_end_at_different_rows(
    engine: str, pieces: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Rows that are read together are of one, two or more runs."""
    table = waiting(tmp_path, {**ENGINES[engine], "postpone.default-bucket-num": "2"})
    monkeypatch.setattr(postpone, "_BATCH_ROWS", pieces)
    runs: list[int] = []
    right = PostponeProof._note

    def noted(self: PostponeProof, given: pa.Table, of_run: np.ndarray) -> None:
        runs.append(len(np.unique(of_run)))
        right(self, given, of_run)

    monkeypatch.setattr(PostponeProof, "_note", noted)
    assert not compact(None, table).failed
    assert 2 in runs
    assert table.to_arrow().num_rows == 40


@pytest.mark.parametrize("wrong", WRONG)
@pytest.mark.parametrize("engine", ENGINES)
def test_a_wrong_row_is_found(engine: str, wrong: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    table = waiting(tmp_path, ENGINES[engine])
    changed_on_the_way(WRONG[wrong], monkeypatch)
    refused(table)


@pytest.mark.parametrize("kind", ["+U", "-D"])
@pytest.mark.parametrize("engine", ["deduplicate", "runs"])
def test_a_wrong_kind_is_found(engine: str, kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    table = waiting(tmp_path, ENGINES[engine])
    number = {"+U": 2, "-D": 3}[kind]
    changed_on_the_way(
        lambda given: with_column(given, "_VALUE_KIND", pa.array([number] * len(given), pa.int8())), monkeypatch
    )
    refused(table)


@pytest.mark.parametrize("mode", ["auto", "full", "sampled"])
def test_a_wrong_bucket_is_found(mode: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    table = waiting(tmp_path)
    monkeypatch.setattr(postpone, "buckets_of", lambda *given: (buckets_of(*given) + 1) % 3)
    reported = refused(table, proof=mode)
    assert any("rows of other buckets" in wrong for wrong in reported["wrong"])


def test_a_single_row_in_a_wrong_bucket_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    table = waiting(tmp_path)

    def wrong(given: pa.Table, context: WriteContext) -> np.ndarray:
        actual = buckets_of(given, context).copy()
        actual[7] = (actual[7] + 1) % 3
        return actual

    monkeypatch.setattr(postpone, "buckets_of", wrong)
    # Whatever share of the keys is proved, the buckets of all rows are looked at.
    assert any("rows of other buckets" in wrong for wrong in refused(table, proof="sampled")["wrong"])


@pytest.mark.parametrize("lost", ["rows", "file"])
def test_what_is_not_read_is_found(lost: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    table = waiting(tmp_path)
    right = DataFileReader.batches
    first = min(entry.file.file_name for entry in live(table))

    def wrong(self: DataFileReader, batch_rows: int) -> Iterator[pa.Table]:
        for batch in right(self, batch_rows):
            if lost == "rows":
                yield batch.slice(0, batch.num_rows - 1)
            elif self.file.file_name != first:
                yield batch

    monkeypatch.setattr(DataFileReader, "batches", wrong)
    assert any("and it holds 60" in wrong for wrong in refused(table)["wrong"])


def test_a_writer_that_keeps_the_older_record_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    table = waiting(tmp_path)

    def wrong(self: MergeEngine, given: pa.Table, groups: KeyGroups, *_: Any, **__: Any) -> pa.Table:
        return given.take(pa.array(groups.order[groups.starts]))

    monkeypatch.setattr(MergeEngine, "merge", wrong)
    refused(table)


def test_a_writer_that_numbers_anew_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    table = waiting(tmp_path)
    monkeypatch.setattr(bucket_writer, "sequence_numbers", lambda *given: sequence_numbers(*given) + 1)
    refused(table)


def test_a_wrong_level_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    table = waiting(tmp_path)
    right = RollingFileWriter.close
    monkeypatch.setattr(RollingFileWriter, "close", lambda self: tuple(replace(file, level=1) for file in right(self)))
    assert any("must be on level 0" in wrong for wrong in refused(table)["wrong"])


def test_a_bucket_that_is_not_committed_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    table = waiting(tmp_path)
    right = TableWrite.finish
    monkeypatch.setattr(TableWrite, "finish", lambda self: right(self)[1:])
    wrong = refused(table)["wrong"]
    assert any("was written to, and is not committed" in each for each in wrong)


@pytest.mark.parametrize("what", ["total_buckets", "compact_before", "new_files"])
def test_a_commit_of_more_than_new_files_is_found(what: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    table = waiting(tmp_path)
    right = postpone._as_compaction

    def wrong(message: CommitMessage) -> CommitMessage:
        made = right(message)
        more: Any = made.total_buckets + 1 if what == "total_buckets" else made.compact_after
        return replace(made, **{what: more})

    monkeypatch.setattr(postpone, "_as_compaction", wrong)
    report = compact(None, table)
    assert "has more than new files of a compaction" in report.failed[0].message


def test_a_bucket_that_others_have_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    table = waiting(tmp_path)
    right = postpone._as_compaction
    monkeypatch.setattr(
        postpone, "_as_compaction", lambda message: replace(right(message), bucket=max(1, message.bucket))
    )
    reported = refused(table)
    assert any("bucket 1 is committed twice" in wrong for wrong in reported["wrong"])


@pytest.mark.parametrize("how", ["lost", "another"])
def test_a_wrong_changelog_is_found(how: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    table = waiting(tmp_path, {"changelog-producer": "input"})
    right = RollingFileWriter.write

    def wrong(self: RollingFileWriter, given: pa.Table) -> None:
        if not self._place.changelog:
            right(self, given)
        elif how == "lost":
            right(self, given.slice(1))
        else:
            right(self, with_column(given, "a", given.column("s")))

    monkeypatch.setattr(RollingFileWriter, "write", wrong)
    assert any("the changelog is not the rows that waited" in wrong for wrong in refused(table)["wrong"])


def in_shares(count: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of the buckets of a partition, which two units share, only the first so many units are planned."""
    right = compact_postponed._units

    def shared(*given: Any) -> list[PostponeCompaction]:
        (unit,) = right(*given)
        return [replace(unit, share=share, shares=2) for share in range(count)]

    monkeypatch.setattr(compact_postponed, "_units", shared)


def test_units_that_share_a_partition_take_all_of_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    table = waiting(tmp_path)
    in_shares(1, monkeypatch)
    reported = refused(table)
    assert (reported["expected"]["rows"], reported["wrong"][0].endswith("rows were given a bucket, and 180 wait")) == (
        180,
        True,
    )
    monkeypatch.undo()
    in_shares(2, monkeypatch)
    assert not compact(None, table).failed
    assert table.to_arrow().num_rows == 40


def test_what_a_sound_unit_wrote_goes_with_the_wrong_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    table = waiting(tmp_path)
    in_shares(2, monkeypatch)
    right = postpone._write

    def wrong(writer: TableWrite, given: pa.Table, buckets: np.ndarray, plan: PostponeCompaction) -> None:
        right(writer, given[20 * plan.share :], buckets[20 * plan.share :], plan)

    monkeypatch.setattr(postpone, "_write", wrong)
    reported = refused(table)
    assert {path.split("/")[0] for path in reported["files"]} == {"bucket-1"}


def test_with_the_proof_off_a_lost_row_is_not_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    table = waiting(tmp_path)
    changed_on_the_way(WRONG["loses a row"], monkeypatch)
    report = compact(None, table, proof="off")
    assert not report.failed
    assert {group.proof for group in report.groups} == {""}


# Options, and whether deletions fit.
TABLES: tuple[tuple[dict[str, str], bool], ...] = (
    ({}, True),
    ({"sequence.field": "s"}, True),
    ({"sequence.field": "s", "sequence.field.sort-order": "descending"}, True),
    ({"sequence.field": "s", "sequence.auto-padding": "second-to-micro,row-kind-flag"}, True),
    ({"ignore-delete": "true"}, True),
    ({"changelog-producer": "input"}, True),
    ({"changelog-producer": "lookup"}, True),
    ({"merge-engine": "first-row"}, False),
    ({"merge-engine": "partial-update"}, False),
    (GROUPS, True),
    ({"merge-engine": "partial-update", "partial-update.remove-record-on-delete": "true"}, True),
    (SUMS, False),
    ({**SUMS, "changelog-producer": "input"}, False),
    ({"merge-engine": "aggregation", "aggregation.remove-record-on-delete": "true"}, True),
    ({"data-file.thin-mode": "true", "bucket-function.type": "mod"}, True),
)
SMALL = st.one_of(st.none(), st.integers(0, 3))
RECORDS = st.lists(
    st.tuples(
        st.sampled_from(["+I", "+U", "-D"]),
        st.tuples(st.integers(0, 9), SMALL, SMALL, st.sampled_from([None, "x", "y"])),
    ),
    min_size=1,
    max_size=15,
)
# Batches of records, which wait or go to real buckets; None is a compaction.
HISTORIES = st.lists(st.one_of(st.tuples(st.booleans(), RECORDS), st.none()), min_size=1, max_size=6)


@contextmanager
def in_small_pieces(pieces: int, shares: int) -> Iterator[None]:
    """Files are read a few rows at a time, and units share the buckets."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(postpone, "_BATCH_ROWS", pieces)
        if shares > 1:
            in_shares(2, patch)
        yield


def table_with(folder: str, options: dict[str, str], history: list[Any], *, deletes: bool) -> CatalogTable:
    table = create_table(folder, FIELDS, ("id",), {**WAITING, "num-sorted-run.compaction-trigger": "2", **options})
    for step in history:
        if step is None:
            assert not compact(None, table).failed
            continue
        waits, batch = step
        columns = list(zip(*(row for _, row in batch), strict=True))
        types = (pa.int32(), pa.int32(), pa.int32(), pa.string())
        arrays = [pa.array(column, kind) for column, kind in zip(columns, types, strict=True)]
        direct = table.copy({"postpone.batch-write-fixed-bucket": "true"})
        writer = table if waits else direct
        given = pa.table(arrays, names=[name for name, _ in FIELDS])
        writer.write_arrow(given, [kind if deletes else "+I" for kind, _ in batch])
    return table


@settings(max_examples=examples(50), suppress_health_check=[HealthCheck.too_slow])
@given(
    options=st.sampled_from(TABLES),
    history=HISTORIES,
    buffer=st.sampled_from(["1 b", "200 b", "1 mb"]),
    pieces=st.sampled_from([2, 5, 1000]),
    shares=st.integers(1, 2),
    mode=st.sampled_from(["auto", "full", "sampled"]),
)
def test_nothing_right_is_refused(
    options: Any, history: list[Any], buffer: str, pieces: int, shares: int, mode: str
) -> None:
    folder = tempfile.mkdtemp()
    try:
        with in_small_pieces(pieces, shares):
            table = table_with(folder, {**options[0], "write-buffer-size": buffer}, history, deletes=options[1])
            report = compact(None, table, full=True, proof=mode)
        assert not report.failed
        assert not list(Path(table.location).glob("_quarantine"))
        assert all(entry.bucket >= 0 for entry in live(table))
    finally:
        shutil.rmtree(folder)


def content(table: CatalogTable) -> list[dict[str, Any]]:
    actual: list[dict[str, Any]] = table.to_arrow().sort_by("id").to_pylist()
    return actual


@settings(max_examples=examples(30), suppress_health_check=[HealthCheck.too_slow])
@given(
    options=st.sampled_from(TABLES),
    batch=RECORDS,
    fault=st.sampled_from(["drop", "double", "reverse", "value", "bucket"]),
    where=st.integers(0, 50),
)
def test_no_fault_reaches_a_snapshot(options: Any, batch: list[Any], fault: str, where: int) -> None:
    def change(given: pa.Table) -> pa.Table:
        at = where % given.num_rows
        order = [*range(given.num_rows)]
        if fault == "drop":
            order.pop(at)
        elif fault == "double":
            order.insert(at, at)
        elif fault == "reverse":
            order.reverse()
        elif fault == "value":
            values = given.column("a").to_pylist()
            values[at] = 9
            return with_column(given, "a", pa.array(values, pa.int32()))
        return given.take(pa.array(order, pa.int64()))

    def misplaced(given: pa.Table, context: WriteContext) -> np.ndarray:
        actual = buckets_of(given, context).copy()
        if len(actual):
            actual[where % len(actual)] += 1
        return actual % 3

    folder = tempfile.mkdtemp()
    try:
        table = table_with(f"{folder}/one", options[0], [(True, batch)], deletes=options[1])
        shutil.copytree(f"{folder}/one", f"{folder}/two")
        twin = get_table(Path(f"{folder}/two"))
        assert not compact(None, twin, full=True).failed
        before, snapshot = everything(table), table.snapshots.latest_id()
        with pytest.MonkeyPatch.context() as patch:
            if fault == "bucket":
                patch.setattr(postpone, "buckets_of", misplaced)
            else:
                changed_on_the_way(change, patch)
            report = compact(None, table, full=True)
        if report.failed:
            assert (everything(table), table.snapshots.latest_id()) == (before, snapshot)
        else:
            (moved,) = (group for group in report.groups if group.bucket == -2)
            unproved = report.proof.get("columns proved by key"), report.proof.get("keys only counted")
            assert moved.proof
            assert content(table) == content(twin) or any(unproved)
    finally:
        shutil.rmtree(folder)


# Files that were written straight into buckets after rows that wait are written again with higher numbers.


def with_direct(folder: Path, options: dict[str, str] | None = None) -> CatalogTable:
    table = waiting(folder, options)
    table.copy({"postpone.batch-write-fixed-bucket": "true"}).write_arrow(rows(range(0, 40, 3), 9))
    return table


RENUMBERED: dict[str, Change] = {
    "loses a row": lambda given: given.slice(1),
    "doubles a row": lambda given: pa.concat_tables([given.slice(0, 1), given]),
    "has another value": lambda given: with_column(given, "a", given.column("s")),
    "has other numbers": lambda given: renumbering.shifted(given, 1),
    "swaps numbers": lambda given: with_column(
        given, "_SEQUENCE_NUMBER", given.column("_SEQUENCE_NUMBER").take(pa.array(range(given.num_rows))[::-1])
    ),
}


@pytest.mark.parametrize("wrong", RENUMBERED)
@pytest.mark.parametrize("engine", ["partial-update", "aggregation"])
def test_a_file_that_is_not_the_same_with_higher_numbers_is_found(
    engine: str, wrong: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = with_direct(tmp_path, ENGINES[engine])
    right = renumbering.shifted
    monkeypatch.setattr(renumbering, "shifted", lambda given, shift: RENUMBERED[wrong](right(given, shift)))
    monkeypatch.setitem(RENUMBERED, "has other numbers", lambda given: right(given, 1))
    reported = refused(table)
    assert any("not the same with higher sequence numbers" in each for each in reported["wrong"])


def test_a_file_that_is_not_read_whole_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    table = with_direct(tmp_path, ENGINES["partial-update"])
    right, direct = DataFileReader.batches, {entry.file.file_name for entry in live(table) if entry.bucket >= 0}

    def wrong(self: DataFileReader, batch_rows: int) -> Iterator[pa.Table]:
        for batch in right(self, batch_rows):
            yield batch.slice(1) if self.file.file_name in direct else batch

    monkeypatch.setattr(DataFileReader, "batches", wrong)
    assert any("were read, and it holds" in each for each in refused(table)["wrong"])


@pytest.mark.parametrize("mode", ["auto", "full", "sampled"])
def test_an_order_that_is_not_that_of_the_commits_is_found(
    mode: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = with_direct(tmp_path, ENGINES["partial-update"])
    monkeypatch.setattr(postpone._Move, "_raise", lambda self, direct: self._take(direct.bucket, direct.files))
    assert any(
        "is not higher than those of rows committed before" in each for each in refused(table, proof=mode)["wrong"]
    )
    monkeypatch.undo()
    assert not compact(None, table, proof=mode).failed
    actual = {row["id"]: row["b"] for row in table.to_arrow().to_pylist()}
    assert actual == {key: f"{2 if key % 3 else 9} of {key}" for key in range(40)}


@pytest.mark.parametrize("mode", ["auto", "full", "sampled"])
@pytest.mark.parametrize("fault", ["leaves one out", "keeps all"])
def test_rows_wrongly_left_out_for_later_ones_are_found(
    fault: str, mode: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = with_direct(tmp_path)
    right = NewerKeys.of_rows

    def wrong(self: NewerKeys, given: pa.Table, place: int) -> np.ndarray:
        actual = right(self, given, place)
        if fault == "keeps all":
            return np.zeros(len(actual), bool)
        actual[np.flatnonzero(~actual)[:1]] = True
        return actual

    monkeypatch.setattr(NewerKeys, "of_rows", wrong)
    assert any("wrongly left out or kept" in each for each in refused(table, proof=mode)["wrong"])
    monkeypatch.undo()
    assert not compact(None, table, proof=mode).failed
    actual = {row["id"]: row["b"] for row in table.to_arrow().to_pylist()}
    assert actual == {key: f"{2 if key % 3 else 9} of {key}" for key in range(40)}
