"""The step that commits what landed."""

from typing import Any

import dagster as dg

from maintenance.errors import OptionError
from maintenance.operations.ingestion.ingest_landed import LandingReport, ingest_landed
from maintenance.operations.ingestion.landing import LandingFolder
from maintenance.operations.operation import nothing_said
from maintenance.operations.plan_store import StoredPlan
from maintenance.operations.plans.ingest_plan import INGEST as INGEST_STEP
from maintenance.operations.plans.ingest_plan import apply_ingest, plan_ingest
from maintenance.table.table import Table
from paimon_maintenance.assets.project.config import Landing
from paimon_maintenance.assets.project.step_config import IngestConfig
from paimon_maintenance.assets.steps.step import Preview, Step, Work

# The input from the landing folder's asset, only for the lineage: the ingestion lists the folder itself.
LANDED = "landed"


def _folder(work: Work) -> LandingFolder:
    landing: Landing | None = work.described.landing
    if landing is None:
        raise OptionError("the table has no landing folder", work.described.identifier, "Give it one in tables.yaml.")
    return landing.folder


class _Ingest(Step):
    def __init__(self) -> None:
        self.name, self.config, self.uses_spark = INGEST_STEP, IngestConfig, True
        self.description = (
            "Commits each landed micro-batch once: repeated deliveries are recognised by their commit identifier."
        )
        self.said = nothing_said
        self.ins = {LANDED: dg.In(dg.Nothing)}

    def opened(self, work: Work) -> Table:
        table = work.catalog.get_or_create(work.described).of_run(work.context.run_id)
        return table.copy(work.described.compaction.conduct)

    def request(self, work: Work) -> dict[str, Any]:
        return {"limit": work.config.limit, "committed": work.config.committed}

    def preview(self, work: Work, request: dict[str, Any]) -> Preview:
        """A dry run creates no table: the plan is made without one where it does not exist."""
        identifier = work.described.identifier
        file_io, table = work.catalog.get_or_none(identifier)
        return Preview(plan_ingest(file_io, table, identifier, _folder(work), **request))

    def apply(self, work: Work, plan: StoredPlan) -> LandingReport:
        return apply_ingest(work.session, work.table, _folder(work), plan, work.say)

    def run(self, work: Work, request: dict[str, Any]) -> LandingReport:
        return ingest_landed(work.session, work.table, _folder(work), **request, progress=work.say)


INGEST = _Ingest()
