"""Which sources a materialized table has, and which of their columns its columns are made from."""

from collections.abc import Mapping
from pathlib import Path

import pytest

from maintenance.sql import Session
from maintenance.sql.materialized.lineage import lineage_of, lineage_or_none
from maintenance.sql.session_state import DEFAULT_CATALOG


@pytest.fixture
def session(tmp_path: Path) -> Session:
    session = Session({"warehouse": str(tmp_path)}, dialect="flink")
    session.sql("CREATE TABLE a (id INT, ds STRING, n INT)")
    session.sql("CREATE TABLE b (id INT, `D s` STRING, m INT)")
    return session


@pytest.mark.parametrize(
    ("query", "sources"),
    [
        (
            "SELECT ds, count(*) AS c, sum(n + id) AS t FROM a GROUP BY ds",
            {"default.a": {"ds": ("ds",), "t": ("id", "n")}},
        ),
        (
            "SELECT a.ds, b.`D s` AS x, n + m AS y FROM a LEFT JOIN b ON a.id = b.id",
            {"default.a": {"ds": ("ds",), "y": ("n",)}, "default.b": {"x": ("D s",), "y": ("m",)}},
        ),
        ("SELECT * FROM a", {"default.a": {"id": ("id",), "ds": ("ds",), "n": ("n",)}}),
        (
            "SELECT id, ds FROM a UNION ALL SELECT m, `D s` FROM b",
            {"default.a": {"id": ("id",), "ds": ("ds",)}, "default.b": {"id": ("m",), "ds": ("D s",)}},
        ),
        (
            "WITH w AS (SELECT id + 1 AS i, ds FROM a) SELECT i, (SELECT max(m) FROM b) AS mm FROM w",
            {"default.a": {"i": ("id",)}, "default.b": {"mm": ("m",)}},
        ),
        ("SELECT 1 AS one FROM a", {"default.a": {}}),
    ],
)
def test_columns_come_from_columns(
    session: Session, query: str, sources: Mapping[str, Mapping[str, tuple[str, ...]]]
) -> None:
    session.sql(f"CREATE MATERIALIZED TABLE m FRESHNESS = INTERVAL '1' HOUR AS {query}")
    assert lineage_of(session, session.table(("m",)), DEFAULT_CATALOG).sources == sources


def test_a_query_that_cannot_be_read_has_no_lineage(session: Session) -> None:
    session.sql("CREATE MATERIALIZED TABLE m FRESHNESS = INTERVAL '1' HOUR AS SELECT id FROM a")
    session.sql("DROP TABLE a")
    assert lineage_or_none(session, session.table(("m",)), DEFAULT_CATALOG) is None
