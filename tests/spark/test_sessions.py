"""What takes a Spark session does the same in both kinds of sessions, as without one, and leaves nothing in them."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Literal

import pytest
from pyspark.sql import SparkSession

from maintenance.catalog import open_catalog
from maintenance.errors import SqlError
from maintenance.sql import Session
from maintenance.sql.materialized.refresh import refresh_materialized_table

Dialect = Literal["flink", "spark"]
Rows = list[dict[str, Any]]

SETUP = """
CREATE DATABASE db;
CREATE TABLE db.t (id BIGINT NOT NULL, v STRING, n DECIMAL(10, 2)) TBLPROPERTIES ('primary-key' = 'id', 'bucket' = '2');
CREATE TABLE db.a (id BIGINT NOT NULL, v STRING, n DECIMAL(10, 2)) TBLPROPERTIES ('row-tracking.enabled' = 'true');
INSERT INTO db.t VALUES (1, 'a', 1.00), (2, 'b', NULL), (3, NULL, 3.00);
INSERT INTO db.a VALUES (1, 'a', 1.00), (2, 'b', NULL), (3, NULL, 3.00);
"""
# Each with its dialect, in this order. `{out}` is a folder.
STATEMENTS: tuple[tuple[Dialect, str], ...] = (
    ("spark", "SELECT count(*) n FROM db.t"),
    ("spark", "SELECT x.v, y.n FROM db.t x JOIN db.a y ON x.id = y.id ORDER BY x.id"),
    ("spark", "WITH z AS (SELECT * FROM db.a) SELECT max(n) m FROM z WHERE id IN (SELECT id FROM db.t)"),
    ("spark", "SELECT concat('{', v, '}{{0}}') AS v FROM db.t WHERE v <> '{v}' ORDER BY id"),
    ("spark", "SELECT snapshot_id, commit_kind FROM db.`t$snapshots`"),
    ("spark", "INSERT INTO db.t SELECT id + 10, v, n FROM db.a"),
    ("spark", "UPDATE db.t SET v = concat(v, 'x') WHERE id = 1"),
    ("spark", "UPDATE db.t SET n = (SELECT max(n) FROM db.a) WHERE id = 2"),
    ("spark", "DELETE FROM db.a WHERE id = 2"),
    ("spark", "DELETE FROM db.a WHERE id NOT IN (SELECT id FROM db.t)"),
    ("spark", ("MERGE INTO db.t USING (SELECT id + 1 AS id, v, n FROM db.a) s ON t.id = s.id "
              "WHEN MATCHED THEN UPDATE SET v = 'm' WHEN NOT MATCHED THEN INSERT *")),
    ("spark", "MERGE INTO db.a USING db.t ON a.id = t.id WHEN MATCHED THEN UPDATE SET v = t.v"),
    ("spark", "CREATE TABLE db.c AS SELECT * FROM db.t WHERE id < 10"),
    ("spark", "INSERT OVERWRITE db.c SELECT * FROM db.a"),
    ("spark", "CALL sys.compact('db.t')"),
    ("spark", "SELECT v FROM db.t VERSION AS OF 1 ORDER BY id"),
    ("spark", "SELECT id, v FROM paimon_incremental_query('db.t', '1', '2') ORDER BY id"),
    ("spark", "ANALYZE TABLE db.t COMPUTE STATISTICS"),
    ("spark", "COPY INTO '{out}' FROM db.t FILE_FORMAT = (TYPE = PARQUET)"),
    ("spark", "COPY INTO db.c FROM '{out}' FILE_FORMAT = (TYPE = PARQUET)"),
    ("flink", "SELECT COUNT(*) AS k FROM db.t /*+ OPTIONS('scan.snapshot-id' = '1') */"),
    ("flink", "INSERT INTO db.c SELECT id + 100, v, n FROM db.t"),
    ("flink", ("CREATE MATERIALIZED TABLE db.m FRESHNESS = INTERVAL '1' HOUR "
              "AS SELECT v, COUNT(*) AS k FROM db.t GROUP BY v")),
    ("flink", "INSERT INTO db.t VALUES (50, 'new', CAST(NULL AS DECIMAL(10, 2)))"),
    ("flink", "ALTER MATERIALIZED TABLE db.m REFRESH"),
    ("flink", ("SELECT COUNT(*) AS k FROM TABLE(TUMBLE(TABLE db.`t$snapshots`, DESCRIPTOR(commit_time), "
              "INTERVAL '1' DAY))")),
)  # fmt: skip
_NEW_EACH_TIME = ("output_path", "file_name")
WRONG = (
    "SELECT nothing FROM db.t",
    "SELECT CAST(v AS INT) / (id - id) FROM db.t",
    "INSERT INTO db.t SELECT id, v FROM db.a",
    "MERGE INTO db.t USING db.a ON t.id = a.id WHEN MATCHED THEN UPDATE SET v = raise_error('no')",
    "CREATE TABLE db.wrong AS SELECT assert_true(id > 5) AS v FROM db.t",
)


def sessions(folder: Path, spark: SparkSession | None) -> dict[Dialect, Session]:
    dialects: tuple[Dialect, ...] = ("flink", "spark")
    return {dialect: Session({"warehouse": str(folder)}, spark, dialect) for dialect in dialects}


def outcomes(folder: Path, spark: SparkSession | None) -> Iterator[tuple[str, Rows]]:
    """What each statement returns, then the rows of every table."""
    both = sessions(folder / "lake", spark)
    list(both["spark"].execute(SETUP))
    for dialect, text in STATEMENTS:
        rows = both[dialect].sql(text.replace("{out}", str(folder / "out"))).to_arrow().to_pylist()
        yield text, [{key: value for key, value in row.items() if key not in _NEW_EACH_TIME} for row in rows]
    for name in ("t", "a", "c", "m"):
        yield name, sorted(both["spark"].sql(f"SELECT * FROM db.{name}").to_arrow().to_pylist(), key=repr)


def views(spark: SparkSession) -> list[str]:
    """What a session has names for. One that is shared may have views of others."""
    return [table.name for table in spark.catalog.listTables() if "paimon" in table.name or "pyspark" in table.name]


@pytest.mark.slow
def test_every_statement_does_what_it_does_without_spark(tmp_path: Path, spark: SparkSession) -> None:
    expected = list(outcomes(tmp_path / "alone", None))
    for (text, rows), (_, right) in zip(outcomes(tmp_path / "spark", spark), expected, strict=True):
        assert rows == right, text
        assert views(spark) == [], text


def test_a_statement_that_fails_leaves_nothing(tmp_path: Path, spark: SparkSession) -> None:
    session = sessions(tmp_path, spark)["spark"]
    list(session.execute(SETUP))
    for text in WRONG:
        with pytest.raises(Exception, match=r".") as raised:
            session.sql(text)
        assert type(raised.value).__module__ == "maintenance.errors", text
        assert views(spark) == [], text
    assert [row["tableName"] for row in session.sql("SHOW TABLES IN db").to_arrow().to_pylist()] == ["a", "t"]


@pytest.mark.slow
def test_threads_share_a_session(tmp_path: Path, spark: SparkSession) -> None:
    list(sessions(tmp_path, spark)["spark"].execute(SETUP))

    def work(number: int) -> Rows:
        session = sessions(tmp_path, spark)["spark"]
        session.sql(f"CREATE TABLE db.of_{number} AS SELECT id + {number} AS id FROM db.t")
        with pytest.raises(SqlError):
            session.sql(f"SELECT nothing_{number} FROM db.t")
        return session.sql(f"SELECT max(x.id) AS id FROM db.of_{number} x, db.a").to_arrow().to_pylist()

    with ThreadPoolExecutor(3) as pool:
        assert list(pool.map(work, range(6))) == [[{"id": 3 + number}] for number in range(6)]
    assert views(spark) == []


@pytest.mark.slow
def test_a_streaming_insert_that_is_repeated_copies_nothing_twice(tmp_path: Path, spark: SparkSession) -> None:
    session = sessions(tmp_path, spark)["flink"]
    list(sessions(tmp_path, spark)["spark"].execute(SETUP))
    session.sql(
        "CREATE TABLE db.copy (id BIGINT NOT NULL, v STRING, PRIMARY KEY (id) NOT ENFORCED) WITH ('bucket' = '1')"
    )
    session.sql("SET 'execution.runtime-mode' = 'streaming'")
    session.sql(f"SET 'execution.checkpointing.dir' = '{tmp_path}/checkpoints'")
    for _ in range(2):
        session.sql("INSERT INTO db.copy SELECT id, CONCAT('{', v) FROM db.t WHERE id <> 3")
        assert views(spark) == []
        assert len(open_catalog({"warehouse": str(tmp_path)}).get_table("db.copy").snapshots.list_ids()) == 1
    session.sql("SET 'execution.runtime-mode' = 'batch'")
    rows = session.sql("SELECT * FROM db.copy ORDER BY id").to_arrow().to_pylist()
    assert rows == [{"id": 1, "v": "{a"}, {"id": 2, "v": "{b"}]


def test_a_materialized_table_is_refreshed(tmp_path: Path, spark: SparkSession) -> None:
    """As the pages of `make ui` do it, whose runs work on the project's own Connect server."""
    session = sessions(tmp_path, spark)["flink"]
    list(sessions(tmp_path, spark)["spark"].execute(SETUP))
    session.sql("CREATE MATERIALIZED TABLE db.m FRESHNESS = INTERVAL '1' HOUR AS SELECT COUNT(*) AS k FROM db.t")
    session.sql("INSERT INTO db.t SELECT id + 10, v, n FROM db.a")
    report = refresh_materialized_table(session, "db.m")
    assert (report.kind, report.rows) == ("whole", 1)
    assert session.sql("SELECT * FROM db.m").to_arrow().to_pylist() == [{"k": 6}]
    assert refresh_materialized_table(session, "db.m").kind == "nothing"
    assert views(spark) == []
