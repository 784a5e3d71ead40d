"""Changelog production for write-only writers, with `changelog-producer` = `lookup` or `full-compaction`.

Every change since the last run appears exactly once, in the COMPACT snapshot that merges it: with lookup the files of
level 0 are compacted to some level above and compared with what was there; with full-compaction everything below the
highest level is compacted into it and compared with it. What was compacted is no longer at level 0, or below the
highest level, so a second run finds nothing to do; a crash before the commit leaves nothing behind that counts.
Source: seed 003 (lookup, full-compaction), data section 5.
"""

from collections.abc import Callable
from dataclasses import replace

from maintenance.errors import OptionError
from maintenance.operations.compaction.compact import CompactPlan, apply, exactly_as, shown
from maintenance.operations.compaction.compact import plan as plan_compaction
from maintenance.operations.compaction.plan import Unit
from maintenance.operations.compaction.report import said
from maintenance.operations.compaction.request import ChangelogRequest, CompactRequest
from maintenance.operations.operation import Operation, Run, Spelling
from maintenance.operations.plan_store import StoredPlan
from maintenance.table.table import Table


def plan(run: Run, table: Table, request: ChangelogRequest, only: Callable[[Unit], bool] | None = None) -> CompactPlan:
    """The compaction that produces the changelog. `only`: as of `compact`."""
    whole = CompactRequest(
        full=merges_fully(table),
        partitions=request.partitions,
        where=request.where,
        # Also of partitions that are about to expire: subscribers see every change.
        skip_expiring=False,
        proof=request.proof,
        max_retries=request.max_retries,
        beside_other_compactors=request.beside_other_compactors,
    )
    return replace(plan_compaction(run, table, whole, only), request=request)


def _again(run: Run, table: Table, request: ChangelogRequest, stored: StoredPlan) -> CompactPlan:
    return exactly_as(plan(run, table, request), stored)


OPERATION = Operation(
    "produce_changelog",
    "Produce the changelog of changes that have none.",
    ChangelogRequest,
    plan,
    apply,
    shown,
    _again,
    said=said,
    kept_as="changelog",
    uses_spark=True,
    has_job=False,
    spellings=(
        Spelling(
            "produce_changelog",
            "Produce the changelog of changes that have none.",
            ("partitions", "where", "dry_run", "proof", "max_retries", "beside_other_compactors"),
        ),
    ),
)


produce_changelog = OPERATION.function(
    """Produce the changelog of all changes that have none yet, in some or all partitions.

    Args:
        only: the units of the plan to carry out; None = all.
    Raises: OptionError: the table has no changelog producer, or one that writes the changelog itself.
    """,
    takes=("progress",),
    spark_first=True,
)


def merges_fully(table: Table) -> bool:
    """Whether the changelog takes a merge into the highest level. Raises: OptionError, as `produce_changelog`."""
    producer = table.model.changelog_producer
    if producer in ("none", "input"):
        raise OptionError(
            f"'changelog-producer' = '{producer}' leaves nothing to produce",
            f"table {table.identifier}",
            "Set it to lookup or full-compaction, or leave this step out.",
        )
    return producer == "full-compaction"
