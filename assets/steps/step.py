"""One operation as a step of a table's chain: how it is planned, applied, run and shown; and what runs each of them.

A `Step` is made of an operation; `run_step` is the only way through it. With `plan_id` the plan is applied; a dry run
makes a plan, keeps it and shows it; anything else runs the operation.
"""

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, is_dataclass, replace
from functools import cached_property
from types import MappingProxyType
from typing import Any, Self

import dagster as dg

from maintenance.operations.bin.run import BinRun
from maintenance.operations.history import Used
from maintenance.operations.operation import Operation, Run, Warehouse, operation
from maintenance.operations.plan_store import StoredPlan
from maintenance.project.chain import options_of
from maintenance.project.config import TableConfig
from maintenance.table.table import Table
from paimon_maintenance.assets.pages.metadata import report_metadata, warn_of_finding
from paimon_maintenance.assets.resources.catalog import PaimonCatalog
from paimon_maintenance.assets.resources.spark import Spark
from paimon_maintenance.assets.runs.summary import RunSummary, StepSummary, report_numbers
from paimon_maintenance.assets.steps.config import config_of, request_of, step_config
from paimon_maintenance.assets.steps.plans import kept_plan, person_of, planned, refuse_unplanned

Metadata = Mapping[str, Any]
_NO_METADATA: Metadata = MappingProxyType({})


@dataclass(frozen=True)
class Work:
    """What a step has to do: on which table, with which config.

    Attributes:
        of: the table as tables.yaml describes it; None: the step is about the whole catalog.
        spark: None for steps that need none.
        opened: how the step opens its table or catalog.
        sessions: of Spark, that the step has asked for.
        reports: what the step has done.
    """

    context: dg.OpExecutionContext
    of: TableConfig | None
    config: Any
    catalog: PaimonCatalog
    spark: Spark | None
    opened: "Callable[[Work], Any]"
    sessions: list[Any] = field(default_factory=list)
    reports: list[Any] = field(default_factory=list)

    @property
    def described(self) -> TableConfig:
        """The table as tables.yaml describes it."""
        assert self.of is not None
        return self.of

    @cached_property
    def place(self) -> Any:
        """The table, catalog or warehouse, opened once. Raises: NotFoundError."""
        return self.opened(self)

    @property
    def table(self) -> Table:
        """The same of a step that is about a table."""
        table: Table = self.place
        return table

    @property
    def dry_run(self) -> bool:
        return bool(getattr(self.config, "dry_run", False))

    def session(self) -> Any:
        """The Spark session; the table is opened first, so that Spark is not started for nothing."""
        _ = self.place
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


@dataclass(frozen=True)
class Preview:
    """What a dry run has found.

    Attributes:
        plan: what the operation would do now.
        report: of the dry run; None where the plan says it all.
        more: to show with the plan.
    """

    plan: StoredPlan
    report: Any = None
    more: Metadata = field(default_factory=dict)


def _nothing(*_: Any) -> Metadata:
    return {}


@dataclass(frozen=True)
class Step:
    """An operation in Dagster. Those that differ from it say only in what.

    Attributes:
        description: of the op; empty: the operation's.
        config: what may be set for a run; it has `dry_run`. None = what `step_config` makes of the operation.
        policy: fields of the request as tables.yaml says them, where the config leaves them empty.
        with_plan: fields of the request as tables.yaml says them while a kept plan is carried out.
        instead: fields of the config, as of `step_config`.
    """

    operation: Operation[Any, Any, Any]
    description: str = ""
    config: Any = None
    policy: Callable[[Work], Metadata] = _nothing
    with_plan: Callable[[Work], Metadata] = _nothing
    instead: Metadata = field(default_factory=dict)

    def __post_init__(self) -> None:
        object.__setattr__(self, "config", self.config or step_config(self.operation, instead=self.instead))
        object.__setattr__(self, "description", self.description or self.operation.summary)

    @classmethod
    def alone(cls, name: str, description: str = "", *, instead: Metadata = _NO_METADATA, **more: Any) -> Self:
        """That of a job of an operation alone. `more`: what else the step says."""
        return cls(operation(name), description, config_of(operation(name), instead), **more)

    @property
    def name(self) -> str:
        """Of the step, in the Launchpad, the history and plans."""
        return self.operation.key

    def work(self, context: dg.OpExecutionContext, table: TableConfig | None, config: Any) -> Work:
        """What it has to do in a run. `table`: as tables.yaml describes it."""
        spark = context.resources.spark if self.operation.uses_spark else None
        return Work(context, table, config, context.resources.catalog, spark, self.opened)

    def found(self, work: Work) -> Table:
        """The table as the catalog has it."""
        return work.catalog.get_table(work.described.identifier)

    def opened(self, work: Work) -> Any:
        """What it is about; a table has the id of the run for what is committed, and the options of tables.yaml."""
        if self.operation.of_warehouse:
            return Warehouse(work.catalog.file_io(), work.catalog.root())
        if self.operation.of_catalog:
            return work.catalog.open()
        table = self.found(work).of_run(work.context.run_id)
        options = options_of(self.operation.name, work.described, table)
        return table.copy(options) if options else table

    def bound(self, work: Work) -> Operation[Any, Any, Any]:
        """The operation, as it does this work."""
        return self.operation

    def request(self, work: Work) -> Any:
        """What is asked for; None: there is nothing to do, and the log says why."""
        return request_of(self.operation, work.config, self.policy(work))

    def preview(self, work: Work, request: Any) -> Preview:
        """What would be done now. The plan of many tables says it all: a report would look for it a second time."""
        made, plan = self.bound(work).keepable(self.run_of(work), work.place, request)
        return Preview(plan, None if self.operation.of_catalog else self.operation.foretold(made))

    def apply(self, work: Work, plan: StoredPlan) -> Any:
        """Do what a plan says, and nothing else. Returns the report, None: there was nothing to do."""
        return self.bound(work).carry_out(work.place, plan, self.run_of(work), **self.with_plan(work))

    def run(self, work: Work, request: Any) -> Any:
        """Do it now. Returns the report."""
        return self.bound(work).run(self.run_of(work), work.place, request)

    def run_of(self, work: Work) -> Run:
        """With what the operation works."""
        asked = bool(getattr(work.config, "into_bin", False))
        takes_bin = self.operation.takes_bin and self.operation.is_of_table and not work.dry_run
        into = into_bin(work, self.operation.name) if takes_bin and (asked or work.described.bin is not None) else None
        return Run(work.spark_source, work.say, into, warehouse=work.catalog.root, into_bin=asked)

    def told(self, report: Any) -> tuple[str, ...]:
        """A report in sentences. `show` has a row for each of many tables, and says which parts have failed."""
        said = tuple(self.operation.said(report))
        if said or self.operation.of_catalog:
            return said
        return self.operation.told(report, self.operation.shown(report))

    def show(self, work: Work, report: Any, metadata: Metadata) -> StepSummary:
        """Show a report and `metadata` on the step's output. Returns what goes into the summary of the run."""
        warn_of_finding(work.context, report)
        shown = report_metadata(report, plotted=False) if is_dataclass(report) else {}
        work.context.add_output_metadata({**metadata, **shown})
        return StepSummary(report_numbers(report) if is_dataclass(report) else {})


def into_bin(work: Work, operation: str) -> BinRun:
    """The run of the bin that takes what a step deletes."""
    run = BinRun.begin(work.table, work.catalog.root(), operation)
    work.say(f"What this step deletes can be restored from the bin: run {run.head.run}.")
    return run


def run_step(step: Step, work: Work, summary: RunSummary) -> RunSummary:
    """Carry out a step; returns the summary behind it. Raises: as the operation; OptionError: more than a plan."""
    plan = planned(work.config, work.catalog)
    started, before = time.monotonic(), Used.so_far()
    metadata, facts = _NO_METADATA, _NO_METADATA
    if plan is not None:
        if plan.table_options:
            work = replace(work, opened=lambda opening: step.opened(opening).copy(plan.table_options))
        metadata, facts = {"plan id": plan.id}, plan.people(person_of(work.context))
        report = step.apply(work, plan)
    else:
        request = step.request(work)
        if work.dry_run:
            if request is not None:
                _preview(step, work, request)
            return summary.and_dry()
        report = None if request is None else step.run(work, request)
    if report is None:
        return summary
    seconds, used = time.monotonic() - started, before.until_now()
    done = _shown(step, work, report, metadata)
    # How long it took, if its report does not say it.
    return summary.and_then(step.name, replace(done, facts={"seconds": seconds, **used, **done.facts, **facts}))


def _preview(step: Step, work: Work, request: Any) -> None:
    """Show what would be done, and keep it as a plan. Raises: dg.Failure: some tables could not be planned."""
    made = step.preview(work, request)
    kept = {**kept_plan(work.context, work.catalog, made.plan), **made.more}
    if made.report is None:
        work.context.add_output_metadata(kept)
    else:
        _shown(step, work, made.report, kept)
    refuse_unplanned(made.plan, kept)


def _shown(step: Step, work: Work, report: Any, metadata: Metadata) -> StepSummary:
    work.reports.append(report)
    # The session may be that of an earlier step.
    spark = work.spark.metadata() if work.spark is not None and work.sessions else {}
    tasks: int | None = getattr(report, "spark_tasks", None)
    if tasks is not None:
        work.say(
            f"{tasks} Spark tasks shared the work." if tasks else "This process did it in one batch: see spark_tasks."
        )
    said = step.told(report)
    for line in said:
        work.say(line)
    happened = {"what happened": "\n".join(said)} if said and not work.dry_run else {}
    return step.show(work, report, {**metadata, **happened, **spark})
