"""Parts of plans that several operations name: partitions with their files, tags and snapshots by what they hold."""

from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, datetime

from maintenance.format.metadata.manifest import ManifestEntry
from maintenance.format.metadata.snapshot import Snapshot
from maintenance.metadata.partition_value import PartitionValue
from maintenance.operations.plan_store import PlannedGroup
from maintenance.table.table import Table

ONLY_THEY = "only they use"


def committed(snapshot: Snapshot | None) -> str:
    """When a snapshot was committed."""
    if snapshot is None:
        return "of an unknown time"
    return f"committed {snapshot.committed_at:%FT%TZ}"


def tagged(table: Table, name: str) -> Snapshot | None:
    """The snapshot that a tag holds; None: the tag is gone."""
    tag = table.tags.find(name)
    return None if tag is None else tag.snapshot


def tag_group(table: Table, name: str, then: str = "", expected_files: int = 0) -> PlannedGroup:
    """A tag by what it holds. `then`: what becomes of it, unless it just goes."""
    held = tagged(table, name)
    reason = f"of snapshot {'?' if held is None else held.id}, {committed(held)}{then}"
    return PlannedGroup.of_snapshot(f"tag {name}", held, expected_files, reason)


def files_group(files: Iterable[str], size: int) -> Iterator[PlannedGroup]:
    """The files that go because nothing else uses them; none: no group."""
    paths = tuple(sorted(files))
    if paths:
        yield PlannedGroup("files", paths, size, 0, ONLY_THEY)


def entries_by_partition(
    table: Table, partitions: Iterable[PartitionValue]
) -> Mapping[PartitionValue, list[ManifestEntry]]:
    """The live files of some partitions."""
    wanted = {partition: list[ManifestEntry]() for partition in partitions}
    snapshot = table.latest_snapshot()
    for entry in () if snapshot is None or not wanted else table.manifests.live_entries(snapshot):
        found = wanted.get(table.paths.partition(entry.partition))
        if found is not None:
            found.append(entry)
    return wanted


def group_of_files(name: str, entries: Iterable[ManifestEntry], reason: str, expected_files: int = 0) -> PlannedGroup:
    """A part of a plan with its data files."""
    files = [entry.file for entry in entries]
    names = tuple(sorted(file.file_name for file in files))
    return PlannedGroup(name, names, sum(file.file_size for file in files), expected_files, reason)


def partition_groups(
    table: Table, partitions: Iterable[PartitionValue], reason: str, expected_files: int = 0
) -> Iterator[PlannedGroup]:
    """A group for each partition, with its live files and the age of the newest."""
    for partition, entries in entries_by_partition(table, partitions).items():
        newest = max((entry.file.creation_time or 0 for entry in entries), default=0)
        age = f"; its newest file is of {datetime.fromtimestamp(newest / 1000, UTC):%FT%T}" if newest else ""
        name = str(partition) if partition else "all rows"
        yield group_of_files(name, entries, f"{reason}{age}", expected_files)
