"""Clone the tables of a database, or of all, into another warehouse: `clone` of each."""

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from maintenance.errors import PaimonError
from maintenance.metastore.catalog import Catalog
from maintenance.operations.databases.clone import CloneReport, clone
from maintenance.operations.databases.each_table import TableChoice, each_table, tables_of
from maintenance.operations.parameters import keywords_of
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


@dataclass(frozen=True, slots=True)
class CopiedTables:
    """Which tables are copied, and how.

    Attributes:
        included: only these, ``table`` or ``database.table``; empty = all.
        excluded: not these.
        meta_only, clone_if_exists, parallelism: as of `clone`, for each table.
    """

    included: Collection[str] = ()
    excluded: Collection[str] = ()
    meta_only: bool = False
    clone_if_exists: bool = True
    parallelism: int = 8

    @property
    def of_each(self) -> dict[str, Any]:
        """How each table is copied."""
        return {name: getattr(self, name) for name in ("meta_only", "clone_if_exists", "parallelism")}

    def among(self, catalog: Catalog, database: str | None) -> list[str]:
        """The tables to copy. `database`: None = of all. Raises: NotFoundError: there is no such database."""
        if database is not None:
            catalog.get_database(database)

        def wanted(name: str) -> bool:
            both = {name, name.partition(".")[2]}
            return (not self.included or bool(both & set(self.included))) and not both & set(self.excluded)

        pattern = ".*" if database is None else re.escape(database)
        return [name for name in tables_of(catalog, TableChoice(pattern)) if wanted(name)]


@keywords_of(CopiedTables, "copied")
def clone_database(
    catalog: Catalog,
    database: str | None,
    target: Catalog,
    target_database: str | None = None,
    copied: CopiedTables = CopiedTables(),
    *,
    spark: "SparkSession | None" = None,
    dry_run: bool = False,
    progress: Progress | None = None,
) -> CloneDatabaseReport:
    """Clone tables, one after the other. A table that fails does not block the others.

    Args:
        database: None = all.
        target_database: None = that of each table.
        spark: as of `clone`, for each table.
    Raises: NotFoundError: there is no such database.
    """

    def one(table: Table, say: Progress) -> CloneReport:
        goal = goal_of(table, target_database)
        return clone(table, target, goal, **copied.of_each, spark=spark, dry_run=dry_run, progress=say)

    return CloneDatabaseReport(*each_table(catalog, copied.among(catalog, database), one, 1, None, progress))


def goal_of(table: Table, target_database: str | None) -> str:
    """The name of a table's copy."""
    own, _, name = table.identifier.partition(".")
    return f"{target_database or own}.{name}"
