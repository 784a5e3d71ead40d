"""The DAGs that Airflow makes of a tables.yaml, without running them."""

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

from maintenance.sql import Session
from tests.airflow.conftest import ENVIRONMENT, PROJECT

pytestmark = pytest.mark.slow
TABLES = """
warehouse: {lake}
tables:
  - identifier: shop.orders
    description: Orders of the shop
patterns:
  - pattern: "shop.*"
  - pattern: "logs.*"
"""
SHOWN = """
import json, sys
from paimon_maintenance.operators import dags_of

def shown(**more):
    made = dags_of(sys.argv[1], **more)
    return {name: {task.task_id: [sorted(task.upstream_task_ids), task.pool] for task in dag.tasks}
            for name, dag in made.items()}

refused = []
for more in ({"per": "database"}, {"per": "pattern", "wait_for": "compaction_due"},
             {"per": "pattern", "schedule": lambda table: None}):
    try:
        dags_of(sys.argv[1], **more)
    except ValueError as error:
        refused.append(str(error))
print(json.dumps([shown(), shown(per="pattern"), refused]))
"""


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory, environment: Path) -> list[Any]:
    """The DAGs for each table, those for each pattern, and what is refused."""
    folder = tmp_path_factory.mktemp("dags")
    session = Session({"warehouse": str(folder / "lake")})
    for name in ("shop.orders", "shop.items", "shop.users", "logs.clicks"):
        session.sql(f"CREATE DATABASE IF NOT EXISTS {name.partition('.')[0]}")
        session.sql(f"CREATE TABLE {name} (a INT)")
    (folder / "tables.yaml").write_text(TABLES.format(lake=folder / "lake"))
    inherited = {key: value for key, value in os.environ.items() if not key.startswith(("PYTHON", "PAIMON"))}
    done = subprocess.run(
        [str(ENVIRONMENT / "bin" / "python"), "-c", SHOWN, str(folder / "tables.yaml")],
        env={**inherited, "PYTHONPATH": str(PROJECT), "AIRFLOW_HOME": str(folder / "airflow")},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    found: list[Any] = json.loads(done.stdout.splitlines()[-1])
    return found


def test_each_table_has_a_dag(made: list[Any]) -> None:
    dags = made[0]
    assert set(dags) == {"paimon_shop.orders", "paimon_shop.items", "paimon_shop.users", "paimon_logs.clicks"}
    for name, tasks in dags.items():
        assert next(iter(tasks)) == "compact"
        assert {pool for _, pool in tasks.values()} == {name}


def test_tables_of_a_pattern_share_a_dag_with_a_group_for_each(made: list[Any]) -> None:
    alone, dags = made[0], made[1]
    assert set(dags) == {"paimon_shop.orders", "paimon_shop.all", "paimon_logs.all"}
    assert dags["paimon_shop.orders"] == alone["paimon_shop.orders"]
    chain = alone["paimon_shop.items"]
    groups = {
        f"shop_{table}.{task}": [[f"shop_{table}.{before}" for before in upstream], f"paimon_shop.{table}"]
        for table in ("items", "users")
        for task, (upstream, _) in chain.items()
    }
    assert dags["paimon_shop.all"] == groups


def test_what_cannot_be_shared_is_refused(made: list[Any]) -> None:
    assert made[2][0] == "per 'database' is not known. Use table or pattern."
    assert made[2][1] == made[2][2]
    assert "many tables share a run" in made[2][1]
