"""The job that empties the bin; those of operations bring back what steps have put into it."""

from collections.abc import Sequence
from datetime import timedelta

import dagster as dg
from pydantic import Field

from maintenance.operations.bin.empty_bin import OPERATION, EmptyBin
from maintenance.operations.operation import Run, Warehouse
from maintenance.options.option import duration
from paimon_maintenance.assets.pages.metadata import report_metadata
from paimon_maintenance.assets.project.config import TableConfig
from paimon_maintenance.assets.resources.catalog import PaimonCatalog
from paimon_maintenance.assets.runs.failures import as_dagster_failure
from paimon_maintenance.assets.steps.plans import kept_plan
from paimon_maintenance.assets.warehouse.bins import emptying_of

EMPTY_BIN = "empty_bin"  # the job


class EmptyBinConfig(dg.Config):
    """What to destroy. Empty: as the tables' policies say."""

    window: str | None = Field(default=None, description="Runs older than this go, e.g. 7 d.")
    max_bytes: int | None = Field(default=None, ge=0, description="The oldest runs go until no more is left.")
    dry_run: bool = Field(default=False, description="Only list what would be destroyed, and keep it as a plan.")


def empty_bin_op(tables: Sequence[TableConfig]) -> dg.OpDefinition:
    """Destroy what has been in the bin for long enough: as long as the most patient table asks."""
    asked = emptying_of(tables)

    @dg.op(name="bin", description="Destroys what is past the window of the bin.", out=dg.Out(dg.Nothing))
    def empty(context: dg.OpExecutionContext, config: EmptyBinConfig, catalog: PaimonCatalog) -> None:
        with as_dagster_failure(context):
            file_io, root = catalog.file_io(), catalog.root()
            limit = asked.max_bytes if config.max_bytes is None else config.max_bytes
            request = EmptyBin(_window(config.window, asked.window), limit)
            run, place = Run(progress=context.log.info), Warehouse(file_io, root)
            if config.dry_run:
                made, plan = OPERATION.keepable(run, place, request)
                context.add_output_metadata(kept_plan(context, catalog, plan))
                report = made.report
            else:
                report = OPERATION.run(run, place, request)
            context.add_output_metadata(report_metadata(report, plotted=False))

    return empty


def _window(text: str | None, default: timedelta) -> timedelta:
    return default if text is None else duration(text)
