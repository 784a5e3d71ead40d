"""How steps fail, by the class of the error: each class with a real fault.

A user's mistake and damage fail at once; a lost conflict and a storage that fails are tried again. Whatever happens,
the cause is the headline.
"""

import errno
import logging
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar

import dagster as dg
import pyarrow as pa
import pytest

from maintenance.catalog import CatalogTable
from maintenance.errors import ConflictError, CorruptFileError, ErrorClass, InfrastructureError
from maintenance.operations.compaction.compact import compact
from maintenance.operations.expiry.expire_snapshots import expire_snapshots
from maintenance.operations.refs.rollback_to import rollback_to
from maintenance.project.config import Project
from paimon_maintenance.assets.resources.catalog import PaimonCatalog
from paimon_maintenance.assets.runs import failures
from paimon_maintenance.assets.runs.failures import AGAIN, Again, parts_failed
from tests.dagster.conftest import definitions_of
from tests.failing_storage import SCHEME, failing

ROOT = Path(__file__).parent.parent.parent
# In a process of its own: its Spark is killed in the middle of a compaction.
LOST = """
import os, signal, sys
from dataclasses import replace
from pathlib import Path

import dagster as dg
import pyarrow as pa
from pyspark import SparkContext

from paimon_maintenance.assets.runs import failures
from maintenance.project.config import load_project
from tests.dagster.test_failures import Meddler, instance_with_meddler, launch, written

def kill():
    print("killed", SparkContext._gateway.proc.pid)
    SparkContext._gateway.proc.kill()

project = load_project(Path(sys.argv[1]), Path(sys.argv[1]).parent)
table = written(project)
failures.AGAIN = {kind: replace(how, seconds=0.05) for kind, how in failures.AGAIN.items()}
Meddler.says, Meddler.then = " to compact: ", kill
with instance_with_meddler() as instance:
    result = launch(project, instance, "compact_shop_orders", {"ops": {"compact": {"config": {"full": True}}}})
    reasons = [
        event.step_retry_data.error.cause.message.splitlines()[0]
        for event in result.all_events if event.event_type_value == "STEP_UP_FOR_RETRY"
    ]
print("told", result.success, result.retry_attempts_for_node("compact"), table.snapshots.list_ids(), reasons)
os._exit(0)
"""


class Meddler(logging.Handler):
    """Does something once, in the middle of a step: when the step says a certain thing."""

    says: ClassVar[str] = ""
    then: ClassVar[Callable[[], None] | None] = None

    def emit(self, record: logging.LogRecord) -> None:
        action = type(self).then
        if action is not None and self.says in record.getMessage():
            type(self).then = None
            action()


@contextmanager
def instance_with_meddler() -> Iterator[dg.DagsterInstance]:
    handler = {"class": f"{Meddler.__module__}.{Meddler.__name__}", "level": "INFO"}
    logs = {"dagster_handler_config": {"handlers": {"meddler": handler}}}
    with dg.instance_for_test(overrides={"python_logs": logs}) as instance:
        yield instance


@pytest.fixture
def instance() -> Iterator[dg.DagsterInstance]:
    with instance_with_meddler() as instance:
        yield instance


@pytest.fixture
def hurried(monkeypatch: pytest.MonkeyPatch) -> None:
    """As often as ever, after shorter pauses."""
    again: dict[ErrorClass, Again] = {kind: replace(how, seconds=0.05) for kind, how in AGAIN.items()}
    monkeypatch.setattr(failures, "AGAIN", again)


def written(project: Project) -> CatalogTable:
    """Orders in four snapshots."""
    table = PaimonCatalog(warehouse=project.warehouse).get_or_create(project.tables[0])
    for number in range(4):
        table.write_arrow(pa.table({"id": pa.array([number], pa.int64()), "status": ["new"]}))
    return table


def launch(project: Project, instance: dg.DagsterInstance, job: str, config: dict[str, Any] | None = None) -> Any:
    definition = definitions_of(project).resolve_job_def(job)
    return definition.execute_in_process(run_config=config or {}, instance=instance, raise_on_error=False)


def reported(result: Any, step: str) -> tuple[str, dict[str, Any]]:
    """The headline of a step that failed, which is its first line in Dagster's UI, and its metadata."""
    failure = result.failure_data_for_node(step)
    assert failure.error is not None
    assert failure.user_failure_data is not None
    headline = failure.user_failure_data.description
    assert failure.error.message.strip().endswith(headline)
    assert "max_retries" not in failure.error.message
    assert headline.count("Next step: ") == 1
    return headline, {name: value.value for name, value in failure.user_failure_data.metadata.items()}


def retries(result: Any, step: str) -> int:
    actual: int = result.retry_attempts_for_node(step)
    return actual


def test_a_mistake_of_the_user_fails_at_once(project: Project, instance: dg.DagsterInstance) -> None:
    table = written(project)
    config = {"ops": {"compact": {"config": {"where": "statuss = 'new'"}}}}
    result = launch(project, instance, "compact_shop_orders", config)
    headline, metadata = reported(result, "compact")
    assert retries(result, "compact") == 0
    assert "'statuss'" in headline
    assert metadata["class of error"] == "user"
    assert table.snapshots.latest_id() == 4


def test_a_plan_that_is_out_of_date_fails_at_once(project: Project, instance: dg.DagsterInstance) -> None:
    table = written(project)
    dry = {"ops": {"compact": {"config": {"full": True, "dry_run": True}}}}
    planned = launch(project, instance, "compact_shop_orders", dry)
    (event,) = (e for e in planned.all_events if e.event_type_value == "STEP_OUTPUT" and e.step_key == "compact")
    plan_id = event.event_specific_data.metadata["plan id"].value
    compact(None, table, full=True)
    result = launch(project, instance, "compact_shop_orders", {"ops": {"compact": {"config": {"plan_id": plan_id}}}})
    headline, metadata = reported(result, "compact")
    assert retries(result, "compact") == 0
    assert "Launch a dry run for a new plan" in headline
    assert metadata["class of error"] == "user"


def test_damage_fails_at_once_and_says_where_to_go_back_to(project: Project, instance: dg.DagsterInstance) -> None:
    table = written(project)
    (entry,) = table.manifests.delta_entries(table.snapshots.get(4))
    path = Path(table.paths.data_file(entry.partition, entry.bucket, entry.file))
    path.write_bytes(path.read_bytes()[:-4] + b"XXXX")
    result = launch(project, instance, "compact_shop_orders", {"ops": {"compact": {"config": {"full": True}}}})
    headline, metadata = reported(result, "compact")
    assert retries(result, "compact") == 0
    assert path.name in headline
    assert "Snapshot 3 (" in headline
    assert metadata["class of error"] == "damage"
    assert metadata["snapshot to go back to"] == 3
    assert metadata["launch"] == "[rollback](/guess/rollback)"
    assert "the job rollback, with snapshot_id: 3, goes back to it and gives up snapshot 4" in headline
    assert list(metadata["failed groups"]) == ["bucket 0"]
    rollback_to(table, snapshot_id=3)
    assert launch(project, instance, "compact_shop_orders").success


def test_a_table_that_cannot_be_opened_says_where_to_go_back_to(project: Project, instance: dg.DagsterInstance) -> None:
    table = written(project)
    list_ = Path(table.paths.manifest(table.snapshots.get(4).delta_manifest_list))
    list_.write_bytes(list_.read_bytes()[:30])
    result = launch(project, instance, "expire_shop_orders")
    headline, metadata = reported(result, "expire_snapshots")
    assert list_.name in headline
    assert metadata["snapshot to go back to"] == 3
    assert metadata["class of error"] == "damage"


@pytest.mark.usefixtures("hurried")
def test_a_lost_conflict_is_tried_again(project: Project, instance: dg.DagsterInstance) -> None:
    table = written(project)
    Meddler.says, Meddler.then = " to compact: ", lambda: print(compact(None, table, full=True).snapshot_ids)
    config = {"ops": {"compact": {"config": {"full": True, "max_retries": 0}}}}
    result = launch(project, instance, "compact_shop_orders", config)
    assert result.success
    assert Meddler.then is None
    assert retries(result, "compact") == 1
    assert table.snapshots.latest_id() == 5


@pytest.mark.usefixtures("hurried")
def test_a_storage_that_fails_for_a_while_is_tried_again(project: Project, instance: dg.DagsterInstance) -> None:
    written(project)
    remote = project.model_copy(update={"warehouse": f"{SCHEME}{project.warehouse}"})
    with failing(r"/manifest/", lambda: OSError(errno.EBUSY, "Please reduce your request rate"), times=2) as fault:
        result = launch(remote, instance, "expire_shop_orders")
    assert fault.failed == 2
    # Manifests are read side by side: one attempt can meet both failures.
    assert retries(result, "expire_snapshots") in (1, 2)
    assert "record" in {event.step_key for event in result.get_step_success_events()}
    assert table_ids(project) == [3, 4]


@pytest.mark.usefixtures("hurried")
def test_of_many_tables_those_that_failed_are_tried_again(project: Project, instance: dg.DagsterInstance) -> None:
    written(project)
    PaimonCatalog(warehouse=project.warehouse).get_or_create(project.tables[1])
    remote = project.model_copy(update={"warehouse": f"{SCHEME}{project.warehouse}"})
    with failing(r"orders/manifest/", lambda: OSError(errno.EBUSY, "Please reduce your request rate"), times=1):
        result = launch(remote, instance, "expire_all")
    assert result.success
    assert retries(result, "expire_tables") == 1
    (output,) = [event for event in result.all_events if event.event_type_value == "STEP_OUTPUT"]
    assert {name: value.value for name, value in output.step_output_data.metadata.items()} == {
        "tables": 1,
        "tables that failed": 0,
    }
    assert table_ids(project) == [3, 4]


@pytest.mark.usefixtures("hurried")
def test_a_storage_that_goes_on_failing_is_the_headline(project: Project, instance: dg.DagsterInstance) -> None:
    table = written(project)
    remote = project.model_copy(update={"warehouse": f"{SCHEME}{project.warehouse}"})
    with failing(r"/manifest/", lambda: ConnectionResetError(errno.ECONNRESET, "reset by peer"), times=1000):
        result = launch(remote, instance, "expire_shop_orders")
    headline, metadata = reported(result, "expire_snapshots")
    assert retries(result, "expire_snapshots") == AGAIN[ErrorClass.INFRASTRUCTURE].times
    assert "reset by peer" in headline
    assert metadata["class of error"] == "infrastructure"
    assert table_ids(project) == [1, 2, 3, 4]
    expire_snapshots(table)


@pytest.mark.slow
def test_a_lost_spark_is_started_again(project: Project, tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", LOST, str(tmp_path / "tables.yaml")],
        cwd=ROOT, env={**os.environ, "PYTHONPATH": str(ROOT)}, capture_output=True, text=True, timeout=540, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-4000:]
    killed, reported = (line for line in done.stdout.splitlines() if line.startswith(("killed", "told")))
    assert killed
    # Snapshot 5 is the compaction; the changelog and the file index come after it.
    assert reported.startswith("told True 1 [1, 2, 3, 4, 5")
    assert "Next step: Check the storage, network or Spark" in reported


def table_ids(project: Project) -> list[int]:
    return PaimonCatalog(warehouse=project.warehouse).get_table("shop.orders").snapshots.list_ids()


def test_the_pauses_double_and_do_not_meet() -> None:
    how = Again(times=4, seconds=4.0)
    for attempts, seconds in enumerate((4, 8, 16, 32), 1):
        waits = {how.wait(attempts) for _ in range(20)}
        assert len(waits) > 10
        assert all(0.7 * seconds < wait < 1.3 * seconds for wait in waits)


def test_the_worst_of_several_parts_decides() -> None:
    lost = ConflictError("another writer was faster", "table t", "Run it again.")
    slow = InfrastructureError("no answer", "s3://lake", "Check it.")
    broken = CorruptFileError("the file is damaged", "file f", "Restore it.")
    error = parts_failed({"a": None, "b": lost, "c": broken, "d": slow}, "groups")
    assert error.error_class == ErrorClass.DAMAGE
    assert error.found == "3 of 4 groups failed; c: the file is damaged"
    assert error.where == "file f"
    assert error.fix == "Restore it. The other groups are done."
    assert list(error.outcomes) == ["b", "c", "d"]
    assert parts_failed({"b": lost, "d": slow}, "groups").error_class == ErrorClass.INFRASTRUCTURE
    assert parts_failed({"b": lost}, "groups").found == "b: another writer was faster"


@pytest.mark.usefixtures("hurried")
def test_a_check_of_a_table_that_is_not_there_says_so(project: Project, instance: dg.DagsterInstance) -> None:
    result = launch(project, instance, "fsck_shop_orders")
    failures = [event.step_failure_data for event in result.all_events if event.is_step_failure]
    assert len(failures) == 2, "fsck and orphan_bytes"
    for failure in failures:
        assert failure.user_failure_data is not None
        assert "Next step: " in failure.user_failure_data.description
        assert failure.user_failure_data.metadata["class of error"].value == "user"
