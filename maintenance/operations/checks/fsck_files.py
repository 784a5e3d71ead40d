"""Examine what snapshots, tags and changelogs name: lists, manifests, index files and data files.

Each file is looked at once, however many states share it. Data files are checked by the listing of their folders; a
`deep` examination also reads them, in tasks.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from maintenance.amounts import number_of
from maintenance.errors import RESTORE, CorruptFileError
from maintenance.format.file_index.container import parse_container
from maintenance.format.metadata.deletion_vector import parse_index_file
from maintenance.format.metadata.index_manifest import DELETION_VECTORS_INDEX, HASH_INDEX, IndexManifestEntry
from maintenance.format.metadata.manifest import FileKind, ManifestEntry
from maintenance.format.metadata.manifest_list import ManifestFileMeta
from maintenance.format.metadata.schema import TableSchema
from maintenance.format.row_file.data_format import SIDECAR_SUFFIX, open_row_file
from maintenance.format.rows.key import key_reader
from maintenance.fs.file_io import FileIO
from maintenance.metadata.dead_vectors import EXPIRED, DeadVector, Fate, fates_of
from maintenance.metadata.expired import is_held
from maintenance.metadata.manifests import Manifests, merge_scan
from maintenance.metadata.paths import TablePaths
from maintenance.operations.checks.faults import FaultKind, Faults
from maintenance.operations.checks.fsck_records import SmallFiles, State
from maintenance.scan.file_index import INDEX_SUFFIX
from maintenance.scan.split import by_bucket

_ROLL_BACK = "Roll back to a snapshot or tag before it, or restore the table from a copy."
_TAKEN_AWAY = "A compaction of the bucket takes the vector away."
_HASH_BYTES = 4


@dataclass(frozen=True, slots=True)
class FoundFile:
    """A data file in the right place. `branch`: of a state that needs it, for its schema."""

    entry: ManifestEntry
    branch: str
    path: str


@dataclass(slots=True)
class FileWalk:
    """Walks from states to files. `data_files`: by path; `manifests_read`, `index_files_read`: counts."""

    file_io: FileIO
    paths: TablePaths
    records: SmallFiles
    faults: Faults
    data_files: dict[str, FoundFile] = field(default_factory=dict)
    _lists: dict[str, list[ManifestFileMeta] | None] = field(default_factory=dict)
    _entries: dict[str, list[ManifestEntry] | None] = field(default_factory=dict)
    _indexes: dict[str, list[IndexManifestEntry] | None] = field(default_factory=dict)
    _index_files: set[str] = field(default_factory=set)
    _folders: dict[str, Mapping[str, int]] = field(default_factory=dict)
    _checked: set[str] = field(default_factory=set)

    @property
    def manifests_read(self) -> int:
        return sum(entries is not None for entries in self._entries.values())

    @property
    def index_files_read(self) -> int:
        return len(self._index_files)

    def examine(self, state: State) -> None:
        """Look at everything that a state names. Faults of one that is gone by then do not count."""
        faults, self.faults = self.faults, Faults()
        self.faults.attempt(state.path, state.name, lambda: self._examine(state))
        faults_of_state, self.faults = self.faults, faults
        if not faults_of_state.recorded:
            return
        paths = replace(self.paths, branch=state.branch)
        if is_held(self.file_io, paths, state.snapshot.id, changes=state.is_changelog):
            faults.recorded |= faults_of_state.recorded
        else:
            self._forget(faults_of_state)

    def still_needed(self, paths: Collection[str]) -> set[str]:
        """Those of the data files that a state needs which is still there."""
        gone = [path for path in paths if not self.file_io.exists(path)]
        needed = set(paths) - set(gone)
        for state in self.records.states if gone else ():
            of_branch = replace(self.paths, branch=state.branch)
            manifests = Manifests(self.file_io, of_branch)
            read = manifests.changelog_entries if state.is_changelog else manifests.live_entries
            # One that cannot be read is a fault already, unless it is gone itself.
            entries = Faults().attempt(state.path, state.name, lambda r=read, s=state: r(s.snapshot)) or ()  # type: ignore[misc]
            if is_held(self.file_io, of_branch, state.snapshot.id, changes=state.is_changelog):
                located = (of_branch.data_file(entry.partition, entry.bucket, entry.file) for entry in entries)
                needed |= set(located) & set(gone)
        return needed

    def _forget(self, faults: Faults) -> None:
        """Let the next state look itself at what was wrong."""
        for cache in (self._lists, self._entries, self._indexes):
            for name in [name for name, content in cache.items() if content is None]:
                del cache[name]
        self._checked -= {fault.object for fault in faults.recorded}

    def _examine(self, state: State) -> None:
        snapshot = state.snapshot
        if not state.is_changelog:
            base = self._list(snapshot.base_manifest_list, snapshot.base_manifest_list_size, state)
            delta = self._list(snapshot.delta_manifest_list, snapshot.delta_manifest_list_size, state)
            entries = self._all_entries(base, delta, state)
            live = merge_scan(entries or ())
            for entry in live:
                self._check_data_file(entry, state)
            if entries is not None:
                self._check_state(state, live)
            self._check_index(state, live, complete=entries is not None)
            self._check_statistics(state)
        # A tag does not hold the changelog of its snapshot.
        if snapshot.changelog_manifest_list is not None and not state.name.startswith("tag "):
            size = snapshot.changelog_manifest_list_size
            changelog = self._list(snapshot.changelog_manifest_list, size, state)
            for entry in self._all_entries(changelog, [], state) or ():
                if entry.kind == FileKind.ADD:
                    self._check_data_file(entry, state)

    # Lists and manifests

    def _manifests(self) -> Manifests:
        return Manifests(self.file_io, self.paths)

    def _list(self, name: str, size: int | None, state: State) -> list[ManifestFileMeta] | None:
        if name not in self._lists:
            path = self.paths.manifest(name)
            if self._is_there(path, state, size):
                self._lists[name] = self.faults.attempt(path, state.name, lambda: self._manifests().read_list(name))
            else:
                self._lists[name] = None
        return self._lists[name]

    def _all_entries(
        self, base: Sequence[ManifestFileMeta] | None, delta: Sequence[ManifestFileMeta] | None, state: State
    ) -> list[ManifestEntry] | None:
        """The entries of the manifests; None if any is missing, for then the state is not known."""
        complete = base is not None and delta is not None
        entries: list[ManifestEntry] = []
        for manifest in (*(base or ()), *(delta or ())):
            of_manifest = self._manifest(manifest, state)
            complete &= of_manifest is not None
            entries += of_manifest or ()
        return entries if complete else None

    def _manifest(self, manifest: ManifestFileMeta, state: State) -> list[ManifestEntry] | None:
        name = manifest.file_name
        if name in self._entries:
            return self._entries[name]
        self._entries[name] = None
        path = self.paths.manifest(name)
        if self._is_there(path, state, manifest.file_size):
            entries = self.faults.attempt(path, state.name, lambda: self._manifests().read(name))
            self._entries[name] = entries
            counted = (manifest.num_added_files, manifest.num_deleted_files)
            added = sum(entry.kind == FileKind.ADD for entry in entries or ())
            if entries is not None and (added, len(entries) - added) != counted:
                self.faults.add(
                    FaultKind.MISMATCH,
                    path,
                    f"it adds {added} and deletes {len(entries) - added}; its list says {counted[0]} and {counted[1]}",
                )
        return self._entries[name]

    # Data files

    def _check_data_file(self, entry: ManifestEntry, state: State) -> None:
        path = self.faults.attempt(
            entry.file.file_name, state.name, lambda: self.paths.data_file(entry.partition, entry.bucket, entry.file)
        )
        if path is None or path in self._checked:
            return
        self._checked.add(path)
        if self._is_there(path, state, entry.file.file_size):
            self.data_files[path] = FoundFile(entry, state.branch, path)
        schema = replace(self.paths, branch=state.branch).schema(entry.file.schema_id)
        has_schema = entry.file.schema_id in self.records.schemas.get(state.branch, {})
        if not has_schema and not self.file_io.exists(schema):
            self.faults.add(FaultKind.MISSING, schema, f"needed by {path}", "Restore the schema file.")
        folder = path.rsplit("/", 1)[0]
        for name in entry.file.extra_files:
            self._check_extra(f"{folder}/{name}", path, state, entry)
        embedded = entry.file.embedded_index
        if embedded is not None:
            self.faults.attempt(
                path, f"the index in a manifest of {state.name}", lambda: parse_container(embedded, path)
            )

    def _check_extra(self, extra: str, path: str, state: State, entry: ManifestEntry) -> None:
        """A file that belongs to a data file. `path`: of the data file."""
        if not self._is_there(extra, state):
            return
        if extra.endswith(INDEX_SUFFIX):
            self.faults.attempt(extra, path, lambda: parse_container(self.file_io.read_bytes(extra), extra))
        if extra.endswith(SIDECAR_SUFFIX):
            self.faults.attempt(extra, path, lambda: self._check_sidecar(extra, entry))

    def _check_sidecar(self, path: str, entry: ManifestEntry) -> None:
        """A sidecar has the rows of its data file, so it must have as many. Raises: CorruptFileError."""
        with self.file_io.open_input(path) as source:
            rows = int(open_row_file(source, path).index.row_starts[-1])
        if rows != entry.file.row_count:
            raise CorruptFileError(
                f"the row sidecar has {number_of(rows, 'row')}, its data file {entry.file.row_count}",
                path,
                "Delete it: the data file has the same rows.",
            )

    def _check_state(self, state: State, live: Sequence[ManifestEntry]) -> None:
        """Whether the files of a state fit its snapshot and each other."""
        rows = sum(entry.file.row_count for entry in live)
        if rows != state.snapshot.total_record_count:
            self.faults.add(
                FaultKind.MISMATCH,
                state.path,
                f"its files have {number_of(rows, 'row')}, it says {state.snapshot.total_record_count}",
                "Compare the table with its source; a compaction of all manifests does not change it.",
            )
        schema = self.records.schemas.get(state.branch, {}).get(state.snapshot.schema_id)
        if not state.newest or schema is None or not schema.primary_keys:
            return
        if not schema.model.clusters_keys:
            self.faults.attempt(state.path, state.name, lambda: self._check_levels(state, live, schema))

    def _check_levels(self, state: State, live: Sequence[ManifestEntry], schema: TableSchema) -> None:
        """Files of one level above 0 must not overlap: merging takes each such level for one sorted run."""
        key_of = key_reader([field.type for field in schema.key_fields])
        for group in by_bucket(live).values():
            levels: dict[int, list[ManifestEntry]] = {}
            for entry in group:
                levels.setdefault(entry.file.level, []).append(entry)
            for level, entries in levels.items():
                ranges = sorted((key_of(e.file.min_key), key_of(e.file.max_key), e.file.file_name) for e in entries)
                for (_, end, first), (start, _, second) in zip(ranges, ranges[1:], strict=False):
                    if level > 0 and start <= end:
                        path = self.paths.data_file(entries[0].partition, entries[0].bucket, entries[0].file)
                        self.faults.add(
                            FaultKind.MISMATCH,
                            f"{path.rsplit('/', 1)[0]}/{second}",
                            f"on level {level} of {state.name} it holds keys that {first} holds too",
                            "Compact the bucket in full.",
                        )

    # Index files

    def _check_index(self, state: State, live: Sequence[ManifestEntry], *, complete: bool) -> None:
        name = state.snapshot.index_manifest
        if name is None:
            return
        if name not in self._indexes:
            path = self.paths.manifest(name)
            self._indexes[name] = None
            if self._is_there(path, state):
                self._indexes[name] = self.faults.attempt(
                    path, state.name, lambda: self._manifests().read_index_manifest(name)
                )
        rows = {(entry.partition, entry.bucket, entry.file.file_name): entry.file.row_count for entry in live}
        for entry in self._indexes[name] or ():
            located = self.faults.attempt(entry.file_name, state.name, lambda e=entry: self.paths.index_file(e))  # type: ignore[misc]
            if located is not None:
                self._check_index_file(located, entry, state)
                if complete:
                    self._check_vectors(located, entry, rows, state)

    def _check_index_file(self, path: str, entry: IndexManifestEntry, state: State) -> None:
        if path in self._checked:
            return
        self._checked.add(path)
        if not self._is_there(path, state, entry.file_size):
            return
        self._index_files.add(path)
        if entry.index_type == DELETION_VECTORS_INDEX:
            self.faults.attempt(
                path, state.name, lambda: parse_index_file(self.file_io.read_bytes(path), entry.dv_ranges or (), path)
            )
        elif entry.index_type == HASH_INDEX:
            self.faults.attempt(path, state.name, lambda: self._check_hashes(path, entry))

    def _check_hashes(self, path: str, entry: IndexManifestEntry) -> None:
        content = self.file_io.read_bytes(path)
        different = len(set(memoryview(content[: len(content) // _HASH_BYTES * _HASH_BYTES]).cast("i")))
        if not len(content) == _HASH_BYTES * entry.row_count == _HASH_BYTES * different:
            detail = f"{len(content)} bytes, {different} different hashes, expected {entry.row_count}"
            self.faults.add(FaultKind.MISMATCH, path, detail, RESTORE)

    def _add_dead(self, vector: DeadVector, detail: str, state: State) -> None:
        manifests = Manifests(self.file_io, replace(self.paths, branch=state.branch))
        fate = fates_of(manifests, state.snapshot, [vector])[vector]
        if fate == Fate.SPENT:
            detail = f"{detail}: its rows were left out when that was rewritten"
            self.faults.note(FaultKind.MISMATCH, vector.index_path, detail, _TAKEN_AWAY)
        elif fate == Fate.UNTOLD:
            detail = f"{detail}: its rows may be back, but {EXPIRED}"
            fix = f"Compare the rows of the bucket with their source. {_TAKEN_AWAY}"
            self.faults.add(FaultKind.MISMATCH, vector.index_path, detail, fix)
        else:
            self.faults.add(FaultKind.MISMATCH, vector.index_path, detail, _ROLL_BACK)

    def _check_vectors(
        self, path: str, entry: IndexManifestEntry, rows: Mapping[tuple[bytes, int, str], int], state: State
    ) -> None:
        for part in entry.dv_ranges or ():
            count = rows.get((entry.partition, entry.bucket, part.data_file_name))
            if count is None:
                detail = f"a deletion vector of {part.data_file_name}, which is not a file of {state.name}"
                self._add_dead(DeadVector(entry.partition, entry.bucket, part.data_file_name, path), detail, state)
            elif part.cardinality is not None and part.cardinality > count:
                detail = f"{part.cardinality} deleted rows of {part.data_file_name}, which has {count}"
                self.faults.add(FaultKind.MISMATCH, path, detail, _ROLL_BACK)

    def _check_statistics(self, state: State) -> None:
        if state.snapshot.statistics is not None:
            self._is_there(self.paths.statistics_file(state.snapshot.statistics), state)

    # Presence

    def _is_there(self, path: str, state: State, size: int | None = None) -> bool:
        """Whether a file exists, and with its size if that is known. `size`: bytes."""
        folder, _, name = path.rpartition("/")
        if folder not in self._folders:
            listed = self.faults.attempt(folder, state.name, lambda: self.file_io.list_files(folder))
            self._folders[folder] = {status.name: status.size for status in listed or ()}
        actual_size = self._folders[folder].get(name)
        if actual_size is None:
            self.faults.add(FaultKind.MISSING, path, f"needed by {state.name}")
        elif size is not None and actual_size != size:
            self.faults.add(FaultKind.MISMATCH, path, f"it has {actual_size} bytes, {state.name} says {size}")
        return actual_size is not None


def in_order(states: Iterable[State]) -> list[State]:
    """States by how much depends on them: the newest snapshots first, then tags, older snapshots and changelogs."""
    return sorted(states, key=lambda s: (not s.newest, s.is_changelog, -s.snapshot.id, s.name))
