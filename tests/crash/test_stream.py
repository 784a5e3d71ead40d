"""SIGKILL of a streaming pipeline around its commit: started again, each batch is in the table exactly once."""

import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.crash.stream import copy_of, prepare, source_of
from tests.examples import some
from tests.small_tables import rows, table_in

ROOT = Path(__file__).parents[2]


# Where a run is killed, and up to which snapshot it has come.
PLACES = dict(some([("files", 1), ("commit", 1), ("hint", 2), ("checkpoint", 2)], 2))


def run(where: str, *folders: Path) -> int:
    command = [sys.executable, "-m", "tests.crash.stream", where, *map(str, folders)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=900, check=False)
    assert done.returncode in (0, -signal.SIGKILL), done.stderr[-4000:]
    return done.returncode


@pytest.mark.slow
def test_each_batch_is_in_the_table_once(tmp_path: Path) -> None:
    """Each pipeline is killed in a process of its own; one process then ends them all."""
    for where, committed in PLACES.items():
        folder = tmp_path / where
        prepare(folder)
        assert run(where, folder) == -signal.SIGKILL
        assert table_in(copy_of(folder)).snapshots.latest_id() == committed, where
    assert run("never", *(tmp_path / where for where in PLACES)) == 0
    for where in PLACES:
        copy = table_in(copy_of(tmp_path / where))
        assert [copy.snapshots.get(i).commit_identifier for i in copy.snapshots.list_ids()] == [0, 1, 2], where
        # Values are listed as often as they were written.
        assert rows(copy) == [(1, "y,x,x"), (2, "y"), (3, "y")], where
        assert [key for key, _ in rows(table_in(source_of(tmp_path / where)))] == [1, 2, 3]
