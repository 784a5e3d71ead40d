"""What a statement returns."""

from collections.abc import Sequence
from dataclasses import dataclass, field

import pyarrow as pa


def _nothing() -> pa.Table:
    return pa.table({})


@dataclass(frozen=True, slots=True)
class Result:
    """The rows of a statement. A statement that returns none has a table without columns.

    Attributes:
        nothing_to_do: an operation found nothing to change.
        wrong: what an operation that looks says is wrong, a text for each.
        said: what an operation did, in sentences.
        is_told: these say all that the rows do, and are what people read.
    """

    rows: pa.Table = field(default_factory=_nothing)
    nothing_to_do: bool = False
    wrong: tuple[str, ...] = ()
    said: tuple[str, ...] = ()
    is_told: bool = False

    def to_arrow(self) -> pa.Table:
        return self.rows

    @classmethod
    def of_texts(cls, names: Sequence[str], rows: Sequence[Sequence[str | None]]) -> "Result":
        """Rows of texts under these column names."""
        columns = [pa.array([row[i] for row in rows], pa.string()) for i in range(len(names))]
        return cls(pa.Table.from_arrays(columns, names=list(names)))
