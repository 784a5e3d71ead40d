"""Rows of users as writers take them: by name, cast and checked, defaults filled, ignored kinds left out."""

import datetime as dt
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from maintenance.catalog import CatalogTable
from maintenance.errors import DataError
from maintenance.types.row_kind import kinds_of_texts
from maintenance.write.rows import conform
from tests.tables import create_table, keyed, state


def column(tmp_path: Path, data_type: str, values: pa.Array, default: str | None = None) -> list[Any]:
    """Values as they come back from a column of a type."""
    table = create_table(tmp_path, [("c", data_type)], ())
    if default is not None:
        field = replace(table.schema.fields[0], default_value=default)
        table = replace(table, schema=replace(table.schema, fields=(field,)))
    return conform(pa.table({"c": values}), None, table.write_context()).column("c").to_pylist()


@pytest.mark.parametrize(
    ("data_type", "values", "expected"),
    [
        ("INT", pa.array([1, None], pa.int64()), [1, None]),
        ("BIGINT", pa.array([1], pa.int8()), [1]),
        ("DOUBLE", pa.array([1.5], pa.float32()), [1.5]),
        ("DECIMAL(10, 2)", pa.array([Decimal("1.2")]), [Decimal("1.20")]),
        ("STRING", pa.array(["a", "a"]).dictionary_encode(), ["a", "a"]),
        ("STRING", pa.array(["a"], pa.large_string()), ["a"]),
        ("CHAR(2)", pa.array(["ää", "a"]), ["ää", "a"]),
        ("DATE", pa.array([dt.date(2024, 5, 14)]), [dt.date(2024, 5, 14)]),
        ("TIME(3)", pa.array([dt.time(23, 59, 59, 999_999), None]), [dt.time(23, 59, 59, 999_000), None]),
        ("TIME(1)", pa.array([1_234], pa.time32("ms")), [dt.time(0, 0, 1, 200_000)]),
        ("TIME(6)", pa.array([7], pa.time32("s")), [dt.time(0, 0, 7)]),
        ("TIMESTAMP(3)", pa.array([1_999], pa.timestamp("us")), [dt.datetime(1970, 1, 1, 0, 0, 0, 1000)]),
        ("TIMESTAMP(4)", pa.array([1_999], pa.timestamp("us")), [dt.datetime(1970, 1, 1, 0, 0, 0, 1900)]),
        ("TIMESTAMP(4)", pa.array([-1], pa.timestamp("us")), [dt.datetime(1969, 12, 31, 23, 59, 59, 999900)]),
        ("TIMESTAMP(0)", pa.array([None, 1_500], pa.timestamp("ms")), [None, dt.datetime(1970, 1, 1, 0, 0, 1)]),
    ],
)
def test_values_that_fit_become_values_of_the_column(
    tmp_path: Path, data_type: str, values: pa.Array, expected: list[Any]
) -> None:
    assert column(tmp_path, data_type, values) == expected


@pytest.mark.parametrize(
    ("data_type", "values", "message"),
    [
        ("TINYINT", pa.array([128]), "does not fit TINYINT"),
        ("INT", pa.array([2**31]), "does not fit INT"),
        ("INT", pa.array(["x"]), "does not fit INT"),
        ("TIME(6)", pa.array([dt.time(0, 0, 0, 1)]), r"does not fit TIME\(6\)"),
        ("TIME(3)", pa.array([86_400_000], pa.int32()), "a time of 86400000 to 86400000 milliseconds in column 'c'"),
        ("TIME(3)", pa.array([-1], pa.int32()), "a time of -1"),
        ("TIME(0)", pa.array(["12:00:01"]), r"does not fit TIME\(0\)"),
        ("INT", pa.array([1.5]), "does not fit INT"),
        ("DECIMAL(3, 1)", pa.array([Decimal("100.0")]), "does not fit DECIMAL"),
        ("TIMESTAMP(3)", pa.array([0], pa.timestamp("us", tz="UTC")), "time zone"),
        ("TIMESTAMP_LTZ(3)", pa.array([0], pa.timestamp("us")), "time zone"),
        ("CHAR(2)", pa.array(["äää"]), "length 3 in column 'c', which is CHAR"),
        ("VARCHAR(1)", pa.array(["ab"]), "length 2"),
        ("BINARY(1)", pa.array([b"ab"]), "length 2"),
        ("VARBINARY(1)", pa.array([b"ab"]), "length 2"),
        ("INT NOT NULL", pa.array([None], pa.int32()), "null in column 'c'"),
    ],
)
def test_values_that_do_not_fit(tmp_path: Path, data_type: str, values: pa.Array, message: str) -> None:
    with pytest.raises(DataError, match=message):
        column(tmp_path, data_type, values)


@pytest.mark.parametrize(
    ("data_type", "default", "expected"),
    [
        ("INT", "7", 7),
        ("STRING", "a b", "a b"),
        ("BOOLEAN", "true", True),
        ("DECIMAL(5, 2)", "1.5", Decimal("1.50")),
        ("DATE", "2024-05-14", dt.date(2024, 5, 14)),
    ],
)
def test_a_default_takes_the_place_of_null(tmp_path: Path, data_type: str, default: str, expected: object) -> None:
    nulls = pa.nulls(2, pa.string()) if data_type == "STRING" else pa.nulls(2)
    assert column(tmp_path, data_type, nulls, default) == [expected, expected]


def test_columns_are_taken_by_name_and_null_where_missing(tmp_path: Path) -> None:
    table = create_table(tmp_path)
    table.write_arrow(pa.table({"v": ["a"], "id": [1]}))
    table.write_arrow(pa.table({"id": [2]}))
    assert state(table) == {1: "a", 2: None}
    with pytest.raises(DataError, match="column 'x' is not in the table"):
        table.write_arrow(pa.table({"id": [1], "x": [1]}))
    with pytest.raises(DataError, match="null in column 'id'"):
        table.write_arrow(pa.table({"v": ["a"]}))


def kinds_kept(table: CatalogTable) -> list[int]:
    kinds = kinds_of_texts(["+I", "-U", "+U", "-D"])
    rows = conform(keyed([(i, "x") for i in range(4)]), kinds, table.write_context())
    return rows.column("_VALUE_KIND").to_pylist()


def test_kinds_that_the_options_ignore_are_left_out(tmp_path: Path) -> None:
    assert kinds_kept(create_table(tmp_path, name="db.a")) == [0, 1, 2, 3]
    assert kinds_kept(create_table(tmp_path, options={"ignore-delete": "true"}, name="db.b")) == [0, 2]
    assert kinds_kept(create_table(tmp_path, options={"deduplicate.ignore-delete": "true"}, name="db.c")) == [0, 2]
    assert kinds_kept(create_table(tmp_path, options={"ignore-update-before": "true"}, name="db.d")) == [0, 2, 3]


def test_an_append_table_takes_inserts_only(tmp_path: Path) -> None:
    table = create_table(tmp_path, [("a", "INT")], ())
    table.write_arrow(pa.table({"a": [1]}), ["+I"])
    with pytest.raises(DataError, match="other than \\+I"):
        table.write_arrow(pa.table({"a": [1]}), ["-D"])
    with pytest.raises(DataError, match="'x' is not a row kind"):
        table.write_arrow(pa.table({"a": [1]}), ["x"])


def test_digits_that_a_time_loses_are_mentioned(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    values = pa.array([1_000, 1_500, None], pa.time32("ms"))
    assert column(tmp_path, "TIME(0)", values) == [dt.time(0, 0, 1), dt.time(0, 0, 1), None]
    assert "column 'c' is TIME(0): digits of 00:00:01.500000 and others are cut off; declare it TIME(3)" in caplog.text


@pytest.mark.parametrize("whole", [pa.array([2_000, None], pa.time32("ms")), pa.array([7], pa.time32("s"))])
def test_nothing_is_mentioned_of_times_that_fit(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, whole: pa.Array
) -> None:
    column(tmp_path, "TIME(0)", whole)
    assert not caplog.records


def test_a_column_that_is_given_twice(tmp_path: Path) -> None:
    rows = pa.Table.from_arrays([pa.array([1], pa.int32()), ["a"], ["b"]], names=["id", "v", "v"])
    with pytest.raises(DataError, match="column 'v' occurs 2 times"):
        create_table(tmp_path).write_arrow(rows)


@pytest.mark.parametrize("kinds", [[], ["+I"], ["+I"] * 3])
def test_one_kind_for_each_row(tmp_path: Path, kinds: list[str]) -> None:
    table = create_table(tmp_path)
    with pytest.raises(DataError, match=f"2 rows with {len(kinds)} row kinds"):
        table.write_arrow(keyed({1: "a", 2: "b"}), kinds)
    assert table.latest_snapshot() is None


def test_row_kinds_that_are_no_texts_are_refused() -> None:
    for kinds in ([0, 1], pa.array([0, 1])):
        with pytest.raises(DataError, match="row kinds that are not texts"):
            kinds_of_texts(kinds)


def test_texts_get_the_lengths_that_spark_stores(tmp_path: Path) -> None:
    fields = [("c", "CHAR(3)"), ("v", "VARCHAR(3)"), ("a", "ARRAY<CHAR(2)>"), ("s", "STRING")]
    table = replace(create_table(tmp_path, fields, ()), fits_texts=True)
    table.write_arrow(pa.table({"c": ["a", "äb   "], "v": ["a ", "abc  "], "a": [["x"], None], "s": [" ", "d  "]}))
    assert table.to_arrow().to_pylist() == [
        {"c": "a  ", "v": "a ", "a": ["x "], "s": " "},
        {"c": "äb ", "v": "abc", "a": None, "s": "d  "},
    ]
    with pytest.raises(DataError, match="a value of length 4 in column 'v'"):
        table.write_arrow(pa.table({"c": ["a"], "v": ["abcd"]}))
