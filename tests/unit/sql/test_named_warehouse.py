"""The warehouse of a REST catalog is a name where its server does not say where it lies: what then has no place."""

from dataclasses import replace
from pathlib import Path

import pytest

from maintenance.catalog import Catalog, open_catalog
from maintenance.cli.main import run
from maintenance.errors import UnsupportedError
from maintenance.metastore.filesystem import FilesystemCatalog
from maintenance.metastore.warehouse import known_folder, warehouse_folder
from maintenance.sql import Session

_SCRIPT = """
CREATE TABLE t (a INT);
INSERT INTO t VALUES (1);
INSERT INTO t VALUES (2);
CALL sys.create_tag('default.t', 'old');
"""
_KEEPS_ONE = "retain_max => 1, retain_min => 1, older_than => '2999-01-01 00:00:00'"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where processes begin: a relative name leads to a folder of this one."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def named(folder: Path) -> Catalog:
    """As the catalog of a server that calls its warehouse `wh`; its tables are found below the folder."""
    catalog = open_catalog({"warehouse": "wh"})
    assert isinstance(catalog, FilesystemCatalog)
    list(Session(catalog, dialect="spark").execute(_SCRIPT))
    return replace(catalog, options={"metastore": "rest", "uri": "http://lake"})


@pytest.mark.parametrize(
    "call",
    [
        f"sys.expire_snapshots(table => 't', {_KEEPS_ONE}, into_bin => true)",
        "sys.delete_tag(table => 't', tag => 'old', into_bin => true)",
        "sys.empty_bin()",
        "sys.restore(table => 't', run => '20260101')",
    ],
)
def test_what_needs_the_bin_is_refused_before_anything_is_deleted(named: Catalog, folder: Path, call: str) -> None:
    before = sorted(folder.rglob("*"))
    with pytest.raises(UnsupportedError, match="'wh' of the REST catalog is a name, not a folder") as refused:
        Session(named, dialect="spark").sql(f"CALL {call}")
    assert refused.value.where == "http://lake"
    assert sorted(folder.rglob("*")) == before


def test_what_needs_no_bin_is_done(named: Catalog) -> None:
    session = Session(named, dialect="spark")
    session.sql(f"CALL sys.expire_snapshots(table => 't', {_KEEPS_ONE})")
    session.sql("CALL sys.delete_tag(table => 't', tag => 'old')")
    assert named.get_table("default.t").snapshots.list_ids() == [2]


def test_a_server_that_says_where_it_is(folder: Path) -> None:
    catalog = open_catalog({"warehouse": f"{folder}/wh"})
    assert isinstance(catalog, FilesystemCatalog)
    assert warehouse_folder(replace(catalog, options={"metastore": "rest"})) == f"{folder}/wh"


def test_a_relative_folder_is_no_name(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    list(Session({"warehouse": "wh"}, dialect="spark").execute(_SCRIPT))
    assert known_folder(open_catalog({"warehouse": "wh"})) == "wh"
    run(["--warehouse", "wh", "compact", "default.t", "--dry-run"])
    assert "plan " in capsys.readouterr().out
    assert len(list((folder / "wh/_maintenance/plans").iterdir())) == 1
