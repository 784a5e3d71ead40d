"""Object tables list their folder at each read, so a refresh only looks whether it is one."""

from dataclasses import dataclass
from typing import Annotated

from maintenance.errors import OptionError
from maintenance.metastore.catalog import Catalog
from maintenance.operations.operation import Operation, Plan, Run, as_asked
from maintenance.operations.parameters import Param
from maintenance.table.object_table import ObjectTable


@dataclass(frozen=True, slots=True)
class RefreshObjectTable:
    """Which one."""

    table: Annotated[str, Param("The table, as database.table.", others=("identifier",))]


def apply(run: Run, catalog: Catalog, planned: Plan[RefreshObjectTable, None]) -> None:
    """Look whether it is one."""
    own, name = run.table_name(catalog, planned.request.table)
    if not isinstance(own.open_table(name), ObjectTable):
        fix = "Name a table that was made with 'type' = 'object-table'."
        raise OptionError(f"'{name}' is not an object table", "sys.refresh_object_table", fix)


OPERATION = Operation(
    "refresh_object_table",
    "Check that a table is an object table. It needs no refresh: each read lists its folder.",
    RefreshObjectTable,
    as_asked,
    apply,
    of_catalog=True,
    looks_only=True,
)


refresh_object_table = OPERATION.function(
    """Check that a table is an object table. There is nothing to refresh: each read lists its folder.

    Raises: NotFoundError: there is no such table; OptionError: it is not an object table.
    """
)
