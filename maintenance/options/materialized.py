"""What a materialized table's options say: its query, how fresh it is to be, how it is refreshed, and by whom.

Source: Java `CoreOptions.MATERIALIZED_TABLE_*`, `FlinkCatalog`; Flink's `MaterializedTableConfigOptions`.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from enum import StrEnum
from typing import Self, TypeVar

from maintenance.errors import OptionError
from maintenance.options.option import Option, duration, string
from maintenance.options.own import MATERIALIZED_TABLE_DIALECT, MATERIALIZED_TABLE_ZONE

TYPE, MATERIALIZED_TABLE = "type", "materialized-table"
_PREFIX = "materialized-table."
QUERY = _PREFIX + "definition-query"
FRESHNESS, TIME_UNIT = _PREFIX + "interval-freshness", _PREFIX + "interval-freshness.time-unit"
LOGICAL_REFRESH_MODE, REFRESH_MODE = _PREFIX + "logical-refresh-mode", _PREFIX + "refresh-mode"
REFRESH_STATUS = _PREFIX + "refresh-status"
HANDLER_DESCRIPTION = _PREFIX + "refresh-handler-description"
HANDLER_BYTES = _PREFIX + "refresh-handler-bytes"
PARTITION_FIELDS, DATE_FORMATTER = "partition.fields.", ".date-formatter"
THRESHOLD = Option(_PREFIX + "refresh-mode.freshness-threshold", duration, timedelta(minutes=30))
"""From this freshness on a table is refreshed in full, unless its REFRESH_MODE says otherwise."""
DEFINITION: tuple[Option[str | None], ...] = (
    *(Option(key, string, None) for key in (QUERY, FRESHNESS, REFRESH_MODE, REFRESH_STATUS, LOGICAL_REFRESH_MODE)),
    *(Option(key, string, None) for key in (TIME_UNIT, HANDLER_DESCRIPTION, HANDLER_BYTES)),
)
"""What `Definition` reads, and checks."""
HERE = "paimon-maintenance"
"""The description of the refresh handler of a table that this project keeps fresh."""

E = TypeVar("E", bound=StrEnum)
_SECONDS = {"SECOND": 1, "MINUTE": 60, "HOUR": 3600, "DAY": 86_400}
_MOST = {"SECOND": 60, "MINUTE": 60, "HOUR": 24, "DAY": 1}
UNITS = tuple(_SECONDS)


class RefreshMode(StrEnum):
    CONTINUOUS = "CONTINUOUS"
    FULL = "FULL"


class RefreshStatus(StrEnum):
    INITIALIZING = "INITIALIZING"
    ACTIVATED = "ACTIVATED"
    SUSPENDED = "SUSPENDED"


@dataclass(frozen=True, slots=True)
class Freshness:
    """How far a table may lag behind its sources. `number`: as it is written."""

    number: str
    unit: str

    @property
    def interval(self) -> timedelta:
        return timedelta(seconds=int(self.number) * _SECONDS[self.unit])

    def __str__(self) -> str:
        return f"INTERVAL '{self.number}' {self.unit}"

    @property
    def words(self) -> str:
        """For people: ``1 hour``."""
        return f"{int(self.number)} {self.unit.lower()}{'' if int(self.number) == 1 else 's'}"

    def mode(self, threshold: timedelta) -> RefreshMode:
        """How a table of this freshness is refreshed if it does not say. `threshold`: see `THRESHOLD`."""
        return RefreshMode.CONTINUOUS if self.interval < threshold else RefreshMode.FULL

    @property
    def fits_a_cron(self) -> bool:
        """Whether Flink can schedule it: it divides the next larger unit, and is less than that, or is one day."""
        number, most = int(self.number), _MOST[self.unit]
        return number > 0 and most % number == 0 and (number < most or self.unit == "DAY")


DEFAULT_FRESHNESS = {RefreshMode.CONTINUOUS: Freshness("3", "MINUTE"), RefreshMode.FULL: Freshness("1", "HOUR")}
"""Of a table that does not say. Source: Flink, `materialized-table.default-freshness.*`."""


@dataclass(frozen=True, slots=True)
class Definition:
    """What defines a materialized table.

    Attributes:
        query: with every table under its full name.
        logical_mode: as it was asked for, ``AUTOMATIC`` if it follows from the freshness.
        handler: who refreshes the table, as its option describes it; empty: nobody.
        foreign: whether that is another engine, which has stored what it needs to find its job again.
        date_formatters: partition column -> pattern of Java's `DateTimeFormatter`.
        dialect: of the query, ``flink`` or ``spark``.
        zone: in which it is evaluated; None: that of whoever refreshes the table, as its definer did not say.
    """

    query: str
    freshness: Freshness
    logical_mode: str
    mode: RefreshMode
    status: RefreshStatus
    handler: str = ""
    foreign: bool = False
    date_formatters: Mapping[str, str] | None = None
    dialect: str = "flink"
    zone: str | None = None

    @classmethod
    def of(cls, options: Mapping[str, str], where: str) -> Self:
        """The definition that a table's options hold. `where`: the table, for errors.

        Raises: OptionError: it is not a materialized table, or an option is missing or wrong.
        """
        if not is_materialized(options):
            problem = "this is not a materialized table: it has no query that defines it"
            raise OptionError(problem, where, "Name a materialized table.")
        query = options.get(QUERY)
        if not query:
            raise OptionError(f"'{QUERY}' is missing", where, "Drop the materialized table and create it again.")
        logical = options.get(LOGICAL_REFRESH_MODE, "AUTOMATIC").upper()
        freshness = _freshness(options, where, logical)
        return cls(
            query,
            freshness,
            logical,
            _member(RefreshMode, options, REFRESH_MODE, where, freshness.mode(THRESHOLD.default)),
            _member(RefreshStatus, options, REFRESH_STATUS, where, RefreshStatus.INITIALIZING),
            options.get(HANDLER_DESCRIPTION, ""),
            bool(options.get(HANDLER_BYTES)),
            date_formatters(options),
            MATERIALIZED_TABLE_DIALECT.of(options),
            MATERIALIZED_TABLE_ZONE.of(options),
        )

    @classmethod
    def find(cls, options: Mapping[str, str]) -> Self | None:
        """The same; None if it is not a materialized table, or its definition cannot be read."""
        try:
            return cls.of(options, "table") if is_materialized(options) else None
        except OptionError:
            return None

    @property
    def is_ours(self) -> bool:
        """Whether this project keeps the table fresh."""
        return not self.foreign and self.handler.startswith(HERE)

    @property
    def rests_because(self) -> str:
        """Why nothing refreshes the table by itself from here; empty if something does."""
        if self.status != RefreshStatus.ACTIVATED:
            return f"its status is {self.status}"
        if not self.is_ours:
            who = self.handler or "another engine"
            return f"{who} refreshes it; suspend it there, then RESUME it here"
        return ""


def is_materialized(options: Mapping[str, str]) -> bool:
    """Whether these are the options of a materialized table."""
    return options.get(TYPE, "").lower() == MATERIALIZED_TABLE


def date_formatters(options: Mapping[str, str]) -> dict[str, str]:
    """Partition column -> pattern, as the options `partition.fields.<column>.date-formatter` say."""
    return {
        key[len(PARTITION_FIELDS) : -len(DATE_FORMATTER)]: pattern
        for key, pattern in options.items()
        if key.startswith(PARTITION_FIELDS) and key.endswith(DATE_FORMATTER)
    }


def _freshness(options: Mapping[str, str], where: str, logical: str) -> Freshness:
    number, unit = options.get(FRESHNESS), options.get(TIME_UNIT, "").upper()
    if number is None:
        return DEFAULT_FRESHNESS[RefreshMode.FULL if logical == RefreshMode.FULL else RefreshMode.CONTINUOUS]
    if not (number.isascii() and number.isdigit()):
        fix = f"Set '{FRESHNESS}' to a whole number, such as 30."
        raise OptionError(f"'{FRESHNESS}' = '{number}' is not a whole number", where, fix)
    if unit not in _SECONDS:
        raise OptionError(f"'{TIME_UNIT}' = '{unit}' is not a unit", where, f"Use one of {', '.join(UNITS)}.")
    return Freshness(number, unit)


def _member(kind: type[E], options: Mapping[str, str], key: str, where: str, default: E) -> E:
    text = options.get(key)
    if text is None:
        return default
    try:
        return kind(text.upper())
    except ValueError:
        raise OptionError(f"'{key}' = '{text}' is not known", where, f"Use one of {', '.join(kind)}.") from None
