"""What a compaction is asked to do: one record that goes from the call through plans and reports to the work.

A `CompactRequest` holds what a user chose and fits any table; a `CheckedRequest` is what that means for one table.
"""

import time
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Annotated

from maintenance.compaction.clustering import is_clustered
from maintenance.compaction.order.orders import SortedBy
from maintenance.compaction.proof.settings import ProofSettings
from maintenance.errors import OptionError
from maintenance.metadata.expired import again_if_expired
from maintenance.metadata.partition_names import Spec
from maintenance.operations.compaction.partition_choice import check_partitions
from maintenance.operations.compaction.plan import CompactionPlan, CompactionScope, Group, plan_compaction, scope_of
from maintenance.operations.compaction.sort import NO_ORDER, plan_sorting, sorted_by
from maintenance.operations.parameters import Param, Value, names, truth
from maintenance.options import own as own_options
from maintenance.options import table as table_options
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


def full_or_minor(value: Value) -> bool:
    if value not in ("full", "minor"):
        raise ValueError("'full' or 'minor' is expected")
    return bool(value == "full")


def _buckets(value: Value) -> tuple[int, ...]:
    """``0-3,7``: numbers of buckets, and the first and last of several."""
    found: set[int] = set()
    for part in names(value):
        first, sign, last = (piece.strip() for piece in part.partition("-"))
        if not first.isdecimal() or (sign and not last.isdecimal()) or int(last or first) < int(first):
            raise ValueError("buckets are written as 0-3,7")
        found.update(range(int(first), int(last or first) + 1))
    if not found:
        raise ValueError("buckets are written as 0-3,7")
    return tuple(sorted(found))


def _is_full(table: Table) -> bool:
    """What Paimon's calls mean that leave the strategy out: a clustering is incremental, anything else full."""
    return not is_clustered(table.schema, table.options)


_FULL = "Merge every bucket into its highest level, even if it has few sorted runs."
_WHERE = "Only partitions that match this condition in Spark SQL, e.g. month = 7."
_PROOF = "How the result is verified: auto, full, sampled or off; empty: as the table's option says."


@dataclass(frozen=True, slots=True)
class CompactRequest:
    """What a user chose. See `compact` for the meaning of each attribute."""

    full: Annotated[bool, Param(_FULL, name="compact_strategy", read=full_or_minor, of_call=_is_full)] = False
    partitions: Annotated[Sequence[Spec] | None, Param("Only these partitions; empty: all.")] = None
    where: Annotated[str | None, Param(_WHERE)] = None
    # Which partitions were idle or about to expire, the groups of a plan say themselves.
    partition_idle_time: Annotated[
        timedelta | None, Param("Only partitions that were not written to for this long, e.g. 1 h.", is_kept=False)
    ] = None
    order_strategy: Annotated[
        str, Param("Sort an append table: order, zorder or hilbert; none: leave the rows as they are.")
    ] = NO_ORDER
    order_by: Annotated[Sequence[str], Param("Columns to sort by.")] = ()
    skip_expiring: Annotated[bool, Param("Skip partitions that are about to expire.", read=truth, is_kept=False)] = True
    proof: Annotated[str | None, Param(_PROOF)] = None
    max_retries: Annotated[
        int, Param("How often to retry a bucket whose commit lost against another writer.", least=0, is_kept=False)
    ] = RETRIES
    groups_per_commit: Annotated[
        int | None,
        Param("Commit after this number of buckets; empty: all in one snapshot.", least=1, is_kept=False),
    ] = None
    time_limit: Annotated[
        timedelta | None, Param("Start no more buckets after this time, e.g. 1 h.", is_kept=False)
    ] = None
    beside_other_compactors: Annotated[
        bool | None, Param("Compact even if another engine compacts the table, too.", is_kept=False)
    ] = None
    buckets: Annotated[
        Collection[int] | None, Param("Only these buckets; for tables with a fixed number of buckets.", read=_buckets)
    ] = None

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


@dataclass(frozen=True, slots=True)
class ChangelogRequest:
    """Whose changelog to produce: the part of a compaction's request that a changelog leaves open."""

    partitions: Annotated[Sequence[Spec] | None, Param("Only these partitions; empty: all.")] = None
    where: Annotated[str | None, Param(_WHERE)] = None
    proof: Annotated[str | None, Param(_PROOF)] = None
    max_retries: Annotated[
        int, Param("How often to retry a bucket whose commit lost against another writer.", least=0, is_kept=False)
    ] = RETRIES
    beside_other_compactors: Annotated[
        bool | None, Param("Compact even if another engine compacts the table, too.", is_kept=False)
    ] = None


def _check_buckets(table: Table, buckets: Collection[int], order_strategy: str) -> None:
    """Raises: OptionError: the table has no such buckets, or rows go from one to another."""
    where, number = f"compaction of {table.identifier}", table.model.bucket
    if number < 1:
        raise OptionError(
            "buckets are chosen, and the table has no fixed number of them", where, "Leave 'buckets' out of the call."
        )
    if order_strategy != NO_ORDER:
        fix = "Leave buckets, or order_strategy and order_by, out of the call."
        raise OptionError("buckets are chosen, and an order of rows", where, fix)
    beyond = sorted(bucket for bucket in buckets if not 0 <= bucket < number)
    if beyond:
        raise OptionError(f"there is no bucket {beyond[0]}", where, f"The buckets are 0 to {number - 1}.")


def proof_of(table: Table, chosen: str | None = None) -> ProofSettings:
    """How rewrites of a table are proved. `chosen`: a `ProofMode`; None = as the table's option says."""
    return ProofSettings.of(chosen or own_options.COMPACTION_PROOF.of(table.options))
