"""Acknowledge what a check has found: somebody has looked at it, and says why it is in order: `acknowledge`.

It is kept as a row of the history table. It holds for what had happened by then: a later commit that the check finds
fault with makes the check fail again.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any

from maintenance.errors import OptionError
from maintenance.metastore.catalog import Catalog
from maintenance.operations.acknowledgements.acknowledged import ACKNOWLEDGE
from maintenance.operations.history import HISTORY_DATABASE, HistoryEntry, history_table, write_history
from maintenance.operations.operation import Operation, Plan, Run, Shown, as_asked
from maintenance.operations.parameters import Param
from maintenance.table.acknowledged import ACKNOWLEDGEABLE
from maintenance.table.table import Table


@dataclass(frozen=True, slots=True)
class Acknowledge:
    """What was looked at, and by whom."""

    table: Annotated[str, Param("The table, as database.table.")]
    check: Annotated[str, Param(f"The check that failed: {', '.join(ACKNOWLEDGEABLE)}.")]
    name: Annotated[str, Param("Who has looked into the conflict.")]
    reason: Annotated[str, Param("Why the conflict is harmless, or what was done about it.")]
    history: Annotated[str, Param("The database of the history.")] = HISTORY_DATABASE
    run_id: Annotated[str | None, Param("The id of the run that acknowledges it.")] = None


def apply(run: Run, catalog: Catalog, planned: Plan[Acknowledge, None]) -> Mapping[str, Any]:
    """Write it into the history."""
    asked = planned.request
    if asked.check not in ACKNOWLEDGEABLE:
        fix = f"Name one of {', '.join(ACKNOWLEDGEABLE)}; what other checks find has to be mended."
        raise OptionError(f"'{asked.check}' cannot be acknowledged", asked.table, fix)
    for what, said in (("name", asked.name), ("reason", asked.reason)):
        if not said.strip():
            raise OptionError(f"the {what} is empty", asked.table, "Say who has looked at it, and why it is in order.")
    table = catalog.get_table(asked.table)
    newest = table.snapshots.latest_id() if isinstance(table, Table) else None
    details = {"check": asked.check, "name": asked.name.strip(), "reason": asked.reason.strip()}
    entry = HistoryEntry(
        run.moment, asked.table, ACKNOWLEDGE, run_id=asked.run_id, snapshot_id=newest or 0, details=details
    )
    write_history(catalog, history_table(asked.history), [entry])
    return {**details, "table": asked.table, "snapshot": newest or 0}


OPERATION = Operation(
    "acknowledge",
    "Acknowledge a conflict that a check has found, with a name and a reason.",
    Acknowledge,
    as_asked,
    apply,
    shown=Shown.one,
    has_dry_run=False,
    of_catalog=True,
    has_job=False,
)


acknowledge = OPERATION.function(
    """Acknowledge what a check of a table has found up to its newest snapshot. Returns what was recorded.

    Raises: NotFoundError: no such table; OptionError: the check is not one of these, or no name is given; errors of
        writing the history.
    """,
    without=("run_id",),
)
