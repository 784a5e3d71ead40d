"""Spark outside the run's process: a standalone cluster of two workers and a Connect server, driven by Dagster's jobs.

Each run is a process of its own, as in production; what it shows in Dagster comes back as JSON.
"""

import json
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from maintenance.project.config import Project, load_project
from maintenance.spark.connect_server import connect_server
from paimon_maintenance.assets.resources.catalog import PaimonCatalog
from tests.servers.spark_cluster import FAST_JAVA, cluster_settings, environment, standalone_cluster
from tests.tables import data_files, files_on_disk

pytestmark = pytest.mark.slow
ROOT = Path(__file__).parents[2]
STEPS = ("ingest", "compact", "file_index")

TABLES = """
warehouse: warehouse
history: null
spark: %s
tables:
  - identifier: shop.orders
    columns: {id: INT NOT NULL, v: STRING}
    primary_keys: [id]
    options:
      bucket: 4
      write-only: true
      file-index.bloom-filter.columns: v
      snapshot.num-retained.min: 1
      snapshot.num-retained.max: 2
    landing: {path: landing, commit_user: shop}
"""

RUN = """
import json, sys
from pathlib import Path
import dagster as dg
from maintenance.project.config import load_project
from paimon_maintenance.definitions import build_definitions
from pyspark.sql import SparkSession

path = Path(sys.argv[1])
job = build_definitions(load_project(path, path.parent)).resolve_job_def("maintain_shop_orders")
with dg.instance_for_test() as instance:
    result = job.execute_in_process(instance=instance, raise_on_error=False, run_config=json.loads(sys.argv[2]))
told = {"success": result.success, "steps": {}}
for event in result.all_events:
    if event.event_type_value == "STEP_OUTPUT":
        shown = event.event_specific_data.metadata
        told["steps"][event.step_key.split(".")[1]] = {key: value.value for key, value in shown.items()
                                                      if key.startswith("spark ")}
    if event.event_type_value == "STEP_FAILURE":
        told["failure"] = event.event_specific_data.user_failure_data.description
if result.success:
    import urllib.request
    shown = told["steps"]["compact"]
    address = shown["spark ui"] + "/api/v1/applications/" + shown["spark application"] + "/executors"
    told["executors"] = json.load(urllib.request.urlopen(address, timeout=600))
    told["partitions"] = SparkSession.getActiveSession().conf.get("spark.sql.shuffle.partitions")
print("told:" + json.dumps(told))
"""


def described(folder: Path, spark: Mapping[str, Any]) -> Project:
    """A project with three landed batches, whose rows 0 to 99 have the texts 2, 2 and 3 at the end."""
    path = folder / "tables.yaml"
    path.write_text(TABLES % json.dumps(spark))
    landing = folder / "landing"
    if not landing.exists():
        landing.mkdir()
        for number, ids in enumerate((range(100), range(60), range(30, 100)), 1):
            rows = pa.table({"id": pa.array(ids, pa.int32()), "v": [str(number)] * len(ids)})
            pq.write_table(rows, landing / f"{number:05d}-batch-{number:05d}.parquet")
    return load_project(path, folder)


def run(folder: Path, spark: Mapping[str, Any], more: Mapping[str, str] | None = None, **config: Any) -> Any:
    """Maintain the table in a process of its own. `more`: variables; `config`: of the Spark resource, for this run."""
    described(folder, spark)
    launchpad = {"resources": {"spark": {"config": config}}} if config else {}
    done = subprocess.run(
        [sys.executable, "-c", RUN, str(folder / "tables.yaml"), json.dumps(launchpad)],
        cwd=ROOT, env=environment() | dict(more or {}), capture_output=True, text=True, timeout=1500, check=False,
    )  # fmt: skip
    lines = [line for line in done.stdout.splitlines() if line.startswith("told:")]
    assert lines, done.stdout[-2000:] + done.stderr[-4000:]
    return {**json.loads(lines[0].removeprefix("told:")), "log": done.stderr}


def check_table(folder: Path) -> None:
    table = PaimonCatalog(warehouse=str(folder / "warehouse")).get_table("shop.orders")
    rows = {row["id"]: row["v"] for row in table.to_arrow().to_pylist()}
    assert rows == {i: "2" if i < 30 else "3" for i in range(100)}
    assert len(table.snapshots.list_ids()) <= 2
    assert files_on_disk(table) == data_files(table)


def test_standalone_cluster_of_two_workers(tmp_path: Path) -> None:
    with standalone_cluster(tmp_path) as master:
        options = cluster_settings()
        jobs = {"maintain": {"spark.sql.shuffle.partitions": "4"}}
        done = run(tmp_path, {"master": master, "options": options, "jobs": jobs})
    assert done["success"], done
    check_table(tmp_path)
    application = done["steps"]["compact"]["spark application"]
    assert application.startswith("app-")
    for step in STEPS:
        assert done["steps"][step]["spark application"] == application
        assert done["steps"][step]["spark ui"].startswith("http://127.0.0.1:")
    assert "spark application" not in done["steps"]["expire_snapshots"], "that step needs no Spark"
    worked = {executor["id"]: executor["hostPort"] for executor in done["executors"] if executor["totalTasks"] > 0}
    assert len(worked) == 2, done["executors"]
    assert len(set(worked.values())) == 2
    assert {path.parent.parent.name for path in tmp_path.glob("worker-*/app-*/*")} == {"worker-0", "worker-1"}
    assert done["partitions"] == "4", "the setting of the job"


def test_runs_use_a_connect_server_and_say_why_they_cannot(tmp_path: Path) -> None:
    options = {"spark.driver.extraJavaOptions": FAST_JAVA, "spark.sql.codegen.wholeStage": "false"}
    with connect_server(options, log=tmp_path / "server.log", master="local[2]") as server:
        refused = run(tmp_path, {"remote": server.remote, "options": {"spark.executor.memory": "2g"}})
        assert not refused["success"]
        assert "cannot take 'spark.executor.memory' = '2g' (it has no value)" in refused["failure"]
        assert "Next step: Give the setting where Spark is started" in refused["failure"]

        # As under `make ui`: the runs find the server in their environment, and share a session.
        shared = run(tmp_path, {"options": options}, server.environment(),
                     run_options={"spark.sql.shuffle.partitions": "3"})  # fmt: skip
        assert shared["success"], shared
        assert shared["partitions"] == "3"
        check_table(tmp_path)
        application = shared["steps"]["compact"]["spark application"]
        for step in STEPS:
            assert shared["steps"][step] == {"spark application": application, "spark ui": server.ui}
        assert application.startswith("local-")

        # As in production: the server is named in tables.yaml.
        folder = tmp_path / "explicit"
        folder.mkdir()
        explicit = run(folder, {"remote": server.remote, "options": options})
        assert explicit["success"], explicit
        check_table(folder)
        assert explicit["steps"]["compact"] == {"spark application": application, "spark ui": server.ui}
        assert application in explicit["log"], "it stands in the log, too"
    unheard = run(tmp_path, {"remote": server.remote})
    assert "no Spark Connect server answers (sc://localhost:" in unheard["failure"]
    assert "token" not in unheard["failure"]
