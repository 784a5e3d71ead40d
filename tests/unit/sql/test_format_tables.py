"""Statements on format tables."""

from pathlib import Path

import pytest

from maintenance.errors import PaimonError
from maintenance.sql import Session
from tests.format_table_statements import DIALECTS, KINDS, created, exercise, rows
from tests.plain_tables import PlainCatalog


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize("kind", KINDS)
def test_every_statement_has_an_answer(tmp_path: Path, kind: str, dialect: str) -> None:
    catalog = PlainCatalog.of(tmp_path)
    catalog.create_database("db")
    exercise(catalog, "db", kind, dialect)


@pytest.mark.parametrize("kind", ["filesystem", "jdbc"])
def test_a_failed_query_leaves_no_table_in_any_catalog(tmp_path: Path, kind: str) -> None:
    jdbc = {"metastore": "jdbc", "uri": f"jdbc:sqlite:{tmp_path}/catalog.db"} if kind == "jdbc" else {}
    session = Session({"warehouse": str(tmp_path / "warehouse"), **jdbc}, dialect="flink")
    with pytest.raises(PaimonError, match="a value of length 8"):
        session.sql("CREATE TABLE bad (a CHAR(1)) AS SELECT 'too long'")
    assert session.sql("SHOW TABLES").to_arrow().num_rows == 0
    assert not list(tmp_path.rglob("bad*"))
    session.sql("CREATE TABLE bad (a CHAR(1)) AS SELECT 'x'")
    with pytest.raises(PaimonError, match="an object table has no rows"):
        session.sql("CREATE TABLE o WITH ('type' = 'object-table') AS SELECT 1 AS a")


def test_sparks_separator_is_stored_and_paimons_is_read(tmp_path: Path) -> None:
    catalog = PlainCatalog.of(tmp_path)
    session = Session(catalog, dialect="spark")
    session.sql("CREATE TABLE t (id INT, name STRING) USING csv OPTIONS ('sep' ';')")
    session.sql("INSERT INTO t VALUES (1, 'a;b')")
    assert catalog.get_table("default.t").options["sep"] == ";"
    (file,) = tmp_path.rglob("*.csv")
    assert file.read_text().startswith("1,a;b")


@pytest.mark.parametrize("dialect", DIALECTS)
def test_an_overwrite_keeps_partitions_without_new_rows(tmp_path: Path, dialect: str) -> None:
    catalog = PlainCatalog.of(tmp_path)
    catalog.create_database("db")
    session = Session(catalog, dialect=dialect)  # type: ignore[arg-type]
    created(session, "db.t", "csv")
    session.sql("INSERT INTO db.t VALUES ('one', DATE '2024-01-01'), ('two', DATE '2024-01-02')")
    session.sql("INSERT OVERWRITE db.t VALUES ('new', DATE '2024-01-02'), ('more', DATE '2024-01-03')")
    assert rows(session, "db.t") == [("more", "2024-01-03"), ("new", "2024-01-02"), ("one", "2024-01-01")]


@pytest.mark.parametrize(
    "statement", ["REPLACE TABLE t (k INT) USING csv", "REPLACE TABLE t USING csv AS SELECT 2 AS k"]
)
def test_a_table_is_not_replaced_by_one_of_another_kind(tmp_path: Path, statement: str) -> None:
    session = Session(PlainCatalog.of(tmp_path), dialect="spark")
    session.sql("CREATE TABLE t AS SELECT 1 AS k")
    with pytest.raises(PaimonError, match="REPLACE does not make a 'format-table' of it"):
        session.sql(statement)
    assert session.sql("SELECT k FROM t").to_arrow().to_pylist() == [{"k": 1}]
