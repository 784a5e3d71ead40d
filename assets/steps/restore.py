"""Partitions brought back from a tag or an earlier snapshot, from the Launchpad: one job for all tables.

It needs no pool: the partitions are replaced in one commit, whatever others commit meanwhile.
"""

from collections.abc import Sequence
from typing import Any

import dagster as dg
from pydantic import Field

from assets.pages.metadata import report_metadata, report_numbers
from assets.project.config import TableConfig
from assets.resources.catalog import PaimonCatalog
from assets.resources.spark import Spark
from assets.steps.ops import on_known_table, record_state
from assets.steps.plans import kept_plan
from maintenance.operations.plans.dry_run_plans import RESTORE_PARTITIONS
from maintenance.operations.rows.restore_partitions import restore_partitions

RESTORE = "restore_partitions"  # the job
STEP = "earlier_partitions"


class RestoreConfig(dg.Config):
    """Which partitions to bring back, and from where: a tag or a snapshot."""

    table: str = Field(description="database.table, one of those that Dagster has.")
    partitions: list[dict[str, str | None]] = Field(description="Which ones, e.g. [{month: '7'}].")
    tag: str | None = Field(default=None, description="Bring back what this tag holds.")
    snapshot_id: int | None = Field(default=None, description="Bring back what this snapshot holds.")
    dry_run: bool = Field(default=False, description="Only say what would come back in place of what; keep a plan.")


def restore_op(tables: Sequence[TableConfig]) -> dg.OpDefinition:
    """Restore partitions of a table, and report its new state to its asset."""

    @dg.op(
        name=STEP,
        description="Replaces partitions by what a tag or snapshot holds of them; the rest of the table stays.",
        out=dg.Out(dg.Nothing),
    )
    def restore(context: dg.OpExecutionContext, config: RestoreConfig, catalog: PaimonCatalog, spark: Spark) -> None:
        with on_known_table(context, catalog, tables, config.table, RESTORE) as table:
            opened = catalog.get_table(config.table).of_run(context.run_id)
            goal: dict[str, Any] = {
                "partitions": config.partitions,
                "tag": config.tag,
                "snapshot_id": config.snapshot_id,
            }
            if config.dry_run:
                plan = RESTORE_PARTITIONS.plan(opened, **goal)
                context.add_output_metadata(kept_plan(context, catalog, opened.file_io, plan))
            report = restore_partitions(
                None if config.dry_run else spark.session(), opened, **goal, dry_run=config.dry_run
            )
            names = ", ".join(map(str, report.restored))
            verb = "would come back" if report.dry_run else "are back"
            context.log.info(
                f"{config.table}: {names} {verb} from snapshot {report.source}: {report.rows:,} rows in "
                f"{report.files:,} files, in place of {report.replaced_rows:,} rows in {report.replaced_files:,}."
            )
            context.add_output_metadata({**report_metadata(report, plotted=False), **spark.metadata()})
            if not report.dry_run:
                record_state(context, catalog, table, {RESTORE: report_numbers(report)})

    return restore
