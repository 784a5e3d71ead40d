"""The step that commits what landed."""

import dagster as dg

from maintenance.errors import OptionError
from maintenance.operations.ingestion.ingest_landed import LandingReport
from maintenance.operations.ingestion.landed_plan import OPERATION, IngestLanded, apply_ingest, plan_ingest
from maintenance.operations.ingestion.landing import LandingFolder
from maintenance.operations.plan_store import StoredPlan
from maintenance.table.table import Table
from paimon_maintenance.assets.project.config import Landing
from paimon_maintenance.assets.steps.config import request_of
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
        super().__init__(
            OPERATION,
            "Commits each landed micro-batch once: repeated deliveries are recognised by their commit identifier.",
        )
        self.ins = {LANDED: dg.In(dg.Nothing)}

    def opened(self, work: Work) -> Table:
        table = work.catalog.get_or_create(work.described).of_run(work.context.run_id)
        return table.copy(work.described.compaction.conduct)

    def request(self, work: Work) -> IngestLanded:
        made: IngestLanded = request_of(self.operation, work.config, landing=_folder(work))
        return made

    def preview(self, work: Work, request: IngestLanded) -> Preview:
        """A dry run creates no table: the plan is made without one where it does not exist."""
        identifier = work.described.identifier
        file_io, table = work.catalog.get_or_none(identifier)
        scope = {"limit": request.limit, "committed": request.committed}
        return Preview(plan_ingest(file_io, table, identifier, request.landing, **scope))

    def apply(self, work: Work, plan: StoredPlan) -> LandingReport:
        return apply_ingest(work.session, work.table, _folder(work), plan, work.say)


INGEST = _Ingest()
