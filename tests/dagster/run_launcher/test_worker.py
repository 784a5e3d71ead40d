"""What the process of a forked run does when the run is not to begin, goes wrong, or its process has died."""

from pathlib import Path

import dagster as dg
import pytest
from dagster._core.definitions.reconstruct import ReconstructableRepository
from dagster._serdes import serialize_value

from paimon_maintenance.assets.project.environment import FOLDER
from paimon_maintenance.run_launcher.worker import execute, report_death

STATUS = dg.DagsterRunStatus


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ReconstructableRepository:
    """The code of this project on a table that does not exist."""
    path = tmp_path / "tables.yaml"
    path.write_text(f"warehouse: {tmp_path}\nhistory: null\ntables: [{{identifier: db.t}}]\n")
    monkeypatch.setenv("PAIMON_TABLES", str(path))
    return ReconstructableRepository.for_file(str(FOLDER / "definitions.py"), "definitions", str(FOLDER))


def begun(instance: dg.DagsterInstance, repository: ReconstructableRepository, status: STATUS) -> str:
    job = repository.get_reconstructable_job("compact_db_t")
    origin = job.get_python_origin()
    run = instance.create_run_for_job(job.get_definition(), status=status, job_code_origin=origin)
    return run.run_id


def status_of(instance: dg.DagsterInstance, run_id: str) -> STATUS:
    run = instance.get_run_by_id(run_id)
    assert run is not None
    return run.status


def test_a_run_that_was_cancelled_before_it_began(
    instance: dg.DagsterInstance, repository: ReconstructableRepository
) -> None:
    run_id = begun(instance, repository, STATUS.CANCELING)
    assert execute(run_id, serialize_value(instance.get_ref())) == 0
    assert status_of(instance, run_id) == STATUS.CANCELED
    assert not instance.all_logs(run_id, of_type=dg.DagsterEventType.STEP_START)


def test_a_run_that_goes_wrong_has_ended(instance: dg.DagsterInstance, repository: ReconstructableRepository) -> None:
    run_id = begun(instance, repository, STATUS.STARTING)
    assert execute(run_id, serialize_value(instance.get_ref())) == 0
    assert status_of(instance, run_id) == STATUS.FAILURE
    assert instance.all_logs(run_id, of_type=dg.DagsterEventType.STEP_FAILURE)


def test_definitions_that_cannot_be_loaded_fail_the_run(
    instance: dg.DagsterInstance, repository: ReconstructableRepository, tmp_path: Path
) -> None:
    run_id = begun(instance, repository, STATUS.STARTING)
    (tmp_path / "tables.yaml").write_text("tables: 1\n")
    assert execute(run_id, serialize_value(instance.get_ref())) == 0
    assert status_of(instance, run_id) == STATUS.FAILURE


def test_the_death_of_a_run_is_told_once(instance: dg.DagsterInstance, repository: ReconstructableRepository) -> None:
    run_id, reference = begun(instance, repository, STATUS.STARTED), serialize_value(instance.get_ref())
    for _ in range(2):
        assert report_death(run_id, reference, -9) == 0
        assert status_of(instance, run_id) == STATUS.FAILURE
    assert len(instance.all_logs(run_id, of_type=dg.DagsterEventType.RUN_FAILURE)) == 1


def test_a_run_that_is_gone_is_nobodys(instance: dg.DagsterInstance) -> None:
    assert execute("none", serialize_value(instance.get_ref())) == 1
    assert report_death("none", serialize_value(instance.get_ref()), 1) == 0
