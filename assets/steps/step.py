"""One operation as a step of a table's chain: how it is planned, applied, run and shown; and what runs each of them.

A step is a record, `Step`; `run_step` is the only way through it. With `plan_id` the plan is applied; a dry run makes a
plan, keeps it and shows it; anything else runs the operation. What differs between operations is in the record alone.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any
from zoneinfo import ZoneInfo

import dagster as dg

from assets.pages.metadata import before_and_after, report_metadata, report_numbers, shape_numbers, warn_of_finding
from assets.project.config import TableConfig
from assets.resources.catalog import PaimonCatalog
from assets.resources.spark import Spark
from assets.runs.account import BEFORE, Account
from assets.runs.failures import check_groups
from assets.steps.plans import kept_plan, planned
from maintenance.operations.compaction.report import CompactReport
from maintenance.operations.plans.stored_plan import StoredPlan
from maintenance.table.table import Table

# What an operation is asked for, as a step's config and tables.yaml say: its arguments, or its request.
Arguments = Any
Metadata = Mapping[str, Any]


@dataclass(frozen=True)
class Work:
    """What a step has to do: on which table, with which config.

    Attributes:
        zone: where days begin, unless the table's settings say otherwise.
        spark: None for steps that need none.
        opened: how the step opens its table.
        sessions: of Spark, that the step has asked for.
    """

    context: dg.OpExecutionContext
    described: TableConfig
    config: Any
    catalog: PaimonCatalog
    zone: ZoneInfo
    spark: Spark | None
    opened: "Callable[[Work], Table]"
    sessions: list[Any] = field(default_factory=list)

    @cached_property
    def table(self) -> Table:
        """The table, opened once. Raises: NotFoundError."""
        return self.opened(self)

    @property
    def dry_run(self) -> bool:
        return bool(self.config.dry_run)

    def session(self) -> Any:
        """The Spark session; the table is opened first, so that Spark is not started for nothing."""
        _ = self.table
        if self.spark is None:
            return None
        self.sessions.append(self.spark.session())
        return self.sessions[-1]

    @property
    def spark_source(self) -> Any:
        """What gives the Spark session to operations that ask for it only once there is enough to share."""
        return None if self.spark is None else self.session

    def say(self, line: str) -> None:
        """A line in the run's log."""
        self.context.log.info(line)


def open_table(work: Work) -> Table:
    """The table of a step, with the id of the run for what it commits."""
    return work.catalog.get_table(work.described.identifier).of_run(work.context.run_id)


def show_report(work: Work, account: Account, step: str, report: Any, metadata: Metadata) -> Account:
    """Show a report and `metadata` on the step's output, and add the report's numbers to the account."""
    warn_of_finding(work.context, report)
    work.context.add_output_metadata({**metadata, **report_metadata(report, plotted=False)})
    return {**account, step: report_numbers(report)}


def show_compaction(work: Work, account: Account, step: str, report: CompactReport, metadata: Metadata) -> Account:
    """As `show_report`, with the table before and after; fails if a group failed, which must not look like success."""
    warn_of_finding(work.context, report)
    before, after = shape_numbers(report.before), shape_numbers(report.after)
    check_groups(report.groups)
    # A dry run leaves the table as it is: its plan says what is expected.
    sizes = {} if work.dry_run else {"before and after": before_and_after(before, after)}
    work.context.add_output_metadata({**metadata, **report_metadata(report, plotted=False), **sizes})
    numbers = {
        **report_numbers(report),
        "input_bytes": sum(group.input_bytes for group in report.groups),
        "rows": sum(group.output_rows for group in report.groups if group.changed),
        "proof": str(report.proof.get("mode", "")),
    }
    return {BEFORE: before, **account, step: {**numbers, "before": before, "after": after}}


@dataclass(frozen=True)
class Preview:
    """What a dry run has found.

    Attributes:
        plan: what the operation would do now.
        report: of the dry run; None where the plan says it all.
        beside: more to show with the plan.
    """

    plan: StoredPlan
    report: Any = None
    beside: Metadata = field(default_factory=dict)


@dataclass(frozen=True)
class Step:
    """An operation in Dagster.

    Attributes:
        name: of the step, in the Launchpad, the history and plans.
        config: what may be set for a run; it has `dry_run` and `plan_id`.
        arguments: of the operation; None: there is nothing to do, and the log says why.
        preview: what the operation would do now; changes nothing.
        apply: does what a plan says, and nothing else; returns the report, None: there was nothing to do.
        run: does it now; returns the report.
        show: the report, on the step's output and in the account.
        opened: how the table is opened.
        uses_spark: whether the step may ask for a Spark session.
        ins: more inputs of the op.
    """

    name: str
    description: str
    config: type[dg.Config]
    arguments: Callable[[Work], Arguments | None]
    preview: Callable[[Work, Arguments], Preview]
    apply: Callable[[Work, StoredPlan], Any]
    run: Callable[[Work, Arguments], Any]
    show: Callable[[Work, Account, str, Any, Metadata], Account] = show_report
    opened: Callable[[Work], Table] = open_table
    uses_spark: bool = False
    ins: Mapping[str, dg.In] = field(default_factory=dict)


def run_step(step: Step, work: Work, account: Account) -> Account:
    """Carry out a step; returns the account behind it. Raises: as the operation; OptionError: more beside a plan."""
    plan = planned(work.config, work.catalog, work.catalog.file_io())
    if plan is not None:
        work = replace(work, opened=lambda opening: step.opened(opening).copy(plan.table_options))
        return _shown(step, work, account, step.apply(work, plan), {"plan id": plan.id})
    arguments = step.arguments(work)
    if arguments is None:
        return account
    if not work.dry_run:
        return _shown(step, work, account, step.run(work, arguments), {})
    made = step.preview(work, arguments)
    kept = {**kept_plan(work.context, work.catalog, work.catalog.file_io(), made.plan), **made.beside}
    if made.report is None:
        work.context.add_output_metadata(kept)
        return account
    return _shown(step, work, account, made.report, kept)


def _shown(step: Step, work: Work, account: Account, report: Any, metadata: Metadata) -> Account:
    if report is None:
        return account
    # The session may be that of an earlier step.
    spark = work.spark.metadata() if work.spark is not None and work.sessions else {}
    tasks: int | None = getattr(report, "spark_tasks", None)
    if tasks is not None:
        work.say(
            f"{tasks} Spark tasks shared the work." if tasks else "This process did it in one batch: see spark_tasks."
        )
    return step.show(work, account, step.name, report, {**metadata, **spark})
