"""Operations over a catalog's definitions, as functions of Python and as calls."""

from pathlib import Path
from typing import Any

import pytest

from maintenance.catalog import open_catalog
from maintenance.errors import OptionError, PaimonError
from maintenance.operations import alter_column_default_value, alter_view_dialect, repair
from maintenance.sql import Session


@pytest.fixture
def session(tmp_path: Path) -> Session:
    session = Session({"warehouse": str(tmp_path)})
    list(session.execute("CREATE DATABASE db; CREATE TABLE db.t (a INT, b STRING)"))
    return session


def test_a_default_value_is_changed_from_python(session: Session, tmp_path: Path) -> None:
    catalog = open_catalog({"warehouse": str(tmp_path)})
    alter_column_default_value(catalog, "db.t", "b", "none")
    session.sql("INSERT INTO db.t (a) VALUES (1)")
    assert session.sql("SELECT * FROM db.t").to_arrow().to_pylist() == [{"a": 1, "b": "none"}]
    with pytest.raises(PaimonError, match="'c'"):
        alter_column_default_value(catalog, "db.t", "c", "none")


def test_a_name_of_a_call_is_of_the_current_database(session: Session) -> None:
    session.sql("USE db")
    session.sql("CALL sys.alter_column_default_value('t', 'b', 'none')")
    session.sql("INSERT INTO t (a) VALUES (1)")
    assert session.sql("SELECT b FROM db.t").to_arrow().to_pylist() == [{"b": "none"}]


class Views:
    """A catalog that writes down what is asked of it."""

    def __init__(self) -> None:
        self.asked: list[tuple[Any, ...]] = []

    def __getattr__(self, name: str) -> Any:
        return lambda *given: self.asked.append((name, *given))


def test_the_text_of_a_view_for_an_engine_is_changed_from_python() -> None:
    catalog: Any = Views()
    alter_view_dialect(catalog, "db.v", "ADD", "trino", "SELECT 1")
    alter_view_dialect(catalog, "db.v", "drop", "trino")
    (first, name, (added,)), (_, _, (dropped,)) = catalog.asked
    assert (first, name) == ("alter_view", "db.v")
    assert (type(added).__name__, type(dropped).__name__) == ("AddDialect", "DropDialect")
    with pytest.raises(OptionError, match="'add' needs a query"):
        alter_view_dialect(catalog, "db.v", "add", "trino")
    with pytest.raises(OptionError, match="'drop' takes no query"):
        alter_view_dialect(catalog, "db.v", "drop", "trino", "SELECT 1")
    with pytest.raises(OptionError, match="'put' is not an action"):
        alter_view_dialect(catalog, "db.v", "put", "trino", "SELECT 1")


def test_repair_asks_for_tables_for_databases_or_for_all() -> None:
    catalog: Any = Views()
    repair(catalog, ["db.t", "other"])
    repair(catalog)
    assert catalog.asked == [("repair_table", "db.t"), ("repair_database", "other"), ("repair_catalog",)]


def test_a_dry_run_of_a_copy_says_what_it_would_do(session: Session, tmp_path: Path) -> None:
    list(session.execute("INSERT INTO db.t VALUES (1, 'x')"))
    call = "CALL sys.copy(source_table => 'db.t', target_table => 'db.u'"
    (row,) = session.sql(f"{call}, dry_run => true)").to_arrow().to_pylist()
    assert (row["source"], row["target"], row["copied_files"], row["snapshot_id"]) == ("db.t", "db.u", 1, None)
    assert session.sql("SHOW TABLES IN db").to_arrow().num_rows == 1
    session.sql(f"{call})")
    assert session.sql("SELECT * FROM db.u").to_arrow().to_pylist() == [{"a": 1, "b": "x"}]
