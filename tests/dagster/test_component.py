"""The component in a real project folder: what it defines, how it is scaffolded, how mistakes are told."""

from pathlib import Path
from typing import Any

import dagster as dg
import pytest
from dagster.components.testing import create_defs_folder_sandbox

from assets.resources import PaimonCatalog
from components import PaimonTables
from maintenance.errors import OptionError

ATTRIBUTES: dict[str, Any] = {
    "warehouse": "lake",
    "expiry": {"time_zone": "Europe/Berlin"},
    "alerts": {"targets": [{"kind": "webhook", "url": "${HOOK}"}]},
    "patterns": [{"pattern": "sales.*", "owners": ["team:sales"]}],
    "tables": [
        {
            "identifier": "shop.orders",
            "columns": {"id": "INT NOT NULL"},
            "primary_keys": ["id"],
            "options": {"bucket": 1},
            "landing": {"path": "landing", "commit_user": "shop"},
        }
    ],
}


def loaded(attributes: dict[str, Any]) -> dg.Definitions:
    with create_defs_folder_sandbox() as sandbox:
        contents = {"type": "components.PaimonTables", "attributes": attributes}
        path = sandbox.scaffold_component(component_cls=PaimonTables, defs_yaml_contents=contents)
        lake = PaimonCatalog(warehouse=str(path / "lake"))
        lake.open().create_database("sales")
        with sandbox.load_component_and_build_defs(defs_path=path) as (component, definitions):
            assert isinstance(component, PaimonTables)
            project = component.project(path)
            assert project.warehouse == str(path.resolve() / "lake")
            assert project.tables[0].landing is not None
            assert project.tables[0].landing.path == str(path.resolve() / "landing")
            return definitions


def test_a_component_defines_what_the_file_would() -> None:
    definitions = loaded(ATTRIBUTES)
    assert dg.AssetKey(["shop", "orders"]) in definitions.resolve_all_asset_keys()
    assert definitions.resolve_schedule_def("daily_expiry").execution_timezone == "Europe/Berlin"
    assert definitions.resolve_sensor_def("alerts").default_status == dg.DefaultSensorStatus.RUNNING


def test_a_mistake_is_told_with_its_place() -> None:
    wrong = {**ATTRIBUTES, "tables": [{**ATTRIBUTES["tables"][0], "primary_key": ["id"]}]}
    with pytest.raises(Exception, match="Error while building definitions") as caught:
        loaded(wrong)
    reason = caught.value.__cause__
    assert isinstance(reason, OptionError)
    assert "tables.0.primary_key" in reason.found


def test_scaffolding_writes_a_component_that_loads() -> None:
    with create_defs_folder_sandbox() as sandbox:
        path = sandbox.scaffold_component(component_cls=PaimonTables, scaffold_params={"pattern": "shop.*"})
        assert "pattern: shop.*" in (Path(path) / "defs.yaml").read_text()
        with sandbox.load_component_and_build_defs(defs_path=path) as (component, definitions):
            assert isinstance(component, PaimonTables)
            assert definitions.resolve_all_asset_keys() == []
