"""Which launcher a Dagster gets: the forking one where it was tested, Dagster's own for any other."""

import os
import subprocess
import sys
from pathlib import Path

import dagster as dg
import pytest
import yaml

from paimon_maintenance.assets import ui
from paimon_maintenance.assets.project.environment import FOLDER
from paimon_maintenance.run_launcher import internals, workers
from paimon_maintenance.run_launcher.forking import ForkingRunLauncher
from paimon_maintenance.run_launcher.launcher import run_launcher, unavailable

# A Python in which Dagster is another one, then what `make ui` and Dagster itself make of that.
OTHER_DAGSTER = """
import sys
import dagster as dg
{change}
from paimon_maintenance.run_launcher.launcher import RunLauncher
from paimon_maintenance.assets.ui import run_workers
with run_workers({{}}) as found:
    print(found, RunLauncher.__name__)
with dg.DagsterInstance.from_config(sys.argv[1]) as instance:
    print(type(instance.run_launcher).__name__)
"""

# A Python without the package.
LEFT_OUT = """
import sys
sys.modules["paimon_maintenance.run_launcher"] = None
from maintenance.project.config import Project
from paimon_maintenance.assets.ui import run_workers
from paimon_maintenance.definitions import build_definitions
with run_workers({}) as found:
    print(found)
project = Project.model_validate({"warehouse": "/nowhere", "patterns": [{"pattern": "*.*"}]})
print(type(build_definitions(project)).__name__)
"""


def test_the_dagster_that_is_locked_is_one_that_was_tested() -> None:
    assert unavailable() is None
    assert run_launcher() is ForkingRunLauncher
    locked = (FOLDER / "requirements.txt").read_text()
    assert any(f"\ndagster=={minor}." in locked for minor in internals.TESTED_MINORS)


@pytest.mark.slow
def test_the_package_can_be_left_out() -> None:
    variables = {**os.environ, "PYTHONPATH": str(FOLDER)}
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", LEFT_OUT], cwd=FOLDER, env=variables, text=True, capture_output=True,
        timeout=300, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-3000:]
    line, found, loaded = done.stdout.splitlines()
    assert line.endswith("the package run_launcher is left out.")
    assert (found, loaded) == ("{}", "Definitions")


def test_its_grace_comes_before_that_of_the_parent() -> None:
    assert workers.GRACE_SECONDS < ui._STOP_SECONDS


@pytest.mark.slow
@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ("dg.__version__ = '2.7.0'", "forked runs work with Dagster 1.13, and this is 2.7.0"),
        ("import dagster._grpc.impl as impl; del impl.core_execute_run", "cannot import name 'core_execute_run'"),
    ],
    ids=["version", "name"],
)
def test_another_dagster_starts_runs_itself_and_one_line_says_so(change: str, reason: str, tmp_path: Path) -> None:
    shipped = yaml.safe_load((FOLDER / "dagster.yaml").read_text())
    settings = {"run_launcher": shipped["run_launcher"], "telemetry": {"enabled": False}}
    (tmp_path / "dagster.yaml").write_text(yaml.safe_dump(settings))
    variables = {**os.environ, "PYTHONPATH": str(FOLDER)}
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", OTHER_DAGSTER.format(change=change), str(tmp_path)],
        cwd=FOLDER, env=variables, text=True, capture_output=True, timeout=300, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-3000:]
    line, launchers, loaded = done.stdout.splitlines()
    assert line.startswith("Runs: each one starts a Python process of its own")
    assert reason in line
    assert launchers == f"{{}} {dg.DefaultRunLauncher.__name__}"
    assert loaded == dg.DefaultRunLauncher.__name__
