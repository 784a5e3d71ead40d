"""Views of a catalog in Spark's dialect: what is stored, how they are shown, texts for other engines."""

from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pytest

from maintenance.catalog import Catalog
from maintenance.errors import NotFoundError, SqlError
from maintenance.sql import Session


@pytest.fixture
def session(tmp_path: Path) -> Session:
    options = {
        "warehouse": str(tmp_path / "lake"),
        "metastore": "jdbc",
        "uri": f"jdbc:sqlite:{tmp_path / 'catalog.db'}",
    }
    session = Session(options)
    list(
        session.execute(
            """create database d;
            create table d.t (k int not null, v string comment 'the v', n bigint)
              tblproperties ('primary-key' = 'k');
            insert into d.t values (1, 'a', 10), (2, 'b', 20);
            create view d.w (kk comment 'key', s) comment 'both' tblproperties ('x' = 'y')
              as select k, n + 1 from d.t"""
        )
    )
    return session


def catalog_of(session: Session) -> Catalog:
    return session.catalog_of("paimon")


def test_the_text_is_stored_as_written_and_columns_keep_type_and_comment(session: Session) -> None:
    session.sql("use d")
    session.sql("create view v as select k, v from t  where k > 1")
    view = catalog_of(session).get_view("d.v")
    assert view.query == "select k, v from t  where k > 1"
    assert view.dialects == {"spark": view.query}
    assert [(f.name, str(f.type), f.description) for f in view.columns()] == [
        ("k", "INT NOT NULL", None),
        ("v", "STRING", "the v"),
    ]
    session.sql("use default")
    assert session.sql("select * from d.v").to_arrow().to_pylist() == [{"k": 2, "v": "b"}]


def test_a_join_does_not_keep_not_null(session: Session) -> None:
    session.sql("create view d.j as select a.k from d.t b left join d.t a on a.k = b.k + 1")
    (column,) = catalog_of(session).get_view("d.j").columns()
    assert column.type.nullable


def test_views_are_listed_shown_and_described(session: Session) -> None:
    assert session.sql("show views in d").to_arrow().to_pylist() == [
        {"namespace": "d", "viewName": "w", "isTemporary": False}
    ]
    (row,) = session.sql("show create table d.w").to_arrow().to_pylist()
    assert row["createtab_stmt"] == (
        "CREATE VIEW d.w (\n  kk COMMENT 'key',\n  s)\nCOMMENT 'both'\nTBLPROPERTIES (\n  'x' = 'y')\n"
        "AS\nselect k, n + 1 from d.t\n"
    )
    rows = session.sql("describe extended d.w").to_arrow().to_pylist()
    assert rows[0] == {"col_name": "kk", "data_type": "INT NOT NULL", "comment": "key"}
    assert {row["col_name"]: row["data_type"] for row in rows}["View Properties"] == "[x=y]"


def test_texts_for_other_engines(session: Session) -> None:
    session.sql("call sys.alter_view_dialect('d.w', 'add', 'flink', 'SELECT 1, 2')")
    session.sql("call sys.alter_view_dialect(`view` => 'd.w', `action` => 'update', `query` => 'select 5, 6')")
    assert catalog_of(session).get_view("d.w").dialects == {"flink": "SELECT 1, 2", "spark": "select 5, 6"}
    assert session.sql("select * from d.w").to_arrow().to_pylist() == [{"kk": 5, "s": 6}]
    session.sql("call sys.alter_view_dialect(`view` => 'd.w', `action` => 'drop', `engine` => 'flink')")
    assert set(catalog_of(session).get_view("d.w").dialects) == {"spark"}
    with pytest.raises(SqlError, match="'add' needs a query"):
        session.sql("call sys.alter_view_dialect('d.w', 'add', 'trino')")


def test_a_view_that_is_not_there(session: Session) -> None:
    with pytest.raises(NotFoundError, match="view 'x' does not exist"):
        session.sql("drop view d.x")
    with pytest.raises(SqlError, match="Spark cannot alter views"):
        session.sql("alter view d.w rename to d.x")


def test_what_is_created_belongs_to_the_user(session: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("maintenance.sql.session_state.getuser", lambda: "ann")
    session.sql("create table d.owned (a int)")
    session.sql("create database e")
    assert session.table(("d", "owned")).schema.options["owner"] == "ann"
    assert catalog_of(session).get_database("e").properties["owner"] == "ann"
    flink = Session(catalog_of(session), dialect="flink")
    flink.sql("CREATE TABLE d.free (a INT)")
    assert "owner" not in flink.table(("d", "free")).schema.options


def test_what_a_view_computes_has_its_declared_types(session: Session) -> None:
    session.sql("use d")
    session.sql("create view m as select k, cast(n as decimal(12, 2)) as m from t")
    session.sql("call sys.alter_view_dialect('d.m', 'update', 'spark', 'select 5 as k, 6 as m')")
    rows = session.sql("select * from m").to_arrow()
    assert rows.to_pylist() == [{"k": 5, "m": Decimal("6.00")}]
    assert rows.schema.field("m").type == pa.decimal128(12, 2)


def test_how_an_object_table_is_created(session: Session, tmp_path: Path) -> None:
    session.sql(f"create table d.o tblproperties ('type' = 'object-table', 'path' = '{tmp_path}/pics')")
    (text,) = session.sql("show create table d.o").to_arrow().column(0).to_pylist()
    assert text.startswith("CREATE TABLE paimon.d.o (\n  path STRING NOT NULL COMMENT 'Relative path of object',\n")
    assert text.endswith(f")\nTBLPROPERTIES (\n  'path' = '{tmp_path}/pics',\n  'type' = 'object-table')\n")
