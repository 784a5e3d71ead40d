"""Bytes as areas, in rectangles that are as square as they can be.

Source: Bruls, Huizing, van Wijk, "Squarified Treemaps".
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

from paimon_maintenance.console.pictures.bar import Part

WIDTH, HEIGHT = 640.0, 140.0


@dataclass(frozen=True, slots=True)
class Tile:
    """A part of the whole. `is_wide`: there is room for its name."""

    part: Part
    x: float
    y: float
    width: float
    height: float

    @property
    def is_wide(self) -> bool:
        return self.width >= 60 and self.height >= 18


@dataclass(frozen=True, slots=True)
class Treemap:
    """The tiles, the largest first."""

    tiles: Sequence[Tile]

    @property
    def text(self) -> str:
        """What the picture shows, in words."""
        return ", ".join(tile.part.text for tile in self.tiles)

    @classmethod
    def of(cls, parts: Sequence[Part]) -> Self | None:
        """The tiles of those parts that have bytes. None: none has."""
        there = sorted((part for part in parts if part.bytes > 0), key=lambda part: -part.bytes)
        if not there:
            return None
        scale = WIDTH * HEIGHT / sum(part.bytes for part in there)
        tiles: list[Tile] = []
        x, y, width, height = 0.0, 0.0, WIDTH, HEIGHT
        rest = [(part, part.bytes * scale) for part in there]
        while rest:
            side = min(width, height)
            count = _best(rest, side)
            row, rest = rest[:count], rest[count:]
            thick = sum(area for _, area in row) / side if side else 0.0
            at = 0.0
            for part, area in row:
                length = area / thick if thick else 0.0
                box = (x, y + at, thick, length) if height <= width else (x + at, y, length, thick)
                tiles.append(Tile(part, *(round(value, 1) for value in box)))
                at += length
            if height <= width:
                x, width = x + thick, max(0.0, width - thick)
            else:
                y, height = y + thick, max(0.0, height - thick)
        return cls(tiles)


def _best(rest: Sequence[tuple[Part, float]], side: float) -> int:
    """How many make the next row: as long as its worst tile becomes squarer."""
    worst, total = float("inf"), 0.0
    for count, (_, area) in enumerate(rest, 1):
        total += area
        largest, smallest = rest[0][1], area
        if not (total and side and smallest):
            return max(1, count - 1)
        now = max(side * side * largest / (total * total), total * total / (side * side * smallest))
        if now > worst:
            return count - 1
        worst = now
    return len(rest)
