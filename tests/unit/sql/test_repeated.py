"""A query that comes again sees what has changed meanwhile, and is prepared anew only if it means something else."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from maintenance.catalog import CatalogTable
from maintenance.sql import Session
from maintenance.sql.duckdb import repeated
from tests.answers import rows

STAR = "SELECT * FROM t ORDER BY 1"


@pytest.fixture
def session(tmp_path: Path) -> Session:
    options = {"warehouse": str(tmp_path / "lake"), "metastore": "jdbc", "uri": f"jdbc:sqlite:{tmp_path / 'c.db'}"}
    session = Session(options)
    session.sql("CREATE TABLE t (a INT, b STRING)")
    session.sql("INSERT INTO t VALUES (1, 'x')")
    return session


@contextmanager
def counted(monkeypatch: pytest.MonkeyPatch, holder: object, name: str) -> Iterator[list[str]]:
    """The calls of a function."""
    calls: list[str] = []
    function = getattr(holder, name)

    def noted(*arguments: object, **named: object) -> object:
        calls.append(name)
        return function(*arguments, **named)

    with monkeypatch.context() as patched:
        patched.setattr(holder, name, noted)
        yield calls


def test_it_is_prepared_once_and_planned_once_for_each_snapshot(
    session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    with counted(monkeypatch, repeated, "prepared") as prepared, counted(monkeypatch, CatalogTable, "plan") as planned:
        for _ in range(3):
            assert rows(session, STAR) == [(1, "x")]
        assert (len(prepared), len(planned)) == (1, 1)
        session.sql("INSERT INTO t VALUES (2, 'y')")
        for _ in range(2):
            assert rows(session, STAR) == [(1, "x"), (2, "y")]
        assert (len(prepared), len(planned)) == (1, 2)


@pytest.mark.parametrize(
    ("statements", "expected"),
    [
        (["ALTER TABLE t ADD COLUMN c INT"], [(1, "x", None)]),
        (["ALTER TABLE t RENAME COLUMN b TO c", "INSERT INTO t VALUES (2, 'y')"], [(1, "x"), (2, "y")]),
        (["DROP TABLE t", "CREATE TABLE t (z DOUBLE)", "INSERT INTO t VALUES (0.5)"], [(0.5,)]),
        (["DROP TABLE t", "CREATE TABLE t (a INT, b STRING)", "INSERT INTO t VALUES (7, 'n')"], [(7, "n")]),
        (["CREATE TEMPORARY VIEW t AS SELECT 9 AS q"], [(9,)]),
        (["ALTER TABLE t RENAME TO other", "CREATE VIEW t AS SELECT a FROM other"], [(1,)]),
        (["INSERT INTO t VALUES (2, 'y')", "SET spark.paimon.scan.snapshot-id = 1"], [(1, "x")]),
        (["INSERT OVERWRITE t VALUES (3, 'z')"], [(3, "z")]),
        (["INSERT INTO t VALUES (2, 'y')", "CALL sys.rollback(`table` => 't', version => '1')"], [(1, "x")]),
        (["CREATE DATABASE d", "CREATE TABLE d.t (a INT)", "USE d"], []),
    ],
)
def test_what_changes_meanwhile_is_seen(session: Session, statements: list[str], expected: list[object]) -> None:
    for _ in range(2):
        assert rows(session, STAR) == [(1, "x")]
    for statement in statements:
        session.sql(statement)
    for _ in range(2):
        assert rows(session, STAR) == expected


def test_a_dropped_table_is_missed(session: Session) -> None:
    assert rows(session, STAR) == [(1, "x")]
    session.sql("DROP TABLE t")
    with pytest.raises(Exception, match=r"'default\.t' does not exist"):
        session.sql(STAR)


def test_a_view_that_is_replaced(session: Session) -> None:
    session.sql("CREATE VIEW v AS SELECT a FROM t")
    assert rows(session, "SELECT * FROM v") == [(1,)]
    session.sql("CREATE OR REPLACE VIEW v AS SELECT b FROM t")
    assert rows(session, "SELECT * FROM v") == [("x",)]


def test_the_newest_partition_is_asked_for_again_each_time(session: Session) -> None:
    session.sql("CREATE TABLE p (a INT, dt STRING) PARTITIONED BY (dt)")
    session.sql("INSERT INTO p VALUES (1, '1')")
    newest = "SELECT a FROM p WHERE dt = sys.max_pt('p')"
    assert rows(session, newest) == [(1,)]
    session.sql("INSERT INTO p VALUES (2, '2')")
    assert rows(session, newest) == [(2,)]


def test_a_tag_that_moves(session: Session) -> None:
    session.sql("ALTER TABLE t CREATE TAG x")
    session.sql("INSERT INTO t VALUES (2, 'y')")
    tagged = "SELECT COUNT(*) FROM t VERSION AS OF 'x'"
    assert rows(session, tagged) == [(1,)]
    session.sql("ALTER TABLE t CREATE OR REPLACE TAG x AS OF VERSION 2")
    assert rows(session, tagged) == [(2,)]


def test_a_value_of_its_own_for_each_run(session: Session) -> None:
    assert rows(session, "SELECT uuid(), a FROM t") != rows(session, "SELECT uuid(), a FROM t")


def test_decimals_that_need_more_bits(session: Session) -> None:
    session.sql("CREATE TABLE d (a DECIMAL(12, 2), b DECIMAL(12, 2))")
    session.sql("INSERT INTO d VALUES (9876543210.99, 1234567890.12)")
    for _ in range(2):
        assert str(rows(session, "SELECT a * b AS x FROM d")[0][0]) == "12193263113670934296.4188"
