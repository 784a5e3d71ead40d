"""The steps of any table: those of databases whose tables are partitions of one asset.

The first step says which table a run is about: the config of a job, or the partition of an asset. A step that does not
apply to the table says so and passes on. An op's pool is fixed, so the pool of the table is taken within the step.
"""

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any, cast

import dagster as dg
from pydantic import Field

from maintenance.errors import PaimonError
from maintenance.project.config import TableConfig
from maintenance.spark.errors import as_paimon_error
from maintenance.table.shape import table_shape
from paimon_maintenance.assets import keys
from paimon_maintenance.assets.checks.long_checks import LONG_CHECKS, LongCheck
from paimon_maintenance.assets.dagster_release import InstanceConcurrencyContext, of_partition
from paimon_maintenance.assets.project.table_of_run import FAILED_TABLES, TABLE, failed_tables_of
from paimon_maintenance.assets.resources.catalog import PaimonCatalog
from paimon_maintenance.assets.runs.failures import (
    as_dagster_failure,
    check_parts,
    refuse_if_cancelled,
    worst_part,
)
from paimon_maintenance.assets.runs.history import keep_failure
from paimon_maintenance.assets.runs.summary import RunSummary
from paimon_maintenance.assets.steps.chain import NamedOp, applies
from paimon_maintenance.assets.steps.config import TablesConfig
from paimon_maintenance.assets.steps.ops import BEFORE, ChainOp, failing, known_table, matching_tables, observe_state
from paimon_maintenance.assets.steps.step import Step, run_step

SMALL_BYTES = 64 << 20
"""Tables of up to so many bytes share runs, which compact them in their own process: Spark takes longer to begin."""
_POLL_SECONDS = 0.5
_LINES_SECONDS = 5.0


class ChooseConfig(dg.Config):
    """Which table a run is about."""

    table: str = Field(description="database.table, one of the tables in Dagster, such as sales.orders.")


class InTurnConfig(TablesConfig):
    """Which tables to work on."""

    dry_run: bool = Field(default=False, description="Only show what would be done, and store a plan for each table.")


@dataclass(frozen=True)
class AnyTable:
    """Makes the ops. `tables`: those that a run may be about."""

    tables: Sequence[TableConfig]
    # Assets and jobs share each op: two of one name are not allowed.
    _made: dict[str, dg.OpDefinition] = field(default_factory=dict)

    def choose(self) -> NamedOp:
        """The first step of a job: its config names the table."""
        text = "Says which table this run is about."
        return self._first("choose", text, lambda context: context.op_config["table"], ChooseConfig)

    def choose_partition(self) -> NamedOp:
        """The first step of an asset: its partition is the table."""
        text = "The partition is the table that this run is about."
        return self._first("choose_partition", text, lambda context: context.partition_key)

    def step(self, step: Step) -> NamedOp:
        """A step of the chain."""
        return self.op(ChainOp.of(step))

    def checks(self, action: str) -> list[NamedOp]:
        """The steps of the job that runs long checks."""

        def of(check: LongCheck) -> NamedOp:
            def body(context: dg.OpExecutionContext, table: TableConfig, summary: RunSummary) -> dg.Output[RunSummary]:
                with failing(context, context.resources.catalog, table, check.step):
                    report(context, table, check.result(context, context.op_config, table))
                return dg.Output(summary)

            return self.op(ChainOp(check.step, check.text, body, {"catalog", "spark"}, check.config))

        return [of(check) for check in LONG_CHECKS if check.action == action and any(map(check.applies, self.tables))]

    def in_turn(self, name: str, description: str, action: str, steps: Sequence[Step]) -> dg.OpDefinition:
        """An op that takes some steps on many tables, one table after the other: what a run costs is paid once.

        A table that fails does not stop the others; the run's tag names those that have failed, and where it can help
        they are tried again.
        """

        @dg.op(
            name=name,
            description=description,
            out=dg.Out(dg.Nothing),
            required_resource_keys={"catalog", "spark"},
        )
        def worked_on(context: dg.OpExecutionContext, config: InTurnConfig) -> None:
            outcomes: dict[str, PaimonError | None] = {}
            with as_dagster_failure(context, lambda: context.resources.catalog.place_of(worst_part(outcomes))):
                for table in _still_to_do(context, matching_tables(self.tables, config, name)):
                    refuse_if_cancelled(context.instance, context.run_id)
                    outcomes[table.identifier] = _taken(context, table, action, steps, dry_run=config.dry_run)
                failed = [table for table, error in outcomes.items() if error is not None]
                if failed or context.retry_number:
                    context.instance.add_run_tags(context.run_id, {FAILED_TABLES: ",".join(failed)})
                context.add_output_metadata({"tables": len(outcomes), "tables that failed": len(failed)})
                check_parts(outcomes, "tables")

        return worked_on

    def _first(
        self,
        name: str,
        text: str,
        named: Callable[[dg.OpExecutionContext], str],
        config: type[dg.Config] | None = None,
    ) -> NamedOp:
        """The op that says which table a run is about. `named`: its name."""

        op = ChainOp(name, text, _chosen, frozenset(), config)

        def yielded(context: dg.OpExecutionContext, _: Mapping[str, Any]) -> Iterator[dg.Output[RunSummary]]:
            with as_dagster_failure(context):
                table = known_table(self.tables, named(context), context.job_name)
            yield op.body(context, table, RunSummary())

        return keys.CHOOSE, self._definition(op, yielded, {})

    def op(self, op: ChainOp) -> NamedOp:
        """An op of the table that the first one has chosen."""

        def yielded(context: dg.OpExecutionContext, inputs: Mapping[str, Any]) -> Iterator[dg.Output[RunSummary]]:
            summary = inputs["summary"]
            table = next(table for table in self.tables if table.identifier == summary.table)
            with holding(context, table):
                yield op.body(context, table, summary)

        return op.name, self._definition(op, yielded, BEFORE)

    def _definition(self, op: ChainOp, compute: Callable[..., Any], ins: Mapping[str, dg.In]) -> dg.OpDefinition:
        if op.name not in self._made:
            self._made[op.name] = op.definition(compute, f"any_table__{op.name}", ins)
        return self._made[op.name]


def _still_to_do(context: dg.OpExecutionContext, tables: Sequence[TableConfig]) -> Sequence[TableConfig]:
    """The tables to take; where the step is tried again, those that have failed."""
    run = context.instance.get_run_by_id(context.run_id) if context.retry_number else None
    failed = failed_tables_of(run) if run is not None else ()
    return [table for table in tables if table.identifier in failed] if failed else tables


def _taken(
    context: dg.OpExecutionContext, table: TableConfig, action: str, steps: Sequence[Step], *, dry_run: bool
) -> PaimonError | None:
    """Take the steps that a table has; returns what went wrong. `action`: what they are called together."""
    catalog, summary, has_news = context.resources.catalog, RunSummary(table=table.identifier), False
    quiet = _OfOneTable(context, table)
    try:
        with holding(context, table):
            # An expiry asks for Spark only where there is enough to share.
            is_small = action == "compact" and _bytes_of(catalog, table) <= SMALL_BYTES
            for step in steps:
                if applies(step, table):
                    config = step.config(dry_run=dry_run or summary.is_dry)
                    work = step.work(cast("dg.OpExecutionContext", quiet), table, config)
                    summary = run_step(step, replace(work, spark=None) if is_small else work, summary)
                    has_news |= not all(step.operation.shown(report).nothing_to_do for report in work.reports)
            if has_news and not summary.is_dry:
                observe_state(context, table, summary)
    except Exception as error:  # noqa: BLE001 - a table that fails must not block the others
        found = as_paimon_error(error, f"{action} of {table.identifier}")
        context.log.error(f"{table.identifier}: {action} has failed: {found}")
        keep_failure(context, catalog, table.identifier, action, dg.Failure(str(found)))
        return found
    finally:
        quiet.log.tell()
    return None


def _bytes_of(catalog: PaimonCatalog, table: TableConfig) -> int:
    return table_shape(catalog.get_table(table.identifier)).bytes


def _chosen(context: dg.OpExecutionContext, table: TableConfig, _: RunSummary) -> dg.Output[RunSummary]:
    # So that lists of runs, pauses after failures and alerts know it, however the run was started.
    if context.run.tags.get(TABLE) != table.identifier:
        context.instance.add_run_tags(context.run_id, {TABLE: table.identifier})
    return dg.Output(RunSummary(table=table.identifier))


@contextmanager
def holding(context: dg.OpExecutionContext, table: TableConfig) -> Iterator[None]:
    """Take the table's pool as an op of one table does: no two steps work on a table at the same time."""
    step = context.get_step_execution_context().step.key
    with InstanceConcurrencyContext(context.instance, context.run) as slots:
        pool = keys.pool(table.identifier)
        if not slots.claim(pool, step):
            context.log.info(f"Another run works on {table.identifier}; this step waits for its pool.")
            while not slots.claim(pool, step):
                time.sleep(_POLL_SECONDS)
        try:
            yield
        finally:
            slots.free_step(step)


def report(context: dg.OpExecutionContext, table: TableConfig, result: dg.AssetCheckResult) -> None:
    """Write the result of a check of a table as an event of this run."""
    event = dg.AssetCheckEvaluation(
        asset_key=keys.spot_of(table).asset,
        check_name=str(result.check_name),
        passed=result.passed,
        metadata=result.metadata,
        severity=result.severity,
        description=result.description,
        **of_partition(keys.spot_of(table).partition),  # type: ignore[arg-type] # releases differ
    )
    context.log_event(event)  # type: ignore[arg-type] # it takes evaluations, too


class _OfOneTable:
    """The context of an op that works on many tables: what a step would show on the op's page goes into the log."""

    def __init__(self, context: dg.OpExecutionContext, table: TableConfig) -> None:
        self._context = context
        self.log = _Lines(context.log, table.identifier)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._context, name)

    def add_output_metadata(self, metadata: Mapping[str, Any]) -> None:
        """The id of a plan that was kept; the numbers are in the table's history."""
        if "plan id" in metadata:
            self.log.info(f"Kept the plan {getattr(metadata['plan id'], 'value', metadata['plan id'])}.")


class _Lines:
    """A log of one table. Lines of some seconds are one event, since Dagster stores each by itself, which takes long.

    Warnings are written at once.
    """

    def __init__(self, log: Any, table: str) -> None:
        self._log, self._table = log, table
        self._kept: list[str] = []
        self._told_at = time.monotonic()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._log, name)

    def info(self, line: str) -> None:
        """A line, which is written with those that follow soon."""
        self._kept.append(line)
        if time.monotonic() - self._told_at > _LINES_SECONDS:
            self.tell()

    def tell(self) -> None:
        """Write what is kept."""
        if self._kept:
            self._log.info("\n".join((f"{self._table}:", *self._kept)))
        self._kept, self._told_at = [], time.monotonic()
