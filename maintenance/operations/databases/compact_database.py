"""Compact several tables in one call: procedure `compact_database`.

Tables are chosen by patterns over their names and compacted side by side, a limited number at a time. A
table that fails does not block the others.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING, TypeVar

from maintenance.errors import OptionError, PaimonError
from maintenance.metastore.catalog import Catalog
from maintenance.operations.compaction.compact import OPERATION as COMPACT
from maintenance.operations.compaction.report import CompactReport
from maintenance.operations.compaction.request import CompactRequest
from maintenance.operations.operation import Run
from maintenance.operations.parameters import fields_of_arguments
from maintenance.operations.plan_store import StoredPlan, check_plan, moved_groups, plan_of_many, plans_of, refuse
from maintenance.operations.progress import Progress
from maintenance.spark.errors import as_paimon_error
from maintenance.table.table import Table

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

COMPACT_DATABASE = "compact_database"
_PLANNERS = 8
Done = TypeVar("Done")
Opened = Callable[[Table], Table]


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
                raise OptionError(
                    f"'{pattern}' is not a pattern: {error}", "compact_database", "Correct it."
                ) from error

    def takes(self, identifier: str) -> bool:
        database = identifier.partition(".")[0]
        taken = re.fullmatch(self.databases, database) and re.fullmatch(self.tables, identifier)
        return bool(taken) and (self.excluded is None or not re.fullmatch(self.excluded, identifier))


@dataclass(frozen=True, slots=True)
class CompactDatabaseReport:
    """What became of each table: its report, or why it was skipped (no table of Paimon's own format) or failed.

    `errors`: of the tables that could not be compacted at all, `failed` as texts.
    """

    reports: Mapping[str, CompactReport]
    skipped: Mapping[str, str]
    errors: Mapping[str, PaimonError]

    @property
    def failed(self) -> Mapping[str, str]:
        return {name: str(error) for name, error in self.errors.items()}


def compact_database(
    spark: "SparkSession | None",
    catalog: Catalog,
    choice: TableChoice = TableChoice(),
    *,
    full: bool = False,
    partition_idle_time: timedelta | None = None,
    max_concurrent: int = 2,
    dry_run: bool = False,
    proof: str | None = None,
    opened: Opened | None = None,
    progress: Progress | None = None,
) -> CompactDatabaseReport:
    """Compact the tables that `choice` takes.

    Args: `max_concurrent`: tables at a time; `opened`: what is done to each table before, such as `copy` with other
        options; the others as of `compact`.
    Raises: OptionError: a pattern is none; errors of listing the tables.
    """
    request = CompactRequest(full=full, partition_idle_time=partition_idle_time, proof=proof)

    def one(table: Table, say: Progress) -> CompactReport:
        return COMPACT.run(Run(spark, say), table, request, dry_run=dry_run)

    results = each_table(catalog, tables_of(catalog, choice), one, max_concurrent, opened, progress)
    return CompactDatabaseReport(*results)


def plan_compact_database(
    catalog: Catalog,
    choice: TableChoice = TableChoice(),
    request: CompactRequest = CompactRequest(),  # noqa: B008 - frozen
    *,
    opened: Opened | None = None,
) -> StoredPlan:
    """What `compact_database` would rewrite now, the plans of all tables as one.

    Tables that cannot be planned are not part of it: the plan's argument `UNPLANNED` says why, by table.
    """

    def one(table: Table, _: Progress) -> StoredPlan:
        return COMPACT.keepable(Run(), table, request)[1]

    plans, _, errors = each_table(catalog, tables_of(catalog, choice), one, _PLANNERS, opened, None)
    return plan_of_many(COMPACT_DATABASE, plans.values(), errors)


def apply_compact_database(
    spark: "SparkSession | None",
    catalog: Catalog,
    plan: StoredPlan,
    *,
    max_concurrent: int = 2,
    opened: Opened | None = None,
    progress: Progress | None = None,
) -> CompactDatabaseReport:
    """Compact what the plan names, of every table, and nothing else. Arguments as of `compact_database`.

    Raises: OutdatedPlanError: files of some table have moved, then nothing is done to any; OptionError: it is a plan of
        another operation.
    """
    check_plan(plan, COMPACT_DATABASE, None)
    plans = plans_of(plan)

    def moved(table: Table, _: Progress) -> list[str]:
        mine = plans[table.identifier]
        request = CompactRequest(**fields_of_arguments(CompactRequest, mine.arguments))
        return moved_groups(mine, COMPACT.keepable(Run(), table, request)[1].groups)

    looked, skipped, failed = each_table(catalog, list(plans), moved, _PLANNERS, opened, None)
    troubles = [f"{name} {text}" for name, texts in looked.items() for text in texts]
    refuse(plan, [*troubles, *(f"{name}: {text}" for name, text in {**skipped, **failed}.items())])

    def one(table: Table, say: Progress) -> CompactReport:
        return COMPACT.carry_out(table, plans[table.identifier], Run(spark, say))

    return CompactDatabaseReport(*each_table(catalog, list(plans), one, max_concurrent, opened, progress))


def tables_of(catalog: Catalog, choice: TableChoice) -> list[str]:
    names = [f"{database}.{name}" for database in catalog.list_databases() for name in catalog.list_tables(database)]
    return [name for name in names if choice.takes(name)]


class Skipped(Exception):  # noqa: N818 - it is not an error
    """A table is none for this work. Its text says why."""


def each_table(
    catalog: Catalog,
    names: Sequence[str],
    work: Callable[[Table, Progress], Done],
    at_a_time: int,
    opened: Opened | None,
    progress: Progress | None,
) -> tuple[dict[str, Done], dict[str, str], dict[str, PaimonError]]:
    """What became of each table: what `work` returned; why it was skipped; why it failed."""

    def one(name: str, say: Progress) -> Done:
        table = catalog.get_table(name)
        if not isinstance(table, Table):
            raise Skipped("it has no files of its own")
        return work(table if opened is None else opened(table), say)

    return each_name(names, one, at_a_time, progress)


def each_name(
    names: Sequence[str], work: Callable[[str, Progress], Done], at_a_time: int, progress: Progress | None
) -> tuple[dict[str, Done], dict[str, str], dict[str, PaimonError]]:
    """As `each_table`, of tables of any kind. `work` may raise `Skipped`."""
    done: dict[str, Done] = {}
    skipped: dict[str, str] = {}
    failed: dict[str, PaimonError] = {}

    def one(identifier: str) -> None:
        try:
            done[identifier] = work(
                identifier, lambda line: None if progress is None else progress(f"{identifier}: {line}")
            )
        except Skipped as reason:
            skipped[identifier] = str(reason)
        except Exception as error:  # noqa: BLE001 - the edge of one table: what was done to the others is still reported
            failed[identifier] = as_paimon_error(error, f"table {identifier}")

    with ThreadPoolExecutor(max(1, at_a_time)) as pool:
        list(pool.map(one, names))
    in_order = [name for name in names if name in done]
    return {name: done[name] for name in in_order}, skipped, failed
