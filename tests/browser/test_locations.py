"""Two code locations under `dagster dev`: this project's own, and a `dg` project that uses the component."""

import re
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pytest
import yaml
from playwright.sync_api import Browser

from maintenance.catalog import CatalogTable, Schema, open_catalog
from tests.browser import ui
from tests.browser.servers import ROOT, Dagster
from tests.browser.ui import Ui

pytestmark = pytest.mark.slow

PYPROJECT = """
[tool.dg]
directory_type = "project"
[tool.dg.project]
root_module = "lakehouse"
registry_modules = ["components"]
"""
DEFINITIONS = """
from pathlib import Path

import dagster as dg


@dg.definitions
def defs() -> dg.Definitions:
    return dg.load_from_defs_folder(path_within_project=Path(__file__).parent)
"""


def create(warehouse: Path, name: str) -> None:
    catalog = open_catalog({"warehouse": str(warehouse)})
    catalog.create_database(name.partition(".")[0])
    catalog.create_table(name, Schema([("id", "INT NOT NULL")], ["id"], [], {"bucket": "1", "write-only": "true"}))
    table = catalog.get_table(name)
    assert isinstance(table, CatalogTable)
    table.write_arrow(pa.table({"id": pa.array([1, 2], pa.int32())}))


def write_project(folder: Path) -> None:
    """A `dg` project whose only component maintains a warehouse beside its defs.yaml."""
    place = folder / "lakehouse" / "defs" / "lake"
    place.mkdir(parents=True)
    for package in (folder / "lakehouse", folder / "lakehouse" / "defs"):
        (package / "__init__.py").touch()
    (folder / "pyproject.toml").write_text(PYPROJECT)
    (folder / "lakehouse" / "definitions.py").write_text(DEFINITIONS)
    attributes = {"warehouse": "lake", "history": None, "patterns": [{"pattern": "crm.*"}]}
    (place / "defs.yaml").write_text(
        yaml.safe_dump({"type": "paimon_maintenance.PaimonTables", "attributes": attributes})
    )
    create(place / "lake", "crm.people")


@pytest.fixture
def page(tmp_path: Path, chromium: Browser) -> Iterator[Ui]:
    """A tab on both."""
    create(tmp_path / "lake", "shop.orders")
    tables = tmp_path / "tables.yaml"
    tables.write_text(f"warehouse: {tmp_path}/lake\nhistory: null\npatterns: [{{pattern: shop.*}}]\n")
    write_project(tmp_path / "project")
    own = {"relative_path": str(ROOT / "definitions.py"), "working_directory": str(ROOT), "location_name": "own"}
    other = {"module_name": "lakehouse.definitions", "working_directory": str(tmp_path / "project")}
    workspace = tmp_path / "workspace.yaml"
    workspace.write_text(yaml.safe_dump({"load_from": [{"python_file": own}, {"python_module": other}]}))
    shots = ui.artifacts()
    dagster = Dagster(tmp_path / "dagster", tables, {}, shots, workspace=workspace, dev=True)
    try:
        dagster.wait_until_ready()
        with ui.tab(chromium, dagster.url, shots) as opened:
            opened.is_not_greeted()
            yield opened
            opened.shoot("end_of_locations")
    finally:
        dagster.stop()


def test_two_locations_side_by_side(page: Ui) -> None:
    page.open("/locations")
    page.sees("own", "lakehouse.definitions")
    page.shoot("locations")
    page.open("/assets")
    page.lists("shop/orders", "crm/people")
    for table, location in (("shop/orders", "own"), ("crm/people", "lakehouse.definitions")):
        page.open(f"/assets/{table}")
        page.click(f"fsck_{table.replace('/', '_')}")
        page.page.wait_for_url(re.compile(f"/locations/{re.escape(location)}/jobs/fsck_"))
        page.is_well()
    page.open("/locations/lakehouse.definitions/jobs/expire/playground")
    page.sees("ops")
    page.type_config("{}")
    page.sees("No errors")
    page.click("Launch Run")
    page.run_ends()
    page.shoot("locations_run")
