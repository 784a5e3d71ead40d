"""Delete tags by name, and what only they used: procedure `delete_tag`. Source: metadata section 10.2."""

import time
from collections.abc import Callable

from maintenance.operations.expire_tags import ExpireTagsReport
from maintenance.operations.tag_removal import plan_tag_removal, remove_tags
from maintenance.options import table as table_options
from maintenance.table.table import Table


def delete_tag(
    table: Table, *names: str, dry_run: bool = False, progress: Callable[[str], None] | None = None
) -> ExpireTagsReport:
    """Delete tags of a table or branch; of the data nothing goes that a snapshot, a tag or a branch still needs.

    Raises: NotFoundError: a tag does not exist, nothing is deleted then; CorruptFileError, UnsupportedError: as
        `expire_tags`.
    """
    table_options.check_writable(table.options, table.identifier)
    started = time.monotonic()
    due = {name: table.tags.get(name) for name in names}
    plan = plan_tag_removal(table, due)
    deletions = plan.deletions
    if not dry_run:
        deletions |= remove_tags(table, due, plan, progress or (lambda _: None)).deletions
    return ExpireTagsReport(
        table=table.identifier,
        expired=tuple(due),
        deleted_files=tuple(deletions),
        deleted_bytes=sum(deletions.values()),
        notes=plan.notes,
        dry_run=dry_run,
        seconds=time.monotonic() - started,
    )
