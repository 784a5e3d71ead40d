"""A tag created, a table rolled back and a consumer moved from the Launchpad: one job each, for all tables.

They need no pool: a tag disturbs nobody, and a rollback that meets another commit refuses.
"""

from collections.abc import Sequence
from datetime import datetime
from typing import Any
from zoneinfo import ZoneInfo

import dagster as dg
from pydantic import Field

from assets.pages.metadata import report_metadata, report_numbers
from assets.project.config import TableConfig
from assets.project.step_config import TagConfig
from assets.resources.catalog import PaimonCatalog
from assets.resources.spark import Spark
from assets.runs.failures import as_dagster_failure
from assets.steps.expiry import TAG, instant
from assets.steps.ops import failing, known_table, on_known_table, record_state
from assets.steps.plans import kept_plan
from assets.steps.step import Work, run_step
from maintenance.errors import AlreadyExistsError
from maintenance.operations.plans import dry_run_plans as plans
from maintenance.operations.plans.tag_plans import RESET_CONSUMER as CONSUMER_PLANS
from maintenance.operations.refs.reset_consumer import reset_consumer
from maintenance.operations.refs.rollback_to import rollback_to
from maintenance.operations.refs.rollback_to_as_latest import rollback_to_as_latest

# The jobs.
CREATE_TAG, ROLLBACK, ROLLBACK_AS_LATEST, RESET_CONSUMER = (
    "create_tag",
    "rollback",
    "rollback_to_as_latest",
    "reset_consumer",
)


class CreateTagConfig(dg.Config):
    """Which state to tag, and how."""

    table: str = Field(description="database.table, one of those that Dagster has.")
    name: str = Field(description="Of the tag. {date} and {snapshot} are filled in.")
    snapshot_id: int | None = Field(default=None, description="Empty: the newest snapshot.")
    time_retained: str | None = Field(default=None, description="For example 90 d; empty: until it is deleted.")
    dry_run: bool = Field(default=False, description="Only tell which snapshot would be tagged, and keep it as a plan.")


class RollbackConfig(dg.Config):
    """The state to go back to: one of snapshot, tag and time."""

    table: str = Field(description="database.table, one of those that Dagster has.")
    snapshot_id: int | None = Field(default=None, description="The snapshot that is the newest afterwards.")
    tag: str | None = Field(default=None, description="Go back to what this tag holds.")
    time: str | None = Field(default=None, description="To the last snapshot until then: ISO 8601 with an offset.")
    dry_run: bool = Field(default=False, description="Only list what would go, and keep it as a plan.")


class RollbackAsLatestConfig(dg.Config):
    """The state to bring back: that of a snapshot or a tag."""

    table: str = Field(description="database.table, one of those that Dagster has.")
    snapshot_id: int | None = Field(default=None, description="The snapshot whose state is the newest afterwards.")
    tag: str | None = Field(default=None, description="Bring back what this tag holds.")
    dry_run: bool = Field(default=False, description="Only say what would change, and keep it as a plan.")


class ResetConsumerConfig(dg.Config):
    """Which consumer, and where it goes on."""

    table: str = Field(description="database.table, one of those that Dagster has.")
    consumer: str = Field(description="Its id.")
    next_snapshot_id: int | None = Field(
        default=None, description="The snapshot that it reads next; empty: it ends, and holds no snapshot back."
    )
    dry_run: bool = Field(default=False, description="Only say where it stands, and keep a plan.")


def create_tag_op(tables: Sequence[TableConfig], zone: ZoneInfo) -> dg.OpDefinition:
    """Tag a state of a table. `zone`: of the date in its name."""

    @dg.op(name="new_tag", description="Keeps a snapshot under a name.", out=dg.Out(dg.Nothing))
    def create(context: dg.OpExecutionContext, config: CreateTagConfig, catalog: PaimonCatalog, spark: Spark) -> None:
        with as_dagster_failure(context):
            table = known_table(tables, config.table, CREATE_TAG)
        chosen = TagConfig(**config.model_dump(exclude={"table"}))
        work = Work(context, table, chosen, catalog, zone, spark, TAG.opened)
        with failing(context, catalog, table, TAG.name):
            arguments = TAG.arguments(work)
            if arguments is not None and work.table.tags.find(arguments["name"]) is not None:
                problem = f"tag '{arguments['name']}' exists"
                raise AlreadyExistsError(problem, config.table, "Choose another name, or delete the tag first.")
            account = run_step(TAG, work, {})
            if account:
                record_state(context, catalog, table, account)

    return create


def rollback_op(tables: Sequence[TableConfig]) -> dg.OpDefinition:
    """Roll a table back."""

    @dg.op(
        name="earlier_state",
        description="Makes an earlier snapshot the newest; later snapshots and their tags go. Stop the writers first.",
        out=dg.Out(dg.Nothing),
    )
    def rollback(context: dg.OpExecutionContext, config: RollbackConfig, catalog: PaimonCatalog) -> None:
        with on_known_table(context, catalog, tables, config.table, ROLLBACK) as table:
            moment = instant(config.time)
            millis = _millis(moment)
            opened = catalog.get_table(config.table)
            goal: dict[str, Any] = {"snapshot_id": config.snapshot_id, "tag": config.tag, "timestamp_millis": millis}
            if config.dry_run:
                plan = plans.ROLLBACK.plan(opened, **goal)
                context.add_output_metadata(kept_plan(context, catalog, opened.file_io, plan))
            report = rollback_to(opened, **goal, dry_run=config.dry_run)
            verb = "would go" if report.dry_run else "are gone"
            lost = f"{len(report.snapshots)} snapshots and {len(report.tags)} tags {verb}"
            context.log.info(f"{config.table}: from snapshot {report.previous} to {report.current}; {lost}.")
            context.add_output_metadata(report_metadata(report))
            if not report.dry_run:
                numbers = {**report_numbers(report), "snapshots": len(report.snapshots), "tags": len(report.tags)}
                record_state(context, catalog, table, {ROLLBACK: numbers})

    return rollback


def rollback_as_latest_op(tables: Sequence[TableConfig]) -> dg.OpDefinition:
    """Make an earlier state the newest one by a commit."""

    @dg.op(
        name="earlier_state_as_latest",
        description="Commits the state of a snapshot or tag again. Later snapshots and tags stay; writers may go on.",
        out=dg.Out(dg.Nothing),
    )
    def rollback(context: dg.OpExecutionContext, config: RollbackAsLatestConfig, catalog: PaimonCatalog) -> None:
        with on_known_table(context, catalog, tables, config.table, ROLLBACK_AS_LATEST) as table:
            opened = catalog.get_table(config.table).of_run(context.run_id)
            goal: dict[str, Any] = {"snapshot_id": config.snapshot_id, "tag": config.tag}
            if config.dry_run:
                plan = plans.ROLLBACK_AS_LATEST.plan(opened, **goal)
                context.add_output_metadata(kept_plan(context, catalog, opened.file_io, plan))
            report = rollback_to_as_latest(opened, **goal, dry_run=config.dry_run)
            verb = "would come back" if report.dry_run else "come back"
            context.log.info(
                f"{config.table}: {report.returning_files} files with {report.returning_rows:,} rows {verb} from "
                f"snapshot {report.target}, in place of {report.leaving_files} with {report.leaving_rows:,} rows."
            )
            context.add_output_metadata(report_metadata(report, plotted=False))
            if report.current is not None:
                record_state(context, catalog, table, {ROLLBACK_AS_LATEST: report_numbers(report)})

    return rollback


def reset_consumer_op(tables: Sequence[TableConfig]) -> dg.OpDefinition:
    """Move or end a consumer."""

    @dg.op(
        name="consumer_to_move",
        description="Sets the snapshot that a consumer reads next, or deletes the consumer.",
        out=dg.Out(dg.Nothing),
    )
    def reset(context: dg.OpExecutionContext, config: ResetConsumerConfig, catalog: PaimonCatalog) -> None:
        with on_known_table(context, catalog, tables, config.table, RESET_CONSUMER) as table:
            opened = catalog.get_table(config.table)
            goal: dict[str, Any] = {"consumer": config.consumer, "next_snapshot": config.next_snapshot_id}
            if config.dry_run:
                plan = CONSUMER_PLANS.plan(opened, **goal)
                context.add_output_metadata(kept_plan(context, catalog, opened.file_io, plan))
                return
            before = reset_consumer(opened, config.consumer, config.next_snapshot_id)
            then = "is deleted" if config.next_snapshot_id is None else f"reads {config.next_snapshot_id} next"
            context.log.info(f"{config.table}: consumer '{config.consumer}' stood at {before}; it {then}.")
            context.add_output_metadata({"stood at": before or "nothing", "reads next": config.next_snapshot_id or "-"})
            record_state(context, catalog, table, {RESET_CONSUMER: {}})

    return reset


def _millis(moment: datetime | None) -> int | None:
    return None if moment is None else int(moment.timestamp() * 1000)
