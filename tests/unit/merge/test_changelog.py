"""The changelog of a compaction, against the emission table of the rules, key by key."""

import datetime as dt
import math
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from maintenance.merge import changelog as changelogs
from maintenance.merge.changelog import before_full_compaction, before_lookup
from maintenance.merge.deduplicate import deduplicate
from maintenance.merge.ordered import RecordOrder, group_by_key
from maintenance.types.row_kind import RowKind
from tests.examples import examples
from tests.models.merging import changelog, deduplicated, grouped
from tests.models.order import Record
from tests.unit.merge.strategies import records, table_of, top_of

KEY = ("k", "s")


def merged_of(table: pa.Table, records: np.ndarray) -> pa.Table:
    return table.drop_columns([name for name in ("_RUN",) if name in table.column_names]).take(pa.array(records))


@settings(max_examples=examples(60))
@given(records(), st.sampled_from([(), ("v",), ("u1", "v")]), st.booleans())
def test_emitted_records_are_those_of_the_emission_table(
    rows: list[Record], compared: tuple[str, ...], sequenced: bool
) -> None:
    sequence = ("u2",) if sequenced else ()
    table = table_of(rows)
    groups = group_by_key(table, RecordOrder(KEY, sequence))
    results = merged_of(table, deduplicate(table, groups))
    before = before_full_compaction(table, groups, top_of(rows))
    emitted = changelogs.changelog(table, results, before, same_is_no_change=compared or None)
    expected = [
        (kind, record["n"])
        for members in grouped(rows, KEY, sequence, descending=False)
        for kind, record in changelog(members, deduplicated(members), compared)
    ]
    assert emitted.schema == merged_of(table, groups.newest).schema
    assert (
        list(zip(emitted.column("_VALUE_KIND").to_pylist(), emitted.column("n").to_pylist(), strict=True)) == expected
    )


@pytest.mark.parametrize(
    ("old", "new", "same"),
    [
        ([1, 2], [1, 2], True), ([1, None], [1, None], False), ([1], [2], False), ([], None, False), ([], [], True),
        ([1], [1, 1], False), ([300], [300], True),
    ],
)  # fmt: skip
def test_lists_that_are_no_change(old: list[int] | None, new: list[int] | None, same: bool) -> None:
    inner = pa.list_(pa.int32())
    for values in (
        pa.array([old, new], inner),
        pa.array([{"x": old}, {"x": new}], pa.struct([("x", inner)])),
        pa.array([[old, old], [new, new]], pa.list_(inner)),
        pa.array([[(1, old)], [(1, new)]], pa.map_(pa.int32(), inner)),
    ):
        assert emitted_of(values, ["x"]) == (0 if same else 2), values


@pytest.mark.parametrize(
    ("kind", "old", "new", "same"),
    [
        (pa.string(), "a", "a", True), (pa.string(), None, None, False), (pa.int32(), 127, 127, True),
        (pa.int32(), -129, -129, False), (pa.int64(), 128, 128, False), (pa.float64(), 1.5, 1.5, False),
        (pa.bool_(), True, True, True), (pa.date32(), dt.date(1970, 1, 2), dt.date(1970, 1, 2), True),
        (pa.date32(), dt.date(2024, 1, 2), dt.date(2024, 1, 2), False),
        (pa.time32("ms"), dt.time(1), dt.time(1), False),
        (pa.decimal128(9, 2), Decimal("500.00"), Decimal("500.00"), True),
    ],
)  # fmt: skip
def test_values_of_maps_are_objects_as_in_java(kind: pa.DataType, old: Any, new: Any, same: bool) -> None:
    values = pa.array([[("a", old), ("b", old)], [("b", new), ("a", new)]], pa.map_(pa.string(), kind))
    assert emitted_of(values, ["x"]) == (0 if same else 2)


@pytest.mark.parametrize(
    ("old", "new", "same"),
    [
        (math.nan, math.nan, False), (None, None, True), (None, 1.0, False), (1.0, None, False),
        (math.nan, None, False), (1.0, 1.0, True), (1.0, 2.0, False), (0.0, -0.0, True), (-0.0, -0.0, True),
    ],
)  # fmt: skip
def test_values_that_are_no_change(old: float | None, new: float | None, same: bool) -> None:
    values = pa.array([old, new], pa.float64())
    assert emitted_of(values, ["x"]) == (0 if same else 2)
    assert emitted_of(values, []) == 0
    assert emitted_of(values, None) == 2
    nested = pa.array([{"y": old}, {"y": new}], pa.struct([("y", pa.float64())]))
    assert emitted_of(nested, ["x"]) == (0 if same else 2)


def emitted_of(values: pa.Array, compared: list[str] | None) -> int:
    """How many records the change of a key from the first value to the second one gives."""
    table = pa.table(
        {
            "k": [1, 1],
            "_SEQUENCE_NUMBER": pa.array([0, 1], pa.int64()),
            "_VALUE_KIND": pa.array([0, 0], pa.int8()),
            "x": values,
        }
    )
    groups = group_by_key(table, RecordOrder(("k",)))
    merged = merged_of(table, groups.newest)
    before = before_full_compaction(table, groups, np.array([True, False]))
    return changelogs.changelog(table, merged, before, same_is_no_change=compared).num_rows


@pytest.mark.parametrize(
    ("levels", "kinds", "emitted"),
    [
        # Records of one key, oldest first; the value of each is its number.
        ([0], [0], [("+I", 0)]),
        ([0], [3], []),
        ([5], [0], []),
        ([5, 4], [0, 0], []),
        ([5, 0], [0, 0], [("-U", 0), ("+U", 1)]),
        ([5, 0], [0, 3], [("-D", 0)]),
        ([5, 0], [3, 2], [("+I", 1)]),
        # The lowest level above 0 covers those of deeper levels, and is what stood before even where it is newer.
        ([5, 4, 0], [0, 0, 0], [("-U", 1), ("+U", 2)]),
        ([5, 4, 0], [0, 3, 0], [("+I", 2)]),
        ([0, 5], [0, 0], [("-U", 1), ("+U", 1)]),
        ([4, 0, 0], [0, 3, 0], [("-U", 0), ("+U", 2)]),
    ],
)
def test_what_a_lookup_finds_is_what_stood_before(
    levels: list[int], kinds: list[int], emitted: list[tuple[str, int]]
) -> None:
    count = len(levels)
    table = pa.table(
        {
            "k": [1] * count,
            "_SEQUENCE_NUMBER": pa.array(range(count), pa.int64()),
            "_VALUE_KIND": pa.array(kinds, pa.int8()),
            "n": pa.array(range(count), pa.int64()),
        }
    )
    groups = group_by_key(table, RecordOrder(("k",)))
    actual = changelogs.changelog(
        table, merged_of(table, groups.newest), before_lookup(table, groups, np.array(levels))
    )
    texts = [RowKind(kind).text for kind in actual.column("_VALUE_KIND").to_pylist()]
    assert list(zip(texts, actual.column("n").to_pylist(), strict=True)) == emitted
