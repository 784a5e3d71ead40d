"""Delete tags by name, and what only they used: procedure `delete_tag`. Source: metadata section 10.2."""

from collections.abc import Callable

from maintenance.operations.bin.run import BinRun
from maintenance.operations.expiry.expire_tags import ExpireTagsReport, removed
from maintenance.options import table as table_options
from maintenance.spark.sharing import SparkSource
from maintenance.table.table import Table


def delete_tag(
    table: Table,
    *names: str,
    dry_run: bool = False,
    progress: Callable[[str], None] | None = None,
    into: BinRun | None = None,
    spark: SparkSource = None,
) -> ExpireTagsReport:
    """Delete tags of a table or branch; of the data nothing goes that a snapshot, a tag or a branch still needs.

    Args: `into`: takes what is deleted, so that it can be restored; None = it is destroyed at once; `spark`: as of
        `expire_tags`.

    Raises: NotFoundError: a tag does not exist, nothing is deleted then; CorruptFileError, UnsupportedError: as
        `expire_tags`.
    """
    table_options.check_keepable(table.options, table.identifier)
    tags = {name: table.tags.get(name) for name in names}
    return removed(table, tags, dry_run=dry_run, progress=progress, into=into, spark=spark)
