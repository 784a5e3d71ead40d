"""Statement sets, the end of scripts, statements that replace tables, and those that are refused by name."""

from pathlib import Path

import pytest

from maintenance.catalog import Schema
from maintenance.errors import SqlError, UnsupportedError
from maintenance.sql import Session
from tests.answers import rows


@pytest.fixture
def flink(tmp_path: Path) -> Session:
    return Session({"warehouse": str(tmp_path)}, dialect="flink")


def test_a_statement_set_runs_each_of_its_inserts(flink: Session) -> None:
    flink.sql("CREATE TABLE a (id INT)")
    flink.sql("CREATE TABLE b (id INT)")
    script = "EXECUTE STATEMENT SET BEGIN INSERT INTO a VALUES (1); INSERT INTO b SELECT 2; END; SELECT 5;"
    assert [result.to_arrow().num_rows for result in flink.execute(script)] == [0, 1]
    flink.sql("BEGIN STATEMENT SET; INSERT INTO a VALUES (3); END;")
    assert rows(flink, "SELECT id FROM a UNION ALL SELECT id FROM b ORDER BY id") == [(1,), (2,), (3,)]


def test_a_statement_set_that_is_wrong(flink: Session) -> None:
    flink.sql("CREATE TABLE a (id INT)")
    with pytest.raises(SqlError, match="has INSERTs alone") as caught:
        flink.sql("EXECUTE STATEMENT SET BEGIN INSERT INTO a VALUES (1); SELECT 1; END")
    assert caught.value.column == 55
    assert rows(flink, "SELECT * FROM a") == []
    with pytest.raises(SqlError, match="END is expected"):
        flink.sql("EXECUTE STATEMENT SET BEGIN INSERT INTO a VALUES (1);")


def test_exit_ends_a_script(flink: Session) -> None:
    assert len(list(flink.execute("SELECT 1; EXIT; SELECT nonsense"))) == 2


def test_a_replaced_table_keeps_its_snapshots(tmp_path: Path) -> None:
    session = Session({"warehouse": str(tmp_path)})
    session.sql("CREATE TABLE r (id BIGINT, a STRING) TBLPROPERTIES ('primary-key' = 'id', 'bucket' = '2')")
    session.sql("INSERT INTO r VALUES (1, 'pv')")
    session.sql("REPLACE TABLE r (id BIGINT, b INT) TBLPROPERTIES ('primary-key' = 'id', 'bucket' = '4')")
    assert rows(session, "SELECT * FROM r") == []
    assert rows(session, "SELECT * FROM r VERSION AS OF 1") == [(1, "pv")]
    session.sql("INSERT INTO r VALUES (1, 7)")
    assert rows(session, "SELECT * FROM r") == [(1, 7)]
    session.sql("CREATE OR REPLACE TABLE r AS SELECT 'x' AS c")
    assert rows(session, "SELECT * FROM r") == [("x",)]
    assert rows(session, "SELECT * FROM r VERSION AS OF 1") == [(1, "pv")]
    with pytest.raises(SqlError, match="Did you mean 'r'"):
        session.sql("REPLACE TABLE rr (id BIGINT)")


def test_other_partition_columns_make_another_table(tmp_path: Path) -> None:
    session = Session({"warehouse": str(tmp_path)})
    session.sql("CREATE TABLE r (id BIGINT)")
    session.sql("INSERT INTO r VALUES (1)")
    session.sql("CREATE OR REPLACE TABLE r (id BIGINT, dt STRING) PARTITIONED BY (dt)")
    assert session.table(("r",)).latest_snapshot() is None
    with pytest.raises(UnsupportedError, match="other partition columns"):
        session.current().replace_table("default.r", Schema([("id", "BIGINT")]))


@pytest.mark.parametrize(
    "time", ["current_timestamp()", "current_timestamp() + INTERVAL 1 DAY", "date_add(current_date(), 2)"]
)
def test_a_time_is_computed(tmp_path: Path, time: str) -> None:
    session = Session({"warehouse": str(tmp_path)})
    session.sql("CREATE TABLE t AS SELECT 1 AS a")
    assert rows(session, f"SELECT * FROM t TIMESTAMP AS OF {time}") == [(1,)]
    with pytest.raises(SqlError, match="at or before"):
        session.sql("SELECT * FROM t TIMESTAMP AS OF current_timestamp() - INTERVAL 1 DAY")


@pytest.mark.parametrize("text", ["CREATE FUNCTION f AS 'x'", "CREATE TEMPORARY TABLE t (a INT)", "ADD JAR 'x'"])
def test_what_is_not_supported_is_refused_at_its_place(flink: Session, text: str) -> None:
    with pytest.raises(UnsupportedError, match=r"(?s)line 1, column 1\)\. \w+.*\^"):
        flink.sql(text)
