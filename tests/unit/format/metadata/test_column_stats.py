"""Column statistics: what is stored in each mode, in one batch or several, and how it is read back."""

import math
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from maintenance.errors import CorruptFileError
from maintenance.format.metadata.column_stats import collect_stats, merge_stats, stats_values, stored_stats
from maintenance.format.metadata.simple_stats import EMPTY_STATS, SimpleStats
from maintenance.format.metadata.stats_mode import FULL_STATS, NO_STATS, StatsMode, parse_stats_mode
from maintenance.format.rows.binary_row import EMPTY_ROW, serialize_row
from maintenance.types.data_type import DataField, DataType, parse_type
from maintenance.types.values import Value, arrow_of_values
from tests.strategies import bits, data_types, values

ARRAY = DataType("ARRAY", element=DataType("INT"))


def field(data_type: str | DataType, name: str = "c") -> DataField:
    return DataField(0, name, data_type if isinstance(data_type, DataType) else parse_type(data_type))


def stored(column: pa.Array, data_type: str, mode: str = "full") -> tuple[Value, Value, int | None]:
    """What a reader finds of a column."""
    fields, modes = [field(data_type)], [parse_stats_mode(mode)]
    stats, _ = stored_stats(collect_stats([column], fields, modes), fields, modes, dense=False)
    return stats_values(stats, fields)[0]


@pytest.mark.parametrize(
    ("value", "length", "low", "high"),
    [
        ("value_long_enough_0_4", 16, "value_long_enoug", "value_long_enouh"),
        ("abcd", 3, "abc", "abd"),
        ("abc", 3, "abc", "abc"),
        ("派蒙x", 2, "派蒙", "派蒚"),
        ("a\U0010ffffz", 2, "a\U0010ffff", "b"),
        ("\U0010ffffz", 1, None, None),
        ("a\ud7ffz", 2, "a\ud7ff", "a\ue000"),
    ],
)
def test_texts_are_cut_and_the_maximum_raised(value: str, length: int, low: str | None, high: str | None) -> None:
    assert stored(pa.array([value]), "STRING", f"truncate({length})") == (low, high, 0)


def test_bytes_get_no_bounds() -> None:
    assert stored(pa.array([b"\x01", None, b"\xff"]), "BYTES", "full") == (None, None, 1)


def test_each_mode_stores_bounds_or_counts_or_nothing() -> None:
    column = pa.array([3, None, 1], pa.int32())
    assert stored(column, "INT", "full") == (1, 3, 1)
    assert stored(column, "INT", "truncate(1)") == (1, 3, 1)
    assert stored(column, "INT", "counts") == (None, None, 1)
    assert stored(column, "INT", "none") == (None, None, None)


def test_modes_are_read_in_any_case_and_others_are_refused() -> None:
    assert [str(parse_stats_mode(text)) for text in ("None", "COUNTS", "full", "Truncate(7)")] == [
        "none",
        "counts",
        "full",
        "truncate(7)",
    ]
    for wrong in ("", "truncate", "truncate(0)", "truncate(-1)", "some"):
        with pytest.raises(ValueError, match="expected none"):
            parse_stats_mode(wrong)


def test_nulls_nan_and_nanoseconds_have_no_bounds() -> None:
    assert stored(pa.array([None, None], pa.int32()), "INT") == (None, None, 2)
    assert stored(pa.array([1.0, math.nan]), "DOUBLE") == (None, None, 0)
    nanos = arrow_of_values([5, None], parse_type("TIMESTAMP(9)"))
    assert stored(nanos, "TIMESTAMP(9)") == (None, None, 1)
    assert stored(arrow_of_values([5000, None], parse_type("TIMESTAMP(6)")), "TIMESTAMP(6)") == (5000, 5000, 1)


def test_zero_bounds_hold_for_both_zeros() -> None:
    low, high, _ = stored(pa.array([0.0]), "DOUBLE")
    assert (bits(low), bits(high)) == (bits(-0.0), bits(0.0))
    low, high, _ = stored(pa.array([-0.0]), "DOUBLE")
    assert (bits(low), bits(high)) == (bits(-0.0), bits(0.0))


def test_nan_in_one_batch_takes_the_bounds_of_all() -> None:
    fields, modes = [field("DOUBLE")], [FULL_STATS]
    parts = [collect_stats([pa.array(column)], fields, modes) for column in ([1.0, None], [math.nan], [2.0])]
    stats, _ = stored_stats(merge_stats(merge_stats(parts[0], parts[1]), parts[2]), fields, modes, dense=False)
    assert stats_values(stats, fields) == ((None, None, 1),)


def test_nan_that_java_stored_is_no_bound() -> None:
    types = [parse_type("DOUBLE"), parse_type("DOUBLE")]
    stats = SimpleStats(serialize_row((1.0, 1.0), types), serialize_row((math.nan, 2.0), types), (0, 0))
    assert stats_values(stats, [field("DOUBLE"), field("DOUBLE")]) == ((None, None, 0), (1.0, 2.0, 0))


def test_dense_store_leaves_out_columns_of_which_nothing_is_known() -> None:
    fields = [field("INT", "a"), field("INT", "b"), field(ARRAY, "c")]
    column = pa.array([1, None], pa.int32())
    columns = [column, column, pa.array([[1], [2]])]
    modes = [FULL_STATS, NO_STATS, FULL_STATS]
    stats, names = stored_stats(collect_stats(columns, fields, modes), fields, modes, dense=True)
    assert names == ("a",)
    assert stats_values(stats, fields[:1]) == ((1, 1, 1),)
    stats, names = stored_stats(collect_stats(columns, fields, modes), fields, modes, dense=False)
    assert names is None
    assert stats_values(stats, fields) == ((1, 1, 1), (None, None, None), (None, None, None))


def test_dense_store_names_no_columns_when_all_are_there() -> None:
    fields, modes = [field("INT")], [parse_stats_mode("counts")]
    stats, names = stored_stats(collect_stats([pa.array([1])], fields, modes), fields, modes, dense=True)
    assert (names, stats.null_counts) == (None, (0,))


def test_dense_store_of_nothing() -> None:
    fields, modes = [field("INT")], [NO_STATS]
    assert stored_stats(collect_stats([pa.array([1])], fields, modes), fields, modes, dense=True) == (EMPTY_STATS, ())
    assert EMPTY_STATS.min_values == EMPTY_ROW


def test_stored_rows_take_nulls_of_not_null_columns() -> None:
    assert stored(pa.array([None], pa.decimal128(20, 2)), "DECIMAL(20, 2) NOT NULL") == (None, None, 1)


def test_statistics_of_other_columns_are_refused() -> None:
    with pytest.raises(CorruptFileError, match="2 null counts of 0 columns"):
        stats_values(SimpleStats(EMPTY_ROW, EMPTY_ROW, (1, 2)), [])
    assert stats_values(SimpleStats(EMPTY_ROW, EMPTY_ROW, None), []) == ()


@st.composite
def batches(draw: st.DrawFn) -> tuple[DataType, list[Value], int]:
    data_type = draw(data_types())
    column = draw(st.lists(values(data_type), max_size=8))
    return data_type, column, draw(st.integers(0, len(column)))


@given(batches(), st.sampled_from(["none", "counts", "truncate(2)", "full"]))
def test_bounds_hold_and_batches_do_not_matter(batch: tuple[DataType, list[Value], int], mode: str) -> None:
    data_type, column, cut = batch
    fields, modes = [field(data_type)], [parse_stats_mode(mode)]
    array = arrow_of_values(column, data_type)
    whole = collect_stats([array], fields, modes)
    merged = merge_stats(
        collect_stats([array.slice(0, cut)], fields, modes), collect_stats([array.slice(cut)], fields, modes)
    )
    assert merged == whole
    low, high, nulls = stats_values(stored_stats(whole, fields, modes, dense=False)[0], fields)[0]
    assert nulls == (None if mode == "none" else column.count(None))
    present: list[Any] = [value for value in column if value is not None]
    if low is not None and high is not None:
        assert all(low <= value <= high for value in present)
    if mode == "full" and data_type.is_integer and present:
        assert (low, high) == (min(present), max(present))


def test_mode_is_a_value() -> None:
    assert parse_stats_mode("truncate(16)") == StatsMode(parse_stats_mode("truncate(1)").kind, 16)
