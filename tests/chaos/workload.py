"""What each user commits under each number: always the same for a seed, so that user and number say it all.

Rows are tuples ``(p, id, …)``: a partition, an id, and values that name the commit which wrote them.
"""

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

Row = tuple[Any, ...]

JAVA = "java"
WRITERS = ("w1", "w2")
USERS = (*WRITERS, JAVA)
PARTITIONS = ("a", "b")

WRITE = "write"
OVERWRITE = "overwrite"
DELETE = "delete"
UPDATE = "update"

_BIG = 400  # rows of the few large commits, more than any other has
_MAX_ROWS = 10
_DELETED = 0.2


@dataclass(frozen=True, slots=True)
class Commit:
    """What one commit does.

    Attributes:
        action: ``write`` or ``overwrite`` under a number that is known again, ``delete`` or ``update`` without.
        kinds: of `rows`, ``+I`` or ``-D``.
        partition: that an overwrite replaces.
        ids: of the rows that a deletion or an update changes; `value`: that an update sets.
        waits: the rows go to the postpone bucket.
    """

    user: str
    number: int
    action: str = WRITE
    rows: tuple[Row, ...] = ()
    kinds: tuple[str, ...] = ()
    partition: str | None = None
    ids: tuple[int, ...] = ()
    value: str | None = None
    waits: bool = False


@dataclass(frozen=True, slots=True)
class Workload:
    """How the commits of a scenario are made.

    Attributes:
        columns: behind the partition and the id.
        keyed: ids come again and again; else every row has one of its own.
        partial: the columns that each user writes, of which a commit leaves some out; None = all of them, always.
        overwrites: share of the commits that replace a partition.
        changes: share of the commits that delete or update rows by a condition.
        waiting: share of the commits whose rows wait in the postpone bucket.
        constant: columns that have the same value in every row.
        java_partition: of all of Java's rows; None = those of the others, where Java has ids of its own.
    """

    seed: int
    columns: tuple[str, ...]
    keyed: bool = True
    partial: Mapping[str, tuple[str, ...]] | None = None
    deletes: bool = True
    overwrites: float = 0.0
    changes: float = 0.0
    waiting: float = 0.0
    constant: tuple[str, ...] = ()
    java_partition: str | None = None

    def action(self, user: str, number: int) -> str:
        """What a commit of that number does."""
        dice = random.Random(f"{self.seed} {user} {number} action")
        if user == JAVA:
            return WRITE
        drawn = dice.random()
        if drawn < self.overwrites:
            return OVERWRITE
        if drawn < self.overwrites + self.changes:
            return dice.choice((DELETE, UPDATE))
        return WRITE

    def commit(self, user: str, number: int) -> Commit:
        """A commit that writes or overwrites."""
        dice = random.Random(f"{self.seed} {user} {number}")
        action = self.action(user, number)
        assert action in (WRITE, OVERWRITE)
        partitions = self._partitions(user)
        if action == OVERWRITE:
            partitions = (dice.choice(partitions),)
        count = _BIG if dice.random() < 0.02 else dice.randint(1, _MAX_ROWS)
        rows, kinds = [], []
        for i in range(count):
            deletes = action == WRITE and self.keyed and self.deletes and dice.random() < _DELETED
            kinds.append("-D" if deletes else "+I")
            key = (dice.choice(partitions), self._id(dice, user, number, i, count))
            rows.append((*key, *self._values(dice, user, f"{user}-{number}-{i}", empty=deletes)))
        waits = user != JAVA and action == WRITE and dice.random() < self.waiting
        partition = partitions[0] if action == OVERWRITE else None
        return Commit(user, number, action, tuple(rows), tuple(kinds), partition, waits=waits)

    def ids(self, user: str, number: int) -> list[int]:
        """The ids of the rows that a commit appended, of a table without keys; none if it did something else."""
        if self.action(user, number) not in (WRITE, OVERWRITE):
            return []
        return [row[1] for row in self.commit(user, number).rows]

    def _partitions(self, user: str) -> Sequence[str]:
        if self.java_partition is None:
            return PARTITIONS
        return (self.java_partition,) if user == JAVA else PARTITIONS

    def _id(self, dice: random.Random, user: str, number: int, i: int, count: int) -> int:
        if not self.keyed:
            return (USERS.index(user) + 1) * 10**9 + number * 1000 + i
        first = 10_000 if user == JAVA else 0
        return first + dice.randrange(24 if count <= _MAX_ROWS else 2 * _BIG)

    def _values(self, dice: random.Random, user: str, text: str, *, empty: bool) -> tuple[str | None, ...]:
        if self.partial is None:
            actual = None if empty else text
            return tuple("same" if name in self.constant else actual for name in self.columns)
        if empty:
            return (None,) * len(self.columns)
        own = self.partial[user]
        chosen = {name for name in own if dice.random() < 0.7} or {own[0]}
        return tuple(text if name in chosen else None for name in self.columns)

    def arrow(self, commit: Commit) -> pa.Table:
        """The rows of a commit; without the columns that have no value."""
        names = ("p", "id", *self.columns)
        columns = list(zip(*commit.rows, strict=True))
        actual = {
            name: pa.array(column, pa.int64() if name == "id" else pa.string())
            for name, column in zip(names, columns, strict=True)
            if any(value is not None for value in column)
        }
        return pa.table(actual)
