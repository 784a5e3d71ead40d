"""The sequence numbers of rows.

Rows count up as they come. Writers that write one bucket side by side, without knowing of each other, count in lanes:
no two of them ever give the same number, and none a smaller one than what is there. A lane is a million numbers wide
and then goes on beyond all others, so that a batch takes few of all the numbers there are.

Tables that carry `sequence.auto-padding` number their rows by the user's sequence instead, with digits behind it:
`second-to-micro` and `millis-to-micro` add the microseconds of the clock, `row-kind-flag` lets additions win against
retractions of the same sequence; several go from left to right. Readers order by `sequence.field` first and by these
numbers next, so every Paimon sees that order. Source: seed 004 (sequence auto padding), data section 3; Paimon 2.0
knows the option no more and counts up.
"""

from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from maintenance.format.rows.system_fields import VALUE_KIND
from maintenance.types.nanos import NANOS, parts_of
from maintenance.types.row_kind import is_retract
from maintenance.write.context import WriteContext

_MICROS = {"second-to-micro": 10**6, "millis-to-micro": 10**3}


_LANE_BITS = 20
_LANES_BITS = 16


@dataclass(slots=True)
class Counter:
    """Numbers rows of one bucket. `first`: of the writer's; `lane`: the writer's, None = it is alone."""

    first: int
    lane: int | None = None
    taken: int = 0

    @property
    def lowest(self) -> int:
        """The first number of all."""
        return self.first if self.lane is None else self.first + (self.lane % (1 << _LANES_BITS) << _LANE_BITS)

    def take(self, count: int) -> np.ndarray:
        """The next numbers, int64, shape (count,), ascending."""
        at = np.arange(self.taken, self.taken + count, dtype=np.int64)
        self.taken += count
        if self.lane is None:
            return self.first + at
        return self.lowest + (at >> _LANE_BITS << (_LANE_BITS + _LANES_BITS)) + (at & ((1 << _LANE_BITS) - 1))


def sequence_numbers(rows: pa.Table, context: WriteContext, counted: np.ndarray) -> np.ndarray:
    """Numbers of rows as `conform` returns them. int64, shape (n,). `counted`: of a `Counter`."""
    padding = context.model.sequence_auto_padding
    if not padding:
        return counted
    (name,) = context.model.sequence_field
    column = rows.column(name).combine_chunks()
    numbers = _numbers(column)
    micros = context.clock() % 1000 * 1000
    for step in padding:
        if step in _MICROS:
            numbers = numbers * _MICROS[step] + micros % _MICROS[step]
        else:
            numbers = numbers * 2 + ~is_retract(rows.column(VALUE_KIND.name).to_numpy())
    # Without a sequence there is nothing to pad: such rows lose, and among them the last one counts.
    return np.where(column.is_null().to_numpy(zero_copy_only=False), counted, numbers)


def _numbers(column: pa.Array) -> np.ndarray:
    """Sequences as integers, moments in milliseconds."""
    if column.type == NANOS:
        return parts_of(column)[0] // 1000
    if pa.types.is_timestamp(column.type):
        per_milli = {"s": 0, "ms": 1, "us": 1000, "ns": 10**6}[column.type.unit]
        return np.asarray(column.cast(pa.int64()).fill_null(0).to_numpy() // per_milli)
    if pa.types.is_date(column.type):
        column = column.cast(pa.int32())
    return np.asarray(column.fill_null(0).to_numpy().astype(np.int64))
