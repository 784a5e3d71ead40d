"""What the console reads: tables.yaml, the catalog, and Dagster's storage. Nothing here writes."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from threading import Thread
from typing import Any
from zoneinfo import ZoneInfo

import dagster as dg

from maintenance.errors import NotFoundError
from maintenance.operations.bin.bytes_in_bin import BytesInBin, bytes_by_table
from maintenance.operations.fleet.fleet_costs import CostsReport, Work
from maintenance.operations.fleet.plan_fleet import FleetReport
from maintenance.operations.history import each_entry, history_table, read_histories
from maintenance.project.config import Project, TableConfig, load_project
from paimon_maintenance.assets.checks.due import Automation, automation_of
from paimon_maintenance.assets.pages.table_page import settings_digest
from paimon_maintenance.assets.resources.catalog import PaimonCatalog
from paimon_maintenance.assets.steps.fleet import costs, planned
from paimon_maintenance.assets.warehouse.bins import due_in_bin
from paimon_maintenance.assets.warehouse.discovery import known_table, named_tables
from paimon_maintenance.console.links import Links
from paimon_maintenance.console.remembered import Remembered
from paimon_maintenance.sensors.cursor import Cursor
from paimon_maintenance.sensors.publishing import Judged
from paimon_maintenance.sensors.radar import cursor_of

RADAR = "check_radar"
WEEK = timedelta(days=7)


@dataclass(frozen=True)
class Known:
    """What a request works with.

    Attributes:
        tables: all that the project is about, by name; of those that are not described, the name and settings alone.
        judged: what the sensor `check_radar` last found, by table.
        automation: the sensor that compacts and the schedule that expires, whether they are on.
        digests: what changes when the settings of a table do, by table.
        on: names of schedules and sensors that are on.
    """

    project: Project
    catalog: PaimonCatalog
    tables: Mapping[str, TableConfig]
    judged: Mapping[str, Judged]
    automation: Automation
    on: frozenset[str]
    links: Links
    digests: Mapping[str, str] = field(default_factory=dict)

    @property
    def zone(self) -> ZoneInfo:
        return ZoneInfo(self.project.expiry.time_zone)

    def config(self, identifier: str) -> TableConfig:
        """A table with what the catalog holds of it. Raises: NotFoundError: it is none of the project's."""
        if identifier not in self.tables:
            fix = "Choose one from the list of all tables, or name it in tables.yaml."
            raise NotFoundError(f"'{identifier}' is not a table of tables.yaml", self.project.warehouse, fix)
        return known_table(self.tables[identifier], self.catalog)


@dataclass(frozen=True, slots=True)
class TableWork:
    """What is done next to a table. `beside_others`: whether all tables were planned, or this one alone."""

    report: FleetReport
    beside_others: bool


@dataclass(frozen=True, slots=True)
class OfWeek:
    """What was done in a week. `last`: when the last run ended."""

    work: Work
    last: datetime

    @classmethod
    def of(cls, rows: Iterable[Mapping[str, Any]]) -> "dict[tuple[str, str, str], OfWeek]":
        """By table, operation and outcome."""
        found: dict[tuple[str, str, str], OfWeek] = {}
        for row in rows:
            kind = row["table_name"], row["operation"], row["outcome"]
            known = found.get(kind)
            work, last = (Work(), row["finished_at"]) if known is None else (known.work, known.last)
            found[kind] = cls(work.and_row(row), max(last, row["finished_at"]))
        return found


@dataclass
class Lake:
    """The project of a tables.yaml, and what a Dagster instance knows of it.

    Attributes:
        path: of tables.yaml; a changed file is followed within seconds.
        seconds: how old what was listed may be; 0 = every request reads anew.
    """

    path: Path
    instance: dg.DagsterInstance
    seconds: float = 30.0
    project: Remembered[Project] = field(init=False)
    _named: Remembered[Mapping[str, TableConfig]] = field(init=False)
    _past: Remembered[Mapping[str, Sequence[Mapping[str, Any]]]] = field(init=False)
    _week: Remembered[Mapping[tuple[str, str, str], OfWeek]] = field(init=False)
    _bins: Remembered[Mapping[str, BytesInBin]] = field(init=False)
    _digests: Remembered[Mapping[str, str]] = field(init=False)
    _due: Remembered[Mapping[str, BytesInBin] | None] = field(init=False)
    _work: Remembered[FleetReport] = field(init=False)
    _costs: Remembered[CostsReport] = field(init=False)
    _parsed: tuple[str | None, Cursor[Judged]] = field(init=False, default=(None, Cursor()))

    def __post_init__(self) -> None:
        self.project = Remembered(lambda: load_project(self.path), min(self.seconds, 5.0))
        self._named = Remembered(self._list, self.seconds)
        self._digests = Remembered(self._digest, self.seconds)
        self._past = Remembered(self._read_past, self.seconds)
        self._week = Remembered(self._read_week, self.seconds)
        self._bins = Remembered(self._read_bins, self.seconds)
        self._due = Remembered(self._read_due, self.seconds)
        self._costs = Remembered(self._add_up, self.seconds)
        self._work = Remembered(self._plan_work, self.seconds)

    def warm_up(self) -> None:
        """Begin to read what the first page will ask for."""
        Thread(target=self._try_all, daemon=True).start()

    def now(self) -> datetime:
        """The moment for which pages are made."""
        return datetime.now(UTC)

    def known(self) -> Known:
        """What is known now. Raises: OptionError: of tables.yaml; what goes wrong when the catalog is listed."""
        project = self.project.get()
        states = self.instance.all_instigator_state()
        radar = next((state for state in states if state.name == RADAR), None)
        location, cursor = None, None
        if radar is not None:
            location = radar.origin.repository_origin.code_location_origin.location_name
            cursor = getattr(radar.instigator_data, "cursor", None)
        return Known(
            project,
            self._catalog(project),
            self._named.get(),
            self._judged(cursor),
            automation_of(self.instance, location),
            frozenset(state.name for state in states if state.is_running),
            Links(project.alerts.address, location, partial(self._is_partition, project)),
            self._digests.get(),
        )

    def past(self) -> Mapping[str, Sequence[Mapping[str, Any]]]:
        """What was last done to each table within a week, newest first; nothing where no history can be read."""
        return self._past.get()

    def week(self) -> Mapping[tuple[str, str, str], OfWeek]:
        """All that was done within a week, by table, operation and outcome."""
        return self._week.get()

    def bins(self) -> Mapping[str, BytesInBin]:
        """What the bin holds of each table; nothing where it has too many runs to look through, or no place."""
        return self._bins.get()

    def due_in_bin(self) -> Mapping[str, BytesInBin] | None:
        """What the next emptying of the bin frees of each table. None: the bin has too many runs to look through."""
        return self._due.get()

    def work(self) -> FleetReport:
        """What is done next to all tables, and what waits. Raises: what goes wrong when the catalog is listed."""
        return self._work.get()

    def known_work(self) -> FleetReport | None:
        """The same, if it is at hand."""
        return self._work.at_hand()

    def known_costs(self) -> CostsReport | None:
        """As `costs`, if it is at hand."""
        return self._costs.at_hand()

    def work_on(self, config: TableConfig) -> TableWork:
        """The same of one table. Where that of all tables is not at hand, as if there were no other."""
        project, everything = self.project.get(), self._work.at_hand()
        report = everything or planned(self._catalog(project), project, [config], self.now())
        own = [line for line in report.lines if line.table == config.identifier]
        return TableWork(replace(report, lines=tuple(own)), everything is not None)

    def costs_of(self, config: TableConfig) -> CostsReport:
        """What the maintenance of one table costs and saves. Raises: as `work`."""
        project = self.project.get()
        return costs(self._catalog(project), project, [config], self.now())

    def costs(self) -> CostsReport:
        """What the maintenance of all tables costs and saves. Raises: as `work`."""
        return self._costs.get()

    def _add_up(self) -> CostsReport:
        project = self.project.get()
        return costs(self._catalog(project), project, list(self._named.get().values()), self.now())

    def _plan_work(self) -> FleetReport:
        project = self.project.get()
        return planned(self._catalog(project), project, list(self._named.get().values()), self.now())

    def _is_partition(self, project: Project, table: str) -> bool:
        described = self._named.get().get(table) if project.assets.per == "database" else None
        return described is not None and known_table(described, self._catalog(project)).grouped

    def _list(self) -> Mapping[str, TableConfig]:
        project = self.project.get()
        named = named_tables(project, self._catalog(project))
        return {table.identifier: table for table in named.tables}

    def _digest(self) -> Mapping[str, str]:
        return {name: settings_digest(config) for name, config in self._named.get().items()}

    def _read_past(self) -> Mapping[str, Sequence[Mapping[str, Any]]]:
        project = self.project.get()
        if project.history is None:
            return {}
        return read_histories(self._catalog(project).open(), history_table(project.history), self.now() - WEEK)

    def _read_week(self) -> Mapping[tuple[str, str, str], OfWeek]:
        project = self.project.get()
        if project.history is None:
            return {}
        catalog = self._catalog(project).open()
        return OfWeek.of(each_entry(catalog, history_table(project.history), self.now() - WEEK))

    def _read_bins(self) -> Mapping[str, BytesInBin]:
        catalog = self._catalog(self.project.get())
        return (bytes_by_table(catalog.file_io(), catalog.root()) or {}) if catalog.has_root() else {}

    def _read_due(self) -> Mapping[str, BytesInBin] | None:
        return due_in_bin(self._catalog(self.project.get()), self._named.get().values(), self.now())

    def _judged(self, cursor: str | None) -> Mapping[str, Judged]:
        if cursor != self._parsed[0]:
            self._parsed = cursor, cursor_of(cursor)
        return self._parsed[1].tables

    def _try_all(self) -> None:
        try:
            self.known()
            self.past()
            self.bins()
            self.due_in_bin()
        except Exception:  # noqa: BLE001 - the request that needs it says what is wrong
            return

    @staticmethod
    def _catalog(project: Project) -> PaimonCatalog:
        return PaimonCatalog(warehouse=project.warehouse, options=dict(project.catalog), history=project.history)
