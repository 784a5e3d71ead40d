"""Expire long-lived changelogs and delete what only they used: procedure `expire_changelogs`.

Snapshots leave long-lived changelogs if `changelog.num-retained.min`, `.max` or `changelog.time-retained` are larger
than the retention of snapshots. If these options are removed later, the remaining changelogs expire by the retention of
snapshots, including the last one. The EARLIEST hint moves first, so that readers no longer start at changelogs that are
about to lose files. A run that dies is finished by the next one, which finds the same changelogs. Source: data section
5.1, Java `ExpireChangelogImpl`.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime

from maintenance.format.metadata.snapshot import Snapshot
from maintenance.metadata.branches import Branches
from maintenance.metadata.changelogs import Changelogs
from maintenance.metadata.expired import again_if_expired
from maintenance.metadata.hints import EARLIEST
from maintenance.metadata.holders import holders_of, needed_by
from maintenance.metadata.shares import Sharing, in_one_batch
from maintenance.operations.bin.run import BinRun
from maintenance.operations.expiry.removal import RemovalPlan, plan_removals, remove
from maintenance.operations.expiry.rules import ChangelogRetention, RetentionChoice, plan_changelogs
from maintenance.operations.expiry.survey import Leaving
from maintenance.options import table as table_options
from maintenance.table.table import Table


@dataclass(frozen=True, slots=True)
class ExpireChangelogsReport:
    """What an expiry of changelogs did, or would do.

    Attributes:
        expired: ids, ascending.
        earliest, latest: of the changelogs that stay; None if none does.
        deleted_files: paths, each of which existed; `deleted_bytes`: their size.
        notes: damaged files of expired changelogs, whose data could not be looked for.
    """

    table: str
    expired: tuple[int, ...] = ()
    earliest: int | None = None
    latest: int | None = None
    deleted_files: tuple[str, ...] = ()
    deleted_bytes: int = 0
    notes: tuple[str, ...] = ()
    dry_run: bool = False


def expire_changelogs(
    table: Table,
    *,
    retain_max: int | None = None,
    retain_min: int | None = None,
    older_than: datetime | None = None,
    max_deletes: int | None = None,
    delete_all: bool = False,
    dry_run: bool = False,
    now: datetime | None = None,
    into: BinRun | None = None,
    sharing: Sharing = in_one_batch,
) -> ExpireChangelogsReport:
    """Expire the long-lived changelogs of a table or branch.

    Args:
        retain_max, retain_min: in place of `changelog.num-retained.max` and `.min`, counted from the latest snapshot.
        older_than: in place of `changelog.time-retained`; a time without a zone is local.
        max_deletes: expire at most this many.
        delete_all: expire all of them, whatever the other arguments, the options and consumers say.
        dry_run: report what would go, change nothing.
        now: None = the current time.
        into: takes what is deleted, so that it can be restored; None = it is destroyed at once.
        sharing: who reads, looks for and deletes files.
    Raises: CorruptFileError: a file that something else needs is missing or damaged; nothing is deleted then.
        OptionError; UnsupportedError.
    """
    table_options.check_keepable(table.options, table.identifier)
    changelogs = table.changelogs
    by_id = {changelog.id: changelog for changelog in changelogs.all()}
    latest = table.snapshots.latest_id()
    if not by_id or latest is None:
        return ExpireChangelogsReport(table.identifier, dry_run=dry_run)
    retention = ChangelogRetention.of(
        table.options,
        table.consumers.next_snapshots(),
        datetime.now(UTC) if now is None else now,
        RetentionChoice(retain_max, retain_min, older_than),
    )
    due = tuple(by_id)
    if not delete_all:
        due = plan_changelogs(list(by_id), latest, lambda number: by_id[number].time_millis, retention)
        due = due if max_deletes is None else due[: max(0, max_deletes)]
    plan = again_if_expired(lambda: _plan(table, by_id, due, sharing))
    kept = [number for number in by_id if number not in due]
    if due and not dry_run:
        _carry_out(table, changelogs, plan, kept, into, sharing)
    deletions = [deletion for removal in plan.removals for deletion in removal.deletions]
    return ExpireChangelogsReport(
        table=table.identifier,
        expired=due,
        earliest=min(kept, default=None),
        latest=max(kept, default=None),
        deleted_files=tuple(deletion.path for deletion in deletions),
        deleted_bytes=sum(deletion.size for deletion in deletions),
        notes=plan.notes,
        dry_run=dry_run,
    )


def _plan(table: Table, by_id: Mapping[int, Snapshot], due: tuple[int, ...], sharing: Sharing) -> RemovalPlan:
    if not due:
        return RemovalPlan(())
    path = table.paths.changelog
    leaving = [Leaving(f"changelog {number}", by_id[number], path(number), is_changelog=True) for number in due]
    branches, manifests = Branches(table.file_io, table.paths), table.manifests
    holders = holders_of(branches, manifests, table.branch, without_changelogs=due)
    return plan_removals(leaving, needed_by(holders, manifests, sharing), manifests, sharing)


def _carry_out(
    table: Table,
    changelogs: Changelogs,
    plan: RemovalPlan,
    kept: list[int],
    into: BinRun | None,
    sharing: Sharing,
) -> None:
    if kept:
        changelogs.write_hint(EARLIEST, kept[0])
    remove(table.file_io, plan.removals, into, sharing)
    if not kept:
        changelogs.delete_hints()
    if into is not None:
        into.close()
