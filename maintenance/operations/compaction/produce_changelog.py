"""Changelog production for write-only writers, with `changelog-producer` = `lookup` or `full-compaction`.

Every change since the last run appears exactly once, in the COMPACT snapshot that merges it: with lookup the files of
level 0 are compacted to some level above and compared with what was there; with full-compaction everything below the
highest level is compacted into it and compared with it. What was compacted is no longer at level 0, or below the
highest level, so a second run finds nothing to do; a crash before the commit leaves nothing behind that counts.
Source: seed 003 (lookup, full-compaction), data section 5.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from maintenance.errors import OptionError
from maintenance.metadata.partition_names import Spec
from maintenance.operations.compaction.compact import carry_out, preview
from maintenance.operations.compaction.plan import Unit
from maintenance.operations.compaction.report import CompactReport
from maintenance.operations.compaction.request import RETRIES, CompactRequest
from maintenance.operations.progress import Progress
from maintenance.options import table as table_options
from maintenance.table.table import Table

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def produce_changelog(
    spark: "SparkSession | None",
    table: Table,
    *,
    partitions: Sequence[Spec] | None = None,
    where: str | None = None,
    dry_run: bool = False,
    max_retries: int = RETRIES,
    proof: str | None = None,
    beside_other_compactors: bool | None = None,
    only: Callable[[Unit], bool] | None = None,
    progress: Progress | None = None,
) -> CompactReport:
    """Produce the changelog of all changes that have none yet, of some partitions or all. Arguments as of `compact`.

    Raises: OptionError: the table has no changelog producer, or one that writes the changelog itself.
    """
    request = changelog_request(
        table,
        CompactRequest(
            partitions=partitions,
            where=where,
            proof=proof,
            max_retries=max_retries,
            beside_other_compactors=beside_other_compactors,
        ),
    )
    if dry_run:
        return preview(table, request, only=only, progress=progress).report
    return carry_out(spark, table, request, only=only, progress=progress)


def changelog_request(table: Table, chosen: CompactRequest) -> CompactRequest:
    """The compaction that produces the changelog of what is chosen. Raises: OptionError, as `produce_changelog`."""
    # Also of partitions that are about to expire: subscribers see every change.
    return replace(chosen, full=merges_fully(table), skip_expiring=False)


def merges_fully(table: Table) -> bool:
    """Whether the changelog takes a merge into the highest level. Raises: OptionError, as `produce_changelog`."""
    producer = table_options.CHANGELOG_PRODUCER.of(table.options)
    if producer in ("none", "input"):
        raise OptionError(
            f"'changelog-producer' = '{producer}' leaves nothing to produce",
            f"table {table.identifier}",
            "Set it to lookup or full-compaction, or leave this step out.",
        )
    return producer == "full-compaction"
