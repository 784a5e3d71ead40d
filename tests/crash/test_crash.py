"""SIGKILL at every step: the table reads as before or as after, and running again finishes the work."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
# Files that are changed, and of those the ones that are written, at the least: with fewer, the faults were not heard.
LEAST = {
    "write": (15, 8),
    "inline": (30, 15),
    "compact": (20, 10),
    "update": (8, 6),
    "mark": (15, 10),
    "expire_snapshots": (20, 2),
    "expire_tags": (10, 0),  # retired tags are moved, not written
    "expire_both": (35, 2),
    "expire_partitions": (15, 12),
    "rollback": (7, 2),
    "rollback_to_as_latest": (6, 4),
    "clone": (20, 9),
    "clone_again": (8, 6),
    "fast_forward": (8, 3),
    "create_branch": (4, 3),
    "replace_tag": (5, 2),
    "lookup": (20, 10),
    "expire_changelogs": (25, 8),
    "remove_orphan_files": (4, 0),
    "orphans_into_bin": (8, 1),
    "expire_into_bin": (40, 8),
    "restore": (20, 1),
    "empty_bin": (30, 1),
    "automatic_tags": (12, 4),
    "compact_manifest": (4, 3),
    "merge_branch": (4, 3),
    "delete_branch": (1, 0),  # the renaming: what follows is hidden
    "rename_branch": (1, 0),  # one step
    "rename_table": (1, 0),  # one step
    "purge_files": (25, 4),
    "migrate": (30, 9),
    "migrate_into_bin": (40, 11),
}


SLOW = {
    "compact",
    "expire_partitions",
    "inline",
    "mark",
    "expire_both",
    "fast_forward",
    "replace_tag",
    "lookup",
    "expire_changelogs",
    "expire_into_bin",
    "restore",
    "empty_bin",
    "clone_again",
    "migrate",
}


@pytest.mark.parametrize("scenario", [pytest.param(n, marks=[pytest.mark.slow] if n in SLOW else []) for n in LEAST])
def test_killed_at_every_step(scenario: str, tmp_path: Path) -> None:
    command = [sys.executable, "-m", "tests.crash", scenario, str(tmp_path)]
    run = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=600, check=False)
    assert run.returncode == 0, run.stderr[-4000:]
    killed, torn = map(int, run.stdout.split())
    assert (killed >= LEAST[scenario][0], torn >= LEAST[scenario][1]) == (True, True), (killed, torn)
