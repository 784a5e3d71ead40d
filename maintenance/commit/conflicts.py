"""Would these changes corrupt the table if they were applied to this state? Source: Java `ConflictDetection`.

A conflict is never waited out: the state has moved, so the work must be planned again on it.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from maintenance.format.metadata.manifest import FileKind, ManifestEntry

Group = tuple[bytes, int]


@dataclass(frozen=True, slots=True)
class Conflict:
    """Why changes cannot be applied, and the (partition, bucket) groups that are to blame.

    `fix`: what to do where another number of buckets is the reason, since repeating the work does not help then.
    `replayed`: the same commit is in the table already.
    """

    reason: str
    groups: frozenset[Group]
    fix: str | None = None
    replayed: bool = False


def find_conflict(
    base: Iterable[ManifestEntry],
    delta: Sequence[ManifestEntry],
    *,
    key_of: Callable[[bytes], tuple[Any, ...]] | None,
    check_buckets: bool = True,
) -> Conflict | None:
    """The first kind of conflict, with every group that has it.

    Args:
        base: live entries of the partitions that `delta` touches.
        delta: the changes, in order.
        key_of: reads a serialized key, None for a table without primary key.
        check_buckets: entries of a partition must agree on the number of buckets (not when overwriting).
    """
    merged, broken, reason = _merge(base, delta)
    if broken:
        return Conflict(reason, frozenset(broken))
    unmatched = {(entry.partition, entry.bucket) for entry in merged.values() if entry.kind == FileKind.DELETE}
    if unmatched:
        return Conflict("files that this commit replaces were already replaced or deleted", frozenset(unmatched))
    if check_buckets:
        wrong = bucket_mismatch(merged.values(), delta)
        if wrong:
            return Conflict("the number of buckets of the partition has changed", frozenset(wrong))
    if key_of is not None:
        overlapping = _overlaps(merged.values(), delta, key_of)
        if overlapping:
            return Conflict("key ranges of files on one level would overlap", frozenset(overlapping))
    return None


def _merge(
    base: Iterable[ManifestEntry], delta: Sequence[ManifestEntry]
) -> tuple[dict[Any, ManifestEntry], set[Group], str]:
    """Base and changes applied in order; a DELETE without its ADD is kept."""
    merged = {entry.identity: entry for entry in base}
    broken: set[Group] = set()
    for entry in delta:
        if entry.kind == FileKind.ADD:
            if entry.identity in merged:
                broken.add((entry.partition, entry.bucket))
            merged[entry.identity] = entry
        elif merged.pop(entry.identity, None) is None:
            merged[entry.identity] = entry
    return merged, broken, "a file that this commit adds already exists"


def bucket_mismatch(entries: Iterable[ManifestEntry], delta: Sequence[ManifestEntry]) -> set[Group]:
    """Groups of `delta` in partitions whose `entries` have different numbers of buckets."""
    totals: dict[bytes, set[int]] = {}
    for entry in entries:
        if entry.total_buckets > 0:
            totals.setdefault(entry.partition, set()).add(entry.total_buckets)
    mixed = {partition for partition, of_partition in totals.items() if len(of_partition) > 1}
    return {(entry.partition, entry.bucket) for entry in delta if entry.partition in mixed}


def _overlaps(
    entries: Iterable[ManifestEntry], delta: Sequence[ManifestEntry], key_of: Callable[[bytes], tuple[Any, ...]]
) -> set[Group]:
    touched = {(entry.partition, entry.bucket, entry.file.level) for entry in delta if entry.kind == FileKind.ADD}
    levels: dict[tuple[bytes, int, int], list[tuple[Any, Any]]] = {}
    for entry in entries:
        place = (entry.partition, entry.bucket, entry.file.level)
        if entry.kind == FileKind.ADD and entry.file.level > 0 and place in touched:
            levels.setdefault(place, []).append((key_of(entry.file.min_key), key_of(entry.file.max_key)))
    wrong = set()
    for (partition, bucket, _), ranges in levels.items():
        ranges.sort()
        if any(before[1] >= after[0] for before, after in zip(ranges, ranges[1:], strict=False)):
            wrong.add((partition, bucket))
    return wrong
