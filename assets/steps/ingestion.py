"""The steps that bring rows: the commit of what landed, and the refresh of a materialized table."""

from collections.abc import Mapping
from dataclasses import fields, replace
from typing import Any

from maintenance.operations.ingestion.ingest_landed import OPERATION as INGEST_OPERATION
from maintenance.operations.ingestion.ingest_landed import plan_ingest
from maintenance.operations.ingestion.landing import LandingFolder
from maintenance.operations.operation import Run
from maintenance.project import chain
from maintenance.sql import Session
from maintenance.sql.operations.refresh_materialized_table import OPERATION as REFRESH_OPERATION
from maintenance.sql.session_names import SessionNames
from maintenance.table.table import Table
from paimon_maintenance.assets.steps.config import step_config
from paimon_maintenance.assets.steps.step import Preview, Step, Work


def _folder(work: Work) -> Mapping[str, Any]:
    return chain.folder(work.described)


class _Ingest(Step):
    def found(self, work: Work) -> Table:
        return work.catalog.get_or_create(work.described)

    def preview(self, work: Work, request: Any) -> Preview:
        """A dry run creates no table: the plan is made without one where it does not exist."""
        identifier = work.described.identifier
        return Preview(plan_ingest(*work.catalog.get_or_none(identifier), identifier, request))


class _Refresh(Step):
    def run_of(self, work: Work) -> Run:
        # Spark starts only if there is something to do.
        session = Session(work.catalog.open(), None, "flink", makes_default=False)
        return replace(super().run_of(work), names=SessionNames(session))


INGEST = _Ingest(
    INGEST_OPERATION,
    "Commits each landed micro-batch once: repeated deliveries are recognised by their commit identifier.",
    step_config(INGEST_OPERATION, instead=dict.fromkeys(field.name for field in fields(LandingFolder))),
    policy=_folder,
    with_plan=_folder,
    options=chain.conduct,
)
REFRESH = _Refresh(
    REFRESH_OPERATION,
    "Makes rows again from the table's query: those of partitions that changes of its sources reach, or all.",
    step_config(REFRESH_OPERATION, instead={"zone": None}),
    policy=lambda work: {"zone": str(work.zone)},
)
