"""A command for each operation, made of the parameters of its procedure; and plans of dry runs, kept and shown.

They lie where Dagster keeps its own, so each carries out the other's.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import click
import pyarrow as pa

from maintenance.amounts import seconds_text
from maintenance.cli.choices import JSON
from maintenance.cli.exits import NOTHING_TO_DO
from maintenance.cli.progress import shown_progress
from maintenance.errors import OptionError, PaimonError
from maintenance.operation_names import commands
from maintenance.operations.history import HISTORY_DATABASE, planned_seconds
from maintenance.operations.parameters import Param
from maintenance.operations.plan_store import StoredPlan
from maintenance.sql.plans import apply_plan, keep_plan, kept_plan, noted
from maintenance.sql.procedures.procedure import DRY_RUN, INTO_BIN, TABLE, Call, Procedure
from maintenance.sql.procedures.registry import PROCEDURES
from maintenance.sql.result import Result
from maintenance.sql.session_state import SessionState

# What may stand beside --apply: all else the plan says.
_WITH_A_PLAN = (TABLE.name, INTO_BIN.name)
_GROUPS_SHOWN = 1000


def operation_command(name: str) -> click.Command:
    """The command of an operation: required parameters are arguments, the others options."""
    procedure = PROCEDURES[name]
    command = name.replace("_", "-")

    @click.pass_context
    def run(context: click.Context, /, **given: Any) -> int:
        target = context.obj.as_json() if given.pop("as_json") else context.obj
        plan_id, only_id = given.pop("apply_plan", None), given.pop("only_id", False)
        if plan_id is None:
            _check_required(context, procedure, given)
        else:
            _check_with_plan(given)
        values = _values(procedure, given)
        beside: Mapping[str, Any] = {}
        project = target.project() if procedure.operation.by_tables_yaml else None
        if project is not None:
            from maintenance.project.given import given_by

            found = given_by(project, procedure.operation.by_tables_yaml, str(values.get(TABLE.name, "")))
            if found.said:
                click.echo(f"By {found.said}.", err=True)
            values, beside = {**found.arguments, **values}, found.beside
        dry_run = bool(given.get(DRY_RUN.name)) or only_id
        with shown_progress() as progress:
            call = Call(target.session(), values, progress, beside)
            if plan_id is not None:
                result = _applied(procedure, call, plan_id)
            elif dry_run and procedure.has_plans:
                plan = procedure.make(call)
                if plan is None and only_id:
                    raise click.UsageError("A plan is of one table or branch: name one.")
                if plan is not None and (plan.groups or only_id or DRY_RUN not in procedure.parameters):
                    return show_plan(target, call.session, command, plan, only_id=only_id)
                result = procedure.run(replace(call, values={**values, DRY_RUN.name: True}))
            else:
                result = procedure.run(call)
        code: int = target.report(result)
        return code

    summary = commands()[name]
    return click.Command(
        command, callback=run, params=_parameters(procedure), help=_help(command, procedure), short_help=summary
    )


def _applied(procedure: Procedure, call: Call, plan_id: str) -> Result:
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


def show_plan(target: Any, session: SessionState, command: str, plan: StoredPlan, *, only_id: bool) -> int:
    """Keep a plan and print what it would do and its id, or its id alone. Returns: the exit code.

    Where plans cannot be kept, a warning says so in place of the id.
    """
    if not plan.groups:
        return NOTHING_TO_DO
    if only_id:
        plan_id = keep_plan(session, plan)
        target.say({"plan": plan_id}, plan_id)
        return 0
    is_table = target.output == "table"
    shown = plan.groups[:_GROUPS_SHOWN] if is_table else plan.groups
    columns = ("group", "files", "bytes", "expected_files", "reason")
    groups = [(each.name, len(each.files), each.bytes, each.expected_files, each.reason) for each in shown]
    target.print_report(pa.table([list(column) for column in zip(*groups, strict=True)], names=columns))
    if len(shown) < len(plan.groups):
        click.echo(f"… and {len(plan.groups) - len(shown):,} more")
    _warn(plan.warnings)
    if is_table:
        project = target.project()
        database = HISTORY_DATABASE if project is None else project.history
        seconds = planned_seconds(session.current(), database, plan)
        if seconds:
            click.echo(f"By past runs this takes about {seconds_text(seconds)}.")
    try:
        plan_id = keep_plan(session, plan)
    except (PaimonError, OSError) as error:
        _warn([f"the plan is not kept: {error}"])
        return 0
    if target.output == "json":
        click.echo(f'{{"plan": "{plan_id}"}}')
    else:
        how = f"apply {plan_id}" if command == "apply" else f"{command} --apply {plan_id}"
        click.echo(f"plan {plan_id}: paimonctl {how}", err=not is_table)
    return 0


def _warn(lines: Sequence[str]) -> None:
    for line in lines:
        click.echo(f"Warning: {line}", err=True)


def _help(command: str, procedure: Procedure) -> str:
    places = [each for each in procedure.parameters if each.required or each.by_position]
    arguments = " ".join(f"<{each.name}>" if each.required else f"[{each.name}]" for each in places)
    start = f"paimonctl --warehouse /data/lake {command}"
    lines = [commands()[procedure.name], "", "\b", f"{start} {arguments}".rstrip()]
    if procedure.has_plans:
        lines += [f"{start} {arguments} --dry-run".replace("  ", " "), f"{start} --apply 0123456789abcdef"]
    return "\n".join(lines)


def _check_required(context: click.Context, procedure: Procedure, given: Mapping[str, Any]) -> None:
    required = [parameter.name for parameter in procedure.parameters if parameter.required]
    for parameter in context.command.params:
        if parameter.name in required and given[parameter.name] is None:
            raise click.MissingParameter(ctx=context, param=parameter)


def _check_with_plan(given: Mapping[str, Any]) -> None:
    others = [key for key, value in given.items() if value not in (None, False, ()) and key not in _WITH_A_PLAN]
    if others:
        option = others[0].replace("_", "-")
        raise click.UsageError(f"'{option}' does not go with --apply: the plan says what is done.")


def _values(procedure: Procedure, given: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments that are given, read."""
    values = {}
    for parameter in procedure.parameters:
        value = given[parameter.name]
        if value not in (None, False, ()):
            values[parameter.name] = procedure.read(parameter, list(value) if isinstance(value, tuple) else value)
    return procedure.with_options(values)


def _parameters(procedure: Procedure) -> list[click.Parameter]:
    """Arguments may be left out for the sake of --apply; what is missing is said before anything is done."""
    known = {each.name: each for each in procedure.parameters}
    kept: list[click.Parameter] = []
    if procedure.has_plans:
        keeps = "Say what would happen, change nothing; keep it as a plan, and print its id."
        known[DRY_RUN.name] = replace(DRY_RUN, text=keeps)
        only = "As --dry-run, but print nothing but the plan's id."
        kept.append(click.Option(["--plan", "only_id"], is_flag=True, help=only))
        exactly = "Do what this plan of a dry run says and nothing else, or refuse if the table has changed."
        kept.append(click.Option(["--apply", "apply_plan"], metavar="PLAN", help=exactly))
    return [*map(_parameter, known.values()), *kept, JSON]


def _parameter(parameter: Param) -> click.Parameter:
    if parameter.required or parameter.by_position:
        return click.Argument([parameter.name], required=False)
    names = ["--" + parameter.name.replace("_", "-"), parameter.name]
    if parameter.name == "partitions":
        return click.Option([*names, "--partition"], multiple=True, help="As a=1,b=2;a=2,b=3; may be repeated.")
    return click.Option(names, is_flag=parameter.is_flag, multiple=parameter.repeats, help=parameter.text or None)
