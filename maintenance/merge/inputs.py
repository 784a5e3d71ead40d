"""The records of many keys as the inputs of one column: what each record does to the value its key has so far.

A key is a *segment*: records that follow each other, oldest first. No segment is empty. Everything here works on all
segments at once, with `reduceat` kernels or one step for each rank inside the segments, never record by record.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from enum import IntEnum
from functools import cached_property

import numpy as np
import pyarrow as pa


class Op(IntEnum):
    """What a record does to the value so far.

    BEHIND is an addition that comes too late: its sequence group has seen a larger sequence, so it is put before what
    was collected so far. SET replaces the value with its own, nothing is aggregated.
    """

    ADD = 0
    RETRACT = 1
    BEHIND = 2
    SET = 3


@dataclass(frozen=True)
class Inputs:
    """The inputs of one column.

    Attributes:
        column: the values of all records, in any order.
        order: int64, shape (n,): the records that take part, as positions in `column`, by key, then age. n > 0.
        starts: int64, shape (k,): first position in `order` of each segment, ascending; 0 first.
        ops: int8, shape (n,), values of `Op`; None = every record is an addition.
    """

    column: pa.Array
    order: np.ndarray
    starts: np.ndarray
    ops: np.ndarray | None = None

    @cached_property
    def ends(self) -> np.ndarray:
        """Position after each segment's last record."""
        return np.append(self.starts[1:], len(self.order))

    @cached_property
    def counts(self) -> np.ndarray:
        return np.asarray(self.ends - self.starts)

    @cached_property
    def segment(self) -> np.ndarray:
        """Number of each record's segment. Shape (n,)."""
        return np.repeat(np.arange(len(self.starts)), self.counts)

    @cached_property
    def valid(self) -> np.ndarray:
        """Whether each record's value is there, not null. Shape (n,)."""
        if not self.column.null_count:
            return np.ones(len(self.order), bool)
        return np.asarray(self.column.is_valid().to_numpy(zero_copy_only=False)[self.order])

    @cached_property
    def values(self) -> pa.Array:
        """The values in order. Shape (n,)."""
        return self.column.take(pa.array(self.order))

    def is_op(self, *ops: Op) -> np.ndarray:
        """Whether each record does one of these. Shape (n,)."""
        if self.ops is None:
            return np.full(len(self.order), Op.ADD in ops)
        return np.isin(self.ops, ops)

    def has(self, op: Op) -> bool:
        return self.ops is not None and bool((self.ops == op).any())

    def last(self, where: np.ndarray | None = None) -> np.ndarray:
        """Position of each segment's last record for which `where` holds, -1 if there is none. Shape (k,)."""
        if where is None or where.all():
            return self.ends - 1
        positions = np.where(where, np.arange(len(where)), -1)
        return np.asarray(np.maximum.reduceat(positions, self.starts))

    def first(self, where: np.ndarray | None = None) -> np.ndarray:
        """Position of each segment's first record for which `where` holds, -1 if there is none. Shape (k,)."""
        if where is None or where.all():
            return self.starts
        behind = len(where)
        positions = np.minimum.reduceat(np.where(where, np.arange(behind), behind), self.starts)
        return np.where(positions == behind, -1, positions)

    def records(self, positions: np.ndarray) -> np.ndarray:
        """Positions in `order` as record numbers; -1 stays -1, which stands for null."""
        return np.where(positions < 0, -1, self.order[positions])

    def only(self, where: np.ndarray) -> "tuple[Inputs, np.ndarray]":
        """The records for which `where` holds, and the numbers of the segments that have any."""
        kept = np.flatnonzero(where)
        segments = self.segment[kept]
        starts = np.flatnonzero(np.diff(segments, prepend=-1))
        ops = None if self.ops is None else self.ops[kept]
        return Inputs(self.column, self.order[kept], starts, ops), segments[starts]

    @cached_property
    def since_set(self) -> "Inputs":
        """Without what came before each segment's last SET, which stays."""
        if self.ops is None or not self.has(Op.SET):
            return self
        set_at = self.last(self.ops == Op.SET)
        kept = np.arange(len(self.order)) >= np.repeat(set_at, self.counts)
        return self if kept.all() else self.only(kept)[0]

    @cached_property
    def cut_at_sets(self) -> "tuple[Inputs, np.ndarray]":
        """Every SET begins a segment of its own. Also the number of the last one that each segment is cut into.

        For functions with steps that can fail: what a SET replaces fails all the same.
        """
        if not self.has(Op.SET):
            return self, np.arange(len(self.starts))
        begins = self.is_op(Op.SET)
        begins[self.starts] = True
        starts = np.flatnonzero(begins)
        return Inputs(self.column, self.order, starts, self.ops), np.searchsorted(starts, self.ends) - 1

    def ranks(self) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Walk the segments together: at step j the numbers of those with a record j, and its position in `order`."""
        longest_first = np.argsort(-self.counts, kind="stable")
        counts = self.counts[longest_first]
        # Segments drop out from the end as they run out of records.
        active = np.searchsorted(-counts, -np.arange(1, counts[0] + 1), side="right")
        for rank, number in enumerate(active.tolist()):
            segments = longest_first[:number]
            yield segments, self.starts[segments] + rank


def scatter(values: pa.Array, segments: np.ndarray, count: int) -> pa.Array:
    """Values of some segments as values of all `count`, null for the others."""
    if len(segments) == count:
        return values
    at = np.full(count, -1, np.int64)
    at[segments] = np.arange(len(segments))
    return values.take(pa.array(at, mask=at < 0))
