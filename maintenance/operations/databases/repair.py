"""What a catalog knows of its warehouse: procedure `repair`."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

from maintenance.metastore.catalog import Catalog
from maintenance.operations.operation import Operation, Plan, Run, as_asked
from maintenance.operations.parameters import Param


@dataclass(frozen=True, slots=True)
class Repair:
    """Which tables and databases."""

    table: Annotated[
        Sequence[str], Param("Tables as database.table, and databases; empty: all.", others=("database_or_table",))
    ] = ()


def apply(_: Run, catalog: Catalog, planned: Plan[Repair, None]) -> None:
    """Let the catalog know what there is."""
    for name in planned.request.table:
        if "." in name:
            catalog.repair_table(name)
        else:
            catalog.repair_database(name)
    if not planned.request.table:
        catalog.repair_catalog()


OPERATION = Operation(
    "repair",
    "Register the databases and tables of the warehouse in its catalog.",
    Repair,
    as_asked,
    apply,
    has_dry_run=False,
    of_catalog=True,
)


def repair(catalog: Catalog, names: Sequence[str] = ()) -> None:
    """Register the databases and tables of the warehouse in its catalog.

    Args: `names`: tables as ``database.table``, and databases; empty: the whole catalog.
    Raises: NotFoundError: there is no such folder; UnsupportedError: the catalog cannot do it.
    """
    OPERATION.run(Run(), catalog, Repair(tuple(names)))
