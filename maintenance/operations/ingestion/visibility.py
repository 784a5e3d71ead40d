"""Wait until others have made visible what was committed: option `visibility-callback.enabled`.

Batch reads leave out level 0 of tables with deletion vectors, and rows without a bucket; searches by a global index
leave out rows that it does not cover. So a batch that is committed waits, where the table says so, until none of its
files is one of the former any more, and the global indexes of its partitions cover its rows. Source: Java
`VisibilityWaitCallback`, `GlobalIndexVisibilityChecker`.
"""

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from pyroaring import BitMap64

from maintenance.commit.identity import CommitIdentity
from maintenance.errors import VisibilityError
from maintenance.format.metadata.data_file import is_of_blobs
from maintenance.format.metadata.index_manifest import IndexManifestEntry
from maintenance.format.metadata.manifest import EntrySelection, FileKind
from maintenance.format.metadata.snapshot import BATCH_IDENTIFIER, Snapshot
from maintenance.metadata.expired import again_if_expired
from maintenance.options import table as table_options
from maintenance.scan.global_index import covered_rows
from maintenance.table.table import Table
from maintenance.write.message import CommitMessage

_ATTEMPTS = 5
# An index of a partition: its type, its column and further columns.
_Index = tuple[bytes, str, int, tuple[int, ...] | None]


def wait_until_visible(table: Table, messages: Sequence[CommitMessage], identity: CommitIdentity) -> None:
    """Return once batch reads see the rows that were committed. Only batches wait, whose commits have no numbers.

    Raises: VisibilityError: no compaction, or no index, came in time; the rows are committed.
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
    indexed = _IndexedRows.of(table, messages, identity) if messages else None
    while True:
        hidden = _still_hidden(table, hidden, partitions) if hidden else hidden
        missing = 0 if indexed is None else indexed.missing(table)
        if not hidden and not missing:
            return
        if time.monotonic() + pause > end:
            raise _too_late(table, len(hidden), missing, timeout)
        time.sleep(pause)


def _too_late(table: Table, files: int, rows: int, timeout: float) -> VisibilityError:
    waits = [f"{files} of their files are not compacted"] if files else []
    waits += [f"{rows} of them are in no global index"] if rows else []
    return VisibilityError(
        f"the rows are committed, and {' and '.join(waits)} after {timeout:g} s",
        f"table {table.identifier}",
        "Do not write them again: compact the table or build its indexes, or see why the jobs that do so do not run.",
    )


@dataclass(frozen=True, slots=True)
class _IndexedRows:
    """Rows that a commit added, and the indexes of their partitions. `rows`: ids by partition."""

    rows: Mapping[bytes, BitMap64]
    indexes: frozenset[_Index]

    @classmethod
    def of(cls, table: Table, messages: Sequence[CommitMessage], identity: CommitIdentity) -> "_IndexedRows | None":
        """None if rows have no ids, or nothing indexes them."""
        if not table.model.tracks_rows:
            return None
        rows: dict[bytes, BitMap64] = {}
        made: list[Snapshot] = []
        sought = {file.file_name for message in messages for file in message.new_files}
        for snapshot in table.snapshots.newest_first():
            if not sought:
                break
            if snapshot.commit_user != identity.user:
                continue
            made.append(snapshot)
            for entry in table.manifests.delta_entries(snapshot):
                file = entry.file
                is_new = entry.kind == FileKind.ADD and file.file_name in sought
                sought -= {file.file_name} if is_new else set()
                if is_new and file.first_row_id is not None and not is_of_blobs(file):
                    ids = rows.setdefault(entry.partition, BitMap64())
                    ids.add_range(file.first_row_id, file.first_row_id + file.row_count)
        indexes = {index for snapshot in made for index in _indexes(table, snapshot) if index[0] in rows}
        return cls(rows, frozenset(indexes)) if indexes else None

    def missing(self, table: Table) -> int:
        """How many rows an index does not cover yet, of the index that lacks the most."""
        latest = table.latest_snapshot()
        covering = {} if latest is None else again_if_expired(lambda: _indexes(table, latest), _ATTEMPTS)
        lacking = [
            self.rows[index[0]] - covered_rows(entry.global_index for entry in covering.get(index, ()))
            for index in self.indexes
        ]
        return max(map(len, lacking), default=0)


def _indexes(table: Table, snapshot: Snapshot) -> dict[_Index, list[IndexManifestEntry]]:
    """The files of each global index of each partition."""
    found: dict[_Index, list[IndexManifestEntry]] = {}
    for entry in table.manifests.read_index(snapshot):
        meta = entry.global_index
        if meta is not None:
            key = (entry.partition, entry.index_type, meta.index_field_id, meta.extra_field_ids)
            found.setdefault(key, []).append(entry)
    return found


def _is_hidden(table: Table, bucket: int, level: int) -> bool:
    if bucket == table_options.POSTPONE_BUCKET:
        return True
    keyed = table.is_primary_key_table
    return keyed and level == 0 and table.model.has_deletion_vectors


def _still_hidden(table: Table, names: set[str], partitions: set[bytes]) -> set[str]:
    """Which of the files no compaction has taken in by now."""

    def look() -> set[str]:
        latest = table.latest_snapshot()
        live = [] if latest is None else table.manifests.live_entries(latest, EntrySelection(partitions.__contains__))
        return {e.file.file_name for e in live if _is_hidden(table, e.bucket, e.file.level)} & names

    return again_if_expired(look, _ATTEMPTS)
