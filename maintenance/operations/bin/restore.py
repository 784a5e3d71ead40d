"""Bring back what one run of the bin took: all of it, some files, or snapshots and tags with all that they need.

What names other files comes back after these, so that nobody finds half a snapshot, and an interrupted restore is
finished by the same call. Snapshots come back as snapshots if they join the oldest one of the table. Otherwise ids
would be missing between them, so they come back as tags, `restored-snapshot-<id>`. A tag that another one has replaced
meanwhile is not touched.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Annotated

from maintenance.amounts import number_of
from maintenance.errors import (
    AlreadyExistsError,
    ConflictError,
    CorruptFileError,
    ExpiredError,
    MissingFileError,
    NotFoundError,
)
from maintenance.format.metadata.snapshot import Snapshot, parse_snapshot
from maintenance.format.metadata.tag import Tag, parse_tag
from maintenance.fs.file_io import FileIO
from maintenance.metadata.branch_root import MAIN_BRANCH
from maintenance.metadata.branches import Branches
from maintenance.metadata.changelogs import Changelogs
from maintenance.metadata.completeness import check_complete
from maintenance.metadata.hints import EARLIEST, LATEST
from maintenance.metadata.manifests import Manifests
from maintenance.metadata.paths import TablePaths
from maintenance.metadata.snapshots import Snapshots
from maintenance.metadata.tags import Tags
from maintenance.operations.bin.run import EMPTYING, BinnedFile, RunHead, path_in_bin, read_run, run_folder
from maintenance.operations.operation import Operation, OperationReport, Run, Shown, lazily, silent
from maintenance.operations.parameters import Param, keywords_of
from maintenance.operations.plan_store import PlannedGroup
from maintenance.operations.progress import Progress
from maintenance.table.table import Table

_BRANCH = re.compile(r"(?:branch/branch-(?P<branch>[^/]+)/)?(?P<kind>snapshot|tag|changelog)/(?P<name>[^/]+)")
_RETIRED = re.compile(r"retired-[0-9a-f-]{36}-(.*)")
RESTORED = "restored-snapshot-"


@dataclass(frozen=True, slots=True)
class RestoreReport(OperationReport):
    """What came back, or would.

    Attributes:
        files: paths; `bytes`: of these.
        snapshots, tags, changelogs: what can be read again; those of another branch than main with its name in front.
        already_there: files that are in the table and were not touched.
        missing: files that are neither in the bin nor in the table: they were gone before the run, or another run
            has them.
        incomplete: snapshots and tags that stay in the bin, since files that they need are missing.
    """

    run: str
    table: str
    operation: str
    files: tuple[str, ...]
    bytes: int
    snapshots: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    changelogs: tuple[str, ...] = ()
    already_there: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()
    incomplete: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class _Record:
    """A snapshot, tag or long-lived changelog in the bin. `name`: its number, or the tag's name."""

    file: BinnedFile
    branch: str
    kind: str
    name: str

    @property
    def shown(self) -> str:
        return self.name if self.branch == MAIN_BRANCH else f"{self.branch}: {self.name}"


@dataclass(frozen=True, slots=True)
class Restore:
    """What to bring back from the bin; nothing chosen: all that the run took."""

    run: Annotated[str, Param("Name of a run of the bin, as the operation reported it.")]
    files: Annotated[Sequence[str], Param("Paths of files, absolute or relative to the table.")] = ()
    snapshots: Annotated[Sequence[int], Param("Ids of snapshots; they are restored with all files they need.")] = ()
    tags: Annotated[Sequence[str], Param("Names of tags; they are restored with all files they need.")] = ()


def _work(run: Run, table: Table, request: Restore, /, *, dry_run: bool) -> RestoreReport:
    warehouse = run.root()
    head, binned = read_run(table.file_io, warehouse, request.run)
    if head.location != table.location.rstrip("/"):
        raise AlreadyExistsError(
            f"run '{request.run}' is about {head.table} at {head.location}",
            table.location,
            "Name the table of the run.",
        )
    folder = run_folder(warehouse, request.run)
    if table.file_io.exists(f"{folder}/{EMPTYING}"):
        raise ConflictError(f"run '{request.run}' is being destroyed", folder, "It cannot be restored any more.")
    work = _Restore(table, head, folder, {file.key: file for file in binned}, run.progress, dry_run)
    return work.run(request.files, request.snapshots, request.tags)


def _groups(_: Table, report: RestoreReport) -> Iterator[PlannedGroup]:
    yield from (PlannedGroup(f"snapshot {name}", (), 0, 1, "comes back") for name in report.snapshots)
    yield from (PlannedGroup(f"tag {name}", (), 0, 1, "comes back") for name in report.tags)
    yield from (PlannedGroup(f"changelog {name}", (), 0, 1, "comes back") for name in report.changelogs)
    if report.files:
        reason = f"come back from run {report.run} of {report.operation}"
        yield PlannedGroup("files", tuple(sorted(report.files)), report.bytes, len(report.files), reason)


def _shown(report: RestoreReport) -> Shown:
    """What came back: files, then snapshots, tags and changelogs; then what could not."""
    rows = [("file", path) for path in report.files]
    rows += [("snapshot", name) for name in report.snapshots] + [("tag", name) for name in report.tags]
    rows += [("changelog", name) for name in report.changelogs]
    rows += [("missing", path) for path in report.missing] + [("incomplete", why) for why in report.incomplete]
    return Shown.texts(("kind", "restored"), rows)


def _said(report: RestoreReport) -> Iterator[str]:
    yield from (f"It stays in the bin: {why}" for why in report.incomplete)


OPERATION = Operation(
    "restore",
    "Restore deleted files from the bin.",
    Restore,
    *lazily(_work, _groups),
    shown=_shown,
    said=_said,
)


@dataclass(slots=True)
class _Restore:
    table: Table
    head: RunHead
    folder: str
    binned: dict[str, BinnedFile]
    progress: Callable[[str], None]
    dry_run: bool
    back: list[BinnedFile] = field(default_factory=list)
    there: list[str] = field(default_factory=list)
    missing: list[str] = field(default_factory=list)
    incomplete: list[str] = field(default_factory=list)
    done: dict[str, list[str]] = field(default_factory=lambda: {"snapshot": [], "tag": [], "changelog": []})

    @property
    def _file_io(self) -> FileIO:
        return self.table.file_io

    def run(self, files: Sequence[str], snapshots: Sequence[int], tags: Sequence[str]) -> RestoreReport:
        chosen = [*self._chosen_records("snapshot", map(str, snapshots)), *self._chosen_records("tag", tags)]
        if chosen or files:
            wanted = self._chosen_files(files)
            for record in chosen:
                wanted += self._needed_by(record)
            records = chosen
        else:
            records = [record for record in map(_record, self.binned.values()) if record is not None]
            of_records = {record.file.key for record in records}
            wanted = [file for file in self.binned.values() if file.key not in of_records]
        self._put_back(sorted({file.key: file for file in wanted}.values(), key=lambda file: (file.stage, file.key)))
        if not chosen and not files:
            self._bring_into_sight()
        self._put_back_records(records)
        self.progress(f"{number_of(len(self.back), 'file')} of run {self.head.run} are back")
        return self._report()

    def _chosen_files(self, paths: Iterable[str]) -> list[BinnedFile]:
        relative = [path.removeprefix(f"{self.head.location}/") for path in paths]
        absent = [path for path in relative if path not in self.binned]
        if absent:
            fix = "Restore without a choice, or name files that the run's journals list."
            raise NotFoundError(f"run '{self.head.run}' did not take {absent[0]}", self.folder, fix)
        return [self.binned[path] for path in relative]

    def _chosen_records(self, kind: str, names: Iterable[str]) -> Iterator[_Record]:
        records = [record for record in map(_record, self.binned.values()) if record is not None]
        by_name = {
            record.name: record for record in records if (record.kind, record.branch) == (kind, self.table.branch)
        }
        for name in names:
            if name not in by_name:
                known = ", ".join(by_name) or "none"
                raise NotFoundError(
                    f"run '{self.head.run}' did not take {kind} {name}", self.folder, f"It has: {known}."
                )
            yield by_name[name]

    def _needed_by(self, record: _Record) -> list[BinnedFile]:
        """The files in the bin that a state needs. Lists and manifests come back on the way, to be read."""
        snapshot = self._parsed(record)
        by_name = {file.path.rpartition("/")[2]: file for file in self.binned.values()}
        by_place: dict[str, BinnedFile] = {}

        def want(names: Iterable[str | None]) -> list[BinnedFile]:
            files = [by_name[name] for name in names if name is not None and name in by_name]
            by_place.update({file.key: file for file in files})
            return files

        manifests = _Reachable(self._file_io, self.head, self.folder, self.binned)
        lists = [(snapshot.base_manifest_list), (snapshot.delta_manifest_list)]
        lists += [snapshot.changelog_manifest_list] if snapshot.changelog_manifest_list and record.kind != "tag" else []
        want([*lists, snapshot.index_manifest, snapshot.statistics])
        for name in lists:
            for meta in manifests.of(name).read_list(name):
                want([meta.file_name])
                names = manifests.of(meta.file_name).file_names(meta)
                want(names.to_pylist())
        if snapshot.index_manifest is not None:
            index = manifests.of(snapshot.index_manifest).read_index_manifest(snapshot.index_manifest)
            want(entry.file_name for entry in index)
        return list(by_place.values())

    def _parsed(self, record: _Record) -> Snapshot:
        path = self._in_bin(record.file)
        if not self._file_io.exists(path):
            path = self.head.home(record.file)
        data = self._file_io.read_bytes(path)
        return parse_tag(data, path).snapshot if record.kind == "tag" else parse_snapshot(data, path)

    def _put_back(self, files: Sequence[BinnedFile]) -> None:
        for file in files:
            source, target = self._in_bin(file), self.head.home(file)
            if self._file_io.exists(target):
                self.there.append(file.key)
            elif not self._file_io.exists(source):
                self.missing.append(file.key)
            else:
                try:
                    self._move(source, target)
                except FileNotFoundError:  # the bin is emptied meanwhile
                    self.missing.append(file.key)
                else:
                    self.back.append(file)

    def _in_bin(self, file: BinnedFile) -> str:
        return path_in_bin(self.folder, self.head.run, file)

    def _move(self, source: str, target: str) -> None:
        if not self.dry_run:
            self._file_io.move_file(source, target)

    # Records, last

    def _bring_into_sight(self) -> None:
        """Undo what an expiry that died had retired: newest first, as long as each joins the oldest one in sight."""
        branches = Branches(self._file_io, self.table.paths)
        for branch in branches.names():
            snapshots = branches.snapshots(branch)
            earliest = min(snapshots.list_ids(), default=None)
            retired, paths = snapshots.retired(), snapshots.paths
            for number in sorted(retired, reverse=True):
                found = partial(retired.__getitem__, number)
                if number + 1 != earliest or not self._is_whole(f"snapshot {number}", found, branch):
                    break
                self._move(paths.retired_snapshot(number), paths.snapshot(number))
                earliest = number
                self.done["snapshot"].append(f"{number}" if branch == MAIN_BRANCH else f"{branch}: {number}")
            if not self.dry_run and earliest is not None and (snapshots.read_hint(EARLIEST) or 0) > earliest:
                snapshots.write_hint(EARLIEST, earliest)

    def _put_back_records(self, records: Sequence[_Record]) -> None:
        for branch in sorted({record.branch for record in records}):
            paths = replace(TablePaths(self.head.location), branch=branch)
            mine = [r for r in records if r.branch == branch and (r.kind == "changelog" or self._is_complete(r))]
            self._put_back_changelogs(Changelogs(self._file_io, paths), [r for r in mine if r.kind == "changelog"])
            for record in (record for record in mine if record.kind == "tag"):
                self._put_back_as_tag(record, paths, record.name)
            self._put_back_snapshots(paths, [record for record in mine if record.kind == "snapshot"])

    def _is_complete(self, record: _Record) -> bool:
        """Asked before a record comes back, and after: until it is there, an expiry takes what nothing else needs."""
        return self._is_whole(f"{record.kind} {record.shown}", partial(self._parsed, record), record.branch)

    def _is_whole(self, name: str, snapshot: Callable[[], Snapshot], branch: str) -> bool:
        """Whether all that a state needs is there by now; a dry run cannot know."""
        if self.dry_run:
            return True
        manifests = replace(self.table.manifests, paths=replace(self.table.paths, branch=branch))
        try:
            check_complete(manifests, snapshot())
        except (CorruptFileError, MissingFileError, ExpiredError, FileNotFoundError) as error:
            self.incomplete.append(f"{name}: {error}")
            return False
        return True

    def _put_back_snapshots(self, paths: TablePaths, records: Sequence[_Record]) -> None:
        """Newest first, as long as each joins the oldest one that is there."""
        snapshots = Snapshots(self._file_io, paths)
        earliest = min(snapshots.list_ids(), default=None)
        for record in sorted(records, key=lambda record: -int(record.name)):
            number = int(record.name)
            if earliest is None or number not in (earliest - 1, earliest):
                self._put_back_as_tag(record, paths, f"{RESTORED}{record.name}")
                continue
            self._put_back([record.file])
            # What it joins may expire until it is there.
            is_complete, joins = self._is_complete(record), self.dry_run or earliest in snapshots.list_ids()
            if is_complete and joins:
                earliest = number
                self.done["snapshot"] += [record.shown] if record.shown not in self.done["snapshot"] else []
                continue
            self._take_again(record)
            if not joins:
                self.incomplete.append(f"snapshot {record.shown}: snapshot {earliest} has expired. Restore it again.")
            earliest = min(snapshots.list_ids(), default=None)
        if not self.dry_run and earliest is not None and (snapshots.read_hint(EARLIEST) or 0) > earliest:
            snapshots.write_hint(EARLIEST, earliest)

    def _take_again(self, record: _Record) -> None:
        """Put a snapshot into the bin again that has come back."""
        if record.file in self.back:
            self._move(self.head.home(record.file), self._in_bin(record.file))
            self.back.remove(record.file)

    def _put_back_as_tag(self, record: _Record, paths: TablePaths, name: str) -> None:
        source = self._in_bin(record.file)
        tags = Tags(self._file_io, paths)
        if tags.find(name) is not None:
            self.there.append(record.file.path)
            return
        if not self._file_io.exists(source):
            self.missing.append(record.file.path)
            return
        data = self._file_io.read_bytes(source)
        tag = parse_tag(data, source) if record.kind == "tag" else Tag(parse_snapshot(data, source))
        if not self.dry_run and not tags.publish(name, tag):
            self.there.append(record.file.path)
            return
        if not self._is_complete(record):
            tags.remove(name)
            return
        self.back.append(record.file)
        self.done["tag"].append(name if record.branch == MAIN_BRANCH else f"{record.branch}: {name}")

    def _put_back_changelogs(self, changelogs: Changelogs, records: Sequence[_Record]) -> None:
        if not records:
            return
        self._put_back([record.file for record in records])
        self.done["changelog"] += [record.shown for record in records]
        ids = changelogs.list_ids()
        if ids and not self.dry_run:
            changelogs.write_hint(EARLIEST, ids[0])
            changelogs.write_hint(LATEST, ids[-1], flushed=False)

    def _report(self) -> RestoreReport:
        return RestoreReport(
            run=self.head.run,
            table=self.head.table,
            operation=self.head.operation,
            files=tuple(map(self.head.home, self.back)),
            bytes=sum(file.bytes or 0 for file in self.back),
            snapshots=tuple(self.done["snapshot"]),
            tags=tuple(self.done["tag"]),
            changelogs=tuple(self.done["changelog"]),
            already_there=tuple(self.there),
            missing=tuple(self.missing),
            incomplete=tuple(self.incomplete),
        )


def _record(file: BinnedFile) -> _Record | None:
    """The snapshot, tag or changelog that a file is; None for other files."""
    match = _BRANCH.fullmatch(file.path) if file.root is None else None
    if match is None:
        return None
    kind, name = match["kind"], match["name"]
    retired = _RETIRED.fullmatch(name)
    name = retired[1] if retired and kind == "tag" else name.removeprefix(f"{kind}-")
    if kind != "tag" and not name.isdecimal():
        return None
    return _Record(file, match["branch"] or MAIN_BRANCH, kind, name)


@dataclass(frozen=True, slots=True)
class _Reachable:
    """Reads manifests wherever they are: in the bin or in the table."""

    file_io: FileIO
    head: RunHead
    folder: str
    binned: dict[str, BinnedFile]

    def of(self, name: str) -> Manifests:
        """Reads a manifest or list of that name."""
        in_bin = f"{self.folder}/files/manifest/{name}"
        is_there = f"manifest/{name}" in self.binned and self.file_io.exists(in_bin)
        return Manifests(self.file_io, TablePaths(f"{self.folder}/files" if is_there else self.head.location))


@keywords_of(Restore)
def restore(
    table: Table, warehouse: str, request: Restore, *, dry_run: bool = False, progress: Progress | None = None
) -> RestoreReport:
    """Restore what a run of the bin took from a table: all of it, unless you name parts.

    Args:
        warehouse: the warehouse of the bin.
        dry_run: report what would be restored, change nothing.
    Raises: NotFoundError: the run, or something chosen, is not in the bin; ConflictError: the run is being destroyed;
        AlreadyExistsError: the run is of another table; CorruptFileError.
    """
    return OPERATION.run(Run(progress=progress or silent, warehouse=warehouse), table, request, dry_run=dry_run)
