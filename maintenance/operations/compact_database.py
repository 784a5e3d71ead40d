"""Compact several tables in one call: procedure `compact_database`.

Tables are chosen by patterns over their names and compacted side by side, no more than so many at a time. What goes
wrong with one table holds up no other.
"""

import re
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING

from maintenance.catalog.catalog import Catalog
from maintenance.errors import OptionError, PaimonError
from maintenance.operations.compact import Progress, compact
from maintenance.operations.compact_report import CompactReport
from maintenance.table.table import Table

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@dataclass(frozen=True, slots=True)
class TableChoice:
    """Which tables: regular expressions over whole names, as in Paimon's procedure.

    Attributes:
        databases, tables: to take; `tables` are matched as ``database.table``.
        excluded: not to take, though they match; None = none.
    """

    databases: str = ".*"
    tables: str = ".*"
    excluded: str | None = None

    def __post_init__(self) -> None:
        for pattern in (self.databases, self.tables, self.excluded or ""):
            try:
                re.compile(pattern)
            except re.error as error:
                raise OptionError(f"'{pattern}' is no pattern: {error}", "compact_database", "Correct it.") from error

    def takes(self, identifier: str) -> bool:
        database = identifier.partition(".")[0]
        taken = re.fullmatch(self.databases, database) and re.fullmatch(self.tables, identifier)
        return bool(taken) and (self.excluded is None or not re.fullmatch(self.excluded, identifier))


@dataclass(frozen=True, slots=True)
class CompactDatabaseReport:
    """What became of each table: its report, or why it was skipped (no table of Paimon's own format) or failed."""

    reports: Mapping[str, CompactReport]
    skipped: Mapping[str, str]
    failed: Mapping[str, str]


def compact_database(
    spark: "SparkSession | None",
    catalog: Catalog,
    choice: TableChoice = TableChoice(),
    *,
    full: bool = False,
    partition_idle_time: timedelta | None = None,
    max_concurrent: int = 2,
    dry_run: bool = False,
    progress: Progress | None = None,
) -> CompactDatabaseReport:
    """Compact the tables that `choice` takes.

    Args: `max_concurrent`: tables at a time; the others as of `compact`.
    Raises: OptionError: a pattern is none; errors of listing the tables.
    """
    say = progress or (lambda _: None)
    names = [f"{database}.{name}" for database in catalog.list_databases() for name in catalog.list_tables(database)]

    def one(identifier: str) -> CompactReport | str | PaimonError:
        try:
            table = catalog.get_table(identifier)
            if not isinstance(table, Table):
                return "no table of files of its own"
            return compact(
                spark,
                table,
                full=full,
                partition_idle_time=partition_idle_time,
                dry_run=dry_run,
                progress=lambda line: say(f"{identifier}: {line}"),
            )
        except PaimonError as error:
            return error

    chosen = [name for name in names if choice.takes(name)]
    with ThreadPoolExecutor(max(1, max_concurrent)) as pool:
        outcomes = dict(zip(chosen, pool.map(one, chosen), strict=True))
    return CompactDatabaseReport(
        {name: found for name, found in outcomes.items() if isinstance(found, CompactReport)},
        {name: found for name, found in outcomes.items() if isinstance(found, str)},
        {name: str(found) for name, found in outcomes.items() if isinstance(found, PaimonError)},
    )
