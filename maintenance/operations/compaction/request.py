"""What a compaction is asked to do: one record that goes from the call through plans and reports to the work.

A `CompactRequest` holds what a user chose and fits any table; a `CheckedRequest` is what that means for one table.
"""

import time
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import timedelta
from typing import Any

from maintenance.compaction.order.orders import SortedBy
from maintenance.compaction.proof.settings import ProofSettings
from maintenance.errors import OptionError
from maintenance.metadata.expired import again_if_expired
from maintenance.metadata.partition_names import Spec, kept
from maintenance.operations.compaction.partition_choice import check_partitions
from maintenance.operations.compaction.plan import CompactionPlan, CompactionScope, Group, plan_compaction, scope_of
from maintenance.operations.compaction.sort import NO_ORDER, plan_sorting, sorted_by
from maintenance.options import own as own_options
from maintenance.options import table as table_options
from maintenance.table.partitions import named_partitions
from maintenance.table.table import Table
from maintenance.write.context import wall_clock_millis

RETRIES = 5
# Groups of a commit where the time is limited and nothing else is said.
_GROUPS_IN_TIME = 16


@dataclass(frozen=True, slots=True)
class CheckedRequest:
    """A request that fits its table.

    Attributes:
        scope: the groups to look at; `order`: to bring the rows into, None = as they are.
        max_retries: how often a group is planned again after another writer won.
        groups_per_commit: groups after which the work is committed; None = all in one snapshot.
        until: no further groups are begun after this moment of `time.monotonic`; None = whenever it ends.
    """

    scope: CompactionScope
    proof: ProofSettings
    order: SortedBy | None = None
    max_retries: int = RETRIES
    groups_per_commit: int | None = None
    until: float | None = None

    @property
    def is_late(self) -> bool:
        """Whether the time is up."""
        return self.until is not None and time.monotonic() > self.until

    def plan(self, table: Table, groups: frozenset[Group] | None = None) -> CompactionPlan:
        """The plan on the latest snapshot. `groups`: only these of the scope; None = all of it."""
        # Groups were of the scope, or beside it, when they were planned first.
        scope = self.scope if groups is None else replace(self.scope, groups=groups, partitions=None, predicate=None)
        order = self.order
        if order is None:
            return again_if_expired(lambda: plan_compaction(table, scope, now_millis=wall_clock_millis()))
        return again_if_expired(lambda: plan_sorting(table, scope, order, now_millis=wall_clock_millis()))


@dataclass(frozen=True, slots=True)
class CompactRequest:
    """What a user chose. See `compact` for the meaning of each attribute."""

    full: bool = False
    partitions: Sequence[Spec] | None = None
    where: str | None = None
    partition_idle_time: timedelta | None = None
    order_strategy: str = NO_ORDER
    order_by: Sequence[str] = field(default=())
    skip_expiring: bool = True
    proof: str | None = None
    max_retries: int = RETRIES
    groups_per_commit: int | None = None
    time_limit: timedelta | None = None
    beside_other_compactors: bool | None = None
    buckets: Collection[int] | None = None

    @classmethod
    def of_arguments(cls, arguments: Mapping[str, Any]) -> "CompactRequest":
        """The request whose `arguments` these are."""
        return cls(**arguments)

    @property
    def arguments(self) -> dict[str, Any]:
        """As a stored plan keeps it. Which partitions were idle or about to expire, its groups say themselves."""
        return {
            "full": self.full,
            "partitions": None if self.partitions is None else [kept(spec) for spec in self.partitions],
            "where": self.where,
            "order_strategy": self.order_strategy,
            "order_by": list(self.order_by),
            "proof": self.proof,
            "buckets": None if self.buckets is None else sorted(self.buckets),
        }

    def named(self, table: Table) -> "CompactRequest":
        """The request with its partitions as what they are in a table. Raises: DataError: a name may mean several."""
        if self.partitions is None:
            return self
        return replace(self, partitions=named_partitions(table, self.partitions))

    def opened(self, table: Table) -> Table:
        """The table with the options that the request sets."""
        if self.beside_other_compactors is None:
            return table
        return table.copy({own_options.BESIDE_OTHER_COMPACTORS.key: str(self.beside_other_compactors).lower()})

    def checked(self, table: Table) -> CheckedRequest:
        """What the request means for a table. Raises: as `compact`, where the two do not fit."""
        table_options.check_writable(table.options, table.identifier)
        proof = proof_of(table, self.proof)
        scope = scope_of(
            table,
            full=self.full,
            partitions=self.partitions,
            where=self.where,
            idle_time=self.partition_idle_time,
            keeps_expiring=not self.skip_expiring,
        )
        if self.buckets is not None:
            _check_buckets(table, self.buckets, self.order_strategy)
            scope = replace(scope, buckets=frozenset(self.buckets))
        order = sorted_by(table, self.order_strategy, self.order_by, scope)
        if scope.partitions is not None:
            check_partitions(table, scope.partitions)
        groups = self.groups_per_commit or (None if self.time_limit is None else _GROUPS_IN_TIME)
        until = None if self.time_limit is None else time.monotonic() + self.time_limit.total_seconds()
        return CheckedRequest(scope, proof, order, self.max_retries, groups, until)


def _check_buckets(table: Table, buckets: Collection[int], order_strategy: str) -> None:
    """Raises: OptionError: the table has no such buckets, or rows go from one to another."""
    where, number = f"compaction of {table.identifier}", table_options.BUCKET.of(table.options)
    if number < 1:
        raise OptionError("buckets are chosen, and the table has no fixed number of them", where, "Leave them out.")
    if order_strategy != NO_ORDER:
        raise OptionError("buckets are chosen, and an order of rows", where, "Leave one of them out.")
    beyond = sorted(bucket for bucket in buckets if not 0 <= bucket < number)
    if beyond:
        raise OptionError(f"there is no bucket {beyond[0]}", where, f"The buckets are 0 to {number - 1}.")


def proof_of(table: Table, chosen: str | None = None) -> ProofSettings:
    """How rewrites of a table are proved. `chosen`: a `ProofMode`; None = as the table's option says."""
    return ProofSettings.of(chosen or own_options.COMPACTION_PROOF.of(table.options))
