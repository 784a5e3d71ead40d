"""Operators run in a real Airflow, each in its task process; the scheduler is that of `airflow dags test`."""

import json
from pathlib import Path

import pytest

from tests.airflow.conftest import PROJECT, airflow_of
from tests.unit.cli.schedulers import four_small_files

pytestmark = pytest.mark.slow
SECRET = "a-secret-of-the-store"


@pytest.mark.usefixtures("environment")
def test_operations_are_planned_applied_skipped_and_refused(tmp_path: Path) -> None:
    lake = tmp_path / "lake"
    session = four_small_files(lake)
    connection = {"conn_type": "generic", "password": SECRET, "extra": {"warehouse": str(lake)}}
    run = airflow_of(
        tmp_path / "airflow",
        PROJECT / "tests/airflow/dags",
        PAIMON_WAREHOUSE=str(lake),
        PAIMON_CONSOLE_URL="http://console.test",
        AIRFLOW_CONN_LAKE=json.dumps(connection),
    )
    run("dags", "reserialize")
    said = run("dags", "test", "operators", succeeds=False)
    assert run.states("operators") == {
        "plan": "success",
        "apply": "success",
        "compact": "skipped",
        "expire": "success",
        "healthy": "success",
        "refused": "failed",
        "stale": "failed",
    }
    plan = run.xcom("operators", "plan")
    assert session.sql("SELECT COUNT(*) AS n FROM `t$files`").to_arrow().to_pylist() == [{"n": 1}]
    assert "4 files" in run.xcom("operators", "plan", "groups")
    assert run.xcom("operators", "apply", "_link_PlanLink") == f"http://console.test/plans/{plan}"
    assert run.xcom("operators", "compact", "_link_TableLink") == "http://console.test/tables/default.t"
    applied = run.xcom("operators", "apply")
    assert (applied["operation"], applied["table"], applied["nothing_to_do"]) == ("compact", "default.t", False)
    assert run.xcom("operators", "expire")["rows"] == [{"deleted_snapshots_count": 4}]
    # What is refused is not tried again, though the task may be.
    assert run.ask("SELECT try_number FROM task_instance WHERE task_id = 'refused'") == [(1,)]
    assert "default.missing" in said
    assert run.xcom("operators", "healthy")["rows"][0] == {
        "check": "readable", "healthy": "yes", "found": "metadata and data files are there", "fix": "",
    }  # fmt: skip
    assert "default.t: freshness: the newest rows are" in said
    assert SECRET not in said
    (newest,) = session.sql("SELECT * FROM `t$snapshots`").to_arrow().to_pylist()
    assert (
        "airflow:operators/" in str(newest)
        or "airflow:operators/" in (lake / "default.db/t/snapshot/snapshot-5").read_text()
    )
