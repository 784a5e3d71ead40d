"""Where names lead in a session."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

from maintenance.catalog import Catalog
from maintenance.operations.operation import Run
from maintenance.sql.names import path_of
from maintenance.sql.session_state import DEFAULT_CATALOG

if TYPE_CHECKING:
    from maintenance.sql.session_state import SessionState


@dataclass(frozen=True, slots=True)
class SessionNames:
    """Names as a session reads them: of its current catalog and database, if they say no other.

    `catalog`: what it calls the catalog of the table at hand.
    """

    session: "SessionState"
    catalog: str = DEFAULT_CATALOG

    @classmethod
    def of(cls, session: "SessionState", table: str | None) -> Self:
        """`table`: that at hand, if there is one."""
        return cls(session) if table is None else cls(session, session.table_name(path_of(table)).catalog)

    @property
    def dialect(self) -> str:
        return self.session.dialect

    def table(self, name: str) -> tuple[Catalog, str]:
        found = self.session.table_name(path_of(name))
        return self.session.catalog_of(found.catalog), found.identifier

    def database(self, name: str) -> tuple[Catalog, str]:
        catalog, database = self.session.database_name(path_of(name))
        return self.session.catalog_of(catalog), database


def names_of(run: Run) -> SessionNames:
    """The session that an operation needs which runs statements or queries."""
    assert isinstance(run.names, SessionNames), "whoever runs it gives it a session"
    return run.names
