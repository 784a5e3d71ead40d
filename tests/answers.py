"""What statements give, for tests of SQL."""

from typing import Any

from maintenance.sql import Session


def rows(session: Session, text: str) -> list[tuple[Any, ...]]:
    """The rows of a statement."""
    return [tuple(row.values()) for row in session.sql(text).to_arrow().to_pylist()]
