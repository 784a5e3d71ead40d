"""Views of the session; those of catalogs are in the scripts of the documents."""

from pathlib import Path

import pytest

from maintenance.sql import Session, SqlError


@pytest.fixture
def session(tmp_path: Path) -> Session:
    session = Session({"warehouse": str(tmp_path)}, dialect="flink")
    session.sql("CREATE TABLE t (a INT, b STRING)")
    session.sql("INSERT INTO t VALUES (1, 'x'), (2, 'y')")
    return session


def test_a_temporary_view_is_read_like_a_table(session: Session) -> None:
    session.sql("CREATE TEMPORARY VIEW v (name, id) AS SELECT b, a FROM t WHERE a > 1")
    assert session.sql("SELECT v.id, v.name FROM v").to_arrow().to_pylist() == [{"id": 2, "name": "y"}]
    assert session.sql("SHOW VIEWS").to_arrow().to_pylist() == [{"view name": "v"}]


def test_a_view_means_the_same_from_another_database(session: Session) -> None:
    session.sql("CREATE TEMPORARY VIEW v AS WITH t2 AS (SELECT a FROM t) SELECT t.a FROM t JOIN t2 ON t.a = t2.a")
    session.sql("CREATE DATABASE other")
    session.sql("USE other")
    rows = session.sql("SELECT a FROM `default`.v ORDER BY a").to_arrow().to_pylist()
    assert rows == [{"a": 1}, {"a": 2}]


def test_a_view_over_a_view(session: Session) -> None:
    session.sql("CREATE TEMPORARY VIEW v AS SELECT a + 1 AS c FROM t")
    session.sql("CREATE TEMPORARY VIEW w AS SELECT SUM(c) AS s FROM v")
    assert session.sql("SELECT s FROM w").to_arrow().to_pylist() == [{"s": 5}]


def test_a_view_over_what_is_not_there_is_refused(session: Session) -> None:
    with pytest.raises(SqlError, match=r"table 'default\.u' does not exist"):
        session.sql("CREATE TEMPORARY VIEW v AS SELECT * FROM u")
    assert session.sql("SHOW VIEWS").to_arrow().num_rows == 0


def test_a_dropped_view_is_gone(session: Session) -> None:
    session.sql("CREATE TEMPORARY VIEW v AS SELECT a FROM t")
    with pytest.raises(SqlError, match="view 'v' exists"):
        session.sql("CREATE TEMPORARY VIEW v AS SELECT b FROM t")
    session.sql("DROP TEMPORARY VIEW v")
    with pytest.raises(SqlError, match=r"table 'default\.v' does not exist"):
        session.sql("SELECT * FROM v")
    session.sql("DROP TEMPORARY VIEW IF EXISTS v")


def test_properties_of_a_view_are_sorted(tmp_path: Path) -> None:
    options = {"warehouse": str(tmp_path), "metastore": "jdbc", "uri": f"jdbc:sqlite:{tmp_path}/c.db"}
    session = Session(options)
    session.sql("CREATE VIEW v TBLPROPERTIES ('x' = '1', 'b' = '2') AS SELECT 1 AS a")
    (shown,) = session.sql("SHOW CREATE TABLE v").to_arrow().column(0).to_pylist()
    assert shown.index("'b' = '2'") < shown.index("'x' = '1'")
    described = session.sql("DESCRIBE EXTENDED v").to_arrow().to_pylist()
    assert "[b=2, x=1]" in [value for row in described for value in row.values()]
