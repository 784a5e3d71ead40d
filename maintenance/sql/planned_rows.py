"""Plans of row changes that only a query can evaluate: a MERGE INTO, or a DELETE or UPDATE with more than a filter.

The plan keeps the text of the statement and what it has found: rows by their files, and a digest of what is written.
It is evaluated again when the plan is applied, and anything else that it finds then is refused.
"""

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Protocol, runtime_checkable

from maintenance.operations.plan_store import StoredPlan
from maintenance.operations.rows.change_writer import ChangePreview, ChangeWriter
from maintenance.operations.rows.planned_merge import groups_of
from maintenance.operations.rows.row_changes import RowChangeReport
from maintenance.sql.cursor import Cursor
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
            **session.settings_of_tables,
            SETTINGS[session.dialect]: session.zone,
        },
        "on_spark": not session.engine.is_embedded,
    }
    now = datetime.now(UTC).timestamp()
    return StoredPlan(CHANGE_ROWS, table.identifier, base, now, groups_of(preview), chosen)
