"""Changelog production for write-only writers, with `changelog-producer` = `lookup` or `full-compaction`.

Every change since the last run appears exactly once, in the COMPACT snapshot that merges it: with lookup the files of
level 0 are compacted to some level above and compared with what was there; with full-compaction all that lies below the
highest level is compacted into it and compared with it. What was compacted is no longer at level 0, or below the
highest level, so a second run finds nothing to do; a crash before the commit leaves nothing behind that counts.
Source: seed 003 (lookup, full-compaction), data section 5.
"""

from typing import TYPE_CHECKING

from maintenance.errors import OptionError
from maintenance.operations.compact import Progress, compact
from maintenance.operations.compact_report import CompactReport
from maintenance.options import table as table_options
from maintenance.table.table import Table

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def produce_changelog(
    spark: "SparkSession | None", table: Table, *, dry_run: bool = False, progress: Progress | None = None
) -> CompactReport:
    """Produce the changelog of all changes that have none yet. Arguments as of `compact`.

    Raises: OptionError: the table has no changelog producer, or one that writes the changelog itself.
    """
    producer = table_options.CHANGELOG_PRODUCER.of(table.options)
    if producer in ("none", "input"):
        raise OptionError(
            f"'changelog-producer' = '{producer}' leaves nothing to produce",
            f"table {table.identifier}",
            "Set it to lookup or full-compaction, or leave this step out.",
        )
    return compact(spark, table, full=producer == "full-compaction", dry_run=dry_run, progress=progress)
