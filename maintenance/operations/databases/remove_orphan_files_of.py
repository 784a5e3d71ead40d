"""Remove the orphan files of several tables in one call: `remove_orphan_files` of ``database.*`` or ``*``."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from maintenance.errors import PaimonError
from maintenance.metastore.catalog import Catalog
from maintenance.operations.databases.each_table import TableChoice, each_table, tables_of
from maintenance.operations.orphans.orphan_removal import RemoveOrphanFilesReport
from maintenance.operations.orphans.remove_orphan_files import remove_orphan_files
from maintenance.operations.progress import Progress
from maintenance.table.table import Table

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_ALL = ("*", "*.*")


@dataclass(frozen=True, slots=True)
class RemoveOrphansOfTablesReport:
    """What became of each table: its report, or why it was skipped (no files of its own) or failed."""

    reports: Mapping[str, RemoveOrphanFilesReport]
    skipped: Mapping[str, str]
    errors: Mapping[str, PaimonError]


def is_of_many(name: str) -> bool:
    """Whether a name stands for many tables: ``*``, ``*.*`` or ``database.*``."""
    return name in _ALL or name.endswith(".*")


def remove_orphan_files_of(
    spark: "SparkSession | None",
    catalog: Catalog,
    name: str,
    *,
    max_concurrent: int = 2,
    progress: Progress | None = None,
    **arguments: Any,
) -> RemoveOrphansOfTablesReport:
    """Remove the orphan files of all tables of a database, or of all. A table that fails does not block the others.

    Args: `name`: ``*``, ``*.*`` or ``database.*``; `max_concurrent`: tables at a time; `arguments`: of
        `remove_orphan_files`.
    """
    database = ".*" if name in _ALL else re.escape(name.removesuffix(".*"))

    def one(table: Table, say: Progress) -> RemoveOrphanFilesReport:
        return remove_orphan_files(spark, table, progress=say, **arguments)

    names = tables_of(catalog, TableChoice(database))
    return RemoveOrphansOfTablesReport(*each_table(catalog, names, one, max_concurrent, None, progress))
