"""Plans of dry runs, as `paimonctl` keeps, shows and finds them.

They lie where Dagster keeps its own, so each carries out the other's.
"""

from collections.abc import Sequence
from typing import Any

import click
import pyarrow as pa

from maintenance.errors import OptionError, PaimonError
from maintenance.operations.plan_store import StoredPlan
from maintenance.sql.plans import apply_plan, keep_plan, kept_plan, noted
from maintenance.sql.procedures.procedure import Call, Procedure
from maintenance.sql.result import Result
from maintenance.sql.session_state import SessionState

_SHOWN = 1000


def applied(procedure: Procedure, call: Call, plan_id: str) -> Result:
    """Do what a plan says. `call`: says where deleted files go, and the table if it is named.

    Raises: NotFoundError: there is no such plan; OptionError: it is of another operation or table; OutdatedPlanError:
        what it names has changed, and nothing was done.
    """
    plan = kept_plan(call.session, plan_id)
    named = call.get("table", plan.table)
    if plan.operation not in procedure.operation.keys or plan.table != named:
        raise OptionError(
            f"this plan is about {plan.operation} of {plan.table}",
            f"plan {plan.id}, {procedure.operation.key} of {named}",
            "Use the command of that operation, without a table or with that one.",
        )
    with noted(call.session, plan):
        return apply_plan(call.session, plan, into_bin=bool(call.get("into_bin")), progress=call.progress)


def rows_of(plan: StoredPlan) -> pa.Table:
    """A row for each group of a plan."""
    columns = [("group", "string"), ("files", "int64"), ("bytes", "int64"), ("expected_files", "int64")]
    groups = ((each.name, len(each.files), each.bytes, each.expected_files, each.reason) for each in plan.groups)
    schema = pa.schema([*columns, ("reason", "string")])
    return pa.Table.from_pylist([dict(zip(schema.names, group, strict=True)) for group in groups], schema)


def shown(target: Any, command: str, session: SessionState, plan: StoredPlan) -> None:
    """Print what a plan would do, and its id. Where plans cannot be kept, a warning says so in place of the id."""
    rows, is_table = rows_of(plan), target.output == "table"
    target.print_report(rows.slice(0, _SHOWN) if is_table else rows)
    if is_table and rows.num_rows > _SHOWN:
        click.echo(f"… and {rows.num_rows - _SHOWN:,} more")
    _warn(plan.warnings)
    try:
        plan_id = keep_plan(session, plan)
    except (PaimonError, OSError) as error:
        _warn([f"the plan is not kept: {error}"])
        return
    if target.output == "json":
        click.echo(f'{{"plan": "{plan_id}"}}')
    else:
        how = f"apply {plan_id}" if command == "apply" else f"{command} --apply {plan_id}"
        click.echo(f"plan {plan_id}: paimonctl {how}", err=not is_table)


def _warn(lines: Sequence[str]) -> None:
    for line in lines:
        click.echo(f"Warning: {line}", err=True)
