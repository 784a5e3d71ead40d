"""Which manifests are sorted together: runs of manifests in order, as a bucket has runs of data files.

Runs get levels by their size, the four largest the levels 1 to 4. Up to four runs are left alone. All are sorted
together when the smaller ones have grown too large beside the largest, else the lower levels and those not much larger.
Source: Java `ManifestFileSorter`, `ManifestPickStrategy`.
"""

import heapq
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import count

from maintenance.commit.manifest_order import EntryOrder, Key, ManifestSorting
from maintenance.format.metadata.manifest_list import ManifestFileMeta

_MAX_LEVEL = 4


@dataclass(frozen=True, slots=True)
class Section:
    """Manifests that are sorted together."""

    files: list[ManifestFileMeta]

    @property
    def size(self) -> int:
        return sum(meta.file_size for meta in self.files)


def runs_of(manifests: Sequence[ManifestFileMeta], order: EntryOrder) -> list[list[ManifestFileMeta]]:
    """The fewest runs of manifests that follow each other, the largest run last."""
    ends: list[tuple[Key, int, list[ManifestFileMeta]]] = []
    numbers = count()
    for meta in order.sorted(manifests):
        if ends and order.follows(order.lowest(meta), ends[0][0]):
            _, number, run = heapq.heappop(ends)
            run.append(meta)
        else:
            number, run = next(numbers), [meta]
        heapq.heappush(ends, (order.highest(meta), number, run))
    return sorted((run for _, _, run in sorted(ends)), key=_size)


def picked(
    runs: Sequence[list[ManifestFileMeta]], sorting: ManifestSorting
) -> tuple[list[ManifestFileMeta], list[ManifestFileMeta]]:
    """The manifests of the runs to sort, and those of the others. `runs`: the largest last."""
    if len(runs) <= _MAX_LEVEL:
        return [], _flat(runs)
    smaller = sum(map(_size, runs[:-1]))
    if smaller * 100 > sorting.size_amplification * _size(runs[-1]):
        return _flat(runs), []
    lower = len(runs) - _MAX_LEVEL + 1
    chosen, left = list(runs[:lower]), []
    size = sum(map(_size, chosen))
    for run in runs[lower:]:
        if size * (100 + sorting.size_ratio) >= _size(run) * 100:
            chosen.append(run)
            size += _size(run)
        else:
            left.append(run)
    return _flat(chosen), _flat(left)


def sections_of(manifests: Sequence[ManifestFileMeta], order: EntryOrder, target_size: int) -> list[Section]:
    """Manifests that overlap are in one section; sections smaller than `target_size` join their neighbour."""
    sections: list[Section] = []
    end: Key = ()
    for meta in order.sorted(manifests):
        low, high = order.lowest(meta), order.highest(meta)
        if not sections or order.follows(low, end):
            sections.append(Section([meta]))
            end = high
        else:
            sections[-1].files.append(meta)
            end = max(end, high)
    joined: list[Section] = []
    for section in sections:
        if joined and (joined[-1].size < target_size or section.size < target_size):
            joined[-1].files.extend(section.files)
        else:
            joined.append(section)
    return joined


def _size(run: Sequence[ManifestFileMeta]) -> int:
    return sum(meta.file_size for meta in run)


def _flat(runs: Sequence[Sequence[ManifestFileMeta]]) -> list[ManifestFileMeta]:
    return [meta for run in runs for meta in run]
