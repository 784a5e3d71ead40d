"""What all statements are: parsed as a whole, then run."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Protocol

from maintenance.sql.cursor import Cursor
from maintenance.sql.result import Result

if TYPE_CHECKING:
    from maintenance.sql.session import Session


class Statement(Protocol):
    """A parsed statement."""

    def run(self, session: "Session", /) -> Result: ...


Parse = Callable[[Cursor], Statement]
"""Reads a statement whose first words have been stepped over."""
