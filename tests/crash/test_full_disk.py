"""A disk that is full from any step on: nothing is told wrong, nothing half-written stays, running again finishes."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
# Attempts that end with an error, and those that do their work in spite of the disk, at the least. Whoever commits does
# the latter when only its hint fails; expiry always does, since what it deletes makes room.
LEAST = {
    "write": (5, 1),
    "expire_snapshots": (0, 2),
    "rollback": (1, 1),
    "update": (5, 1),
    "create_branch": (2, 0),
    "replace_tag": (1, 0),
    "compact": (8, 1),
    "mark": (8, 1),
    "inline": (5, 5),
    "lookup": (8, 1),
    "expire_partitions": (10, 1),
    "expire_both": (0, 2),
    "expire_changelogs": (5, 2),
    "fast_forward": (3, 0),
}
FAST = ("write", "expire_snapshots", "rollback")


def counts_of(scenario: str, folder: Path) -> list[int]:
    command = [sys.executable, "-m", "tests.crash.full_disk", scenario, str(folder)]
    run = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=600, check=False)
    assert run.returncode == 0, run.stderr[-4000:]
    return [int(number) for number in run.stdout.split()]


@pytest.mark.parametrize("scenario", [pytest.param(n, marks=[] if n in FAST else [pytest.mark.slow]) for n in LEAST])
def test_full_from_every_step_on(scenario: str, tmp_path: Path) -> None:
    refused, done, *_ = counts_of(scenario, tmp_path)
    assert (refused >= LEAST[scenario][0], done >= LEAST[scenario][1]) == (True, True), (refused, done)


def test_tags_expire_without_any_room(tmp_path: Path) -> None:
    assert counts_of("expire_tags", tmp_path) == [0, 0, 0, 0], "nothing has to be written"
