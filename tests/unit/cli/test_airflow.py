"""The example for Airflow runs in a real one, standalone with SQLite: scripts/install airflow."""

import os
import subprocess
from pathlib import Path

import pytest

from tests.unit.cli.schedulers import four_small_files, paimonctl

pytestmark = pytest.mark.slow

PROJECT = Path(__file__).parents[3]
ENVIRONMENT = PROJECT / ".venv-airflow"


@pytest.fixture(scope="module")
def airflow() -> Path:
    done = subprocess.run(
        ["scripts/install", "airflow"], cwd=PROJECT, capture_output=True, text=True, check=False
    )  # fmt: skip
    if done.returncode:
        assert os.environ.get("CI") != "true", done.stderr
        pytest.skip(f"no Airflow: {done.stderr.strip().splitlines()[-1]}")
    return ENVIRONMENT / "bin" / "airflow"


def test_the_chain_of_a_table(airflow: Path, tmp_path: Path) -> None:
    """Four small files become one; a second run has nothing to do and skips what it would repeat."""
    lake = tmp_path / "lake"
    session = four_small_files(lake)
    command = paimonctl(tmp_path / "bin")
    environment = {
        **{key: value for key, value in os.environ.items() if not key.startswith("PYTHON")},
        "PATH": f"{command.parent}:{airflow.parent}:{os.environ['PATH']}",
        "AIRFLOW_HOME": str(tmp_path / "airflow"),
        "AIRFLOW__CORE__DAGS_FOLDER": str(PROJECT / "examples/airflow"),
        "AIRFLOW__CORE__LOAD_EXAMPLES": "false",
        "PAIMON_WAREHOUSE": str(lake),
        "PAIMON_TABLE": "default.t",
    }

    def run(*arguments: str) -> str:
        done = subprocess.run(
            [str(airflow), *arguments], env=environment, capture_output=True, text=True, check=False, cwd=tmp_path
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout + done.stderr

    run("db", "migrate")
    run("pools", "set", "paimon", "2", "Maintenance of Paimon tables")
    run("dags", "reserialize")
    run("dags", "test", "paimon_maintenance")
    assert session.sql("SELECT COUNT(*) AS n FROM `t$files`").to_arrow().to_pylist() == [{"n": 1}]
    snapshots = session.sql("SELECT COUNT(*) AS n FROM `t$snapshots`").to_arrow().to_pylist()
    assert "skipped" in run("dags", "test", "paimon_maintenance").lower()
    assert session.sql("SELECT COUNT(*) AS n FROM `t$snapshots`").to_arrow().to_pylist() == snapshots
