"""Changelog production for write-only writers, with `changelog-producer` = `full-compaction`.

Every change since the last full compaction appears exactly once: what lies below the highest level is compacted into
it, and the difference is written as changelog files in the same COMPACT snapshot. A second run finds nothing to do; a
crash before the commit leaves nothing behind that counts. Source: seed 003 (full-compaction), data section 5.
"""

from typing import TYPE_CHECKING

from maintenance.errors import OptionError, UnsupportedError
from maintenance.operations.compact import CompactReport, Progress, compact
from maintenance.options import table as table_options
from maintenance.table.table import Table

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def produce_changelog(
    spark: "SparkSession | None", table: Table, *, dry_run: bool = False, progress: Progress | None = None
) -> CompactReport:
    """Produce the changelog of all changes that have none yet. Arguments as of `compact`.

    Raises: OptionError: the table has no changelog producer, or one that writes the changelog itself.
        UnsupportedError: producer `lookup`.
    """
    producer = table_options.CHANGELOG_PRODUCER.of(table.options)
    if producer in ("none", "input"):
        raise OptionError(
            f"'changelog-producer' = '{producer}' leaves nothing to produce",
            f"table {table.identifier}",
            "Set it to full-compaction, or leave this step out.",
        )
    if producer == "lookup":
        raise UnsupportedError(
            "'changelog-producer' = 'lookup' is not supported yet", f"table {table.identifier}", "Use full-compaction."
        )
    return compact(spark, table, full=True, dry_run=dry_run, progress=progress)
