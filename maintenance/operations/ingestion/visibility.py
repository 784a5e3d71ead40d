"""Wait until a compaction has made visible what was committed: option `visibility-callback.enabled`.

Batch reads leave out level 0 of tables with deletion vectors, and rows without a bucket. So a batch that is committed
waits, where the table says so, until none of its files is one of these any more. Source: Java `VisibilityWaitCallback`.
"""

import time
from collections.abc import Sequence

from maintenance.commit.identity import CommitIdentity
from maintenance.errors import VisibilityError
from maintenance.format.metadata.manifest import EntrySelection
from maintenance.format.metadata.snapshot import BATCH_IDENTIFIER
from maintenance.metadata.expired import again_if_expired
from maintenance.options import table as table_options
from maintenance.table.table import Table
from maintenance.write.message import CommitMessage

_ATTEMPTS = 5


def wait_until_visible(table: Table, messages: Sequence[CommitMessage], identity: CommitIdentity) -> None:
    """Return once batch reads see the rows that were committed. Only batches wait, whose commits have no numbers.

    Raises: VisibilityError: no compaction came in time; the rows are committed.
    """
    options = table.options
    if not table_options.VISIBILITY_CALLBACK_ENABLED.of(options) or identity.identifier != BATCH_IDENTIFIER:
        return
    hidden = {
        file.file_name
        for message in messages
        for file in message.new_files
        if _is_hidden(table, message.bucket, file.level)
    }
    partitions = {message.partition for message in messages}
    timeout = table_options.VISIBILITY_CALLBACK_TIMEOUT.of(options).total_seconds()
    pause = table_options.VISIBILITY_CALLBACK_CHECK_INTERVAL.of(options).total_seconds()
    end = time.monotonic() + timeout
    while hidden and (hidden := _still_hidden(table, hidden, partitions)):
        if time.monotonic() + pause > end:
            raise VisibilityError(
                f"the rows are committed, and {len(hidden)} of their files are not compacted after {timeout:g} s",
                f"table {table.identifier}",
                "Do not write them again: compact the table, or see why its compaction does not run.",
            )
        time.sleep(pause)


def _is_hidden(table: Table, bucket: int, level: int) -> bool:
    if bucket == table_options.POSTPONE_BUCKET:
        return True
    keyed = table.is_primary_key_table
    return keyed and level == 0 and table_options.DELETION_VECTORS_ENABLED.of(table.options)


def _still_hidden(table: Table, names: set[str], partitions: set[bytes]) -> set[str]:
    """Which of the files no compaction has taken in by now."""

    def look() -> set[str]:
        latest = table.latest_snapshot()
        live = [] if latest is None else table.manifests.live_entries(latest, EntrySelection(partitions.__contains__))
        return {e.file.file_name for e in live if _is_hidden(table, e.bucket, e.file.level)} & names

    return again_if_expired(look, _ATTEMPTS)
