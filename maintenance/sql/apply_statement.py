"""Carries out the statement that a plan of row changes keeps."""

from typing import TYPE_CHECKING

from maintenance.errors import CorruptFileError, OptionError
from maintenance.operations.plan_store import StoredPlan, check_plan
from maintenance.operations.rows.planned_merge import PlannedWriter
from maintenance.operations.rows.row_changes import RowChangeReport
from maintenance.spark.zone import spark_in_zone
from maintenance.sql.cursor import Source, statements_of
from maintenance.sql.planned_rows import CHANGE_ROWS, RowStatement
from maintenance.sql.statements.grammar import parse

if TYPE_CHECKING:
    from maintenance.sql.session_state import SessionState


def apply_statement(session: "SessionState", plan: StoredPlan) -> RowChangeReport:
    """Carry out the statement of a plan, by what evaluated it then.

    Raises: OutdatedPlanError: other rows would change now; OptionError: it needs a Spark session; as the statement.
    """
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
