"""Plans of DROP TABLE and TRUNCATE TABLE, and what applies them."""

from datetime import UTC, datetime
from typing import TYPE_CHECKING

from maintenance.catalog import CatalogTable
from maintenance.errors import PaimonError, UnsupportedError
from maintenance.operations.plan_store import StoredPlan, unless_overtaken
from maintenance.operations.plans.drop_plans import DROP_TABLE, check_drop_table, check_truncate, plan_drop_table
from maintenance.sql.names import TableName
from maintenance.sql.result import Result
from maintenance.table.table import Table

if TYPE_CHECKING:
    from maintenance.sql.session_state import SessionState


def nothing_dropped(name: str) -> StoredPlan:
    """The plan of dropping a table that does not exist."""
    return StoredPlan(DROP_TABLE, name, None, datetime.now(UTC).timestamp(), ())


def plan_drop(session: "SessionState", name: TableName) -> StoredPlan:
    """What dropping a table would delete now. Raises: UnsupportedError: no plan can say it."""
    catalog = session.catalog_of(name.catalog)
    try:
        table = catalog.get_table(name.identifier)
    except PaimonError as error:
        raise _without_plan(name, f"it cannot be read: {error.found}") from error
    if not isinstance(table, Table):
        raise _without_plan(name, "it holds no snapshots")
    if catalog is not session.current():
        raise _without_plan(name, f"it is in the catalog {name.catalog}", f"USE CATALOG {name.catalog} first.")
    return plan_drop_table(table, deletes_files=catalog.deletes_files(name.identifier))


def apply_drop(session: "SessionState", plan: StoredPlan) -> Result:
    """Drop the table of a plan. Raises: OutdatedPlanError: more or less would be deleted now; NotFoundError."""
    catalog = session.current()
    table = session.table(tuple(plan.table.split(".")))
    check_drop_table(table, plan, deletes_files=catalog.deletes_files(plan.table))
    catalog.drop_table(plan.table)
    return Result()


def apply_truncate(session: "SessionState", plan: StoredPlan) -> Result:
    """Empty what a plan says. Raises: OutdatedPlanError: the table has other rows now; NotFoundError."""
    table = session.table(tuple(plan.table.split(".")))
    assert isinstance(table, CatalogTable)

    def attempt() -> Result:
        base = table.snapshots.latest_identity()
        partition = check_truncate(table, plan)
        table.following(base).truncate(None if partition is None else [partition])
        return Result()

    return unless_overtaken(attempt)


def _without_plan(name: TableName, why: str, instead: str = "Drop it without one.") -> UnsupportedError:
    return UnsupportedError(f"dropping it has no plan: {why}", f"table {name.identifier}", instead)
