"""Fixed buckets: Paimon's own vectors, and the functions against models."""

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from maintenance.bucket.fixed import assign_buckets, default_buckets
from maintenance.bucket.hive import hive_hashes
from maintenance.errors import OptionError, UnsupportedError
from maintenance.types.data_type import DataField, DataType, parse_type
from maintenance.types.values import Value, arrow_of_values
from tests.models import hive_hash
from tests.strategies import data_types, values

INT = DataField(0, "k", parse_type("INT"))
BIGINT = DataField(0, "k", parse_type("BIGINT"))


def rows(field: DataField, *keys: Value) -> pa.Table:
    return pa.table({field.name: arrow_of_values(keys, field.type)})


def test_the_default_function_gives_the_buckets_of_paimon() -> None:
    keys = rows(INT, 0, 1, 42, -1, None)
    assert assign_buckets(keys, [INT], 5).tolist() == [4, 3, 2, 2, 4]
    assert assign_buckets(keys, [INT], 16).tolist() == [11, 14, 5, 3, 0]
    assert assign_buckets(rows(INT, 1, 2, 3, 4), [INT], 8).tolist() == [6, 0, 1, 2]
    assert assign_buckets(keys, [INT], 5).dtype == np.int32


def test_columns_are_found_by_name_and_their_order_counts() -> None:
    fields = [DataField(0, "a", parse_type("INT")), DataField(1, "b", parse_type("STRING"))]
    table = pa.table({"b": ["x"] * 4, "c": [0] * 4, "a": pa.array([1, 2, 3, 4], pa.int32())})
    forward = assign_buckets(table, fields, 1 << 20)
    assert forward.tolist() == assign_buckets(table.to_batches()[0], fields, 1 << 20).tolist()
    assert forward.tolist() != assign_buckets(table, fields[::-1], 1 << 20).tolist()


def test_smallest_hash_stays_in_range() -> None:
    assert default_buckets(np.array([-(2**31)], np.int32), 7).tolist() == [2**31 % 7]


def test_mod_function_floors_and_takes_null_as_zero() -> None:
    assert assign_buckets(rows(INT, -3, 7, None), [INT], 5, "mod").tolist() == [2, 2, 0]
    assert assign_buckets(rows(BIGINT, -(2**40) - 1, 2**40), [BIGINT], 5, "mod").tolist() == [3, 1]


def test_the_hive_function_gives_buckets_of_texts_and_nulls() -> None:
    name = DataField(0, "k", parse_type("STRING"))
    assert assign_buckets(rows(name, "abc", None), [name], 5, "hive").tolist() == [4, 0]


@st.composite
def hive_tables(draw: st.DrawFn) -> tuple[list[DataType], list[tuple[Value, ...]]]:
    known = data_types().filter(lambda data_type: not data_type.is_timestamp)
    types = draw(st.lists(known, min_size=1, max_size=3))
    return types, draw(st.lists(st.tuples(*map(values, types)), min_size=1, max_size=8))


@given(hive_tables())
def test_hive_hashes_as_java_computes_them(table: tuple[list[DataType], list[tuple[Value, ...]]]) -> None:
    types, lines = table
    columns = [arrow_of_values(column, part) for column, part in zip(zip(*lines, strict=True), types, strict=True)]
    assert hive_hashes(columns, types).tolist() == [hive_hash.row_hash(line, types) for line in lines]


def test_what_a_function_does_not_take_is_named() -> None:
    name = DataField(0, "k", parse_type("STRING"))
    moment = DataField(0, "k", parse_type("TIMESTAMP(6)"))
    with pytest.raises(OptionError, match=r"`k` STRING.*mod"):
        assign_buckets(rows(name, "a"), [name], 2, "mod")
    with pytest.raises(UnsupportedError, match=r"TIMESTAMP\(6\).*`k`.*hive"):
        assign_buckets(rows(moment, 0), [moment], 2, "hive")
    with pytest.raises(OptionError, match="'other'"):
        assign_buckets(rows(INT, 0), [INT], 2, "other")
    with pytest.raises(OptionError, match="-1 buckets"):
        assign_buckets(rows(INT, 0), [INT], -1)
    with pytest.raises(OptionError, match="no bucket key"):
        assign_buckets(rows(INT, 0), [], 2)
