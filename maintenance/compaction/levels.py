"""The LSM tree of a bucket: each file of level 0 is a sorted run, each higher level is one.

Source: seed 002 (LSM trees), Java `Levels`.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from maintenance.format.metadata.data_file import DataFileMeta


@dataclass(frozen=True, slots=True)
class SortedRun:
    """Files whose key ranges do not overlap, all on one level."""

    level: int
    files: tuple[DataFileMeta, ...]

    @property
    def size(self) -> int:
        return sum(file.file_size for file in self.files)


def sorted_runs(files: Sequence[DataFileMeta]) -> list[SortedRun]:
    """Runs of a bucket, newest first: level 0 by sequence number, then the higher levels upwards."""
    level0 = sorted(
        (file for file in files if file.level == 0),
        key=lambda f: (-f.max_sequence_number, f.min_sequence_number, f.creation_time or 0, f.file_name),
    )
    runs = [SortedRun(0, (file,)) for file in level0]
    for level in sorted({file.level for file in files if file.level > 0}):
        runs.append(SortedRun(level, tuple(file for file in files if file.level == level)))
    return runs


def level_count(files: Sequence[DataFileMeta], configured: int) -> int:
    """Number of levels of a bucket: as configured, but enough for what is there. Source: Java `Levels`."""
    return max(2, configured, 1 + max((file.level for file in files), default=0))


def run_count(levels: Sequence[int]) -> int:
    """Number of sorted runs of a bucket. `levels`: of its files."""
    return levels.count(0) + len({level for level in levels if level > 0})
