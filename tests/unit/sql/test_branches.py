"""Branches in SQL, by catalog."""

from pathlib import Path

import pytest

from maintenance.catalog import Catalog, open_catalog
from maintenance.errors import NotFoundError, PaimonError, UnsupportedError
from maintenance.sql import Session


@pytest.fixture(params=["filesystem", "jdbc"])
def catalog(request: pytest.FixtureRequest, tmp_path: Path) -> Catalog:
    jdbc = {"metastore": "jdbc", "uri": f"jdbc:sqlite:{tmp_path}/catalog.db"} if request.param == "jdbc" else {}
    return open_catalog({"warehouse": str(tmp_path / "warehouse"), **jdbc})


def test_a_branch_that_was_made_can_be_used(catalog: Catalog) -> None:
    session = Session(catalog)
    session.sql("CREATE TABLE t (k INT, v STRING) TBLPROPERTIES ('primary-key' = 'k', 'bucket' = '1')")
    session.sql("INSERT INTO t VALUES (1, 'main')")
    session.sql("CALL sys.create_tag('t', 'g')")
    session.sql("CALL sys.create_branch('t', 'b', 'g')")
    session.sql("INSERT INTO `t$branch_b` VALUES (2, 'branch')")
    session.sql("UPDATE `t$branch_b` SET v = 'changed' WHERE k = 1")
    session.sql("ALTER TABLE `t$branch_b` ADD COLUMN w INT")
    rows = session.sql("SELECT * FROM `t$branch_b` ORDER BY k").to_arrow().to_pylist()
    assert rows == [{"k": 1, "v": "changed", "w": None}, {"k": 2, "v": "branch", "w": None}]
    assert session.sql("SELECT * FROM `t$branch_b$snapshots`").to_arrow().num_rows >= 2
    assert session.sql("SELECT * FROM t").to_arrow().to_pylist() == [{"k": 1, "v": "main"}]
    with pytest.raises(PaimonError, match="does not exist"):
        session.sql("SELECT * FROM `t$branch_nope`")
    assert catalog.open_table("default.t$branch_b").identifier == "default.t$branch_b"
    session.sql("CALL sys.delete_branch('t', 'b')")
    with pytest.raises(NotFoundError):
        catalog.open_table("default.t$branch_b")


def test_a_jdbc_catalog_names_the_way_to_a_branch(tmp_path: Path) -> None:
    options = {"warehouse": str(tmp_path), "metastore": "jdbc", "uri": f"jdbc:sqlite:{tmp_path}/catalog.db"}
    catalog = open_catalog(options)
    Session(catalog).sql("CREATE TABLE t (k INT)")
    Session(catalog).sql("CALL sys.create_branch('t', 'b')")
    with pytest.raises(UnsupportedError, match="open_table"):
        catalog.get_table("default.t$branch_b")
