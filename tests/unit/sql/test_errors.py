"""Errors of statements name the place in the text and what may have been meant."""

from pathlib import Path

import pytest
from sqlglot import parser

from maintenance.errors import ErrorClass, UnsupportedError
from maintenance.sql import Session, SqlError


@pytest.fixture
def session(tmp_path: Path) -> Session:
    session = Session({"warehouse": str(tmp_path)}, dialect="flink")
    session.sql("CREATE TABLE trips (id INT PRIMARY KEY NOT ENFORCED, city STRING)")
    return session


@pytest.mark.parametrize(
    ("text", "place", "said"),
    [
        ("SELEC 1", (1, 1), "Did you mean 'SELECT'"),
        ("CREATE TABEL t (a INT)", (1, 8), "Did you mean 'CREATE TABLE'"),
        ("SELECT *\nFROM trip", (2, 6), "Did you mean 'trips'"),
        ("SELECT\n  id,\n  citi\nFROM trips", (3, 3), "Did you mean 'city'"),
        ("INSERT INTO trips (id, town) SELECT 1, 'a'", (1, 24), "column 'town' does not exist"),
        ("CREATE TABLE t (a INT, b NUMBR)", (1, 26), "NUMBR"),
        ("CREATE TABLE t (a INT", (1, 22), "the statement ends where"),
        ("CREATE TABLE t (a INT, b AS c + 1)", (1, 29), "column 'c' does not exist"),
        ("CREATE TABLE t (a TIMESTAMP, WATERMARK FOR b AS a)", (1, 44), "column 'b' does not exist"),
        ("SELECT id FROM trips WHERE city = 'Oslo", (1, 35), "not closed"),
        ("CALL sys.compat('trips')", (1, 10), "Did you mean 'sys.compact'"),
        ("CALL sys.compact(tabel => 'trips')", (1, 18), "Did you mean 'table'"),
        ("DROP TABLE trps", (1, 12), "Did you mean 'trips'"),
        ("SELECT 1; SELECT 2", (1, 11), "second statement"),
    ],
)
def test_the_place_of_an_error(session: Session, text: str, place: tuple[int, int], said: str) -> None:
    with pytest.raises(SqlError) as caught:
        session.sql(text)
    error = caught.value
    assert (error.line, error.column) == place
    assert said in str(error)
    caret = str(error).splitlines()[-1]
    assert caret.index("^") == place[1] - 1


def test_the_place_in_a_script_is_that_of_the_whole_text(session: Session) -> None:
    results = session.execute("INSERT INTO trips VALUES (1, 'Oslo');\n\nSELECT x FROM trips;")
    next(results)
    with pytest.raises(SqlError) as caught:
        next(results)
    assert (caught.value.line, caught.value.column) == (3, 8)


def test_an_error_of_the_engine_keeps_its_class(session: Session) -> None:
    with pytest.raises(SqlError, match="snapshot 7") as caught:
        session.sql("SELECT * FROM trips /*+ OPTIONS('scan.snapshot-id' = '7') */")
    assert caught.value.error_class is ErrorClass.USER


def test_a_compiled_parser_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parser, "__file__", "/lib/sqlglot/parser.cpython-311-x86_64-linux-gnu.so")
    with pytest.raises(UnsupportedError, match="Uninstall the package sqlglotc"):
        Session({"warehouse": str(tmp_path)})
