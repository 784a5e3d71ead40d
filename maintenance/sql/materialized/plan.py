"""What a refresh has to do: nothing, add rows, replace partitions, or replace the whole table.

The states of the sources are looked at once, here, and the rows are made from exactly these. If the query or the record
of the last refresh leaves a doubt, the whole table is refreshed.
"""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from enum import StrEnum
from typing import Annotated
from zoneinfo import ZoneInfo

from maintenance.errors import OptionError
from maintenance.format.metadata.snapshot import Snapshot
from maintenance.metadata.branch_root import MAIN_BRANCH
from maintenance.metadata.partition_names import Spec
from maintenance.metadata.partition_value import PartitionValue
from maintenance.operations.parameters import Param
from maintenance.options.materialized import RefreshMode
from maintenance.sql.materialized.alignment import Alignment, alignment_of, is_repeatable
from maintenance.sql.materialized.changes import SourceChange, change_of, follows_snapshots
from maintenance.sql.materialized.definition import DefiningQuery
from maintenance.sql.materialized.partitions import (
    MOST,
    Projection,
    by_clock,
    check_literals,
    projections_of,
    touched,
)
from maintenance.sql.materialized.record import LastRefresh, RefreshRecord, SourceState, last_refresh
from maintenance.sql.query.relations import Relation
from maintenance.sql.query.resolve import Resolved
from maintenance.table.partitions import named_partitions
from maintenance.table.table import Table
from maintenance.write.context import wall_clock_millis


class RefreshKind(StrEnum):
    NOTHING = "nothing"
    ROWS = "rows"
    PARTITIONS = "partitions"
    WHOLE = "whole"


@dataclass(frozen=True, slots=True)
class RefreshRequest:
    """What is made again."""

    partition: Annotated[
        Spec | None,
        Param("Only this partition, even if nothing has changed, e.g. ds=2026-01-31; empty: what has changed."),
    ] = None
    full: Annotated[bool, Param("Rebuild the whole table, even if nothing has changed.")] = False
    zone: Annotated[str, Param("The time zone of partitions that are named after the time.")] = "UTC"


@dataclass(frozen=True, slots=True)
class Source:
    """A source as it was when the plan was made. `relations`: its names in the query; `since`: state read last."""

    table: Table
    snapshot: Snapshot | None
    relations: frozenset[str]
    since: SourceState | None = None
    projections: tuple[Projection, ...] = ()

    @property
    def state(self) -> SourceState:
        return SourceState.of(self.table, self.snapshot)


@dataclass(frozen=True, slots=True)
class RefreshPlan:
    """What is to be done.

    Attributes:
        why: the reason for this kind.
        choices: the partitions to replace.
        record: what is committed with the rows; None = the next refresh is of the whole table.
        number: of this refresh, see `RefreshRecord`.
        sources: by full name.
    """

    query: DefiningQuery
    table: Table
    kind: RefreshKind
    why: str
    choices: tuple[PartitionValue, ...]
    record: RefreshRecord | None
    number: int
    sources: Mapping[str, Source] = field(default_factory=dict)

    @property
    def partitions(self) -> tuple[str, ...]:
        return tuple(map(str, self.choices))

    @property
    def snapshots(self) -> dict[str, int | None]:
        """The snapshot that is read of each source; None = it is empty."""
        return {name: source.snapshot.id if source.snapshot else None for name, source in self.sources.items()}

    @property
    def states(self) -> dict[str, SourceState]:
        """What is read of each source."""
        return {name: source.state for name, source in self.sources.items()}


def plan_refresh(
    query: DefiningQuery, table: Table, request: RefreshRequest = RefreshRequest(), *, now_millis: int | None = None
) -> RefreshPlan:
    """What a refresh would do now; reads metadata alone.

    Args: `now_millis`: since 1970.
    Raises: SqlError: the query does not fit what there is; DataError: no such partition; OptionError.
    """
    return _Planning(query, table, request, wall_clock_millis() if now_millis is None else now_millis).plan()


@dataclass(slots=True)
class _Planning:
    query: DefiningQuery
    table: Table
    request: RefreshRequest
    now_millis: int

    def plan(self) -> RefreshPlan:
        if self.request.full and self.request.partition is not None:
            where = f"refresh of {self.table.identifier}"
            raise OptionError(
                "'full' and 'partition' are both set", where, "Leave 'full' or 'partition' out of the call."
            )
        resolved = self.query.resolved()
        last = last_refresh(self.table)
        sources, doubt = self._sources(resolved, last)
        number = last.record.number + 1 if last.record else max(last.number + 1, self.now_millis)
        digest = hashlib.sha256(resolved.tree.sql("spark").encode()).hexdigest()[:16]
        made = RefreshPlan(self.query, self.table, RefreshKind.WHOLE, "", (), None, number, sources)
        made = replace(made, record=RefreshRecord(digest, number, self.now_millis, made.states))
        if self.request.partition is not None:
            return self._one_partition(made, last, resolved)
        if self.request.full:
            return replace(made, why="the whole table was asked for")
        why = last.why if last.record is None else "the query, or a view in it, is another one"
        if last.record is None or last.record.query != digest:
            return replace(made, why=why)
        if not is_repeatable(resolved.tree):
            doubt = "the query asks the clock, or has a function that is not known here"
        return self._by_clock(made, last.record, doubt) if doubt else self._by_changes(made, last.record, resolved)

    def _sources(self, resolved: Resolved, last: LastRefresh) -> tuple[dict[str, Source], str]:
        """The sources with their states; and why a change of one may not be seen, empty: each one is."""
        doubt = ""
        sources: dict[str, Source] = {}
        for relation in resolved.relations.values():
            table = relation.opened()
            name = self._name(relation)
            if not isinstance(table, Table) or relation.options or table.branch != MAIN_BRANCH:
                doubt = doubt or f"changes of {name} cannot be determined"
                continue
            if name in sources:
                before = sources[name]
                sources[name] = replace(before, relations=before.relations | {relation.name})
                continue
            doubt = doubt or follows_snapshots(table)
            since = last.record.sources.get(name) if last.record else None
            sources[name] = Source(table, table.latest_snapshot(), frozenset({relation.name}), since)
        return sources, doubt

    def _name(self, relation: Relation) -> str:
        name = self.query.session.table_name(relation.path)
        return f"{name.catalog}.{name.database}.{name.table}"

    def _one_partition(self, made: RefreshPlan, last: LastRefresh, resolved: Resolved) -> RefreshPlan:
        """The others stay as they are, and with them what is known of the last refresh."""
        spec = self.request.partition or {}
        (choice,) = named_partitions(self.table, [spec])
        check_literals(self.table, choice)
        record = None if last.record is None else replace(last.record, number=made.number)
        sources = self._projected(made.sources, alignment_of(resolved))
        kind, why = RefreshKind.PARTITIONS, "the partition was asked for"
        return replace(made, kind=kind, why=why, choices=(choice,), record=record, sources=sources)

    def _by_clock(self, made: RefreshPlan, record: RefreshRecord, doubt: str) -> RefreshPlan:
        """Where changes cannot be determined, but an option says which time each partition holds, as in Flink."""
        definition = self.query.definition
        formatters = definition.date_formatters
        if definition.mode != RefreshMode.FULL or not formatters or not self._may_replace_partitions():
            return replace(made, why=doubt)
        zone = ZoneInfo(self.request.zone)
        now = datetime.fromtimestamp(self.now_millis / 1000, UTC).astimezone(zone)
        last = datetime.fromtimestamp(record.at_millis / 1000, UTC).astimezone(zone)
        found = by_clock(self.table, formatters, last - definition.freshness.interval, now)
        if found.choices is None:
            return replace(made, why=f"{doubt}, and {found.why}")
        return replace(made, kind=RefreshKind.PARTITIONS, why=f"{doubt}: by the clock", choices=found.choices)

    def _by_changes(self, made: RefreshPlan, record: RefreshRecord, resolved: Resolved) -> RefreshPlan:
        changes = {
            name: change_of(source.table, source.since, source.snapshot) for name, source in made.sources.items()
        }
        changed = {name: change for name, change in changes.items() if not change.is_none}
        if not changed and record.sources.keys() == made.sources.keys():
            return replace(made, kind=RefreshKind.NOTHING, why="no source has changed")
        alignment = alignment_of(resolved)
        names = ", ".join(sorted(made.sources[name].table.identifier for name in changed))
        if self._adds_rows(alignment, changed):
            return replace(made, kind=RefreshKind.ROWS, why=f"rows were added to {names}")
        sources = self._projected(made.sources, alignment)
        choices, why = self._touched(sources, changed)
        if choices is None:
            return replace(made, why=why)
        if not choices:
            return replace(made, kind=RefreshKind.NOTHING, why="no source has changed")
        kind, why = RefreshKind.PARTITIONS, f"changed: {names}"
        return replace(made, kind=kind, why=why, choices=choices, sources=sources)

    def _adds_rows(self, alignment: Alignment, changed: Mapping[str, SourceChange]) -> bool:
        continuous = self.query.definition.mode == RefreshMode.CONTINUOUS
        return continuous and alignment.is_linear and all(change.appended for change in changed.values())

    def _may_replace_partitions(self) -> bool:
        schema = self.table.schema
        return bool(schema.partition_keys) and not schema.is_cross_partition

    def _projected(self, sources: Mapping[str, Source], alignment: Alignment) -> dict[str, Source]:
        return {
            name: replace(
                source,
                projections=tuple(projections_of(self.table, source.table, alignment, source.relations)),
            )
            for name, source in sources.items()
        }

    def _touched(
        self, sources: Mapping[str, Source], changed: Mapping[str, SourceChange]
    ) -> tuple[tuple[PartitionValue, ...] | None, str]:
        if not self._may_replace_partitions():
            return None, "the table has no partitions that could be replaced one by one"
        choices: dict[PartitionValue, None] = {}
        for name, change in sorted(changed.items()):
            if change.partitions is None:
                return None, change.why
            found = touched(self.table, sources[name].table, change.partitions, sources[name].projections)
            if found.choices is None:
                return None, found.why
            choices |= dict.fromkeys(found.choices)
        if len(choices) > MOST:
            return None, f"more than {MOST} partitions have changed"
        return tuple(choices), ""
