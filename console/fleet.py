"""All tables on one page: what is urgent first, what comes next, and where the bytes are.

The figures are those that the sensor `check_radar` last found, so the page opens as fast with ten thousand tables as
with ten. Only the tables of the page that is shown are asked for more.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from maintenance.operations.bin.bytes_in_bin import BytesInBin
from maintenance.operations.retention.forecast import Forecast
from maintenance.project.config import TableConfig
from paimon_maintenance.assets.pages.fleet import DUE, ILL, ORDER, FleetRow
from paimon_maintenance.assets.pages.freeable import AskBeside
from paimon_maintenance.assets.pages.holders import KnownOrphans
from paimon_maintenance.console.lake import Known
from paimon_maintenance.console.links import page_of
from paimon_maintenance.console.looks import Looks
from paimon_maintenance.console.pictures.bar import Bar, Part
from paimon_maintenance.console.pictures.trend import Trend
from paimon_maintenance.console.upcoming import Upcoming, upcoming
from paimon_maintenance.sensors.publishing import Judged

NOT_READ = "not read yet"
STATES = (*ORDER, NOT_READ)
PAGE = 100
# What the sensor found is good for so long; it looks at each table again more often than that.
_STALE = timedelta(minutes=20)


@dataclass(frozen=True, slots=True)
class Choice:
    """Which tables are shown. Empty: all. `words`: of the name; `page`: from 1."""

    database: str = ""
    owner: str = ""
    state: str = ""
    words: str = ""
    page: int = 1

    @classmethod
    def of(cls, query: Mapping[str, str]) -> "Choice":
        """What the address of a page says."""
        number = query.get("page", "1")
        return cls(
            query.get("database", ""),
            query.get("owner", ""),
            query.get("state", ""),
            query.get("name", "").strip(),
            max(1, int(number)) if number.isascii() and number.isdecimal() and len(number) < 7 else 1,
        )

    @property
    def query(self) -> dict[str, str]:
        """What the addresses of other pages of the same choice begin with."""
        return {"database": self.database, "owner": self.owner, "state": self.state, "name": self.words}

    def takes(self, line: "Line") -> bool:
        """Whether a table is one of these."""
        return (
            (not self.database or line.database == self.database)
            and (not self.owner or self.owner in line.config.owners)
            and (not self.state or line.state == self.state)
            and self.words.lower() in line.name.lower()
        )


@dataclass(frozen=True, slots=True)
class Line:
    """A table on the page. `row`: None where it was not read yet; `at`: when it was read."""

    config: TableConfig
    row: FleetRow | None
    at: datetime | None = None

    @property
    def name(self) -> str:
        return self.config.identifier

    @property
    def database(self) -> str:
        return self.name.partition(".")[0]

    @property
    def state(self) -> str:
        return NOT_READ if self.row is None else self.row.state

    @property
    def rank(self) -> tuple[int, int, str]:
        """The most urgent first; those that were not read come after those that need attention."""
        if self.row is None:
            return ORDER.index(DUE), 1, self.name
        return self.row.rank

    @property
    def address(self) -> str:
        return page_of(self.name)


@dataclass(frozen=True, slots=True)
class Shown:
    """A table with what is asked for those of the page alone."""

    line: Line
    bar: Bar | None
    trend: Trend | None
    next: Upcoming
    freeable: Forecast | None = None


@dataclass(frozen=True, slots=True)
class FleetView:
    """The page.

    Attributes:
        counts: of all tables by state, in the order of urgency.
        taken: how many the choice takes; `shown`: those of them on this page.
        bytes, old_bytes: over all tables that were read.
    """

    choice: Choice
    counts: Mapping[str, int]
    databases: Sequence[str]
    owners: Sequence[str]
    taken: int
    shown: Sequence[Shown]
    bytes: int = 0
    old_bytes: int = 0
    pages: int = 1
    urgent: int = 0
    compacts: bool = False

    @property
    def total(self) -> int:
        return sum(self.counts.values())


def lines_of(known: Known, looks: Looks, now: datetime) -> list[Line]:
    """All tables: as the sensor found them, or as they are looked at from here."""
    fresh: list[Line] = []
    rest: list[Line] = []
    for name, config in known.tables.items():
        judged = known.judged.get(name)
        at = None if judged is None or not judged.row else datetime.fromtimestamp(judged.at, UTC)
        row = FleetRow.parse(judged.row) if judged is not None and judged.row else None
        is_fresh = at is not None and now - at < _STALE and not (judged and _has_changed(config, judged, known.digests))
        (fresh if is_fresh else rest).append(Line(config, row, at))
    found = looks.rows(known, [line.config for line in rest]) if rest else {}
    looked = [
        Line(line.config, found[line.name][0], datetime.fromtimestamp(found[line.name][1], UTC))
        if line.name in found
        else line
        for line in rest
    ]
    return [*fresh, *looked]


def _has_changed(config: TableConfig, judged: Judged, digests: Mapping[str, str]) -> bool:
    """Whether the sensor has seen the table with other settings than it has now."""
    before = judged.state.rpartition(" ")[2]
    return bool(before) and before != digests.get(config.identifier, before)


def fleet_view(
    known: Known,
    lines: Sequence[Line],
    choice: Choice,
    now: datetime,
    *,
    past: Mapping[str, Sequence[Mapping[str, Any]]],
    bins: Mapping[str, BytesInBin],
    beside: AskBeside,
) -> FleetView:
    """The page. `past`: rows of the history by table; `bins`: by table; `beside`: asked for the shown tables."""
    taken = sorted((line for line in lines if choice.takes(line)), key=lambda line: line.rank)
    rows = [line.row for line in lines if line.row is not None]
    states = [line.state for line in lines]
    pages = max(1, -(-len(taken) // PAGE))
    page = min(choice.page, pages)
    shown = taken[(page - 1) * PAGE : page * PAGE]
    known_beside = beside([line.name for line in shown])
    return FleetView(
        Choice(choice.database, choice.owner, choice.state, choice.words, page),
        {state: states.count(state) for state in STATES if state in states},
        sorted({line.database for line in lines}),
        sorted({owner for line in lines for owner in line.config.owners}),
        len(taken),
        [
            Shown(
                line,
                _bar(line.row, bins.get(line.name), known_beside[line.name].orphans),
                Trend.of(past.get(line.name, ()), now),
                upcoming(line.config, line.row, known, now),
                None if line.row is None else line.row.forecast(known_beside[line.name]),
            )
            for line in shown
        ],
        bytes=sum(row.bytes for row in rows),
        old_bytes=sum(row.old_bytes for row in rows),
        pages=pages,
        urgent=sum(state in (*ILL, DUE) for state in states),
        compacts=known.automation.compacts,
    )


def _bar(row: FleetRow | None, in_bin: BytesInBin | None, orphans: KnownOrphans | None) -> Bar | None:
    if row is None:
        return None
    parts = [
        Part("live", row.bytes),
        Part("kept by old snapshots and tags", row.old_bytes, "retained"),
        Part("orphans", 0 if orphans is None else orphans.bytes, "orphan"),
        Part("in the bin", 0 if in_bin is None else in_bin.bytes, "bin"),
    ]
    return Bar.of(parts)
