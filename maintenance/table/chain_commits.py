"""What commits to the branches of a chain table have to see to.

A partition of the snapshot branch that changes of the delta branch build on is not dropped. What replaces or drops
partitions of the delta branch drops those of the snapshot branch, which were made of them: the delta branch is
committed first, so that nothing is lost if the other commit fails; then the same overwrite can be repeated.
Source: Java `ChainTableCommitPreCallback`, `ChainTableOverwriteCommitCallback`.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from maintenance.commit.identity import OPERATION_PROPERTY, CommitIdentity
from maintenance.commit.overwrite import drop_partitions
from maintenance.commit.rules import NO_RULES, CommitRules
from maintenance.errors import DataError
from maintenance.format.metadata.manifest import FileKind, ManifestEntry
from maintenance.format.metadata.snapshot import CommitKind, Snapshot
from maintenance.scan.chain import CHAIN_BRANCHES, Chains
from maintenance.table.handle import TableHandle

# Operations that write the rows of partitions again, and change none.
_SAME_ROWS = frozenset({"rescale"})


def commit_rules(table: TableHandle) -> CommitRules:
    """The rules for a branch of a chain table, none for any other table."""
    options = table.options
    if not options.is_chain_table:
        return NO_RULES
    snapshot, delta = (option.of(options) for option in CHAIN_BRANCHES)
    if snapshot is None or delta is None or table.branch.lower() not in (snapshot.lower(), delta.lower()):
        return NO_RULES
    chains = Chains.of(table.schema.partition_fields, options, table.identifier)
    if table.branch.lower() == snapshot.lower():
        return SnapshotBranchRules(table, delta, chains)
    return DeltaBranchRules(table, snapshot, chains)


@dataclass(frozen=True, slots=True)
class SnapshotBranchRules(CommitRules):
    """`table`: the snapshot branch; `delta`: the name of the other one."""

    table: TableHandle
    delta: str
    chains: Chains

    def check(self, kind: CommitKind, entries: Sequence[ManifestEntry], latest: Snapshot | None) -> None:
        """Raises: DataError: partitions that go are the anchors of changes that stay."""
        if kind != CommitKind.OVERWRITE or any(entry.kind == FileKind.ADD for entry in entries):
            return
        going = {entry.partition for entry in entries}
        if going:
            check_droppable(self.table, self.table.on_branch(self.delta), self.chains, going, latest)


@dataclass(frozen=True, slots=True)
class DeltaBranchRules(CommitRules):
    """`table`: the delta branch; `snapshot`: the name of the other one."""

    table: TableHandle
    snapshot: str
    chains: Chains

    def check(self, kind: CommitKind, entries: Sequence[ManifestEntry], latest: Snapshot | None) -> None:
        """Raises: DataError: a partition of the snapshot branch that has to go is the anchor of changes that stay."""
        del latest
        if kind != CommitKind.OVERWRITE:
            return
        other = self.table.on_branch(self.snapshot)
        going = {entry.partition for entry in entries} & _partitions(other)
        added = {entry.partition for entry in entries if entry.kind == FileKind.ADD}
        gone = {entry.partition for entry in entries} - added
        if going:
            check_droppable(other, self.table, self.chains, going, other.latest_snapshot(), gone)

    def published(self, snapshot: Snapshot) -> None:
        operation = (snapshot.properties or {}).get(OPERATION_PROPERTY)
        if snapshot.commit_kind != CommitKind.OVERWRITE or operation in _SAME_ROWS:
            return
        replaced = {entry.partition for entry in self.table.manifests.delta_entries(snapshot)}
        other = self.table.on_branch(self.snapshot)
        identity = CommitIdentity(snapshot.commit_user, properties={OPERATION_PROPERTY: "chain_overwrite"})
        drop_partitions(other.commit_target(), identity, lambda live: replaced & {entry.partition for entry in live})


def check_droppable(
    snapshot_branch: TableHandle,
    delta_branch: TableHandle,
    chains: Chains,
    going: Collection[bytes],
    latest: Snapshot | None,
    gone: Collection[bytes] = (),
) -> None:
    """Refuse to drop partitions of the snapshot branch that changes build on, where no earlier partition is left.

    Args: `latest`: state of the snapshot branch; `gone`: partitions that the delta branch is about to lose.
    Raises: DataError.
    """
    staying = _partitions(snapshot_branch, latest) - set(going)
    changes = _partitions(delta_branch) - set(gone)
    for partition in sorted(going):
        group, place = chains.group(partition), chains.place(partition)
        ends = [chains.place(other) for other in staying if chains.group(other) == group]
        if any(end < place for end in ends):
            continue
        following = min((end for end in ends if end > place), default=None)
        built = [
            change
            for change in changes
            if chains.group(change) == group
            and chains.place(change) > place
            and (following is None or chains.place(change) < following)
        ]
        if built:
            first = min(built, key=chains.place)
            shown = snapshot_branch.paths.partition
            raise DataError(
                f"partition {shown(partition)} is what {shown(first)} of the delta branch builds on",
                f"table {snapshot_branch.identifier}",
                "Drop the changes first, or write a later complete partition.",
            )


def _partitions(table: TableHandle, snapshot: Snapshot | None = None) -> set[bytes]:
    snapshot = table.latest_snapshot() if snapshot is None else snapshot
    if snapshot is None:
        return set()
    return {entry.partition for entry in table.manifests.live_entries(snapshot)}
