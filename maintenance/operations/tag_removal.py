"""Take tags away and delete what only they used, so that dying anywhere loses and leaves nothing.

Java deletes the tag's file and then what it named, so that dying between leaves files that nothing names; the other
order would leave a tag that cannot be read. Here the tag is first retired: no reader finds it any more, and its record
names what is to go until that is gone (`unfinished`). What any snapshot, tag or branch needs stays; the changelog is
the snapshots' own. Source: metadata section 10.2, Java `TagManager`, `TagDeletion`.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from maintenance.errors import ConflictError
from maintenance.format.tag import Tag
from maintenance.metadata.branches import Branches
from maintenance.metadata.holders import holders_of, needed_by, tag_census
from maintenance.operations.removal import Leaving, Removal, batch_text, plan_removals, remove
from maintenance.operations.unfinished import unfinished, unfinished_notes
from maintenance.table.table import Table

_MAX_PLANS = 10


@dataclass(frozen=True, slots=True)
class TagRemovalPlan:
    """`census`: the tags of each branch at the time of planning, those that go among them."""

    removals: tuple[Removal, ...]
    census: Mapping[str, tuple[str, ...]]
    notes: tuple[str, ...]

    @property
    def deletions(self) -> dict[str, int]:
        """Bytes of each file that goes, by path."""
        return {deletion.path: deletion.size for removal in self.removals for deletion in removal.deletions}


def plan_tag_removal(table: Table, due: Mapping[str, Tag]) -> TagRemovalPlan:
    """What goes with these tags and with what an earlier run left."""
    branches = Branches(table.file_io, table.paths)
    census = tag_census(branches)
    leaving = unfinished(branches)
    notes = unfinished_notes(leaving)
    leaving += [Leaving(f"tag {name}", tag.snapshot, table.paths.tag(name)) for name, tag in due.items()]
    if not leaving:
        return TagRemovalPlan((), census, ())
    holders = holders_of(branches, table.branch, without_tags=due)
    plan = plan_removals(leaving, needed_by(holders, table.manifests), table.manifests)
    return TagRemovalPlan(plan.removals, census, (*notes, *plan.notes))


def remove_tags(
    table: Table, due: Mapping[str, Tag], plan: TagRemovalPlan, progress: Callable[[str], None]
) -> TagRemovalPlan:
    """Retire the tags and delete what goes. Returns what was deleted: a new plan if other tags appeared meanwhile."""
    branches = Branches(table.file_io, table.paths)
    records = [table.tags.retire(name) for name in due]
    census = {**plan.census, table.branch: tuple(n for n in plan.census[table.branch] if n not in due)}
    for _ in range(_MAX_PLANS):
        if tag_census(branches) == census:
            if plan.removals:
                progress(batch_text(plan.removals))
            remove(table.file_io, plan.removals)
            table.file_io.delete_quietly(records)
            return plan
        plan = plan_tag_removal(table, {})
        census = dict(plan.census)
    raise ConflictError(f"tags appeared in each of {_MAX_PLANS} attempts", table.identifier, "Run again.")
