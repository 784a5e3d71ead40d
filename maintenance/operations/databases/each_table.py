"""Many tables in one call: which ones, and what becomes of each. One that fails does not block the others."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeVar

from maintenance.errors import NotFoundError, OptionError, PaimonError
from maintenance.metastore.catalog import Catalog
from maintenance.operations.progress import Progress
from maintenance.spark.errors import as_paimon_error
from maintenance.table.table import Table
from maintenance.threads import map_in_threads

_LOOKED_AT_AT_ONCE = 8
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
                fix = "Write a regular expression, such as sales.* or db\\.(a|b)."
                raise OptionError(f"'{pattern}' is not a pattern: {error}", "compact_database", fix) from error

    def takes(self, identifier: str) -> bool:
        database = identifier.partition(".")[0]
        taken = re.fullmatch(self.databases, database) and re.fullmatch(self.tables, identifier)
        return bool(taken) and (self.excluded is None or not re.fullmatch(self.excluded, identifier))


def tables_of(catalog: Catalog, choice: TableChoice) -> list[str]:
    names = [f"{database}.{name}" for database in catalog.list_databases() for name in catalog.list_tables(database)]
    return [name for name in names if choice.takes(name)]


def looked_at(names: Sequence[str], look: Callable[[str], Done]) -> list[Done]:
    """What `look` finds of each table, some at a time, in their order; without those that are dropped meanwhile."""

    def one(name: str) -> list[Done]:
        try:
            return [look(name)]
        except NotFoundError:
            return []

    return [found for each in map_in_threads(one, names, _LOOKED_AT_AT_ONCE) for found in each]


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

    map_in_threads(one, names, at_a_time)
    in_order = [name for name in names if name in done]
    return {name: done[name] for name in in_order}, skipped, failed
