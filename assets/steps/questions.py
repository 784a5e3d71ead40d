"""Questions about a table's retention from the Launchpad: why something is still there, and what other retention frees.

They change nothing. The answer is in the metadata of the run's only step.
"""

from collections.abc import Sequence

import dagster as dg
from pydantic import Field

from assets.pages.metadata import report_metadata
from assets.project.config import TableConfig
from assets.resources.catalog import PaimonCatalog
from assets.steps.ops import on_known_table
from maintenance.operations.retention.explain import explain
from maintenance.operations.retention.what_if import what_if

EXPLAIN, WHAT_IF = "explain", "what_if"  # the jobs


class ExplainConfig(dg.Config):
    """What to explain: one file, snapshot, tag or partition."""

    table: str = Field(description="database.table, one of those that Dagster has.")
    file: str | None = Field(default=None, description="A file, by its path or name.")
    snapshot_id: int | None = Field(default=None, description="A snapshot.")
    tag: str | None = Field(default=None, description="A tag.")
    partition: dict[str, str | None] | None = Field(default=None, description="A partition, e.g. {month: '7'}.")


class WhatIfConfig(dg.Config):
    """The retention to try."""

    table: str = Field(description="database.table, one of those that Dagster has.")
    options: dict[str, str] = Field(default={}, description="In place of the table's: {snapshot.time-retained: 1 d}.")
    without_tags: list[str] = Field(default=[], description="Tags that are taken to be gone.")
    without_consumers: list[str] = Field(default=[], description="Consumers that are taken to be gone.")


def explain_op(tables: Sequence[TableConfig]) -> dg.OpDefinition:
    """Say what keeps a thing."""

    @dg.op(
        name="why_still_there",
        description="Says what keeps a file, snapshot, tag or partition, and what would release it.",
        out=dg.Out(dg.Nothing),
    )
    def explained(context: dg.OpExecutionContext, config: ExplainConfig, catalog: PaimonCatalog) -> None:
        with on_known_table(context, catalog, tables, config.table, EXPLAIN):
            report = explain(
                catalog.get_table(config.table),
                file=config.file,
                snapshot_id=config.snapshot_id,
                tag=config.tag,
                partition=config.partition,
            )
            for keeper in report.kept_by:
                context.log.info(f"{report.subject} is kept by {keeper.holder}: {keeper.reason}. {keeper.release}")
            if not report.kept_by:
                context.log.info(f"Nothing keeps {report.subject}. {report.note}".rstrip())
            context.add_output_metadata(report_metadata(report, plotted=False))

    return explained


def what_if_op(tables: Sequence[TableConfig]) -> dg.OpDefinition:
    """Say what other retention would delete."""

    @dg.op(
        name="other_retention",
        description="Says which snapshots, tags, files and bytes other retention would delete, at once and later.",
        out=dg.Out(dg.Nothing),
    )
    def tried(context: dg.OpExecutionContext, config: WhatIfConfig, catalog: PaimonCatalog) -> None:
        with on_known_table(context, catalog, tables, config.table, WHAT_IF):
            report = what_if(
                catalog.get_table(config.table),
                config.options,
                without_tags=config.without_tags,
                without_consumers=config.without_consumers,
            )
            for loss in report.losses:
                gone = f"{len(loss.snapshots)} snapshots, {len(loss.tags)} tags and {loss.files} files"
                context.log.info(f"By {loss.moment:%Y-%m-%d %H:%M} UTC: {gone} would go, {loss.bytes:,} bytes.")
            context.add_output_metadata(report_metadata(report, plotted=False))

    return tried
