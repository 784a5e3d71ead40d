"""The bytes of a table by who holds them: the newest state, older snapshots, each tag, branch and consumer, changelogs.

Only data and changelog files count; metadata is small beside them. Reads the manifests of every state once.
"""

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime

import pyarrow as pa

from maintenance.metadata.expired import reads_again
from maintenance.metadata.holders import HeldState, Holder, StateKey, holders_of
from maintenance.operations.operation import Operation, Plan, Run, Shown, as_asked
from maintenance.operations.retention.chains import live_of
from maintenance.operations.retention.next_expiry import Expiries
from maintenance.table.table import Table

LIVE, SNAPSHOTS, TAG, BRANCH, CONSUMER, CHANGELOG = "live", "snapshots", "tag", "branch", "consumer", "changelog"


@dataclass(frozen=True, slots=True)
class HeldBytes:
    """What one holder holds.

    Attributes:
        kind: `live`, `snapshots`, `tag`, `branch`, `consumer` or `changelog`; `name`: of a tag, branch or consumer.
        files, bytes: that it needs; of a consumer, those that an expiry would delete at once without it.
        only_bytes: of the files that nothing else needs.
    """

    kind: str
    name: str
    files: int
    bytes: int
    only_bytes: int


@dataclass(frozen=True, slots=True)
class KindBytes:
    """Files of one kind of holder that no kind before it needs; `bytes`: their size."""

    kind: str
    files: int
    bytes: int


@dataclass(frozen=True, slots=True)
class Holdings:
    """Who holds what of a table.

    Attributes:
        holders: each with all that it needs.
        kinds: live, snapshots, tags, branches, changelog, in this order. Each file counts once, for the first kind that
            needs it, so that they add up to the table.
    """

    holders: tuple[HeldBytes, ...]
    kinds: tuple[KindBytes, ...]


@reads_again
def holdings(table: Table, now: datetime | None = None) -> Holdings:
    """As `held_bytes`, and each file once. Raises: CorruptFileError."""
    sizes: dict[str, int] = {}
    groups: dict[tuple[str, str], set[str]] = {(LIVE, ""): set(), (SNAPSHOTS, ""): set()}
    expiries = Expiries.of(table)
    holders = holders_of(expiries.history, table.branch)
    latest = table.snapshots.latest_id()
    for holder, files in _files(table, holders, expiries.history.states):
        sizes |= files
        groups.setdefault(_group(table, holder, latest), set()).update(files)
    for holder in holders:
        changes = _changes(table, holder)
        if changes:
            sizes |= changes
            groups.setdefault((CHANGELOG, ""), set()).update(changes)
    counts = Counter(name for files in groups.values() for name in files)
    found = [
        HeldBytes(
            kind,
            name,
            len(files),
            sum(sizes[file] for file in files),
            sum(sizes[file] for file in files if counts[file] == 1),
        )
        for (kind, name), files in groups.items()
    ]
    return Holdings((*found, *_consumers(expiries, now)), tuple(_by_kind(groups, sizes)))


def _by_kind(groups: Mapping[tuple[str, str], set[str]], sizes: Mapping[str, int]) -> Iterator[KindBytes]:
    counted: set[str] = set()
    for kind in (LIVE, SNAPSHOTS, TAG, BRANCH, CHANGELOG):
        files = {name for (of, _), names in groups.items() if of == kind for name in names} - counted
        counted |= files
        yield KindBytes(kind, len(files), sum(sizes[name] for name in files))


def _files(
    table: Table, holders: list[Holder], states: dict[StateKey, HeldState]
) -> Iterator[tuple[Holder, dict[str, int]]]:
    for holder, entries in live_of(table, holders, lambda _: True, states):
        yield holder, {entry.file.file_name: entry.file.file_size for entry in entries}


def _group(table: Table, holder: Holder, latest: int | None) -> tuple[str, str]:
    if holder.branch != table.branch:
        return BRANCH, holder.branch
    if holder.is_tag:
        return TAG, holder.name.split("'")[1]
    return (LIVE, "") if holder.snapshot.id == latest else (SNAPSHOTS, "")


def _changes(table: Table, holder: Holder) -> dict[str, int]:
    """The changelog files of a snapshot or changelog of this branch."""
    if holder.is_tag or holder.branch != table.branch or holder.snapshot.changelog_manifest_list is None:
        return {}
    entries = table.manifests.changelog_entries(holder.snapshot)
    return {entry.file.file_name: entry.file.file_size for entry in entries}


def _consumers(expiries: Expiries, now: datetime | None) -> Iterator[HeldBytes]:
    names = expiries.table.consumers.names()
    if not names:
        return
    moment = datetime.now(UTC) if now is None else now
    with_all = expiries.at(moment)
    for name in names:
        without = expiries.at(moment, without_consumers=[name])
        size = without.bytes - with_all.bytes
        yield HeldBytes(CONSUMER, name, len(without.freed) - len(with_all.freed), size, size)


@dataclass(frozen=True, slots=True)
class HoldersOfTable:
    """All of them."""


def apply(run: Run, table: Table, _: Plan[HoldersOfTable, None]) -> tuple[HeldBytes, ...]:
    """Read the manifests of every state."""
    return holdings(table, run.now).holders


def _shown(held: tuple[HeldBytes, ...]) -> Shown:
    columns = ("kind", "name", "files", "bytes", "only_bytes")
    return Shown(pa.table({name: [getattr(one, name) for one in held] for name in columns}))


OPERATION = Operation(
    "held_bytes",
    "Show who holds how many bytes of a table.",
    HoldersOfTable,
    as_asked,
    apply,
    _shown,
    looks_only=True,
    has_job=False,
)


held_bytes = OPERATION.function(
    """Show how many bytes of a table or branch each holder keeps. Every other branch counts as one holder.

    Raises: CorruptFileError: a state cannot be read.
    """,
    takes=("now",),
    by_position=("now",),
)
