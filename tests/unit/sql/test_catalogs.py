"""Catalogs and databases in statements."""

from pathlib import Path

import pytest

from maintenance.errors import NotFoundError, SqlError, UnsupportedError
from maintenance.sql import Session
from tests.answers import rows


@pytest.fixture
def session(tmp_path: Path) -> Session:
    return Session({"warehouse": str(tmp_path / "first")}, dialect="flink")


def test_a_catalog_is_shown_without_its_secrets(session: Session, tmp_path: Path) -> None:
    session.sql(
        f"CREATE CATALOG c COMMENT 'it''s' WITH ('type' = 'paimon', 'warehouse' = '{tmp_path}', 's3.secret-key' = 'x')"
    )
    [(text,)] = rows(session, "SHOW CREATE CATALOG c")
    assert str(text).startswith("CREATE CATALOG `c`\nCOMMENT 'it''s'\nWITH (\n")
    assert "'s3.secret-key' = '******'" in str(text)
    assert rows(session, "DESCRIBE CATALOG c") == [("name", "c"), ("type", "paimon"), ("comment", "it's")]
    assert ("option:warehouse", str(tmp_path)) in rows(session, "DESC CATALOG EXTENDED c")
    with pytest.raises(SqlError, match="catalog 'd' does not exist"):
        session.sql("SHOW CREATE CATALOG d")


def test_databases_change_where_a_catalog_keeps_properties(tmp_path: Path) -> None:
    options = {"warehouse": str(tmp_path), "metastore": "jdbc", "uri": f"jdbc:sqlite:{tmp_path}/catalog.db"}
    session = Session(options)
    session.sql("CREATE DATABASE d")
    session.sql("ALTER DATABASE d SET DBPROPERTIES ('a' = '1', 'b' = '2')")
    session.sql("ALTER SCHEMA d UNSET PROPERTIES (a)")
    session.sql("COMMENT ON DATABASE d IS 'about it'")
    session.sql("ALTER NAMESPACE d SET LOCATION 'file:/elsewhere'")
    actual = session.current().get_database("d").properties
    assert {key: actual.get(key) for key in ("a", "b", "comment", "location")} == {
        "a": None, "b": "2", "comment": "about it", "location": "file:/elsewhere",
    }  # fmt: skip


def test_a_filesystem_catalog_keeps_none(session: Session) -> None:
    with pytest.raises(UnsupportedError, match="changing a database"):
        session.sql("ALTER DATABASE `default` SET ('a' = '1')")
    with pytest.raises(NotFoundError, match="Did you mean 'default'") as caught:
        session.sql("ALTER DATABASE defalt SET ('a' = '1')")
    assert isinstance(caught.value, SqlError)
    assert caught.value.column == 16
