"""A command for each operation, made of the parameters of its procedure."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import click

from maintenance.cli.choices import JSON
from maintenance.cli.exits import NOTHING_TO_DO
from maintenance.cli.plans import applied, shown
from maintenance.cli.progress import shown_progress
from maintenance.operation_names import commands
from maintenance.operations.parameters import Param
from maintenance.operations.plan_store import StoredPlan
from maintenance.sql.plans import keep_plan
from maintenance.sql.procedures.procedure import DRY_RUN, INTO_BIN, TABLE, Call, Procedure
from maintenance.sql.procedures.registry import PROCEDURES
from maintenance.sql.session_state import SessionState

# What may stand beside --apply: all else the plan says.
_WITH_A_PLAN = (TABLE.name, INTO_BIN.name)


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
                result = applied(procedure, call, plan_id)
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


def show_plan(target: Any, session: SessionState, command: str, plan: StoredPlan, *, only_id: bool) -> int:
    """Keep a plan and print it, or its id alone. Returns: the exit code."""
    if not plan.groups:
        return NOTHING_TO_DO
    if only_id:
        plan_id = keep_plan(session, plan)
        target.say({"plan": plan_id}, plan_id)
    else:
        shown(target, command, session, plan)
    return 0


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
    parameters = [_parameter(parameter) for parameter in procedure.parameters]
    if procedure.has_plans:
        if DRY_RUN not in procedure.parameters:
            parameters.append(_parameter(DRY_RUN))
        told_dry = next(each for each in parameters if each.name == DRY_RUN.name and isinstance(each, click.Option))
        told_dry.help = "Say what would happen, change nothing; keep it as a plan, and print its id."
        only = "As --dry-run, but print nothing but the plan's id."
        exactly = "Do what this plan of a dry run says and nothing else, or refuse if the table has changed."
        parameters.append(click.Option(["--plan", "only_id"], is_flag=True, help=only))
        parameters.append(click.Option(["--apply", "apply_plan"], metavar="PLAN", help=exactly))
    parameters.append(JSON)
    return parameters


def _parameter(parameter: Param) -> click.Parameter:
    if parameter.required or parameter.by_position:
        return click.Argument([parameter.name], required=False)
    names = ["--" + parameter.name.replace("_", "-"), parameter.name]
    if parameter.name == "partitions":
        return click.Option([*names, "--partition"], multiple=True, help="As a=1,b=2;a=2,b=3; may be repeated.")
    return click.Option(names, is_flag=parameter.is_flag, multiple=parameter.repeats, help=parameter.text or None)
