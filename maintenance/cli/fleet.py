"""What `paimonctl tables --long` tells of many tables: a line for each, from metadata alone."""

from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pyarrow as pa

from maintenance.catalog import Catalog, CatalogTable
from maintenance.errors import PaimonError
from maintenance.table.shape import table_shape

_TABLES_AT_ONCE = 8
_COUNTS = ("rows", "bytes", "files", "level0_files", "sorted_runs", "snapshots")
_FIGURES = pa.schema(
    [("database", "string"), ("table", "string"), ("kind", "string"), *((name, "int64") for name in _COUNTS),
     ("changed", "string"), ("problem", "string")]
)  # fmt: skip
Name = tuple[str, str]


def figures(catalog: Catalog, names: Iterable[Name]) -> pa.Table:
    """The figures of tables as their newest snapshots have them, in their order. `names`: database and table.

    Columns: `kind`: ``primary key``, ``append``, or ``other``: a view, or a table of plain files or objects; `rows`:
    physical ones, retractions included; `bytes`: of live data files; `level0_files`: not compacted yet; `sorted_runs`:
    in the bucket that has most; `changed`: when the newest snapshot was committed; `problem`: why a table cannot be
    read. Null: such a table has no such figure.
    """
    rows = for_each(lambda name: {"database": name[0], "table": name[1], **_figures(catalog, ".".join(name))}, names)
    return pa.Table.from_pylist(rows, _FIGURES)


def for_each(line: Callable[[Name], Any], names: Iterable[Name]) -> list[Any]:
    """Some tables at once, in their order."""
    with ThreadPoolExecutor(_TABLES_AT_ONCE) as pool:
        return list(pool.map(line, names))


def _figures(catalog: Catalog, name: str) -> dict[str, Any]:
    try:
        table = catalog.get_table(name)
        if not isinstance(table, CatalogTable):
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
