"""What the table must hold at each snapshot: the commits that its snapshots name, folded in the order of the snapshots.

Some commits have parts that nobody sees yet: rows in the postpone bucket, or at level 0 where deletion vectors hide it.
Such a part is known by its data file and stays hidden until a snapshot takes that file away. It counts at the place of
its commit, wherever it comes to light.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from tests.chaos.workload import DELETE, OVERWRITE, UPDATE, Commit, Row

State = dict[tuple[str, int], Row]
Group = tuple[str, int]


@dataclass(frozen=True, slots=True)
class Applied:
    """A commit in a snapshot.

    Attributes:
        commit: what it did, None for a snapshot that leaves the rows as they are.
        hides: data files whose rows nobody sees yet, with their partition and bucket.
        removes: names of the data files that the snapshot takes away.
    """

    snapshot_id: int
    commit: Commit | None
    hides: Mapping[str, Group] = field(default_factory=dict)
    removes: frozenset[str] = frozenset()


@dataclass(slots=True)
class Model:
    """The states of the table.

    Attributes:
        partial: rows of one key are merged column by column, else the last one counts.
        buckets: the bucket of every key, where hidden files have one; rows in the postpone bucket are hidden by
            partition alone.
    """

    partial: bool = False
    buckets: Mapping[tuple[str, int], int] = field(default_factory=dict)
    applied: list[Applied] = field(default_factory=list)
    # The states after each whole number of these many snapshots, as long as nothing before them is hidden.
    _fixed: dict[tuple[bool, int], State] = field(default_factory=dict)

    def append(self, applied: Applied) -> None:
        """The next snapshot. Its id follows the last one's."""
        assert applied.snapshot_id == len(self.applied) + 1
        self.applied.append(applied)

    def state(self, snapshot_id: int, *, complete: bool = False) -> State:
        """The rows that a reader of that snapshot must see, by key. Empty for 0. `complete`: what is hidden counts."""
        hidden = {} if complete else self._hidden(snapshot_id)
        first_hidden = min((at for at, _ in hidden.values()), default=snapshot_id + 1)
        known = (at for of, at in self._fixed if of == complete and at < first_hidden and at <= snapshot_id)
        start = max(known, default=0)
        state = dict(self._fixed.get((complete, start), {}))
        by_commit: dict[int, set[Group]] = {}
        for at, group in hidden.values():
            by_commit.setdefault(at, set()).add(group)
        for applied in self.applied[start:snapshot_id]:
            if applied.commit is not None:
                apply(state, applied.commit, self._skipped(by_commit.get(applied.snapshot_id)), partial=self.partial)
            if applied.snapshot_id < first_hidden and applied.snapshot_id % _FIXED_EVERY == 0:
                self._fixed.setdefault((complete, applied.snapshot_id), dict(state))
        return state

    def rows(self, snapshot_id: int, *, complete: bool = False) -> list[Row]:
        """The same as sorted rows."""
        return in_order(self.state(snapshot_id, complete=complete).values())

    def _hidden(self, snapshot_id: int) -> dict[str, tuple[int, Group]]:
        """Files whose rows are hidden at a snapshot, with the snapshot that added them."""
        collected: dict[str, tuple[int, Group]] = {}
        for applied in self.applied[:snapshot_id]:
            for name in applied.removes:
                collected.pop(name, None)
            collected.update({name: (applied.snapshot_id, group) for name, group in applied.hides.items()})
        return collected

    def _skipped(self, groups: set[Group] | None) -> "Skipped":
        return Skipped(frozenset(groups or ()), self.buckets)


_FIXED_EVERY = 25
_POSTPONED = -2


@dataclass(frozen=True, slots=True)
class Skipped:
    """Which rows of a commit nobody sees yet."""

    groups: frozenset[Group] = frozenset()
    buckets: Mapping[tuple[str, int], int] = field(default_factory=dict)

    def __contains__(self, key: object) -> bool:
        if not self.groups:
            return False
        assert isinstance(key, tuple)
        return (key[0], _POSTPONED) in self.groups or (key[0], self.buckets.get(key, -1)) in self.groups


def apply(state: State, commit: Commit, skipped: Skipped, *, partial: bool) -> None:
    """Change a state as a commit does. `skipped`: keys that it does not touch yet."""
    if commit.action == DELETE:
        _drop(state, commit)
        return
    if commit.action == UPDATE:
        _update(state, commit)
        return
    if commit.action == OVERWRITE:
        for key in [key for key in state if key[0] == commit.partition]:
            del state[key]
    _write(state, commit, skipped, partial=partial)


def _write(state: State, commit: Commit, skipped: Skipped, *, partial: bool) -> None:
    changes = zip(commit.rows, commit.kinds, strict=True)
    for row, kind in _buffered(changes) if partial else changes:
        key = (row[0], row[1])
        if key in skipped:
            continue
        if kind == "-D":
            state.pop(key, None)
        elif partial and key in state:
            state[key] = _over(row, state[key])
        else:
            state[key] = row


def _buffered(changes: Iterable[tuple[Row, str]]) -> Iterable[tuple[Row, str]]:
    """One record per key, as a writer's buffer merges them: a deletion that an insert follows is forgotten."""
    merged: dict[tuple[str, int], tuple[Row, str]] = {}
    for row, kind in changes:
        key = (row[0], row[1])
        before = merged.get(key)
        updates = before is not None and kind != "-D" and before[1] != "-D"
        merged[key] = (_over(row, before[0]) if before is not None and updates else row, kind)
    return merged.values()


def _over(row: Row, before: Row) -> Row:
    """The columns that a row has, over those of the row before."""
    return tuple(new if new is not None else old for new, old in zip(row, before, strict=True))


def _drop(state: State, commit: Commit) -> None:
    gone = set(commit.ids)
    for key in [key for key in state if key[1] in gone]:
        del state[key]


def _update(state: State, commit: Commit) -> None:
    chosen = set(commit.ids)
    for key, row in state.items():
        if key[1] in chosen:
            state[key] = (*row[:2], *(commit.value for _ in row[2:]))


def in_order(rows: Iterable[Row]) -> list[Row]:
    """Rows by their keys; rows of one key, which should not be, in a fixed order."""
    return sorted(rows, key=lambda row: (row[0], row[1], tuple(value or "" for value in row[2:])))
