"""The bin in Dagster: one job brings back what steps have put into it, another empties it."""

from collections.abc import Sequence
from datetime import timedelta
from typing import Any

import dagster as dg
from pydantic import Field

from assets.pages.metadata import report_metadata
from assets.project.config import TableConfig
from assets.resources.catalog import PaimonCatalog
from assets.runs.failures import as_dagster_failure
from assets.steps.ops import on_known_table
from assets.steps.plans import kept_plan
from maintenance.operations.bin.empty_bin import WINDOW, empty_bin
from maintenance.operations.bin.restore import restore
from maintenance.operations.plans.bin_plans import RESTORE, plan_empty_bin
from maintenance.options.option import duration

RESTORE_FROM_BIN, EMPTY_BIN = "restore_from_bin", "empty_bin"  # the jobs


class RestoreConfig(dg.Config):
    """What to bring back from the bin; nothing chosen: all that the run took."""

    table: str = Field(description="database.table, one of those that Dagster has.")
    run: str = Field(description="Of the bin, as the log of the step says it.")
    files: list[str] = Field(default=[], description="Paths, whole or below the table.")
    snapshots: list[int] = Field(default=[], description="Ids; they come back with all that they need.")
    tags: list[str] = Field(default=[], description="Names; they come back with all that they need.")
    dry_run: bool = Field(default=False, description="Only list what would come back, and keep it as a plan.")


class EmptyBinConfig(dg.Config):
    """What to destroy. Empty: as the tables' policies say."""

    window: str | None = Field(default=None, description="Runs older than this go, e.g. 7 d.")
    max_bytes: int | None = Field(default=None, ge=0, description="The oldest runs go until no more is left.")
    dry_run: bool = Field(default=False, description="Only list what would be destroyed, and keep it as a plan.")


def restore_from_bin_op(tables: Sequence[TableConfig]) -> dg.OpDefinition:
    """Bring back what a run of the bin took."""

    @dg.op(name="from_bin", description="Brings back files, snapshots and tags from the bin.", out=dg.Out(dg.Nothing))
    def bring_back(context: dg.OpExecutionContext, config: RestoreConfig, catalog: PaimonCatalog) -> None:
        with on_known_table(context, catalog, tables, config.table, RESTORE_FROM_BIN):
            opened, root = catalog.get_table(config.table), catalog.root()
            chosen: dict[str, Any] = {
                "run": config.run,
                "files": config.files,
                "snapshots": config.snapshots,
                "tags": config.tags,
            }
            if config.dry_run:
                plan = RESTORE.plan(opened, warehouse=root, **chosen)
                context.add_output_metadata(kept_plan(context, catalog, opened.file_io, plan))
            report = restore(opened, root, **chosen, dry_run=config.dry_run, progress=context.log.info)
            for why in report.incomplete:
                context.log.warning(f"It stays in the bin: {why}")
            context.add_output_metadata(report_metadata(report, plotted=False))

    return bring_back


def empty_bin_op(tables: Sequence[TableConfig]) -> dg.OpDefinition:
    """Destroy what has been in the bin for long enough: as long as the most patient table asks."""
    policies = [table.bin for table in tables if table.bin is not None]
    window = max((duration(policy.window) for policy in policies), default=WINDOW)
    limits = [policy.max_bytes for policy in policies if policy.max_bytes is not None]

    @dg.op(name="bin", description="Destroys what is past the window of the bin.", out=dg.Out(dg.Nothing))
    def empty(context: dg.OpExecutionContext, config: EmptyBinConfig, catalog: PaimonCatalog) -> None:
        with as_dagster_failure(context):
            file_io, root = catalog.file_io(), catalog.root()
            limit = max(limits, default=None) if config.max_bytes is None else config.max_bytes
            chosen: dict[str, Any] = {"window": _window(config.window, window), "max_bytes": limit}
            if config.dry_run:
                plan = plan_empty_bin(file_io, root, **chosen)
                context.add_output_metadata(kept_plan(context, catalog, file_io, plan))
            report = empty_bin(file_io, root, **chosen, dry_run=config.dry_run, progress=context.log.info)
            context.add_output_metadata(report_metadata(report, plotted=False))

    return empty


def _window(text: str | None, default: timedelta) -> timedelta:
    return default if text is None else duration(text)
