"""The steps that expire: what they say of where the work was done."""

from pathlib import Path
from typing import Any

import dagster as dg
import pyarrow as pa
import pytest

from maintenance.metadata.shares import Amount
from maintenance.operations.expiry import removal, survey
from maintenance.project.config import Project
from paimon_maintenance.assets.resources.catalog import PaimonCatalog
from tests.dagster.conftest import definitions_of


@pytest.fixture
def filled(project: Project) -> Project:
    orders = PaimonCatalog(warehouse=project.warehouse).get_or_create(project.tables[0])
    for number in range(4):
        orders.write_arrow(pa.table({"id": [number], "status": ["new"], "amount": pa.nulls(1, pa.decimal128(9, 2))}))
    return project


def metadata_of_expiry(project: Project, instance: dg.DagsterInstance) -> dict[str, Any]:
    job = definitions_of(project).resolve_job_def("expire_shop_orders")
    result = job.execute_in_process(instance=instance)
    (event,) = [e for e in result.get_step_success_events() if str(e.step_key).endswith("expire_snapshots")]
    outputs = [e for e in result.all_events if e.is_successful_output and e.step_key == event.step_key]
    return {name: value.value for name, value in outputs[0].step_output_data.metadata.items()}


def test_a_small_expiry_is_done_by_the_run_itself_and_starts_no_spark(
    filled: Project, instance: dg.DagsterInstance
) -> None:
    metadata = metadata_of_expiry(filled, instance)
    assert metadata["expired (count)"] == 2
    assert metadata["spark tasks"] == 0
    assert "spark application" not in metadata


def test_a_large_expiry_shows_its_spark_tasks(
    filled: Project, instance: dg.DagsterInstance, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module, name in ((survey, "STATES"), (removal, "FILES")):
        monkeypatch.setattr(module, name, Amount("things", 2, 1))
    metadata = metadata_of_expiry(filled, instance)
    assert metadata["expired (count)"] == 2
    assert metadata["spark tasks"] >= 4
    assert metadata["spark application"]
    assert not [path for path in metadata["deleted files"] if Path(path).exists()]
