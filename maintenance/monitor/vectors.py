"""Do deletions stay? A deletion vector belongs to a live file, and never loses rows while its file lives.

If two jobs compact one table, a job that keeps vectors in memory may publish vectors of files that the other one has
replaced, and drop vectors that the other one has written. Then deleted rows are back. The state may look correct again
after the next commit, so each of the newest snapshots is compared with the one before it. Only an overwrite of the
bucket or a rollback repairs the damage.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice

from maintenance.format.metadata.manifest import FileKind, ManifestEntry
from maintenance.format.metadata.snapshot import CommitKind, Snapshot
from maintenance.metadata.dead_vectors import EXPIRED, DeadVector, Fate, fates_of
from maintenance.metadata.expired import reads_again
from maintenance.metadata.paths import bucket_text
from maintenance.monitor.judgement import Judgement
from maintenance.scan.vectors import dead_vectors, origin_of
from maintenance.table.table import Table

DELETION_VECTORS_INTACT = "deletion_vectors_intact"
_SHOWN = 5

Group = tuple[bytes, int]
Name = tuple[bytes, int, str]


@dataclass(frozen=True, slots=True)
class _Vectors:
    """Those of one snapshot: how many rows each deletes, None where the index does not say."""

    rows: Mapping[Name, int | None]

    @classmethod
    def of(cls, table: Table, snapshot: Snapshot) -> "_Vectors":
        by_bucket = table.manifests.deletion_vectors(snapshot)
        return cls(
            {
                (*group, name): file.range.cardinality
                for group, files in by_bucket.items()
                for name, file in files.items()
            }
        )

    def fewer_than(self, before: "_Vectors") -> Iterator[Name]:
        """The files whose vectors deleted more rows before."""
        for name, rows in before.rows.items():
            now = self.rows.get(name, 0)
            if now is not None and (rows or 1) > now:
                yield name


@dataclass(frozen=True, slots=True)
class Damage:
    """What a snapshot did to deletion vectors of one bucket.

    Attributes:
        dead: they name dead files; else they lost rows.
        is_certain: rows are back; else the snapshots have expired that would tell whether they are.
    """

    snapshot: Snapshot
    group: Group
    files: tuple[str, ...]
    dead: bool
    is_certain: bool = True

    @property
    def description(self) -> str:
        by = f"snapshot {self.snapshot.id} by '{self.snapshot.commit_user}'"
        and_others = f" and {len(self.files) - 1} more" if len(self.files) > 1 else ""
        if self.dead:
            return f"{by} has a deletion vector of {self.files[0]}{and_others}, which is no longer part of the table"
        return f"{by} drops deletions of rows in {self.files[0]}{and_others}"

    @property
    def effect(self) -> str:
        """What that means for rows of the bucket."""
        return "deleted rows are back" if self.is_certain else f"deleted rows may be back: {EXPIRED}"


@reads_again
def deletion_vectors_intact(table: Table, *, limit: int = 100) -> Judgement:
    """No deleted rows have come back. `limit`: snapshots that are compared with the one before."""
    snapshot = table.latest_snapshot()
    if snapshot is None or not table.model.has_deletion_vectors:
        return Judgement(DELETION_VECTORS_INTACT, True, "the table has no deletion vectors")
    snapshots = list(islice(table.snapshots.newest_first(), limit + 1))[::-1]
    damages = [*_inherited(table, snapshot, snapshots[0].id), *_History(table).damages(snapshots)]
    details = {"snapshots": len(snapshots), "damaged buckets": len({damage.group for damage in damages})}
    if not damages:
        return Judgement(DELETION_VECTORS_INTACT, True, "every deletion vector belongs to a live file", details=details)
    first = damages[0]
    rows = [{"bucket": _place(table, damage.group), "what": damage.description} for damage in damages[:_SHOWN]]
    return Judgement(
        DELETION_VECTORS_INTACT,
        False,
        f"{first.description}: in {_place(table, first.group)} {first.effect}",
        f"Roll back to a state before snapshot {first.snapshot.id}, or overwrite the bucket with rows that are right."
        " Then let one job alone compact the table: set 'write-only' = 'true', and start its writers again.",
        {**details, "commit user": first.snapshot.commit_user, "damages": rows},
    )


def _inherited(table: Table, snapshot: Snapshot, oldest: int) -> list[Damage]:
    """Dead vectors of the latest snapshot that are older than the history looked at."""
    if snapshot.index_manifest is None:
        return []
    dead = dead_vectors(table.manifests, snapshot, table.manifests.live_entries(snapshot))
    if not dead:
        return []
    origin = origin_of(table.manifests, snapshot, dead)
    if origin.exact and origin.snapshot.id > oldest:
        return []
    fates = fates_of(table.manifests, snapshot, dead)
    unspent = [vector for vector in dead if fates[vector] != Fate.SPENT]
    if not unspent:
        return []
    files = tuple(vector.file_name for vector in unspent)
    is_certain = Fate.BACK in fates.values()
    return [Damage(origin.snapshot, unspent[0].group, files, dead=True, is_certain=is_certain)]


@dataclass(slots=True)
class _History:
    """Walks over snapshots.

    Attributes:
        gone: files that were removed since the first. spent: of those, which vectors deleted no row that is left.
        open: damages not ended yet.
    """

    table: Table
    gone: set[Name] = field(default_factory=set)
    spent: set[Name] = field(default_factory=set)
    open: dict[Group, Damage] = field(default_factory=dict)

    def damages(self, snapshots: Sequence[Snapshot]) -> list[Damage]:
        """What is wrong after the last of them. `snapshots`: neighbours, oldest first."""
        before, vectors = snapshots[0], _Vectors.of(self.table, snapshots[0])
        for snapshot in snapshots[1:]:
            delta = self.table.manifests.delta_entries(snapshot)
            removed = set(_names(delta, FileKind.DELETE)) - set(_names(delta, FileKind.ADD))
            self.gone = (self.gone | removed) - set(_names(delta, FileKind.ADD))
            same = snapshot.index_manifest == before.index_manifest
            now = vectors if same else _Vectors.of(self.table, snapshot)
            self._compare(snapshot, vectors, now)
            if snapshot.commit_kind == CommitKind.OVERWRITE:
                self._end(removed, now)
            before, vectors = snapshot, now
        return sorted(self.open.values(), key=lambda damage: damage.snapshot.id)

    def _compare(self, snapshot: Snapshot, before: _Vectors, now: _Vectors) -> None:
        dead = [DeadVector(*name, "") for name in now.rows if name in self.gone and name not in self.spent]
        fates = fates_of(self.table.manifests, snapshot, dead) if dead else {}
        self.spent |= {vector.name for vector, fate in fates.items() if fate == Fate.SPENT}
        self._note(snapshot, (vector.name for vector, fate in fates.items() if fate == Fate.BACK), dead=True)
        # An overwrite may bring an older state back on purpose.
        if now is not before and snapshot.commit_kind != CommitKind.OVERWRITE:
            self._note(snapshot, (name for name in now.fewer_than(before) if name not in self.gone), dead=False)

    def _note(self, snapshot: Snapshot, names: Iterable[Name], *, dead: bool) -> None:
        groups: dict[Group, list[str]] = {}
        for partition, bucket, file_name in names:
            groups.setdefault((partition, bucket), []).append(file_name)
        for group, files in groups.items():
            self.open.setdefault(group, Damage(snapshot, group, tuple(files), dead))

    def _end(self, removed: Iterable[Name], now: _Vectors) -> None:
        """Buckets that an overwrite has replaced whole have no vectors left."""
        groups = {(partition, bucket) for partition, bucket, _ in now.rows}
        for partition, bucket, _ in removed:
            if (partition, bucket) not in groups:
                self.open.pop((partition, bucket), None)


def _names(entries: Iterable[ManifestEntry], kind: FileKind) -> Iterator[Name]:
    return ((entry.partition, entry.bucket, entry.file.file_name) for entry in entries if entry.kind == kind)


def _place(table: Table, group: Group) -> str:
    return bucket_text(table.paths.partition(group[0]), group[1])
