"""What a person can set for an operation in the Launchpad, made of its request; and the request made of that."""

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any, get_args

import dagster as dg
from pydantic import Field, create_model

from maintenance.errors import OptionError
from maintenance.metadata.partition_names import Spec
from maintenance.operations.operation import Operation
from maintenance.operations.parameters import MILLIS, Param, Specs
from maintenance.options.option import duration

_TABLE = Field(description="database.table, one of the tables in Dagster.")
_DRY_RUN = Field(default=False, description="Only show what would be done, and store it as a plan.")
_PLAN_ID = Field(default=None, description="Apply this plan of a dry run, or refuse.")
_INTO_BIN = Field(default=False, description="Move deleted files into the bin.")
_AS_IT_IS: Mapping[str, Any] = {}
_ENDS = {
    "from": "The first of a range of partitions, e.g. {day: '2026-01-01'}; empty: from the first one on.",
    "to": "The last of a range of partitions, itself included; empty: up to the last one.",
}
RANGE: Mapping[str, Any] = {name: (dict[str, str], Field(default={}, description=text)) for name, text in _ENDS.items()}
"""The fields of a range of partitions."""


class PlanConfig(dg.Config):
    """A plan to carry out, which says all."""

    plan_id: str | None = _PLAN_ID
    dry_run: bool = False
    into_bin: bool = _INTO_BIN


class TablesConfig(dg.Config):
    """Which tables a run over many is about."""

    tables: list[str] = Field(default=["*.*"], description="Patterns of tables in Dagster, such as sales.*.")
    without: list[str] = Field(default=[], description="Patterns of tables to leave out.")


def step_config(
    operation: Operation[Any, Any, Any], *, optional: Sequence[str] = (), instead: Mapping[str, Any] = _AS_IT_IS
) -> type[dg.Config]:
    """What may be set for a step, or a plan to carry out.

    Args: `optional`: fields that may be left out; `instead`: fields in place of the request's, None = not there.
    """
    return _config(operation, {"dry_run": (bool, _DRY_RUN), "plan_id": (str | None, _PLAN_ID)}, instead, optional)


def config_of(operation: Operation[Any, Any, Any], instead: Mapping[str, Any] = _AS_IT_IS) -> type[dg.Config]:
    """What may be set for a job of the operation alone; where it is about a table, which one.

    `instead`: as of `step_config`.
    """
    table = {"table": (str, _TABLE)} if operation.is_of_table else {}
    dry_run = {"dry_run": (bool, _DRY_RUN)} if operation.has_dry_run else {}
    into_bin = {"into_bin": (bool, _INTO_BIN)} if operation.takes_bin and not operation.is_of_table else {}
    return _config(operation, {**table, **dry_run, **into_bin}, instead)


def _config(
    operation: Operation[Any, Any, Any],
    more: Mapping[str, Any],
    instead: Mapping[str, Any] = _AS_IT_IS,
    optional: Sequence[str] = (),
) -> type[dg.Config]:
    own = {name: kind for name, kind in instead.items() if kind is not None}
    chosen = [each for each in operation.parameters if each.field not in instead]
    fields = {name_of(each): _field(each, each.field in optional) for each in chosen}
    name = "".join(part.capitalize() for part in operation.name.split("_"))
    made: type[dg.Config] = create_model(
        f"{name}Config", __base__=dg.Config, __doc__=operation.summary, **{**more, **own, **fields}
    )
    return made


def name_of(parameter: Param) -> str:
    """What a config calls it."""
    return "time" if parameter.unit == MILLIS else parameter.field


def _field(parameter: Param, is_optional: bool) -> tuple[Any, Any]:
    kind, default = _kind(parameter)
    if parameter.required and not is_optional:
        return kind, Field(description=parameter.text, ge=parameter.least)
    if default is None:
        kind = kind | None
    return kind, Field(default=default, description=parameter.text, ge=parameter.least)


def _kind(parameter: Param) -> tuple[Any, Any]:
    """The type of a config's field, and what it is if nothing is set."""
    kind, default = parameter.type, parameter.default
    if kind in (timedelta, datetime) or parameter.unit == MILLIS:
        return str, None
    if kind in (bool, int, str):
        return kind, default
    if kind == Spec:
        return dict[str, str | None], None
    if kind == Mapping[str, str]:
        return dict[str, str], {}
    return list[dict[str, str | None] if kind == Specs else get_args(kind)[0]], []  # type: ignore[misc]


def request_of(operation: Operation[Any, Any, Any], config: Any, policy: Mapping[str, Any]) -> Any:
    """The request that a config asks for; what it leaves empty is as `policy` says, or else the operation."""
    found = {}
    for parameter in operation.parameters:
        value = getattr(config, name_of(parameter), None)
        if value not in (None, [], {}):
            found[parameter.field] = _read(parameter, value)
    return operation.request(**{**policy, **found})


def _read(parameter: Param, value: Any) -> Any:
    if parameter.type is timedelta:
        return duration(value)
    if parameter.type is datetime:
        return instant(value, parameter.field)
    return round(instant(value, "time").timestamp() * 1000) if parameter.unit == MILLIS else value


def instant(text: str, where: str) -> datetime:
    """An ISO 8601 time with an offset. Raises OptionError without one: an hour off deletes the wrong snapshots."""
    try:
        found = datetime.fromisoformat(text)
    except ValueError:
        found = None
    if found is None or found.tzinfo is None:
        raise OptionError(f"'{text}' is not a time with an offset", where, "Write 2026-01-31T00:00:00+00:00.")
    return found
