"""Make a branch the table: procedure `fast_forward`. Source: metadata section 10.7, Java `FileSystemBranchManager`.

Main's snapshots, schemas and tags from the branch's first snapshot on are replaced by the branch's. Java deletes them
and then copies the branch's, so a crash in between leaves a table without its newest states. Here main always has a
complete latest snapshot: snapshots newer than the branch's are deleted first, newest first; then the branch's newest
replaces main's, which is the actual change; then the others follow. After a crash the same call finishes the work.

Schemas are copied before the snapshots that need them and deleted after those that used them. If main and the branch
have different schemas with one id, a reader in between may see old rows under the new schema.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Annotated

from maintenance.errors import NotFoundError, OptionError
from maintenance.format.metadata.schema import TableSchema, serialize_schema
from maintenance.format.metadata.snapshot import Snapshot, serialize_snapshot
from maintenance.format.metadata.tag import Tag
from maintenance.metadata.branch_root import BRANCH_PREFIX, MAIN_BRANCH
from maintenance.metadata.branches import Branches
from maintenance.metadata.completeness import check_complete
from maintenance.metadata.hints import EARLIEST, LATEST
from maintenance.metadata.own_files import check_own_files
from maintenance.operations.operation import Operation, OperationReport, Run, Shown
from maintenance.operations.parameters import Param
from maintenance.operations.plan_store import PlannedGroup, StoredPlan
from maintenance.operations.refs.branch_states import branch_state, refuse_if_moved
from maintenance.operations.refs.delete_branch import check_branch_exists
from maintenance.operations.refs.rollback_to import check_hint
from maintenance.options import table as table_options
from maintenance.table.table import Table


@dataclass(frozen=True, slots=True)
class FastForwardReport(OperationReport):
    """What a fast-forward did, or would do.

    Attributes:
        previous, current: ids of main's latest snapshot; None = there was none.
        leaving, coming: ids of main's snapshots that go or are replaced, and of the branch's that take their place.
        leaving_tags: main's tags that go or are replaced; `coming_tags`: those of the branch that main gets.
    """

    table: str
    branch: str
    previous: int | None
    current: int
    leaving: tuple[int, ...] = ()
    coming: tuple[int, ...] = ()
    leaving_tags: tuple[str, ...] = ()
    coming_tags: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class FastForward:
    """Which branch takes main's place. `states`: what both were when a plan was made, by their names."""

    branch: Annotated[str, Param("Name of the branch.", others=("branch_name",))]
    states: Mapping[str, str] | None = None


@dataclass(frozen=True)
class _Taking:
    """A branch whose history is complete, all of it read. `lost`: main's tags that it has not."""

    asked: FastForward
    report: FastForwardReport
    main: Table
    other: Table
    history: list[Snapshot]
    schemas: Sequence[TableSchema]
    tags: Mapping[str, Tag]
    lost: Sequence[str]
    of = None
    warnings = ()

    @property
    def request(self) -> FastForward:
        return replace(self.asked, states=self.states)

    @cached_property
    def states(self) -> Mapping[str, str]:
        return {MAIN_BRANCH: branch_state(self.main), self.asked.branch: branch_state(self.other)}

    def groups(self) -> Iterator[PlannedGroup]:
        report, ours, theirs = self.report, f"of {MAIN_BRANCH}", f"of {self.asked.branch}"
        yield from (PlannedGroup(f"snapshot {number} {ours}", (), 0, 0, "goes") for number in report.leaving)
        yield from (PlannedGroup(f"tag {name} {ours}", (), 0, 0, "goes") for name in report.leaving_tags)
        yield from (PlannedGroup(f"snapshot {number} {theirs}", (), 0, 0, "comes") for number in report.coming)
        yield from (PlannedGroup(f"tag {name} {theirs}", (), 0, 0, "comes") for name in report.coming_tags)


def plan(_: Run, table: Table, request: FastForward) -> _Taking:
    """Which snapshots and tags of main would go, and which come."""
    branch = request.branch
    if branch == MAIN_BRANCH:
        raise OptionError("main cannot be fast-forwarded to itself", table.identifier, "Name another branch.")
    if table.branch != MAIN_BRANCH:
        name = table.identifier.partition(f"${BRANCH_PREFIX}")[0]
        problem = f"only main can be fast-forwarded, not branch '{table.branch}'"
        raise OptionError(problem, table.identifier, f"Call it for the table {name}.")
    table.record.check_may_move("a fast-forward", table.identifier)
    check_branch_exists(table, branch)
    main, other = table.on_branch(MAIN_BRANCH), table.on_branch(branch)
    table_options.check_keepable(main.options, main.identifier)
    history = [other.snapshots.get(snapshot_id) for snapshot_id in _counting(other)]
    if not history:
        raise NotFoundError(f"branch '{branch}' has no snapshot", main.identifier, "Write to the branch first.")
    previous = main.snapshots.latest_id()
    # All is read before anything changes: what cannot be read must end this while main is still whole.
    schemas = [other.schemas.get(schema_id) for schema_id in other.schemas.list_ids()]
    theirs, ours = other.tags.all(), main.tags.all()
    check_complete(other.manifests, history[-1])
    check_own_files(Branches(main.file_io, main.paths))
    there = {number: main.snapshots.find(number) for number in main.snapshots.list_ids()}
    for number in main.schemas.list_ids():
        main.schemas.get(number)
    first = history[0].id
    lost = tuple(name for name, tag in ours.items() if tag.snapshot.id >= first and name not in theirs)
    wanted = {snapshot.id: snapshot for snapshot in history}
    report = FastForwardReport(
        main.identifier,
        branch,
        previous,
        history[-1].id,
        leaving=tuple(number for number, own in there.items() if number >= first and wanted.get(number) != own),
        coming=tuple(number for number, snapshot in wanted.items() if there.get(number) != snapshot),
        leaving_tags=(*lost, *(name for name, tag in theirs.items() if name in ours and ours[name] != tag)),
        coming_tags=tuple(name for name, tag in theirs.items() if ours.get(name) != tag),
    )
    return _Taking(request, report, main, other, history, schemas, theirs, lost)


def _again(run: Run, table: Table, request: FastForward, stored: StoredPlan) -> _Taking:
    made = plan(run, table, request)
    refuse_if_moved(stored, made.groups(), made.states)
    return made


def apply(_: Run, __: Table, planned: _Taking) -> FastForwardReport:
    """Put the branch's history in the place of main's."""
    main, history, schemas = planned.main, planned.history, planned.schemas
    records = planned.other.commit_records.known_at(history[-1].id)
    _take_schemas(main, schemas, history[0].schema_id)
    main.commit_records.forget_after(history[0].id - 1)
    for record in records:
        main.commit_records.add(record, flushed=True)
    _take_snapshots(main, history)
    for name in planned.lost:
        main.tags.remove(name)
    for name, tag in planned.tags.items():
        main.tags.replace(name, tag)
    _drop_schemas(main, schemas, history[0].schema_id)
    paths = main.paths
    main.file_io.flush_folders((paths.snapshot_folder(), paths.tag_folder(), paths.schema_folder()))
    return planned.report


def _shown(report: FastForwardReport) -> Shown:
    if not report.dry_run:
        return Shown()
    rows = [("snapshot", "goes", str(number)) for number in report.leaving]
    rows += [("snapshot", "comes", str(number)) for number in report.coming]
    rows += [("tag", "goes", name) for name in report.leaving_tags]
    rows += [("tag", "comes", name) for name in report.coming_tags]
    return Shown.texts(("kind", "change", "name"), rows, nothing_to_do=False)


OPERATION = Operation(
    "fast_forward",
    "Replace the history of main with that of a branch.",
    FastForward,
    plan,
    apply,
    _shown,
    _again,
)


def _counting(table: Table) -> list[int]:
    earliest = table.snapshots.earliest_id()
    return [i for i in table.snapshots.list_ids() if earliest is not None and i >= earliest]


def _take_schemas(main: Table, schemas: Sequence[TableSchema], first: int) -> None:
    ids_of_main = set(main.schemas.list_ids())
    for schema in schemas:
        if schema.id not in ids_of_main or (schema.id >= first and main.schemas.get(schema.id) != schema):
            main.file_io.overwrite(main.paths.schema(schema.id), serialize_schema(schema))


def _drop_schemas(main: Table, schemas: Sequence[TableSchema], first: int) -> None:
    ids_of_branch = {schema.id for schema in schemas}
    gone = [i for i in main.schemas.list_ids() if i >= first and i not in ids_of_branch]
    main.file_io.delete_quietly(main.paths.schema(i) for i in reversed(gone))


def _take_snapshots(main: Table, history: list[Snapshot]) -> None:
    """Put the branch's snapshots in the place of main's. `history`: ascending, at least one."""
    snapshots, file_io = main.snapshots, main.file_io
    first, last = history[0].id, history[-1].id
    earliest = snapshots.earliest_id()
    # Those below main's earliest are not its latest for anybody, but something is left when main's own are gone.
    _put(main, [snapshot for snapshot in history if earliest is not None and snapshot.id < earliest])
    check_hint(snapshots.write_hint(LATEST, last), snapshots.paths.snapshot_folder())
    file_io.delete_quietly(snapshots.paths.snapshot(i) for i in reversed(snapshots.list_ids()) if i > last)
    newest = max(snapshots.list_ids(), default=0)
    # From main's newest on upwards, then downwards: the latest that there is at each moment is whole.
    _put(main, [snapshot for snapshot in history if snapshot.id > newest])
    _put(main, [snapshot for snapshot in reversed(history) if snapshot.id <= newest])
    ids_of_branch = {snapshot.id for snapshot in history}
    file_io.delete_quietly(
        snapshots.paths.snapshot(i) for i in snapshots.list_ids() if i >= first and i not in ids_of_branch
    )
    if earliest is None or earliest > first:
        snapshots.write_hint(EARLIEST, first)


def _put(main: Table, history: list[Snapshot]) -> None:
    for snapshot in history:
        if main.snapshots.find(snapshot.id) != snapshot:
            main.file_io.overwrite(main.paths.snapshot(snapshot.id), serialize_snapshot(snapshot))


fast_forward = OPERATION.function(
    """Replace the history of main with that of a branch, from the branch's first snapshot on. The branch stays.

    Args:
        dry_run: only check whether that is possible, and report what would change.
    Raises: NotFoundError: no such branch, or it has no snapshot; OptionError: it is main, or the table
        is a branch itself; CorruptFileError: a file of
        the branch's newest state is missing or damaged, or a snapshot, schema or tag of main or the branch cannot be
        read: nothing has changed then; UnsupportedError: the catalog forbids it.
    """,
    without=("states",),
)
