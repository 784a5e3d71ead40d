"""What the launcher says of runs whose parent is there, is gone, is slow, or never was."""

from pathlib import Path

import dagster as dg
import pytest
from dagster._core.launcher.base import WorkerStatus

from paimon_maintenance.run_launcher.forking import SOCKET_TAG, ForkingRunLauncher
from paimon_maintenance.run_launcher.workers import SOCKET_VARIABLE, listening


@pytest.fixture
def launcher(instance: dg.DagsterInstance) -> ForkingRunLauncher:
    made = ForkingRunLauncher()
    made.register_instance(instance)
    return made


def test_a_parent_that_is_gone_is_told_from_one_that_is_slow(
    instance: dg.DagsterInstance, launcher: ForkingRunLauncher, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    address = tmp_path / "socket"
    run = instance.create_run_for_job(build_job(), tags={SOCKET_TAG: str(address)}, status=dg.DagsterRunStatus.STARTED)
    assert launcher.check_run_worker_health(run).status == WorkerStatus.NOT_FOUND
    monkeypatch.setattr("paimon_maintenance.run_launcher.workers._ANSWER_SECONDS", 0.1)
    with listening(address):
        assert launcher.check_run_worker_health(run).status == WorkerStatus.RUNNING
    assert launcher.check_run_worker_health(run).status == WorkerStatus.NOT_FOUND
    assert not launcher.terminate(run.run_id)
    ended = instance.get_run_by_id(run.run_id)
    assert ended is not None
    assert ended.status == dg.DagsterRunStatus.CANCELING, "the daemon ends it after its time"


def test_a_run_without_a_parent_is_that_of_dagsters_own_launcher(
    monkeypatch: pytest.MonkeyPatch, instance: dg.DagsterInstance
) -> None:
    monkeypatch.delenv(SOCKET_VARIABLE, raising=False)
    launcher = ForkingRunLauncher()
    launcher.register_instance(instance)
    begun = instance.create_run_for_job(build_job(), run_id=None)
    assert launcher.check_run_worker_health(begun).status.value == "RUNNING", "its code server watches it"
    assert not launcher.terminate(begun.run_id), "no process of it is known"


def build_job() -> dg.JobDefinition:
    @dg.op
    def nothing() -> None:
        return None

    @dg.job
    def job() -> None:
        nothing()

    return job
