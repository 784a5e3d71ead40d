"""What has changed in a source between the state that was read last and a newer one, from its manifests alone.

A snapshot that only merges files changes no row, unless batch reads of the table leave out files until they are merged.
"""

from dataclasses import dataclass

from maintenance.errors import ExpiredError, PaimonError
from maintenance.format.metadata.index_manifest import DELETION_VECTORS_INDEX, IndexManifestEntry
from maintenance.format.metadata.manifest import FileKind
from maintenance.format.metadata.snapshot import CommitKind, Snapshot
from maintenance.format.metadata.snapshot_identity import SnapshotIdentity
from maintenance.monitor.visibility import hides
from maintenance.scan.target import FullState
from maintenance.sql.materialized.record import SourceState
from maintenance.table.table import Table


@dataclass(frozen=True, slots=True)
class SourceChange:
    """How a source differs from the state that was read last.

    Attributes:
        partitions: those that may have other rows now; None = any may.
        appended: rows were added, and nothing else happened.
        why: what is to be said of it.
    """

    partitions: frozenset[bytes] | None
    appended: bool = False
    why: str = ""

    @property
    def is_none(self) -> bool:
        """Whether the rows are the same."""
        return self.partitions is not None and not self.partitions


def follows_snapshots(table: Table) -> str:
    """Why the rows of a table may change without a new snapshot, or are not those of its newest; empty: they do not."""
    if table.model.record_level_expire_time is not None:
        return f"rows of {table.identifier} expire by the clock"
    if table.model.scan_fallback_branch or table.options.get("scan.primary-branch"):
        return f"{table.identifier} reads partitions of another branch"
    try:
        _, target = table.target()
    except PaimonError as error:
        return str(error)
    if not isinstance(target, FullState) or target.travelled or target.files_since is not None:
        return f"the options of {table.identifier} name a state"
    return ""


def change_of(table: Table, before: SourceState | None, now: Snapshot | None) -> SourceChange:
    """What has changed in a source since `before`; None = it was not read then. `now`: its newest snapshot."""
    name = table.identifier
    if before is None:
        return SourceChange(None, why=f"{name} was not read by the last refresh")
    if before.schema_id != table.schema.id:
        return SourceChange(None, why=f"the schema of {name} has changed")
    if before == SourceState.of(table, now):
        return SourceChange(frozenset())
    if before.snapshot is None:
        return SourceChange(None, why=f"{name} was empty")
    old = table.snapshots.find(before.snapshot.id)
    if now is None or old is None or SnapshotIdentity.of(old) != before.snapshot or old.id > now.id:
        return SourceChange(None, why=f"the state of {name} that was read last has expired or was rolled back")
    try:
        return _between(table, old, now)
    except ExpiredError:
        return SourceChange(None, why=f"snapshots of {name} have expired since the last refresh")


def _between(table: Table, old: Snapshot, now: Snapshot) -> SourceChange:
    """Raises: ExpiredError."""
    merges_count = hides(table)
    partitions: set[bytes] = set()
    append_only = not table.is_primary_key_table and not table.model.evolves
    for snapshot_id in range(old.id + 1, now.id + 1):
        snapshot = table.snapshots.find(snapshot_id)
        if snapshot is None:
            raise ExpiredError(f"snapshot {snapshot_id} is gone", f"table {table.identifier}", "Read the whole table.")
        if snapshot.commit_kind == CommitKind.ANALYZE:
            continue
        if snapshot.commit_kind == CommitKind.COMPACT and not merges_count:
            continue
        entries = table.manifests.delta_entries(snapshot)
        partitions.update(entry.partition for entry in entries)
        added = all(entry.kind == FileKind.ADD for entry in entries)
        append_only &= snapshot.commit_kind == CommitKind.APPEND and added
    vectors = _vectors(table, old) ^ _vectors(table, now)
    partitions.update(entry.partition for entry in vectors)
    return SourceChange(frozenset(partitions), append_only and not vectors)


def _vectors(table: Table, snapshot: Snapshot) -> set[IndexManifestEntry]:
    return {entry for entry in table.manifests.read_index(snapshot) if entry.index_type == DELETION_VECTORS_INDEX}
