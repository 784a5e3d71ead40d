"""Compactions of other engines are proved by a check, each once; a faulty one turns it red and people are told."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import dagster as dg
import pyarrow as pa
import pytest

from maintenance.catalog import CatalogTable
from maintenance.merge.engine import MergeEngine
from maintenance.operations.checks.prove_compactions import prove_compactions
from maintenance.operations.compaction.compact import compact
from maintenance.operations.refs.rollback_to_as_latest import rollback_to_as_latest
from maintenance.project.config import Project, TableConfig
from maintenance.project.policies import ProofsPolicy
from paimon_maintenance.sensors.alerts import check_faults
from tests.dagster.conftest import definitions_of, evaluate
from tests.deletion_vectors import delete_rows
from tests.foreign_commits import as_foreign, foreign_compaction, store
from tests.small_tables import put, small_table
from tests.tables import live
from tests.unit.operations.checks.test_prove_compactions import doubled, stale, without_one

SENSOR = "foreign_compactions"


def watched(folder: Path, proofs: ProofsPolicy | None = None) -> Project:
    tables = (TableConfig(identifier="db.t", proofs=proofs or ProofsPolicy()),)
    return Project(warehouse=str(folder), history="maintenance", tables=tables)


def filled(folder: Path) -> CatalogTable:
    table = small_table(folder, {"bucket": "1", "deletion-vectors.enabled": "true"})
    put(table, dict.fromkeys(range(20), "a"))
    put(table, dict.fromkeys(range(10), "b"))
    return table


def prove(project: Project, instance: dg.DagsterInstance, config: dict[str, Any] | None = None) -> Any:
    """The check's job, as the sensor launches it. Returns the result of the check."""
    run_config = {"ops": {"db__t_compactions_proved": {"config": config}}} if config else {}
    job = definitions_of(project).resolve_job_def("prove_db_t")
    done = job.execute_in_process(run_config=run_config, instance=instance)
    (result,) = done.get_asset_check_evaluations()
    return result


def lost(table: CatalogTable, monkeypatch: pytest.MonkeyPatch) -> None:
    spoilt(table, monkeypatch, without_one)


def twice(table: CatalogTable, monkeypatch: pytest.MonkeyPatch) -> None:
    spoilt(table, monkeypatch, doubled)


def outdated(table: CatalogTable, monkeypatch: pytest.MonkeyPatch) -> None:
    spoilt(table, monkeypatch, stale)


def spoilt(table: CatalogTable, monkeypatch: pytest.MonkeyPatch, how: Callable[[pa.Table], pa.Table]) -> None:
    """A compaction of Flink's whose merge is wrong."""
    merge = MergeEngine.merge
    with monkeypatch.context() as patch:
        patch.setattr(MergeEngine, "merge", lambda *args, **named: how(merge(*args, **named)))
        (snapshot_id,) = compact(None, table, full=True, proof="off", beside_other_compactors=True).snapshot_ids
    as_foreign(table, snapshot_id, "flink")


def wrong_vector(table: CatalogTable, _: pytest.MonkeyPatch) -> None:
    (snapshot_id,) = foreign_compaction(table)
    delete_rows(table, {entry.file.file_name: [7] for entry in live(table)})
    assert table.snapshots.latest_id() == snapshot_id


@pytest.mark.parametrize(
    ("fault", "example"),
    [
        (lost, "is lost"),
        (twice, "is new"),
        (outdated, "became k=0, v='a'"),
        (wrong_vector, "k=7"),
    ],
)
def test_a_faulty_compaction_turns_the_check_red_once_and_alerts(
    tmp_path: Path,
    instance: dg.DagsterInstance,
    monkeypatch: pytest.MonkeyPatch,
    fault: Callable[[CatalogTable, pytest.MonkeyPatch], None],
    example: str,
) -> None:
    project, table = watched(tmp_path), filled(tmp_path)
    fault(table, monkeypatch)
    assert table.snapshots.latest_id() == 3
    data = evaluate(project, instance, SENSOR)
    (request,) = data.run_requests
    assert request.job_name == "prove_db_t"
    result = prove(project, instance)
    assert not result.passed
    assert "snapshot 3 by 'flink' is wrong in bucket 0" in result.description
    assert example in result.description
    assert "launch the job rollback_to_as_latest with snapshot_id 2" in result.description
    assert "/guess/rollback_to_as_latest" in result.metadata["launch"].value
    (row,) = result.metadata["wrong buckets"].records
    assert (row.data["snapshot"], row.data["commit user"], row.data["bucket"]) == (3, "flink", "bucket 0")
    (alert,) = check_faults(instance, project.tables, "http://dagster").values()
    assert (alert.kind, alert.subject) == ("damage", "Check compactions_proved of db.t")
    # It stays red, and nothing is read again.
    again = prove(project, instance)
    assert not again.passed
    assert again.metadata["bytes read"].value == 0
    assert not evaluate(project, instance, SENSOR, data.cursor).run_requests
    rollback_to_as_latest(table, snapshot_id=2)
    assert prove(project, instance).passed


def test_each_compaction_is_proved_once_even_if_the_sensor_starts_anew(
    tmp_path: Path, instance: dg.DagsterInstance
) -> None:
    project, table = watched(tmp_path), filled(tmp_path)
    assert not evaluate(project, instance, SENSOR).run_requests
    foreign_compaction(table)
    assert len(evaluate(project, instance, SENSOR).run_requests) == 1
    first = prove(project, instance)
    assert first.passed
    assert first.metadata["compactions proved"].value == 1
    data = evaluate(project, instance, SENSOR)
    assert not data.run_requests, "the result of the check says what was proved"
    put(table, {1: "c"})
    data = evaluate(project, instance, SENSOR, data.cursor)
    assert not data.run_requests
    (snapshot_id,) = foreign_compaction(table)
    data = evaluate(project, instance, SENSOR, data.cursor)
    assert len(data.run_requests) == 1
    second = prove(project, instance)
    assert second.metadata["up to snapshot"].value == snapshot_id
    assert second.metadata["compactions proved"].value == 1
    assert second.metadata["rows compared"].value == 20


def test_after_a_rollback_new_compactions_under_old_numbers_are_proved(
    tmp_path: Path, instance: dg.DagsterInstance
) -> None:
    project, table = watched(tmp_path), filled(tmp_path)
    (snapshot_id,) = foreign_compaction(table)
    assert prove(project, instance).metadata["compactions proved"].value == 1
    replaced = table.snapshots.get(snapshot_id)
    store(table, replace(replaced, time_millis=replaced.time_millis + 1))
    assert len(evaluate(project, instance, SENSOR).run_requests) == 1
    assert prove(project, instance).metadata["compactions proved"].value == 1


def test_the_budget_of_a_day_counts_what_earlier_proofs_have_read(tmp_path: Path, instance: dg.DagsterInstance) -> None:
    table = filled(tmp_path)
    foreign_compaction(table)
    (proof,) = prove_compactions(None, table).proofs
    project = watched(tmp_path, ProofsPolicy(max_bytes_per_day=proof.bytes))
    assert prove(project, instance).metadata["bytes read"].value == proof.bytes
    put(table, {1: "c"})
    foreign_compaction(table)
    result = prove(project, instance)
    assert result.passed
    assert result.metadata["bytes read"].value == 0
    (row,) = result.metadata["not proved"].records
    assert "max_bytes has too little left" in str(row.data["why"])
