"""Which snapshots and long-lived changelogs expire: pure rules, no storage and no clock.

Snapshots expire from the oldest on, without holes. The newest `snapshot.num-retained.min` stay. Of the others, those
beyond the newest `snapshot.num-retained.max` go whatever their age; the rest go up to the first whose *successor* is
younger than `snapshot.time-retained`: a snapshot grows old when it stops being the latest. What a consumer reads next
stays, and all after it. Snapshots are counted as they exist, so a gap in the ids stops nothing and never leaves fewer
than the minimum. Source: metadata section 10.1, Java `ExpireSnapshotsImpl`.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import TypeVar
from zoneinfo import ZoneInfo

from maintenance.errors import OptionError
from maintenance.options import table as table_options
from maintenance.options.model import TableModel
from maintenance.options.option import Option

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class RetentionChoice:
    """What a caller sets in place of a table's options. None = as the options say."""

    retain_max: int | None = None
    retain_min: int | None = None
    older_than: datetime | None = None

    def over(self, least: int, most: int, older_than: datetime) -> tuple[int, int, int]:
        """The numbers and the border, in milliseconds since 1970 UTC, that count besides these of the options."""
        least = least if self.retain_min is None else self.retain_min
        most = most if self.retain_max is None else self.retain_max
        border = older_than if self.older_than is None else self.older_than
        return least, most, int(border.timestamp() * 1000)


@dataclass(frozen=True, slots=True)
class Retention:
    """What keeps snapshots.

    Attributes:
        older_than: milliseconds since 1970 UTC; a snapshot whose successor is as young or younger stays.
        age_rule: that rule in words.
        consumers: next snapshot id of each consumer.
    """

    min_count: int
    max_count: int
    older_than: int
    age_rule: str
    consumers: Mapping[str, int]

    @classmethod
    def of(
        cls,
        options: TableModel,
        consumers: Mapping[str, int],
        now: datetime,
        choice: RetentionChoice = RetentionChoice(),
    ) -> "Retention":
        """The rules of a table's options, each replaced by what is given.

        Raises: OptionError: fewer than one snapshot would stay, or the maximum is below the minimum.
        """
        age = options.snapshot_time_retained
        least, most, older_than = choice.over(
            options.snapshot_num_retained_min,
            options.snapshot_num_retained_max,
            moment_before(now, age),
        )
        if table_options.CONSUMER_CHANGELOG_ONLY.of(options) and options.keeps_changelogs:
            # Consumers find what they need among the changelogs.
            consumers = {}
        if least < 1 or most < least:
            raise OptionError(
                f"at least {least} and at most {most} snapshots are to be retained",
                "retain_min, retain_max",
                "Keep at least 1, and set the maximum to the minimum or more.",
            )
        rule = f"snapshot.time-retained: younger than {age}"
        if choice.older_than is not None:
            rule = f"not older than {choice.older_than.isoformat(sep=' ')}"
        return cls(least, most, older_than, rule, dict(consumers))

    def consumer_of(self, snapshot_id: int) -> str | None:
        """The slowest consumer that has not read past this snapshot."""
        if not self.consumers:
            return None
        name, following = min(self.consumers.items(), key=lambda item: (item[1], item[0]))
        return f"consumer {name} has yet to read snapshot {following}" if following <= snapshot_id else None


@dataclass(frozen=True, slots=True)
class ChangelogRetention:
    """What keeps long-lived changelogs, counted from the latest snapshot. Source: data section 5.1.

    Attributes:
        older_than: milliseconds since 1970 UTC; a changelog as young or younger stays.
        newest_stays: the newest of them stays in any case, as in Java where changes are kept longer than snapshots.
    """

    min_count: int
    max_count: int
    older_than: int
    consumers: Mapping[str, int]
    newest_stays: bool

    @classmethod
    def of(
        cls,
        options: TableModel,
        consumers: Mapping[str, int],
        now: datetime,
        choice: RetentionChoice = RetentionChoice(),
    ) -> "ChangelogRetention":
        """The rules of a table's options, each replaced by what is given; unset ones are as those of snapshots.

        Raises: OptionError: the maximum is below the minimum.
        """
        age = _first(table_options.CHANGELOG_TIME_RETAINED, table_options.SNAPSHOT_TIME_RETAINED, options)
        least, most, older_than = choice.over(
            _first(table_options.CHANGELOG_NUM_RETAINED_MIN, table_options.SNAPSHOT_NUM_RETAINED_MIN, options),
            _first(table_options.CHANGELOG_NUM_RETAINED_MAX, table_options.SNAPSHOT_NUM_RETAINED_MAX, options),
            moment_before(now, age),
        )
        if most < least:
            raise OptionError(
                f"at least {least} and at most {most} changelogs are to be retained",
                "retain_min, retain_max",
                "Set the maximum to the minimum or more.",
            )
        keeps = options.keeps_changelogs
        return cls(least, most, older_than, dict(consumers), newest_stays=keeps)


def _first(own: Option[T | None], of_snapshots: Option[T], options: Mapping[str, str]) -> T:
    value = own.of(options)
    return of_snapshots.of(options) if value is None else value


def plan_changelogs(
    ids: Sequence[int], latest: int, time_of: Callable[[int], int | None], retention: ChangelogRetention
) -> tuple[int, ...]:
    """Which long-lived changelogs go: the oldest ones, without holes.

    Args: `ids`: those there are, ascending; `latest`: id of the latest snapshot; `time_of`: as of `plan_range`.
    """
    end = min([latest - retention.min_count + 1, *retention.consumers.values()])
    if retention.newest_stays and ids:
        end = min(end, ids[-1])
    old = latest - retention.max_count + 1
    for number in ids:
        if number >= end:
            break
        time = time_of(number)
        if number >= old and time is not None and time >= retention.older_than:
            end = number
            break
    return tuple(number for number in ids if number < end)


@dataclass(frozen=True, slots=True)
class ExpiryRange:
    """The decision. `expired`, `kept`: all ids, ascending; `reasons`: why those kept stay, by id; `remaining`: how many
    of them are only kept by the limit on deletions."""

    expired: tuple[int, ...]
    kept: tuple[int, ...]
    reasons: Mapping[int, str]
    remaining: int

    @property
    def kept_by(self) -> dict[str, str]:
        """The reasons by id or range of ids such as ``3 to 9``."""
        return _grouped(list(self.reasons.items()))


def plan_range(
    ids: Sequence[int],
    time_of: Callable[[int], int | None],
    retention: Retention,
    max_deletes: int | None = None,
) -> ExpiryRange:
    """Which snapshots go.

    Args: `ids`: those there are, ascending; `time_of`: commit time in milliseconds, None for one that vanished;
        `max_deletes`: expire at most this many, None = all that may go.
    """
    newest = max(len(ids) - retention.min_count, 0)
    held = next((i for i in range(newest) if retention.consumer_of(ids[i])), newest)
    by_age = range(max(len(ids) - retention.max_count, 0), held)
    young = next((i for i in by_age if _is_young(time_of(ids[i + 1]), retention)), held)
    end = young if max_deletes is None else min(young, max(max_deletes, 0))

    def reason(i: int) -> str:
        if i >= newest:
            return f"snapshot.num-retained.min = {retention.min_count}"
        if i < young:
            return "left for the next run: max_deletes"
        return retention.consumer_of(ids[i]) or retention.age_rule

    reasons = {ids[i]: reason(i) for i in range(end, len(ids))}
    return ExpiryRange(tuple(ids[:end]), tuple(ids[end:]), reasons, young - end)


def _is_young(time: int | None, retention: Retention) -> bool:
    return time is not None and time >= retention.older_than


def _grouped(reasons: Sequence[tuple[int, str]]) -> dict[str, str]:
    """Neighbours with one reason become one entry."""
    groups: list[tuple[int, int, str]] = []
    for snapshot_id, reason in reasons:
        if groups and groups[-1][2] == reason:
            groups[-1] = (groups[-1][0], snapshot_id, reason)
        else:
            groups.append((snapshot_id, snapshot_id, reason))
    return {(f"{first}" if first == last else f"{first} to {last}"): reason for first, last, reason in groups}


def retained_since(now: datetime, retained: timedelta, midnight_of: ZoneInfo | None) -> datetime:
    """The moment before which snapshots must have been replaced to go.

    `now`: with a time zone; `midnight_of`: count from midnight there; None: to the second.
    """
    # Elapsed time is counted in UTC: a day with 23 or 25 hours keeps neither less nor more.
    limit = now.astimezone(UTC) - retained
    if midnight_of is None:
        return limit
    return limit.astimezone(midnight_of).replace(hour=0, minute=0, second=0, microsecond=0, fold=0)


def moment_before(now: datetime, age: timedelta) -> datetime:
    """`now` less an age, or the beginning of 1970 where that is before all calendars: nothing is so old."""
    try:
        return now - age
    except OverflowError:
        return datetime.fromtimestamp(0, now.tzinfo)
