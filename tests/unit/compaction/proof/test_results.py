"""Rows that are due against rows that are there: what is right passes, and each fault in what is proved shows."""

import dataclasses
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from maintenance.compaction.proof.bucket import _Judgement, wrong_counts
from maintenance.compaction.proof.hashing import KEYS, ROWS, HashedRows
from maintenance.compaction.proof.records import Groups, ProofRecords, RecordOrigin, batch_of, grouped
from maintenance.compaction.proof.results import (
    Comparison,
    Gathered,
    Places,
    ProofRules,
    compared_units,
    due_rows,
)
from maintenance.compaction.proof.settings import ProofMode, ProofSettings
from maintenance.types.row_hash import Digest
from tests.examples import examples
from tests.tables import create_table
from tests.unit.compaction.files import data_file

Row = dict[str, Any]
SUMS = {
    "merge-engine": "aggregation",
    "fields.v.aggregate-function": "sum",
    "fields.b.aggregate-function": "hll_sketch",
}
FIELDS = (("k", "INT NOT NULL"), ("v", "INT"), ("b", "BYTES"))
FULL = ProofSettings(ProofMode.FULL)


def rules_of(folder: Path, options: Mapping[str, str]) -> ProofRules:
    return ProofRules(create_table(folder, FIELDS, ("k",), options).write_context())


@pytest.fixture(scope="module")
def sums(tmp_path_factory: pytest.TempPathFactory) -> ProofRules:
    """Of a table whose column v is a sum, and of whose column b only lone records are known."""
    return rules_of(tmp_path_factory.mktemp("sums"), SUMS)


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> ProofRules:
    """Of a table whose engine takes records whole."""
    return rules_of(tmp_path_factory.mktemp("whole"), {})


def table_of(rows: Sequence[Row]) -> pa.Table:
    return pa.table(
        {
            "_SEQUENCE_NUMBER": pa.array([row["number"] for row in rows], pa.int64()),
            "_VALUE_KIND": pa.array([row["kind"] for row in rows], pa.int8()),
            "k": pa.array([row["k"] for row in rows], pa.int32()),
            "v": pa.array([row["v"] for row in rows], pa.int32()),
            "b": pa.array([row["b"] for row in rows], pa.binary()),
        }
    )


def hashed(rules: ProofRules, rows: Sequence[Row]) -> HashedRows:
    return HashedRows(table_of(rows), rules.hashing(FULL, []))


def records_of(rules: ProofRules, rows: Sequence[Row], *, merged: bool = False) -> ProofRecords:
    """Rows with `level` are of a run of their own each."""
    records = ProofRecords(rules.order, 0)
    for run, row in enumerate(rows):
        origin = RecordOrigin(run, row.get("level", 0), merged=merged)
        records.add(batch_of(hashed(rules, [row]), origin, rules.wanted, rules.columns))
    records.settle()
    return records


def gathered(rules: ProofRules, rows: Sequence[Row]) -> Gathered:
    actual = Gathered()
    for part in (rows[:1], rows[1:]):
        if part:
            actual.add(hashed(rules, part), rules)
    return actual


RECORDS = st.lists(
    st.fixed_dictionaries(
        {
            "k": st.integers(1, 5),
            "kind": st.sampled_from([0, 0, 0, 2, 1, 3]),
            "v": st.sampled_from([None, 1, 2, -3]),
            "b": st.sampled_from([None, b"x", b"y"]),
        }
    ),
    min_size=1,
    max_size=9,
).map(lambda rows: [{**row, "number": number} for number, row in enumerate(rows)])


def result(own: Sequence[Row], *, as_is: bool) -> Row:
    """The row of a key; b is anything where it is not known."""
    if as_is:
        return own[0]
    values = [row["v"] for row in own if row["v"] is not None]
    return {**own[-1], "kind": 0, "v": sum(values) if values else None, "b": b"?"}


@settings(max_examples=examples(150))
@given(given=RECORDS, merged=st.booleans(), drops=st.booleans(), data=st.data())
def test_right_rows_pass_and_a_wrong_one_is_told_by_its_column(
    sums: ProofRules, given: list[Row], merged: bool, drops: bool, data: st.DataObject
) -> None:
    records = records_of(sums, given, merged=merged)
    groups = grouped(records)

    def compared(rows: Sequence[Row]) -> Comparison:
        return compared_units(sums, records, groups, gathered(sums, rows), drop_deletes=drops)

    certain: list[Row] = []
    unknown: list[Row] = []
    gone: list[Row] = []
    guessed = False
    for key in sorted({row["k"] for row in given}):
        own = [row for row in given if row["k"] == key]
        as_is = len(own) == 1 and not merged
        retracted = any(row["kind"] in (1, 3) for row in own)
        row = result(own, as_is=as_is)
        (unknown if retracted and not as_is else gone if retracted and drops else certain).append(row)
        guessed |= not as_is and not retracted
    there = [*certain, *unknown]
    right = compared(there)
    assert right.expected == right.given
    assert (right.where, right.counted) == ("", len(unknown))
    assert right.by_key == (("b",) if guessed else ())

    def differs(rows: Sequence[Row]) -> str | None:
        """Where it is wrong; None where it is not."""
        actual = compared(rows)
        return None if actual.expected == actual.given and not actual.where else actual.where

    # Of what is not known anything goes, but for the keys, if they must be there.
    for row in unknown:
        others = [each for each in there if each is not row]
        assert differs([*others, {**row, "v": 77, "number": 99}]) is None
        assert (differs(others) is None) == drops
    for row in certain:
        others = [each for each in there if each is not row]
        assert differs(others) is not None
        assert differs([*others, row, row]) is not None
        assert differs([*others, {**row, "v": 77}]) == ", column v"
        assert differs([*others, {**row, "number": 99}]) == ", column _VALUE_KIND"
        assert differs([*others, {**row, "kind": 2 if row["kind"] != 2 else 0}]) == ", column _VALUE_KIND"
        assert differs([*others, {**row, "k": 99}]) is not None
    for row in gone:
        assert ", which have unexpected keys" in (differs([*there, row]) or "")


@settings(max_examples=examples(100))
@given(given=RECORDS, drops=st.booleans(), data=st.data())
def test_due_rows_are_the_newest_records_but_for_those_left_out(
    whole: ProofRules, given: list[Row], drops: bool, data: st.DataObject
) -> None:
    records = records_of(whole, given)
    groups = grouped(records)
    newest = {row["k"]: row for row in given}
    hashes = {int(key): row for row, key in zip(given, records.keys.tolist(), strict=True)}
    keys = [hashes[int(key)]["k"] for key in groups.keys]
    left_out = {key: data.draw(st.booleans()) for key in keys}
    for out in (None, np.array([left_out[key] for key in keys])):
        digest, picked = due_rows(whole, records, groups, left_out=out, drop_deletes=drops)
        assert [given[record] for record in picked.tolist()] == [newest[key] for key in keys]
        due = [
            row
            for key, row in newest.items()
            if not (drops and row["kind"] in (1, 3)) and (out is None or not left_out[key])
        ]
        assert digest == Digest.of(hashed(whole, due).of(ROWS))


def test_what_rows_are_made_of(sums: ProofRules, whole: ProofRules) -> None:
    assert (whole.by_row, whole.units, whole.columns, whole.wanted) == (True, (), (), (ROWS,))
    assert [unit.text for unit in sums.units] == ["k", "v", "b"]
    assert (sums.by_row, sums.columns, sums.wanted) == (False, ("v",), ("_VALUE_KIND", "k", "v", "b"))
    assert [sums.text_of(name) for name in ("v", "_VALUE_KIND")] == ["v", "_VALUE_KIND"]


@pytest.mark.parametrize(
    ("options", "further", "hashes"),
    [
        # Its key, its number, its hash, and three more to sort by.
        ({}, 0, 6),
        ({}, 1, 7),
        ({"sequence.field": "v"}, 0, 7),
        # The hash and the cell of each of three columns; one is needed as it is.
        (SUMS, 0, 12),
    ],
    ids=str,
)
@pytest.mark.parametrize("shares", [1, 3])
def test_hashes_that_a_record_takes(
    tmp_path: Path, options: dict[str, str], further: int, hashes: int, shares: int
) -> None:
    """All keys are proved as long as they fit, of those that tasks share each for itself."""
    limit = ProofSettings(hashes=100 * hashes)
    rules = rules_of(tmp_path, options)
    for rows, shift in ((100 * shares, 0), (100 * shares + 1, 1), (200 * shares, 1), (200 * shares + 1, 2)):
        files = [
            dataclasses.replace(data_file("a"), row_count=rows - 1),
            dataclasses.replace(data_file("b"), row_count=1),
        ]
        assert rules.hashing(limit, files, shares=shares, further=further).shift == shift


def test_values_of_no_fixed_width_weigh_what_their_files_do(tmp_path: Path) -> None:
    """Four times: a file of 40 bytes for each row counts as 20 hashes of 8 bytes."""
    rules = rules_of(tmp_path, {"sequence.field": "b"})
    file = dataclasses.replace(data_file("a", size=4000), row_count=100)
    for limit, shift in ((2700, 0), (2699, 1)):
        assert rules.hashing(ProofSettings(hashes=limit), [file]).shift == shift


def test_bitmaps_are_sampled_from_fewer_records_on(tmp_path: Path) -> None:
    """The union of each record's numbers takes as long as a hundred hashes."""
    union = {"merge-engine": "aggregation", "fields.b.aggregate-function": "rbm32"}
    file = dataclasses.replace(data_file("a", size=0), row_count=1000)
    for options, shift in (({}, 0), (union, 4)):
        rules = rules_of(tmp_path / str(shift), options)
        assert rules.hashing(ProofSettings(hashes=7000), [file]).shift == shift


@pytest.mark.parametrize(
    ("keys", "rows", "flags", "among"),
    [
        ([], [1, 2], [], [False, False]),
        ([1, 3], [3, 1, 2, 9, 0], [True, True], [True, True, False, False, False]),
        ([1, 3], [3, 1, 3], [True, False], [False, True, False]),
    ],
)
def test_rows_are_found_among_the_keys_that_have_the_flag(
    keys: list[int], rows: list[int], flags: list[bool], among: list[bool]
) -> None:
    place = Places(np.array(keys, np.uint64), np.array(rows, np.uint64))
    chosen = np.array(flags, bool)
    assert place.among(chosen).tolist() == among
    assert place.among(chosen).tolist() == among, "asked again"
    # Where all keys have the flag the keys' digests tell.
    assert place.all_among(chosen) == (all(flags) or all(among))


def test_comparisons_of_two_parts_add_up_to_one() -> None:
    one = Comparison(Digest(1, 1, 1), Digest(2, 2, 2), "", ("a",), 3)
    two = Comparison(Digest(3, 3, 3), Digest(4, 4, 4), "there", ("b", "a"), 4)
    assert one + two == Comparison(Digest(4, 4, 4), Digest(6, 6, 6), "there", ("a", "b"), 7)
    assert (two + one).where == "there"


# Levels


LEVELS = st.lists(st.tuples(st.integers(1, 3), st.integers(-1, 3)), max_size=8)


@settings(max_examples=examples(200))
@given(given=LEVELS, looks_up=st.booleans(), covers=st.booleans())
def test_records_that_lower_levels_cover(
    whole: ProofRules, given: list[tuple[int, int]], looks_up: bool, covers: bool
) -> None:
    """A compaction that looks up sees of each key the records of level 0 and those of the lowest level above."""
    assume(given)
    rows: list[Row] = [
        {"k": key, "kind": 0, "v": 0, "b": None, "number": n, "level": level} for n, (key, level) in enumerate(given)
    ]
    judged = _Judgement(records_of(whole, rows), looks_up=looks_up, covers=covers)
    above = {key: [level for own, level in given if own == key and level > 0] for key, _ in given}
    lowest = [level > 0 and level == min(above[key]) for key, level in given]
    kept = [n for n, (_, level) in enumerate(given) if not (looks_up and covers) or level <= 0 or lowest[n]]
    assert sorted(judged.groups.order.tolist()) == kept
    if looks_up:
        assert judged.lowest_above_0.tolist() == lowest
    assert judged.older is None


@pytest.mark.parametrize(
    ("read", "deleted", "said"),
    [
        ({"a": 10, "b": 10}, {}, []),
        ({"a": 10}, {}, ["0 rows of b were read, and it holds 10"]),
        ({"a": 9, "b": 10}, {}, ["9 rows of a were read, and it holds 10"]),
        ({"a": 7, "b": 10}, {"a": 3}, []),
        ({"a": 10, "b": 10}, {"a": 3}, ["10 rows of a were read, and it holds 7"]),
        ({"b": 11}, {"a": None}, ["11 rows of b were read, and it holds 10"]),
    ],
)
def test_a_count_of_rows_that_a_file_does_not_hold_is_told(
    read: dict[str, int], deleted: dict[str, int | None], said: list[str]
) -> None:
    """Where an old index does not say how many rows are deleted nothing is said."""
    assert [*wrong_counts([data_file("a"), data_file("b")], read, deleted)] == said


def test_without_any_rows_there_is_nothing_to_compare(sums: ProofRules) -> None:
    nothing = Gathered()
    assert (len(nothing.all_keys), len(nothing.cells_named("v"))) == (0, 0)
    records = records_of(sums, [])
    groups = grouped(records)
    actual = compared_units(sums, records, groups, nothing)
    assert actual == Comparison(Digest(), Digest())
    assert isinstance(groups, Groups)
    row: Row = {"k": 1, "kind": 0, "v": 1, "b": None, "number": 1}
    more = compared_units(sums, records, groups, gathered(sums, [row]))
    assert more.expected != more.given
    assert hashed(sums, [row]).of(KEYS).tolist() == gathered(sums, [row]).all_keys.tolist()
