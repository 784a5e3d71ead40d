"""The example for Airflow that calls `paimonctl` runs in a real one."""

from pathlib import Path

import pytest

from tests.airflow.conftest import PROJECT, airflow_of
from tests.unit.cli.schedulers import four_small_files, paimonctl

pytestmark = pytest.mark.slow


@pytest.mark.usefixtures("environment")
def test_the_chain_of_a_table(tmp_path: Path) -> None:
    """Four small files become one; a second run has nothing to do and skips what it would repeat."""
    lake = tmp_path / "lake"
    session = four_small_files(lake)
    command = paimonctl(tmp_path / "bin")
    run = airflow_of(
        tmp_path / "airflow",
        PROJECT / "examples/airflow",
        PAIMON_WAREHOUSE=str(lake),
        PAIMON_TABLE="default.t",
    )
    run.variables["PATH"] = f"{command.parent}:{run.variables['PATH']}"
    run("pools", "set", "paimon", "2", "Maintenance of Paimon tables")
    run("dags", "reserialize")
    run("dags", "test", "paimon_maintenance")
    assert session.sql("SELECT COUNT(*) AS n FROM `t$files`").to_arrow().to_pylist() == [{"n": 1}]
    snapshots = session.sql("SELECT COUNT(*) AS n FROM `t$snapshots`").to_arrow().to_pylist()
    assert "skipped" in run("dags", "test", "paimon_maintenance").lower()
    assert session.sql("SELECT COUNT(*) AS n FROM `t$snapshots`").to_arrow().to_pylist() == snapshots
