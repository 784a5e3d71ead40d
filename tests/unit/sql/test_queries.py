"""Queries without Spark: what they return in either dialect, and what reaches the scan."""

import datetime as dt
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from maintenance.errors import OptionError, UnsupportedError
from maintenance.sql import Session, SqlError
from tests.answers import rows

COLUMNS = "a INT, b STRING, d DOUBLE, n DECIMAL(10, 2), day DATE"
VALUES = "(1, 'abc', 1.5, 12.34, DATE '2024-01-02'), (2, CAST(NULL AS STRING), 2.5, 0.10, DATE '2024-03-04')"


def open_session(tmp_path: Path, dialect: Any = "flink") -> Session:
    session = Session({"warehouse": str(tmp_path)}, dialect=dialect)
    session.sql(f"CREATE TABLE t ({COLUMNS}) PARTITIONED BY (day)")
    session.sql(f"INSERT INTO t VALUES {VALUES}")
    return session


@pytest.mark.parametrize(
    ("dialect", "text", "expected"),
    [
        ("flink", "SELECT 7 / 2, a / 2, (a + 8) / 2, d / 2 FROM t WHERE a = 1", [(3, 0, 4, 0.75)]),
        ("spark", "SELECT 7 / 2, a / 2, d / 2 FROM t WHERE a = 1", [(3.5, 0.5, 0.75)]),
        ("flink", "SELECT AVG(a), AVG(n), SUM(a) FROM t", [(1, Decimal("6.220000"), 3)]),
        ("spark", "SELECT AVG(a), AVG(n), SUM(a) FROM t", [(1.5, Decimal("6.220000"), 3)]),
        ("flink", "SELECT CAST(1.7 AS INT), CAST(-d AS INT) FROM t WHERE a = 2", [(1, -2)]),
        ("flink", "SELECT b FROM t ORDER BY b", [(None,), ("abc",)]),
        ("spark", "SELECT b FROM t ORDER BY b DESC", [("abc",), (None,)]),
        ("flink", "SELECT ARRAY[5, 6][1], MAP['k', 1]['k']", [(5, 1)]),
        ("spark", "SELECT array(5, 6)[1], map('k', 1)['k']", [(6, 1)]),
        ("flink", "SELECT ARRAY[('a', 1), ROW('b', 2)][2]", [({"EXPR$0": "b", "EXPR$1": 2},)]),
        ("flink", "SELECT DATE_FORMAT(TIMESTAMP '2024-02-29 12:30:00', 'yyyy/MM/dd HH')", [("2024/02/29 12",)]),
        ("flink", "SELECT SPLIT_INDEX('x,y', ',', 1), CHAR_LENGTH(b) FROM t WHERE a = 1", [("y", 3)]),
        ("flink", "SELECT x.a FROM t AS x JOIN t y ON x.a = y.a + 1", [(2,)]),
        ("flink", "WITH t AS (SELECT 9 AS a) SELECT a FROM t", [(9,)]),
        ("flink", "SELECT a FROM t WHERE EXISTS (SELECT 1 FROM t u WHERE u.a > t.a)", [(1,)]),
        ("flink", "SELECT 'it''s'", [("it's",)]),
        ("flink", "SELECT day + INTERVAL '1' DAY FROM t WHERE a = 1", [(dt.date(2024, 1, 3),)]),
        ("spark", "SELECT date_add(DATE '2024-02-28', 1)", [(dt.date(2024, 2, 29),)]),
        ("spark", 'SELECT "it\'s"', [("it's",)]),
        ("flink", "SELECT day FROM t WHERE day > DATE '2024-02-01'", [(dt.date(2024, 3, 4),)]),
    ],
)
def test_a_query_returns_what_its_dialect_means(
    tmp_path: Path, dialect: str, text: str, expected: list[tuple[Any, ...]]
) -> None:
    assert rows(open_session(tmp_path, dialect), text) == expected


@pytest.mark.parametrize(
    ("expression", "of_flink", "of_spark"),
    [
        ("n * 2", (21, 2), (12, 2)),
        ("n + a", (13, 2), (13, 2)),
        ("n * n * n * n", (38, 6), (38, 6)),
        ("SUM(n)", (38, 2), (20, 2)),
    ],
)
def test_decimals_have_the_types_of_their_dialect(
    tmp_path: Path, expression: str, of_flink: tuple[int, int], of_spark: tuple[int, int]
) -> None:
    for dialect, digits in (("flink", of_flink), ("spark", of_spark)):
        session = open_session(tmp_path / dialect, dialect)
        (actual,) = session.sql(f"SELECT {expression} AS x FROM t").to_arrow().schema.types
        assert (actual.precision, actual.scale) == digits, dialect


@pytest.mark.parametrize(
    ("dialect", "names"), [("flink", ["EXPR$0", "EXPR$1", "a"]), ("spark", ["count(1)", "sum(a)", "a"])]
)
def test_the_names_of_outputs(tmp_path: Path, dialect: str, names: list[str]) -> None:
    session = open_session(tmp_path, dialect)
    assert session.sql("SELECT COUNT(*), SUM(a), a FROM t GROUP BY a").to_arrow().column_names == names


@pytest.mark.parametrize(
    ("expression", "name"),
    [
        ("s['x'] + 1", "(s.x + 1)"),
        ("s['r'].y", "s.r.y"),
        ("upper(t.s.z)", "upper(s.z)"),
        ("l[0].x", "l[0].x"),
        ("m['k']", "m[k]"),
        ("named_struct('x', a).x", "named_struct(x, a).x"),
        ("(s).x", "x"),
        ("CAST(a AS STRING)", "a"),
        ("upper(string(a))", "upper(a)"),
        ("s.z NOT LIKE 'a%'", "(NOT s.z LIKE a%)"),
        ("power(a, 2) + +a", "(POWER(a, 2) + (+ a))"),
        ("split(s.z, ',')", "split(s.z, ,, -1)"),
        ("exists(l, e -> e.x > a)", "exists(l, lambdafunction((namedlambdavariable().x > a), namedlambdavariable()))"),
        ("d + 1", "date_add(d, 1)"),
        ("d + INTERVAL 1 DAY", "date_add(d, extractansiintervaldays(INTERVAL '1' DAY))"),
        ("d + INTERVAL 1 MONTH", "d + INTERVAL '1' MONTH"),
        ("TIMESTAMP '2024-01-02'", "TIMESTAMP '2024-01-02 00:00:00'"),
        ("1e-7", "1.0E-7"),
        ("sum(a) OVER (w ROWS 1 PRECEDING)",
         "sum(a) OVER (PARTITION BY d ORDER BY a ASC NULLS FIRST ROWS BETWEEN 1 PRECEDING AND CURRENT ROW)"),
    ],
)  # fmt: skip
def test_the_names_that_spark_gives_to_expressions(tmp_path: Path, expression: str, name: str) -> None:
    """As Spark 4.3 names them."""
    session = Session({"warehouse": str(tmp_path)})
    rows = "s STRUCT<x: INT, z: STRING, r: STRUCT<y: INT>>, l ARRAY<STRUCT<x: INT>>, m MAP<STRING, INT>"
    session.sql(f"CREATE TABLE t (a INT, d DATE, {rows})")
    query = f"SELECT {expression} FROM t WINDOW w AS (PARTITION BY d ORDER BY a)"
    assert session.sql(query).to_arrow().column_names == [name]


def test_conditions_and_columns_reach_the_scan(tmp_path: Path) -> None:
    session = open_session(tmp_path)
    text = "SELECT a FROM t WHERE day = DATE '2024-01-02' AND a + 1 > 1"
    plan = [row[0] for row in rows(session, f"EXPLAIN {text}")]
    assert plan[1:5] == [
        "Scan default.t as paimon_0",
        "  columns: a, day",
        "  filter: (day = CAST('2024-01-02' AS DATE))",
        "  limit: none",
    ]
    # A partition that the condition leaves out is not read: its file may even be gone.
    for path in (tmp_path / "default.db" / "t" / "day=2024-03-04").rglob("*.parquet"):
        path.unlink()
    assert rows(session, text) == [(1,)]


def test_a_padded_side_of_a_join_is_not_filtered(tmp_path: Path) -> None:
    session = open_session(tmp_path)
    text = "SELECT x.a, y.a AS o FROM t x LEFT JOIN t y ON x.a = y.a AND y.a > 1 WHERE y.a IS NULL"
    assert rows(session, text) == [(1, None)]
    plan = [row[0] for row in rows(session, f"EXPLAIN {text}")]
    assert [line for line in plan if line.startswith("  filter")] == ["  filter: none", "  filter: none"]


@pytest.mark.parametrize("dialect", ["flink", "spark"])
def test_explain_shows_what_a_change_of_rows_reads(tmp_path: Path, dialect: str) -> None:
    session = open_session(tmp_path, dialect)
    session.sql("CREATE TABLE s (a INT, b STRING)")
    plans = {
        "INSERT INTO s SELECT a, b FROM t WHERE day = DATE '2024-01-02'": ("Insert into default.s", ["default.t"]),
        "INSERT OVERWRITE s VALUES (1, 'a')": ("Overwrite default.s", []),
        "DELETE FROM t WHERE day = DATE '2024-01-02'": ("Delete from default.t", ["default.t"]),
        "UPDATE t AS q SET b = 'x' WHERE q.day = DATE '2024-01-02' AND a IN (SELECT a FROM s)": (
            "Update default.t", ["default.t", "default.s"],
        ),
        "MERGE INTO t USING s ON t.a = s.a WHEN MATCHED THEN UPDATE SET b = s.b": (
            "Merge into default.t", ["default.t", "default.s"],
        ),
    }  # fmt: skip
    for statement, (first, scanned) in plans.items():
        plan = [str(row[0]) for row in rows(session, f"EXPLAIN {statement}")]
        assert plan[1] == first
        assert [line.split()[1] for line in plan if line.startswith("Scan")] == scanned
        if " WHERE " in statement:
            assert any("filter" in line and "2024-01-02" in line for line in plan)
    assert rows(session, "SELECT COUNT(*), COUNT(b) FROM t") == [(2, 1)]
    assert rows(session, "SELECT COUNT(*) FROM s") == [(0,)]
    with pytest.raises(SqlError, match="column 'z' does not exist"):
        session.sql("EXPLAIN DELETE FROM t WHERE z = 1")


def test_a_limit_stops_the_read(tmp_path: Path) -> None:
    session = open_session(tmp_path)
    assert len(rows(session, "SELECT * FROM t LIMIT 1")) == 1
    assert "  limit: 1" in [row[0] for row in rows(session, "EXPLAIN SELECT * FROM t LIMIT 1")]
    assert "  limit: none" in [row[0] for row in rows(session, "EXPLAIN SELECT COUNT(*) FROM t LIMIT 1")]


def test_queries_travel_by_versions_hints_and_settings(tmp_path: Path) -> None:
    session = open_session(tmp_path)
    session.sql("CALL sys.create_tag('default.t', 'first')")
    session.sql("INSERT INTO t VALUES (3, 'c', 3.5, 1.00, DATE '2024-01-02')")
    for old in (
        "VERSION AS OF 1", "VERSION AS OF 'first'", "/*+ OPTIONS('scan.snapshot-id' = '1') */",
        "/*+ OPTIONS('scan.tag-name' = 'first') */ AS q",
    ):  # fmt: skip
        assert rows(session, f"SELECT COUNT(*) FROM t {old}") == [(2,)]
    assert rows(session, "SELECT COUNT(*) FROM t") == [(3,)]
    assert rows(session, "SELECT a FROM t /*+ OPTIONS('incremental-between' = '1,2') */") == [(3,)]
    session.sql("SET 'paimon.*.*.t.scan.snapshot-id' = '1'")
    assert rows(session, "SELECT COUNT(*) FROM t") == [(2,)]
    session.sql("RESET")
    assert rows(session, "SELECT COUNT(*) FROM t") == [(3,)]


def test_a_consumer_of_flinks_has_to_expire_some_day(tmp_path: Path) -> None:
    session = open_session(tmp_path)
    read = "SELECT COUNT(*) FROM t /*+ OPTIONS('consumer-id' = 'me') */"
    with pytest.raises(OptionError, match=r"'consumer-id' without 'consumer.expiration-time'"):
        session.sql(read)
    assert rows(Session({"warehouse": str(tmp_path)}, dialect="spark"), read) == [(2,)]
    session.sql("ALTER TABLE t SET ('consumer.expiration-time' = '1 d')")
    assert rows(session, read) == [(2,)]


def test_a_whole_table_stands_for_a_query(tmp_path: Path) -> None:
    session = open_session(tmp_path).in_dialect("spark")
    session.sql("CREATE TABLE copied AS TABLE default.t")
    session.sql("INSERT INTO copied TABLE t")
    assert rows(session, "SELECT a, count(*) FROM copied GROUP BY a ORDER BY a") == [(1, 2), (2, 2)]
    assert rows(session, "TABLE copied") == 2 * rows(session, "TABLE t")
    assert "Scan default.t as" in str(rows(session, "EXPLAIN TABLE t"))
    with pytest.raises(SqlError, match="where the end of the statement is expected"):
        session.sql("CREATE TABLE other AS TABLE t WHERE a = 1")


def test_brackets_give_fields_of_rows_in_sparks_dialect(tmp_path: Path) -> None:
    session = open_session(tmp_path).in_dialect("spark")
    session.sql("CREATE TABLE nested (a INT, s STRUCT<x: INT, y: STRUCT<z: STRING>>)")
    session.sql("INSERT INTO nested VALUES (1, named_struct('x', 5, 'y', named_struct('z', 'q'))), (2, NULL)")
    assert rows(session, "SELECT s['x'] AS x, s['y']['Z'] AS z FROM nested ORDER BY a") == [(5, "q"), (None, None)]
    assert rows(session, "SELECT a FROM nested WHERE s['x'] > 4") == [(1,)]
    with pytest.raises(SqlError, match="column 'gone' does not exist"):
        session.sql("SELECT s['gone'] FROM nested")


def test_sparks_words_for_versions_and_times(tmp_path: Path) -> None:
    session = open_session(tmp_path).in_dialect("spark")
    session.sql("INSERT INTO t VALUES (3, 'c', 3.5, 1.00, DATE '2024-01-02')")
    for old in ("VERSION", "FOR VERSION", "SYSTEM_VERSION", "FOR SYSTEM_VERSION"):
        assert rows(session, f"SELECT count(*) FROM t {old} AS OF 1") == [(2,)]
    for new in ("TIMESTAMP", "FOR TIMESTAMP", "SYSTEM_TIME", "FOR SYSTEM_TIME"):
        assert rows(session, f"SELECT count(*) FROM t {new} AS OF '2999-01-01'") == [(3,)]
    assert rows(session, "SELECT 1 AS system_version, 2 AS system_time") == [(1, 2)]


def test_settings_name_tables_of_a_catalog_that_is_called_paimon(tmp_path: Path) -> None:
    session = open_session(tmp_path).in_dialect("spark")
    session.sql("INSERT INTO t VALUES (3, 'c', 3.5, 1.00, DATE '2024-01-02')")
    for setting in ("spark.paimon.paimon.default.t", "spark.paimon.paimon.*.t", "spark.paimon.*.*.*"):
        session.sql(f"SET {setting}.scan.snapshot-id = 1")
        assert rows(session, "SELECT count(*) FROM t") == [(2,)]
        session.sql("RESET")
        assert rows(session, "SELECT count(*) FROM t") == [(3,)]
    flink = session.in_dialect("flink")
    flink.sql("SET 'paimon.paimon.default.t.scan.snapshot-id' = '1'")
    assert rows(flink, "SELECT COUNT(*) FROM t") == [(2,)]


def test_in_flink_the_key_of_an_option_alone_is_set_for_all_tables(tmp_path: Path) -> None:
    session = open_session(tmp_path)
    session.sql("INSERT INTO t VALUES (3, 'c', 3.5, 1.00, DATE '2024-01-02')")
    session.sql("SET 'scan.snapshot-id' = '1'")
    assert rows(session, "SELECT COUNT(*) FROM t") == [(2,)]
    session.sql("SET 'paimon.*.*.t.scan.snapshot-id' = '2'")
    assert rows(session, "SELECT COUNT(*) FROM t") == [(3,)], "what names the table wins"
    with pytest.raises(SqlError, match="expected an integer"):
        session.sql("SET 'scan.snapshot-id' = 'x'")
    with pytest.raises(SqlError, match="is not a setting that this engine honours"):
        session.in_dialect("spark").sql("SET scan.snapshot-id = 1")
    assert rows(session.in_dialect("spark"), "SELECT COUNT(*) FROM t") == [(3,)]


def test_flinks_options_read_an_earlier_state_with_the_present_columns(tmp_path: Path) -> None:
    session = open_session(tmp_path)
    session.sql("CREATE TABLE grown (id INT, name STRING, gone INT)")
    session.sql("INSERT INTO grown VALUES (1, 'a', 5)")
    session.sql("CALL sys.create_tag('default.grown', 'before')")
    for change in ("ADD place STRING FIRST", "RENAME name TO title", "DROP gone"):
        session.sql(f"ALTER TABLE grown {change}")
    session.sql("INSERT INTO grown VALUES ('x', 2, 'b')")
    hints = ("'scan.snapshot-id' = '1'", "'scan.tag-name' = 'before'")
    for hint in hints:
        old = session.sql(f"SELECT * FROM grown /*+ OPTIONS({hint}) */ WHERE place IS NULL").to_arrow().to_pylist()
        assert old == [{"place": None, "id": 1, "title": "a"}]
    session.sql("SET 'paimon.*.*.grown.scan.snapshot-id' = '1'")
    assert rows(session, "SELECT place, title FROM grown") == [(None, "a")]
    session.sql("RESET")
    for version in ("VERSION AS OF 1", "FOR SYSTEM_TIME AS OF TIMESTAMP '2999-01-01 00:00:00'"):
        both = (
            f"SELECT now.id FROM grown {version} AS old JOIN grown /*+ OPTIONS({hints[0]}) */ AS now ON now.id = old.id"
        )
        assert rows(session, both) == [(1,)]
    assert rows(session, "SELECT name, gone FROM grown VERSION AS OF 1") == [("a", 5)]
    assert session.in_dialect("spark").sql("SELECT * FROM grown VERSION AS OF 1").to_arrow().num_columns == 3


@pytest.mark.parametrize("dialect", ["flink", "spark"])
def test_options_behind_select_are_not_read_over(tmp_path: Path, dialect: str) -> None:
    session = open_session(tmp_path, dialect)
    for text in (
        "SELECT /*+ OPTIONS('scan.snapshot-id' = '1') */ * FROM t",
        "SELECT * FROM (SELECT /*+ BROADCAST(t), options('scan.snapshot-id' = '1') */ * FROM t) AS q",
        "INSERT INTO t SELECT /*+ OPTIONS('scan.snapshot-id' = '1') */ * FROM t",
    ):
        with pytest.raises(SqlError, match=r"options behind SELECT are of no table.*OPTIONS") as caught:
            session.sql(text)
        assert caught.value.column == text.index("/*+") + 1


def test_hints_for_an_engine_are_left_to_it(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    session = open_session(tmp_path, "spark")
    assert rows(session, "SELECT /*+ BROADCAST(t), REPARTITION(3) */ COUNT(*) FROM t") == [(2,)]
    assert caplog.messages == []


def test_the_changes_between_two_snapshots(tmp_path: Path) -> None:
    session = open_session(tmp_path, "spark")
    session.sql("INSERT INTO t VALUES (3, 'c', 3.5, 1.00, DATE '2024-01-02')")
    session.sql("INSERT INTO t VALUES (4, 'd', 4.5, 1.00, DATE '2024-01-02')")
    assert rows(session, "SELECT a FROM paimon_incremental_query('default.t', '1', '2')") == [(3,)]
    assert rows(session, "SELECT COUNT(*) FROM paimon_incremental_query('t', 1, 3) AS q WHERE q.a > 3") == [(1,)]
    with pytest.raises(SqlError, match="takes 3 literals"):
        session.sql("SELECT a FROM paimon_incremental_query('t')")


def test_the_changes_between_tags_of_other_bucket_numbers(tmp_path: Path) -> None:
    session = Session({"warehouse": str(tmp_path)}, dialect="spark")
    session.sql("CREATE TABLE k (a INT, b STRING) TBLPROPERTIES ('primary-key' = 'a', 'bucket' = '1')")
    session.sql("INSERT INTO k VALUES (1, 'a'), (2, 'b'), (3, 'c')")
    session.sql("CALL sys.create_tag('k', 'first')")
    session.sql("ALTER TABLE k SET TBLPROPERTIES ('bucket' = '2')")
    session.sql("CALL sys.rescale('k', 2)")
    session.sql("ALTER TABLE k ADD COLUMN c INT")
    session.sql("INSERT INTO k VALUES (2, 'B', 5), (4, 'd', NULL)")
    session.sql("DELETE FROM k WHERE a = 3")
    session.sql("CALL sys.create_tag('k', 'last')")
    changes = "paimon_incremental_query('k', 'first', 'last')"
    assert rows(session, f"SELECT * FROM {changes} ORDER BY a") == [(2, "B", 5), (4, "d", None)]
    assert rows(session, f"SELECT q.b FROM {changes} q JOIN k ON k.a = q.a WHERE k.a < 4") == [("B",)]
    assert rows(session, f"SELECT k.b FROM {changes} ORDER BY k.a") == [("B",), ("d",)]
    with pytest.raises(UnsupportedError, match="number of buckets changed from 1 to 2 between the snapshots"):
        session.sql("SELECT * FROM k /*+ OPTIONS('incremental-between' = 'first,last') */")


def test_spark_creates_replaces_renames_and_deletes_tags(tmp_path: Path) -> None:
    session = open_session(tmp_path, "spark")
    session.sql("INSERT INTO t VALUES (3, 'c', 3.5, 1.00, DATE '2024-01-02')")
    session.sql("ALTER TABLE t CREATE TAG `x-1` AS OF VERSION 1 RETAIN 7 DAYS")
    session.sql("ALTER TABLE t CREATE TAG IF NOT EXISTS `x-1` AS OF VERSION 2")
    assert rows(session, "SELECT COUNT(*) FROM t VERSION AS OF 'x-1'") == [(2,)]
    session.sql("ALTER TABLE t CREATE OR REPLACE TAG `x-1` AS OF VERSION 2")
    assert rows(session, "SELECT COUNT(*) FROM t VERSION AS OF 'x-1'") == [(3,)]
    session.sql("ALTER TABLE t RENAME TAG `x-1` TO y")
    assert rows(session, "SHOW TAGS t") == [("y",)]
    session.sql("ALTER TABLE t DELETE TAG IF EXISTS y, z")
    assert rows(session, "SHOW TAGS t") == []
    for name in ("2024-01-01", "2024-01-02", "2024-01-03"):
        session.sql(f"ALTER TABLE t CREATE TAG `{name}`")
    session.sql("ALTER TABLE t DELETE TAG `2024-01-01, 2024-01-03, none`")
    assert rows(session, "SHOW TAGS t") == [("2024-01-02",)]


def test_insert_by_name_goes_by_the_names_of_columns(tmp_path: Path) -> None:
    session = open_session(tmp_path, "spark")
    session.sql("INSERT INTO t BY NAME SELECT 'b' AS b, DATE '2024-05-05' AS day, 9 AS a")
    assert rows(session, "SELECT a, b, d FROM t WHERE day = DATE '2024-05-05'") == [(9, "b", None)]


def test_flink_overwrites_only_the_partitions_that_get_rows(tmp_path: Path) -> None:
    session = open_session(tmp_path)
    session.sql("INSERT OVERWRITE t VALUES (5, 'e', 0.5, 1.00, DATE '2024-01-02')")
    assert rows(session, "SELECT a FROM t ORDER BY a") == [(2,), (5,)]
    session.sql("INSERT OVERWRITE t PARTITION (day = '2024-03-04') (a, b) SELECT 6, 'f'")
    assert rows(session, "SELECT a, day FROM t ORDER BY a") == [(5, dt.date(2024, 1, 2)), (6, dt.date(2024, 3, 4))]


def test_spark_overwrites_the_whole_table_unless_set_to_dynamic(tmp_path: Path) -> None:
    session = open_session(tmp_path, "spark")
    session.sql("INSERT OVERWRITE t VALUES (5, 'e', 0.5, 1.00, DATE '2024-01-02')")
    assert rows(session, "SELECT a FROM t ORDER BY a") == [(5,)]
    session.sql("SET spark.sql.sources.partitionOverwriteMode = dynamic")
    session.sql("INSERT OVERWRITE t VALUES (6, 'e', 0.5, 1.00, DATE '2024-03-04')")
    assert rows(session, "SELECT a FROM t ORDER BY a") == [(5,), (6,)]


def test_a_text_is_not_inserted_as_a_number(tmp_path: Path) -> None:
    session = open_session(tmp_path)
    with pytest.raises(SqlError, match="column 'a' is INT, and the query gives STRING"):
        session.sql("INSERT INTO t (a) VALUES ('1')")
    with pytest.raises(SqlError, match="2 columns are given where 5 are needed"):
        session.sql("INSERT INTO t VALUES (1, 'a')")


def test_spark_casts_what_is_inserted(tmp_path: Path) -> None:
    session = Session({"warehouse": str(tmp_path)}, dialect="spark")
    session.sql("CREATE TABLE c (i INT, day DATE, yes BOOLEAN, list ARRAY<INT>, row STRUCT<x: INT, y: DATE>)")
    session.sql(
        "INSERT INTO c VALUES ('5', '2024-01-02', 1, array('1', '2'), named_struct('x', '3', 'y', '2024-01-02'))"
    )
    day = dt.date(2024, 1, 2)
    assert rows(session, "SELECT * FROM c") == [(5, day, True, [1, 2], {"x": 3, "y": day})]
    session.sql("UPDATE c SET i = '6', day = TIMESTAMP '2024-01-03 04:00:00'")
    assert rows(session, "SELECT i, day FROM c") == [(6, dt.date(2024, 1, 3))]
    # What is no value of the column's type is an error, and so is what Spark has no cast for.
    for column, value, said in (
        ("i", "'x'", "'x' is not INT"),
        ("day", "5", "column 'day' is DATE"),
        ("list", "'[1]'", "column 'list'"),
    ):
        with pytest.raises(SqlError, match=said):
            session.sql(f"INSERT INTO c ({column}) VALUES ({value})")


@pytest.mark.parametrize(
    ("statement", "is_in_hives_order"),
    [
        ("INTO p PARTITION (d, h) VALUES (1, 'x', 'y', 'z')", True),
        ("INTO p PARTITION (h, d) SELECT 1 AS id, 'x' AS name, 'y' AS d, 'z' AS h", True),
        ("INTO p PARTITION (d, h) SELECT 1 AS ID, 'x' AS D, 'y' AS name, 'z' AS h", False),
        ("INTO p PARTITION (d = 'y', h) SELECT 1, 'x', 'z'", True),
        ("INTO p SELECT 1 AS id, 'x' AS name, 'y' AS d, 'z' AS h", False),
        ("OVERWRITE p SELECT 1 AS id, 'x' AS name, 'y' AS d, 'z' AS h", True),
        ("OVERWRITE p SELECT 1 AS id, 'x' AS other, 'y' AS d, 'z' AS h", False),
    ],
)
def test_partition_columns_that_rows_give_come_last_in_spark(
    tmp_path: Path, statement: str, *, is_in_hives_order: bool
) -> None:
    session = Session({"warehouse": str(tmp_path)}, dialect="spark")
    session.sql("SET spark.sql.sources.partitionOverwriteMode = dynamic")
    session.sql("CREATE TABLE p (id INT, d STRING, name STRING, h STRING) PARTITIONED BY (d, h)")
    session.sql(f"INSERT {statement}")
    day, name = ("y", "x") if is_in_hives_order else ("x", "y")
    assert rows(session, "SELECT id, d, name, h FROM p") == [(1, day, name, "z")]


def test_procedures_by_name_and_dry_run(tmp_path: Path) -> None:
    session = open_session(tmp_path)
    session.sql("INSERT INTO t VALUES (3, 'c', 3.5, 1.00, DATE '2024-01-02')")
    expire = "CALL sys.expire_snapshots(`table` => 'default.t', retain_max => 1, retain_min => 1, dry_run => {})"
    assert rows(session, expire.format("TRUE")) == [(1,)]
    assert rows(session, "SELECT snapshot_id FROM t$snapshots ORDER BY snapshot_id") == [(1,), (2,)]
    assert rows(session, expire.format("FALSE")) == [(1,)]
    assert rows(session, "SELECT snapshot_id FROM t$snapshots") == [(2,)]


CHARS = "c = 'ab'", "c IN ('ab', 'x')", "c = d", "c <=> 'ab      '", "c <= 'ab' AND c >= 'ab'", "'ab' = c"
NO_CHARS = "c = s", "c IN ('ab', NULL)", "c BETWEEN 'ab' AND 'ab'", "upper(c) = 'AB'", "c LIKE 'ab'"


def test_chars_have_blanks_in_sparks_dialect(tmp_path: Path) -> None:
    session = Session({"warehouse": str(tmp_path)}, dialect="spark")
    session.sql("CREATE TABLE t (c CHAR(5), d CHAR(3), s STRING, r STRUCT<x: CHAR(2)>, m MAP<CHAR(2), ARRAY<CHAR(2)>>)")
    values = "'ab', 'ab', 'ab', named_struct('x', 'a'), map('k', array('a', NULL))"
    session.sql(f"INSERT INTO t VALUES ({values}), (NULL, NULL, NULL, NULL, NULL)")
    filled = ("ab   ", "ab ", "ab", {"x": "a "}, [("k ", ["a ", None])])
    assert rows(session, "SELECT * FROM t WHERE s = 'ab'") == [filled]
    for flink in (session, Session(session.catalog, dialect="flink")):
        assert rows(flink, "SELECT c FROM t WHERE s = 'ab'") == [("ab   ",)]
    for found, conditions in ([("ab",)], CHARS), ([], NO_CHARS):
        for condition in conditions:
            assert rows(session, f"SELECT s FROM t WHERE {condition}") == found, condition
    inner = "(SELECT s, c AS e FROM t)"
    assert rows(session, f"WITH w AS (SELECT * FROM {inner}) SELECT s FROM w WHERE e = 'ab'") == [("ab",)]
    assert rows(session, "SELECT a.s FROM t AS a JOIN t AS b ON a.c = b.d") == [("ab",)]


def test_chars_that_others_stored_have_blanks_in_sparks_dialect(tmp_path: Path) -> None:
    session = Session({"warehouse": str(tmp_path)}, dialect="spark")
    session.sql("CREATE TABLE t (c CHAR(3))")
    session.current().get_table("default.t").write_arrow(pa.table({"c": ["a", "b  "]}))
    assert rows(session, "SELECT c FROM t ORDER BY c") == [("a  ",), ("b  ",)]
    assert rows(session, "SELECT count(*) FROM t WHERE c IN ('a', 'b')") == [(2,)]


def test_a_partition_of_a_char_has_blanks(tmp_path: Path) -> None:
    session = Session({"warehouse": str(tmp_path)}, dialect="spark")
    session.sql("CREATE TABLE t (k INT, c CHAR(3)) PARTITIONED BY (c)")
    session.sql("INSERT INTO t VALUES (1, 'a')")
    session.sql("INSERT INTO t PARTITION (c = 'b') VALUES (2)")
    session.sql("INSERT OVERWRITE t PARTITION (c = 'b') VALUES (3)")
    session.sql("ALTER TABLE t DROP PARTITION (c = 'a')")
    assert rows(session, "SELECT * FROM t") == [(3, "b  ")]
