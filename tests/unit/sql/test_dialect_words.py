"""What one dialect writes, or both otherwise than DuckDB: literals, intervals, DEFAULT, implicit casts."""

from datetime import date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any, Literal

import pytest

from maintenance.sql import Session, SqlError
from tests.answers import rows

Dialect = Literal["flink", "spark"]


def value(session: Session, expression: str) -> Any:
    return session.sql(f"SELECT {expression} AS v").to_arrow().column("v")[0].as_py()


@pytest.mark.parametrize(
    ("written", "moved"),
    [
        ("'1 02:03:04' DAY TO SECOND", datetime(2024, 1, 2, 2, 3, 4)),
        ("'-1 02:03:04.5' DAY TO SECOND", datetime(2023, 12, 30, 21, 56, 55, 500000)),
        ("'1 02' DAY TO HOUR", datetime(2024, 1, 2, 2)),
        ("'1 02:03' DAY TO MINUTE", datetime(2024, 1, 2, 2, 3)),
        ("'25:30' HOUR TO MINUTE", datetime(2024, 1, 2, 1, 30)),
        ("'1:2:3' HOUR TO SECOND", datetime(2024, 1, 1, 1, 2, 3)),
        ("'90:05.25' MINUTE TO SECOND", datetime(2024, 1, 1, 1, 30, 5, 250000)),
        ("'1-2' YEAR TO MONTH", datetime(2025, 3, 1)),
        ("'-1-2' YEAR TO MONTH", datetime(2022, 11, 1)),
    ],
)
@pytest.mark.parametrize(("dialect", "kind"), [("flink", "TIMESTAMP"), ("spark", "TIMESTAMP_NTZ")])
def test_intervals_of_several_units(tmp_path: Path, dialect: Dialect, kind: str, written: str, moved: datetime) -> None:
    session = Session({"warehouse": str(tmp_path)}, dialect=dialect)
    start = datetime(2024, 1, 1)
    assert value(session, f"{kind} '2024-01-01 00:00:00' + INTERVAL {written}") == moved
    if "MONTH" not in written:
        assert value(session, f"{kind} '2024-01-01 00:00:00' - INTERVAL {written}") == start - (moved - start)


def test_intervals_of_flink_are_added_as_in_flink(tmp_path: Path) -> None:
    """Values of Flink 1.20."""
    session = Session({"warehouse": str(tmp_path)}, dialect="flink")
    assert value(session, "DATE '2024-01-31' + INTERVAL '0-1' YEAR TO MONTH") == date(2024, 2, 29)
    assert value(session, "DATE '2024-01-31' + INTERVAL '1 01' DAY TO HOUR") == date(2024, 2, 1)
    precise = "TIMESTAMP '2024-01-01 00:00:00' + INTERVAL '100 02:03:04.123' DAY(3) TO SECOND(3)"
    assert value(session, precise) == datetime(2024, 4, 10, 2, 3, 4, 123000)
    signed = "TIMESTAMP '2024-01-01 00:00:00' + INTERVAL -'1 02' DAY TO HOUR"
    assert value(session, signed) == datetime(2023, 12, 30, 22)


@pytest.mark.parametrize(
    ("written", "column"),
    [("'1 24:00:00' DAY TO SECOND", 17), ("'1' DAY TO SECOND", 17), ("'1-12' YEAR TO MONTH", 17)],
)
def test_an_interval_that_is_none(tmp_path: Path, written: str, column: int) -> None:
    session = Session({"warehouse": str(tmp_path)}, dialect="spark")
    with pytest.raises(SqlError, match="is not an interval") as caught:
        session.sql(f"SELECT INTERVAL {written}")
    assert (caught.value.line, caught.value.column) == (1, column)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("-128Y", -128),
        ("127Y", 127),
        ("- 128Y", -128),
        ("-32768S", -32768),
        ("-9223372036854775808L", -(2**63)),
        ("3 -127Y", -124),
        ("-2147483648", -(2**31)),
        ("1.5BD", Decimal("1.5")),
    ],
)
def test_numbers_with_a_letter(tmp_path: Path, text: str, expected: object) -> None:
    assert value(Session({"warehouse": str(tmp_path)}, dialect="spark"), text) == expected


@pytest.mark.parametrize(
    ("text", "column"),
    [("128Y", 8), ("-129Y", 9), ("-(128Y)", 10), ("5 - 128Y", 12), ("32768S", 8), ("9223372036854775808L", 8)],
)
def test_numbers_beyond_their_letter(tmp_path: Path, text: str, column: int) -> None:
    with pytest.raises(SqlError, match="is beyond") as caught:
        Session({"warehouse": str(tmp_path)}, dialect="spark").sql(f"SELECT {text}")
    assert (caught.value.line, caught.value.column) == (1, column)


@pytest.mark.parametrize(("text", "kind"), [("-2147483648", "INT"), ("-9223372036854775808", "BIGINT")])
@pytest.mark.parametrize("written", ["{}", "-({1})", "1 * {}"])
def test_the_least_whole_numbers_of_flink(tmp_path: Path, text: str, kind: str, written: str) -> None:
    session = Session({"warehouse": str(tmp_path)}, dialect="flink")
    session.sql(f"CREATE TABLE t (v {kind})")
    session.sql(f"INSERT INTO t VALUES ({written.format(text, text[1:])})")
    assert rows(session, "SELECT v FROM t") == [(int(text),)]


@pytest.mark.parametrize(
    "kind",
    ["ROW<a ARRAY<ROW<b INT> NOT NULL>>", "MAP<STRING NOT NULL, ROW<b INT NOT NULL> NOT NULL>", "ARRAY<INT NOT NULL>"],
)
def test_parts_of_types_of_flink_that_are_not_null(tmp_path: Path, kind: str) -> None:
    session = Session({"warehouse": str(tmp_path)}, dialect="flink")
    assert value(session, f"CAST(NULL AS {kind})") is None
    assert value(session, f"CAST(NULL AS {kind}) IS NOT NULL") is False


def test_texts_of_flink_with_characters_by_number(tmp_path: Path) -> None:
    session = Session({"warehouse": str(tmp_path)}, dialect="flink")
    assert value(session, r"U&'\00e4b'") == "äb"
    assert value(session, r"u&'a\\b''c'") == r"a\b'c"
    assert value(session, "U&'!00e4!+01f600' UESCAPE '!'") == "ä😀"
    session.sql("CREATE TABLE t (s STRING)")
    session.sql(r"INSERT INTO t VALUES (U&'\00e4')")
    assert rows(session, r"SELECT s FROM t WHERE s = U&'\00e4'") == [("ä",)]
    with pytest.raises(SqlError, match="is not a character by its number") as caught:
        session.sql(r"SELECT 1, U&'\zz'")
    assert (caught.value.line, caught.value.column) == (1, 11)


def test_unknown_is_a_truth_value_of_flink(tmp_path: Path) -> None:
    session = Session({"warehouse": str(tmp_path)}, dialect="flink")
    shown = session.sql("SELECT UNKNOWN, UNKNOWN OR TRUE, UNKNOWN IS NULL").to_arrow()
    assert shown.to_pylist() == [{"EXPR$0": None, "EXPR$1": True, "EXPR$2": True}]
    session.sql("CREATE TABLE t (`unknown` INT)")
    session.sql("INSERT INTO t VALUES (1)")
    assert rows(session, "SELECT `unknown` FROM t") == [(1,)]


EVOLVING = "TBLPROPERTIES ('row-tracking.enabled' = 'true', 'data-evolution.enabled' = 'true')"


@pytest.mark.parametrize("options", ["", "TBLPROPERTIES ('primary-key' = 'id', 'bucket' = '1')", EVOLVING])
def test_default_is_the_default_of_the_column(tmp_path: Path, options: str) -> None:
    session = Session({"warehouse": str(tmp_path)}, dialect="spark")
    session.sql(f"CREATE TABLE t (id INT NOT NULL, s STRING DEFAULT 'none', n INT DEFAULT 7, d DATE) {options}")
    session.sql("INSERT INTO t VALUES (1, DEFAULT, default, DEFAULT), (2, 'b', 3, NULL)")
    session.sql("INSERT INTO t (n, id) SELECT DEFAULT, 3")
    expected = [(1, "none", 7, None), (2, "b", 3, None), (3, "none", 7, None)]
    assert rows(session, "SELECT * FROM t ORDER BY id") == expected
    session.sql("UPDATE t SET s = DEFAULT WHERE id = 2")
    session.sql(
        "MERGE INTO t USING (SELECT explode(array(2, 4)) AS i) AS q ON t.id = q.i"
        " WHEN MATCHED THEN UPDATE SET n = DEFAULT WHEN NOT MATCHED THEN INSERT (id, s, n) VALUES (q.i, DEFAULT, 1)"
    )
    assert rows(session, "SELECT * FROM t WHERE id IN (2, 4) ORDER BY id") == [
        (2, "none", 7, None),
        (4, "none", 1, None),
    ]


def test_a_column_called_default_is_in_quotes(tmp_path: Path) -> None:
    session = Session({"warehouse": str(tmp_path)}, dialect="spark")
    session.sql("CREATE TABLE t (id INT, `default` STRING)")
    session.sql("INSERT INTO t VALUES (1, 'x')")
    session.sql("UPDATE t SET id = 2 WHERE `default` = 'x'")
    session.sql("INSERT INTO t SELECT id + 1, `default` FROM t")
    assert rows(session, "SELECT * FROM t ORDER BY id") == [(2, "x"), (3, "x")]


def test_spark_puts_plain_values_into_columns_of_texts(tmp_path: Path) -> None:
    session = Session({"warehouse": str(tmp_path)}, dialect="spark")
    session.sql("CREATE TABLE t (id INT, s STRING)")
    written = ["44", "1.50BD", "true", "DATE '2024-01-02'", "1e20D", "TIMESTAMP_NTZ '2024-01-02 03:04:05.5'"]
    for number, text in enumerate(written):
        session.sql(f"INSERT INTO t VALUES ({number}, {text})")
    session.sql("INSERT INTO t VALUES (6, '')")
    session.sql("UPDATE t SET s = 5 WHERE id = 6")
    shown = ["44", "1.50", "true", "2024-01-02", "1.0E20", "2024-01-02 03:04:05.5", "5"]
    assert rows(session, "SELECT s FROM t ORDER BY id") == [(text,) for text in shown]
    flink = Session({"warehouse": str(tmp_path)}, dialect="flink")
    with pytest.raises(SqlError, match="column 's' is STRING, and the query gives INT"):
        flink.sql("INSERT INTO t VALUES (1, 2)")


def test_values_are_cast_implicitly_in_comparisons_and_functions(tmp_path: Path) -> None:
    session = Session({"warehouse": str(tmp_path)}, dialect="spark")
    session.sql("CREATE TABLE t (id INT, s STRING, d DATE, b BOOLEAN, f DOUBLE)")
    session.sql("INSERT INTO t VALUES (1, '1', DATE '2024-01-01', true, 1.5), (22, '10', NULL, false, 2.5)")
    for condition, ids in {
        "s > 1": [22],
        "1 < s": [22],
        "s BETWEEN 2 AND 30": [22],
        "s IN (1, 7)": [1],
        "s + 1 = 2": [1],
        "s * f > 20": [22],
        "id LIKE '2%'": [22],
        "d LIKE '2024%'": [1],
        "substr(d, 1, 4) = '2024'": [1],
        "length(id) = 2": [22],
        "upper(b) = 'TRUE'": [1],
        "concat(id, s) = '11'": [1],
    }.items():
        assert rows(session, f"SELECT id FROM t WHERE {condition} ORDER BY id") == [(each,) for each in ids], condition
    flink = Session({"warehouse": str(tmp_path)}, dialect="flink")
    assert rows(flink, "SELECT id FROM t WHERE s > 1") == [(22,)]


def test_names_in_quotes_inside_functions_of_tables(tmp_path: Path) -> None:
    session = Session({"warehouse": str(tmp_path)}, dialect="spark")
    session.sql("CREATE TABLE `t x` (id INT)")
    session.sql("INSERT INTO `t x` VALUES (1)")
    session.sql("INSERT INTO `t x` VALUES (2)")
    for name in ("default.`t x`", "`t x`", "paimon.`default`.`t x`", "t x"):
        assert rows(session, f"SELECT * FROM paimon_incremental_query('{name}', '1', '2')") == [(2,)]
    with pytest.raises(SqlError, match="Did you mean 't x'") as caught:
        session.sql("SELECT * FROM\n  paimon_incremental_query('`t y`', '1', '2')")
    assert (caught.value.line, caught.value.column) == (2, 28)
    session.sql("CREATE TABLE `p x` (id INT, p INT) PARTITIONED BY (p)")
    session.sql("INSERT INTO `p x` VALUES (1, 9)")
    assert value(session, "sys.max_pt('default.`p x`')") is not None


def test_a_view_is_described(tmp_path: Path) -> None:
    options = {"metastore": "jdbc", "uri": f"jdbc:sqlite:{tmp_path}/c.sqlite", "warehouse": str(tmp_path)}
    flink = Session(options, dialect="flink")
    flink.sql("CREATE TABLE t (id INT, s STRING)")
    for kind in ("VIEW", "TEMPORARY VIEW"):
        flink.sql(f"CREATE {kind} v AS SELECT id, s AS name FROM t")
        shown = flink.sql("DESCRIBE v").to_arrow().select(["name", "type", "null"]).to_pylist()
        assert [tuple(row.values()) for row in shown] == [("id", "INT", True), ("name", "STRING", True)]
        assert "comment" not in flink.sql("DESCRIBE v").to_arrow().column_names
    flink.sql("ALTER TABLE t MODIFY s STRING COMMENT 'said'")
    assert flink.sql("DESCRIBE t").to_arrow().column("comment").to_pylist() == [None, "said"]
    spark = Session(options, dialect="spark")
    assert rows(spark, "DESCRIBE v name") == [("col_name", "name"), ("data_type", "string"), ("comment", "NULL")]
    with pytest.raises(SqlError, match="column 's' does not exist"):
        spark.sql("DESCRIBE v s")


@pytest.mark.parametrize("dialect", ["flink", "spark"])
def test_functions_that_are_shown_are_for_users(tmp_path: Path, dialect: Dialect) -> None:
    session = Session({"warehouse": str(tmp_path)}, dialect=dialect)
    shown = {name for (name,) in rows(session, "SHOW FUNCTIONS")}
    assert {"abs", "upper", "count", "date_format"} <= shown
    parts = ("internal", "duckdb", "pg_", "icu_", "paimon_", "collate_")
    assert not [name for name in shown if name.startswith("_") or any(part in name for part in parts)]


@pytest.mark.parametrize(
    ("condition", "more"),
    [
        ("t._ROW_ID = s._ROW_ID", ""),
        ("t.id = s.id", "AND s._ROW_ID = 0"),
        ("t.id = s.id", "AND s.__paimon_bucket = 0"),
        ("t.id = s.id", "AND s.__paimon_file_path IS NOT NULL"),
    ],
)
def test_hidden_columns_of_the_source_of_a_merge(tmp_path: Path, condition: str, more: str) -> None:
    session = Session({"warehouse": str(tmp_path)}, dialect="spark")
    for name in ("t", "s"):
        session.sql(f"CREATE TABLE {name} (id INT, name STRING) {EVOLVING}")
    session.sql("INSERT INTO t VALUES (1, 'a')")
    session.sql("INSERT INTO s VALUES (1, 'x')")
    session.sql(f"MERGE INTO t USING s ON {condition} WHEN MATCHED {more} THEN UPDATE SET name = s.name")
    assert rows(session, "SELECT * FROM t") == [(1, "x")]


def test_a_hidden_column_that_the_source_has_not(tmp_path: Path) -> None:
    session = Session({"warehouse": str(tmp_path)}, dialect="spark")
    session.sql(f"CREATE TABLE t (id INT) {EVOLVING}")
    session.sql("CREATE TABLE s (id INT)")
    with pytest.raises(SqlError, match="'_ROW_ID' does not exist") as caught:
        session.sql("MERGE INTO t USING s\nON t._ROW_ID = s._ROW_ID WHEN MATCHED THEN UPDATE SET id = 1")
    assert (caught.value.line, caught.value.column) == (2, 18)
