"""Figures of many tables from metadata alone: function and procedure `table_figures`, `paimonctl tables --long`."""

from dataclasses import dataclass
from functools import partial
from typing import Annotated, Any

import pyarrow as pa

from maintenance.errors import PaimonError
from maintenance.metastore.catalog import Catalog
from maintenance.operations.databases.each_table import looked_at
from maintenance.operations.operation import Operation, Plan, Run, Shown, Spelling, as_asked
from maintenance.operations.parameters import Param
from maintenance.table.shape import table_shape
from maintenance.table.table import Table

_COUNTS = ("rows", "bytes", "files", "level0_files", "sorted_runs", "snapshots")
_FIGURES = pa.schema(
    [("database", "string"), ("table", "string"), ("kind", "string"), *((name, "int64") for name in _COUNTS),
     ("changed", "string"), ("problem", "string")]
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class TableFigures:
    """Of which tables."""

    database: Annotated[str | None, Param("Only tables of this database; empty: all databases.", by_position=True)] = (
        None
    )


def apply(run: Run, catalog: Catalog, planned: Plan[TableFigures, None]) -> pa.Table:
    """Look at some tables at once, and list them in their order."""
    database = planned.request.database
    if database is not None:
        catalog, database = run.database_name(catalog, database)
    databases = catalog.list_databases() if database is None else [database]
    names = [f"{each}.{table}" for each in databases for table in catalog.list_tables(each)]
    return pa.Table.from_pylist(looked_at(names, partial(_line, catalog)), _FIGURES)


def _line(catalog: Catalog, name: str) -> dict[str, Any]:
    database, _, table = name.partition(".")
    return {"database": database, "table": table, **_figures(catalog, name)}


def _figures(catalog: Catalog, name: str) -> dict[str, Any]:
    try:
        table = catalog.get_table(name)
        if not isinstance(table, Table):
            return {"kind": "other", "problem": ""}
        shape, snapshot = table_shape(table), table.latest_snapshot()
    except PaimonError as error:
        return {"kind": "other", "problem": error.found}
    levels = {"level0_files": shape.level0_files, "sorted_runs": shape.sorted_runs_max}
    return {
        "kind": "primary key" if table.is_primary_key_table else "append",
        "rows": shape.rows,
        "bytes": shape.bytes,
        "files": shape.files,
        **(levels if table.is_primary_key_table else {}),
        "snapshots": shape.snapshots,
        "changed": None if snapshot is None else snapshot.committed_at.isoformat(timespec="seconds"),
        "problem": "",
    }


OPERATION = Operation(
    "table_figures",
    "List tables with their rows, size, files and snapshots, by their metadata.",
    TableFigures,
    as_asked,
    apply,
    Shown,
    of_catalog=True,
    looks_only=True,
    has_job=False,
    spellings=(Spelling("table_figures", ""),),
)


table_figures = OPERATION.function(
    """List tables with their rows, size, files and snapshots, from the metadata of their newest snapshots.

    Columns: `kind`: ``primary key``, ``append``, or ``other``: a view, or a table of plain files or objects; `rows`:
    physical ones, retractions included; `bytes`: of live data files; `level0_files`: not compacted yet; `sorted_runs`:
    in the bucket that has most; `changed`: when the newest snapshot was committed; `problem`: why a table cannot be
    read. Null: such a table has no such figure.

    Raises: NotFoundError: there is no such database.

    >>> table_figures(catalog, database="db").column_names[:3]
    ['database', 'table', 'kind']
    """
)
