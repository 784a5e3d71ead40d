"""Default values of columns, which Flink's SQL has no words for. Source: Java `AlterColumnDefaultValueProcedure`."""

from dataclasses import dataclass
from typing import Annotated

from maintenance.metastore.catalog import Catalog
from maintenance.metastore.schema_change import UpdateColumnDefaultValue
from maintenance.operations.operation import Operation, Plan, Run, as_asked
from maintenance.operations.parameters import Param


@dataclass(frozen=True, slots=True)
class AlterColumnDefaultValue:
    """Of which column."""

    table: Annotated[str, Param("The table, as database.table.", others=("identifier",))]
    column: Annotated[str, Param("The column; dots separate the fields of a row.")]
    default_value: Annotated[str, Param("The default value, as SQL writes it.")]


def apply(run: Run, catalog: Catalog, planned: Plan[AlterColumnDefaultValue, None]) -> None:
    """Change the schema."""
    asked = planned.request
    own, name = run.table_name(catalog, asked.table)
    own.alter_table(name, [UpdateColumnDefaultValue(tuple(asked.column.split(".")), asked.default_value)])


OPERATION = Operation(
    "alter_column_default_value",
    "Change the default value of a column.",
    AlterColumnDefaultValue,
    as_asked,
    apply,
    has_dry_run=False,
    of_catalog=True,
)


alter_column_default_value = OPERATION.function(
    """Change the default value of a column.

    Raises: NotFoundError: no such table or column; SchemaError: the value does not fit.
    """
)
