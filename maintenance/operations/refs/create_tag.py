"""Keep a snapshot under a name: procedure `create_tag`. Source: metadata section 10.2, Java `TagManager`."""

from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Annotated

from maintenance.errors import AlreadyExistsError, NotFoundError, OptionError
from maintenance.format.metadata.snapshot import Snapshot
from maintenance.format.metadata.snapshot_identity import SnapshotIdentity
from maintenance.format.metadata.tag import Tag
from maintenance.metadata.zone import local_time
from maintenance.names import TEMPORARY_BYTES, check_new_name
from maintenance.operations.expiry.tag_reports import report_created
from maintenance.operations.operation import Operation, Plan, Run, Shown, Spelling
from maintenance.operations.parameters import MILLIS, Param
from maintenance.operations.plan_store import PlannedGroup, StoredPlan, refuse
from maintenance.operations.refs.holding import expired_meanwhile, is_lost, take_back
from maintenance.operations.refs.snapshot_choice import counted_or_tagged, first_at_time, first_at_watermark
from maintenance.options import table as table_options
from maintenance.spark.sharing import SparkSharing, SparkSource
from maintenance.table.table import Table


@dataclass(frozen=True, slots=True)
class TagReport:
    """The tag. `created`: False if it was there before, `snapshot_id` is then what it holds.

    `commit_time`, `watermark`: of the snapshot, in milliseconds since 1970 UTC.
    """

    table: str
    name: str
    snapshot_id: int
    created: bool
    commit_time: int = 0
    watermark: int | None = None

    @classmethod
    def of(cls, table: Table, name: str, snapshot: Snapshot, *, created: bool) -> "TagReport":
        return cls(table.identifier, name, snapshot.id, created, snapshot.time_millis, snapshot.watermark)


@dataclass(frozen=True, slots=True)
class CreateTag:
    """A tag, and what it holds: at most one of a snapshot, a time and a watermark; without one the newest snapshot."""

    name: Annotated[str, Param("Name of the tag.", name="tag", others=("tag_name",))]
    snapshot_id: Annotated[int | None, Param("The snapshot to tag; empty: the newest.", others=("snapshot",))] = None
    timestamp_millis: Annotated[
        int | None, Param("Tag the first snapshot at that time or after.", name="timestamp", unit=MILLIS)
    ] = None
    watermark: Annotated[int | None, Param("Tag the first snapshot that reaches this watermark.")] = None
    time_retained: Annotated[timedelta | None, Param("How long the tag lives, e.g. 90 d.")] = None
    ignore_if_exists: Annotated[bool, Param("Leave a tag of that name as it is.")] = False


def plan(_: Run, table: Table, request: CreateTag) -> Plan[CreateTag, TagReport]:
    """The tag, and its snapshot; nothing is to be done where one of that name exists."""
    table_options.check_keepable(table.options, table.identifier)
    _check_target(table, request)
    existing = table.tags.find(request.name)
    if existing is not None:
        report = TagReport.of(table, request.name, existing.snapshot, created=False)
        return Plan(request, report, work=existing, of=existing.snapshot)
    check_tag_name(request.name, table.identifier)
    return _to_create(table, request, snapshot_asked_for(table, request))


def _check_target(table: Table, request: CreateTag) -> None:
    targets = (request.snapshot_id, request.timestamp_millis, request.watermark)
    if sum(part is not None for part in targets) > 1:
        raise OptionError("a tag holds one snapshot", table.identifier, "Name it by its id, its time or its watermark.")


def snapshot_asked_for(table: Table, request: CreateTag) -> Snapshot:
    """The snapshot that a tag is to hold. Raises: NotFoundError: there is none; OptionError: it is named twice."""
    _check_target(table, request)
    if request.timestamp_millis is not None:
        return first_at_time(table, request.timestamp_millis)
    if request.watermark is not None:
        return first_at_watermark(table, request.watermark)
    return snapshot_to_tag(table, request.snapshot_id)


def _to_create(table: Table, request: CreateTag, snapshot: Snapshot) -> Plan[CreateTag, TagReport]:
    """The plan keeps which snapshot it is, whatever it was chosen by."""
    kept = replace(request, snapshot_id=snapshot.id, timestamp_millis=None, watermark=None)
    report = TagReport.of(table, request.name, snapshot, created=True)
    group = PlannedGroup(f"tag {request.name}", (), 0, 0, f"keeps snapshot {snapshot.id}")
    return Plan(kept, report, lambda: [group], work=snapshot, of=snapshot)


def _again(run: Run, table: Table, request: CreateTag, stored: StoredPlan) -> Plan[CreateTag, TagReport]:
    """Raises: OutdatedPlanError: a tag of that name has been created, or the snapshot has expired."""
    if not stored.groups:
        return plan(run, table, replace(request, ignore_if_exists=True))
    existing = table.tags.find(request.name)
    moved = [] if existing is None else [f"tag '{request.name}' exists and holds snapshot {existing.snapshot.id}"]
    try:
        snapshot = snapshot_to_tag(table, request.snapshot_id)
    except NotFoundError:
        refuse(stored, [*moved, f"snapshot {request.snapshot_id} is gone"])
        raise
    other = SnapshotIdentity.of(snapshot) != stored.base
    refuse(stored, [*moved, *([f"snapshot {request.snapshot_id} is another one"] if other else [])])
    return _to_create(table, request, snapshot)


def apply(run: Run, table: Table, planned: Plan[CreateTag, TagReport]) -> TagReport:
    """Create the tag."""
    request, work = planned.request, planned.work
    if isinstance(work, Snapshot):
        default = table.model.tag_default_time_retained
        retained = default if request.time_retained is None else request.time_retained
        # Without a life time the file is exactly the snapshot's: old readers know no more.
        tag = Tag(work, None if retained is None else local_time(run.now), retained)
        if table.tags.publish(request.name, tag):
            return kept(table, request.name, tag, run.spark)
    existing = work if isinstance(work, Tag) else table.tags.get(request.name)
    if not request.ignore_if_exists:
        raise AlreadyExistsError(
            f"tag '{request.name}' exists and holds snapshot {existing.snapshot.id}",
            table.identifier,
            "Choose another name.",
        )
    return TagReport.of(table, request.name, existing.snapshot, created=False)


def _shown(report: TagReport) -> Shown:
    # Text, and "null" where there is none: so do Paimon's procedures.
    watermark = "null" if report.watermark is None else str(report.watermark)
    row = {"tagName": report.name, "snapshot": report.snapshot_id, "commit_time": report.commit_time}
    return Shown.one({**row, "watermark": watermark})


OPERATION = Operation(
    "create_tag",
    "Create a tag.",
    CreateTag,
    plan,
    apply,
    shown=lambda report: Shown(nothing_to_do=not report.created),
    again=_again,
    kept_as="tag",
    uses_spark=True,
    spellings=(
        Spelling("create_tag", "Create a tag.", ("tag", "snapshot_id", "time_retained")),
        Spelling(
            "create_tag_from_timestamp",
            "Create a tag of the first snapshot at a time or after.",
            ("tag", "timestamp!", "time_retained"),
            _shown,
            has_plans=False,
        ),
        Spelling(
            "create_tag_from_watermark",
            "Create a tag of the first snapshot that reaches a watermark.",
            ("tag", "watermark!", "time_retained"),
            _shown,
            has_plans=False,
        ),
    ),
)


def check_tag_name(name: str, table: str) -> None:
    """Raises: OptionError: a tag cannot have that name."""
    check_new_name(name, "a tag", table, around=len("tag-") + TEMPORARY_BYTES)


def snapshot_to_tag(table: Table, snapshot_id: int | None) -> Snapshot:
    """The snapshot of that id, or the latest; an expired one if a tag holds it. Raises: NotFoundError."""
    if snapshot_id is None:
        latest = table.latest_snapshot()
        if latest is None:
            raise NotFoundError("there is no snapshot yet", table.identifier, "Write to the table first.")
        return latest
    snapshot = counted_or_tagged(table, snapshot_id)
    if snapshot is not None:
        return snapshot
    raise NotFoundError(
        f"snapshot {snapshot_id} does not exist",
        table.identifier,
        f"Use one of {table.snapshots.earliest_id()} to {table.snapshots.latest_id()}, or one that a tag holds.",
    )


def kept(table: Table, name: str, tag: Tag, spark: SparkSource = None) -> TagReport:
    """The report of a tag just published. Raises: NotFoundError: its snapshot is lost, and the tag is taken back."""
    if is_lost(table, name, tag.snapshot):
        sharing = SparkSharing(spark, table.location, lambda _: None)
        take_back(table, name, sharing)
        raise expired_meanwhile(table, tag.snapshot)
    report_created(table, name)
    return TagReport.of(table, name, tag.snapshot, created=True)


create_tag = OPERATION.function(
    """Create a tag.

    Args:
        snapshot_id: what to tag, None = the latest; an expired one if another tag still holds it.
        timestamp_millis: instead, the first snapshot committed at that time or after, milliseconds since 1970 UTC.
        watermark: instead, the first snapshot whose watermark is that or later.
        time_retained: how long the tag lives, None = option `tag.default-time-retained`, and for ever without that.
        ignore_if_exists: leave an existing tag of that name alone instead of raising.
        now: creation time, None = the current; stored in local time.
        spark: as of `expire_tags`, for a tag whose snapshot expires meanwhile: what only it holds is deleted then.
            Otherwise a tag is one small file, which this process writes.
    Raises: AlreadyExistsError; NotFoundError: no such snapshot; OptionError: the name cannot be used, or more than
        one snapshot is asked for; UnsupportedError.
    """,
    takes=("now",),
)
