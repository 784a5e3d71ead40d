"""Which snapshot follows a state when changes are applied to it. Nothing is read or written here.

Source: metadata sections 3 and 9.2, Java `FileStoreCommitImpl`.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace

from maintenance.commit.changes import Changes
from maintenance.commit.identity import CommitIdentity
from maintenance.commit.row_ids import with_row_ids
from maintenance.format.metadata.data_file import FileSource
from maintenance.format.metadata.manifest import FileKind, ManifestEntry
from maintenance.format.metadata.snapshot import CommitKind, Snapshot
from maintenance.options.model import TableModel

MAX_SEQUENCE_NUMBER = "sequence.generation.max-sequence-number"


@dataclass(frozen=True, slots=True)
class TableState:
    """What the next snapshot is made from.

    Attributes:
        latest: the newest snapshot, None = the table has none.
        schema_id: of the newest schema.
        time_millis: now, in milliseconds since 1970-01-01 UTC.
        properties: of every snapshot of the table.
    """

    latest: Snapshot | None
    schema_id: int
    time_millis: int
    properties: Mapping[str, str]

    @property
    def next_id(self) -> int:
        return 1 if self.latest is None else self.latest.id + 1


@dataclass(frozen=True, slots=True)
class Staged:
    """What is written for the next snapshot: names in ``manifest/``, lists with their sizes in bytes.

    Attributes:
        base, delta, changelog: manifest lists; no changelog = None.
        index: the index manifest, the one before where nothing changes; None = there is none.
        max_sequence: largest sequence number of all times, None = the table does not say it.
    """

    base: tuple[str, int]
    delta: tuple[str, int]
    changelog: tuple[str, int] | None
    index: str | None
    max_sequence: int | None


def next_snapshot(state: TableState, changes: Changes, identity: CommitIdentity, staged: Staged) -> Snapshot:
    """The snapshot that follows a state. `changes`: as `numbered` makes them."""
    latest, changelog = state.latest, staged.changelog
    rows = sum(e.file.row_count * (1 if e.kind == FileKind.ADD else -1) for e in changes.entries)
    before = 0 if latest is None else latest.total_record_count or 0
    schema_id = _schema_id(state, changes)
    return Snapshot(
        id=state.next_id,
        schema_id=schema_id,
        base_manifest_list=staged.base[0],
        base_manifest_list_size=staged.base[1],
        delta_manifest_list=staged.delta[0],
        delta_manifest_list_size=staged.delta[1],
        changelog_manifest_list=None if changelog is None else changelog[0],
        changelog_manifest_list_size=None if changelog is None else changelog[1],
        index_manifest=staged.index,
        commit_user=identity.user,
        commit_identifier=identity.identifier,
        commit_kind=changes.kind,
        time_millis=state.time_millis,
        total_record_count=before + rows if changes.total is None else changes.total,
        delta_record_count=rows,
        changelog_record_count=None if changelog is None else sum(e.file.row_count for e in changes.changelog),
        watermark=watermark(latest, identity.watermark),
        statistics=changes.statistics or _statistics(latest, schema_id),
        properties=_properties(state, identity, staged.max_sequence),
        next_row_id=_next_row_id(latest, changes),
    )


def watermark(latest: Snapshot | None, own: int | None) -> int | None:
    """The largest of all commits."""
    watermarks = [w for w in (latest.watermark if latest else None, own) if w is not None]
    return max(watermarks, default=None)


def _schema_id(state: TableState, changes: Changes) -> int:
    """The newest schema; where only manifests are merged it stays the one of the snapshot before, as in Paimon."""
    if changes.merging is not None and state.latest is not None:
        return state.latest.schema_id
    return state.schema_id


def _statistics(latest: Snapshot | None, schema_id: int) -> str | None:
    """Those of the snapshot before, unless the columns have changed since."""
    return latest.statistics if latest is not None and latest.schema_id == schema_id else None


def _properties(state: TableState, identity: CommitIdentity, max_sequence: int | None) -> dict[str, str] | None:
    properties = {**state.properties, **identity.properties}
    if max_sequence is not None:
        properties[MAX_SEQUENCE_NUMBER] = str(max_sequence)
    return properties or None


def _next_row_id(latest: Snapshot | None, changes: Changes) -> int | None:
    if changes.next_row_id is not None or latest is None:
        return changes.next_row_id
    return latest.next_row_id


def numbered(options: TableModel, changes: Changes, latest: Snapshot | None) -> Changes:
    """The changes with what only the next snapshot's place says: sequence numbers or row ids, if the table has such."""
    snapshot_id = 1 if latest is None else latest.id + 1
    if options.sequence_snapshot_ordering:
        return _ordered_by_snapshot(changes, snapshot_id)
    if not options.tracks_rows:
        return changes
    before = 0 if latest is None else latest.next_row_id or 0
    first = max(before, changes.next_row_id or 0)
    entries, following = with_row_ids(changes.entries, snapshot_id, first)
    return replace(changes, entries=tuple(entries), next_row_id=following)


def _ordered_by_snapshot(changes: Changes, snapshot_id: int) -> Changes:
    """The changes with new files whose records are all as new as the snapshot. Source: `sequence.snapshot-ordering`.

    What compactions write has the numbers of its records in it, and files that come back keep theirs.
    """
    if changes.kind == CommitKind.COMPACT or changes.bring_back:
        return changes
    return replace(changes, entries=tuple(_as_new_as(snapshot_id, entry) for entry in changes.entries))


def _as_new_as(snapshot_id: int, entry: ManifestEntry) -> ManifestEntry:
    if entry.kind != FileKind.ADD or entry.file.file_source != FileSource.APPEND:
        return entry
    return replace(entry, file=replace(entry.file, min_sequence_number=snapshot_id, max_sequence_number=snapshot_id))
