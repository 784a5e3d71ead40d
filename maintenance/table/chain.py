"""Batch reads of chain tables: partitions put together from a snapshot branch and a delta branch.

The table's own partitions come first, then those of the snapshot branch, then those that only the delta branch has,
each merged with its anchor and the changes in between, by the merge engine of the delta branch. See `scan.chain`.
Source: Java `ChainTableFileStoreTable`, `ChainGroupReadTable`.
"""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Generic, TypeVar

from maintenance.errors import BucketNumberError, UnsupportedError
from maintenance.format.metadata.manifest import EntrySelection, ManifestEntry
from maintenance.format.metadata.snapshot import Snapshot
from maintenance.format.rows.key import key_reader
from maintenance.merge.sections import partition_into_sections
from maintenance.metadata.manifests import Deletions
from maintenance.predicate.tree import Predicate, restrict
from maintenance.scan.chain import CHAIN_BRANCHES, Chains, Link
from maintenance.scan.plan import ScanSource, entry_filter, live_entries
from maintenance.scan.split import Split, SplitOptions, by_bucket, pack
from maintenance.scan.vectors import live_deletions
from maintenance.table.handle import TableHandle

Handle = TypeVar("Handle", bound=TableHandle)
Table_co = TypeVar("Table_co", bound=TableHandle, covariant=True)


@dataclass(frozen=True, slots=True)
class ChainBranches(Generic[Table_co]):
    """The two branches of a chain table. `chains`: how their partitions are related."""

    snapshot: Table_co
    delta: Table_co
    chains: Chains


def chain_of(table: Handle) -> ChainBranches[Handle] | None:
    """The branches that a table is put together from; None if it is none, or one of these branches itself.

    Raises: NotFoundError: a branch does not exist.
    """
    options = table.options
    names = [option.of(options) for option in CHAIN_BRANCHES]
    if not options.is_chain_table or not all(names):
        return None
    if table.branch.lower() in {str(name).lower() for name in names}:
        return None
    snapshot, delta = (table.on_branch(str(name)) for name in names)
    return ChainBranches(snapshot, delta, Chains.of(delta.schema.partition_fields, delta.options, table.identifier))


def refuse_changes(table: TableHandle, what: str) -> None:
    """Raises: UnsupportedError: the table is a chain of branches."""
    if chain_of(table) is not None:
        raise UnsupportedError(
            f"{what} of a chain table, whose rows are those of two branches",
            f"table {table.identifier}",
            "Name a branch, as table$branch_<name>.",
        )


def only_changed(branches: ChainBranches[TableHandle], predicate: Predicate | None) -> set[bytes]:
    """The partitions that only the delta branch has, as far as the filter's conditions on their columns let them."""
    over = None if predicate is None else restrict(predicate, branches.delta.schema.partition_keys)
    changed = _partitions(branches.delta, branches.delta.latest_snapshot(), over)
    return changed - _partitions(branches.snapshot, branches.snapshot.latest_snapshot(), over)


def chained_splits(branches: ChainBranches[TableHandle], wanted: Collection[bytes]) -> Iterator[Split]:
    """Splits of partitions that are put together: they consist of changes and of what is complete before them."""
    delta, snapshot = branches.delta.latest_snapshot(), branches.snapshot.latest_snapshot()
    if delta is None or not wanted:
        return
    changes = _partitions(branches.delta, delta, None)
    anchors = _partitions(branches.snapshot, snapshot, None)
    links = branches.chains.links(wanted, changes, anchors)
    changed = _Side.of(branches.delta, delta, {part for link in links.values() for part in link.changes})
    anchored = _Side.of(
        branches.snapshot, snapshot, {link.anchor for link in links.values() if link.anchor is not None}
    )
    for partition in sorted(wanted):
        yield from _splits_of(branches, delta.id, partition, links[partition], (anchored, changed))


def _partitions(table: TableHandle, snapshot: Snapshot | None, over: Predicate | None) -> set[bytes]:
    """The partitions of a branch that a filter of partitions lets through."""
    if snapshot is None:
        return set()
    return {entry.partition for entry in live_entries(table.scan_source(), snapshot, over)}


@dataclass(frozen=True, slots=True)
class _Side:
    """Files of some partitions of one branch, and their deletion vectors."""

    files: Mapping[bytes, list[ManifestEntry]]
    deletions: Deletions

    @classmethod
    def of(cls, table: TableHandle, snapshot: Snapshot | None, partitions: Collection[bytes]) -> "_Side":
        if snapshot is None or not partitions:
            return cls({}, {})
        source = table.scan_source()
        selection, _ = entry_filter(source, None)
        chosen: EntrySelection = replace(selection, partition=partitions.__contains__)
        entries = source.manifests.live_entries(snapshot, chosen)
        files: dict[bytes, list[ManifestEntry]] = {}
        for entry in entries:
            files.setdefault(entry.partition, []).append(entry)
        return cls(files, _deletions(source, snapshot, entries))


def _deletions(source: ScanSource, snapshot: Snapshot, entries: list[ManifestEntry]) -> Deletions:
    if not source.model.has_deletion_vectors:
        return {}
    return live_deletions(source.manifests, snapshot, entries)


def _splits_of(
    branches: ChainBranches[TableHandle], snapshot_id: int, partition: bytes, link: Link, sides: tuple[_Side, _Side]
) -> Iterator[Split]:
    """Splits of one partition, none of which has a key of another."""
    anchored, changed = sides
    old = [] if link.anchor is None else anchored.files.get(link.anchor, [])
    entries = [*old, *(entry for part in link.changes for entry in changed.files.get(part, []))]
    _check_buckets(branches, partition, entries)
    names = frozenset(entry.file.file_name for entry in old)
    home = {entry.file.file_name: (entry.partition, entry.bucket) for entry in entries}
    read_key = key_reader([field.type for field in branches.delta.schema.key_fields])
    options = SplitOptions.of(branches.delta.options)
    moved = [replace(entry, partition=partition) for entry in entries]
    vectors = {
        name: vector
        for side in sides
        for of_bucket in side.deletions.values()
        for name, vector in of_bucket.items()
        if name in home
    }
    for (_, bucket), group in by_bucket(moved).items():
        sections = partition_into_sections([entry.file for entry in group], read_key)
        flat = [[file for run in section for file in run] for section in sections]
        for packed in pack(flat, lambda section: sum(file.file_size for file in section), options):
            files = tuple(file for section in packed for file in section)
            there = {file.file_name for file in files}
            yield Split(
                snapshot_id,
                partition,
                bucket,
                files,
                raw=False,
                deletions={name: vector for name, vector in vectors.items() if name in there},
                home={name: home[name] for name in there},
                anchored=names & there,
            )


def _check_buckets(branches: ChainBranches[TableHandle], partition: bytes, entries: list[ManifestEntry]) -> None:
    """Raises: BucketNumberError: keys are spread over another number of buckets in some of the partitions."""
    numbers = sorted({entry.total_buckets for entry in entries})
    if len(numbers) > 1:
        named = branches.delta.paths.partition(partition)
        raise BucketNumberError(
            f"the partitions that make up {named} have {' and '.join(map(str, numbers))} buckets",
            f"table {branches.chains.table}",
            "Rescale those of one number with rescale.",
        )
