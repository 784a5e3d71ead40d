"""A query of several relations reads those that DuckDB cannot read itself as tables, whose sizes it knows."""

from pathlib import Path
from typing import Any

import pytest

from maintenance.catalog import CatalogTable
from maintenance.errors import CorruptFileError
from maintenance.sql import Session
from maintenance.sql.duckdb import embedded
from maintenance.sql.duckdb.dataset import RelationDataset, held
from maintenance.sql.query.relations import Relation
from maintenance.table.table import Table
from tests.answers import rows
from tests.tables import live_files

KEYED = "(id INT, n INT, name STRING) TBLPROPERTIES ('primary-key' = 'id', 'bucket' = '1', 'write-only' = 'true')"
QUERIES = {
    "SELECT a.id, b.n, a.name FROM a JOIN b ON a.n = b.id ORDER BY 1": [(1, 6, "x"), (3, 5, "yy")],
    "SELECT a.id, b.n FROM b RIGHT JOIN a ON a.n = b.id AND b.n > 5 ORDER BY 1": [(1, 6), (2, None), (3, None)],
    "SELECT id FROM a WHERE n IN (SELECT id FROM b) ORDER BY 1": [(1,), (3,)],
    "SELECT id FROM a UNION ALL SELECT n FROM b ORDER BY 1": [(1,), (2,), (3,), (5,), (6,)],
    "SELECT x.id AS i, y.id AS j FROM a x, a y WHERE x.n = y.n + 1 ORDER BY 1": [(3, 1)],
}


@pytest.fixture
def session(tmp_path: Path) -> Session:
    """Tables `a` and `b`, of two runs each, and `p` of plain files."""
    made = Session({"warehouse": str(tmp_path)})
    for name in "ab":
        made.sql(f"CREATE TABLE {name} {KEYED}")
    made.sql("INSERT INTO a VALUES (1, 9, 'old'), (2, 7, NULL)")
    made.sql("INSERT INTO a VALUES (1, 1, 'x'), (3, 2, 'yy')")
    made.sql("INSERT INTO b VALUES (1, 0, 'old'), (2, 5, 'b')")
    made.sql("INSERT INTO b VALUES (1, 6, 'b')")
    return made


def unused(*_: Any, **__: Any) -> Any:
    raise AssertionError("rows are read without a number of them")


@pytest.mark.parametrize("query", QUERIES)
def test_relations_of_a_query_are_tables(session: Session, monkeypatch: pytest.MonkeyPatch, query: str) -> None:
    monkeypatch.setattr(RelationDataset, "scanner", unused)
    assert rows(session, query) == QUERIES[query]


@pytest.mark.parametrize("query", QUERIES)
def test_larger_relations_are_read_as_duckdb_asks(
    session: Session, monkeypatch: pytest.MonkeyPatch, query: str
) -> None:
    monkeypatch.setattr(embedded, "WHOLE_TABLE_MEMORY", 20)
    monkeypatch.setattr(RelationDataset, "least_bytes", lambda _: 0)
    assert rows(session, query) == QUERIES[query]


def test_the_only_relation_is_read_as_duckdb_asks(session: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(RelationDataset, "table", unused)
    assert rows(session, "SELECT id FROM a ORDER BY id") == [(1,), (2,), (3,)]


def datasets(session: Session, *names: str) -> list[RelationDataset]:
    found = []
    for name in names:
        table = session.table((name,))
        assert isinstance(table, Table)
        mentioned = frozenset({"id", "name"})
        found.append(RelationDataset(Relation(name, (name,), table, {}, mentioned=mentioned), table))
    return found


def test_relations_are_held_together_or_not_at_all(session: Session) -> None:
    both = datasets(session, "a", "b")
    tables = held(both, 1000)
    assert tables is not None
    assert [table.num_rows for table in tables] == [3, 2]
    assert [table.column_names for table in tables] == [["id", "name"]] * 2
    sizes = [table.nbytes for table in tables]
    # Seven records of two columns are in the files: that alone tells that there is too much.
    assert sum(one.least_bytes() for one in both) == 7 * 2 * 4
    assert held(both, 7 * 2 * 4 - 1) is None
    session.sql(f"INSERT INTO a VALUES (4, 4, '{'long' * 100}')")
    assert held(both, sum(sizes) + 100) is None
    assert held(both[1:], sizes[1] + 1000) is not None


def test_a_damaged_file_is_named(session: Session) -> None:
    table = session.table(("a",))
    assert isinstance(table, CatalogTable)
    (first, *_) = live_files(table)
    path = next(Path(table.location).rglob(first.file_name))
    path.write_bytes(b"\0" * path.stat().st_size)
    with pytest.raises(CorruptFileError, match=first.file_name):
        session.sql("SELECT a.id FROM a JOIN b ON a.id = b.id").to_arrow()
