"""Patterns over a real catalog: which tables they find, whose settings win, and what the schemas add."""

from pathlib import Path

import dagster as dg
import pytest

from maintenance.errors import OptionError
from maintenance.project.config import Project, load_project
from paimon_maintenance.assets.resources.catalog import PaimonCatalog
from paimon_maintenance.assets.warehouse.discovery import discover
from paimon_maintenance.definitions import build_definitions

TEXT = """
warehouse: lake
patterns:
  - pattern: "sales.*"
    without: ["*.tmp_*"]
    owners: [team:sales]
    compaction: {trigger: 7}
    retention: {keep_at_least: 3, time_retained: 2 d}
  - pattern: "sales.o*"
    compaction: {automatic: false}
tables:
  - identifier: sales.orders
    retention: {keep_at_least: 5}
"""


@pytest.fixture
def catalog(tmp_path: Path) -> PaimonCatalog:
    catalog = PaimonCatalog(warehouse=str(tmp_path / "lake"))
    for identifier in ("sales.orders", "sales.refunds", "sales.tmp_1", "hr.people"):
        create(catalog, identifier)
    return catalog


def create(catalog: PaimonCatalog, identifier: str, **options: str) -> None:
    columns = "columns: {id: INT NOT NULL, day: DATE NOT NULL}\n    primary_keys: [id, day]\n    partition_keys: [day]"
    chosen = {"bucket": "1", "changelog-producer": "lookup", **options}
    path = Path(catalog.warehouse).parent / "one.yaml"
    path.write_text(f"warehouse: lake\ntables:\n  - identifier: {identifier}\n    {columns}\n    options: {chosen}\n")
    catalog.get_or_create(load_project(path, path.parent).tables[0])


@pytest.fixture
def project(tmp_path: Path) -> Project:
    path = tmp_path / "tables.yaml"
    path.write_text(TEXT)
    return load_project(path, tmp_path)


def test_a_pattern_finds_tables_and_the_nearest_setting_wins(project: Project, catalog: PaimonCatalog) -> None:
    tables = {table.identifier: table for table in discover(project, catalog).project.tables}
    assert tables.keys() == {"sales.orders", "sales.refunds"}
    orders, refunds = tables["sales.orders"], tables["sales.refunds"]
    assert (orders.retention.keep_at_least, orders.retention.time_retained) == (5, "2 d")
    assert (refunds.retention.keep_at_least, refunds.retention.time_retained) == (3, "2 d")
    assert (orders.compaction.automatic, orders.compaction.trigger) == (False, 7)
    assert (refunds.compaction.automatic, refunds.compaction.trigger) == (True, 7)
    assert refunds.owners == ("team:sales",)


def test_the_schema_says_which_steps_apply(project: Project, catalog: PaimonCatalog) -> None:
    refunds = discover(project, catalog).project.tables[1]
    assert refunds.writes_changelog
    assert (refunds.primary_keys, refunds.partition_keys) == (("id", "day"), ("day",))


def test_a_new_table_is_there_after_a_reload(project: Project, catalog: PaimonCatalog) -> None:
    before = build_definitions(project).resolve_all_asset_keys()
    create(catalog, "sales.new")
    after = build_definitions(project).resolve_all_asset_keys()
    assert dg.AssetKey(["sales", "new"]) in set(after) - set(before)


def test_a_broken_table_hides_no_other(project: Project, catalog: PaimonCatalog) -> None:
    (Path(catalog.get_table("sales.refunds").location) / "schema" / "schema-0").write_text("{")
    tables = {table.identifier: table for table in discover(project, catalog).project.tables}
    assert tables["sales.orders"].writes_changelog
    assert not tables["sales.refunds"].writes_changelog
    dg.Definitions.validate_loadable(build_definitions(project))


def test_names_that_dagster_cannot_tell_apart_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "tables.yaml"
    path.write_text("warehouse: lake\ntables:\n  - identifier: a_b.c\n  - identifier: a.b_c\n")
    with pytest.raises(OptionError, match="the same names in Dagster"):
        load_project(path, tmp_path)


def test_a_project_without_tables_is_a_mistake(tmp_path: Path) -> None:
    path = tmp_path / "tables.yaml"
    path.write_text("warehouse: lake\n")
    with pytest.raises(OptionError, match="neither tables nor patterns"):
        load_project(path, tmp_path)
