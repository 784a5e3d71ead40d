"""What Spark's statements tell of tables, columns and partitions, under Spark's names of columns."""

from pathlib import Path

import pytest

from maintenance.errors import NotFoundError, SqlError
from maintenance.sql import Session
from tests.answers import rows


@pytest.fixture(scope="module")
def session(tmp_path_factory: pytest.TempPathFactory) -> Session:
    session = Session({"warehouse": str(tmp_path_factory.mktemp("details"))})
    session.sql(
        "CREATE TABLE t (id INT NOT NULL COMMENT 'key', a ARRAY<STRUCT<x: INT, y: STRING>>, b DECIMAL(10, 2) DEFAULT 1,"
        " dt STRING) PARTITIONED BY (dt) COMMENT 'about it'"
    )
    session.sql("INSERT INTO t VALUES (1, array(struct(1, 'q')), 2.5, '2024'), (2, NULL, NULL, '2024')")
    return session


COLUMNS = [
    ("id", "int", "key"),
    ("a", "array<struct<x:int,y:string>>", None),
    ("b", "decimal(10,2)", None),
    ("dt", "string", None),
    ("# Partition Information", "", ""),
    ("# col_name", "data_type", "comment"),
    ("dt", "string", None),
]


def test_describe_lists_columns_and_extended_adds_facts_of_the_table(session: Session) -> None:
    assert rows(session, "DESC t") == COLUMNS
    extended = rows(session, "DESCRIBE TABLE EXTENDED t")
    assert extended[: len(COLUMNS)] == COLUMNS
    facts = {name: value for name, value, _ in extended[len(COLUMNS) :]}
    assert facts["Name"] == "default.t"
    assert facts["Comment"] == "about it"
    assert facts["Provider"] == "paimon"
    assert ("b", "decimal(10,2)", "1") in extended
    assert ("id", "int", "NOT NULL") in extended


def test_describe_of_a_column_gives_its_type_and_comment(session: Session) -> None:
    assert rows(session, "DESC t id") == [("col_name", "id"), ("data_type", "int"), ("comment", "key")]
    assert rows(session, "DESC t b")[2] == ("comment", "NULL")
    with pytest.raises(SqlError, match="Did you mean 'id'") as caught:
        session.sql("DESC t idd")
    assert (caught.value.line, caught.value.column) == (1, 8)


def test_describe_an_analyzed_column(tmp_path: Path) -> None:
    session = Session({"warehouse": str(tmp_path)})
    session.sql("CREATE TABLE visits (id INT, city STRING, seconds DOUBLE)")
    session.sql("INSERT INTO visits VALUES (1, 'Oslo', 0.5), (7, 'Porto', NULL), (7, NULL, 2.5)")
    plain = [("col_name", "id"), ("data_type", "int"), ("comment", "NULL")]
    assert rows(session, "DESC EXTENDED visits id") == plain
    session.sql("ANALYZE TABLE visits COMPUTE STATISTICS FOR COLUMNS id, city")
    actual = [("min", "1"), ("max", "7"), ("num_nulls", "0"), ("distinct_count", "2"), ("avg_col_len", "4")]
    assert rows(session, "DESC EXTENDED visits id") == [*plain, *actual, ("max_col_len", "4")]
    assert rows(session, "DESC visits id") == plain
    city = {row[0]: row[1] for row in rows(session, "DESCRIBE TABLE EXTENDED visits city")}
    assert (city["max_col_len"], city["min"]) == ("5", "NULL")
    assert len(rows(session, "DESC EXTENDED visits seconds")) == 3


def test_describe_of_a_partition_gives_its_values_and_row_count(session: Session) -> None:
    facts = {row[0]: row[1] for row in rows(session, "DESC EXTENDED t PARTITION (dt = '2024')")}
    assert facts["Partition Values"] == "[dt=2024]"
    assert "recordCount=2" in str(facts["Partition Parameters"])
    with pytest.raises(NotFoundError, match="partition dt=2025 does not exist"):
        session.sql("DESC EXTENDED t PARTITION (dt = '2025')")


def test_show_table_extended_describes_matching_tables_and_a_partition(session: Session) -> None:
    [(database, name, temporary, text)] = rows(session, "SHOW TABLE EXTENDED IN default LIKE 'T*'")
    assert (database, name, temporary) == ("default", "t", False)
    assert "Partition Columns: [`dt`]" in str(text)
    assert " |    |    |-- x: integer (nullable = true)" in str(text)
    [(*_, text)] = rows(session, "SHOW TABLE EXTENDED LIKE 't' PARTITION (dt = '2024')")
    assert "2 rows" in str(text)
    assert rows(session, "SHOW TABLE EXTENDED LIKE 'u*'") == []


def test_what_cannot_be_analyzed_is_refused(tmp_path: Path) -> None:
    session = Session({"warehouse": str(tmp_path)})
    session.sql("CREATE TABLE e (id INT)")
    # Also of a table without rows, of which nothing is counted.
    with pytest.raises(NotFoundError, match="nope"):
        session.sql("ANALYZE TABLE e COMPUTE STATISTICS FOR COLUMNS nope")
    with pytest.raises(SqlError, match="NOSCAN has no effect"):
        session.sql("ANALYZE TABLE e COMPUTE STATISTICS NOSCAN")


def test_lists_have_sparks_columns(session: Session) -> None:
    assert session.sql("SHOW DATABASES").to_arrow().to_pydict() == {"namespace": ["default"]}
    assert session.sql("SHOW PARTITIONS t").to_arrow().to_pydict() == {"partition": ["dt=2024"]}
    assert session.sql("SHOW COLUMNS IN t").to_arrow().to_pydict() == {"col_name": ["id", "a", "b", "dt"]}
    assert session.sql("SHOW TABLES 'x|T'").to_arrow().column("tableName").to_pylist() == ["t"]


def test_partitions_are_added_where_a_catalog_keeps_them(session: Session) -> None:
    with pytest.raises(SqlError, match="partition dt=2024 exists"):
        session.sql("ALTER TABLE t ADD PARTITION (dt = '2024')")
    session.sql("ALTER TABLE t ADD IF NOT EXISTS PARTITION (dt = '2024') PARTITION (dt = '2025')")
    assert rows(session, "SHOW PARTITIONS t") == [("dt=2024",)]


def test_defaults_of_nested_types(tmp_path: Path) -> None:
    session = Session({"warehouse": str(tmp_path)})
    session.sql(
        "CREATE TABLE d (a INT, s STRING DEFAULT 'none', t ARRAY<STRING> DEFAULT ARRAY('x', 'y'),"
        " m MAP<STRING, INT> DEFAULT MAP('k', 1), r STRUCT<p: INT, q: STRING> DEFAULT STRUCT(42, 'z'))"
    )
    session.sql("INSERT INTO d (a) VALUES (1)")
    session.sql("CALL sys.alter_column_default_value('default.d', 't', '[u, v]')")
    session.sql("INSERT INTO d (a) VALUES (2)")
    assert rows(session, "SELECT t, m, r FROM d ORDER BY a") == [
        (["x", "y"], [("k", 1)], {"p": 42, "q": "z"}),
        (["u", "v"], [("k", 1)], {"p": 42, "q": "z"}),
    ]
    [(text,)] = rows(session, "SHOW CREATE TABLE d")
    assert "m MAP<STRING, INT> DEFAULT MAP('k', 1)" in str(text)


def test_rows_are_assigned_by_position(tmp_path: Path) -> None:
    session = Session({"warehouse": str(tmp_path)})
    session.sql("CREATE TABLE n (a ARRAY<STRUCT<x: BIGINT, y: STRING>>, m MAP<STRING, STRUCT<z: DOUBLE>>)")
    session.sql("INSERT INTO n VALUES (array(struct(1, 'q'), NULL), map('k', named_struct('other', 1)))")
    session.sql("INSERT INTO n VALUES (NULL, map('k', NULL))")
    assert rows(session, "SELECT * FROM n") == [
        ([{"x": 1, "y": "q"}, None], [("k", {"z": 1.0})]),
        (None, [("k", None)]),
    ]
