"""Alert targets in tables.yaml: every process that reads the file knows them, and mistakes name what was meant."""

import pkgutil
import subprocess
import sys
from pathlib import Path

import pytest

from maintenance.errors import OptionError
from maintenance.project import targets
from maintenance.project.config import load_project
from maintenance.project.targets.registry import KINDS
from paimon_maintenance.assets.project.environment import FOLDER

TEXT = """\
warehouse: lake
alerts:
  targets:
    - {kind: webhook, url: "https://example.com"}
tables:
  - identifier: db.t
"""
_NO_MODULES_OF_KINDS = ("alert", "registry", "target")


@pytest.mark.slow
def test_a_process_that_loads_only_the_configuration_knows_every_kind(tmp_path: Path) -> None:
    (tmp_path / "tables.yaml").write_text(TEXT)
    module = "paimon_maintenance.assets.project.environment"
    code = f"from {module} import project_of_environment as p; print(p().alerts.targets[0].kind)"
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=FOLDER,
        env={"PAIMON_TABLES": str(tmp_path / "tables.yaml")},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stdout.strip() == "webhook", done.stderr


def test_every_module_of_a_kind_is_registered() -> None:
    modules = {actual.name for actual in pkgutil.iter_modules(targets.__path__)} - set(_NO_MODULES_OF_KINDS)
    assert {kind.__module__.rpartition(".")[2] for kind in KINDS} == modules


@pytest.mark.parametrize(
    ("target", "said"),
    [
        ("{kind: webhok, url: x}", "unknown kind 'webhok'. Did you mean 'webhook'? Known: email, pagerduty, webhook"),
        ("{url: x}", "'kind' is missing: it says what this is"),
        ("{kind: webhook}", "url: Field required"),
        ("{kind: webhook, urls: x}", "unknown key 'urls'. Did you mean 'url'? Known keys: format, kind, only, url"),
        ("webhook", "expected a mapping of settings"),
    ],
)
def test_a_mistake_in_a_target_names_its_line_and_what_was_meant(target: str, said: str, tmp_path: Path) -> None:
    path = tmp_path / "tables.yaml"
    path.write_text(TEXT.replace('{kind: webhook, url: "https://example.com"}', target))
    with pytest.raises(OptionError) as caught:
        load_project(path, tmp_path)
    assert said in caught.value.found
    assert caught.value.where == f"{path}, line 4"
