"""The steps of a table as ops: typed config in, the operation, its report out as metadata.

The ops of a table form a chain, along which the run's summary goes. Each op of a table has a name and the pool of its
own table, so the ops are made per table. What a step does is in its `Step`; the two ops that close a chain are here.
"""

import functools
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from fnmatch import fnmatchcase
from types import MappingProxyType
from typing import Any
from zoneinfo import ZoneInfo

import dagster as dg

from maintenance.errors import NotFoundError, OptionError
from maintenance.project.config import TableConfig
from maintenance.table.shape import table_shape
from paimon_maintenance.assets import keys
from paimon_maintenance.assets.checks.closing import write_checks
from paimon_maintenance.assets.pages.materialization import closing_page, data_version, materialization
from paimon_maintenance.assets.resources.catalog import PaimonCatalog
from paimon_maintenance.assets.runs.failures import as_dagster_failure, refuse_if_cancelled
from paimon_maintenance.assets.runs.history import keep_failure, keep_summary
from paimon_maintenance.assets.runs.progress import LOGGERS
from paimon_maintenance.assets.runs.summary import RunSummary
from paimon_maintenance.assets.steps.step import Step, run_step

DESCRIBES = "Reads the table's metadata and records it with the asset."
RECORDS = "Reports the table's new state to its asset."
Compute = Callable[[dg.OpExecutionContext, RunSummary], dg.Output[RunSummary]]


@functools.cache
def config_schema_of(config: type[dg.Config]) -> Any:
    """What the Launchpad knows of a step's config. The same for every table, and slow to work out."""
    return config.to_config_schema()


def step_op(step: Step, table: TableConfig, zone: ZoneInfo) -> dg.OpDefinition:
    """A step of a table. `zone`: where days begin, unless the table's settings say otherwise."""

    def compute(context: dg.OpExecutionContext, summary: RunSummary) -> dg.Output[RunSummary]:
        return carried_out(step, context, table, zone, summary)

    return _op(table, step.name, step.description, compute, resources_of(step), config_schema_of(step.config), step.ins)


def resources_of(step: Step) -> set[str]:
    """What the op of a step needs."""
    return {"catalog", "spark"} if step.operation.uses_spark else {"catalog"}


def carried_out(
    step: Step, context: dg.OpExecutionContext, table: TableConfig, zone: ZoneInfo, summary: RunSummary
) -> dg.Output[RunSummary]:
    """A step of a table, with the config of its op."""
    config, catalog = step.config(**context.op_config), context.resources.catalog
    if summary.is_dry:
        config = config.model_copy(update={"dry_run": True})
    with as_dagster_failure(context):
        absent = summary.is_dry and catalog.get_or_none(table.identifier)[1] is None
    if absent:
        context.log.info("Nothing to plan: the table does not exist yet.")
        return dg.Output(summary)
    with failing(context, catalog, table, step.name):
        return dg.Output(run_step(step, step.work(context, table, config, zone), summary))


def _op(
    table: TableConfig,
    step: str,
    description: str,
    compute: Compute,
    resources: set[str],
    config_schema: Any = None,
    ins: Mapping[str, dg.In] = MappingProxyType({}),
) -> dg.OpDefinition:
    """An op of a table's chain. The first one of a job gets an empty summary.

    It does what `dg.op` does with annotations, without looking at them again for each of a thousand tables, which
    makes the definitions of a step in less than half the time.
    """

    def yielded(context: dg.OpExecutionContext, inputs: Mapping[str, RunSummary]) -> Iterator[dg.Output[RunSummary]]:
        yield compute(context, inputs["summary"])

    summary = dg.In(RunSummary, default_value=RunSummary(), description="What the steps before this one did.")
    return dg.OpDefinition(
        yielded,
        name=keys.node(table.identifier, step),
        description=description,
        ins={"summary": summary, **ins},
        outs={"result": dg.Out(RunSummary)},
        config_schema=config_schema,
        required_resource_keys=resources,
        pool=keys.pool(table.identifier),
        tags={"paimon/table": table.identifier, "paimon/action": step},
    )


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


@contextmanager
def on_known_table(
    context: dg.OpExecutionContext,
    catalog: PaimonCatalog,
    tables: Sequence[TableConfig],
    identifier: str,
    step: str,
) -> Iterator[TableConfig]:
    """The table that a job was given by name. Failures: as of `failing`; NotFoundError: see `known_table`."""
    with as_dagster_failure(context):
        table = known_table(tables, identifier, step)
    with failing(context, catalog, table, step):
        yield table


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


def describe_op(table: TableConfig) -> dg.OpDefinition:
    """Close an asset's chain: its output is the table as it now stands."""

    def describe(context: dg.OpExecutionContext, summary: RunSummary) -> dg.Output[RunSummary]:
        return described(context, table, summary)

    return _op(table, "describe", DESCRIBES, describe, {"catalog"})


def described(context: dg.OpExecutionContext, table: TableConfig, summary: RunSummary) -> dg.Output[RunSummary]:
    """The output that closes an asset's chain."""
    catalog = context.resources.catalog
    with failing(context, catalog, table, "describe"):
        metadata, version = _closed(context, catalog, table, summary)
        return dg.Output(summary, metadata=metadata, data_version=dg.DataVersion(version))


def record_op(table: TableConfig) -> dg.OpDefinition:
    """Close the chain of a job that is not an asset's: report the table's new state to its asset."""

    def record(context: dg.OpExecutionContext, summary: RunSummary) -> dg.Output[RunSummary]:
        return recorded(context, table, summary)

    return _op(table, "record", RECORDS, record, {"catalog"})


def recorded(context: dg.OpExecutionContext, table: TableConfig, summary: RunSummary) -> dg.Output[RunSummary]:
    """The output that closes the chain of a job that is not an asset's."""
    catalog = context.resources.catalog
    with failing(context, catalog, table, "record"):
        if summary.is_dry and not summary.steps:
            context.log.info("Nothing to record: this was a dry run.")
        else:
            record_state(context, catalog, table, summary)
        return dg.Output(summary)


def job_of_op(name: str, op: dg.OpDefinition, description: str, action: str | None = None) -> dg.JobDefinition:
    """The job of an op alone. `action`: what its runs do, if it is not called so."""
    return job_of(dg.GraphDefinition(name=name, node_defs=[op]), description, {"paimon/action": action or name})


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


def _closed(
    context: dg.OpExecutionContext, catalog: PaimonCatalog, table: TableConfig, summary: RunSummary
) -> tuple[dict[str, Any], str]:
    """Write the summary of a run into the history, and the table's checks; returns its page, and its data version."""
    opened = catalog.get_table(table.identifier).of_run(context.run_id)
    shape = table_shape(opened)
    keep_summary(context, catalog, table.identifier, shape, summary)
    page = closing_page(context, catalog, table, opened, shape, summary)
    write_checks(context, catalog, table)
    return page, data_version(opened, shape.snapshot_id)
