"""The same statement gives the same rows with Spark and without."""

import re
from collections.abc import Sequence
from datetime import date
from pathlib import Path
from typing import Any, Literal

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from maintenance.errors import SqlError
from maintenance.sql import Session
from maintenance.sql.materialized.refresh import refresh_materialized_table

SETUP = """
CREATE TABLE t (a INT, b STRING, d DOUBLE, day DATE, r ARRAY<ROW<x INT, y STRING>>);
INSERT INTO t VALUES (1, 'abc', 1.5, DATE '2024-01-02', ARRAY[ROW(1, 'p'), ROW(2, 'q')]),
    (2, CAST(NULL AS STRING), 2.5, DATE '2024-03-04', CAST(NULL AS ARRAY<ROW<x INT, y STRING>>));
"""
QUERIES = {
    "flink": [
        "SELECT 7 / 2 AS q, a / 2 AS h, d / 2 AS f FROM t ORDER BY a",
        "SELECT b FROM t ORDER BY b DESC",
        "SELECT a, COUNT(*) FROM t GROUP BY a ORDER BY a",
        "SELECT a, x, y FROM t, UNNEST(r) AS e(x, y) ORDER BY x",
        "SELECT u.a, t.b FROM t RIGHT JOIN t AS u ON t.a = u.a + 1 WHERE u.day > DATE '2024-01-01' ORDER BY u.a",
        "SELECT DATE_FORMAT(TIMESTAMP '2024-02-29 12:30:00', 'yyyy-MM-dd HH') AS s",
        "SELECT CHAR_LENGTH(b) AS n FROM t ORDER BY a",
    ],
    "spark": [
        "SELECT 7 / 2 AS q, a / 2 AS h FROM t ORDER BY a",
        "SELECT b FROM t ORDER BY b",
        "SELECT array(5, 6)[1] AS e, date_add(DATE '2024-02-28', 1) AS n",
        "SELECT a FROM t VERSION AS OF 1 WHERE d > 1.5",
    ],
}


@pytest.mark.slow
@pytest.mark.parametrize("dialect", ["flink", "spark"])
def test_queries_give_the_same_rows_with_spark_and_without(
    tmp_path: Path, spark: SparkSession, dialect: Literal["flink", "spark"]
) -> None:
    options = {"warehouse": str(tmp_path)}
    list(Session(options, dialect="flink").execute(SETUP))
    alone, with_spark = Session(options, dialect=dialect), Session(options, spark, dialect)
    for text in QUERIES[dialect]:
        assert rows(with_spark, text) == rows(alone, text), text


FUNCTIONS = (
    "ABS(a - 5)", "MOD(a, 2)", "ROUND(d, 0)", "POWER(a, 2)", "SIGN(a)", "GREATEST(a, 2)", "COALESCE(b, 'x')",
    "UPPER(b)", "TRIM(b)", "SUBSTRING(b, 2, 2)", "SUBSTRING(b, -2)", "CONCAT(b, '!')", "CONCAT_WS('-', b, 'x')",
    "REPLACE(b, 'a', 'z')",
    "LPAD(b, 5, '*')", "REVERSE(b)", "LOCATE('c', b)", "INSTR(b, 'c')", "CHAR_LENGTH(b)", "INITCAP(b)", "MD5(b)",
    "REGEXP_REPLACE(b, '[ab]', 'X')", "REGEXP_EXTRACT(b, '(a)(b)', 2)", "b LIKE 'a%'", "CAST(d AS INT)",
    "CAST(d AS STRING)", "CAST(day AS STRING)", "EXTRACT(YEAR FROM day)", "YEAR(day)", "QUARTER(day)", "DAYOFYEAR(day)",
    "DAYOFWEEK(day)", "day + INTERVAL '1' MONTH", "DATE_FORMAT(day, 'yyyyMM')", "FROM_UNIXTIME(0)",
    "IF(a > 1, 'x', 'y')",
    "CASE WHEN b IS NULL THEN 0 ELSE a END", "ROW_NUMBER() OVER (ORDER BY b)", "RANK() OVER (ORDER BY b DESC)",
    "LAG(a) OVER (ORDER BY a)", "SUM(a) OVER (ORDER BY a)",
)  # fmt: skip
OF_SPARK = (
    "date_format(TIMESTAMP_NTZ '2024-07-01 00:05:00', 'kk:mm k')", "date_format(day, 'kk')",
    "to_timestamp('2024-07-01 24:10', 'yyyy-MM-dd kk:mm')", "try_to_timestamp('2024-07-01 0:10', 'yyyy-MM-dd k:mm')",
    "pmod(-7, 3)", "isnull(b)", "isnotnull(b)", "size(array(1, 2))", "datediff(day, DATE '2024-01-01')", "nvl(b, 'x')",
    "add_months(day, 1)", "trunc(day, 'MM')", "weekofyear(day)", "last_day(day)", "date_sub(day, 3)", "split(b, 'b')",
    "a <=> NULL", "left(b, 2)", "translate(b, 'ab', 'xy')", "get_json_object('{\"a\": {\"b\": 1}}', '$.a.b')",
    "get_json_object(b, '$.a')", "substring_index('x.y.z', '.', a)", "substring_index('x.y.z', '.', -a)",
    "unix_timestamp(day)", "unix_timestamp(TIMESTAMP_NTZ '1969-12-31 23:59:58.5')",
    "exists(array(1, NULL), x -> x > a)",
    "forall(array(1, 2), x -> x <= a)", "format_number(d * 1000000, 2)", "conv('ff', 16, 10)", "conv(255, 10, 16)",
    "a div 2", "d / 2", "CAST(1.5 AS FLOAT) / 3", "ceil(d)", "floor(d)", "weekday(day)", "date_trunc('MONTH', day)",
    "array_distinct(array(3, 1, 3, NULL))", "array_remove(array(1, NULL, 2), 1)", "array_position(array(1, 2), 3)",
    "array_union(array(1, 1), array(2))", "reverse(array(1, 2))", "hypot(3, 4)", "nanvl(d, 1)", "rint(d)",
    "negative(a)",
    "timestampdiff(HOUR, TIMESTAMP_NTZ '2024-01-02 12:30:00', TIMESTAMP_NTZ '2024-01-02 14:00:00')",
    "to_timestamp('2024-02-29 01:02:03')", "CAST(d AS TIMESTAMP)", "CAST(TIMESTAMP '2024-02-29 01:02:03' AS STRING)",
)  # fmt: skip
OF_FLINK = (
    "CARDINALITY(r)",
    "SPLIT_INDEX('p-q', '-', 1)",
    "REGEXP(b, 'a.c')",
    "a IS DISTINCT FROM 1",
    *(f"{function}(TIMESTAMP '2024-02-29 12:34:56' TO {unit})"
      for function in ("FLOOR", "CEIL") for unit in ("YEAR", "QUARTER", "MONTH", "WEEK", "DAY", "HOUR", "MINUTE")),
    "FLOOR(day TO MONTH)", "CEIL(day TO MONTH)", "FLOOR(d)", "CEIL(a)", "TRUNCATE(d, 0)", "TRUNCATE(-42.345, 2)",
    "SHA256('a')", "JSON_VALUE('{\"a\": {\"b\": 1}}', '$.a.b' RETURNING INTEGER)",
    "JSON_VALUE('{\"a\": []}', 'lax $.a')",
    "JSON_VALUE(b, '$.a' DEFAULT 'e' ON EMPTY DEFAULT 'f' ON ERROR)",
    "JSON_VALUE('{}', '$.a' DEFAULT 'e' ON EMPTY DEFAULT 'f' ON ERROR)",
    "JSON_QUERY('{\"a\": [1, 2]}', '$.a')", "JSON_EXISTS(b, '$.a')", "ELEMENT(ARRAY[a])",
    "TO_TIMESTAMP('2024-02-29 12:00:00')",
    "TIMESTAMPDIFF(DAY, TIMESTAMP '2024-02-29 12:00:00', TIMESTAMP '2024-03-01 00:00:00')",
)  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("dialect", ["flink", "spark"])
def test_functions_give_the_same_values(
    tmp_path: Path, spark: SparkSession, dialect: Literal["flink", "spark"]
) -> None:
    options = {"warehouse": str(tmp_path)}
    list(Session(options, dialect="flink").execute(SETUP))
    expressions = [*FUNCTIONS, *(OF_FLINK if dialect == "flink" else OF_SPARK)]
    listed = ", ".join(f"{expression} AS x{number}" for number, expression in enumerate(expressions))
    tables = [
        Session(options, engine, dialect).sql(f"SELECT {listed} FROM t ORDER BY a").to_arrow()
        for engine in (None, spark)
    ]
    for number, expression in enumerate(expressions):
        alone, with_spark = (table.column(number) for table in tables)
        assert alone.to_pylist() == with_spark.to_pylist(), expression
        if not isinstance(alone.type, pa.ListType):
            assert alone.type == with_spark.type, expression


DECIMALS = (
    "p * 2", "2 * p", "p * 12", "p * a", "p * l", "p * t", "p + 1", "p - 1.005", "p + q", "p * q", "q * q * q",
    "w + p", "-p * 2", "(p + 1) * (1 - p)", "p * CAST(a AS DECIMAL(5, 1))", "CAST(p AS DECIMAL(12)) + 1", "0.5 * a",
    "SUM(p)", "SUM(p * (1 - p))", "SUM(w)", "MAX(p) * 2", "SUM(a) + MAX(p)", "SUM(p) OVER ()", "a + l",
    "p / 3", "p / 1.5", "p / p", "a / p", "p / l", "l / p", "q / p", "p / q", "w / p", "w / w", "p / 3 / 7",
    "p / 3 * 7",
    "-p / 3", "(p + 1) / 3", "100 * p / 3", "SUM(p) / SUM(q)", "SUM(p) / COUNT(*)",
    "SUM(CASE WHEN a > 0 THEN p ELSE 0 END) / SUM(p)",
    "AVG(p)", "AVG(q)", "AVG(w)", "AVG(p * 2)", "AVG(DISTINCT p)", "AVG(p) FILTER (WHERE a > 0)", "AVG(p) OVER ()",
    "0.2 * AVG(p)", "SUM(p) FILTER (WHERE a > 0)", "MAX(p) / MIN(q)", "COALESCE(p, 0) / 7", "AVG(a)", "AVG(t)",
    "AVG(a + l)",
    "SUM(v) / 7 FROM (SELECT p * (1 - q) AS v FROM n)",
)  # fmt: skip
OF_SPARK_ALONE = (
    "p + 1 FROM (SELECT p * q AS p FROM n)",
    "p * 1.5D", "p % 3", "p % 0.7", "try_divide(p, 0)", "ROUND(p)", "ROUND(p / 3, 2)", "CEIL(p)", "FLOOR(p)",
    "MEDIAN(p)",
)  # fmt: skip


@pytest.mark.parametrize("dialect", ["flink", "spark"])
def test_decimals_have_the_same_types(tmp_path: Path, spark: SparkSession, dialect: Literal["flink", "spark"]) -> None:
    options = {"warehouse": str(tmp_path)}
    alone, with_spark = Session(options, dialect=dialect), Session(options, spark, dialect)
    made = Session(options)
    made.sql("CREATE TABLE n (a INT, l BIGINT, t TINYINT, p DECIMAL(10, 2), q DECIMAL(30, 10), w DECIMAL(38, 0))")
    made.sql("INSERT INTO n VALUES (3, 4, 5, 1.25, 2.5, 7), (-3, 4, 6, -1.26, 2.5, 7)")
    for source, expressions in _by_source((*DECIMALS, *(OF_SPARK_ALONE if dialect == "spark" else ()))).items():
        outputs = ", ".join(f"{expression} AS x{number}" for number, expression in enumerate(expressions))
        ours, of_spark = (session.sql(f"SELECT {outputs} {source[1]}").to_arrow() for session in (alone, with_spark))
        for number, expression in enumerate(expressions):
            name = f"x{number}"
            assert ours.schema.field(name).type == of_spark.schema.field(name).type, expression
            values = [sorted(table[name].to_pylist(), key=str) for table in (ours, of_spark)]
            # Between two values the engines interpolate with other last digits.
            assert values[0] == (pytest.approx(values[1]) if expression == "MEDIAN(p)" else values[1]), expression


def _by_source(expressions: Sequence[str]) -> dict[tuple[bool, str], list[str]]:
    """What can be asked in one query: by whether it is an aggregate, and FROM what."""
    found: dict[tuple[bool, str], list[str]] = {}
    for expression in expressions:
        output, _, source = expression.partition(" FROM ")
        aggregates = re.search(r"\b(SUM|AVG|MAX|MIN|COUNT|MEDIAN)\(", output) is not None and " OVER " not in output
        found.setdefault((aggregates, f"FROM {source or 'n'}"), []).append(output)
    return found


def test_a_division_by_zero_is_an_error(tmp_path: Path, spark: SparkSession) -> None:
    options = {"warehouse": str(tmp_path)}
    for session in (Session(options), Session(options, spark)):
        for expression in ("1 / 0", "1.5D / 0", "1.25 / 0"):
            with pytest.raises(SqlError, match="ivision by zero"):
                session.sql(f"SELECT {expression}").to_arrow()
        assert rows(session, "SELECT NULL / 0 AS x, 1 / NULLIF(0, 0) AS y") == [[None, None]]


def test_an_error_in_the_only_partition_is_told_as_any(spark: SparkSession, tmp_path: Path) -> None:
    session = Session({"warehouse": str(tmp_path)}, spark)
    session.sql("CREATE TABLE t (a BIGINT)")
    session.sql("INSERT INTO t VALUES (9223372036854775807)")
    with pytest.raises(SqlError, match="overflow"):
        session.sql("SELECT /*+ COALESCE(1) */ a * INTERVAL '2' DAY AS x FROM t").to_arrow()


WINDOWS = (
    "a, window_start, window_end, window_time FROM TABLE(TUMBLE(TABLE w, DESCRIPTOR(ts), INTERVAL '10' MINUTES))",
    "a, window_start, window_end FROM HOP(TABLE w, DESCRIPTOR(ts), INTERVAL '5' MINUTES, INTERVAL '10' MINUTES)",
    "a, window_start, window_end FROM SESSION(TABLE w PARTITION BY a, DESCRIPTOR(ts), INTERVAL '5' SECOND)",
    "a, window_start, window_end, window_time FROM SESSION(TABLE w, DESCRIPTOR(ts), INTERVAL '5' SECOND)",
    "a, window_start, window_end FROM CUMULATE(TABLE w, DESCRIPTOR(ts), INTERVAL '2' HOUR, INTERVAL '1' DAY)",
)


CHARS = (
    "SELECT k, c, concat(d, '|'), r.x FROM t ORDER BY k", "SELECT k FROM t WHERE c = 'ab'",
    "SELECT k FROM t WHERE c IN ('ab', 'x')", "SELECT k FROM t WHERE c IN ('ab', NULL)", "SELECT k FROM t WHERE c = d",
    "SELECT k FROM t WHERE c = s", "SELECT k FROM t WHERE c BETWEEN 'ab' AND 'ab'", "SELECT k FROM t WHERE c <= 'ab'",
    "SELECT x.k FROM t AS x JOIN t AS y ON x.c = y.d", "SELECT k FROM (SELECT k, c AS e FROM t) WHERE e = 'ab'",
    "SELECT k FROM t WHERE upper(c) = 'AB'", "SELECT k FROM t WHERE c LIKE 'ab'", "SELECT max(length(c)) AS n FROM t",
)  # fmt: skip


def test_chars_are_filled_up_as_spark_does(tmp_path: Path, spark: SparkSession) -> None:
    options = {"warehouse": str(tmp_path)}
    alone, with_spark = Session(options), Session(options, spark)
    alone.sql("CREATE TABLE t (k INT, c CHAR(5), d CHAR(3), s STRING, r STRUCT<x: CHAR(2)>)")
    for number, session in enumerate((alone, with_spark)):
        made = "named_struct('x', 'q')"
        session.sql(f"INSERT INTO t VALUES ({number}, 'ab', 'ab', 'ab', {made}), (9, 'abcde', NULL, 'abcde', NULL)")
    for text in CHARS:
        assert rows(with_spark, text) == rows(alone, text), text
    with_spark.sql("UPDATE t SET d = 'x' WHERE c = 'ab' AND k = 0")
    with_spark.sql("DELETE FROM t WHERE c = 'abcde'")
    merged = "(SELECT 1 AS j) AS z ON k = j AND c = 'ab' WHEN MATCHED THEN UPDATE SET c = 'm'"
    with_spark.sql(f"MERGE INTO t USING {merged}")
    with_spark.sql("MERGE INTO t USING (SELECT 0 AS j) AS z ON k = j WHEN MATCHED THEN UPDATE SET c = 'n'")
    assert rows(Session(options, dialect="flink"), "SELECT k, c, d FROM t ORDER BY k") == [
        [0, "n    ", "x  "],
        [1, "m    ", "ab "],
    ]


def test_a_table_of_a_query_keeps_the_lengths_of_texts(tmp_path: Path, spark: SparkSession) -> None:
    session = Session({"warehouse": str(tmp_path)}, spark, "spark")
    session.sql("CREATE TABLE t (v VARCHAR(10), c CHAR(4), s STRING)")
    session.sql("CREATE TABLE u AS SELECT v, c, s, upper(v) AS e FROM (SELECT * FROM t) WHERE v = 'a'")
    kinds = session.sql("DESCRIBE u").to_arrow()["data_type"].to_pylist()
    assert kinds == ["varchar(10)", "char(4)", "string", "string"]
    session.sql("CREATE TABLE v (v VARCHAR(3))")
    session.sql("CREATE TABLE w AS SELECT v FROM v")
    assert session.sql("DESCRIBE w").to_arrow()["data_type"].to_pylist() == ["varchar(3)"]


def test_conditions_of_changes_name_what_is_known_of_rows(tmp_path: Path, spark: SparkSession) -> None:
    session = Session({"warehouse": str(tmp_path)}, spark)
    session.sql("CREATE TABLE t (k INT, v INT) TBLPROPERTIES ('row-tracking.enabled' = 'true')")
    session.sql("INSERT INTO t VALUES (1, 1), (2, 2), (3, 3)")
    session.sql("UPDATE t SET v = _ROW_ID + 10 WHERE _ROW_ID = 1 AND _SEQUENCE_NUMBER = 1")
    session.sql("DELETE FROM t WHERE _ROW_ID = 2")
    merged = "(SELECT 0 AS r) AS s ON t._ROW_ID = s.r WHEN MATCHED AND t._SEQUENCE_NUMBER = 1 THEN UPDATE SET v = 7"
    session.sql(f"MERGE INTO t USING {merged}")
    assert rows(session, "SELECT *, _ROW_ID FROM t ORDER BY k") == [[1, 7, 0], [2, 11, 1]]


@pytest.mark.slow
def test_windows_are_the_same(tmp_path: Path, spark: SparkSession) -> None:
    options = {"warehouse": str(tmp_path)}
    alone, with_spark = Session(options, dialect="flink"), Session(options, spark, "flink")
    alone.sql("CREATE TABLE w (a INT, ts TIMESTAMP(3))")
    alone.sql(
        "INSERT INTO w VALUES (1, TIMESTAMP '2024-02-29 12:34:56.789'), (2, TIMESTAMP '1969-12-31 23:59:59'),"
        " (3, TIMESTAMP '2024-02-29 12:35:01.789')"
    )
    for text in WINDOWS:
        actual = [sorted(map(str, rows(session, f"SELECT {text}"))) for session in (alone, with_spark)]
        assert actual[0] == actual[1], text
        assert actual[0], text


def test_a_hint_names_a_table_and_an_outer_view_keeps_rows(tmp_path: Path, spark: SparkSession) -> None:
    options = {"warehouse": str(tmp_path)}
    list(Session(options, dialect="flink").execute(SETUP))
    for session in (Session(options), Session(options, spark)):
        assert rows(session, "SELECT /*+ BROADCAST(t) */ a FROM t WHERE a = 1") == [[1]]
        exploded = "SELECT a, e.v.x FROM t LATERAL VIEW OUTER explode(r) e AS v ORDER BY a, v.x"
        assert rows(session, exploded) == [[1, 1], [1, 2], [2, None]]


@pytest.mark.slow
def test_changes_and_procedures_on_spark(tmp_path: Path, spark: SparkSession) -> None:
    session = Session({"warehouse": str(tmp_path)}, spark, dialect="flink")
    session.sql("CREATE TABLE t (k INT PRIMARY KEY NOT ENFORCED, v INT)")
    session.sql("INSERT INTO t VALUES (1, 10), (2, 20)")
    session.sql("UPDATE t SET v = v * 2 WHERE k = 1")
    session.sql(
        "MERGE INTO t AS x USING (SELECT 2 AS k, 5 AS v UNION ALL SELECT 3, 6) AS n ON x.k = n.k "
        "WHEN MATCHED THEN UPDATE SET v = x.v + n.v WHEN NOT MATCHED THEN INSERT (k, v) VALUES (n.k, n.v)"
    )
    session.sql("CALL sys.compact('default.t')")
    assert rows(session, "SELECT * FROM t ORDER BY k") == [[1, 20], [2, 25], [3, 6]]


def rows(session: Session, text: str) -> list[list[Any]]:
    return [list(row.values()) for row in session.sql(text).to_arrow().to_pylist()]


@pytest.mark.slow
def test_a_streaming_insert_goes_on_where_it_ended(tmp_path: Path, spark: SparkSession) -> None:
    session = Session({"warehouse": str(tmp_path / "lake")}, spark, dialect="flink")
    keyed = "(k INT PRIMARY KEY NOT ENFORCED, v STRING) WITH ('bucket' = '1', 'changelog-producer' = 'input')"
    session.sql(f"CREATE TABLE s {keyed}")
    session.sql("CREATE TABLE c (k INT, p STRING, v STRING, PRIMARY KEY (k, p) NOT ENFORCED) PARTITIONED BY (p)")
    session.sql("INSERT INTO s VALUES (1, 'a'), (2, 'b'), (3, 'c')")
    session.sql("SET 'execution.runtime-mode' = 'streaming'")
    session.sql(f"SET 'execution.checkpointing.dir' = '{tmp_path / 'checkpoints'}'")
    hint = "/*+ OPTIONS('scan.mode' = 'latest-full') */"
    insert = f"INSERT INTO c PARTITION (p = 'x') SELECT k, UPPER(v) FROM s {hint} WHERE k > 1"
    session.sql(insert)
    assert rows(session, "SELECT * FROM c ORDER BY k") == [[2, "x", "B"], [3, "x", "C"]]
    with pytest.raises(SqlError, match="GROUP"):
        session.sql("INSERT INTO s SELECT k, MAX(v) FROM s GROUP BY k")
    with pytest.raises(SqlError, match="replaces no rows"):
        session.sql("INSERT OVERWRITE s SELECT * FROM s")
    session.sql("SET 'execution.runtime-mode' = 'batch'")
    session.sql("INSERT INTO s VALUES (2, 'd'), (4, 'e')")
    session.sql("DELETE FROM s WHERE k = 3")
    session.sql("SET 'execution.runtime-mode' = 'streaming'")
    session.sql(insert)
    assert rows(session, "SELECT * FROM c ORDER BY k") == [[2, "x", "D"], [4, "x", "E"]]
    snapshots = session.table(("c",)).snapshots.list_ids()
    session.sql(insert)
    assert session.table(("c",)).snapshots.list_ids() == snapshots, "there was nothing new"


def test_views_of_a_catalog_on_spark(tmp_path: Path, spark: SparkSession) -> None:
    options = {"warehouse": str(tmp_path / "lake"), "metastore": "jdbc", "uri": f"jdbc:sqlite:{tmp_path / 'c.db'}"}
    session = Session(options, spark)
    script = """CREATE TABLE t (k INT, n BIGINT); INSERT INTO t VALUES (1, 10), (2, 20);
    CREATE VIEW v (kk COMMENT 'key', s) AS SELECT k, n + 1 FROM t WHERE k > 1;
    CREATE VIEW w AS SELECT v.kk, t.n FROM v JOIN t ON t.k = v.kk;
    CREATE TEMPORARY VIEW x AS SELECT MAX(n) AS m FROM t"""
    list(session.execute(script))
    assert rows(session, "SELECT s, kk FROM v") == [[21, 2]]
    assert rows(session, "SELECT w.n, x.m FROM w, x WHERE w.kk = 2") == [[20, 20]]
    session.sql("CREATE OR REPLACE VIEW v AS SELECT k AS kk, n AS s FROM t")
    assert rows(session, "SELECT kk, n FROM w ORDER BY kk") == [[1, 10], [2, 20]]
    assert rows(Session(session.catalog, dialect="spark"), "SELECT COUNT(*) AS c FROM w") == [[2]]
    session.sql("INSERT INTO t SELECT kk + 10, s FROM v WHERE kk = 1")
    assert rows(session, "SELECT k FROM t WHERE n = 10 ORDER BY k") == [[1], [11]]
    session.sql("DROP VIEW v")
    with pytest.raises(SqlError, match="v' does not exist"):
        session.sql("SELECT * FROM w")


@pytest.mark.slow
def test_a_materialized_table_is_refreshed_by_spark(tmp_path: Path, spark: SparkSession) -> None:
    """Partitions and added rows, as without Spark: see `tests/unit/sql/materialized`."""
    session = Session({"warehouse": str(tmp_path)}, spark, dialect="flink")
    session.sql("CREATE TABLE t (k INT, ds STRING, n INT) PARTITIONED BY (ds)")
    session.sql("INSERT INTO t VALUES (1, 'd1', 10), (2, 'd2', 20)")
    session.sql(
        "CREATE MATERIALIZED TABLE totals PARTITIONED BY (ds) FRESHNESS = INTERVAL '1' HOUR"
        " AS SELECT ds, COUNT(*), SUM(n) AS s FROM t GROUP BY ds"
    )
    session.sql("CREATE MATERIALIZED TABLE big FRESHNESS = INTERVAL '1' MINUTE AS SELECT k, n / 2 FROM t WHERE n > 15")
    session.sql("INSERT INTO t VALUES (3, 'd2', 30), (4, 'd3', 5)")
    totals = refresh_materialized_table(session, "default.totals")
    assert (totals.kind, totals.partitions) == ("partitions", ("ds=d2", "ds=d3"))
    assert rows(session, "SELECT * FROM totals ORDER BY ds") == [["d1", 1, 10], ["d2", 2, 50], ["d3", 1, 5]]
    assert refresh_materialized_table(session, "default.big").kind == "rows"
    assert rows(session, "SELECT * FROM big ORDER BY k") == [[2, 10], [3, 15]]
    assert refresh_materialized_table(session, "default.big").kind == "nothing"


def test_fields_of_rows_are_assigned(tmp_path: Path, spark: SparkSession) -> None:
    """By Spark as by this process; the rows are those that Spark gives for the new values written out."""
    options = {"warehouse": str(tmp_path)}
    for name, session in (("alone", Session(options)), ("shared", Session(options, spark))):
        session.sql(f"CREATE TABLE {name} (id INT, v STRUCT<a: STRING, r: STRUCT<x: INT, y: INT>>)")
        session.sql(
            f"INSERT INTO {name} VALUES (1, named_struct('a', 'p', 'r', named_struct('x', 1, 'y', 2))), (2, NULL)"
        )
        session.sql(f"UPDATE {name} SET v.r.x = v.r.y + id, v.a = 'q' WHERE id < 3")
        session.sql(
            f"MERGE INTO {name} AS t USING (SELECT 1 AS id, 9 AS n) AS s ON t.id = s.id"
            " WHEN MATCHED THEN UPDATE SET t.v.r.y = s.n + v.r.x WHEN NOT MATCHED BY SOURCE AND id = 2 THEN DELETE"
        )
        actual = session.sql(f"SELECT * FROM {name}").to_arrow().to_pylist()
        assert actual == [{"id": 1, "v": {"a": "q", "r": {"x": 3, "y": 12}}}]


TIMES = {
    "flink": (
        "CAST(n AS STRING)", "CONCAT(CAST(m AS STRING), '|', CAST(v AS STRING))", "CAST(n AS TIMESTAMP(3))",
        "CAST(CAST(n AS TIMESTAMP(0)) AS STRING)",
        "CAST(v AS DATE)", "CAST(v AS TIMESTAMP(6))", "CAST(n AS TIMESTAMP_LTZ(6))", "CAST(MAX(m) OVER () AS STRING)",
        "CAST(TIMESTAMP '2024-01-01 00:00:00' AS STRING)",
    ),
    "spark": (
        "CAST(n AS STRING)", "CONCAT(m, '|', v)", "CAST(v AS DATE)", "CAST(v AS TIMESTAMP_NTZ)", "HOUR(v)",
        "CAST(n AS TIMESTAMP)", "TIMESTAMP '2024-01-01 00:00:00'", "CAST(v + INTERVAL '1' DAY AS STRING)",
    ),
}  # fmt: skip
ZONES = {"flink": "SET 'table.local-time-zone' = '{}'", "spark": "SET spark.sql.session.timeZone = {}"}


@pytest.mark.parametrize("dialect", ["flink", "spark"])
def test_both_engines_agree_on_times_in_a_zone(
    tmp_path: Path, spark: SparkSession, dialect: Literal["flink", "spark"]
) -> None:
    options = {"warehouse": str(tmp_path)}
    before = spark.conf.get("spark.sql.session.timeZone")
    moment = "TIMESTAMP '1969-12-31 23:59:59.999999'"
    list(
        Session(options, dialect="flink").execute(f"""
        CREATE TABLE t (id INT, n TIMESTAMP(6), m TIMESTAMP(3), v TIMESTAMP_LTZ(3));
        INSERT INTO t SELECT 1, {moment}, {moment}, CAST({moment} AS TIMESTAMP_LTZ(6));
    """)
    )
    alone, with_spark = Session(options, dialect=dialect), Session(options, spark, dialect)
    for zone in ("Asia/Shanghai", "America/New_York"):
        for session in (alone, with_spark):
            session.sql(ZONES[dialect].format(zone))
        for value in TIMES[dialect]:
            query, values = f"SELECT {value} AS x FROM t", []
            for session in (alone, with_spark):
                column = session.sql(query).to_arrow().column("x")
                is_time = pa.types.is_timestamp(column.type)
                values.append(column.cast(pa.timestamp("us", column.type.tz)) if is_time else column)
            assert values[0].to_pylist() == values[1].to_pylist(), (zone, value)
        found = with_spark.sql("SELECT id FROM t WHERE v < TIMESTAMP_LTZ '1970-01-02 00:00:00'").to_arrow()
        assert found.num_rows == 1
    with_spark.sql("RESET")
    assert spark.conf.get("spark.sql.session.timeZone") == before


def test_what_is_kept_is_evaluated_in_its_own_zone(tmp_path: Path, spark: SparkSession) -> None:
    """A materialized table is, by a session that is in another zone; conditions are in that of the session."""
    key = "spark.sql.session.timeZone"
    before = spark.conf.get(key)
    session = Session({"warehouse": str(tmp_path)}, spark)
    session.sql("CREATE TABLE t (id INT, v TIMESTAMP)")
    session.sql(f"SET {key} = Asia/Shanghai")
    session.sql("INSERT INTO t VALUES (1, TIMESTAMP '2024-01-01 20:00:00'), (2, TIMESTAMP '2024-01-02 04:00:00')")
    session.sql("CREATE MATERIALIZED TABLE m FRESHNESS = INTERVAL '1' HOUR AS SELECT id, CAST(v AS DATE) AS d FROM t")
    session.sql("UPDATE t SET id = id + 10 WHERE concat(hour(v), '') = '20'")
    session.sql("RESET")
    assert spark.conf.get(key) == before
    refresh_materialized_table(session, "default.m", full=True)
    assert rows(session, "SELECT * FROM m ORDER BY id") == [[2, date(2024, 1, 2)], [11, date(2024, 1, 1)]]
    assert spark.conf.get(key) == before


def test_spark_gets_its_settings_and_refuses_digits_that_it_does_not_keep(tmp_path: Path, spark: SparkSession) -> None:
    session = Session({"warehouse": str(tmp_path)}, spark)
    session.sql("SET spark.sql.ansi.enabled = false")
    assert session.sql("SELECT CAST('x' AS INT) AS x").to_arrow().column("x").to_pylist() == [None]
    session.sql("RESET spark.sql.ansi.enabled")
    with pytest.raises(SqlError, match="CAST_INVALID_INPUT"):
        session.sql("SELECT CAST('x' AS INT) AS x")
    with pytest.raises(SqlError, match=r"'spark\.foo' is not a setting"):
        session.sql("SET spark.foo = 1")
    Session({"warehouse": str(tmp_path)}, dialect="flink").sql("CREATE TABLE fine (id INT, a TIMESTAMP(9))")
    for text in ("UPDATE fine SET id = 1", "INSERT INTO fine SELECT * FROM fine", "SELECT * FROM fine"):
        with pytest.raises(SqlError, match=r"more digits than Spark keeps \(column a\)"):
            session.sql(text)


def test_rows_by_name_are_the_same_on_spark(tmp_path: Path, spark: SparkSession) -> None:
    session = Session({"warehouse": str(tmp_path)}, spark)
    session.sql("CREATE TABLE s (Note STRING, r STRUCT<B: STRING, a: INT>, ID INT)")
    session.sql("CREATE TABLE t (id BIGINT, r STRUCT<a: INT, b: STRING>)")
    session.sql("INSERT INTO s VALUES ('n', named_struct('B', 'x', 'a', 1), 1)")
    with pytest.raises(SqlError, match="'Note', which the table has not"):
        session.sql("INSERT INTO t BY NAME SELECT * FROM s")
    session.sql("SET spark.paimon.write.merge-schema = true")
    session.sql("INSERT INTO t BY NAME SELECT * FROM s")
    session.sql("INSERT INTO t BY NAME SELECT 2 AS id, named_struct('c', array(1L)) AS r")
    assert session.sql("SELECT * FROM t ORDER BY id").to_arrow().to_pylist() == [
        {"id": 1, "r": {"a": 1, "b": "x", "c": None}, "Note": "n"},
        {"id": 2, "r": {"a": None, "b": None, "c": [1]}, "Note": None},
    ]


@pytest.mark.parametrize("engine", ["embedded", "spark"])
def test_fields_of_merged_rows_meet_by_name(tmp_path: Path, spark: SparkSession, engine: str) -> None:
    session = Session({"warehouse": str(tmp_path)}, spark if engine == "spark" else None)
    session.sql("CREATE TABLE t (id INT, r STRUCT<a: STRING, b: STRING>, l ARRAY<STRUCT<x: INT, y: INT>>)")
    session.sql("INSERT INTO t VALUES (1, named_struct('a', 'a1', 'b', 'b1'), NULL), (2, NULL, NULL)")
    session.sql("CREATE TABLE s (id INT, L ARRAY<STRUCT<Y: INT, X: INT>>, R STRUCT<B: STRING, A: STRING>)")
    session.sql("INSERT INTO s VALUES (1, array(named_struct('Y', 7, 'X', 8)), NULL)")
    session.sql("INSERT INTO s VALUES (3, NULL, named_struct('B', 'b3', 'A', 'a3'))")
    session.sql("MERGE INTO t USING s ON t.id = s.id WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *")
    query = "SELECT * FROM t ORDER BY id"
    assert session.sql(query).to_arrow().to_pylist() == [
        {"id": 1, "r": None, "l": [{"x": 8, "y": 7}]},
        {"id": 2, "r": None, "l": None},
        {"id": 3, "r": {"a": "a3", "b": "b3"}, "l": None},
    ]
    narrow = "(SELECT 3 AS id, named_struct('b', 'new') AS r)"
    with pytest.raises(SqlError, match="'l', which the source has not"):
        session.sql(f"MERGE INTO t USING {narrow} n ON t.id = n.id WHEN MATCHED THEN UPDATE SET *")
    session.sql("SET spark.paimon.write.merge-schema = true")
    session.sql(f"MERGE INTO t USING {narrow} n ON t.id = n.id WHEN MATCHED THEN UPDATE SET *")
    assert session.sql(query).to_arrow().to_pylist()[-1] == {"id": 3, "r": {"a": "a3", "b": "new"}, "l": None}
