"""Clone the tables of a database, or of all, into another warehouse: `clone` of each."""

import re
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from maintenance.errors import PaimonError
from maintenance.metastore.catalog import Catalog
from maintenance.operations.databases.clone import CloneReport, clone
from maintenance.operations.databases.each_table import TableChoice, each_table, tables_of
from maintenance.operations.progress import Progress
from maintenance.table.table import Table

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@dataclass(frozen=True, slots=True)
class CloneDatabaseReport:
    """What became of each table: its report, or why it was skipped (no files of its own) or failed."""

    reports: Mapping[str, CloneReport]
    skipped: Mapping[str, str]
    errors: Mapping[str, PaimonError]


def clone_database(
    catalog: Catalog,
    database: str | None,
    target: Catalog,
    target_database: str | None = None,
    *,
    included: Collection[str] = (),
    excluded: Collection[str] = (),
    meta_only: bool = False,
    clone_if_exists: bool = True,
    parallelism: int = 8,
    spark: "SparkSession | None" = None,
    dry_run: bool = False,
    progress: Callable[[str], None] | None = None,
) -> CloneDatabaseReport:
    """Clone tables, one after the other. A table that fails does not block the others.

    Args:
        database: None = all.
        target_database: None = that of each table.
        included: only these, ``table`` or ``database.table``; empty = all; `excluded`: not these.
        meta_only, clone_if_exists, parallelism, spark, dry_run: as of `clone`, for each table.
    Raises: NotFoundError: there is no such database.
    """

    def one(table: Table, say: Progress) -> CloneReport:
        return clone(
            table,
            target,
            goal_of(table, target_database),
            meta_only=meta_only,
            clone_if_exists=clone_if_exists,
            parallelism=parallelism,
            spark=spark,
            dry_run=dry_run,
            progress=say,
        )

    names = tables_to_clone(catalog, database, included, excluded)
    return CloneDatabaseReport(*each_table(catalog, names, one, 1, None, progress))


def goal_of(table: Table, target_database: str | None) -> str:
    """The name of a table's copy."""
    own, _, name = table.identifier.partition(".")
    return f"{target_database or own}.{name}"


def tables_to_clone(
    catalog: Catalog, database: str | None, included: Collection[str], excluded: Collection[str]
) -> list[str]:
    """The tables that `clone_database` copies. Arguments and errors as there."""
    if database is not None:
        catalog.get_database(database)

    def wanted(name: str) -> bool:
        both = {name, name.partition(".")[2]}
        return (not included or bool(both & set(included))) and not both & set(excluded)

    pattern = ".*" if database is None else re.escape(database)
    return [name for name in tables_of(catalog, TableChoice(pattern)) if wanted(name)]
