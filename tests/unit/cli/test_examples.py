"""The examples for schedulers run as they stand."""

import os
import re
import subprocess
from pathlib import Path

import pytest

from maintenance.fs.file_io import FileIO
from maintenance.operations.plan_store import stored_ids
from maintenance.sql import Session
from tests.unit.cli.schedulers import four_small_files, paimonctl

pytestmark = pytest.mark.slow

PROJECT = Path(__file__).parents[3]


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    """With `paimonctl` on the path, and a profile of a warehouse that has a table with four small files."""
    four_small_files(tmp_path / "lake")
    command = paimonctl(tmp_path / "bin")
    config = tmp_path / "config.toml"
    config.write_text(f'[profiles.lake]\nwarehouse = "{tmp_path / "lake"}"\n')
    return {
        **os.environ,
        "PATH": f"{command.parent}:{os.environ['PATH']}",
        "PAIMON_PROFILE": "lake",
        "PAIMONCTL_CONFIG": str(config),
        "TMPDIR": str(tmp_path),
        "PAUSE": "0",
    }


def maintained(environment: dict[str, str], table: str) -> subprocess.CompletedProcess[str]:
    command = [str(PROJECT / "examples/cron/maintain-table"), table]
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=False)


def test_cron_compacts_once_and_refuses_a_missing_table(environment: dict[str, str], tmp_path: Path) -> None:
    """The files are compacted once, by a plan whose id is printed.

    A table that is not there is refused without another attempt.
    """
    done = maintained(environment, "default.t")
    assert done.returncode == 0, done.stderr
    (plan,) = re.findall(r"^compact: plan (\S+)$", done.stdout, re.MULTILINE)
    assert stored_ids(FileIO(), str(tmp_path / "lake")).count(plan) == 1
    session = Session({"warehouse": str(tmp_path / "lake")})
    files = session.sql("SELECT COUNT(*) AS n FROM `t$files`").to_arrow().to_pylist()
    assert files == [{"n": 1}]
    again = maintained(environment, "default.t")
    assert again.returncode == 0, again.stderr
    missing = maintained(environment, "default.none")
    assert missing.returncode == 2
    assert missing.stderr.count("does not exist") == 1
