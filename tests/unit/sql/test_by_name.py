"""Rows that are written by the names of columns and fields, in Spark's dialect, and columns that follow the rows."""

from pathlib import Path
from typing import Any

import pytest

from maintenance.errors import DataError, SchemaError, SqlError, UnsupportedError
from maintenance.sql import Session
from tests.tables import open_warehouse

MERGES = "SET `spark.paimon.write.merge-schema` = true"
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


@pytest.mark.parametrize("mode", ["static", "dynamic"])
@pytest.mark.parametrize(
    ("statement", "query", "stored"),
    [
        ("INSERT INTO t PARTITION (day, hour)", "SELECT 1, 2, 'mon', 'h1'", (1, 2, "mon", "h1")),
        ("INSERT INTO t PARTITION (hour, day)", "SELECT 1 AS x, 2 AS y, 'mon', 'h1'", (1, 2, "mon", "h1")),
        ("INSERT OVERWRITE t PARTITION (day = 'mon', hour)", "SELECT 1, 2, 'h1'", (1, 2, "mon", "h1")),
        ("INSERT INTO t PARTITION (day, hour)", "SELECT 'h' AS HOUR, 1 AS id, 'm' AS day, 2 AS v", (1, 2, "m", "h")),
        ("INSERT INTO t", "SELECT 'h1', 1, 'mon', 2", (1, 2, "mon", "h1")),
    ],
)  # fmt: skip
def test_partitions_without_values_come_last(
    tmp_path: Path, mode: str, statement: str, query: str, stored: tuple[Any, ...]
) -> None:
    session = open_session(
        tmp_path,
        "CREATE TABLE t (hour STRING, id INT, day STRING, v INT) PARTITIONED BY (day, hour)",
        f"SET spark.sql.sources.partitionOverwriteMode = {mode}",
        f"{statement} {query}",
    )
    assert [tuple(row.values()) for row in rows(session, "SELECT id, v, day, hour FROM t")] == [stored]


def test_a_dynamic_overwrite_may_name_its_partitions_last(tmp_path: Path) -> None:
    session = open_session(
        tmp_path,
        "CREATE TABLE t (day STRING, note STRING) PARTITIONED BY (day)",
        "SET spark.sql.sources.partitionOverwriteMode = dynamic",
        "INSERT OVERWRITE t SELECT 'a' AS Note, 'mon' AS Day",
        "INSERT OVERWRITE t SELECT 'tue' AS x, 'b' AS y",
    )
    assert rows(session) == [{"day": "mon", "note": "a"}, {"day": "tue", "note": "b"}]


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


def merged(session: Session, source: str, clauses: str, on: str = "t.id = s.id") -> list[Any]:
    session.sql(f"MERGE INTO t USING ({source}) s ON {on} {clauses}")
    return rows(session)


KINDS_OF_TABLES = [
    "'primary-key' = 'id', 'bucket' = '1'",
    "'bucket' = '-1'",
    "'bucket' = '-1', 'deletion-vectors.enabled' = 'true'",
    "'bucket' = '-1', 'row-tracking.enabled' = 'true', 'data-evolution.enabled' = 'true'",
]
BOTH = "WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *"


@pytest.mark.parametrize("options", KINDS_OF_TABLES)
def test_stars_of_a_merge_meet_columns_and_fields_by_name(tmp_path: Path, options: str) -> None:
    session = open_session(
        tmp_path,
        f"CREATE TABLE t (id INT, r STRUCT<a: STRING, b: INT>, v BIGINT) TBLPROPERTIES ({options})",
        "INSERT INTO t VALUES (1, named_struct('a', 'x', 'b', 1), 10), (2, NULL, 20)",
    )
    source = (
        "SELECT 'left out' AS more, named_struct('B', 5L, 'A', 'y') AS R, 11 AS V, 1 AS ID "
        "UNION ALL SELECT 'left out', CAST(NULL AS STRUCT<B: BIGINT, A: STRING>), 33, 3"
    )
    assert merged(session, source, BOTH) == [
        {"id": 1, "r": {"a": "y", "b": 5}, "v": 11},
        {"id": 2, "r": None, "v": 20},
        {"id": 3, "r": None, "v": 33},
    ]


@pytest.mark.parametrize("options", KINDS_OF_TABLES)
def test_a_merge_adds_columns_and_keeps_what_the_source_has_not(tmp_path: Path, options: str) -> None:
    session = open_session(
        tmp_path,
        "CREATE TABLE t (id INT, r STRUCT<a: STRING, b: STRING, o: STRUCT<x: INT, y: INT>>, v INT) "
        f"TBLPROPERTIES ({options})",
        "INSERT INTO t VALUES (1, named_struct('a', 'a1', 'b', 'b1', 'o', named_struct('x', 1, 'y', 2)), 10)",
        "INSERT INTO t VALUES (2, NULL, 20)",
        MERGES,
    )  # fmt: skip
    source = (
        "SELECT id, named_struct('a', 'new', 'o', named_struct('y', 9), 'c', 'c1') AS r, 'n' AS note "
        "FROM VALUES (1), (3) AS q(id)"
    )
    old = {"a": "new", "c": "c1"}
    assert merged(session, source, BOTH) == [
        {"id": 1, "r": {**old, "b": "b1", "o": {"x": 1, "y": 9}}, "v": 10, "note": "n"},
        {"id": 2, "r": None, "v": 20, "note": None},
        {"id": 3, "r": {**old, "b": None, "o": {"x": None, "y": 9}}, "v": None, "note": "n"},
    ]


def test_a_row_that_is_null_keeps_the_fields_that_the_source_has_not(tmp_path: Path) -> None:
    session = open_session(
        tmp_path,
        "CREATE TABLE t (id INT, r STRUCT<a: STRING, b: STRING>)",
        "INSERT INTO t VALUES (1, named_struct('a', 'a1', 'b', 'b1')), (2, NULL)",
        MERGES,
    )
    source = "SELECT id, CAST(NULL AS STRUCT<a: STRING>) AS r FROM VALUES (1), (2) AS q(id)"
    assert merged(session, source, "WHEN MATCHED THEN UPDATE SET *") == [
        {"id": 1, "r": {"a": None, "b": "b1"}},
        {"id": 2, "r": None},
    ]
    whole = "SELECT 1 AS id, CAST(NULL AS STRUCT<b: STRING, a: STRING>) AS r"
    assert merged(session, whole, "WHEN MATCHED THEN UPDATE SET *")[0] == {"id": 1, "r": None}


def test_only_named_columns_are_added_without_a_star(tmp_path: Path) -> None:
    session = open_session(tmp_path, "CREATE TABLE t (id INT, v INT)", "INSERT INTO t VALUES (1, 1)", MERGES)
    source = "SELECT id, 7 AS one, 8 AS two, 9 AS three FROM VALUES (1), (2) AS q(id)"
    clauses = (
        "WHEN MATCHED THEN UPDATE SET v = s.two, one = s.one WHEN NOT MATCHED THEN INSERT (id, TWO) VALUES (s.id, 5)"
    )
    assert merged(session, source, clauses) == [
        {"id": 1, "v": 8, "one": 7, "two": None},
        {"id": 2, "v": None, "one": None, "two": 5},
    ]
    explicit = "WHEN MATCHED THEN UPDATE SET v = s.three"
    assert [row["v"] for row in merged(session, source, explicit)] == [9, 9]
    assert "three" not in types(session)


def test_a_merge_widens_types(tmp_path: Path) -> None:
    session = open_session(tmp_path, "CREATE TABLE t (id INT, v INT)", "INSERT INTO t VALUES (1, 1)", MERGES)
    source = "SELECT 1 AS id, 5000000000 AS v"
    with pytest.raises(SqlError):
        merged(session, source, BOTH)
    session.sql(WIDENS)
    assert merged(session, source, BOTH) == [{"id": 1, "v": 5000000000}]


@pytest.mark.parametrize(
    ("source", "clauses", "said"),
    [
        ("SELECT 1 AS id, NULL AS r", "WHEN MATCHED THEN UPDATE SET *", "UPDATE \\* gives nothing to column 'v'"),
        ("SELECT 9 AS id, NULL AS r", "WHEN NOT MATCHED THEN INSERT *", "INSERT \\* gives nothing to column 'v'"),
        ("SELECT 1 AS id, 1 AS v, named_struct('a', 1) AS r", BOTH, "does not give 'r.b'"),
        ("SELECT 1 AS id, 1 AS v, named_struct('a', 1, 'b', 2, 'c', 3) AS r", BOTH, "'r.c', which the table has not"),
        ("SELECT 1 AS id, 1 AS v, 2 AS V, NULL AS r", BOTH, "several columns 'v'"),
        ("SELECT 1 AS id, 2 AS new", "WHEN MATCHED THEN UPDATE SET new = s.new", "column 'new' does not exist"),
        ("SELECT 9 AS id", "WHEN NOT MATCHED THEN INSERT (id, ID) VALUES (1, 2)", "assigned twice"),
    ],
)
def test_merges_that_do_not_meet_the_table_are_refused(tmp_path: Path, source: str, clauses: str, said: str) -> None:
    session = open_session(tmp_path, "CREATE TABLE t (id INT, v INT, r STRUCT<a: INT, b: INT>)")
    session.sql("INSERT INTO t VALUES (1, 1, NULL)")
    with pytest.raises(SqlError, match=said):
        merged(session, source, clauses)
    assert rows(session) == [{"id": 1, "v": 1, "r": None}]


def test_a_merge_leaves_the_primary_key(tmp_path: Path) -> None:
    session = open_session(
        tmp_path, "CREATE TABLE t (id INT, v INT) TBLPROPERTIES ('primary-key' = 'id', 'bucket' = '1')"
    )
    session.sql("INSERT INTO t VALUES (1, 1)")
    source = "SELECT 5 AS id, 1 AS v"
    for clauses in ("UPDATE SET *", "UPDATE SET id = s.id", "UPDATE SET id = 7"):
        with pytest.raises(UnsupportedError, match="primary key"):
            merged(session, source, f"WHEN MATCHED THEN {clauses}", on="t.v = s.v")
    same = "WHEN MATCHED THEN UPDATE SET id = s.id, v = s.v + 1"
    assert merged(session, "SELECT 1 AS id, 1 AS v", same) == [{"id": 1, "v": 2}]


def test_a_plan_changes_no_columns(tmp_path: Path) -> None:
    session = open_session(tmp_path, "CREATE TABLE t (id INT)", "INSERT INTO t VALUES (1)", MERGES)
    with pytest.raises(UnsupportedError, match="has no plan"):
        session.plan("MERGE INTO t USING (SELECT 2 AS id, 3 AS v) s ON t.id = s.id WHEN NOT MATCHED THEN INSERT *")
    assert types(session) == {"id": "INT"}
