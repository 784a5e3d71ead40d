"""Delete tags past their retention, and what only they used: procedure `expire_tags`.

A tag expires when its creation time plus its time to live has passed; `older_than` also takes those created before it,
with or without a time to live (then the file's time counts as creation). See `tag_removal` for how.
Source: metadata section 10.2, Java `TagTimeExpire`.
"""

import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Any

from maintenance.amounts import number_of
from maintenance.format.metadata.tag import Tag
from maintenance.metadata.zone import local_time
from maintenance.operations.expiry.empty_folders import clean_empty_folders
from maintenance.operations.expiry.removal import gone_text
from maintenance.operations.expiry.tag_removal import TagRemovalPlan, plan_tag_removal, remove_tags
from maintenance.operations.expiry.tag_reports import report_deleted
from maintenance.operations.operation import Operation, OperationReport, Plan, Request, Run, Shown
from maintenance.operations.parameters import Param
from maintenance.operations.plan_store import PlannedGroup
from maintenance.operations.planned_groups import files_group
from maintenance.options import table as table_options
from maintenance.spark.sharing import SparkSharing
from maintenance.table.table import Table


@dataclass(frozen=True, slots=True)
class ExpireTagsReport(OperationReport):
    """What an expiry of tags did, or would do.

    Attributes:
        expired: names.
        deleted_files: paths, each of which existed; `deleted_bytes`: their size.
        notes: what was finished that an earlier run left; damaged files of expired tags, what they name stays.
        spark_tasks: how many tasks of Spark shared the work; 0: this process did it in one batch.
    """

    table: str
    expired: tuple[str, ...]
    deleted_files: tuple[str, ...] = ()
    deleted_bytes: int = 0
    notes: tuple[str, ...] = ()
    seconds: float = 0.0
    spark_tasks: int = 0


@dataclass(frozen=True, slots=True)
class ExpireTags:
    """Which tags expire, besides those whose time to live is over."""

    older_than: Annotated[
        datetime | None, Param("Also expire tags created before this time; without a zone it is local.")
    ] = None


@dataclass(frozen=True, slots=True)
class TagsToGo:
    """Tags that go, whatever made them due, with what only they used."""

    due: Mapping[str, Tag]
    removal: TagRemovalPlan
    sharing: SparkSharing
    started: float


def plan(run: Run, table: Table, request: ExpireTags) -> Plan[ExpireTags, ExpireTagsReport]:
    """The tags whose time is over, and the files that only they use."""
    older_than = None if request.older_than is None else local_time(request.older_than)
    table_options.check_keepable(table.options, table.identifier)
    past = "past its retention"
    return plan_tags(run, table, request, due_tags(table, local_time(run.now), older_than), lambda _: past)


def plan_tags(
    run: Run, table: Table, request: Request, due: Mapping[str, Tag], why: Callable[[str], str]
) -> Plan[Request, ExpireTagsReport]:
    """The removal of tags. `why`: of each one, for the plan."""
    started = time.monotonic()
    sharing = SparkSharing(run.spark, table.location, run.progress)
    going = TagsToGo(due, plan_tag_removal(table, due, sharing), sharing, started)
    report = _report(table, going, going.removal.deletions)

    def groups() -> Iterator[PlannedGroup]:
        for name, tag in due.items():
            yield PlannedGroup.of_snapshot(f"tag {name}", tag.snapshot, 0, why(name))
        yield from files_group(report.deleted_files, report.deleted_bytes)

    return Plan(request, report, groups, going)


def apply(run: Run, table: Table, planned: Plan[Any, ExpireTagsReport]) -> ExpireTagsReport:
    """Remove the planned tags, and what only they used."""
    going: TagsToGo = planned.work
    removed = remove_tags(table, going.due, going.removal, run.progress, run.into, going.sharing)
    deletions = going.removal.deletions | removed.deletions
    if run.into is not None:
        run.into.close()
    for name in going.due:
        report_deleted(table, name)
    clean_empty_folders(table, deletions)
    return _report(table, going, deletions)


def _report(table: Table, going: TagsToGo, deletions: Mapping[str, int]) -> ExpireTagsReport:
    return ExpireTagsReport(
        table=table.identifier,
        expired=tuple(going.due),
        deleted_files=tuple(deletions),
        deleted_bytes=sum(deletions.values()),
        notes=going.removal.notes,
        seconds=time.monotonic() - going.started,
        spark_tasks=going.sharing.tasks,
    )


def said(report: ExpireTagsReport) -> Iterator[str]:
    """The tags that are gone, and the files that went with them."""
    if not report.dry_run:
        gone = number_of(len(report.expired), "tag")
        names = f" ({', '.join(report.expired)})" if report.expired else ""
        yield gone_text(f"{report.table}: {gone} deleted{names}", len(report.deleted_files), report.deleted_bytes)
        yield from report.notes


OPERATION = Operation(
    "expire_tags",
    "Expire tags by their age.",
    ExpireTags,
    plan,
    apply,
    shown=lambda report: Shown.texts(("expired_tags",), [(name,) for name in report.expired]),
    said=said,
    takes_bin=True,
    uses_spark=True,
    has_job=False,
)


expire_tags = OPERATION.function(
    """Expire the tags of a table or branch.

    With `tag.time-expire-enabled` = `false` a tag's own time to live does not count, only `older_than` does.

    Args:
        spark: a session whose tasks read, look for and delete files where there are many; or what gives one, and is
            asked only then; None = this process does all.
    Raises: CorruptFileError: a file that a remaining snapshot, tag or branch needs is missing or damaged; no file of
        the table's data is deleted then. UnsupportedError.
    """,
    takes=("progress", "now"),
)


def due_tags(
    table: Table, now: datetime, older_than: datetime | None, among: Mapping[str, Tag] | None = None
) -> dict[str, Tag]:
    """The tags that go, by name. Times are local and without a zone. `among`: all there are; None = they are read."""
    changed = {}
    if older_than is not None:
        listed = table.file_io.list_files(table.paths.tag_folder())
        changed = {status.path: datetime.fromtimestamp(status.mtime_ms / 1000) for status in listed}
    tags = (table.tags.all() if among is None else among).items()
    own_time = table.model.tag_time_expire_enabled

    def due(name: str, tag: Tag) -> bool:
        return is_due(tag, now, older_than, changed.get(table.paths.tag(name)), own_time=own_time)

    return {name: tag for name, tag in tags if due(name, tag)}


def is_due(
    tag: Tag, now: datetime, older_than: datetime | None, changed: datetime | None, *, own_time: bool = True
) -> bool:
    """Whether a tag's time is over. `changed`: of its file; `own_time`: its time to live counts."""
    retained = tag.time_retained
    created = tag.create_time if retained is not None and tag.create_time is not None else changed
    if created is None:
        return False
    too_old = own_time and retained is not None and now - created > retained
    return too_old or (older_than is not None and created < older_than)
