"""SIGKILL at a sample of the changes on an S3 server. `python -m tests.crash.on_store` tries all, elsewhere too."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
# How many changes lie between those that are tried, and how many are tried at the least.
SAMPLES = {
    "write": (7, 2),
    "compact": (10, 2),
    "expire_snapshots": (6, 2),
    "rollback": (3, 2),
    "replace_tag": (4, 1),
    "create_branch": (2, 2),
    "delete_branch": (2, 2),
    "rename_branch": (4, 3),
    "rename_table": (8, 3),
    "orphans_into_bin": (3, 3),
    "remove_orphan_files": (1, 1),
}


@pytest.mark.slow
@pytest.mark.parametrize("scenario", SAMPLES)
def test_killed_on_a_store(scenario: str) -> None:
    every, least = SAMPLES[scenario]
    command = [sys.executable, "-m", "tests.crash.on_store", scenario, "--every", str(every)]
    run = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=600, check=False)
    assert run.returncode == 0, run.stderr[-4000:]
    assert int(run.stdout.split()[1]) >= least
