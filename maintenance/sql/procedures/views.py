"""Object tables."""

from maintenance.errors import SqlError
from maintenance.sql.names import path_of
from maintenance.sql.procedures.procedure import TABLE, Call, Procedure
from maintenance.sql.result import Result
from maintenance.table.object_table import ObjectTable


def _refresh_object_table(call: Call) -> Result:
    """Object tables list their folder at each read, so there is nothing to refresh."""
    view = call.session.view(path_of(call.get("table")))
    if not isinstance(view, ObjectTable):
        raise SqlError(f"'{call.get('table')}' is not an object table", "sys.refresh_object_table", "Name one.")
    return call.done()


PROCEDURES = (Procedure("refresh_object_table", (TABLE,), _refresh_object_table),)
