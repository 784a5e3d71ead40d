"""DELETE, UPDATE and MERGE INTO of all kinds of tables, with conditions and values that are more than literals."""

from pathlib import Path
from typing import Any

import pytest

from maintenance.sql import Session, SqlError

KEYED = "k INT PRIMARY KEY NOT ENFORCED, v INT, s STRING"
APPEND = "k INT, v INT, s STRING"
VECTORS = "'deletion-vectors.enabled' = 'true'"
TRACKED = "'row-tracking.enabled' = 'true'"
TABLES = {
    "keyed": (KEYED, ""),
    "append": (APPEND, ""),
    "vectors": (APPEND, f"WITH ({VECTORS})"),
    "tracked": (APPEND, f"WITH ({TRACKED})"),
    "evolved": (APPEND, f"WITH ({TRACKED}, {VECTORS}, 'data-evolution.enabled' = 'true')"),
}


@pytest.fixture(params=TABLES)
def session(tmp_path: Path, request: pytest.FixtureRequest) -> Session:
    columns, options = TABLES[request.param]
    session = Session({"warehouse": str(tmp_path)}, dialect="flink")
    session.sql(f"CREATE TABLE t ({columns}) {options}")
    session.sql("INSERT INTO t VALUES (1, 10, 'a'), (2, 20, 'b'), (3, 30, 'c'), (4, CAST(NULL AS INT), 'd')")
    session.sql("CREATE TABLE s (k INT, v INT)")
    session.sql("INSERT INTO s VALUES (2, 200), (3, 300), (9, 900)")
    return session


def rows(session: Session) -> list[tuple[Any, ...]]:
    return [tuple(row.values()) for row in session.sql("SELECT * FROM t ORDER BY k").to_arrow().to_pylist()]


def test_update_by_an_expression(session: Session) -> None:
    session.sql("UPDATE t SET v = v * 2 + k, s = UPPER(s) WHERE MOD(k, 2) = 0 AND v IS NOT NULL")
    assert rows(session) == [(1, 10, "a"), (2, 42, "B"), (3, 30, "c"), (4, None, "d")]


def test_update_sees_the_rows_as_they_were(session: Session) -> None:
    session.sql("UPDATE t AS x SET v = x.k, s = CAST(x.v AS STRING) WHERE x.v + 1 > 20")
    assert rows(session) == [(1, 10, "a"), (2, 2, "20"), (3, 3, "30"), (4, None, "d")]


def test_delete_by_a_subquery(session: Session) -> None:
    session.sql("DELETE FROM t WHERE k IN (SELECT k FROM s WHERE v > 250)")
    assert [row[0] for row in rows(session)] == [1, 2, 4]


def test_delete_keeps_rows_whose_condition_is_null(session: Session) -> None:
    session.sql("DELETE FROM t WHERE v + 0 < 100")
    assert rows(session) == [(4, None, "d")]


def test_merge_with_every_clause(session: Session) -> None:
    session.sql(
        """MERGE INTO t USING (SELECT k, v FROM s) AS n ON t.k = n.k
        WHEN MATCHED AND n.v > 250 THEN DELETE
        WHEN MATCHED THEN UPDATE SET v = t.v + n.v
        WHEN NOT MATCHED AND n.v < 100 THEN INSERT (k, v, s) VALUES (n.k, 0, 'never')
        WHEN NOT MATCHED THEN INSERT (k, v, s) VALUES (n.k, n.v, 'new')
        WHEN NOT MATCHED BY SOURCE AND t.k = 4 THEN UPDATE SET s = 'left'
        WHEN NOT MATCHED BY SOURCE AND t.k > 100 THEN DELETE"""
    )
    assert rows(session) == [(1, 10, "a"), (2, 220, "b"), (4, None, "left"), (9, 900, "new")]


def test_a_row_that_two_rows_of_the_source_match_is_refused(session: Session) -> None:
    before = rows(session)
    session.sql("INSERT INTO s VALUES (2, 201)")
    with pytest.raises(SqlError, match="several rows of the source"):
        session.sql("MERGE INTO t USING s ON t.k = s.k WHEN MATCHED THEN UPDATE SET v = s.v")
    assert rows(session) == before
    session.sql("MERGE INTO t USING s ON t.k = s.k WHEN MATCHED THEN DELETE")
    assert [row[0] for row in rows(session)] == [1, 4]


def test_an_unknown_column_is_named(session: Session) -> None:
    with pytest.raises(SqlError, match="column 'w' does not exist") as caught:
        session.sql("UPDATE t SET w = 1")
    assert (caught.value.line, caught.value.column) == (1, 14)


def test_all_columns_of_the_source(session: Session) -> None:
    session.sql("CREATE TABLE n (k INT, v INT, s STRING)")
    session.sql("INSERT INTO n VALUES (1, 11, 'z'), (7, 77, 'y')")
    session.sql("MERGE INTO t USING n ON t.k = n.k WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *")
    assert rows(session) == [(1, 11, "z"), (2, 20, "b"), (3, 30, "c"), (4, None, "d"), (7, 77, "y")]


def test_a_query_without_a_name_as_source(session: Session) -> None:
    session.sql("MERGE INTO t USING (SELECT k AS j, v AS w FROM s) ON k = j WHEN MATCHED THEN UPDATE SET v = w")
    assert rows(session)[:3] == [(1, 10, "a"), (2, 200, "b"), (3, 300, "c")]


def test_lengths_of_texts_and_times_are_those_of_the_table(tmp_path: Path) -> None:
    session = Session({"warehouse": str(tmp_path)}, dialect="flink")
    session.sql("CREATE TABLE t (k INT, c CHAR(5), d TIME(0), x STRING)")
    session.sql("INSERT INTO t VALUES (1, CAST(NULL AS CHAR(5)), TIME '01:02:03', '')")
    session.sql("INSERT INTO t VALUES (2, 'ab', TIME '01:02:04', '')")
    session.sql("UPDATE t SET x = TYPEOF(c) WHERE d < TIME '01:02:04'")
    session.sql("DELETE FROM t WHERE c IN ('ab   ', x)")
    source, values = "(SELECT 3 AS j) AS s ON k = j", "(k, x) VALUES (j, MAP[1, 'm'][1])"
    session.sql(f"MERGE INTO t USING {source} WHEN NOT MATCHED THEN INSERT {values}")
    assert [(row[0], row[3]) for row in rows(session)] == [(1, "CHAR(5)"), (3, "m")]


def test_a_column_that_a_condition_compares_with_itself(tmp_path: Path) -> None:
    """In Flink that is true of a row whose column is NULL, too."""
    sessions = {name: Session({"warehouse": str(tmp_path / name)}, dialect=name) for name in ("flink", "spark")}
    for session in sessions.values():
        session.sql("CREATE TABLE t (k INT, s STRING)")
        session.sql("INSERT INTO t VALUES (1, 'a'), (2, NULL)")
        session.sql("DELETE FROM t WHERE s IN (s, 'x')")
    assert {name: rows(session) for name, session in sessions.items()} == {"flink": [], "spark": [(2, None)]}


def test_clauses_give_a_column_values_of_different_types(tmp_path: Path) -> None:
    session = Session({"warehouse": str(tmp_path)}, dialect="spark")
    session.sql("CREATE TABLE t (k INT, s STRING)")
    session.sql("INSERT INTO t VALUES (1, 'a'), (2, 'b'), (3, 'c')")
    session.sql("""MERGE INTO t USING t AS o ON t.k = o.k WHEN MATCHED AND o.k = 1 THEN UPDATE SET s = o.k
        WHEN MATCHED AND o.k = 2 THEN UPDATE SET s = o.s || 'x' WHEN MATCHED THEN UPDATE SET s = NULL""")
    assert rows(session) == [(1, "1"), (2, "bx"), (3, None)]


def test_fields_of_the_side_that_a_clause_is_about(tmp_path: Path) -> None:
    session = Session({"warehouse": str(tmp_path)}, dialect="spark")
    for name, row in (("t", "(1, struct(5, struct(6)), 0)"), ("s", "(2, struct(7, struct(8)), 0)")):
        session.sql(f"CREATE TABLE {name} (k INT, r STRUCT<p: INT, q: STRUCT<z: INT>>, x INT)")
        session.sql(f"INSERT INTO {name} VALUES {row}")
    session.sql(
        """MERGE INTO t USING s ON t.k = s.k
        WHEN NOT MATCHED AND r.p = s.r.p THEN INSERT (k, x) VALUES (k, r.p)
        WHEN NOT MATCHED BY SOURCE THEN UPDATE SET x = r.q.z"""
    )
    found = session.sql("SELECT k, x FROM t ORDER BY k").to_arrow().to_pylist()
    assert found == [{"k": 1, "x": 6}, {"k": 2, "x": 7}]


def test_the_primary_key_is_not_updated(tmp_path: Path) -> None:
    session = Session({"warehouse": str(tmp_path)}, dialect="flink")
    session.sql(f"CREATE TABLE t ({KEYED})")
    with pytest.raises(SqlError, match="primary key"):
        session.sql("UPDATE t SET k = k + 1")


@pytest.mark.parametrize("assignment", ["d = x", "c = s || 'x'", "c = COALESCE(s, 'none')"])
def test_what_flink_assigns_to_no_column(tmp_path: Path, assignment: str) -> None:
    session = Session({"warehouse": str(tmp_path)}, dialect="flink")
    session.sql("CREATE TABLE t (k INT PRIMARY KEY NOT ENFORCED, d DATE, x TIMESTAMP(3), c CHAR(5), s STRING)")
    session.sql("INSERT INTO t VALUES (1, DATE '2024-01-02', TIMESTAMP '2024-01-02 03:04:05', 'ab', 'b')")
    with pytest.raises(SqlError, match="Cast it"):
        session.sql(f"UPDATE t SET {assignment}")
    session.sql("UPDATE t SET d = CAST(x AS DATE), c = 'a' || 'b'")
    session.sql("INSERT INTO t (k, d) SELECT 2, x FROM t")


@pytest.mark.parametrize("options", [TRACKED, f"{TRACKED}, {VECTORS}", f"{TRACKED}, 'data-evolution.enabled' = 'true'"])
def test_ids_and_sequence_numbers_of_rows_in_conditions(tmp_path: Path, options: str) -> None:
    session = Session({"warehouse": str(tmp_path)}, dialect="spark")
    session.sql(f"CREATE TABLE t (k INT, v INT) TBLPROPERTIES ({options})")
    for values in ("(1, 1), (2, 2)", "(3, 3), (4, 4)"):
        session.sql(f"INSERT INTO t VALUES {values}")
    session.sql("UPDATE t SET v = 30 + _ROW_ID WHERE _ROW_ID = 2")
    session.sql("UPDATE t SET v = v * 10 WHERE t._SEQUENCE_NUMBER = 1")
    assert rows(session) == [(1, 10), (2, 20), (3, 32), (4, 4)]
    source = "(SELECT 0 AS r) AS s ON t._ROW_ID = s.r"
    session.sql(f"MERGE INTO t USING {source} WHEN MATCHED AND t._SEQUENCE_NUMBER > 1 THEN UPDATE SET v = r")
    if "evolution" not in options:
        session.sql("DELETE FROM t WHERE _ROW_ID = 3 OR _SEQUENCE_NUMBER = 3")
        assert rows(session) == [(1, 0), (2, 20)]


def test_changes_of_rows_fill_chars_up_with_blanks(tmp_path: Path) -> None:
    session = Session({"warehouse": str(tmp_path)}, dialect="spark")
    session.sql("CREATE TABLE t (k INT, c CHAR(3), s STRING)")
    session.sql("INSERT INTO t VALUES (1, 'a', 'x'), (2, 'b', 'y'), (3, 'c', 'z')")
    session.sql("UPDATE t SET c = s WHERE c = 'a'")
    session.sql("DELETE FROM t WHERE c = 'b'")
    source = "(SELECT 3 AS k, 'd' AS d) AS s ON t.k = s.k AND t.c = 'c'"
    session.sql(f"MERGE INTO t USING {source} WHEN MATCHED THEN UPDATE SET c = d")
    assert rows(session) == [(1, "x  ", "x"), (3, "d  ", "z")]
    assert rows(Session(session.catalog, dialect="flink")) == rows(session)


@pytest.mark.parametrize("options", ["", f"TBLPROPERTIES ({VECTORS})"])
def test_places_of_rows_in_conditions(tmp_path: Path, options: str) -> None:
    session = Session({"warehouse": str(tmp_path)}, dialect="spark")
    session.sql(f"CREATE TABLE t (k INT, p INT) PARTITIONED BY (p) {options}")
    for values in ("(1, 1), (2, 1), (3, 2)", "(4, 1)"):
        session.sql(f"INSERT INTO t VALUES {values}")
    places = session.sql("SELECT __paimon_file_path AS f, __paimon_row_index AS i FROM t WHERE k = 2").to_arrow()
    ((path, number),) = [tuple(row.values()) for row in places.to_pylist()]
    session.sql(f"UPDATE t SET k = __paimon_row_index + 10 WHERE __paimon_file_path = '{path}'")
    assert rows(session) == [(3, 2), (4, 1), (10, 1), (10 + number, 1)]
    session.sql("DELETE FROM t WHERE __paimon_bucket = 0 AND __paimon_file_path LIKE '%/p=2/%'")
    session.sql("CREATE TABLE empty (k INT)")
    session.sql("DELETE FROM empty WHERE __paimon_file_path = 'x' AND __paimon_row_index < 1")
    assert rows(session) == [(4, 1), (10, 1), (10 + number, 1)]
