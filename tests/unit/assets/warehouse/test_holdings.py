"""Names in tables.yaml that mean nothing: found without reading anything, each with its place and the nearest name."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

from maintenance.catalog import Schema
from maintenance.project.config import load_project
from maintenance.project.findings import Finding
from paimon_maintenance.assets.resources.catalog import PaimonCatalog
from paimon_maintenance.assets.warehouse.holdings import Holdings, catalog_findings, read_holdings

LAKE = Holdings(
    "/lake",
    exists=True,
    databases=("sales", "hr"),
    tables={"sales": ("orders", "refunds"), "hr": ()},
)


def findings(tmp_path: Path, settings: Mapping[str, Any], holdings: Holdings, *missing: str) -> list[Finding]:
    path = tmp_path / "tables.yaml"
    path.write_text(yaml.safe_dump({"warehouse": "/lake", **settings}))
    return catalog_findings(load_project(path, tmp_path), holdings, missing)


@pytest.mark.parametrize(
    ("pattern", "said"),
    [
        ("slaes.*", "has no such database. Did you mean 'sales'? Databases: sales, hr."),
        ("sales.ordrs", "matches no table. Did you mean 'sales.orders'? Tables there: sales.orders, sales.refunds."),
        ("Sales.*", "has no such database. Did you mean 'sales'?"),
        ("hr.*", "'hr.*' matches no table. Empty: hr."),
    ],
)
def test_a_pattern_that_matches_nothing(pattern: str, said: str, tmp_path: Path) -> None:
    patterns = {"patterns": [{"pattern": "sales.*"}, {"pattern": pattern}]}
    (actual,) = findings(tmp_path, patterns, LAKE)
    assert said in actual.found
    assert (actual.path, actual.table) == ("patterns.1.pattern", None)


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("sales.ordes", "does not exist. Did you mean 'sales.orders'?"),
        ("sale.orders", "/lake has no database 'sale'. Did you mean 'sales.orders'? Databases: sales, hr."),
        ("hr.people", "table 'hr.people' does not exist. Database 'hr' is empty."),
    ],
)
def test_a_table_that_does_not_exist(name: str, said: str, tmp_path: Path) -> None:
    tables = {"tables": [{"identifier": "sales.orders"}, {"identifier": name}]}
    (actual,) = findings(tmp_path, tables, LAKE, name)
    assert said in actual.found
    assert (actual.path, actual.table) == ("tables.1.identifier", name)


def test_a_table_that_is_created_here_may_be_missing(tmp_path: Path) -> None:
    described = {"patterns": [{"pattern": "new.*"}], "tables": [{"identifier": "new.t", "columns": {"id": "INT"}}]}
    assert findings(tmp_path, described, LAKE, "new.t") == []
    assert findings(tmp_path, described, Holdings("/lake", exists=False), "new.t") == []


def test_a_warehouse_that_does_not_exist_is_the_only_finding(tmp_path: Path) -> None:
    absent = Holdings("/data/lakee", exists=False, neighbours=("/data/lake", "/data/logs"))
    (actual,) = findings(tmp_path, {"patterns": [{"pattern": "a.*"}], "tables": [{"identifier": "a.b"}]}, absent, "a.b")
    assert actual.found == "the warehouse /data/lakee does not exist. Did you mean '/data/lake'?"
    assert actual.path == "warehouse"


def test_what_is_read_of_a_warehouse(tmp_path: Path) -> None:
    catalog = PaimonCatalog(warehouse=str(tmp_path / "lake"))
    opened = catalog.open()
    for name in ("sales.orders", "hr.people"):
        opened.create_database(name.partition(".")[0])
        opened.create_table(name, Schema([("id", "INT")]))
    holdings = read_holdings(catalog, ["s*"])
    assert (holdings.exists, holdings.databases, holdings.tables) == (True, ("hr", "sales"), {"sales": ("orders",)})
    absent = read_holdings(PaimonCatalog(warehouse=str(tmp_path / "lak")), ["*"])
    assert (absent.exists, absent.neighbours) == (False, (str(tmp_path / "lake"),))
