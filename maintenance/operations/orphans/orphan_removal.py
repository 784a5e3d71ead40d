"""A removal of orphan files, from the listing to the report.

Old files are listed first, then what is live is marked among them. Right before each batch is deleted, snapshots and
tags that came meanwhile are read, too; if one has vanished, all are looked at again. Source: metadata section 10.4.
"""

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from itertools import pairwise

import pyarrow as pa
import pyarrow.compute as pc

from maintenance.amounts import number_of, size_text, time_text
from maintenance.fs.file_io import FileIO
from maintenance.metadata.branch_root import MAIN_BRANCH
from maintenance.metadata.branches import Branches
from maintenance.metadata.external_folders import own_folders
from maintenance.operations.bin.run import BinRun, Going
from maintenance.operations.operation import OperationReport
from maintenance.operations.orphans.candidates import Candidates, list_candidates
from maintenance.operations.orphans.half_branches import end_half_branches, still_half
from maintenance.operations.orphans.live import LiveFiles
from maintenance.operations.progress import Counted
from maintenance.options.own import EXTERNAL_PATHS_EXCLUSIVE
from maintenance.spark.sharing import SparkSharing, SparkSource
from maintenance.spark.tasks import all_done, run_tasks
from maintenance.table.table import Table

_BATCH = 10_000
_CHUNK = 1000
# More are worth Spark's tasks.
_MANY_CHUNKS = 4


@dataclass(frozen=True, slots=True)
class Orphan:
    """A file that nothing names. `changed`: when it was last written to; `kind`: such as ``data file``."""

    path: str
    bytes: int
    changed: datetime
    kind: str

    @property
    def reason(self) -> str:
        """Why it may go."""
        return f"{self.kind} that no snapshot, tag, changelog or branch names, unchanged since {self.changed:%FT%TZ}"


@dataclass(frozen=True, slots=True)
class RemoveOrphanFilesReport(OperationReport):
    """What a removal of orphan files did, or would do.

    Attributes:
        older_than: files changed at that time or later were left alone.
        scanned_files: files in the folders that were listed, of any age.
        orphans: those found, oldest first, at most `max_deletes` of them.
        deleted_files, deleted_bytes: of these, what was deleted.
        remaining: orphans that were found and are still there, for lack of time or because of `max_deletes`.
        bin_run: the run of the bin that has the files; None = they were destroyed, or there were none.
        kept: files that a commit took into use between the listing and the deletion.
        notes: gaps in the snapshot ids; places that were not looked at; how often it was started over.
        spark_tasks: how many tasks of Spark shared the work; 0: this process did it.
    """

    table: str
    older_than: datetime
    scanned_files: int
    orphans: tuple[Orphan, ...]
    deleted_files: int = 0
    deleted_bytes: int = 0
    remaining: int = 0
    bin_run: str | None = None
    kept: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    seconds: float = 0.0
    spark_tasks: int = 0

    @property
    def orphan_bytes(self) -> int:
        """Bytes of the orphans found."""
        return sum(orphan.bytes for orphan in self.orphans)


@dataclass(slots=True)
class OrphanRemoval:
    """One removal, from the listing to the report. Arguments: as of `remove_orphan_files`."""

    spark: SparkSource
    table: Table
    older_than: datetime
    parallelism: int | None
    progress: Callable[[str], None]
    never_committed: bool = False
    into: BinRun | None = None
    scanned: int = 0
    scanned_bytes: int = 0
    deleted: int = 0
    deleted_bytes: int = 0
    kept: list[str] = field(default_factory=list)
    started: float = field(default_factory=time.monotonic)
    _live: LiveFiles | None = None
    _sharing: SparkSharing = field(init=False)
    _notes_of_folders: tuple[str, ...] = ()
    _may_have_half_branches: bool = True

    def __post_init__(self) -> None:
        self._sharing = SparkSharing(self.spark, self.table.location, self.progress)

    def find(self) -> pa.Table:
        """The orphans, oldest first: `path`, `name`, `bytes`, `changed`, `kind`."""
        main = self.table.on_branch(MAIN_BRANCH)
        exclusive = EXTERNAL_PATHS_EXCLUSIVE.of(main.options)
        branches = Branches(main.file_io, main.paths)
        folders = branches.folders()
        # Those that are old enough now were there at this listing.
        self._may_have_half_branches = bool(branches.unfinished(self._millis, folders))
        outside = own_folders(branches, main.schema, branches.names(folders), exclusive=exclusive)
        self._notes_of_folders = outside.notes
        listing = list_candidates(
            self.table.file_io,
            main.paths,
            self._millis,
            branch_folders=folders,
            external=outside.roots,
            sharing=self._sharing,
            parallelism=self.parallelism,
        )
        self.scanned, self.scanned_bytes = listing.files, listing.bytes
        self.progress(
            f"{number_of(self.scanned, 'file')}, {len(listing.old)} of them older than {time_text(self.older_than)}"
        )
        return self.look_for(listing.old)

    @property
    def _millis(self) -> int:
        return int(self.older_than.timestamp() * 1000)

    def look_for(self, frame: pa.Table) -> pa.Table:
        """Those of some files that nothing names, as of `find`."""
        candidates = Candidates.of(frame)
        manifests = self.table.on_branch(MAIN_BRANCH).manifests
        self._live = LiveFiles(manifests, candidates, self._sharing, self.parallelism, self.never_committed)
        self._live.look()
        orphans = _with_paths(candidates.orphans)
        self.progress(f"{number_of(len(orphans), 'orphan')}, {size_text(_sum(orphans))}")
        return orphans

    def delete(self, orphans: pa.Table, time_limit: timedelta | None = None) -> None:
        """Delete some of the orphans found, in batches, as long as there is time."""
        assert self._live is not None, "find comes first"
        for start in range(0, len(orphans), _BATCH):
            if time_limit is not None and time.monotonic() - self.started > time_limit.total_seconds():
                self.progress(f"the time is up: {len(orphans) - start} orphans remain")
                return
            batch = orphans.slice(start, _BATCH)
            self._live.look()
            is_orphan = self._live.candidates.are_orphans(batch.column("name"))
            is_orphan = pc.and_(is_orphan, still_half(batch, self.table, self._millis))
            still = batch.filter(is_orphan)
            self.kept += batch.filter(pc.invert(is_orphan)).column("path").to_pylist()
            self._delete(still.column("path").to_pylist(), still.column("bytes").to_pylist())
            self.deleted += len(still)
            self.deleted_bytes += _sum(still)
            so_far = f"{self.deleted} of {number_of(len(orphans), 'orphan')} deleted"
            self.progress(Counted(so_far, self.deleted, len(orphans)))
        if self._may_have_half_branches:
            end_half_branches(self.table, self._millis)

    def _delete(self, paths: Sequence[str], sizes: Sequence[int]) -> None:
        if self.into is not None:
            self.into.take([Going(path, size) for path, size in zip(paths, sizes, strict=True)])
            return
        file_io = self.table.file_io
        chunks = [_Chunk(file_io, tuple(paths[at : at + _CHUNK])) for at in range(0, len(paths), _CHUNK)]
        enough = self.parallelism is not None or len(chunks) > _MANY_CHUNKS
        where = self._sharing.session_for(len(chunks), f"{number_of(len(paths), 'orphan')}", enough=enough)
        all_done(run_tasks(where, _delete_chunk, chunks), self.table.location)

    def report(self, found: pa.Table, chosen: pa.Table) -> RemoveOrphanFilesReport:
        """What was found, chosen, and done so far."""
        if self.into is not None:
            self.into.close()
        return RemoveOrphanFilesReport(
            table=self.table.identifier,
            older_than=self.older_than,
            scanned_files=self.scanned,
            orphans=tuple(orphans_of(chosen)),
            deleted_files=self.deleted,
            deleted_bytes=self.deleted_bytes,
            remaining=len(found) - self.deleted - len(self.kept),
            bin_run=self.into.head.run if self.into is not None and self.deleted else None,
            kept=tuple(self.kept),
            notes=tuple(self._notes()),
            seconds=time.monotonic() - self.started,
            spark_tasks=self._sharing.tasks,
        )

    def _notes(self) -> Iterator[str]:
        assert self._live is not None
        ids = sorted({s.holder.snapshot.id for s in self._live.sources.values() if _is_of_main(s.holder.name)})
        for before, after in pairwise(ids):
            if after != before + 1:
                yield f"snapshots {before + 1} to {after - 1} are missing; what only they named counts as orphans"
        if self._live.started_over:
            yield f"snapshots or tags vanished {self._live.started_over} times; what they left was looked at again"
        yield from self._notes_of_folders


def _is_of_main(name: str) -> bool:
    return name.startswith("snapshot ") and " of branch " not in name


def _with_paths(files: pa.Table) -> pa.Table:
    path = pc.binary_join_element_wise(files.column("folder"), files.column("name"), "/")
    columns = {"path": path, **{name: files.column(name) for name in ("name", "bytes", "changed", "kind")}}
    return pa.table(columns).sort_by([("changed", "ascending"), ("path", "ascending")])


def _sum(files: pa.Table) -> int:
    return pc.sum(files.column("bytes")).as_py() or 0


def orphans_of(files: pa.Table) -> Iterator[Orphan]:
    """The rows of a table of orphans."""
    columns = (files.column(name).to_pylist() for name in ("path", "bytes", "changed", "kind"))
    for path, size, changed, kind in zip(*columns, strict=True):
        yield Orphan(path, size, datetime.fromtimestamp(changed / 1000, UTC), kind)


@dataclass(frozen=True, slots=True)
class _Chunk:
    """Files for one task."""

    file_io: FileIO
    paths: tuple[str, ...]


def _delete_chunk(chunk: _Chunk) -> None:
    chunk.file_io.delete_unordered(chunk.paths)
