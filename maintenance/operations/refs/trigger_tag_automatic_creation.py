"""Create the tags that a table's options ask for: after commits, and as procedure `trigger_tag_automatic_creation`.

Writers of this project create tags after their commits, as Paimon's committer does; the procedure serves tables that
others write. Beyond `tag.num-retained-max` the oldest automatic tags go, and what only they used.
Source: Java `TagAutoManager`, `TagAutoCreation`, `TagBatchCreation`.
"""

import logging
from collections.abc import Iterator
from dataclasses import dataclass

from maintenance.errors import NotFoundError, PaimonError
from maintenance.format.metadata.snapshot import Snapshot
from maintenance.operations.expiry.expire_tags import ExpireTags, expire_tags
from maintenance.operations.expiry.expire_tags import plan as plan_expiry
from maintenance.operations.expiry.tag_removal import plan_tag_removal
from maintenance.operations.operation import Operation, OperationReport, Plan, Run, Shown
from maintenance.operations.plan_store import PlannedGroup
from maintenance.operations.planned_groups import files_group, tag_group
from maintenance.operations.refs.create_tag import create_tag
from maintenance.operations.refs.delete_tag import delete_tag
from maintenance.operations.refs.replace_tag import replace_tag
from maintenance.operations.refs.tag_schedule import TagSchedule, batch_tag
from maintenance.options import table as table_options
from maintenance.table.table import Table

_LOG = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class AutomaticTagsReport(OperationReport):
    """`created`: names of new tags; `deleted`: those beyond the number to keep; `expired`: those past their time."""

    table: str
    created: tuple[str, ...] = ()
    deleted: tuple[str, ...] = ()
    expired: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class AutomaticTags:
    """The table's options say it all."""


def plan(run: Run, table: Table, request: AutomaticTags) -> Plan[AutomaticTags, AutomaticTagsReport]:
    """The tags that are due, those that go for them, and those whose time is over."""
    table_options.check_keepable(table.options, table.identifier)
    created, deleted = _by_schedule(table, dry_run=True)
    expired = plan_expiry(run, table, ExpireTags()).report.expired
    report = AutomaticTagsReport(table.identifier, created, deleted, expired)

    def groups() -> Iterator[PlannedGroup]:
        yield from (PlannedGroup(f"tag {name}", (), 0, 1, "is created") for name in created)
        gone = dict.fromkeys(deleted, "is beyond tag.num-retained-max")
        gone |= dict.fromkeys(expired, "is past its retention")
        held = {name: tag for name, tag in table.tags.all().items() if name in gone}
        yield from (tag_group(table, name, f"; {why}") for name, why in gone.items() if name in held)
        removed = plan_tag_removal(table, held).deletions
        yield from files_group(removed, sum(removed.values()))

    return Plan(request, report, groups)


def apply(run: Run, table: Table, _: Plan[AutomaticTags, AutomaticTagsReport]) -> AutomaticTagsReport:
    """Create the tags that are due, then expire."""
    created, deleted = _by_schedule(table, dry_run=False)
    expired = expire_tags(table, now=run.now, spark=run.spark).expired
    return AutomaticTagsReport(table.identifier, created, deleted, expired)


def _shown(report: AutomaticTagsReport) -> Shown:
    changes = {
        **dict.fromkeys(report.created, "created"),
        **dict.fromkeys(report.deleted, "beyond tag.num-retained-max"),
        **dict.fromkeys(report.expired, "expired"),
    }
    if not report.dry_run:
        return Shown(nothing_to_do=not changes)
    return Shown.texts(("tag", "change"), list(changes.items()), nothing_to_do=False)


OPERATION = Operation(
    "trigger_tag_automatic_creation",
    "Create the tags that the table's options ask for.",
    AutomaticTags,
    plan,
    apply,
    _shown,
    uses_spark=True,
    has_job=False,
)


def tag_after_commit(table: Table, *, wrote_rows: bool) -> None:
    """Create the tags that are due after a commit. Never fails: the rows are committed; the next commit tries again.

    Args: `wrote_rows`: the commit is a job's own, not a compaction's. Writers of a `write-only` table leave tags by
        time to compactions, which Paimon runs in jobs of their own.
    """
    if table.model.tag_automatic_creation == "none":
        return
    try:
        if table.model.tag_automatic_creation == "batch":
            if wrote_rows:
                _after_batch(table)
        elif not (wrote_rows and table.model.write_only):
            _by_schedule(table, dry_run=False)
    except (PaimonError, OSError) as error:
        _LOG.warning("%s: the automatic tag is not created: %s", table.identifier, error)


def _by_schedule(table: Table, *, dry_run: bool) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Returns: the tags that are created, and those that go for them."""
    schedule = TagSchedule.of(table.options, table.identifier)
    latest = table.latest_snapshot()
    if schedule is None or latest is None:
        return (), ()
    names = [name for name in table.tags.names() if schedule.names.time_of(name) is not None]
    last = schedule.last(names)
    limit = table.model.tag_num_retained_max
    created: dict[str, int] = {}
    # Times ascend: while the newest snapshot is not due none is, and the others need not be read.
    if any(schedule.tags([latest], last)):
        after = 0 if last is None else table.tags.get(last).snapshot.id
        for name, snapshot in schedule.tags(_snapshots(table, after), last):
            if dry_run or _created(table, name, snapshot):
                created[name] = snapshot.id
    if limit is None or len(names) + len(created) <= limit:
        return tuple(created), ()
    # A run that died may have left more of them than are to be kept.
    held = {name: table.tags.get(name).snapshot.id for name in names} | created
    gone = sorted(held, key=lambda name: (held[name], name))[: max(0, len(held) - limit)]
    if gone and not dry_run:
        delete_tag(table, *gone)
    return tuple(created), tuple(gone)


def _created(table: Table, name: str, snapshot: Snapshot) -> bool:
    """False if the snapshot expired meanwhile."""
    try:
        create_tag(table, name, snapshot_id=snapshot.id, ignore_if_exists=True)
    except NotFoundError:
        return False
    return True


def _snapshots(table: Table, after: int) -> Iterator[Snapshot]:
    """The snapshots after one, ascending; those that expire meanwhile are left out."""
    earliest, latest = table.snapshots.earliest_id(), table.snapshots.latest_id()
    if earliest is not None and latest is not None:
        for snapshot_id in range(max(earliest, after + 1), latest + 1):
            snapshot = table.snapshots.find(snapshot_id)
            if snapshot is not None:
                yield snapshot


def _after_batch(table: Table) -> None:
    """Point the tag of the day to the newest snapshot, then keep no more tags than `tag.num-retained-max`, of all."""
    snapshot = table.latest_snapshot()
    if snapshot is None:
        return
    name = batch_tag(table.options, snapshot)
    if table.tags.find(name) is None:
        create_tag(table, name, snapshot_id=snapshot.id, ignore_if_exists=True)
    else:
        replace_tag(table, name, snapshot_id=snapshot.id)
    limit = table.model.tag_num_retained_max
    if limit is None:
        return
    times = {status.path: status.mtime_ms for status in table.file_io.list_files(table.paths.tag_folder())}
    tags = table.tags.all()
    oldest_first = sorted(tags, key=lambda tag: (tags[tag].snapshot.id, times.get(table.paths.tag(tag), 0), tag))
    gone = oldest_first[: max(0, len(tags) - limit)]
    if gone:
        delete_tag(table, *gone)


trigger_tag_automatic_creation = OPERATION.function(
    """Create the tags that `tag.automatic-creation` asks for, then expire tags that are past their retention.

    With `batch` nothing is created here: batch jobs create their tags when they commit.

    Args:
        now: when tags have expired; None = the current time.
        spark: as of `expire_tags`.
    Raises: OptionError: the delay is not shorter than the period; as `create_tag` and `expire_tags`.
    """,
    takes=("now",),
)
