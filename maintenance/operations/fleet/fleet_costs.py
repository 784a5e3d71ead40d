"""What the maintenance of tables costs and what it saves: procedure `fleet_costs`, command `paimonctl costs`.

Work is what the history has of a span of days: seconds, those of processors, requests to the store, bytes that were
read, written and freed. Storage is what is there now. With prices, those of tables.yaml, all of it is money, too. What
comes next is the best action of the plan of all tables.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Annotated, Any

import pyarrow as pa

from maintenance.amounts import number_of, size_text
from maintenance.errors import PaimonError, UnsupportedError
from maintenance.fs.file_io import FileIO
from maintenance.metastore.catalog import Catalog
from maintenance.operations.bin.bytes_in_bin import BytesInBin, bytes_by_table
from maintenance.operations.fleet.plan_fleet import LATER, NOW, FleetLine, PlanFleet
from maintenance.operations.fleet.plan_fleet import plan as plan_work
from maintenance.operations.fleet.settings import FleetSettings, Prices
from maintenance.operations.history import HISTORY_DATABASE, SUCCEEDED, each_entry, history_table
from maintenance.operations.operation import BY_FLEET, Operation, Plan, Run, Shown, Spelling, as_asked
from maintenance.operations.orphans.orphan_bytes import orphan_bytes
from maintenance.operations.parameters import Param
from maintenance.operations.retention.held_bytes import LIVE, holdings
from maintenance.table.table import Table
from maintenance.threads import map_in_threads

_READERS = 4
_MONTH = 30


@dataclass(frozen=True, slots=True)
class FleetCosts:
    """Of which tables, and of how many days. `settings`: of tables.yaml, with its prices; `only`: as of a plan."""

    databases: Annotated[str, Param("Databases whose names match.", name="including_databases")] = ".*"
    tables: Annotated[str, Param("Tables that match, as database.table.", name="including_tables")] = ".*"
    excluded: Annotated[str | None, Param("Leave out tables that match this.", name="excluding_tables")] = None
    days: Annotated[int, Param("How many days of the history to look at.", least=1)] = _MONTH
    orphans: Annotated[bool, Param("Also count orphan files. This lists all folders of the tables.")] = False
    history: Annotated[str | None, Param("Database of the history.")] = HISTORY_DATABASE
    settings: FleetSettings | None = None
    only: Sequence[str] | None = None


@dataclass(frozen=True, slots=True)
class Work:
    """What was done to a table.

    Attributes:
        seconds: by the clock; core_seconds: of processors, as far as runs have measured it, else as many.
        requests: to the store, of this process; None where no run has counted them.
        read_bytes, written_bytes: of files that were merged or looked through, and of those committed.
        freed: bytes; files_less: that readers open no more, by compactions.
    """

    runs: int = 0
    failed: int = 0
    seconds: float = 0.0
    core_seconds: float = 0.0
    requests: int | None = None
    read_bytes: int = 0
    written_bytes: int = 0
    freed: int = 0
    files_less: int = 0

    def and_row(self, row: Mapping[str, Any]) -> "Work":
        """With one more row of the history."""
        details: Mapping[str, Any] = json.loads(row["details"] or "{}")
        seconds, requests = row["seconds"] or 0.0, details.get("requests")
        done = row["outcome"] == SUCCEEDED
        before, after = row["files_before"], row["files_after"]
        merged = done and before is not None and after is not None and row["operation"].startswith("compact")
        counted = self.requests if requests is None else (self.requests or 0) + requests
        return Work(
            self.runs + 1,
            self.failed + (not done),
            self.seconds + seconds,
            self.core_seconds + details.get("core_seconds", seconds),
            counted,
            self.read_bytes + (row["input_bytes"] or 0),
            self.written_bytes + (details.get("written_bytes") or 0),
            self.freed + (details.get("deleted_bytes") or 0),
            self.files_less + (max(0, before - after) if merged else 0),
        )


@dataclass(frozen=True, slots=True)
class TableCosts:
    """A table. Bytes are None where they were not counted, money where there are no prices.

    Attributes:
        retained: that old snapshots, tags, branches and changelogs alone hold.
        following: the best action that comes next; None: there is none.
        problem: why it could not be looked at.
    """

    table: str
    work: Work
    live: int | None = None
    retained: int | None = None
    orphans: int | None = None
    binned: int | None = None
    following: FleetLine | None = None
    problem: str = ""

    @property
    def stored(self) -> int:
        return sum(part or 0 for part in (self.live, self.retained, self.orphans, self.binned))

    def spent(self, prices: Prices) -> float:
        """What the work cost."""
        return prices.of_work(self.work.core_seconds, self.work.requests or 0)

    def saved(self, prices: Prices) -> float:
        """What the bytes that were freed would have cost in a month."""
        return prices.of_month(self.work.freed)


@dataclass(frozen=True, slots=True)
class CostsReport:
    """All tables, the dearest first. `prices`: None: none are set."""

    days: int
    tables: tuple[TableCosts, ...]
    prices: Prices | None

    @property
    def summary(self) -> str:
        """In one sentence."""
        runs, seconds = sum(each.work.runs for each in self.tables), sum(each.work.seconds for each in self.tables)
        freed, files = sum(each.work.freed for each in self.tables), sum(each.work.files_less for each in self.tables)
        text = (
            f"In {number_of(self.days, 'day')} {number_of(runs, 'run')} took {seconds:,.0f} s, freed"
            f" {size_text(freed)}, and readers open {number_of(files, 'file')} less"
        )
        if self.prices is None:
            return f"{text}."
        spent = sum(each.spent(self.prices) for each in self.tables)
        saved = sum(each.saved(self.prices) for each in self.tables)
        return f"{text}: {spent:,.2f} {self.prices.currency} spent, {saved:,.2f} saved a month."


def apply(run: Run, catalog: Catalog, planned: Plan[FleetCosts, None]) -> CostsReport:
    """Add it up."""
    asked, now = planned.request, run.moment
    settings = asked.settings or FleetSettings()
    request = PlanFleet(
        asked.databases, asked.tables, asked.excluded, history=asked.history, settings=settings, only=asked.only
    )
    opened: dict[str, Table] = {}

    def kept(table: Table) -> Table:
        return opened.setdefault(table.identifier, table)

    plan = plan_work(run, catalog, request, kept)
    works: dict[str, Work] = {}
    since = run.moment - timedelta(days=asked.days)
    for row in () if asked.history is None else each_entry(catalog, history_table(asked.history), since):
        works[row["table_name"]] = works.get(row["table_name"], Work()).and_row(row)
    best: dict[str, FleetLine] = {}
    for line in plan.report.lines:
        if line.decision in (NOW, LATER):
            best.setdefault(line.table, line)
    bins = _bins(run, catalog)

    def look(name: str) -> TableCosts:
        found = TableCosts(name, works.get(name, Work()), following=best.get(name))
        try:
            return _stored(opened[name], found, now, bins, orphans=asked.orphans)
        except PaimonError as error:
            return replace(found, problem=error.found)

    tables = map_in_threads(look, plan.names, _READERS)
    order = sorted(tables, key=lambda each: (-each.work.core_seconds, -each.stored, each.table))
    return CostsReport(asked.days, tuple(order), settings.prices)


def _bins(run: Run, catalog: Catalog) -> Mapping[str, BytesInBin] | None:
    """What the bin holds of each table; None where it has no place, or too many runs to look through."""
    try:
        root = run.root()
    except UnsupportedError:
        return None
    return bytes_by_table(FileIO.of(catalog.options), root) if root else None


def _stored(
    table: Table, found: TableCosts, now: Any, bins: Mapping[str, BytesInBin] | None, *, orphans: bool
) -> TableCosts:
    kinds = {each.kind: each.bytes for each in holdings(table, now).kinds}
    return replace(
        found,
        live=kinds.get(LIVE, 0),
        retained=sum(size for kind, size in kinds.items() if kind != LIVE),
        orphans=orphan_bytes(table, now=now).bytes if orphans else None,
        binned=None if bins is None else bins.get(found.table, BytesInBin()).bytes,
    )


def _shown(report: CostsReport) -> Shown:
    prices = report.prices
    rows = [_row(each, prices) for each in report.tables]
    texts = {"table", "next", "currency", "problem"}
    floats = {"seconds", "core_seconds", "next_seconds", "spent", "storage_a_month", "saved_a_month", "next_costs"}
    names = [name for name in _NAMES if prices is not None or name not in _MONEY]
    columns = {
        name: pa.array(
            [row[name] for row in rows],
            pa.string() if name in texts else pa.float64() if name in floats else pa.int64(),
        )
        for name in names
    }
    return Shown(pa.table(columns))


_MONEY = ("spent", "storage_a_month", "saved_a_month", "next_costs", "currency")
_NAMES = (
    "table", "runs", "failed", "seconds", "core_seconds", "requests", "read_bytes", "written_bytes", "freed_bytes",
    "files_less", "live_bytes", "retained_bytes", "orphan_bytes", "binned_bytes", "next", "next_seconds",
    "next_files_less", "next_freed_bytes", *_MONEY, "problem",
)  # fmt: skip


def _row(one: TableCosts, prices: Prices | None) -> dict[str, Any]:
    work, line = one.work, one.following
    row = {
        "table": one.table,
        "runs": work.runs,
        "failed": work.failed,
        "seconds": round(work.seconds, 1),
        "core_seconds": round(work.core_seconds, 1),
        "requests": work.requests,
        "read_bytes": work.read_bytes,
        "written_bytes": work.written_bytes,
        "freed_bytes": work.freed,
        "files_less": work.files_less,
        "live_bytes": one.live,
        "retained_bytes": one.retained,
        "orphan_bytes": one.orphans,
        "binned_bytes": one.binned,
        "next": "" if line is None else f"{line.operation} {line.scope}".strip(),
        "next_seconds": None if line is None else round(line.expected.seconds, 1),
        "next_files_less": None if line is None else line.gain.files,
        "next_freed_bytes": None if line is None else line.gain.bytes,
        "problem": one.problem,
    }
    if prices is None:
        return row
    return {
        **row,
        "spent": round(one.spent(prices), 4),
        "storage_a_month": round(prices.of_month(one.stored), 4),
        "saved_a_month": round(one.saved(prices), 4),
        "next_costs": None if line is None else round(prices.of_work(line.expected.seconds, 0), 4),
        "currency": prices.currency,
    }


OPERATION = Operation(
    "fleet_costs",
    "Show what the maintenance of tables costs and what it saves.",
    FleetCosts,
    as_asked,
    apply,
    _shown,
    said=lambda report: [report.summary],
    of_catalog=True,
    looks_only=True,
    by_tables_yaml=BY_FLEET,
    has_job=False,
    spellings=(
        Spelling("fleet_costs", ""),
        Spelling("costs", "Show what the maintenance of tables costs and what it saves."),
    ),
)


def fleet_costs(
    catalog: Catalog,
    *,
    settings: FleetSettings = FleetSettings(),  # noqa: B008 - frozen
    days: int = _MONTH,
    orphans: bool = False,
    history: str | None = HISTORY_DATABASE,
    run: Run | None = None,
) -> CostsReport:
    """Show what the maintenance of all tables cost and saved in the last days, and what is stored.

    Args: `settings`: of the warehouse, its prices among them; `orphans`: count orphan files, too; `history`: database
        of the history; `run`: as of when, and where the bin is. Raises: errors of listing the tables.
    """
    request = FleetCosts(days=days, orphans=orphans, history=history, settings=settings)
    return OPERATION.run(run or Run(), catalog, request)
