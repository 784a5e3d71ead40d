"""All judgements over a table's metadata, whatever state it is in.

Dagster's checks, the console and `paimonctl` judge by them. A part that cannot be read is a fault, and the others are
judged all the same.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from maintenance.monitor.acknowledged import but_acknowledged
from maintenance.monitor.backlog import BacklogLimits, judge_backlog
from maintenance.monitor.census import Census, take_census
from maintenance.monitor.chain import snapshot_chain_intact
from maintenance.monitor.judgement import Judgement
from maintenance.monitor.quarantine import nothing_quarantined
from maintenance.monitor.readable import ReadFault, lost_files, readable
from maintenance.monitor.retention import retention_blockers
from maintenance.monitor.second_compactor import compacts_alone
from maintenance.monitor.settled import SettledBy
from maintenance.monitor.triggers import Triggers
from maintenance.monitor.vectors import deletion_vectors_intact
from maintenance.monitor.writers import judge_writers
from maintenance.table.acknowledged import Acknowledged
from maintenance.table.table import Table

COMMITS_LOOKED_AT = 100
_LIMITS, _SETTLED_BY, _TRIGGERS = BacklogLimits(), SettledBy(), Triggers()
AskAcknowledged = Callable[[], Mapping[str, Acknowledged]]
"""Looks up what of the conflicts of writers was acknowledged, by check; asked only if there are any."""


@dataclass(frozen=True, slots=True)
class Rules:
    """By what a table is judged: what tables.yaml says of it. What is left out has the engine's own limit.

    Attributes:
        max_held: age of a state that a consumer or tag holds; None = retention plus a week.
        settled_by: when a conflict of writers is over.
        triggers: when its compaction is due.
        conduct: options of the table by which its compaction is carried out.
        automatic: whether we compact it without being asked.
        health: targets of the parts of its health, by name.
    """

    limits: BacklogLimits = _LIMITS
    max_held: timedelta | None = None
    settled_by: SettledBy = _SETTLED_BY
    triggers: Triggers = _TRIGGERS
    conduct: Mapping[str, str] = field(default_factory=dict)
    automatic: bool = False
    health: Mapping[str, float] = field(default_factory=dict)

    @property
    def targets(self) -> Mapping[str, float]:
        """The targets of the parts of its health that are said here; the others come from the table's options."""
        limits, triggers = self.limits, self.triggers
        said: Mapping[str, float | None] = {
            "invisible_seconds": limits.max_invisible.total_seconds(),
            "sorted_runs": triggers.sorted_runs,
            "level0_files": limits.max_level0_files,
            "delete_share": triggers.deleted_share,
            "vector_share": triggers.deleted_share,
            "changelog_commits": limits.max_changelog_lag,
            **self.health,
        }
        return {name: target for name, target in said.items() if target is not None}


@dataclass(slots=True)
class Judging:
    """What a look at a table yields.

    Attributes:
        judgements: of all that could be read, but for whether it can be.
        faults: what could not be read, each once, in the order in which it was met.
    """

    judgements: list[Judgement] = field(default_factory=list)
    faults: dict[ReadFault, None] = field(default_factory=dict)

    def attempt(self, part: Callable[[], Iterable[Judgement]]) -> bool:
        """Judge one part. Returns False, and notes why, if that cannot be done."""
        try:
            self.judgements += part()
        except Exception as error:  # noqa: BLE001 - what is broken in one place must not hide the rest
            self.faults[ReadFault.of(error)] = None
            return False
        return True

    def whole(self, faults: Sequence[ReadFault] | None = None) -> tuple[Judgement, ...]:
        """All judgements; the first one is whether the table can be read. `faults`: in place of those that were met."""
        return (readable(list(self.faults) if faults is None else faults), *self.judgements)

    def look(self, table: Table, rules: Rules, now: datetime, acknowledged: AskAcknowledged) -> bool:
        """Judge all that a table's metadata and listings say. Returns False where its newest state cannot be read.

        Args: `now`: with a time zone.
        """

        def lost() -> Iterable[Judgement]:
            snapshot = table.latest_snapshot()
            self.faults.update(dict.fromkeys([] if snapshot is None else lost_files(table, snapshot, now)))
            return ()

        # Where the newest state cannot be read, every other part would only stumble over the same file.
        if not self.attempt(lost):
            return False
        self.attempt(lambda: judge_conduct(table, rules, now, acknowledged))
        self.attempt(lambda: [deletion_vectors_intact(table)])
        self.attempt(lambda: [nothing_quarantined(table)])
        self.attempt(lambda: [snapshot_chain_intact(table)])
        self.attempt(lambda: judge_backlog(table, rules.limits, now))
        self.attempt(lambda: [retention_blockers(table, now, max_age=rules.max_held)])
        return True


def judge_conduct(
    table: Table, rules: Rules, now: datetime, acknowledged: AskAcknowledged, census: Census | None = None
) -> Sequence[Judgement]:
    """The judgements over who writes and who compacts. `census`: of the newest commits, if it was taken already."""
    census = census or take_census(table, limit=COMMITS_LOOKED_AT)
    found = but_acknowledged(judge_writers(table, census, rules.settled_by, now), acknowledged)
    return (*found, compacts_alone(table.copy(rules.conduct), census, automatic=rules.automatic))
