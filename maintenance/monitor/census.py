"""Who writes a table: read from the delta of each snapshot, and from nothing else.

A *writer* is a commit user: Flink keeps one for the whole job, batch jobs use a new one each time. Commits of this
project's own operations say in their properties which operation made them, and count as one writer each.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from maintenance.commit.identity import APPLICATION_PROPERTY, OPERATION_PROPERTY, RUN_PROPERTY, is_ours
from maintenance.format.metadata.manifest import FileKind, ManifestEntry
from maintenance.format.metadata.snapshot import CommitKind, Snapshot
from maintenance.table.table import Table

Place = tuple[str, int]

_ANYWHERE: Place = ("", 0)


@dataclass(frozen=True, slots=True)
class Commit:
    """One snapshot, seen as the work of its writer.

    Attributes:
        writer: the commit user, or the operation of this project.
        places: (partition text, bucket) that got or lost files.
        ours: whether this engine made it. schema_id: the table's newest schema then.
        run: of this project, that made it; None where the snapshot does not say.
        application: of Spark, that wrote its rows; None as before.
    """

    snapshot_id: int
    writer: str
    identifier: int
    kind: CommitKind
    time_millis: int
    places: frozenset[Place]
    added_files: int
    deleted_files: int
    ours: bool = False
    schema_id: int = 0
    run: str | None = None
    application: str | None = None


@dataclass(frozen=True, slots=True)
class Census:
    """The commits looked at, oldest first. `missing`: ids between them that are gone."""

    commits: tuple[Commit, ...]
    missing: tuple[int, ...] = ()

    @property
    def writers(self) -> "Mapping[str, Writer]":
        by_writer: dict[str, list[Commit]] = {}
        for commit in self.commits:
            by_writer.setdefault(commit.writer, []).append(commit)
        return {name: Writer(name, tuple(commits)) for name, commits in by_writer.items()}


@dataclass(frozen=True, slots=True)
class Writer:
    """The commits of one writer, oldest first."""

    name: str
    commits: tuple[Commit, ...]

    def of_kind(self, *kinds: CommitKind) -> tuple[Commit, ...]:
        return tuple(commit for commit in self.commits if commit.kind in kinds)

    @property
    def compacts_inline(self) -> bool:
        """Whether one identifier of it made an APPEND and a COMPACT: a writer that compacts what it writes."""
        appended = {commit.identifier for commit in self.of_kind(CommitKind.APPEND)}
        return any(commit.identifier in appended for commit in self.of_kind(CommitKind.COMPACT))


def take_census(table: Table, *, after: int | None = None, limit: int = 200) -> Census:
    """The newest snapshots' writers.

    Args: `after`: only snapshots later than this one; `limit`: only this many, the newest.
    """
    ids = [i for i in table.snapshots.list_ids() if after is None or i > after][-limit:]
    snapshots = [snapshot for i in ids if (snapshot := table.snapshots.find(i)) is not None]
    present = {snapshot.id for snapshot in snapshots}
    missing = tuple(i for i in range(ids[0], ids[-1]) if i not in present) if ids else ()
    return Census(tuple(_commit(table, snapshot) for snapshot in snapshots), missing)


def _commit(table: Table, snapshot: Snapshot) -> Commit:
    entries = table.manifests.delta_entries(snapshot)
    operation = (snapshot.properties or {}).get(OPERATION_PROPERTY)
    return Commit(
        snapshot.id,
        f"operation {operation}" if operation else snapshot.commit_user,
        snapshot.commit_identifier,
        snapshot.commit_kind,
        snapshot.time_millis,
        _places(table, entries),
        sum(entry.kind == FileKind.ADD for entry in entries),
        sum(entry.kind == FileKind.DELETE for entry in entries),
        is_ours(snapshot),
        snapshot.schema_id,
        (snapshot.properties or {}).get(RUN_PROPERTY),
        (snapshot.properties or {}).get(APPLICATION_PROPERTY),
    )


def _places(table: Table, entries: Iterable[ManifestEntry]) -> frozenset[Place]:
    texts: dict[bytes, str] = {}
    for entry in entries:
        if entry.partition not in texts:
            texts[entry.partition] = str(table.paths.partition(entry.partition))
    return frozenset((texts[entry.partition], entry.bucket) for entry in entries)


@dataclass(frozen=True, slots=True)
class Interleaving:
    """Two writers at one task alternately: `first` was at it, then `second`, then `first` again.

    `commits`: the three, in order; `places`: (partition, bucket) that both worked on.
    """

    first: str
    second: str
    commits: tuple[Commit, Commit, Commit]
    places: frozenset[Place] = field(default_factory=frozenset)


def find_interleaving(commits: Sequence[Commit], *, same_place: bool) -> Interleaving | None:
    """The newest case of two writers who alternate; writers that follow one another are none.

    `same_place`: only turns in one bucket count.
    """
    newest: Interleaving | None = None
    # Of each place: the last commit of each writer, and who came after it first.
    last: dict[Place, dict[str, Commit]] = {}
    since: dict[Place, dict[str, Commit]] = {}
    for commit in commits:
        for place in commit.places if same_place else (_ANYWHERE,):
            here, after = last.setdefault(place, {}), since.setdefault(place, {})
            between = after.pop(commit.writer, None)
            if between is not None:
                shared = commit.places & between.places
                newest = Interleaving(commit.writer, between.writer, (here[commit.writer], between, commit), shared)
            for writer in here:
                if writer != commit.writer:
                    after.setdefault(writer, commit)
            here[commit.writer] = commit
    return newest
