"""Those who keep the table in order: compaction, expiry, tags, branches and orphans."""

from datetime import UTC, datetime, timedelta

from maintenance.errors import NotFoundError
from maintenance.metadata.branches import Branches
from maintenance.operations.compaction.compact import compact
from maintenance.operations.compaction.produce_changelog import produce_changelog
from maintenance.operations.compaction.report import CompactReport
from maintenance.operations.expiry.expire_snapshots import expire_snapshots
from maintenance.operations.expiry.expire_tags import expire_tags
from maintenance.operations.orphans.remove_orphan_files import remove_orphan_files
from maintenance.operations.refs.create_branch import create_branch
from maintenance.operations.refs.create_tag import create_tag
from maintenance.operations.refs.delete_branch import delete_branch
from maintenance.operations.refs.delete_tag import delete_tag
from maintenance.operations.refs.rename_tag import rename_tag
from maintenance.operations.refs.replace_tag import replace_tag
from tests.chaos.worker import Worker
from tests.models.reachable import files_of

# Longer than any process stands still or repeats a commit: younger files may be those of a running writer.
FLOOR = timedelta(seconds=30)
_MOST_TAGS = 6
_MOST_BRANCHES = 2
# Tags with such a name expire by themselves.
PASSING = "passing"


def compacts(worker: Worker) -> None:
    """Compact until asked to stop."""
    while not (worker.stopping or worker.place.finish):
        worker.attempt("compact", lambda: _compacted(worker))
        worker.pause(0.8)


def _compacted(worker: Worker) -> dict[str, object]:
    table, dice = worker.table, worker.dice
    report: CompactReport
    if worker.scenario.produces:
        report = produce_changelog(None, table)
    else:
        sorts = not worker.scenario.workload.keyed and table.options["bucket"] == "-1" and dice.random() < 0.1
        order = {"order_strategy": "zorder", "order_by": ["id", "v"]} if sorts else {"full": dice.random() < 0.3}
        report = compact(None, table, groups_per_commit=dice.choice((None, 1)), **order)
    failed = [f"{group.partition} {group.bucket}: {group.message}" for group in report.failed]
    return {"snapshots": list(report.snapshot_ids), "failed": failed, "through": report.compacted_through}


def expires(worker: Worker) -> None:
    """Expire snapshots and tags until asked to stop."""
    dice = worker.dice
    while not (worker.stopping or worker.place.finish):
        with worker.may_expire():
            if dice.random() < 0.8:
                worker.attempt("expire_snapshots", lambda: _expired(worker))
            else:
                worker.attempt("expire_tags", lambda: list(expire_tags(worker.table).expired))
        worker.pause(1.0)


def _expired(worker: Worker) -> dict[str, object]:
    dice = worker.dice
    report = expire_snapshots(
        worker.table,
        retain_max=dice.randint(2, 15),
        retain_min=1,
        older_than=datetime.now(UTC) if dice.random() < 0.5 else None,
        dry_run=dice.random() < 0.1,
    )
    return {"expired": list(report.expired), "files": len(report.deleted_files), "notes": list(report.notes)}


def sweeps(worker: Worker) -> None:
    """Remove orphan files until asked to stop, those of killed processes among them."""
    while not (worker.stopping or worker.place.finish):
        worker.attempt("remove_orphan_files", lambda: _swept(worker))
        worker.pause(6.0)


def _swept(worker: Worker) -> dict[str, object]:
    dry_run = worker.dice.random() < 0.1
    report = remove_orphan_files(None, worker.table, minimum_age=FLOOR, never_committed=True, dry_run=dry_run)
    return {"files": report.deleted_files, "kept": list(report.kept), "notes": list(report.notes)}


def tags(worker: Worker) -> None:
    """Create, move, rename and delete tags and branches until asked to stop."""
    while not (worker.stopping or worker.place.finish):
        _tag_step(worker)
        worker.pause(0.6)


def _tag_step(worker: Worker) -> None:
    table, dice = worker.table, worker.dice
    names = table.tags.names()
    drawn = dice.random()
    if not names or (drawn < 0.45 and len(names) < _MOST_TAGS):
        passing = dice.random() < 0.3
        name = f"{PASSING if passing else 'kept'}-{worker.place.incarnation}-{dice.randrange(10**9)}"
        retained = timedelta(seconds=2) if passing else None
        snapshot_id = _some_snapshot(worker)
        worker.attempt(
            "create_tag", lambda: create_tag(table, name, snapshot_id=snapshot_id, time_retained=retained).snapshot_id,
            tag=name,
        )  # fmt: skip
        return
    name = dice.choice(names)
    if drawn < 0.55:
        snapshot_id = _some_snapshot(worker)
        worker.attempt("replace_tag", lambda: replace_tag(table, name, snapshot_id=snapshot_id).snapshot_id, tag=name)
    elif drawn < 0.65:
        to = f"{PASSING if name.startswith(PASSING) else 'kept'}-{worker.place.incarnation}-{dice.randrange(10**9)}"
        worker.attempt("rename_tag", lambda: _renamed(worker, name, to), tag=name, to=to)
    elif drawn < 0.8:
        _branch_step(worker, name)
    else:
        worker.attempt("delete_tag", lambda: list(delete_tag(table, name).expired), tag=name)


def _renamed(worker: Worker, name: str, to: str) -> str:
    rename_tag(worker.table, name, to)
    return to


def _some_snapshot(worker: Worker) -> int | None:
    """A snapshot that may expire any moment, or None for the latest."""
    earliest, latest = worker.table.snapshots.earliest_id(), worker.table.snapshots.latest_id()
    if earliest is None or latest is None or worker.dice.random() < 0.3:
        return None
    return worker.dice.randint(earliest, latest)


def _branch_step(worker: Worker, tag: str) -> None:
    table, dice = worker.table, worker.dice
    branches = [name for name in Branches(table.file_io, table.paths).names() if name != "main"]
    if len(branches) < _MOST_BRANCHES:
        name = f"b{worker.place.incarnation}x{dice.randrange(10**9)}"
        worker.attempt("create_branch", lambda: create_branch(table, name, tag=tag).snapshot_id, branch=name)
    else:
        name = dice.choice(branches)
        worker.attempt("delete_branch", lambda: _deleted_branch(worker, name), branch=name)


def _deleted_branch(worker: Worker, name: str) -> list[str]:
    """Delete a branch. Returns the files that it named: those that nothing else names belong to nobody then."""
    try:
        table = worker.table.on_branch(name)
        held = [table.snapshots.get(number) for number in table.snapshots.list_ids()]
        left = {path for snapshot in held for path in files_of(table, snapshot)}
        worker.journal.note("leaves", files=sorted(left))
        delete_branch(worker.table, name)
    except NotFoundError:  # an earlier incarnation deleted it
        return []
    return sorted(left)
