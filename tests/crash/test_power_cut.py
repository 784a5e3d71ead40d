"""A power cut at any step: the table reads as before or as after, and what was acknowledged is there."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
# Steps that were looked at, at the least: with fewer, the changes of the disk were not heard.
LEAST = {
    "write": 15,
    "update": 10,
    "compact": 15,
    "mark": 10,
    "lookup": 15,
    "expire_snapshots": 15,
    "expire_partitions": 20,
    "rollback": 5,
    "fast_forward": 8,
    "create_branch": 4,
    "replace_tag": 4,
}
FAST = ("write",)


@pytest.mark.skipif(sys.platform != "linux", reason="what is flushed is found under /proc")
@pytest.mark.parametrize("scenario", [pytest.param(n, marks=[] if n in FAST else [pytest.mark.slow]) for n in LEAST])
def test_power_cut_at_every_step(scenario: str, tmp_path: Path) -> None:
    command = [sys.executable, "-m", "tests.crash.power_cut", scenario, str(tmp_path)]
    run = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=600, check=False)
    assert run.returncode == 0, run.stderr[-4000:]
    assert int(run.stdout) >= LEAST[scenario]
