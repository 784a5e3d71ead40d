"""Partitions as a map: the hotter a square, the nearer its worst bucket is to a compaction."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Self

from maintenance.format.metadata.manifest import ManifestEntry
from maintenance.monitor.triggers import Pressure
from paimon_maintenance.assets.units import files_text

SQUARE, SPACE, ACROSS = 16.0, 3.0, 48
_MOST = 960
HEATS = 5


@dataclass(frozen=True, slots=True)
class Square:
    """A partition. `heat`: 0 (one run or none too many) to 4 (due)."""

    x: float
    y: float
    heat: int
    name: str
    worst: int
    files: int
    bytes: int
    text: str


@dataclass(frozen=True, slots=True)
class Heat:
    """The map; `due`: partitions with a bucket that is due; `hidden`: earlier ones, which are not drawn."""

    squares: Sequence[Square]
    pressure: Pressure
    due: int
    hidden: int
    width: float
    height: float

    @property
    def hottest(self) -> Sequence[Square]:
        """Those that are nearest to a compaction."""
        return sorted(self.squares, key=lambda square: (-square.worst, square.name))[:10]

    @classmethod
    def of(cls, entries: Sequence[ManifestEntry], pressure: Pressure, name: Callable[[bytes], str]) -> Self | None:
        """The map of the partitions of the live files, by name. None: there are none."""
        worst: dict[bytes, int] = {entry.partition: 0 for entry in entries}
        sizes: dict[bytes, tuple[int, int]] = {}
        for (partition, _), count in pressure.buckets.items():
            worst[partition] = max(worst.get(partition, 0), count)
        for entry in entries:
            files, size = sizes.get(entry.partition, (0, 0))
            sizes[entry.partition] = files + 1, size + entry.file.file_size
        if not worst:
            return None
        named = sorted((name(partition) or "whole table", partition) for partition in worst)
        squares = []
        for number, (text, partition) in enumerate(named[-_MOST:]):
            row, column = divmod(number, ACROSS)
            files, size = sizes.get(partition, (0, 0))
            count = worst[partition]
            said = (
                f"{text}: {count} of {pressure.trigger} {pressure.unit} in its worst bucket, {files_text(files, size)}"
            )
            x, y = column * (SQUARE + SPACE), row * (SQUARE + SPACE)
            squares.append(Square(x, y, _heat(count, pressure.trigger), text, count, files, size, said))
        rows = -(-len(squares) // ACROSS)
        width = min(len(squares), ACROSS) * (SQUARE + SPACE)
        due = sum(count >= pressure.trigger for count in worst.values())
        return cls(squares, pressure, due, len(named) - len(squares), width, rows * (SQUARE + SPACE))


def _heat(count: int, trigger: int) -> int:
    if count >= trigger:
        return HEATS - 1
    return 0 if count <= 1 else max(1, min(HEATS - 2, (HEATS - 1) * count // trigger))
