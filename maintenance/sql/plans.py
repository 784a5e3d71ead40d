"""Plans of statements and procedures: what one would do is kept, and done later by the id of the plan.

DELETE, UPDATE and MERGE INTO have plans, DROP TABLE, TRUNCATE TABLE and DROP PARTITION, and the procedures that delete
or rewrite.
"""

import logging
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from maintenance.catalog import Catalog
from maintenance.errors import OptionError, PaimonError
from maintenance.fs.file_io import FileIO
from maintenance.metastore.warehouse import known_folder
from maintenance.operation_names import operation_modules
from maintenance.operations.history import (
    FAILED,
    HISTORY_DATABASE,
    SUCCEEDED,
    HistoryEntry,
    history_table,
    history_unless_it_fails,
)
from maintenance.operations.operation import Spelling, operation
from maintenance.operations.plan_store import MANY, StoredPlan
from maintenance.operations.progress import Progress
from maintenance.operations.rows.planned_merge import MERGE_INTO
from maintenance.person import person
from maintenance.sql.procedures.procedure import INTO_BIN, Call, Procedure
from maintenance.sql.procedures.registry import PROCEDURES
from maintenance.sql.result import Result

if TYPE_CHECKING:
    from maintenance.sql.session_state import SessionState

_LOG = logging.getLogger(__name__)


def planned_operations() -> Mapping[str, Callable[[Call, StoredPlan], Result]]:
    """How the plans of procedures are applied, by what the plans call the operation."""
    # What statements alone carry out is applied as a procedure of that name would be.
    own = [Procedure(operation(name), Spelling(name)) for name, at in operation_modules().items() if not at.commands]
    planned = [procedure for procedure in (*own, *PROCEDURES.values()) if procedure.has_plans]
    return {key: procedure.apply for procedure in planned for key in procedure.operation.keys}


def place_of_plans(catalog: Catalog) -> tuple[FileIO, str]:
    """Where plans lie: a storage and a warehouse. Raises: UnsupportedError: the warehouse is a name."""
    return FileIO.of(catalog.options), known_folder(catalog)


def keep_plan(session: "SessionState", plan: StoredPlan) -> str:
    """Store a plan in the session's catalog. Returns: its id. Raises: as `place_of_plans`; errors of the store."""
    catalog = session.current()
    return plan.store(*place_of_plans(catalog), catalog.options)


def kept_plan(session: "SessionState", plan_id: str) -> StoredPlan:
    """The plan of an id. Raises: NotFoundError, CorruptFileError; as `place_of_plans`."""
    return StoredPlan.load(*place_of_plans(session.current()), plan_id)


@contextmanager
def noted(session: "SessionState", plan: StoredPlan) -> Iterator[None]:
    """While a plan is applied outside of Dagster: the history says how that ended, and who made and applied the plan.

    It is written where there is a history, or where the plan has needed an approval; neither fails what is done.
    """
    started = time.monotonic()
    try:
        yield
    except Exception as error:
        found = error.found if isinstance(error, PaimonError) else type(error).__name__
        _note(session, plan, time.monotonic() - started, {"found": found}, outcome=FAILED)
        raise
    _note(session, plan, time.monotonic() - started, {"files": plan.files, "bytes": plan.bytes})


def _note(
    session: "SessionState", plan: StoredPlan, seconds: float, facts: Mapping[str, Any], outcome: str = SUCCEEDED
) -> None:
    now, history, details = datetime.now(UTC), history_table(HISTORY_DATABASE), {**facts, **plan.people(person())}
    entry = HistoryEntry(now, plan.table, plan.operation, outcome, session.run, seconds, details=details)
    unwritten = history_unless_it_fails(session.current(), history, [entry], only_if_kept=not plan.needs_approval)
    if unwritten:
        _LOG.warning(unwritten)


def apply_plan(
    session: "SessionState", plan: StoredPlan, *, into_bin: bool = False, progress: Progress | None = None
) -> Result:
    """Do what a plan says and nothing else, whatever its operation.

    Args: `into_bin`: what is deleted goes into the bin, where the operation can do that; `progress`: called with a
        line for each thing that happens.
    Raises: OutdatedPlanError: something else would be done now; OptionError: such plans need more than their id;
        errors of the operation.
    """
    apply = planned_operations().get(plan.operation)
    if apply is None:
        how = "apply_merge_into with the rows of its source" if plan.operation == MERGE_INTO else "Dagster"
        raise OptionError(f"plans of {plan.operation} need more than their id", f"plan {plan.id}", f"Use {how}.")
    values: dict[str, Any] = {"options": plan.table_options}
    if plan.table != MANY:
        values["table"] = plan.table
    if into_bin:
        values[INTO_BIN.name] = True
    return apply(Call(session, values, progress), plan)
