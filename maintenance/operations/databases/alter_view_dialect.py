"""The texts of a view for other engines. Source: Java `AlterViewDialectProcedure`."""

from dataclasses import dataclass
from typing import Annotated

from maintenance.errors import OptionError
from maintenance.metastore.catalog import Catalog
from maintenance.metastore.view import AddDialect, DropDialect, UpdateDialect, ViewChange
from maintenance.operations.operation import Operation, Plan, Run, as_asked
from maintenance.operations.parameters import Param

_ACTIONS = ("add", "update", "drop")


@dataclass(frozen=True, slots=True)
class AlterViewDialect:
    """Of which view, and what."""

    view: Annotated[str, Param("The view, as database.view.")]
    action: Annotated[str, Param("add, update or drop.")]
    engine: Annotated[str | None, Param("The engine that the text is for; empty: that of the session's dialect.")] = (
        None
    )
    query: Annotated[str | None, Param("The text of the view; leave it out to drop it.")] = None

    def change(self, engine: str, where: str) -> ViewChange:
        """Raises: OptionError: there is no such action, or the query does not go with it."""
        action = self.action.lower()
        if action not in _ACTIONS:
            raise OptionError(f"'{action}' is not an action", where, f"Actions: {', '.join(_ACTIONS)}.")
        if action == "drop" and self.query is None:
            return DropDialect(engine)
        if action == "drop" or self.query is None:
            problem = "'drop' takes no query" if action == "drop" else f"'{action}' needs a query"
            raise OptionError(problem, where, "Give query => '…' with add and update, and none with drop.")
        return (AddDialect if action == "add" else UpdateDialect)(engine, self.query)


def apply(run: Run, catalog: Catalog, planned: Plan[AlterViewDialect, None]) -> None:
    """Change the view."""
    own, name = run.table_name(catalog, planned.request.view)
    engine = planned.request.engine or ("spark" if run.names is None else run.names.dialect)
    own.alter_view(name, [planned.request.change(engine, f"view {name}")])


OPERATION = Operation(
    "alter_view_dialect",
    "Add, change or drop the text of a view for an engine.",
    AlterViewDialect,
    as_asked,
    apply,
    has_dry_run=False,
    of_catalog=True,
)


alter_view_dialect = OPERATION.function(
    """Add, change or drop the text of a view for an engine.

    Args:
        action: ``add``, ``update`` or ``drop``.
    Raises: NotFoundError: there is no such view; OptionError: the query does not go with the action.
    """,
    by_position=("engine", "query"),
)
