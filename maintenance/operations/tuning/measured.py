"""What some snapshots of a table really cost its writers and its readers, so that two spans of them can be compared.

Everything is a ratio of what came in or of what there was, so that a busy week compares with a quiet one.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from maintenance.format.metadata.data_file import DataFileMeta
from maintenance.format.metadata.manifest import FileKind, ManifestEntry
from maintenance.format.metadata.snapshot import CommitKind, Snapshot
from maintenance.metadata.expired import again_if_expired
from maintenance.operations.compaction.plan import Group
from maintenance.operations.retention.held_bytes import LIVE, holdings
from maintenance.operations.tuning.simulation import runs_read
from maintenance.scan.split import by_bucket
from maintenance.table.table import Table

FEWEST_COMMITS = 20
"""Fewer commits say nothing."""
MOST_SNAPSHOTS = 1000
_WORSE = 1.1
# By the clock, on machines that do other things, too.
_MUCH_SLOWER, _LEAST_SECONDS = 1.5, 10.0
_UNLIKE = 2.0
_GIB = 1 << 30


@dataclass(frozen=True, slots=True)
class Measured:
    """What a span of snapshots cost.

    Attributes:
        first_id, last_id: of the span. commits: by which rows came, with `rows` and `bytes` of files.
        write_amplification: bytes written for each byte that came, itself included.
        runs: sorted runs of a bucket that a read merges, the mean behind each commit; of an append table its files.
        files_per_gib: that a read opens for each GiB, the mean behind each commit.
        seconds: of compactions, as writers and the history have them.
        retained: bytes that old snapshots hold, for each live one, at the end.
    """

    first_id: int
    last_id: int
    commits: int
    rows: int
    bytes: int
    write_amplification: float
    runs: float
    files_per_gib: float
    seconds: float
    retained: float

    @property
    def seconds_per_gib(self) -> float:
        return self.seconds * _GIB / max(1, self.bytes)

    @property
    def is_enough(self) -> bool:
        """Whether it says anything."""
        return self.commits >= FEWEST_COMMITS

    @property
    def text(self) -> str:
        """In a few words."""
        return (
            f"written {self.write_amplification:.2f} times, {self.runs:.2f} runs to read, "
            f"{self.files_per_gib:,.0f} files for a GiB, {self.seconds_per_gib:,.0f} s of compactions for a GiB"
        )

    def is_like(self, other: "Measured") -> bool:
        """Whether commits were about as large, so that the two compare."""
        one, two = (each.bytes / max(1, each.commits) for each in (self, other))
        return max(one, two) <= _UNLIKE * min(one, two)

    def worse_than(self, before: "Measured") -> list[str]:
        """What is measured worse than before, in words."""
        pairs = (
            ("bytes written for each byte that came", before.write_amplification, self.write_amplification),
            ("sorted runs that a read merges", before.runs, self.runs),
            ("files that a read opens for a GiB", before.files_per_gib, self.files_per_gib),
            ("bytes that old snapshots hold for each live one", before.retained, self.retained),
        )
        found = [f"{what}: {new:,.2f}, not {old:,.2f}" for what, old, new in pairs if new > old * _WORSE + 0.05]
        long = min(before.seconds, self.seconds) >= _LEAST_SECONDS
        if long and self.seconds_per_gib > before.seconds_per_gib * _MUCH_SLOWER:
            slower = f"{self.seconds_per_gib:,.0f}, not {before.seconds_per_gib:,.0f}"
            found.append(f"seconds of compactions for a GiB: {slower}")
        return found


def measure(
    table: Table, past: Sequence[Mapping[str, Any]], first_id: int = 1, since_millis: int = 0
) -> Measured | None:
    """What the newest snapshots cost that are still there; None where there are none.

    Args: `past`: rows of the history about the table; `first_id`, `since_millis`: no snapshots before those.
    """
    return again_if_expired(lambda: _measured(table, past, first_id, since_millis))


def _measured(table: Table, past: Sequence[Mapping[str, Any]], first_id: int, since_millis: int) -> Measured | None:
    found = _span(table, first_id, since_millis)
    if not found:
        return None
    state = _State(table)
    state.follow(table.manifests.entries_before(found[0]))
    commits = rows = arrived = rewritten = looked = 0
    all_runs = all_files = 0.0
    seconds = _worked(found, past)
    for before, snapshot, behind in zip([None, *found], found, [*found[1:], None], strict=False):
        delta = table.manifests.delta_entries(snapshot)
        state.follow(delta)
        added = [entry.file for entry in delta if entry.kind == FileKind.ADD]
        if snapshot.commit_kind == CommitKind.COMPACT:
            moved = {entry.file.file_name for entry in delta if entry.kind == FileKind.DELETE}
            rewritten += sum(file.file_size for file in added if file.file_name not in moved)
            if before is not None and before.commit_user == snapshot.commit_user:
                seconds += max(0, snapshot.time_millis - before.time_millis) / 1000
        else:
            commits += 1
            rows += sum(file.row_count for file in added)
            arrived += sum(file.file_size for file in added)
        # A commit is looked at behind its own compaction.
        if behind is None or behind.commit_kind != CommitKind.COMPACT:
            looked += 1
            all_runs += state.runs_of_bucket
            all_files += state.files_per_gib
    kinds = {each.kind: each.bytes for each in holdings(table).kinds}
    live = kinds.get(LIVE, 0)
    return Measured(
        found[0].id,
        found[-1].id,
        commits,
        rows,
        arrived,
        round((arrived + rewritten) / max(1, arrived), 3),
        round(all_runs / looked, 3),
        round(all_files / looked, 1),
        round(seconds, 1),
        round((sum(kinds.values()) - live) / max(1, live), 3),
    )


@dataclass
class _State:
    """The files that were there at a moment, and what reads find."""

    table: Table
    files: int = 0
    bytes: int = 0
    runs: int = 0

    def __post_init__(self) -> None:
        self._live: dict[Group, dict[str, DataFileMeta]] = {}

    @property
    def runs_of_bucket(self) -> float:
        return self.runs / max(1, len(self._live))

    @property
    def files_per_gib(self) -> float:
        return self.files * _GIB / max(1, self.bytes)

    def follow(self, delta: list[ManifestEntry]) -> None:
        """Put changes into it."""
        for group, entries in by_bucket(delta).items():
            files = self._live.pop(group, {})
            self._count(files, -1)
            for entry in entries:
                if entry.kind == FileKind.DELETE:
                    files.pop(entry.file.file_name, None)
            files |= {entry.file.file_name: entry.file for entry in entries if entry.kind == FileKind.ADD}
            self._count(files, 1)
            if files:
                self._live[group] = files

    def _count(self, files: Mapping[str, DataFileMeta], sign: int) -> None:
        self.files += sign * len(files)
        self.bytes += sign * sum(file.file_size for file in files.values())
        self.runs += sign * runs_read(self.table, list(files.values()))


def _span(table: Table, first_id: int, since_millis: int) -> list[Snapshot]:
    latest, earliest = table.snapshots.latest_id(), table.snapshots.earliest_id()
    if latest is None or earliest is None:
        return []
    ids = range(max(earliest, first_id, latest - MOST_SNAPSHOTS + 1), latest + 1)
    found: list[Snapshot] = []
    for snapshot in table.snapshots.find_many(ids).values():
        if found and snapshot.id != found[-1].id + 1:
            found.clear()
        if snapshot.time_millis >= since_millis:
            found.append(snapshot)
    return found


def _worked(found: list[Snapshot], past: Sequence[Mapping[str, Any]]) -> float:
    """Seconds of compactions that the history has of the span."""
    first, last = found[0].time_millis / 1000, found[-1].time_millis / 1000
    rows = [row for row in past if row["operation"].startswith("compact") and row["seconds"]]
    return float(sum(row["seconds"] for row in rows if first <= row["finished_at"].timestamp() <= last + 60))
