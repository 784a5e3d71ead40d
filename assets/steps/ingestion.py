"""The step that commits what landed."""

from dataclasses import asdict, fields
from typing import Any

import dagster as dg

from maintenance.errors import OptionError
from maintenance.operations.ingestion.ingest_landed import OPERATION, plan_ingest
from maintenance.operations.ingestion.landing import LandingFolder
from maintenance.operations.plan_store import StoredPlan
from maintenance.table.table import Table
from paimon_maintenance.assets.project.config import Landing
from paimon_maintenance.assets.steps.config import request_of
from paimon_maintenance.assets.steps.step import Preview, Step, Work

# The input from the landing folder's asset, only for the lineage: the ingestion lists the folder itself.
LANDED = "landed"


def _folder(work: Work) -> dict[str, Any]:
    landing: Landing | None = work.described.landing
    if landing is None:
        raise OptionError("the table has no landing folder", work.described.identifier, "Give it one in tables.yaml.")
    return asdict(landing.folder)


class _Ingest(Step):
    def opened(self, work: Work) -> Table:
        table = work.catalog.get_or_create(work.described).of_run(work.context.run_id)
        return table.copy(work.described.compaction.conduct)

    def request(self, work: Work) -> Any:
        return request_of(self.operation, work.config, **_folder(work))

    def preview(self, work: Work, request: Any) -> Preview:
        """A dry run creates no table: the plan is made without one where it does not exist."""
        identifier = work.described.identifier
        return Preview(plan_ingest(*work.catalog.get_or_none(identifier), identifier, request))

    def apply(self, work: Work, plan: StoredPlan) -> Any:
        return self.operation.carry_out(work.table, plan, self.run_of(work), **_folder(work))


INGEST = _Ingest(
    OPERATION,
    "Commits each landed micro-batch once: repeated deliveries are recognised by their commit identifier.",
    without=[field.name for field in fields(LandingFolder)],
).with_inputs({LANDED: dg.In(dg.Nothing)})
