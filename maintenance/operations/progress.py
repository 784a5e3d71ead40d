"""What running operations tell: a line for each thing that happens."""

from collections.abc import Callable
from typing import Self

Progress = Callable[[str], None]


class Counted(str):
    """A line that also says how far the work is: `done` of `total`."""

    __slots__ = ("done", "total")

    done: int
    total: int

    def __new__(cls, text: str, done: int, total: int) -> Self:
        line = super().__new__(cls, text)
        line.done, line.total = done, total
        return line
