"""Each step of a run as events of OpenLineage, where the environment says where they go (`OPENLINEAGE_URL`).

An event names the table by its location, as OpenLineage names datasets of a warehouse of files, with its name in the
catalog as a symlink. A step is a run of its own, whose parent is the run of Dagster. Sending never fails the run.
"""

import os
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit
from uuid import UUID, uuid5

import dagster as dg

from maintenance.operations.history import FAILED, HistoryEntry
from maintenance.table.shape import TableShape
from maintenance.table.table import Table
from paimon_maintenance.assets.resources.catalog import PaimonCatalog

if TYPE_CHECKING:
    from openlineage.client.event_v2 import RunEvent

_PLACES = ("OPENLINEAGE_URL", "OPENLINEAGE_CONFIG")
_NAMESPACE, _PREFIX = "OPENLINEAGE_NAMESPACE", "OPENLINEAGE__"
_NAME = "paimon-maintenance"
# The specification wants a URI.
_PRODUCER = f"urn:{_NAME}"
# Steps that bring rows in; all others work on those that are there.
_INGESTING = ("ingest", "refresh_materialized_table")


def is_asked_for() -> bool:
    """Whether the environment says where events go."""
    return any(os.environ.get(name) for name in _PLACES) or any(name.startswith(_PREFIX) for name in os.environ)


def send_events(
    context: dg.OpExecutionContext,
    catalog: PaimonCatalog,
    entries: Sequence[HistoryEntry],
    shape: TableShape | None = None,
) -> None:
    """Send what the history has of steps. `shape`: of the table after them; None: not known."""
    if not entries or not is_asked_for():
        return
    try:
        from openlineage.client import OpenLineageClient

        client, table = OpenLineageClient(), catalog.get_table(entries[0].table_name)
        for entry in entries:
            for event in _events(context, table, entry, catalog.warehouse, shape):
                client.emit(event)
    except ModuleNotFoundError as error:
        context.log.warning(f"{error}: install paimon-maintenance[openlineage] to send events of OpenLineage.")
    except Exception as error:  # noqa: BLE001 - the work is done, whether or not somebody could be told of it
        context.log.warning(f"Events of OpenLineage could not be sent: {error}")


def _events(
    context: dg.OpExecutionContext, table: Table, entry: HistoryEntry, warehouse: str, shape: TableShape | None
) -> "Iterator[RunEvent]":
    """That a step has begun, and how it has ended."""
    from openlineage.client.event_v2 import InputDataset, Job, OutputDataset, Run, RunEvent, RunState
    from openlineage.client.generated import (
        error_message_run,
        input_statistics_input_dataset,
        output_statistics_output_dataset,
        parent_run,
    )

    space = os.environ.get(_NAMESPACE, _NAME)
    started_by = parent_run.ParentRunFacet(
        run=parent_run.Run(runId=context.run_id),
        job=parent_run.Job(namespace=space, name=context.job_name),
        producer=_PRODUCER,
    )
    run = Run(runId=str(uuid5(UUID(context.run_id), f"{entry.table_name} {entry.operation}")))
    run.facets = {"parent": started_by}
    job = Job(namespace=space, name=f"{context.job_name}.{entry.operation}")
    begun = entry.finished_at - timedelta(seconds=entry.seconds or 0.0)
    namespace, name = dataset_name(table.location)
    facets = _facets(table, warehouse, entry.snapshot_id)
    read: dict[str, Any] = {}
    if entry.input_bytes is not None:
        statistics_in = input_statistics_input_dataset.InputStatisticsInputDatasetFacet
        read["inputStatistics"] = statistics_in(size=entry.input_bytes, producer=_PRODUCER)
    source = InputDataset(namespace=namespace, name=name, facets=facets, inputFacets=read)
    inputs = [] if entry.operation in _INGESTING else [source]
    event = partial(RunEvent, producer=_PRODUCER, run=run, job=job, inputs=inputs)
    yield event(eventTime=_time(begun), eventType=RunState.START, outputs=[])
    if entry.outcome == FAILED:
        run.facets["errorMessage"] = error_message_run.ErrorMessageRunFacet(
            message=str(entry.details.get("found", "")), programmingLanguage="Python", producer=_PRODUCER
        )
        yield event(eventTime=_time(entry.finished_at), eventType=RunState.FAIL, outputs=[])
        return
    statistics = output_statistics_output_dataset.OutputStatisticsOutputDatasetFacet
    told: dict[str, Any] = {}
    if shape is not None:
        told["outputStatistics"] = statistics(
            rowCount=shape.rows, size=shape.bytes, fileCount=shape.files, producer=_PRODUCER
        )
    output = OutputDataset(namespace=namespace, name=name, facets=facets, outputFacets=told)
    yield event(eventTime=_time(entry.finished_at), eventType=RunState.COMPLETE, outputs=[output])


def _facets(table: Table, warehouse: str, snapshot_id: int | None) -> dict[str, Any]:
    from openlineage.client.generated import (
        dataset_version_dataset,
        schema_dataset,
        storage_dataset,
        symlinks_dataset,
    )

    fields = [
        schema_dataset.SchemaDatasetFacetFields(
            name=field.name, type=str(field.type), description=field.description, ordinal_position=number
        )
        for number, field in enumerate(table.schema.fields, 1)
    ]
    known_as = symlinks_dataset.Identifier(namespace=warehouse, name=table.identifier, type="TABLE")
    facets: dict[str, Any] = {
        "schema": schema_dataset.SchemaDatasetFacet(fields=fields, producer=_PRODUCER),
        "symlinks": symlinks_dataset.SymlinksDatasetFacet(identifiers=[known_as], producer=_PRODUCER),
        "storage": storage_dataset.StorageDatasetFacet(
            storageLayer="paimon", fileFormat=table.model.file_format, producer=_PRODUCER
        ),
    }
    if snapshot_id is not None:
        facets["version"] = dataset_version_dataset.DatasetVersionDatasetFacet(
            datasetVersion=str(snapshot_id), producer=_PRODUCER
        )
    return facets


def dataset_name(location: str) -> tuple[str, str]:
    """Namespace and name of what lies at a location, as OpenLineage names it: s3://bucket and the path in it."""
    parts = urlsplit(location)
    if parts.scheme in ("", "file"):
        return "file", parts.path
    return f"{parts.scheme}://{parts.netloc}", parts.path.strip("/")


def _time(at: datetime) -> str:
    return at.astimezone(UTC).isoformat()
