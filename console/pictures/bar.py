"""Bytes of a table as one bar, cut by what they are."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

from maintenance.amounts import size_text

WIDTH = 200.0
# What is there can be seen, however small it is beside the rest.
_LEAST = 2.0


@dataclass(frozen=True, slots=True)
class Part:
    """A part of it. `kind`: of its colour; empty = its name."""

    name: str
    bytes: int
    kind: str = ""

    @property
    def text(self) -> str:
        return f"{self.name}: {size_text(self.bytes)}"


@dataclass(frozen=True, slots=True)
class Piece:
    """A part as it is drawn."""

    part: Part
    x: float
    width: float


@dataclass(frozen=True, slots=True)
class Bar:
    """The pieces from left to right; `bytes`: of all of them."""

    pieces: Sequence[Piece]
    bytes: int

    @property
    def text(self) -> str:
        """What the bar shows, in words."""
        return ", ".join(piece.part.text for piece in self.pieces) or "empty"

    @classmethod
    def of(cls, parts: Sequence[Part]) -> Self:
        """The bar of those parts that have bytes."""
        there = [part for part in parts if part.bytes]
        total = sum(part.bytes for part in there)
        free = WIDTH - _LEAST * len(there)
        pieces, x = [], 0.0
        for part in there:
            width = round(_LEAST + free * part.bytes / total, 1)
            pieces.append(Piece(part, round(x, 1), width))
            x += width
        return cls(pieces, total)
