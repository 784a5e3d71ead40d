"""What waits in Airflow's triggerer finds, without a scheduler, and each time it looks."""

import json
import os
import subprocess
from pathlib import Path

import pytest

from tests.airflow.conftest import ENVIRONMENT, PROJECT
from tests.unit.cli.schedulers import four_small_files

pytestmark = pytest.mark.slow
LOOKS = """
import json, sys
from maintenance.errors import OptionError
from maintenance.sql import Session
from paimon_maintenance.operators import NewSnapshotSensor
from paimon_maintenance.operators.triggers import CompactionDueTrigger, NewSnapshotTrigger

lake, eager, lazy = ({"warehouse": sys.argv[1]}, {"tables": sys.argv[2]}, {"tables": sys.argv[3]})
found = {
    "missing": CompactionDueTrigger("default.missing", lake, 1).look(),
    "own": CompactionDueTrigger("default.t", lake, 1).look(),
    "eager": CompactionDueTrigger("default.t", eager, 1).look(),
    "lazy": CompactionDueTrigger("default.t", lazy, 1).look(),
    "new": NewSnapshotTrigger("default.t", lake, 1, 3).look(),
    "old": NewSnapshotTrigger("default.t", lake, 1, 4).look(),
}

class Task:
    def xcom_push(self, key, value):
        found["pushed"] = value

sensor = NewSnapshotSensor(task_id="waits", table="default.t", warehouse=sys.argv[1], deferrable=False)
found["before"] = sensor.poke({"ti": Task()})
Session(lake).sql("INSERT INTO t VALUES (9)")
found["after"] = sensor.poke({"ti": Task()})
try:
    NewSnapshotSensor(task_id="forgets", table="default.t", deferrable=False, mode="reschedule")
except OptionError as error:
    found["refused"] = str(error)
print(json.dumps(found))
"""
TABLES = "warehouse: {lake}\ntables: [{{identifier: default.t, compaction: {{trigger: {trigger}}}}}]\n"


@pytest.mark.usefixtures("environment")
def test_a_compaction_is_due_by_the_tables_options_or_by_tables_yaml(tmp_path: Path) -> None:
    four_small_files(tmp_path / "lake")
    for name, trigger in (("eager", 2), ("lazy", 9)):
        (tmp_path / f"{name}.yaml").write_text(TABLES.format(lake=tmp_path / "lake", trigger=trigger))
    inherited = {key: value for key, value in os.environ.items() if not key.startswith(("PYTHON", "PAIMON"))}
    done = subprocess.run(
        [
            str(ENVIRONMENT / "bin/python"),
            "-c",
            LOOKS,
            *(str(tmp_path / n) for n in ("lake", "eager.yaml", "lazy.yaml")),
        ],
        env={**inherited, "PYTHONPATH": str(PROJECT), "AIRFLOW_HOME": str(tmp_path / "home")},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout.splitlines()[-1])
    assert (found["missing"], found["lazy"], found["old"]) == (None, None, None)
    assert (found["own"]["snapshot_id"], found["eager"]["snapshot_id"]) == (4, 4)
    # A worker that waits knows what the newest was when it began.
    assert (found["before"], found["after"], found["pushed"]["since"]) == (False, True, 4)
    assert "Give 'since'" in found["refused"]
    assert found["new"] == {"table": "default.t", "snapshot_id": 4, "since": 3}
