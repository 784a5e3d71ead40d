"""Default values of columns, which Flink's SQL has no words for. Source: Java `AlterColumnDefaultValueProcedure`."""

from maintenance.catalog import UpdateColumnDefaultValue
from maintenance.operations.parameters import Parameter, text
from maintenance.sql.names import path_of
from maintenance.sql.procedures.procedure import TABLE, Call, Procedure
from maintenance.sql.result import Result


def _alter_column_default_value(call: Call) -> Result:
    call.table()
    name = call.session.table_name(path_of(call.get("table")))
    change = UpdateColumnDefaultValue(tuple(call.get("column").split(".")), call.get("default_value"))
    call.session.catalog_of(name.catalog).alter_table(name.identifier, [change])
    return call.done()


PROCEDURES = (
    Procedure(
        "alter_column_default_value",
        (TABLE, Parameter("column", text, required=True), Parameter("default_value", text, required=True)),
        _alter_column_default_value,
    ),
)
