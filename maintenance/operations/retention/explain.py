"""Why something is still there: `explain`. Reads metadata alone and changes nothing.

A file stays while a snapshot, tag or long-lived changelog of any branch names it, through manifest lists, manifests and
index manifests; these stay by the rules of their branch. The answer names each such chain, and what would release it.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Annotated

from maintenance.amounts import number_of, size_text
from maintenance.errors import NotFoundError, OptionError
from maintenance.format.metadata.manifest import ManifestEntry
from maintenance.metadata.branch_root import MAIN_BRANCH
from maintenance.metadata.branches import Branches
from maintenance.metadata.expired import again_if_expired
from maintenance.metadata.holders import History, Holder, holders_of, needed_by
from maintenance.metadata.partition_names import Spec
from maintenance.metadata.partition_value import covering
from maintenance.operations.expiry.removal import plan_removals
from maintenance.operations.expiry.survey import Leaving
from maintenance.operations.expiry.tag_removal import plan_tag_removal
from maintenance.operations.operation import Operation, Plan, Run, Shown, as_asked
from maintenance.operations.parameters import Param, specs
from maintenance.operations.retention.chains import Held, chains, live_of
from maintenance.operations.retention.keepers import Keeper, Reasons
from maintenance.table.partitions import named_partitions
from maintenance.table.table import Table

_ATTEMPTS = 10


@dataclass(frozen=True, slots=True)
class Explanation:
    """What keeps a thing.

    Attributes:
        subject: the thing, in words.
        kept_by: those that keep it; it stays until all of them are released. None = nothing names it.
        bytes: of a snapshot or tag, what its removal alone would free; of a partition, its files in the newest state.
        note: what else is to be known.
    """

    table: str
    subject: str
    kept_by: tuple[Keeper, ...]
    bytes: int = 0
    note: str = ""


@dataclass(frozen=True, slots=True)
class Explain:
    """What to explain: one file, snapshot, tag or partition."""

    file: Annotated[str | None, Param("Explain what keeps this file, by its path or name.")] = None
    snapshot_id: Annotated[int | None, Param("Explain what keeps this snapshot.", others=("snapshot",))] = None
    tag: Annotated[str | None, Param("Explain what keeps this tag.")] = None
    partition: Annotated[Spec | None, Param("A partition, e.g. month=7.", read=lambda value: specs(value)[0])] = None


def apply(run: Run, table: Table, planned: Plan[Explain, None]) -> Explanation:
    """Say what keeps a thing."""
    asked = planned.request
    if sum(part is not None for part in (asked.file, asked.snapshot_id, asked.tag, asked.partition)) != 1:
        fix = "Name one file, snapshot, tag or partition."
        raise OptionError("one thing is explained at a time", table.identifier, fix)

    def explained() -> Explanation:
        reasons = Reasons(table, run.moment)
        if asked.snapshot_id is not None:
            return _snapshot(table, asked.snapshot_id, reasons)
        if asked.tag is not None:
            return _tag(table, asked.tag, reasons)
        if asked.partition is not None:
            return _partition(table, asked.partition, reasons)
        return _file(table, asked.file or "", reasons)

    return again_if_expired(explained, _ATTEMPTS)


def _shown(report: Explanation) -> Shown:
    rows = [(keeper.holder, " → ".join(keeper.chain), keeper.reason, keeper.release) for keeper in report.kept_by]
    return Shown.texts(("kept_by", "chain", "reason", "release"), rows)


def _said(report: Explanation) -> Iterator[str]:
    for keeper in report.kept_by:
        yield f"{report.subject} is kept by {keeper.holder}: {keeper.reason}. {keeper.release}"
    if not report.kept_by:
        yield f"Nothing keeps {report.subject}. {report.note}".rstrip()


OPERATION = Operation(
    "explain",
    "Show what keeps a file, snapshot, tag or partition, and what would release it.",
    Explain,
    as_asked,
    apply,
    _shown,
    looks_only=True,
    said=_said,
)


def _snapshot(table: Table, snapshot_id: int, reasons: Reasons) -> Explanation:
    holders = _holders(table)
    own = [h for h in holders if h.branch == table.branch and h.snapshot.id == snapshot_id and not h.is_changelog]
    if not own:
        ids = f"{table.snapshots.earliest_id()} to {table.snapshots.latest_id()}"
        problem = f"snapshot {snapshot_id} does not exist, and no tag holds it"
        raise NotFoundError(problem, table.identifier, f"Use one of {ids}.")
    kept_by = [Keeper(holder.name, (holder.name,), *reasons.of(holder)) for holder in own]
    snapshot = table.snapshots.find(snapshot_id)
    freed = 0
    if snapshot is not None:
        following = table.snapshots.find(snapshot_id + 1)
        leaving = Leaving(str(snapshot_id), snapshot, table.paths.snapshot(snapshot_id), following)
        others = [holder for holder in holders if holder not in own or holder.is_tag]
        freed = _freed(table, leaving, others)
    note = "Snapshots expire from the oldest on: it goes after all before it."
    return Explanation(table.identifier, f"snapshot {snapshot_id}", tuple(kept_by), freed, note)


def _freed(table: Table, leaving: Leaving, others: Sequence[Holder]) -> int:
    if leaving.following is None and not others:
        return 0
    plan = plan_removals([leaving], needed_by(others, table.manifests), table.manifests)
    return sum(part.size for removal in plan.removals for part in removal.deletions)


def _tag(table: Table, name: str, reasons: Reasons) -> Explanation:
    held = table.tags.get(name)
    holder = Holder(f"tag '{name}'", held.snapshot, True, table.branch)
    keeper = Keeper(holder.name, (holder.name, f"snapshot {held.snapshot.id}"), *reasons.of(holder))
    freed = sum(plan_tag_removal(table, {name: held}).deletions.values())
    return Explanation(table.identifier, f"tag '{name}'", (keeper,), freed)


def _partition(table: Table, spec: Spec, reasons: Reasons) -> Explanation:
    unknown = [name for name in spec if name not in table.schema.partition_keys]
    if unknown or not spec:
        columns = ", ".join(table.schema.partition_keys) or "none"
        raise NotFoundError(f"{dict(spec)} is not a partition", table.identifier, f"Partition columns are: {columns}.")
    (named,) = named_partitions(table, [spec])
    covers = covering(table.schema.partition_fields, [named])
    latest = table.latest_snapshot()
    live = [] if latest is None else [e for e in table.manifests.live_entries(latest) if covers(e.partition)]
    names = {entry.file.file_name for entry in live}
    keepers = []
    if live:
        release = "drop_partition, or expire_partitions by partition.expiration-time; then the expiry of snapshots"
        keepers.append(Keeper("the current state", (_counted(live),), "its rows are in the table", release))
    held = []
    for holder, entries in live_of(table, _holders(table), lambda entry: covers(entry.partition)):
        old = [entry for entry in entries if entry.file.file_name not in names]
        if old:
            held.append((holder, (holder.name, _counted(old))))
    keepers += _grouped(held, reasons)
    if not keepers:
        problem = f"nothing has a partition {dict(named)}"
        raise NotFoundError(problem, table.identifier, "Look at the table's $partitions.")
    size = sum(entry.file.file_size for entry in live)
    return Explanation(table.identifier, f"partition {named}", tuple(keepers), size)


def _counted(entries: Sequence[ManifestEntry]) -> str:
    return f"{number_of(len(entries), 'data file')}, {size_text(sum(entry.file.file_size for entry in entries))}"


def _file(table: Table, path: str, reasons: Reasons) -> Explanation:
    name = path.rstrip("/").rpartition("/")[2]
    of_snapshot, of_tag = re.fullmatch(r"snapshot-(\d+)", name), re.fullmatch(r"tag-(.+)", name)
    if of_snapshot is not None:
        return replace(_snapshot(table, int(of_snapshot[1]), reasons), subject=f"file {name}")
    if of_tag is not None:
        return replace(_tag(table, of_tag[1], reasons), subject=f"file {name}")
    if re.fullmatch(r"schema-\d+", name):
        keeper = Keeper("the table", (name,), "schemas are never expired", "dropping the table or branch")
        return Explanation(table.identifier, f"file {name}", (keeper,))
    holders = _holders(table)
    held = list(chains(table, holders, name))
    kept_by = _grouped(held, reasons)
    note = "" if kept_by else "Nothing names it: remove_orphan_files deletes it once it is older than a day."
    return Explanation(table.identifier, f"file {name}", tuple(kept_by), note=note)


def _holders(table: Table) -> list[Holder]:
    return holders_of(History(Branches(table.file_io, table.paths), table.manifests), table.branch)


def _grouped(held: Sequence[Held], reasons: Reasons) -> list[Keeper]:
    """One keeper for all snapshots of a branch that stay for one reason, with the chain of the newest."""
    groups: dict[tuple[str, str, str], list[Held]] = {}
    keepers = []
    for holder, chain in held:
        reason, release = reasons.of(holder)
        if holder.is_tag or holder.is_changelog:
            keepers.append(Keeper(holder.name, chain, reason, release))
            continue
        # The end of the age rule differs from one snapshot to the next.
        kind = release.split(" after ")[0]
        groups.setdefault((holder.branch, reason, kind), []).append((holder, chain))
    shown = []
    for (branch, reason, _), members in groups.items():
        members = sorted(members, key=lambda member: member[0].snapshot.id)
        first, (last, chain) = members[0][0], members[-1]
        release = reasons.of(last)[1]
        where = "" if branch == MAIN_BRANCH else f" of branch {branch}"
        name = f"snapshots {first.snapshot.id} to {last.snapshot.id}{where}" if len(members) > 1 else last.name
        shown.append(Keeper(name, chain, reason, release))
    return [*shown, *keepers]


explain = OPERATION.function(
    """Show what keeps a file, snapshot, tag or partition of a table or branch, and what would release it.

    Args:
        file: the path or name of a file.
        partition: columns to values as texts. Some of the columns suffice, and may name several partitions.
    Raises: OptionError: not exactly one is given; NotFoundError: no such snapshot, tag or partition; CorruptFileError.
    """,
    takes=("now",),
)
