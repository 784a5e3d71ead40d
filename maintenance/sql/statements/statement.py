"""What all statements are: parsed as a whole, then run."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Protocol, runtime_checkable

from maintenance.sql.cursor import Cursor
from maintenance.sql.result import Result

if TYPE_CHECKING:
    from maintenance.operations.plan_store import StoredPlan
    from maintenance.sql.session_state import SessionState


class Statement(Protocol):
    """A parsed statement."""

    def run(self, session: "SessionState", /) -> Result: ...


@runtime_checkable
class Planned(Protocol):
    """A statement that can say what it would do, as a plan to be kept."""

    def plan(self, session: "SessionState", /) -> "StoredPlan": ...


Parse = Callable[[Cursor], Statement]
"""Reads a statement whose first words have been stepped over."""
