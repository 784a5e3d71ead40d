"""What a session says of itself: current names, functions, databases; and `stack`, which DuckDB has not."""

from pathlib import Path

import pytest

from maintenance.errors import SqlError
from maintenance.sql import Session
from tests.answers import rows


@pytest.fixture
def session(tmp_path: Path) -> Session:
    options = {"warehouse": str(tmp_path / "lake"), "metastore": "jdbc", "uri": f"jdbc:sqlite:{tmp_path / 'c.db'}"}
    session = Session(options)
    script = """CREATE DATABASE d COMMENT 'of tests' WITH DBPROPERTIES ('team' = 'x'); USE d;
    CREATE TABLE t (a INT, b STRING); INSERT INTO t VALUES (1, 'p'), (2, 'q')"""
    list(session.execute(script))
    return session


def described(session: Session, text: str) -> dict[str, object]:
    return {str(name): value for name, value in rows(session, text)}


def test_current_names_are_those_of_the_session(session: Session) -> None:
    actual = session.sql("SELECT current_catalog(), current_database(), current_schema() AS s").to_arrow()
    assert actual.to_pylist() == [{"current_catalog()": "paimon", "current_database()": "d", "s": "d"}]
    assert rows(session, "SELECT a FROM t WHERE current_database() = 'd' AND a > 1") == [(2,)]
    assert rows(session, "SELECT a FROM t WHERE current_database() = 'default'") == []
    flink = Session(session.catalog, dialect="flink")
    assert rows(flink, "SELECT CURRENT_DATABASE() AS d") == [("default",)]


def test_stack_lays_its_values_out_in_rows(session: Session) -> None:
    assert rows(session, "SELECT stack(2, 'x', 1, 'y', 2) AS (k, v)") == [("x", 1), ("y", 2)]
    assert session.sql("SELECT stack(2, 1, 2, 3)").to_arrow().to_pydict() == {"col0": [1, 3], "col1": [2, None]}
    beside = "SELECT b, stack(2, 'a', a, 'n', a * 10) AS (k, v) FROM t ORDER BY b, v"
    assert rows(session, beside) == [("p", "a", 1), ("p", "n", 10), ("q", "a", 2), ("q", "n", 20)]
    lateral = "SELECT t.b, s.v FROM t LATERAL VIEW stack(2, a, a + 5) s AS v ORDER BY v"
    assert rows(session, lateral) == [("p", 1), ("q", 2), ("p", 6), ("q", 7)]
    for wrong in ("SELECT stack(0, 1)", "SELECT stack(2, 1, 2) AS (a, b)", "SELECT stack('x', 1)"):
        with pytest.raises(SqlError, match="stack"):
            session.sql(wrong)


def test_functions_are_listed_by_kind_and_pattern(session: Session) -> None:
    assert ("substr",) in rows(session, "SHOW FUNCTIONS")
    assert rows(session, "SHOW SYSTEM FUNCTIONS LIKE 'substr'") == [("substr",)]
    assert rows(session, "SHOW USER FUNCTIONS IN d") == []


def test_a_database_is_described(session: Session) -> None:
    actual = described(session, "DESCRIBE DATABASE EXTENDED d")
    assert (actual["Namespace Name"], actual["Comment"]) == ("d", "of tests")
    assert "(team,x)" in str(actual["Properties"])
    assert "Properties" not in described(session, "DESC SCHEMA paimon.d")
    with pytest.raises(SqlError, match="'e' does not exist"):
        session.sql("DESCRIBE DATABASE e")


def test_a_refresh_needs_the_table(session: Session) -> None:
    assert rows(session, "REFRESH TABLE t") == []
    with pytest.raises(SqlError, match="does not exist"):
        session.sql("REFRESH TABLE u")


def test_partitions_and_what_is_like(session: Session) -> None:
    script = """CREATE TABLE p (k INT, d STRING, h STRING) PARTITIONED BY (d, h)
    TBLPROPERTIES ('primary-key' = 'k,d,h', 'bucket' = '2');
    INSERT INTO p VALUES (1, '20240101', '01'), (2, '20240102', '01'), (3, '20240102', '02')"""
    list(session.execute(script))
    shown = rows(session, "SHOW PARTITIONS p PARTITION (d = '20240102', h)")
    assert shown == [("d=20240102/h=01",), ("d=20240102/h=02",)]
    assert rows(session, "SELECT k FROM p WHERE d = sys.max_pt('d.p') ORDER BY k") == [(2,), (3,)]
    for wrong in ("SELECT sys.max_pt('t')", "SELECT sys.max_pt(3)"):
        with pytest.raises(SqlError):
            session.sql(wrong)
    flink = Session(session.catalog, dialect="flink")
    flink.sql("USE d")
    flink.sql("CREATE TABLE l WITH ('bucket' = '3') LIKE p (EXCLUDING OPTIONS)")
    flink.sql("CREATE TABLE m LIKE p (EXCLUDING ALL)")
    made, other = flink.table(("l",)).schema, flink.table(("m",)).schema
    assert (made.primary_keys, made.partition_keys) == (("k", "d", "h"), ("d", "h"))
    assert made.options["bucket"] == "3"
    assert (other.primary_keys, other.partition_keys, other.options.get("bucket")) == ((), (), None)
    with pytest.raises(SqlError, match="EXCLUDING"):
        flink.sql("CREATE TABLE n LIKE p (WITHOUT OPTIONS)")


def test_procedures_namespaces_and_explanations(session: Session) -> None:
    assert ("paimon", "sys", "sys", "compact") in rows(session, "SHOW PROCEDURES IN sys")
    assert rows(session, "SHOW CURRENT NAMESPACE") == [("paimon", "d")]
    for words in ("EXTENDED", "FORMATTED", "COST"):
        assert rows(session, f"EXPLAIN {words} SELECT a FROM t") == rows(session, "EXPLAIN SELECT a FROM t")


def test_the_earlier_name_of_in_dialect_warns(session: Session) -> None:
    with pytest.warns(DeprecationWarning, match="in_dialect"):
        assert session.beside("flink").dialect == "flink"
