"""Cut the files of a bucket into sections that do not overlap, and each section into sorted runs.

Files are walked by (minimum key, maximum key); a file whose minimum is above everything seen opens a new section.
Inside a section a file joins the run that ends first, if it starts strictly after it. Keys compare by value, never by
their serialized bytes. Source: Java `IntervalPartition`.
"""

import heapq
from collections.abc import Callable, Sequence
from typing import Any

from maintenance.format.metadata.data_file import DataFileMeta

Key = tuple[Any, ...]
Run = tuple[DataFileMeta, ...]
Section = tuple[Run, ...]


def partition_into_sections(files: Sequence[DataFileMeta], key_of: Callable[[bytes], Key]) -> list[Section]:
    """Sections in key order, each a tuple of runs whose files do not overlap.

    Args: `files`: of one bucket; `key_of`: a serialized key as a tuple that compares as Paimon compares keys.
    """
    bounds = [(key_of(file.min_key), key_of(file.max_key), index) for index, file in enumerate(files)]
    bounds.sort()
    sections: list[Section] = []
    section: list[tuple[Key, Key, DataFileMeta]] = []
    end: Key | None = None
    for low, high, index in bounds:
        if end is not None and low > end:
            sections.append(_runs(section))
            section, end = [], None
        section.append((low, high, files[index]))
        end = high if end is None else max(end, high)
    if section:
        sections.append(_runs(section))
    return sections


def _runs(section: Sequence[tuple[Key, Key, DataFileMeta]]) -> Section:
    runs: list[list[DataFileMeta]] = []
    ends: list[tuple[Key, int]] = []
    for low, high, file in section:
        if ends and low > ends[0][0]:
            _, run = heapq.heappop(ends)
            runs[run].append(file)
        else:
            run = len(runs)
            runs.append([file])
        heapq.heappush(ends, (high, run))
    return tuple(tuple(run) for run in runs)


def levels_apart(section: Section) -> Section:
    """The runs of a section, the files of each level in runs of their own: sections do not look at levels."""
    return tuple(
        tuple(file for file in run if file.level == level)
        for run in section
        for level in sorted({file.level for file in run})
    )


def oldest_first(section: Section) -> list[Run]:
    """The runs of a section by age: higher levels first, then by sequence number. Speeds up the merge's sort."""
    return sorted(section, key=lambda run: (-run[0].level, max(file.max_sequence_number for file in run)))
