"""Universal compaction picking from its rules, for runs of given levels and sizes, newest first."""

from collections.abc import Sequence

Run = tuple[int, int]
Picked = tuple[int, int] | None


def pick(runs: Sequence[Run], max_level: int, trigger: int, amplification: int, ratio: int) -> Picked:
    """How many runs from the newest go to which level, None for nothing. A run is (level, size)."""
    count = len(runs)
    sizes = [size for _, size in runs]
    picked: Picked = None
    if count >= trigger and 100 * sum(sizes[:-1]) > amplification * sizes[-1]:
        picked = (count, max_level)
    if picked is None and count >= trigger:
        taken = extend(sizes, 1, ratio)
        picked = unit(runs, taken, max_level) if taken > 1 else None
    if picked is None and count > trigger:
        picked = unit(runs, extend(sizes, count - trigger + 1, ratio), max_level)
    if picked is not None and picked[0] == 1 and runs[0][0] == picked[1]:
        return None
    return picked


def extend(sizes: Sequence[int], count: int, ratio: int) -> int:
    total = sum(sizes[:count])
    while count < len(sizes) and total * (100 + ratio) / 100 >= sizes[count]:
        total += sizes[count]
        count += 1
    return count


def unit(runs: Sequence[Run], count: int, max_level: int) -> Picked:
    if count == len(runs):
        return count, max_level
    level = max(0, runs[count][0] - 1)
    if level == 0:
        while count < len(runs):
            count += 1
            if runs[count - 1][0] != 0:
                level = runs[count - 1][0]
                break
    return count, max_level if count == len(runs) else level
