"""The records of a proof by key and age, against lists that are sorted."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from maintenance.compaction.proof.hashing import KEYS, ROWS, HashedRows, Hashing
from maintenance.compaction.proof.records import (
    Groups,
    OriginBatch,
    ProofRecords,
    RecordOrigin,
    batch_of,
    grouped,
)
from maintenance.merge.ordered import RecordOrder
from tests.examples import examples

HASHING = Hashing(("_SEQUENCE_NUMBER", "_VALUE_KIND", "k", "s"), ("k",))
Row = dict[str, Any]


def table(rows: Sequence[Row]) -> pa.Table:
    return pa.table(
        {
            "_SEQUENCE_NUMBER": pa.array([row["number"] for row in rows], pa.int64()),
            "_VALUE_KIND": pa.array([row["kind"] for row in rows], pa.int8()),
            "k": pa.array([row["k"] for row in rows], pa.int32()),
            "s": pa.array([row["s"] for row in rows], pa.string()),
        }
    )


def hashes_of(rows: Sequence[Row], name: str) -> list[int]:
    return [int(value) for value in HashedRows(table(rows), HASHING).of(name)]


ROW = st.fixed_dictionaries(
    {
        "k": st.integers(1, 4),
        "number": st.integers(0, 3),
        "kind": st.sampled_from([0, 0, 1, 2, 3]),
        "s": st.sampled_from([None, "a", "b", "c"]),
    }
)
RUNS = st.lists(st.lists(ROW, max_size=4), min_size=1, max_size=4)


def age_of(row: Row, order: RecordOrder) -> tuple[Any, ...]:
    """By user sequence, null first either way, then number, then run."""
    if not order.sequence_fields:
        return row["number"], row["run"]
    letter = "abc".index(row["s"]) if row["s"] else -1
    return row["s"] is not None, -letter if order.descending else letter, row["number"], row["run"]


def check(records: ProofRecords, rows: Sequence[Row], order: RecordOrder) -> None:
    """The records are these rows, in runs, and grouped they are by key and age."""
    assert len(records) == len(rows)
    assert records.keys.tolist() == hashes_of(rows, KEYS)
    assert records.hashes(ROWS).tolist() == hashes_of(rows, ROWS)
    assert records.numbers.tolist() == [row["number"] for row in rows]
    assert records.levels.tolist() == [row["run"] % 3 for row in rows]
    retract = [row["kind"] in (1, 3) for row in rows]
    if any(retract):
        assert records.retract is not None
        assert records.retract.tolist() == retract
    else:
        assert records.retract is None
    flags = records.flags(lambda origin: origin.written)
    odd = [row["run"] % 2 == 1 for row in rows]
    assert ([False] * len(rows) if flags is None else flags.tolist()) == odd
    groups = grouped(records)
    actual = [[rows[i] for i in part] for part in np.split(groups.order, groups.starts[1:])] if rows else []
    keys = {row["k"]: int(word) for row, word in zip(rows, hashes_of(rows, KEYS), strict=True)}
    due = [
        sorted((row for row in rows if row["k"] == key), key=lambda row: age_of(row, order))
        for key in sorted(keys, key=keys.__getitem__)
    ]
    assert actual == due
    assert groups.keys.tolist() == sorted(keys.values())


def with_runs(runs: Sequence[Sequence[Row]]) -> list[list[Row]]:
    return [[{**row, "run": number} for row in rows] for number, rows in enumerate(runs)]


def origin(run: int) -> RecordOrigin:
    return RecordOrigin(run, run % 3, run % 2 == 1)


@settings(max_examples=examples(150))
@given(RUNS, st.sampled_from([(), ("s",)]), st.booleans(), st.randoms(use_true_random=False))
def test_records_are_in_order_in_whatever_order_runs_are_read(
    runs: list[list[Row]], sequence: tuple[str, ...], descending: bool, dice: Any
) -> None:
    """In whatever order they are read."""
    order = RecordOrder(("k",), sequence, descending)
    records, parts = ProofRecords(order, 0), with_runs(runs)
    numbered = list(enumerate(parts))
    dice.shuffle(numbered)
    for run, rows in numbered:
        for part in (rows[:2], rows[2:]):
            if part:
                records.add(batch_of(HashedRows(table(part), HASHING), origin(run), (ROWS,), sequence))
    records.settle()
    check(records, [row for part in parts for row in part], order)


@settings(max_examples=examples(100))
@given(RUNS, st.integers(0, 2), st.integers(0, 2))
def test_files_with_a_place_and_without_give_the_same_records(runs: list[list[Row]], spare: int, short: int) -> None:
    """Files that are read whole have a place; what has none, or is not read whole, makes no difference."""
    order = RecordOrder(("k",))
    parts = with_runs(runs)
    records = ProofRecords(order, sum(map(len, parts)) + spare)
    asked = {KEYS: HASHING.of(KEYS), ROWS: HASHING.of(ROWS)}
    kept: list[Row] = []
    for run, rows in enumerate(parts):
        place = records.place(len(rows), origin(run))
        assert place is not None
        read = rows[: len(rows) - short] if run == 1 else rows
        for start in range(0, len(read), 2):
            assert place.add(table(read[start : start + 2]), asked)
        if len(read) == len(rows):
            assert not place.add(table([{"k": 1, "number": 0, "kind": 0, "s": None}]), asked), "it is full"
        kept += read
    assert records.place(spare + 1, origin(9)) is None
    records.settle()
    if kept:
        check(records, kept, order)


def test_rows_without_a_place_come_after_those_with_one() -> None:
    order = RecordOrder(("k",))
    first: list[Row] = [{"k": 1, "number": 5, "kind": 0, "s": None, "run": 0}]
    second: list[Row] = [{"k": 1, "number": 5, "kind": 3, "s": "a", "run": 1}]
    for turned in (False, True):
        records = ProofRecords(order, 1)
        asked = {KEYS: HASHING.of(KEYS), ROWS: HASHING.of(ROWS)}
        place = records.place(1, origin(1 if turned else 0))
        assert place is not None
        assert place.add(table(second if turned else first), asked)
        rest = first if turned else second
        records.add(batch_of(HashedRows(table(rest), HASHING), origin(0 if turned else 1), (ROWS,), ()))
        records.settle()
        check(records, [*first, *second], order)


def test_without_records_there_are_no_groups() -> None:
    records = ProofRecords(RecordOrder(("k",)), 3)
    records.settle()
    groups = grouped(records)
    assert (len(records), records.retract, records.flags(lambda _: True)) == (0, None, None)
    nobody = np.zeros(0, bool)
    for actual in (groups.newest, groups.oldest, groups.last(nobody), groups.first(nobody), groups.any(nobody)):
        assert actual.tolist() == []
    assert groups.only(nobody).counts.tolist() == groups.of_keys(nobody).counts.tolist() == []


@pytest.mark.parametrize(
    "keys",
    [
        [4, 5, 4, 5, 6, 4],
        [1 << 63, 1, 1 << 63, 1, 0],
        [7, 8, 7],
        [8],
        [2, 3],
        [3, 2],
        [3, 2, 1, 0],
        [2**64 - 1, 2**64 - 2, 2**64 - 1, 2**64 - 8],
    ],
)
def test_hashes_of_keys_that_are_close(keys: list[int]) -> None:
    """Those that only differ in few bits are of different keys all the same."""
    records = ProofRecords(RecordOrder(("k",)), 0)
    numbers = np.arange(len(keys), dtype=np.int64)[::-1]
    records.add(OriginBatch(origin(1), numbers, None, {KEYS: np.array(keys, np.uint64)}, {}))
    records.settle()
    groups = grouped(records)
    due = [[i for i in reversed(range(len(keys))) if keys[i] == key] for key in sorted(set(keys))]
    assert [part.tolist() for part in np.split(groups.order, groups.starts[1:])] == due
    assert groups.keys.tolist() == sorted(set(keys))


@settings(max_examples=examples(200))
@given(st.lists(st.tuples(st.integers(0, 3), st.booleans()), min_size=1, max_size=9), st.data())
def test_groups_tell_the_records_of_each_key_and_the_flagged_ones(
    records: list[tuple[int, bool]], data: st.DataObject
) -> None:
    """Each key has its records one after the other, here in the order of their numbers."""
    keys = sorted({key for key, _ in records})
    members = [[number for number, (own, _) in enumerate(records) if own == key] for key in keys]
    order = np.array([number for part in members for number in part])
    starts = np.cumsum([0, *map(len, members)])[:-1]
    groups = Groups(order, starts, np.array([key for key, _ in records], np.uint64))
    flags = np.array([flag for _, flag in records])
    flagged = [[number for number in part if flags[number]] for part in members]
    assert groups.keys.tolist() == keys
    assert groups.counts.tolist() == [len(part) for part in members]
    assert groups.oldest.tolist() == [part[0] for part in members]
    assert groups.newest.tolist() == [part[-1] for part in members]
    assert groups.any(flags).tolist() == [bool(part) for part in flagged]
    assert groups.last(flags).tolist() == [part[-1] if part else -1 for part in flagged]
    assert groups.first(flags).tolist() == [part[0] if part else -1 for part in flagged]
    kept = groups.only(flags)
    left = [part for part in flagged if part]
    assert [part.tolist() for part in np.split(kept.order, kept.starts[1:])] == (left or [[]])
    assert len(kept.starts) == len(left)
    chosen = np.array([data.draw(st.booleans()) for _ in keys])
    some = groups.of_keys(chosen)
    due = [part for part, flag in zip(members, chosen, strict=True) if flag]
    assert some.order.tolist() == [number for part in due for number in part]
    assert some.counts.tolist() == [len(part) for part in due]
    assert some.keys.tolist() == [key for key, flag in zip(keys, chosen, strict=True) if flag]


def test_what_is_said_of_records_unless_it_is_told() -> None:
    actual = RecordOrigin(3, 5)
    assert (actual.written, actual.older, actual.merged) == (True, False, False)


@pytest.mark.parametrize("descending", [False, True])
def test_records_of_one_sequence_are_as_old_as_their_numbers(descending: bool) -> None:
    """Whatever runs they come from, and in however many pieces their columns are."""
    order = RecordOrder(("k",), ("s",), descending)
    given = [("b", 3), ("b", 1), (None, 9), ("a", 5), (None, 2), ("b", 2), ("a", 4)]
    rows: list[Row] = [{"k": 1, "number": number, "kind": 0, "s": s, "run": 0} for s, number in given]
    records = ProofRecords(order, 0)
    pieces = pa.concat_tables([table(rows[:2]), table(rows[2:])])
    records.add(batch_of(HashedRows(pieces, HASHING), origin(0), (ROWS,), ("s",)))
    records.settle()
    check(records, rows, order)
