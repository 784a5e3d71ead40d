"""What makes Dagster refresh a materialized table: its freshness policy and its automation condition.

Both come from FRESHNESS. The condition is asked every few seconds, in the code server. It is true once the rows are as
old as FRESHNESS allows and a source has changed since; where none has, a run confirms that once in a while, and
starts no Spark. The table's own status decides, as it is stored now: a suspended table rests, and so does one that
another engine refreshes. A refresh that failed is tried again after a pause that doubles.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

import dagster as dg

from maintenance.errors import PaimonError
from maintenance.options.materialized import Definition, Freshness
from maintenance.project.config import TableConfig
from maintenance.table.table import Table
from paimon_maintenance.assets import keys
from paimon_maintenance.assets.dagster_release import FreshnessPolicy
from paimon_maintenance.assets.resources.catalog import PaimonCatalog
from paimon_maintenance.assets.runs.pauses import last_failures, pause

QUIET = timedelta(minutes=10)
"""A table whose sources do not change is confirmed this often, or as often as FRESHNESS says if that is longer."""
_TICKS_AND_RUNS = timedelta(minutes=2)
_SECOND = timedelta(seconds=1)
# Dagster's policies are of a minute at least.
_LEAST = timedelta(minutes=1)


_REASONS: ContextVar[list[str] | None] = ContextVar("why tables are due or not", default=None)


@contextmanager
def reasons() -> Iterator[list[str]]:
    """Collects why each condition that is evaluated in this context holds or does not: Dagster keeps only whether."""
    given: list[str] = []
    token = _REASONS.set(given)
    try:
        yield given
    finally:
        _REASONS.reset(token)


@dataclass(frozen=True, slots=True)
class Refreshes:
    """What was done to a table, seconds since 1970.

    Attributes:
        read: when its sources were last read by a refresh that was committed, None: never.
        asked: when this condition was last true.
        ended: when the last run of a refresh ended. failures: of the last runs, in a row.
    """

    read: float | None
    asked: float | None
    ended: float
    failures: int


@dataclass(frozen=True, slots=True)
class Due:
    """Whether a table is to be refreshed now, and why."""

    now: bool
    why: str


def due(freshness: Freshness, past: Refreshes, now: float, has_changed: Callable[[], bool]) -> Due:
    """Whether a table that is kept fresh from here is to be refreshed.

    Args: `now`: seconds since 1970; `has_changed`: whether its sources have, asked only where it matters.
    """
    interval = freshness.interval.total_seconds()
    if past.failures:
        again = past.ended + pause(past.failures, max(interval, pause(1)))
        return Due(
            now >= again,
            f"its last {past.failures} refreshes failed" if past.failures > 1 else "its last refresh failed",
        )
    last = max(past.read or 0.0, past.asked or 0.0)
    if now - last < interval:
        return Due(False, f"fresh for {interval - (now - last):.0f} s more")
    if now - last >= max(interval, QUIET.total_seconds()):
        return Due(True, f"it is older than {freshness.words}")
    changed = has_changed()
    return Due(changed, "a source has changed" if changed else "no source has changed")


@dataclass(frozen=True)
class RefreshDue(dg.AutomationCondition[dg.AssetKey]):
    """True when a materialized table is to be refreshed."""

    identifier: str
    freshness: str
    catalog: PaimonCatalog = field(compare=False, repr=False)

    __hash__ = dg.AutomationCondition.__hash__

    @property
    def name(self) -> str:
        return "refresh_due"

    @property
    def description(self) -> str:
        return f"FRESHNESS = {self.freshness} has passed, and a source has changed"

    @property
    def requires_cursor(self) -> bool:
        return True

    def get_label(self) -> str:
        return self.description

    def evaluate(self, context: Any) -> Any:
        """The candidate if it is due. Where the table cannot be read it is not: the checks report that."""
        now = context.evaluation_time.timestamp()
        asked = float(context.cursor) if context.cursor else None
        is_due = False
        if not context.candidate_subset.is_empty:
            with self.catalog.at_work():
                answer = self._due(context.asset_graph_view.instance, asked, now)
            given = _REASONS.get()
            if given is not None:
                given.append(answer.why)
            is_due = answer.now
        subset = context.candidate_subset if is_due else context.get_empty_subset()
        at = now if is_due else asked
        return dg.AutomationResult(context, subset, cursor=None if at is None else str(at))

    def _due(self, instance: dg.DagsterInstance, asked: float | None, now: float) -> Due:
        try:
            table = self.catalog.get_table(self.identifier)
            definition = Definition.of(table.options, f"table {self.identifier}")
        except Exception as error:  # noqa: BLE001 - one table that cannot be read must not fail the tick
            return Due(False, f"cannot be read: {error}")
        if definition.rests_because:
            return Due(False, definition.rests_because)
        ended, failures = last_failures(instance, self.identifier, keys.REFRESH)
        past = Refreshes(_read_at(table), asked, ended, failures)
        return due(definition.freshness, past, now, lambda: _has_changed(self.catalog, table))


def _read_at(table: Table) -> float | None:
    from maintenance.sql.materialized.record import last_refresh

    record = last_refresh(table).record
    return None if record is None else record.at_millis / 1000


def _has_changed(catalog: PaimonCatalog, table: Table) -> bool:
    """Whether a refresh has something to do. Where that cannot be found out the run says why."""
    # The parser of queries takes long to import, and few tables are due.
    from maintenance.sql.materialized.definition import DefiningQuery
    from maintenance.sql.materialized.plan import RefreshKind, plan_refresh
    from maintenance.sql.session import Session
    from maintenance.sql.session_state import DEFAULT_CATALOG

    try:
        query = DefiningQuery.of(Session(catalog.open(), None, "flink", makes_default=False), table, DEFAULT_CATALOG)
        return plan_refresh(query, table).kind != RefreshKind.NOTHING
    except PaimonError:
        return True


def freshness_policy(freshness: Freshness) -> FreshnessPolicy:
    """When Dagster calls a table stale. A refresh begins once FRESHNESS has passed, and has as long again."""
    longest = max(2 * freshness.interval, freshness.interval + QUIET + _TICKS_AND_RUNS, _LEAST)
    return FreshnessPolicy.time_window(fail_window=longest)


def automated(asset: dg.AssetsDefinition, table: TableConfig, catalog: PaimonCatalog) -> dg.AssetsDefinition:
    """The asset of a materialized table with what makes Dagster refresh it; of any other table as it is."""
    definition = table.materialized
    if definition is None:
        return asset
    condition = RefreshDue(table.identifier, str(definition.freshness), catalog)
    whole = (~dg.AutomationCondition.in_progress() & condition).with_label(condition.description)
    policy = freshness_policy(definition.freshness)
    return asset.map_asset_specs(
        lambda spec: spec.replace_attributes(automation_condition=whole, freshness_policy=policy)
    )


def seconds_between_ticks(freshness: Freshness, longest: int) -> int:
    """How often to ask whether a table is due."""
    return max(5, min(longest, int(freshness.interval / _SECOND)))
