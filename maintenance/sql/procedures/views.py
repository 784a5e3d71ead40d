"""Object tables, and the texts of a view for other engines. Source: Java `AlterViewDialectProcedure`."""

from maintenance.errors import OptionError, SqlError
from maintenance.metastore.view import AddDialect, DropDialect, UpdateDialect, ViewChange
from maintenance.operations.parameters import Parameter, text
from maintenance.sql.names import path_of
from maintenance.sql.procedures.procedure import TABLE, Call, Procedure
from maintenance.sql.result import Result
from maintenance.table.object_table import ObjectTable

_ACTIONS = ("add", "update", "drop")


def _alter_view_dialect(call: Call) -> Result:
    name = call.session.table_name(path_of(call.get("view")))
    engine, query, action = call.get("engine") or call.session.dialect, call.get("query"), call.get("action").lower()
    where = f"view {name.identifier}"
    if action not in _ACTIONS:
        raise OptionError(f"'{action}' is not an action", where, f"Actions: {', '.join(_ACTIONS)}.")
    if (query is None) != (action == "drop"):
        problem = "'drop' takes no query" if action == "drop" else f"'{action}' needs a query"
        raise OptionError(problem, where, "Correct the call.")
    change: ViewChange
    if action == "drop":
        change = DropDialect(engine)
    else:
        change = (AddDialect if action == "add" else UpdateDialect)(engine, query)
    call.session.catalog_of(name.catalog).alter_view(name.identifier, [change])
    return call.done()


def _refresh_object_table(call: Call) -> Result:
    """Object tables list their folder at each read, so there is nothing to refresh."""
    view = call.session.view(path_of(call.get("table")))
    if not isinstance(view, ObjectTable):
        raise SqlError(f"'{call.get('table')}' is not an object table", "sys.refresh_object_table", "Name one.")
    return call.done()


PROCEDURES = (
    Procedure("refresh_object_table", (TABLE,), _refresh_object_table),
    Procedure(
        "alter_view_dialect",
        (
            Parameter("view", text, required=True),
            Parameter("action", text, required=True),
            Parameter("engine", text),
            Parameter("query", text),
        ),
        _alter_view_dialect,
    ),
)
