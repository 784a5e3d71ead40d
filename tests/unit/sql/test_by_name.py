"""Rows that are written by the names of columns and fields, in Spark's dialect, and columns that follow the rows."""

from pathlib import Path
from typing import Any

import pytest

from maintenance.errors import DataError, SchemaError, SqlError
from maintenance.sql import Session
from tests.tables import open_warehouse

MERGES = "SET spark.paimon.write.merge-schema = true"
WIDENS = "SET spark.paimon.write.merge-schema.type-widening = true"


def open_session(tmp_path: Path, *statements: str) -> Session:
    open_warehouse(tmp_path)
    session = Session({"warehouse": str(tmp_path)}, dialect="spark")
    session.sql("USE db")
    for statement in statements:
        session.sql(statement)
    return session


def rows(session: Session, query: str = "SELECT * FROM t") -> list[Any]:
    return sorted(session.sql(query).to_arrow().to_pylist(), key=repr)


def types(session: Session) -> dict[str, str]:
    return {field.name: str(field.type) for field in session.table(("t",)).schema.fields}


def test_a_star_gives_the_columns_by_their_names(tmp_path: Path) -> None:
    session = open_session(
        tmp_path,
        "CREATE TABLE s (NAME STRING, City STRING, Id INT)",
        "CREATE TABLE t (id BIGINT, city STRING, name STRING, note STRING)",
        "INSERT INTO s VALUES ('Ada', 'Paris', 1)",
        "INSERT INTO t BY NAME SELECT * FROM s",
        "INSERT INTO t BY NAME SELECT s.*, 'x' AS note FROM s",
    )
    plain = {"id": 1, "city": "Paris", "name": "Ada"}
    assert rows(session) == [{**plain, "note": "x"}, {**plain, "note": None}]
    session.sql("INSERT OVERWRITE t BY NAME SELECT City, Id + 1 AS id FROM s")
    assert rows(session) == [{"id": 2, "city": "Paris", "name": None, "note": None}]


@pytest.mark.parametrize(
    ("kind", "value", "stored"),
    [
        ("STRUCT<a: INT, b: STRING>", "named_struct('B', 'x', 'A', 1)", {"a": 1, "b": "x"}),
        ("ARRAY<STRUCT<a: INT, b: STRING>>", "array(named_struct('b', 'x', 'a', 1))", [{"a": 1, "b": "x"}]),
        ("MAP<INT, STRUCT<a: INT, b: STRING>>", "map(2, named_struct('b', 'x', 'a', 1))", [(2, {"a": 1, "b": "x"})]),
        (
            "STRUCT<o: ARRAY<MAP<INT, STRUCT<a: STRING, b: STRING>>>>",
            "named_struct('O', array(map(7, named_struct('B', 'x', 'A', 1))))",
            {"o": [[(7, {"a": "1", "b": "x"})]]},
        ),
        ("STRUCT<a: INT, b: STRING>", "CAST(NULL AS STRUCT<b: STRING, a: INT>)", None),
        ("STRUCT<a: INT, b: STRING>", "NULL", None),
    ],
)  # fmt: skip
def test_fields_of_rows_go_to_those_of_their_names(tmp_path: Path, kind: str, value: str, stored: Any) -> None:
    session = open_session(
        tmp_path, f"CREATE TABLE t (c {kind}, id INT)", f"INSERT INTO t BY NAME SELECT 1 AS id, {value} AS c"
    )
    assert rows(session) == [{"c": stored, "id": 1}]


@pytest.mark.parametrize(
    ("query", "said"),
    [
        ("SELECT 1 AS id, 2 AS extra", "'extra', which the table has not"),
        ("SELECT 1 AS id, 2 AS ID", "'ID' is ambiguous"),
        ("SELECT 1 AS id, named_struct('a', 1) AS r", "does not give 'r.b'"),
        ("SELECT 1 AS id, named_struct('a', 1, 'b', 'x', 'c', 2) AS r", "'r.c', which the table has not"),
        ("SELECT 1 AS id, named_struct('a', 1, 'b', 'x', 'A', 2) AS r", "'r.A' is ambiguous"),
        ("SELECT 1 AS id, 5 AS r", "'r' is ROW"),
        ("SELECT array(1) AS id", "'id' is INT NOT NULL, and the query gives ARRAY"),
    ],
)
def test_names_that_do_not_meet_are_refused(tmp_path: Path, query: str, said: str) -> None:
    session = open_session(tmp_path, "CREATE TABLE t (id INT NOT NULL, r STRUCT<a: INT, b: STRING>)")
    with pytest.raises(SqlError, match=said):
        session.sql(f"INSERT INTO t BY NAME {query}")
    assert rows(session) == []


def test_columns_that_differ_in_case_are_those_that_are_spelt_so(tmp_path: Path) -> None:
    session = open_session(tmp_path)
    session.in_dialect("flink").sql("CREATE TABLE db.t (a INT, A INT)")
    session.sql("INSERT INTO t BY NAME SELECT 1 AS A, 2 AS a")
    assert rows(session) == [{"a": 2, "A": 1}]


def test_a_column_that_is_not_null_must_be_given(tmp_path: Path) -> None:
    session = open_session(tmp_path, "CREATE TABLE t (id INT NOT NULL, v INT)")
    with pytest.raises(DataError, match="'id'"):
        session.sql("INSERT INTO t BY NAME SELECT 1 AS v")


def test_a_fixed_partition_is_not_given_once_more(tmp_path: Path) -> None:
    session = open_session(
        tmp_path,
        "CREATE TABLE t (id INT, v INT, day STRING) PARTITIONED BY (day)",
        "INSERT INTO t PARTITION (day = 'mon') BY NAME SELECT 2 AS v, 1 AS id",
    )
    assert rows(session) == [{"id": 1, "v": 2, "day": "mon"}]
    with pytest.raises(SqlError, match="'day'"):
        session.sql("INSERT INTO t PARTITION (day = 'mon') BY NAME SELECT 2 AS v, 'tue' AS day")


def test_new_columns_and_fields_follow_the_rows(tmp_path: Path) -> None:
    session = open_session(
        tmp_path,
        "CREATE TABLE t (id INT, r STRUCT<a: INT, o: ARRAY<STRUCT<x: INT>>>)",
        "INSERT INTO t VALUES (1, named_struct('a', 10, 'o', array(named_struct('x', 1))))",
        MERGES,
        "INSERT INTO t BY NAME SELECT 'new' AS note, 2 AS ID, "
        "named_struct('b', 'B', 'o', array(named_struct('y', 2L, 'x', 3))) AS r",
        "INSERT INTO t BY NAME SELECT 4 AS id",
    )
    kinds = {"id": "INT", "r": "ROW<`a` INT, `o` ARRAY<ROW<`x` INT, `y` BIGINT>>, `b` STRING>", "note": "STRING"}
    assert types(session) == kinds
    assert rows(session) == [
        {"id": 1, "r": {"a": 10, "o": [{"x": 1, "y": None}], "b": None}, "note": None},
        {"id": 2, "r": {"a": None, "o": [{"x": 3, "y": 2}], "b": "B"}, "note": "new"},
        {"id": 4, "r": None, "note": None},
    ]
    ids = [field.id for field in session.table(("t",)).schema.fields]
    assert ids == sorted(set(ids))


def test_types_stay_unless_they_may_widen(tmp_path: Path) -> None:
    session = open_session(
        tmp_path,
        "CREATE TABLE t (id INT, v INT, d DECIMAL(5, 2), s VARCHAR(3))",
        "INSERT INTO t VALUES (1, 2, 1.5, 'abc')",
        MERGES,
        "INSERT INTO t BY NAME SELECT 2 AS id, 3L AS v",
    )
    before = {"id": "INT", "v": "INT", "d": "DECIMAL(5, 2)", "s": "VARCHAR(3)"}
    assert types(session) == before
    session.sql(WIDENS)
    session.sql(
        "INSERT INTO t BY NAME SELECT 3 AS id, 5000000000 AS v, CAST(12345 AS DECIMAL(9, 2)) AS d, 'longer' AS s"
    )
    assert types(session) == {"id": "INT", "v": "BIGINT", "d": "DECIMAL(9, 2)", "s": "STRING"}
    assert [row["v"] for row in rows(session, "SELECT v FROM t ORDER BY id")] == [2, 3, 5000000000]
    for query in ("SELECT 1 AS v", "SELECT CAST(1 AS DECIMAL(9, 3)) AS d", "SELECT DATE '2024-01-01' AS id"):
        with pytest.raises(SchemaError, match="does not hold its values"):
            session.sql(f"INSERT INTO t BY NAME {query}")
    session.sql("SET spark.paimon.write.merge-schema.explicit-cast = true")
    session.sql("INSERT INTO t BY NAME SELECT 4 AS v")
    assert types(session)["v"] == "INT"


def test_keys_and_elements_do_not_widen(tmp_path: Path) -> None:
    session = open_session(
        tmp_path,
        "CREATE TABLE t (id INT, a ARRAY<INT>) TBLPROPERTIES ('primary-key' = 'id', 'bucket' = '1')",
        MERGES,
        WIDENS,
    )
    with pytest.raises(SchemaError, match="primary key column 'id'"):
        session.sql("INSERT INTO t BY NAME SELECT 1L AS id")
    with pytest.raises(SchemaError, match="elements"):
        session.sql("INSERT INTO t BY NAME SELECT 1 AS id, array(1L) AS a")


@pytest.mark.parametrize("query", ["SELECT 1 AS id, 1 / 0 AS new", "SELECT 1 AS id, NULL AS new"])
def test_a_query_that_fails_leaves_the_columns(tmp_path: Path, query: str) -> None:
    session = open_session(tmp_path, "CREATE TABLE t (id INT)", MERGES)
    with pytest.raises(SqlError):
        session.sql(f"INSERT INTO t BY NAME {query}")
    assert types(session) == {"id": "INT"}


def test_only_rows_by_name_change_columns(tmp_path: Path) -> None:
    session = open_session(tmp_path, "CREATE TABLE t (id INT)", MERGES)
    with pytest.raises(SqlError, match="2 columns are given"):
        session.sql("INSERT INTO t SELECT 1 AS id, 2 AS v")
    session.sql("SET spark.paimon.write.merge-schema = false")
    with pytest.raises(SqlError, match="merge-schema"):
        session.sql("INSERT INTO t BY NAME SELECT 1 AS id, 2 AS v")
    with pytest.raises(SqlError, match="is not honoured"):
        session.sql("SET spark.paimon.write.merge-schema = perhaps")
