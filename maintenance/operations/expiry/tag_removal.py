"""Delete tags and the files that only they used; a crash at any point loses nothing and leaves nothing behind.

Java deletes the tag's file and then the files that it named: a crash in between leaves files that nothing names. The
other order would leave a tag that cannot be read. Here the tag is first retired: readers no longer find it, and its
record names the files to delete until they are gone (`unfinished`). If tags changed or snapshots expired since the plan
was made, the rest is planned again; otherwise files that both used would remain. Files that any snapshot, tag or branch
needs stay; changelog files belong to the snapshots alone. Source: metadata section 10.2, Java `TagManager`,
`TagDeletion`.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from maintenance.errors import ConflictError, NotFoundError
from maintenance.format.metadata.tag import Tag
from maintenance.metadata.branches import Branches
from maintenance.metadata.expired import again_if_expired
from maintenance.metadata.hints import EARLIEST
from maintenance.metadata.holders import History, Holder, HolderCensus, holders_of, needed_by
from maintenance.metadata.shares import Sharing, in_one_batch
from maintenance.operations.bin.run import BinRun, Going
from maintenance.operations.expiry.removal import Removal, batch_text, plan_removals, remove
from maintenance.operations.expiry.survey import Leaving, Stage
from maintenance.operations.expiry.unfinished import unfinished, unfinished_notes
from maintenance.table.table import Table

_MAX_PLANS = 10


@dataclass(frozen=True, slots=True)
class TagRemovalPlan:
    """`census`: at the time of planning, with the tags that go."""

    removals: tuple[Removal, ...]
    census: HolderCensus
    notes: tuple[str, ...]

    @property
    def deletions(self) -> dict[str, int]:
        """Bytes of each file that goes, by path."""
        return {deletion.path: deletion.size for removal in self.removals for deletion in removal.deletions}


def plan_tag_removal(table: Table, due: Mapping[str, Tag], sharing: Sharing = in_one_batch) -> TagRemovalPlan:
    """What goes with these tags and with what an earlier run left.

    Raises: CorruptFileError, UnsupportedError; ExpiredError: others keep expiring what the plan looks at.
    """
    return again_if_expired(lambda: _plan(table, due, sharing), _MAX_PLANS)


def _plan(table: Table, due: Mapping[str, Tag], sharing: Sharing) -> TagRemovalPlan:
    branches = Branches(table.file_io, table.paths)
    census = HolderCensus.of(branches)
    leaving = unfinished(branches, table.manifests)
    notes = unfinished_notes(leaving)
    held = () if leaving else _held_by_snapshots(table, due)
    leaving += [Leaving(f"tag {name}", tag.snapshot, table.paths.tag(name)) for name, tag in due.items()]
    if not leaving:
        return TagRemovalPlan((), census, ())
    holders = held or holders_of(History.beside(census, branches, table.manifests), table.branch, without_tags=due)
    plan = plan_removals(leaving, needed_by(holders, table.manifests, sharing), table.manifests, sharing)
    return TagRemovalPlan(plan.removals, census, (*notes, *plan.notes))


def _held_by_snapshots(table: Table, due: Mapping[str, Tag]) -> list[Holder]:
    """The snapshots that tags were made of, if each is still there: then nothing goes, whoever else needs what.

    So the many snapshots of a table are not read to delete a tag of one of them. Empty: one is gone.
    """
    earliest = table.snapshots.read_hint(EARLIEST) or 0
    found = {}
    for tag in due.values():
        snapshot = table.snapshots.find(tag.snapshot.id) if tag.snapshot.id >= earliest else None
        if snapshot != tag.snapshot:
            return []
        found[tag.snapshot.id] = tag.snapshot
    return [Holder(f"snapshot {number}", snapshot, False, table.branch) for number, snapshot in found.items()]


def remove_tags(
    table: Table,
    due: Mapping[str, Tag],
    plan: TagRemovalPlan,
    progress: Callable[[str], None],
    into: BinRun | None = None,
    sharing: Sharing = in_one_batch,
) -> TagRemovalPlan:
    """Retire the tags and delete what goes. Returns what was deleted: a new plan if the census has changed.

    `into`, `sharing`: as of `remove`.
    """
    branches = Branches(table.file_io, table.paths)
    records = {record: name for record, name in ((_retired(table, name), name) for name in due) if record is not None}
    census = plan.census.without_tags(table.branch, due)
    for _ in range(_MAX_PLANS):
        if HolderCensus.of(branches, plan.census) == census:
            if plan.removals:
                progress(batch_text(plan.removals))
            remove(table.file_io, plan.removals, into, sharing)
            if into is None:
                table.file_io.delete_quietly(records)
            else:
                tags = ((record, table.paths.tag(name)) for record, name in records.items())
                into.take([Going(record, None, int(Stage.RECORD), path) for record, path in tags])
            return plan
        plan = plan_tag_removal(table, {}, sharing)
        census = plan.census
    problem = f"tags changed or snapshots expired in each of {_MAX_PLANS} attempts"
    raise ConflictError(problem, table.identifier, "Run the expiry of tags again when fewer jobs change tags.")


def _retired(table: Table, name: str) -> str | None:
    """The record of a tag that is retired now; None if another removal was faster."""
    try:
        return table.tags.retire(name)
    except NotFoundError:
        return None
