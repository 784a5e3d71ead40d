"""A run that is cancelled in the middle of a compaction: the table is as before, nothing is left, the pool is free."""

import os
import signal
import subprocess
import sys
import time
import uuid
from collections.abc import Callable
from pathlib import Path

import dagster as dg
import pyarrow as pa
import pytest
import yaml

from maintenance.catalog import CatalogTable
from maintenance.operations.compaction.compact import compact
from paimon_maintenance.assets import keys
from paimon_maintenance.assets.project.environment import FOLDER
from tests.tables import create_table, files_on_disk

TABLE = "db.t"
BUCKETS = 6
ROWS = 60_000
TABLES = """
warehouse: %s
history: null
spark:
  master: local[1]
  options: {spark.driver.extraJavaOptions: -XX:TieredStopAtLevel=1 -XX:+UseSerialGC}
tables: [{identifier: db.t}]
"""
# As Dagster's launcher does it: the job in a process of its own, known to the instance.
RUN = """
import sys
from pathlib import Path
import dagster as dg
from maintenance.project.config import load_project
from paimon_maintenance.definitions import build_definitions

folder = Path(sys.argv[1])
job = build_definitions(load_project(folder / "tables.yaml", folder)).resolve_job_def("compact_db_t")
with dg.DagsterInstance.get() as instance:
    job.execute_in_process(
        instance=instance, run_id=sys.argv[2], raise_on_error=False,
        run_config={"ops": {"compact": {"config": {"full": True}}}},
    )
"""


def large_table(folder: Path) -> CatalogTable:
    """A table whose compaction takes a while: two sorted runs in each bucket."""
    table = create_table(folder / "warehouse", options={"bucket": str(BUCKETS), "write-only": "true"})
    for start in (0, ROWS // 2):
        ids = pa.array(range(start, start + ROWS), pa.int32())
        table.write_arrow(pa.table({"id": ids, "v": [f"{uuid.uuid4()}-{start}" for _ in range(ROWS)]}))
    return table


def eventually(test: Callable[[], bool], process: "subprocess.Popen[str]") -> None:
    deadline = time.monotonic() + 900
    while not test():
        assert process.poll() is None, process.communicate()[1][-3000:]
        assert time.monotonic() < deadline
        time.sleep(0.01)


@pytest.mark.slow
def test_a_cancelled_compaction_leaves_the_table_clean_and_the_pool_free(tmp_path: Path) -> None:
    table = large_table(tmp_path)
    rows = table.to_arrow().sort_by("id")
    files, snapshots = files_on_disk(table), table.snapshots.list_ids()
    (tmp_path / "tables.yaml").write_text(TABLES % (tmp_path / "warehouse"))
    shipped = yaml.safe_load((FOLDER / "dagster.yaml").read_text())
    (tmp_path / "dagster.yaml").write_text(yaml.safe_dump({"concurrency": shipped["concurrency"]}))
    run_id = str(uuid.uuid4())
    run = subprocess.Popen(
        [sys.executable, "-c", RUN, str(tmp_path), run_id],
        cwd=FOLDER, env={**os.environ, "DAGSTER_HOME": str(tmp_path)}, text=True,
        stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
    )  # fmt: skip
    try:
        with dg.DagsterInstance.from_config(str(tmp_path)) as instance:
            eventually(lambda: bool(files_on_disk(table) - files), run)
            pool = keys.pool(TABLE)
            held = instance.event_log_storage.get_concurrency_info(pool)
            assert held.active_run_ids == {run_id}
            started = instance.get_run_by_id(run_id)
            assert started is not None
            instance.report_run_canceling(started)
            run.send_signal(signal.SIGINT)
            run.communicate(timeout=900)
            ended = instance.get_run_by_id(run_id)
            assert ended is not None
            assert ended.status == dg.DagsterRunStatus.CANCELED
            retries = instance.all_logs(run_id, of_type=dg.DagsterEventType.STEP_UP_FOR_RETRY)
            assert not retries, "a cancelled step is not tried again"
            info = instance.event_log_storage.get_concurrency_info(pool)
            assert (info.active_slot_count, info.pending_step_count) == (0, 0)
    finally:
        if run.poll() is None:
            run.kill()
            run.communicate()
    assert table.snapshots.list_ids() == snapshots
    assert files_on_disk(table) == files, "nothing is left of what was being written"
    assert compact(None, table, full=True).count("committed") == BUCKETS
    assert table.to_arrow().sort_by("id").equals(rows)
