"""How many rows a merge leaves, as far as metadata can tell: by what the merges of the table have left.

Rows of a file are taken to be a random choice of so many keys as the bucket has. Then a merge of files with a, b, …
rows leaves n · (1 − (1 − a/n) · (1 − b/n) · …) of n keys. How many keys there are is found from past compactions:
either it is always the same number, or it grows with the rows of the bucket. What fits them better is taken.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import exp, inf, log, log1p

from maintenance.amounts import number_of
from maintenance.operations.tuning.arrivals import Merged, RowsThere

_STEPS = 60
_FEWEST, _MOST = 1e-3, 1e15
# Of very many compactions the newest tell most.
_LOOKED_AT = 400


@dataclass(frozen=True, slots=True)
class Overlap:
    """How many keys the rows of a bucket are of. Both infinite: no key comes twice.

    Attributes: `keys`: always so many; `per_row`: so many for each key that is there, if that is told instead: one in
    so many rows replaces another. `compactions`: that say it; 0: nothing does.
    """

    keys: float = inf
    per_row: float = inf
    compactions: int = 0

    def left(self, rows: Sequence[int], there: RowsThere) -> float:
        """Rows that a merge of files leaves. `there`: of the whole bucket."""
        return _left(rows, min(self.keys, _growing(self.per_row, there)))

    def shared(self, rows: int, others: int, there: RowsThere) -> float:
        """How many of the keys of some rows others have, too."""
        return max(0.0, rows + others - self.left((rows, others), there))

    @property
    def text(self) -> str:
        if not self.compactions:
            return "no compaction says how many rows have one key, so no two are taken to"
        compactions = number_of(self.compactions, "compaction")
        if min(self.keys, self.per_row) == inf:
            return f"{compactions} found no two rows of one key"
        of = f"one row in {self.per_row:.1f} replaces another"
        if self.keys < inf:
            of = f"{self.keys:,.0f} keys in a bucket"
        return f"rows of one key are merged as {compactions} did: {of}"


def _growing(per_row: float, there: RowsThere) -> float:
    """Keys that rows are of, by the keys that are there: those merged, and what is new among the others."""
    if per_row == inf:
        return inf
    return per_row * (there.merged + max(0.0, 1 - 1 / per_row) * (there.rows - there.merged))


def _left(rows: Sequence[int], keys: float) -> float:
    if keys == inf or len(rows) < 2:
        return float(sum(rows))
    keys = max(keys, *rows)
    missed = 0.0
    for count in rows:
        if count >= keys:
            return keys
        missed += log1p(-count / keys)
    return keys * (1.0 - exp(missed))


def overlap_of(merged: Sequence[Merged], *, vectors: bool = False) -> Overlap:
    """What fits past compactions. `vectors`: rows of higher levels may be gone already, by deletion vectors."""
    seen = [m for m in merged if len(m.before) > 1 and m.after]
    new = [m for m in seen if all(file.level == 0 for file in m.before)] if vectors else []
    seen = (new or seen)[-_LOOKED_AT:]
    if not seen:
        return Overlap()
    rows = [[file.row_count for file in m.before] for m in seen]
    # Where no deletion is left, all were dropped after they had met their rows.
    left = [sum(f.row_count for f in m.after) + _dropped(m) for m in seen]
    there = [m.there for m in seen]
    if sum(left) >= sum(map(sum, rows)):
        return Overlap(compactions=len(seen))
    fixed = _fitted(lambda keys: [_left(r, keys) for r in rows], sum(left))
    pairs = list(zip(rows, there, strict=True))
    growing = _fitted(lambda per_row: [_left(r, _growing(per_row, t)) for r, t in pairs], sum(left))
    error_fixed = sum((_left(r, fixed) - n) ** 2 for r, n in zip(rows, left, strict=True))
    error_growing = sum((_left(r, _growing(growing, t)) - n) ** 2 for r, t, n in zip(rows, there, left, strict=True))
    if error_fixed <= error_growing:
        return Overlap(keys=fixed, compactions=len(seen))
    return Overlap(per_row=growing, compactions=len(seen))


def _dropped(merged: Merged) -> int:
    if any(file.delete_row_count for file in merged.after):
        return 0
    return sum(file.delete_row_count or 0 for file in merged.before)


def _fitted(left: Callable[[float], Sequence[float]], total: float) -> float:
    """The number with which as many rows are left in all as there were."""
    low, high = log(_FEWEST), log(_MOST)
    for _ in range(_STEPS):
        middle = (low + high) / 2
        low, high = (middle, high) if sum(left(exp(middle))) < total else (low, middle)
    return exp(high)
