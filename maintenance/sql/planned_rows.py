"""Plans of row changes that only a query can evaluate: a MERGE INTO, or a DELETE or UPDATE with more than a filter.

The plan keeps the text of the statement and what it has found: rows by their files, and a digest of what is written.
It is evaluated again when the plan is applied, and anything else that it finds then is refused.
"""

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Protocol, runtime_checkable

from maintenance.errors import CorruptFileError, OptionError
from maintenance.operations.plan_store import StoredPlan, check_plan
from maintenance.operations.rows.change_writer import ChangePreview, ChangeWriter
from maintenance.operations.rows.planned_merge import PlannedWriter, groups_of
from maintenance.operations.rows.row_changes import RowChangeReport
from maintenance.spark.zone import spark_in_zone
from maintenance.sql.cursor import Cursor, Source, statements_of
from maintenance.sql.settings import READ_SETTINGS
from maintenance.sql.zones import SETTINGS
from maintenance.table.table import Table

if TYPE_CHECKING:
    from maintenance.sql.session_state import SessionState

CHANGE_ROWS = "change_rows"
"""The operation of these plans."""


@runtime_checkable
class RowStatement(Protocol):
    """A statement that changes rows of one table."""

    @property
    def cursor(self) -> Cursor: ...

    def target(self, session: "SessionState") -> Table: ...

    def carry_out(self, session: "SessionState", table: Table, writer: ChangeWriter) -> RowChangeReport:
        """Find the changes, and give them to the writer."""
        ...


def statement_plan(session: "SessionState", table: Table, statement: RowStatement) -> StoredPlan:
    """What a statement would change now. Errors as of running it."""
    preview, base = ChangePreview(table), table.snapshots.latest_identity()
    statement.carry_out(session, table, preview)
    chosen = {
        "statement": statement.cursor.source.text,
        "dialect": session.dialect,
        "database": session.current_database,
        "settings": {
            **{key: text for key, text in session.settings.items() if key.startswith(READ_SETTINGS)},
            SETTINGS[session.dialect]: session.zone,
        },
        "on_spark": not session.engine.is_embedded,
    }
    now = datetime.now(UTC).timestamp()
    return StoredPlan(CHANGE_ROWS, table.identifier, base, now, groups_of(preview), chosen)


def apply_statement(session: "SessionState", plan: StoredPlan) -> RowChangeReport:
    """Carry out the statement of a plan, by what evaluated it then.

    Raises: OutdatedPlanError: other rows would change now; OptionError: it needs a Spark session; as the statement.
    """
    from maintenance.sql.statements.grammar import parse

    other = session.in_dialect(plan.arguments["dialect"])
    if not plan.arguments["on_spark"]:
        other.spark = None
    elif other.writing.engine.is_embedded:
        raise OptionError("the plan was made with Spark", f"plan {plan.id}", "Apply it with a Spark session.")
    other.settings.update(plan.arguments["settings"])
    other.current_database = plan.arguments["database"]
    (cursor,) = statements_of(Source(plan.arguments["statement"], other.sql_dialect))
    statement = parse(cursor)
    if not isinstance(statement, RowStatement):
        raise CorruptFileError("its statement changes no rows", f"plan {plan.id}", "Launch a dry run for a new plan.")
    table = statement.target(other)
    check_plan(plan, CHANGE_ROWS, table)
    with spark_in_zone(other.spark, other.zone):
        return statement.carry_out(other, table, PlannedWriter(table, plan))
