"""SIGKILL of a streaming pipeline around its commit: started again, each batch is in the table exactly once."""

import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.crash.stream import copy_of, prepare, source_of
from tests.small_tables import rows, table_in

ROOT = Path(__file__).parents[2]


def run(folder: Path, where: str) -> int:
    command = [sys.executable, "-m", "tests.crash.stream", str(folder), where]
    found = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=600, check=False)
    assert found.returncode in (0, -signal.SIGKILL), found.stderr[-4000:]
    return found.returncode


@pytest.mark.slow
@pytest.mark.parametrize(("where", "committed"), [("files", 1), ("commit", 1), ("hint", 2), ("checkpoint", 2)])
def test_each_batch_is_in_the_table_once(where: str, committed: int, tmp_path: Path) -> None:
    prepare(tmp_path)
    assert run(tmp_path, where) == -signal.SIGKILL
    copy = table_in(copy_of(tmp_path))
    assert copy.snapshots.latest_id() == committed
    assert run(tmp_path, "never") == 0
    assert [copy.snapshots.get(i).commit_identifier for i in copy.snapshots.list_ids()] == [0, 1, 2]
    # Values are listed as often as they were written.
    assert rows(copy) == [(1, "y,x,x"), (2, "y"), (3, "y")]
    assert [key for key, _ in rows(table_in(source_of(tmp_path)))] == [1, 2, 3]
