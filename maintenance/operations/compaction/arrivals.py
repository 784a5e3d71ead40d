"""In which order rows came into a table in which some wait for their bucket: that of the commits.

Rows that wait have no sequence numbers. A file's place in the order is the snapshot that added it. Files whose snapshot
has expired came before all others, and among each other in the order of their creation times: in such tables writers of
this project publish no file with an earlier time than one that is there. Those of other engines have the time at which
they were written, so a file of theirs that took long to be committed may count as too old then.

What a compaction wrote, and what it lifted above level 0, is older than everything that waits: a move takes all rows
that wait in its partition, and buckets that got rows after those that wait are not compacted before these have moved.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace

from maintenance.errors import ExpiredError
from maintenance.format.metadata.data_file import DataFileMeta, FileSource
from maintenance.format.metadata.manifest import EntrySelection, FileKind, ManifestEntry
from maintenance.format.metadata.manifest_list import ManifestFileMeta
from maintenance.format.metadata.snapshot import CommitKind, Snapshot
from maintenance.options import table as table_options
from maintenance.table.table import Table

Group = tuple[bytes, int]
# Id of the snapshot, 0 where it has expired; then the creation time in milliseconds, else 0.
Moment = tuple[int, int]

MOVE_FIRST = "its newest rows are newer than rows that wait for their bucket: those must be moved first"


@dataclass(frozen=True, slots=True)
class Arrivals:
    """When files came.

    Attributes:
        commits: ids of the snapshots that added them, by name of file; without those that have expired.
        compacted: names of files that a compaction wrote.
        matters: False where the user's sequence is the number, which orders rows whenever they come.
    """

    commits: Mapping[str, int] = field(default_factory=dict)
    compacted: Collection[str] = ()
    matters: bool = True

    def moment(self, file: DataFileMeta) -> Moment:
        """When a file came. For files that wait, and such as `came_directly`."""
        commit = self.commits.get(file.file_name, 0)
        return commit, 0 if commit else file.creation_time or 0

    def came_after(self, entry: ManifestEntry, waiting: Moment) -> bool:
        """Whether a file of a real bucket came after a file that waits; where nothing tells, it did."""
        direct = came_directly(entry) and entry.file.file_name not in self.compacted
        return self.matters and direct and self.moment(entry.file) >= waiting


def came_directly(entry: ManifestEntry) -> bool:
    """Whether a file may have been written straight into its bucket, and not been compacted since."""
    return entry.bucket >= 0 and entry.file.level == 0 and entry.file.file_source != FileSource.COMPACT


def find_arrivals(table: Table, latest: Snapshot, entries: Sequence[ManifestEntry]) -> Arrivals:
    """When files came. `entries`: live ones of whole partitions.

    Snapshots are read back to the one that added the oldest file that waits: what they did not add is older.
    """
    waiting = {entry.file.file_name for entry in entries if entry.bucket == table_options.POSTPONE_BUCKET}
    partitions = {entry.partition for entry in entries}
    selection = EntrySelection(partitions.__contains__)
    commits: dict[str, int] = {}
    compacted: set[str] = set()
    for snapshot in table.snapshots.newest_first():
        if not waiting - commits.keys():
            break
        if snapshot.id > latest.id:
            continue
        delta = _delta(table, snapshot, selection)
        if delta is None:
            break
        # A file that is there before and after has another level or index.
        kept = {entry.file.file_name for entry in delta if entry.kind == FileKind.DELETE}
        names = {entry.file.file_name for entry in delta if entry.kind == FileKind.ADD} - kept
        if snapshot.commit_kind == CommitKind.COMPACT:
            compacted |= names
        else:
            commits |= dict.fromkeys(names, snapshot.id)
    return Arrivals(commits, compacted, not table.model.sequence_auto_padding)


def _delta(table: Table, snapshot: Snapshot, selection: EntrySelection) -> list[ManifestEntry] | None:
    """What a snapshot changed; None if it has expired, or an expiry is deleting its files and will delete it."""
    manifests = table.manifests
    try:
        with manifests.reading(snapshot):
            return list(manifests.entries_of(manifests.delta_manifests(snapshot), selection))
    except ExpiredError:
        return None


def held_back(table: Table, snapshot: Snapshot, entries: Sequence[ManifestEntry]) -> dict[Group, str]:
    """Buckets not to be compacted yet, and why. `entries`: live ones of the buckets that are asked about.

    Their rows would be merged with older ones, and deletions dropped, before rows come that belong in between.
    """
    direct = [entry for entry in entries if came_directly(entry)]
    # A table that is no longer postponed may still have waiting rows from before.
    if not direct or not (table.model.is_postponed or table.schema.id > 0):
        return {}
    waiting = _waiting(table, snapshot, {entry.partition for entry in direct})
    if not waiting:
        return {}
    partitions = {entry.partition for entry in waiting}
    direct = [entry for entry in direct if entry.partition in partitions]
    arrivals = find_arrivals(table, snapshot, [*direct, *waiting])
    oldest: dict[bytes, Moment] = {}
    for entry in waiting:
        moment = arrivals.moment(entry.file)
        oldest[entry.partition] = min(oldest.get(entry.partition, moment), moment)
    late = [entry for entry in direct if arrivals.came_after(entry, oldest[entry.partition])]
    return {(entry.partition, entry.bucket): MOVE_FIRST for entry in late}


def rows_wait(table: Table, snapshot: Snapshot, selection: EntrySelection) -> bool:
    """Whether rows wait in the postpone bucket of what is wanted. Manifests that cannot say of any are not read."""
    waiting = replace(selection, buckets=lambda _: {table_options.POSTPONE_BUCKET})
    return any(len(columns) for columns in table.manifests.live_columns(snapshot, waiting, _may_hold))


def _waiting(table: Table, snapshot: Snapshot, partitions: Collection[bytes]) -> list[ManifestEntry]:
    selection = EntrySelection(
        partitions.__contains__, test=lambda entry: entry.bucket == table_options.POSTPONE_BUCKET
    )
    return table.manifests.live_entries(snapshot, selection, _may_hold)


def _may_hold(manifest: ManifestFileMeta) -> bool:
    return manifest.min_bucket is None or manifest.min_bucket <= table_options.POSTPONE_BUCKET
