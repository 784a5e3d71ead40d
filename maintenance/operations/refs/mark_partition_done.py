"""Tell others that partitions are complete: procedure `mark_partition_done`.

`partition.mark-done-action` says how, with commas between several. `success-file` writes `_SUCCESS` into the folder of
the partition; `done-partition` adds a partition whose last value ends with `.done` to the metastore; `mark-event`
reports to the catalog; `http-report` posts JSON. Each action can be repeated. With `partition.end-input-to-done` every
write without a commit identifier does this for the partitions that got rows.
Source: Java `PartitionMarkDoneAction`, `HttpReportMarkDoneAction`.
"""

import json
import time
import urllib.error
import urllib.request
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated

from maintenance.errors import DataError, InfrastructureError, OptionError, UnsupportedError
from maintenance.metadata.partition_names import PartitionNames, Spec
from maintenance.metadata.partition_path import partition_path
from maintenance.metadata.success_file import write_success_file
from maintenance.operations.operation import Operation, OperationReport, Plan, Run, Shown
from maintenance.operations.parameters import Param
from maintenance.options import table as table_options
from maintenance.table.partitions import done_partitions
from maintenance.table.table import Table

ACTIONS = ("success-file", "done-partition", "mark-event", "http-report")
_SUCCESS_FILE = "_SUCCESS"
_SECONDS = 180.0


@dataclass(frozen=True, slots=True)
class MarkPartitionDoneReport(OperationReport):
    """`partitions`: their folders, relative to the table; `actions`: what was done for each, or would be."""

    table: str
    partitions: tuple[str, ...]
    actions: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class MarkPartitionDone:
    """Which partitions are complete."""

    partitions: Annotated[Sequence[Spec], Param("The partitions, each by all of its columns.")]


def plan(_: Run, table: Table, request: MarkPartitionDone) -> Plan[MarkPartitionDone, MarkPartitionDoneReport]:
    """Checks whether the actions can be had."""
    actions = _actions(table)
    specs = [_complete(table, spec) for spec in request.partitions]
    if not specs:
        raise DataError("no partition is named", f"table {table.identifier}", "Name some, as a=1,b=2;a=2,b=3.")
    names = tuple(partition_path(spec) for spec in specs)
    return Plan(request, MarkPartitionDoneReport(table.identifier, names, actions), work=specs)


def apply(_: Run, table: Table, planned: Plan[MarkPartitionDone, MarkPartitionDoneReport]) -> MarkPartitionDoneReport:
    """Run the actions."""
    for spec in planned.work:
        for action in planned.report.actions:
            _run(table, action, spec)
    return planned.report


def _shown(report: MarkPartitionDoneReport) -> Shown:
    if not report.dry_run:
        return Shown()
    rows = [(partition, action) for partition in report.partitions for action in report.actions]
    return Shown.texts(("partition", "action"), rows, nothing_to_do=False)


OPERATION = Operation(
    "mark_partition_done",
    "Mark partitions as done.",
    MarkPartitionDone,
    plan,
    apply,
    _shown,
    has_plans=False,
    has_job=False,
)


def check_marking(table: Table) -> None:
    """Check, before rows are written, whether `mark_after_commit` can run. Raises: as `mark_partition_done`."""
    if _marks(table):
        _actions(table)


def mark_after_commit(table: Table, partitions: Collection[bytes]) -> None:
    """Mark partitions that a job has written, if the table wants it: option `partition.end-input-to-done`.

    Args: `partitions`: serialized. Raises: InfrastructureError: a server refuses; the rows are committed.
    """
    if partitions and _marks(table):
        mark_partition_done(table, [table.paths.spec_of(partition) for partition in sorted(partitions)])


def _marks(table: Table) -> bool:
    return bool(table.schema.partition_keys) and table_options.PARTITION_END_INPUT_TO_DONE.of(table.options)


def _actions(table: Table) -> tuple[str, ...]:
    actions = table_options.PARTITION_MARK_DONE_ACTION.of(table.options)
    for action in actions:
        if action == "custom":
            problem = "'partition.mark-done-action' = 'custom' names a class of Java, which cannot run here"
            raise UnsupportedError(problem, f"table {table.identifier}", f"Use {', '.join(ACTIONS)}.")
        if action not in ACTIONS:
            problem = f"'partition.mark-done-action': '{action}' is not an action"
            raise OptionError(problem, f"table {table.identifier}", f"Use {', '.join(ACTIONS)}.")
    registered = table.model.metastore_partitioned_table
    for action in {"done-partition", "mark-event"} & set(actions):
        if not registered or not table.record.keeps_partitions:
            problem = f"'{action}' needs a catalog that keeps the table's partitions"
            fix = "Set 'metastore.partitioned-table' in a Hive or REST catalog, or use another action."
            raise UnsupportedError(problem, f"table {table.identifier}", fix)
    if "http-report" in actions and not table.model.partition_mark_done_action_url:
        problem = "'http-report' needs 'partition.mark-done-action.http.url'"
        raise OptionError(problem, f"table {table.identifier}", "Set it to the address to post to.")
    return actions


def _complete(table: Table, spec: Spec) -> dict[str, str]:
    """The texts of the partition's folder, by columns in the table's order. Raises: DataError."""
    keys = table.schema.partition_keys
    if set(spec) != set(keys) or not keys:
        columns = ", ".join(keys) or "none"
        problem = f"{dict(spec)} does not name a partition"
        raise DataError(problem, f"table {table.identifier}", f"Name all partition columns: {columns}.")
    # What is marked is the folder: where values share one, it does not matter which of them is meant.
    (partition,) = PartitionNames(table.paths, f"table {table.identifier}").chosen([spec])
    return table.paths.folder_texts(partition)


def _run(table: Table, action: str, spec: Mapping[str, str]) -> None:
    match action:
        case "success-file":
            path = f"{table.location}/{partition_path(dict(spec))}/{_SUCCESS_FILE}"
            write_success_file(table.file_io, path, time.time_ns() // 1_000_000)
        case "done-partition":
            table.record.add_partitions(done_partitions([spec]))
        case "mark-event":
            table.record.mark_partitions_done([spec])
        case _:
            _report(table, partition_path(dict(spec)))


def _report(table: Table, partition: str) -> None:
    url = table.model.partition_mark_done_action_url or ""
    body = {
        "params": table_options.PARTITION_MARK_DONE_ACTION_PARAMS.of(table.options),
        "table": table.identifier,
        "path": table.location,
        "partition": partition,
    }
    if not url.startswith(("http://", "https://")):
        problem = f"'partition.mark-done-action.http.url' = '{url}'"
        raise OptionError(problem, f"table {table.identifier}", "Use an http or https address.")
    request = urllib.request.Request(url, json.dumps(body).encode(), {"Content-Type": "application/json"})
    try:
        with urllib.request.urlopen(request, timeout=_SECONDS) as answer:
            result = json.loads(answer.read()).get("result")
    except (urllib.error.URLError, OSError, ValueError, AttributeError) as error:
        fix = "Run mark_partition_done again once that is put right."
        raise InfrastructureError(f"partition {partition} cannot be reported: {error}", url, fix) from error
    if str(result).upper() != "SUCCESS":
        problem = f"partition {partition}: the answer's 'result' is {result!r}, not 'SUCCESS'"
        raise InfrastructureError(problem, url, "Look at the log of that server, then run again.")


mark_partition_done = OPERATION.function(
    """Mark partitions as done: run the table's mark-done actions. The partitions need not have rows.

    Args:
        dry_run: only check whether the actions are available, and report them.
    Raises: DataError: a partition is not named by all columns; OptionError, UnsupportedError: an action is not
        available here, and none has run; InfrastructureError: a server refuses.
    """
)
