"""Some of each campaign: the same code as `make chaos`."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.chaos.scenarios import SCENARIOS

ROOT = Path(__file__).parents[2]


@pytest.mark.slow
@pytest.mark.parametrize("scenario", SCENARIOS)
def test_a_campaign_of_each_scenario_holds(scenario: str, tmp_path: Path) -> None:
    command = [
        sys.executable,
        "-m",
        "tests.chaos",
        "--scenario",
        scenario,
        "--minutes",
        "0.25",
        "--folder",
        str(tmp_path),
    ]
    run = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=900, check=False)
    assert run.returncode == 0, f"{run.stdout[-6000:]}\n{run.stderr[-3000:]}"
    assert "The campaign held." in run.stdout
