"""Which output columns carry a partition column of a source, and which queries are linear."""

from pathlib import Path

import pytest

from maintenance.sql import Session
from maintenance.sql.cursor import Source, statements_of
from maintenance.sql.materialized.alignment import alignment_of, is_repeatable
from maintenance.sql.query.resolve import Resolved
from maintenance.sql.query.run import over_relations


@pytest.fixture(scope="module")
def session(tmp_path_factory: pytest.TempPathFactory) -> Session:
    session = Session({"warehouse": str(tmp_path_factory.mktemp("warehouse"))}, dialect="flink")
    for name in ("a", "b"):
        session.sql(f"CREATE TABLE {name} (id INT, ds STRING, n INT) PARTITIONED BY (ds)")
    session.sql("CREATE TABLE c (id INT, ds INT, n INT) PARTITIONED BY (ds)")
    session.sql("CREATE TEMPORARY VIEW v AS SELECT ds, id FROM a WHERE n > 1")
    return session


def resolved(session: Session, text: str) -> Resolved:
    source = Source(text, session.sql_dialect)
    return over_relations(session, statements_of(source)[0].query(), source)


def carried(session: Session, text: str, table: str, output: int = 0) -> set[str] | None:
    """The columns of a table that an output carries, however the query reads it."""
    query = resolved(session, text)
    names = frozenset(name for name, relation in query.relations.items() if relation.path[-1] == table)
    actual = alignment_of(query).carried(names, output)
    return None if actual is None else set(actual)


@pytest.mark.parametrize(
    "query",
    [
        "SELECT ds, n FROM a",
        "SELECT ds, count(*) c FROM a GROUP BY ds",
        "SELECT ds, count(*) c FROM a GROUP BY 1 HAVING count(*) > 1",
        "SELECT DISTINCT ds FROM a",
        "SELECT x.ds FROM (SELECT ds, n + 1 m FROM a) x WHERE m > 1",
        "SELECT ds FROM v",
        "SELECT a.ds, b.n FROM a JOIN b ON a.ds = b.ds",
        "SELECT b.ds FROM a JOIN b ON a.ds = b.ds AND a.id = b.id",
        "SELECT a.ds FROM a LEFT JOIN b ON a.id = b.id",
        "SELECT ds FROM a UNION SELECT ds FROM b",
        "WITH w AS (SELECT * FROM a) SELECT x.ds FROM w x JOIN w y ON x.ds = y.ds",
        "SELECT ds FROM a WHERE id IN (SELECT id FROM b)",
    ],
)
def test_a_change_stays_in_its_partition(session: Session, query: str) -> None:
    assert carried(session, query, "a") == {"ds"}


@pytest.mark.parametrize(
    "query",
    [
        "SELECT upper(ds) ds FROM a",
        "SELECT max(ds) ds FROM a",
        "SELECT ds FROM a LIMIT 1",
        "SELECT ds, row_number() OVER (ORDER BY n) r FROM a",
        "SELECT b.ds FROM a JOIN b ON a.id = b.id",
        "SELECT a.ds FROM b LEFT JOIN a ON a.ds = b.ds",
        "SELECT a.ds FROM a FULL JOIN b ON a.ds = b.ds",
        "SELECT ds FROM a INTERSECT SELECT ds FROM b",
        "SELECT ds, count(*) c FROM a GROUP BY ROLLUP (ds)",
        "WITH w AS (SELECT * FROM a) SELECT x.ds FROM w x JOIN w y ON x.id = y.id",
        "SELECT ds FROM b WHERE id IN (SELECT id FROM a)",
        "SELECT x.ds FROM a x, a y",
        # Equal as numbers is not equal as texts: '1' and '01'.
        "SELECT b.ds FROM b JOIN c ON b.ds = c.ds JOIN a ON a.ds = c.ds",
    ],
)
def test_a_change_may_reach_any_partition(session: Session, query: str) -> None:
    assert carried(session, query, "a") is None


def test_a_left_join_holds_its_right_side_to_the_partition_only_by_the_column(session: Session) -> None:
    assert carried(session, "SELECT a.ds FROM a LEFT JOIN b ON a.ds = b.ds", "b") == {"ds"}
    assert carried(session, "SELECT a.ds FROM a LEFT JOIN b ON a.id = b.id", "b") is None


@pytest.mark.parametrize(
    ("query", "linear"),
    [
        ("SELECT id, upper(ds) FROM a WHERE n > 1", True),
        ("SELECT * FROM (SELECT id FROM a) x", True),
        ("SELECT id FROM a UNION ALL SELECT id FROM b", True),
        ("SELECT id FROM a UNION SELECT id FROM b", False),
        ("SELECT DISTINCT id FROM a", False),
        ("SELECT count(*) FROM a", False),
        ("SELECT id, count(*) FROM a GROUP BY id", False),
        ("SELECT a.id FROM a JOIN b ON a.id = b.id", False),
        ("SELECT id FROM a LIMIT 1", False),
        ("SELECT id FROM a WHERE n = (SELECT max(n) FROM b)", False),
        ("SELECT id, rank() OVER (ORDER BY n) FROM a", False),
    ],
)
def test_queries_that_take_each_row_by_itself_are_linear(session: Session, query: str, linear: bool) -> None:
    assert alignment_of(resolved(session, query)).is_linear == linear


@pytest.mark.parametrize(
    "expression", ["CURRENT_DATE", "LOCALTIMESTAMP", "NOW()", "RAND()", "UNIX_TIMESTAMP()", "UUID()", "my_function(n)"]
)
def test_what_asks_the_clock_or_chance_is_not_repeatable(session: Session, expression: str) -> None:
    assert not is_repeatable(resolved(session, f"SELECT {expression} AS x FROM a").tree)


def test_plain_functions_and_windows_are_repeatable(session: Session) -> None:
    query = "SELECT DATE_FORMAT(ds, 'yyyy'), count(*) c, sum(n), row_number() OVER (ORDER BY ds) FROM a GROUP BY ds"
    assert is_repeatable(resolved(session, query).tree)


def test_names_in_another_case_carry_nothing(tmp_path: Path) -> None:
    """A query that sqlglot does not resolve carries nothing, rather than something wrong."""
    session = Session({"warehouse": str(tmp_path)}, dialect="flink")
    session.sql("CREATE TABLE t (ID INT, Ds STRING) PARTITIONED BY (Ds)")
    assert carried(session, "SELECT ds FROM t", "t") is None
    assert carried(session, "SELECT Ds FROM t", "t") == {"Ds"}
