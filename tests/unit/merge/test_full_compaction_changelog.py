"""The changelog of a full compaction, against the emission table of the rules, key by key."""

import math

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from maintenance.merge.deduplicate import deduplicate
from maintenance.merge.full_compaction_changelog import full_compaction_changelog
from maintenance.merge.ordered import RecordOrder, group_by_key
from tests.models.merging import changelog, deduplicated, grouped
from tests.models.order import Record
from tests.unit.merge.strategies import records, table_of, top_of

KEY = ("k", "s")


def merged_of(table: pa.Table, records: np.ndarray) -> pa.Table:
    return table.drop_columns([name for name in ("_RUN",) if name in table.column_names]).take(pa.array(records))


@settings(max_examples=60)
@given(records(), st.sampled_from([(), ("v",), ("u1", "v")]), st.booleans())
def test_emitted_records(rows: list[Record], compared: tuple[str, ...], sequenced: bool) -> None:
    sequence = ("u2",) if sequenced else ()
    table = table_of(rows)
    groups = group_by_key(table, RecordOrder(KEY, sequence))
    emitted = full_compaction_changelog(
        table, groups, merged_of(table, deduplicate(table, groups)), top_of(rows), same_is_no_change=compared
    )
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
        (math.nan, math.nan, True),
        (None, None, True),
        (None, 1.0, False),
        (1.0, None, False),
        (math.nan, None, False),
        (1.0, 1.0, True),
        (1.0, 2.0, False),
        (0.0, -0.0, False),
        (-0.0, -0.0, True),
    ],
)
def test_values_that_are_no_change(old: float | None, new: float | None, same: bool) -> None:
    table = pa.table(
        {
            "k": [1, 1],
            "_SEQUENCE_NUMBER": pa.array([0, 1], pa.int64()),
            "_VALUE_KIND": pa.array([0, 0], pa.int8()),
            "x": pa.array([old, new], pa.float64()),
        }
    )
    groups = group_by_key(table, RecordOrder(("k",)))
    top = np.array([True, False])
    emitted = full_compaction_changelog(table, groups, merged_of(table, groups.newest), top, same_is_no_change=["x"])
    assert emitted.num_rows == (0 if same else 2)
    assert full_compaction_changelog(table, groups, merged_of(table, groups.newest), top).num_rows == 2
