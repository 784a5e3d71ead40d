"""A command for each operation, made of the parameters of its procedure."""

from typing import Any

import click

from maintenance.cli.exits import NOTHING_TO_DO
from maintenance.cli.operations import SUMMARIES
from maintenance.sql.procedures.procedure import Call, Parameter
from maintenance.sql.procedures.registry import PROCEDURES

_HINTS = {
    "partitions": "As a=1,b=2;a=2,b=3.",
    "options": "Table options of this run, as k1=v1,k2=v2.",
    "where": "Only partitions for which this SQL condition is true.",
    "dry_run": "Say what would happen, change nothing.",
    "older_than": "A time, such as 2024-02-29T12:00:00.",
    "minimum_age": "How far back older_than must lie, such as '6 h'; a day by default.",
    "into_bin": "Move what is deleted into the bin of the warehouse, from where restore brings it back.",
    "window": "How long a deletion can be taken back, such as '7 d'.",
    "max_bytes": "That the bin may hold; the oldest runs go first.",
    "run": "Name of a run of the bin.",
    "mode": "'local': do not use Spark.",
    "time_retained": "How long, such as '7 d'.",
}


def operation_command(name: str) -> click.Command:
    """The command of an operation: required parameters are arguments, the others options."""
    procedure = PROCEDURES[name]
    shown = name.replace("_", "-")
    arguments = " ".join(f"<{parameter.name}>" for parameter in procedure.parameters if parameter.required)
    example = f"\b\npaimonctl --warehouse /data/lake {shown} {arguments}".rstrip()

    @click.pass_obj
    def run(target: Any, /, **arguments: Any) -> int:
        session = target.session()
        values = {
            parameter.name: procedure.read(parameter, arguments[parameter.name])
            for parameter in procedure.parameters
            if arguments[parameter.name] not in (None, False)
        }
        result = procedure.run(Call(session, values))
        target.show(result)
        return NOTHING_TO_DO if result.nothing_to_do else 0

    parameters = [_parameter(parameter) for parameter in procedure.parameters]
    return click.Command(
        shown, callback=run, params=parameters, help=f"{SUMMARIES[name]}\n\n{example}", short_help=SUMMARIES[name]
    )


def _parameter(parameter: Parameter) -> click.Parameter:
    if parameter.required:
        return click.Argument([parameter.name])
    option = "--" + parameter.name.replace("_", "-")
    flag = parameter.name in ("dry_run", "delete_all", "deep", "ignore_if_exists", "into_bin")
    return click.Option([option, parameter.name], is_flag=flag, help=_HINTS.get(parameter.name))
