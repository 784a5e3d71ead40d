"""Move a streaming reader to another snapshot, or remove it: procedure `reset_consumer`."""

from maintenance.errors import CorruptFileError, NotFoundError
from maintenance.table.table import Table


def reset_consumer(
    table: Table, consumer: str, next_snapshot: int | None = None, *, dry_run: bool = False
) -> int | None:
    """Set the snapshot that a consumer reads next.

    Args: `next_snapshot`: one that is there, or the one after the latest; None = the consumer ends, and holds no
        snapshot back any more. `dry_run`: only check that it can be done.
    Returns: where it stood, None for a new one.
    Raises: NotFoundError: there is no such snapshot, or no consumer to end; OptionError: the name cannot be that of a
        file.
    Source: data section 10.1, Java `ResetConsumerProcedure`.
    """
    before = _stood(table, consumer)
    if next_snapshot is None:
        if before is None and consumer not in table.consumers.names():
            raise NotFoundError(
                f"consumer '{consumer}' does not exist",
                table.identifier,
                f"There are: {', '.join(table.consumers.names()) or 'none'}.",
            )
        if not dry_run:
            table.consumers.remove([consumer])
        return before
    earliest, latest = table.snapshots.earliest_id() or 1, table.snapshots.latest_id() or 0
    is_changelog = next_snapshot in table.changelogs.list_ids()
    if not is_changelog and not earliest <= next_snapshot <= latest + 1:
        raise NotFoundError(
            f"snapshot {next_snapshot} does not exist",
            table.identifier,
            f"Use {earliest} to {latest + 1}.",
        )
    if not dry_run:
        table.consumers.record(consumer, next_snapshot)
    return before


def _stood(table: Table, consumer: str) -> int | None:
    try:
        return table.consumers.find(consumer)
    except CorruptFileError:
        # A reset is how a damaged file is mended.
        return None
