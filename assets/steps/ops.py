"""The steps of a table as ops: typed config in, the operation, its report out as metadata.

The ops of a table form a chain, along which the run's summary goes. A table that is an asset has ops of its own, each
with a name and the pool of the table; tables that are partitions share theirs (`any_table`). What a step does is in its
`Step`; the two ops that close a chain are here.
"""

import functools
import time
from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from contextlib import contextmanager
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from typing import Any, Self

import dagster as dg

from maintenance.errors import NotFoundError, OptionError
from maintenance.project.config import TableConfig
from maintenance.table.shape import TableShape, table_shape
from maintenance.table.table import Table
from paimon_maintenance.assets import keys
from paimon_maintenance.assets.checks.closing import health_of, write_checks
from paimon_maintenance.assets.checks.due import automation_of, location_of
from paimon_maintenance.assets.pages.materialization import closing_page, data_version, materialization
from paimon_maintenance.assets.pages.metadata import closing_metadata, shape_numbers
from paimon_maintenance.assets.project.console_links import console_link
from paimon_maintenance.assets.resources.catalog import PaimonCatalog
from paimon_maintenance.assets.runs.failures import as_dagster_failure, refuse_if_cancelled
from paimon_maintenance.assets.runs.history import keep_failure, keep_summary
from paimon_maintenance.assets.runs.progress import LOGGERS
from paimon_maintenance.assets.runs.summary import RunSummary
from paimon_maintenance.assets.steps.chain import NamedOp, applies
from paimon_maintenance.assets.steps.step import Step, run_step

# What an op does to a table, with what the ops before it have done.
Body = Callable[[dg.OpExecutionContext, TableConfig, RunSummary], dg.Output[RunSummary]]
_ASKED_SECONDS = 60.0
BEFORE = {"summary": dg.In(RunSummary, default_value=RunSummary(), description="What the steps before this one did.")}


@functools.cache
def config_schema_of(config: type[dg.Config]) -> Any:
    """What the Launchpad knows of a step's config. The same for every table, and slow to work out."""
    return config.to_config_schema()


@dataclass(frozen=True)
class ChainOp:
    """An op of a chain, of whichever table. `ins`: what comes in besides what the ops before it have done."""

    name: str
    description: str
    body: Body
    resources: Set[str] = frozenset({"catalog"})
    config: type[dg.Config] | None = None
    ins: Mapping[str, dg.In] = field(default_factory=dict)

    @classmethod
    def of(cls, step: Step, ins: Mapping[str, dg.In] | None = None) -> Self:
        """That of a step."""
        body = functools.partial(carried_out, step)
        return cls(step.name, step.description, body, resources_of(step), step.config, ins or {})

    def of_table(self, table: TableConfig) -> NamedOp:
        """The op of one table, with the pool of the table. The first one of a job gets an empty summary."""

        def yielded(context: dg.OpExecutionContext, inputs: Mapping[str, Any]) -> Iterator[dg.Output[RunSummary]]:
            yield self.body(context, table, inputs["summary"])

        name, tag = table.identifier, {"paimon/table": table.identifier}
        ins = {**BEFORE, **self.ins}
        return self.name, self.definition(yielded, keys.node(name, self.name), ins, keys.pool(name), **tag)

    def definition(
        self, compute: Callable[..., Any], name: str, ins: Mapping[str, dg.In], pool: str | None = None, **tags: str
    ) -> dg.OpDefinition:
        """The op under a name.

        It does what `dg.op` does with annotations, without looking at them again for each of a thousand tables, which
        makes the definitions of a step in less than half the time.
        """
        return dg.OpDefinition(
            compute,
            name=name,
            description=self.description,
            ins=ins,
            outs={"result": dg.Out(RunSummary)},
            config_schema=None if self.config is None else config_schema_of(self.config),
            required_resource_keys=set(self.resources),
            pool=pool,
            tags={"paimon/action": self.name, **tags},
        )


def resources_of(step: Step) -> set[str]:
    """What the op of a step needs."""
    return {"catalog", "spark"} if step.operation.uses_spark else {"catalog"}


def carried_out(
    step: Step, context: dg.OpExecutionContext, table: TableConfig, summary: RunSummary
) -> dg.Output[RunSummary]:
    """A step of a table, with the config of its op; one that the table has not passes on."""
    if not applies(step, table):
        context.log.info(f"{table.identifier} has no step {step.name}.")
        return dg.Output(summary)
    config, catalog = step.config(**context.op_config), context.resources.catalog
    if summary.is_dry:
        config = config.model_copy(update={"dry_run": True})
    with as_dagster_failure(context):
        absent = summary.is_dry and catalog.get_or_none(table.identifier)[1] is None
    if absent:
        context.log.info("Nothing to plan: the table does not exist yet.")
        return dg.Output(summary)
    with failing(context, catalog, table, step.name):
        return dg.Output(run_step(step, step.work(context, table, config), summary))


@contextmanager
def failing(context: dg.OpExecutionContext, catalog: PaimonCatalog, table: TableConfig, step: str) -> Iterator[None]:
    """A step's failure is shown in one form, and written into the history."""
    try:
        with as_dagster_failure(context, lambda: catalog.place_of(table.identifier)):
            refuse_if_cancelled(context.instance, context.run_id)
            yield
    except dg.Failure as failure:
        keep_failure(context, catalog, table.identifier, step, failure)
        raise


def known_table(tables: Sequence[TableConfig], identifier: str, job: str) -> TableConfig:
    """The table of that name. Raises: NotFoundError: this project does not maintain it."""
    config = next((table for table in tables if table.identifier == identifier), None)
    if config is None:
        names = ", ".join(table.identifier for table in tables[:20])
        raise NotFoundError(f"'{identifier}' is not one of the tables here", f"job {job}", f"There are: {names}.")
    return config


def matching_tables(tables: Sequence[TableConfig], config: Any, job: str) -> list[TableConfig]:
    """Those that a pattern of the config's `tables` names and none of its `without`. Raises: OptionError: none is."""

    def is_named(table: TableConfig, patterns: Sequence[str]) -> bool:
        return any(fnmatchcase(table.identifier, pattern) for pattern in patterns)

    found = [table for table in tables if is_named(table, config.tables) and not is_named(table, config.without)]
    if not found:
        names = ", ".join(table.identifier for table in tables[:20])
        problem = f"no table matches {', '.join(config.tables) or 'nothing'}"
        raise OptionError(problem, f"config of {job}", f"There are {names}.")
    return found


def described(context: dg.OpExecutionContext, table: TableConfig, summary: RunSummary) -> dg.Output[RunSummary]:
    """The output that closes an asset's chain."""
    catalog = context.resources.catalog
    with failing(context, catalog, table, "describe"):
        metadata, version = _closed(context, catalog, table, summary)
        return dg.Output(summary, metadata=metadata, data_version=dg.DataVersion(version))


def recorded(context: dg.OpExecutionContext, table: TableConfig, summary: RunSummary) -> dg.Output[RunSummary]:
    """The output that closes the chain of a job that is not an asset's."""
    catalog = context.resources.catalog
    with failing(context, catalog, table, "record"):
        if summary.is_dry and not summary.steps:
            context.log.info("Nothing to record: this was a dry run.")
        else:
            record_state(context, catalog, table, summary)
        return dg.Output(summary)


DESCRIBE = ChainOp("describe", "Reads the table's metadata and records it with the asset.", described)
RECORD = ChainOp("record", "Reports the table's new state to its asset.", recorded)


def job_of_op(name: str, op: dg.OpDefinition, action: str | None = None) -> dg.JobDefinition:
    """The job of an op alone, which says what it does. `action`: what its runs do, if it is not called so."""
    graph = dg.GraphDefinition(name=name, node_defs=[op])
    return job_of(graph, op.description or name, {"paimon/action": action or name}, console_link(""))


def job_of(
    graph: dg.GraphDefinition, description: str, tags: Mapping[str, str], metadata: Mapping[str, Any] | None = None
) -> dg.JobDefinition:
    """The job of a graph: a run is one process."""
    return graph.to_job(
        description=description, tags=tags, metadata=metadata, executor_def=dg.in_process_executor, logger_defs=LOGGERS
    )


def record_state(
    context: dg.OpExecutionContext, catalog: PaimonCatalog, table: TableConfig, summary: RunSummary, more: str = ""
) -> None:
    """Report a table to its asset, as it is after the steps of a run, and write these into the history.

    `more`: what is said behind the names of the steps.
    """
    metadata, version = _closed(context, catalog, table, summary)
    text = f"After {', '.join(summary.steps) or 'nothing'}{more}."
    context.log_event(materialization(keys.spot_of(table), version, text, metadata))


def observe_state(context: dg.OpExecutionContext, table: TableConfig, summary: RunSummary) -> None:
    """The same for one of many tables whose rows are what they were: an observation, with the checks that turned.

    A materialisation would ask for every check again, which Dagster stores one by one: it takes longer than the work.
    Where the sensor `check_radar` ticks, it judges the table soon and shows who holds its bytes, and the run does not.
    """
    catalog = context.resources.catalog
    opened, shape = _kept(context, catalog, table, summary)
    if _is_judged_soon(context):
        page = closing_metadata(opened, shape, summary)
    else:
        health = health_of(context, catalog, table)
        page = closing_page(context, catalog, table, opened, shape, summary, health)
        write_checks(context, catalog, table, health, turned_only=True)
    _observe(context, table, f"After {', '.join(summary.steps)}.", page)


def report_changed(
    context: dg.OpExecutionContext, catalog: PaimonCatalog, table: TableConfig, shape: TableShape, operation: str
) -> None:
    """Report a table that a run over many has changed to its asset, as far as that needs no look at its files."""
    if not _is_judged_soon(context):
        write_checks(context, catalog, table, turned_only=True)
    _observe(context, table, f"After {operation}.", {"snapshot": shape.snapshot_id or 0, **shape_numbers(shape)})


def _is_judged_soon(context: dg.OpExecutionContext) -> bool:
    asked = int(time.monotonic() / _ASKED_SECONDS)
    return _judges(context.instance, location_of(context.run), context.run_id, asked)


@functools.lru_cache(maxsize=1)
def _judges(instance: dg.DagsterInstance, location: str | None, _run: str, _asked: int) -> bool:
    """Whether `check_radar` ticks. Asked once a minute: the states of sensors hold what they know of each table."""
    return automation_of(instance, location).judges


def _observe(context: dg.OpExecutionContext, table: TableConfig, text: str, page: Mapping[str, Any]) -> None:
    spot = keys.spot_of(table)
    context.log_event(dg.AssetObservation(spot.asset, partition=spot.partition, description=text, metadata=page))


def _closed(
    context: dg.OpExecutionContext, catalog: PaimonCatalog, table: TableConfig, summary: RunSummary
) -> tuple[dict[str, Any], str]:
    """Write the summary of a run into the history, and the table's checks; returns its page, and its data version."""
    opened, shape = _kept(context, catalog, table, summary)
    health = health_of(context, catalog, table)
    page = closing_page(context, catalog, table, opened, shape, summary, health)
    write_checks(context, catalog, table, health)
    return page, data_version(opened, shape.snapshot_id)


def _kept(
    context: dg.OpExecutionContext, catalog: PaimonCatalog, table: TableConfig, summary: RunSummary
) -> tuple[Table, TableShape]:
    """A table as a run leaves it; the summary of the run is written into the history."""
    opened = catalog.get_table(table.identifier).of_run(context.run_id)
    shape = table_shape(opened)
    keep_summary(context, catalog, table.identifier, shape, summary)
    return opened, shape
