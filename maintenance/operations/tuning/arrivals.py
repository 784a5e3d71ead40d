"""What came into a table, as its snapshots say, and what its own compactions have made of it.

Keys become places: the rank of a key among all smallest and largest keys of files. So keys of every type compare as
numbers, and files that are only simulated get keys in between.
"""

import struct
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta

from maintenance.errors import UnsupportedError
from maintenance.format.metadata.data_file import DataFileMeta
from maintenance.format.metadata.manifest import FileKind, ManifestEntry
from maintenance.format.metadata.snapshot import CommitKind, Snapshot
from maintenance.format.rows.key import key_reader
from maintenance.metadata.expired import again_if_expired
from maintenance.operations.compaction.plan import CompactionScope, Group, Unit, plan_group, rewritten_files
from maintenance.operations.ingestion.inline import compacts_inline
from maintenance.options import table as table_options
from maintenance.scan.split import by_bucket
from maintenance.table.table import Table
from maintenance.threads import map_in_threads

_PLACE = struct.Struct(">d")
# Snapshots that are read at the same time.
_AT_ONCE = 8


def key_at(place: float) -> bytes:
    """The key of a place."""
    return _PLACE.pack(place)


def place_of(key: bytes) -> tuple[float]:
    """The place of a key, which compares as the key."""
    return _PLACE.unpack(key)


def local_millis(millis: int) -> int:
    """A moment on the local clock as if it were UTC, as files hold their creation time."""
    moment = datetime.fromtimestamp(millis / 1000).astimezone()
    return millis + (moment.utcoffset() or timedelta()) // timedelta(milliseconds=1)


@dataclass(frozen=True, slots=True)
class Moment:
    """A change of the table.

    Attributes:
        millis: since 1970 UTC. identifier: of the commit.
        added, gone: files that came and went by rows; of a compaction nothing.
        emptied: buckets in which nothing stayed of what was there.
        compacts: a compaction that was no writer's own ran here; `full`: with all runs of each bucket.
    """

    millis: int
    identifier: int = 0
    added: tuple[ManifestEntry, ...] = ()
    gone: tuple[ManifestEntry, ...] = ()
    emptied: frozenset[Group] = frozenset()
    compacts: bool = False
    full: bool = False


@dataclass(frozen=True, slots=True)
class RowsThere:
    """Rows of a whole bucket. `merged`: of those on the highest level, which have a key each."""

    rows: int
    merged: int

    @classmethod
    def of(cls, files: Collection[DataFileMeta]) -> "RowsThere":
        """Those of its files."""
        top = max((file.level for file in files), default=0)
        merged = sum(file.row_count for file in files if file.level == top) if top else 0
        return cls(sum(file.row_count for file in files), merged)


@dataclass(frozen=True, slots=True)
class Merged:
    """What a compaction of one bucket made. `there`: of the bucket before, whatever it took."""

    before: tuple[DataFileMeta, ...]
    after: tuple[DataFileMeta, ...]
    there: RowsThere
    is_writers: bool = False
    seconds: float = 0.0


@dataclass(frozen=True, slots=True)
class Past:
    """What came, oldest first.

    Attributes:
        start: what was there before.
        end: what is there now; None: it did not happen.
        merged: by compactions.
        first_id, last_id: of the snapshots; 0: of none.
    """

    start: tuple[ManifestEntry, ...]
    moments: tuple[Moment, ...]
    end: tuple[ManifestEntry, ...] | None = None
    merged: tuple[Merged, ...] = ()
    first_id: int = 0
    last_id: int = 0

    @property
    def arrived(self) -> Iterator[ManifestEntry]:
        """All files that came."""
        return (entry for moment in self.moments for entry in moment.added)


def past_of(table: Table, snapshots: int) -> Past:
    """The last snapshots of a table. Raises: UnsupportedError: its compactions need more than metadata."""
    _check(table)
    return again_if_expired(lambda: _read(table, snapshots))


def _read(table: Table, snapshots: int) -> Past:
    found = _snapshots(table, snapshots)
    if not found:
        return Past((), ())
    first = found[0]
    manifests = table.manifests
    start = manifests.entries_before(first)
    deltas = map_in_threads(manifests.delta_entries, found, _AT_ONCE)
    if any(e.bucket == table_options.POSTPONE_BUCKET for e in [*start, *(e for delta in deltas for e in delta)]):
        raise _unsupported(table, "rows wait for their bucket in it")
    if table.is_primary_key_table:
        placed = _Places(table, [start, *deltas])
        start, deltas = placed.of(start), [placed.of(delta) for delta in deltas]
    reader = _Reader(table, start)
    moments = tuple(reader.moments(found, deltas))
    end = tuple(entry for files in reader.live.values() for entry in files.values())
    return Past(tuple(start), moments, end, tuple(reader.merged), first.id, found[-1].id)


def _check(table: Table) -> None:
    if table.model.clusters_keys:
        raise _unsupported(table, "its files are clustered by other columns than the key")
    if table.model.evolves:
        raise _unsupported(table, "its files have some columns of rows each")
    if table.model.is_postponed:
        raise _unsupported(table, "rows wait for their bucket in it")


def _unsupported(table: Table, why: str) -> UnsupportedError:
    fix = "Try its settings on a branch: compact that one, and compare."
    return UnsupportedError(f"other settings of this table cannot be simulated: {why}", table.identifier, fix)


def _snapshots(table: Table, count: int) -> list[Snapshot]:
    latest = table.snapshots.latest_id()
    if latest is None:
        return []
    ids = range(max(table.snapshots.earliest_id() or latest, latest - count + 1), latest + 1)
    found: list[Snapshot] = []
    for snapshot in table.snapshots.find_many(ids).values():
        # Behind a gap only: what went lost in it is not known.
        if found and snapshot.id != found[-1].id + 1:
            found.clear()
        found.append(snapshot)
    return found


class _Places:
    """The keys of files as places."""

    def __init__(self, table: Table, parts: Sequence[Sequence[ManifestEntry]]) -> None:
        read = key_reader([field.type for field in table.schema.key_fields])
        keys = {key for part in parts for entry in part for key in (entry.file.min_key, entry.file.max_key)}
        values = {key: read(key) for key in keys}
        ranks = {value: place for place, value in enumerate(sorted(set(values.values())))}
        self._keys = {key: key_at(float(ranks[value])) for key, value in values.items()}

    def of(self, entries: Sequence[ManifestEntry]) -> list[ManifestEntry]:
        return [
            replace(e, file=replace(e.file, min_key=self._keys[e.file.min_key], max_key=self._keys[e.file.max_key]))
            for e in entries
        ]


@dataclass
class _Reader:
    """Follows the files that really were there, to tell what a compaction took and by which rules."""

    table: Table
    start: Sequence[ManifestEntry]
    merged: list[Merged] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.inline = compacts_inline(self.table)
        self.live: dict[Group, dict[str, ManifestEntry]] = {}
        for entry in self.start:
            self.live.setdefault((entry.partition, entry.bucket), {})[entry.file.file_name] = entry

    def moments(self, snapshots: Sequence[Snapshot], deltas: Sequence[Sequence[ManifestEntry]]) -> Iterator[Moment]:
        writer: Snapshot | None = None
        for snapshot, delta in zip(snapshots, deltas, strict=True):
            if snapshot.commit_kind == CommitKind.COMPACT:
                is_writers = self.inline and writer is not None and _same(writer, snapshot)
                millis = snapshot.time_millis - writer.time_millis if is_writers and writer is not None else 0
                compactions = self._compactions(delta, is_writers, millis / 1000)
                if not is_writers and compactions:
                    yield Moment(snapshot.time_millis, compacts=True, full=self._is_full(compactions, snapshot))
                self.merged += compactions.values()
            else:
                writer = snapshot
                gone = tuple(entry for entry in delta if entry.kind == FileKind.DELETE)
                added = tuple(entry for entry in delta if entry.kind == FileKind.ADD)
                yield Moment(snapshot.time_millis, snapshot.commit_identifier, added, gone, self._emptied(gone))
            self._follow(delta)

    def _compactions(self, delta: Sequence[ManifestEntry], is_writers: bool, seconds: float) -> dict[Group, Merged]:
        """Of each bucket what was rewritten; a file that got another level alone is not."""
        total = max(1, sum(entry.file.file_size for entry in delta))
        found = {}
        for group, entries in by_bucket(delta).items():
            names = {entry.file.file_name for entry in entries if entry.kind == FileKind.ADD}
            before = tuple(entry.file for entry in entries if entry.kind == FileKind.DELETE)
            kept = names & {file.file_name for file in before}
            after = tuple(e.file for e in entries if e.kind == FileKind.ADD and e.file.file_name not in kept)
            there = RowsThere.of([entry.file for entry in self.live.get(group, {}).values()])
            share = seconds * sum(entry.file.file_size for entry in entries) / total
            rewritten = tuple(file for file in before if file.file_name not in kept)
            found[group] = Merged(rewritten, after, there, is_writers, share)
        return found

    def _emptied(self, gone: Sequence[ManifestEntry]) -> frozenset[Group]:
        left = {group: set(self.live.get(group, {})) for group in by_bucket(gone)}
        for entry in gone:
            left[entry.partition, entry.bucket].discard(entry.file.file_name)
        return frozenset(group for group, names in left.items() if not names)

    def _is_full(self, compactions: Mapping[Group, Merged], snapshot: Snapshot) -> bool:
        """Whether the buckets were merged whole where the rules of the table pick less, or nothing."""
        for group, merged in compactions.items():
            members = list(self.live.get(group, {}).values())
            if not members or not merged.before:
                continue
            took = {file.file_name for file in merged.before}
            by_rules, whole = (self._takes(group, members, full, snapshot) == took for full in (False, True))
            if by_rules != whole:
                return whole
        return False

    def _takes(self, group: Group, members: Sequence[ManifestEntry], full: bool, snapshot: Snapshot) -> set[str]:
        scope, key_of = CompactionScope(full=full), place_of if self.table.is_primary_key_table else None
        units: Sequence[Unit] = plan_group(
            self.table, group, members, {}, scope=scope, now_millis=local_millis(snapshot.time_millis), key_of=key_of
        )
        return {file.file_name for unit in units for file in rewritten_files(unit)}

    def _follow(self, delta: Sequence[ManifestEntry]) -> None:
        for entry in delta:
            files = self.live.setdefault((entry.partition, entry.bucket), {})
            if entry.kind == FileKind.DELETE:
                files.pop(entry.file.file_name, None)
        for entry in delta:
            if entry.kind == FileKind.ADD:
                self.live[entry.partition, entry.bucket][entry.file.file_name] = entry


def _same(one: Snapshot, other: Snapshot) -> bool:
    return (one.commit_user, one.commit_identifier) == (other.commit_user, other.commit_identifier)
