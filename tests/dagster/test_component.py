"""The component in a real project folder: what it defines, how it is scaffolded, how mistakes are told."""

import re
from pathlib import Path
from typing import Any, get_args

import dagster as dg
import pytest
import yaml
from dagster.components.testing import create_defs_folder_sandbox
from pydantic import ValidationError

from maintenance.errors import OptionError
from maintenance.project.config import Expiry, Project, TableConfig
from paimon_maintenance.assets import keys
from paimon_maintenance.assets.resources.catalog import PaimonCatalog
from paimon_maintenance.components import PaimonTables

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
        contents = {"type": "paimon_maintenance.PaimonTables", "attributes": attributes}
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
    assert re.search(r"defs.yaml, line \d+$", reason.where)


def test_a_component_takes_whatever_the_file_takes() -> None:
    assert set(PaimonTables.model_fields) == set(Project.model_fields)


def test_whatever_may_be_null_in_the_file_may_be_null_in_a_component() -> None:
    nullable = [name for name, field in Project.model_fields.items() if type(None) in get_args(field.annotation)]
    assert sorted(nullable) == ["costs", "history"]
    definitions = loaded({**ATTRIBUTES, **dict.fromkeys(nullable)})
    assert dg.AssetKey(["shop", "orders"]) in definitions.resolve_all_asset_keys()


def test_attributes_are_typed_and_unknown_keys_are_refused() -> None:
    tables = PaimonTables(
        warehouse="lake", expiry=Expiry(time_zone="Europe/Berlin"), tables=(TableConfig(identifier="shop.orders"),)
    )
    assert tables.expiry.time_zone == "Europe/Berlin"
    assert tables.tables[0].compaction.trigger is None
    with pytest.raises(ValidationError, match="unknown key 'triger'"):
        PaimonTables.model_validate(
            {"warehouse": "lake", "patterns": [{"pattern": "*.*", "compaction": {"triger": 8}}]}
        )


def test_an_editor_knows_what_may_be_written() -> None:
    schema = PaimonTables.model().model_json_schema()
    assert {"expiry", "spark", "tables", "patterns"} <= set(schema["properties"])
    (compaction,) = (form for name, form in schema["$defs"].items() if name.endswith("CompactionPolicy"))
    assert "integer" in str(compaction["properties"]["trigger"])


def test_templates_are_filled_in(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ZONE", "Asia/Tokyo")
    monkeypatch.setenv("TRIGGER", "9")
    text = {
        "warehouse": "lake",
        "expiry": {"time_zone": "{{ env.ZONE }}"},
        "patterns": [{"pattern": "sales.*", "compaction": {"trigger": "{{ env.TRIGGER }}"}}],
    }
    resolved = PaimonTables.resolve_from_yaml(yaml.safe_dump(text))
    assert resolved.expiry.time_zone == "Asia/Tokyo"
    assert resolved.patterns[0].compaction.trigger == 9


def test_scaffolding_writes_a_component_that_loads() -> None:
    with create_defs_folder_sandbox() as sandbox:
        asked = {"pattern": "shop.*", "time_zone": "Europe/Berlin"}
        path = sandbox.scaffold_component(component_cls=PaimonTables, scaffold_params=asked)
        text = (Path(path) / "defs.yaml").read_text()
        assert "pattern: shop.*" in text
        with sandbox.load_component_and_build_defs(defs_path=path) as (component, definitions):
            assert isinstance(component, PaimonTables)
            assert component.project(path).expiry.time_zone == "Europe/Berlin"
            assert definitions.resolve_all_asset_keys() == [keys.FLEET]


def test_what_scaffolding_suggests_loads_once_it_is_asked_for() -> None:
    with create_defs_folder_sandbox() as sandbox:
        path = sandbox.scaffold_component(component_cls=PaimonTables)
        file = Path(path) / "defs.yaml"
        text = file.read_text()
        file.write_text(re.sub(r"^  # (?=alerts:|  )", "  ", text, flags=re.MULTILINE))
        with sandbox.load_component_and_build_defs(defs_path=path) as (component, _):
            assert isinstance(component, PaimonTables)
            project = component.project(path)
            assert [pattern.tag and pattern.tag.cron for pattern in project.patterns] == [None, "0 0 * * *"]
            assert len(project.alerts.targets) == 1
