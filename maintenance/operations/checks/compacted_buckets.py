"""Which buckets a compaction has changed, and what must be the same before and after it."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from maintenance.compaction.proof.expected import is_row_engine
from maintenance.format.metadata.data_file import DataFileMeta
from maintenance.format.metadata.manifest import FileKind, ManifestEntry
from maintenance.format.metadata.snapshot import Snapshot
from maintenance.format.rows.key import key_reader
from maintenance.format.rows.system_fields import SEQUENCE_NUMBER
from maintenance.metadata.manifests import DeletionFile
from maintenance.operations.checks.proved_bucket import CompactedBucket, SameRows
from maintenance.read.split_read import SplitRead
from maintenance.scan.data_evolution import data_evolution_splits
from maintenance.scan.plan import live_entries
from maintenance.scan.split import Split, SplitOptions, append_splits, by_bucket, primary_key_splits, with_deletions
from maintenance.scan.vectors import live_deletions
from maintenance.table.planning import tracked_fields, views_of
from maintenance.table.table import Table

Group = tuple[bytes, int]
_CHANGED = "the compaction changed rows"
_UNMERGED = "readers, who do not merge these files, see other rows than a merge gives"
# A split for each bucket.
_WHOLE = SplitOptions(1 << 62, 0)


@dataclass(frozen=True, slots=True)
class State:
    """The files of a snapshot by partition and bucket, those of level 0 included, and their deletion vectors."""

    snapshot_id: int
    entries: Mapping[Group, Sequence[ManifestEntry]]
    deletions: Mapping[Group, Mapping[str, DeletionFile]]

    @classmethod
    def of(cls, table: Table, snapshot: Snapshot) -> "State":
        """Raises: CorruptFileError: of metadata, or a deletion vector is of a file that does not live."""
        entries = live_entries(table.scan_source(), snapshot, None, all_levels=True)
        has_vectors = table.model.has_deletion_vectors
        deletions = live_deletions(table.manifests, snapshot, entries) if has_vectors else {}
        return cls(snapshot.id, by_bucket(entries), deletions)

    def files(self, group: Group) -> dict[str, tuple[DataFileMeta, DeletionFile | None]]:
        """The files of a bucket by name, each with its deletion vector."""
        deletions = self.deletions.get(group, {})
        return {
            entry.file.file_name: (entry.file, deletions.get(entry.file.file_name))
            for entry in self.entries.get(group, ())
        }


def compacted_buckets(
    table: Table, before: Snapshot, after: Snapshot, left_out: Sequence[str]
) -> list[CompactedBucket]:
    """The buckets that differ between two snapshots, as tasks.

    Args: `table`: under the schema of the later one; `left_out`: columns that are not compared.
    Raises: as `State.of`.
    """
    old, new = State.of(table, before), State.of(table, after)
    read = _read(table, (old, new), left_out)
    written = {entry.file.file_name for entry in table.manifests.delta_entries(after) if entry.kind == FileKind.ADD} - {
        name for group in old.entries for name in old.files(group)
    }
    groups = dict.fromkeys([*old.entries, *new.entries])
    changed = [group for group in groups if old.files(group) != new.files(group)]
    return [_bucket(table, read, group, old, new, written) for group in changed]


def _read(table: Table, states: Sequence[State], left_out: Sequence[str]) -> SplitRead:
    ids = {entry.file.schema_id for state in states for group in state.entries.values() for entry in group}
    schemas = {**table.scan_source().load_schemas(sorted(ids)), table.schema.id: table.schema}
    # Later records are ordered by the numbers of what is there.
    numbers = (SEQUENCE_NUMBER,) if table.schema.primary_keys and is_row_engine(table.options) else ()
    columns = [*table.schema.fields, *tracked_fields(table), *numbers]
    compared = tuple(field for field in columns if field.name not in left_out)
    return SplitRead(table.file_io, table.paths, table.schema, schemas, table.options, compared, views=views_of(table))


def _bucket(table: Table, read: SplitRead, group: Group, old: State, new: State, written: set[str]) -> CompactedBucket:
    if not table.schema.primary_keys:
        due, given = _only_changed(old, new, group) if not table.model.evolves else (old, new)
        same = SameRows(_CHANGED, tuple(_append(table, due, group)), tuple(_append(table, given, group)))
        return CompactedBucket(new.snapshot_id, *group, read, (same,))
    comparisons = [SameRows(_CHANGED, _merged(old, group), _merged(new, group))]
    files = [entry.file for entry in new.entries.get(group, ())]
    if table.model.has_one_version:
        above = State(new.snapshot_id, {group: [e for e in new.entries.get(group, ()) if e.file.level]}, new.deletions)
        comparisons.append(SameRows(_UNMERGED, _merged(above, group), tuple(_as_seen(table, above))))
    mine = tuple(file for file in files if file.file_name in written)
    levels = sorted({file.level for file in mine if file.level})
    of_levels = tuple(tuple(file for file in files if file.level == level) for level in levels)
    if table.model.clusters_keys:
        of_levels = ()
    retracting = () if is_row_engine(table.options) else (*_retracting(old, group), *_retracting(new, group))
    return CompactedBucket(new.snapshot_id, *group, read, tuple(comparisons), retracting, mine, of_levels)


def _retracting(state: State, group: Group) -> Iterator[Split]:
    """The files of a bucket that hold retractions, each as it is."""
    for entry in state.entries.get(group, ()):
        if entry.file.delete_row_count:
            yield Split(state.snapshot_id, *group, (entry.file,), raw=True)


def _merged(state: State, group: Group) -> tuple[Split, ...]:
    """All files of a bucket, to be merged."""
    files = tuple(entry.file for entry in state.entries.get(group, ()))
    split = Split(state.snapshot_id, *group, files, raw=False)
    return tuple(with_deletions([split], state.deletions)) if files else ()


def _as_seen(table: Table, state: State) -> Iterable[Split]:
    """The files as a read of the table has them."""
    entries = [entry for group in state.entries.values() for entry in group]
    read_key = key_reader([field.type for field in table.schema.key_fields])
    by_key = not table.model.clusters_keys
    splits = primary_key_splits(state.snapshot_id, entries, _WHOLE, read_key, one_version=True, by_key=by_key)
    return with_deletions(splits, state.deletions)


def _append(table: Table, state: State, group: Group) -> Iterator[Split]:
    plan = data_evolution_splits if table.model.evolves else append_splits
    yield from with_deletions(plan(state.snapshot_id, state.entries.get(group, ()), _WHOLE), state.deletions)


def _only_changed(old: State, new: State, group: Group) -> tuple[State, State]:
    """Without the files that both have, with the same deletion vectors: their rows are the same."""
    before, after = old.files(group), new.files(group)
    changed = {name for name in {**before, **after} if before.get(name) != after.get(name)}
    due, given = (
        State(
            state.snapshot_id,
            {group: [e for e in state.entries.get(group, ()) if e.file.file_name in changed]},
            state.deletions,
        )
        for state in (old, new)
    )
    return due, given
