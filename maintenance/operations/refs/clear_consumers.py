"""Remove consumers whose names match a pattern: procedure `clear_consumers`."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated

from maintenance.errors import OptionError
from maintenance.operations.operation import Operation, Plan, Run, Shown
from maintenance.operations.parameters import Param
from maintenance.operations.plan_store import PlannedGroup
from maintenance.operations.refs.reset_consumer import position
from maintenance.table.table import Table


@dataclass(frozen=True, slots=True)
class ClearConsumers:
    """Which consumers go, by regular expressions over their whole names."""

    including: Annotated[
        str,
        Param(
            "A regular expression of consumers to delete, e.g. job-.*; empty: all.",
            "including_consumers",
            ("includingConsumers",),
        ),
    ] = ".*"
    excluding: Annotated[
        str | None, Param("Leave out tables that match this.", "excluding_consumers", ("excludingConsumers",))
    ] = None


def plan(_: Run, table: Table, request: ClearConsumers) -> Plan[ClearConsumers, tuple[str, ...]]:
    """The consumers that match."""
    included = _pattern(table, request.including)
    kept = None if request.excluding is None else _pattern(table, request.excluding)
    chosen = tuple(
        name for name in table.consumers.names() if included.fullmatch(name) and not (kept and kept.fullmatch(name))
    )

    def groups() -> Iterator[PlannedGroup]:
        for name in chosen:
            yield PlannedGroup(f"consumer {name}", (), 0, 0, f"{position(table, name)}; is deleted")

    return Plan(request, chosen, groups)


def apply(_: Run, table: Table, planned: Plan[ClearConsumers, tuple[str, ...]]) -> tuple[str, ...]:
    """Delete the planned consumers."""
    table.consumers.remove(planned.report)
    return planned.report


OPERATION = Operation(
    "clear_consumers",
    "Delete consumers, so that they no longer protect snapshots.",
    ClearConsumers,
    plan,
    apply,
    shown=lambda names: Shown(nothing_to_do=not names),
    has_job=False,
)


def _pattern(table: Table, text: str) -> re.Pattern[str]:
    try:
        return re.compile(text)
    except re.error as error:
        raise OptionError(f"'{text}': {error}", table.identifier, "Use a regular expression, such as job-.*") from error


clear_consumers = OPERATION.function(
    """Delete consumers, so that they no longer protect snapshots. Returns their names.

    Args:
        including, excluding: regular expressions that the whole name must match, or must not.
    Raises: OptionError: a text is not a regular expression. Source: data section 10.1, Java `ClearConsumersProcedure`.
    """
)
