"""What a catalog knows of its warehouse."""

from maintenance.operations.parameters import Parameter, names
from maintenance.sql.procedures.procedure import Call, Procedure
from maintenance.sql.result import Result


def _repair(call: Call) -> Result:
    """Names of tables and databases; none means the whole catalog."""
    catalog = call.session.current()
    for name in call.get("table", ()):
        if "." in name:
            catalog.repair_table(name)
        else:
            catalog.repair_database(name)
    if not call.get("table"):
        catalog.repair_catalog()
    return call.done()


PROCEDURES = (Procedure("repair", (Parameter("table", names, others=("database_or_table",)),), _repair),)
