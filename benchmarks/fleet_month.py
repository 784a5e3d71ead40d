"""A month of a fleet in small: which ranking frees most files for a second of work, of ours and of others.

python -m benchmarks.fleet_month [--seeds 10] [--seconds 600] [--plot docs/images/fleet_month.svg]

300 synthetic tables. Their writers are skewed (a few write most of the files) and come in bursts. Each night there are
some minutes for compactions, the same for every policy. What a compaction really takes differs from table to table, and
no policy is told it:

- `fixed trigger`: a table is due from 50 small files on; those that are due longest come first.
- `gain by cost`: as AutoComp (LinkedIn, on OpenHouse) describes it: the reduction of files and the cost, each brought
  to 0 to 1 over all candidates, weighted with 0.7 and 0.3; the cost is guessed by the bytes and one constant.
- `our ranking`: by what a second is worth, learnt from the runs so far (`maintenance.operations.fleet`).
- `ours`: the same within the limits that a plan keeps to: it begins what fits into what is left of the night, and
  large actions while half of them fits; a part of the time goes to what has waited longest. The others do neither.
"""

import argparse
import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from maintenance.operations.fleet.estimates import Experience
from maintenance.operations.fleet.ranking import Allowance, Candidate, ranked, spend
from maintenance.operations.history import SUCCEEDED

TABLES, DAYS = 300, 30
_TARGET, _TRIGGER = 128 << 20, 50
_GUESSED_RATE = 50e6
_PATIENCE, _DAY = 14 * 86_400.0, 86_400.0


@dataclass
class Table:
    """`files` and `bytes`: small ones that wait; `fixed`, `rate`: what a compaction takes; `since`: the first day."""

    name: str
    kind: str
    writes: float
    size: float
    fixed: float
    rate: float
    files: int = 0
    bytes: int = 0
    since: int = 0

    @property
    def gain(self) -> int:
        return max(0, self.files - -(-self.bytes // _TARGET))

    def seconds(self, luck: random.Random) -> float:
        return (self.fixed + self.bytes * self.rate) * luck.lognormvariate(0, 0.1)


@dataclass
class Month:
    """What became of a month. `freed`: files by day, summed up; `open`: small files that readers find, by day."""

    freed: list[int] = field(default_factory=list)
    open: list[int] = field(default_factory=list)
    seconds: float = 0.0

    @property
    def per_second(self) -> float:
        return self.freed[-1] / self.seconds


Policy = Callable[[Sequence[Table], int, float, Sequence[Mapping[str, Any]]], Sequence[Table]]
"""The tables to compact, by the day, the seconds there are, and the runs so far."""


def fixed_trigger(tables: Sequence[Table], _: int, __: float, ___: Sequence[Mapping[str, Any]]) -> Sequence[Table]:
    return sorted((each for each in tables if each.files >= _TRIGGER), key=lambda each: each.since)


def gain_by_cost(tables: Sequence[Table], _: int, __: float, ___: Sequence[Mapping[str, Any]]) -> Sequence[Table]:
    found = [each for each in tables if each.gain]
    gains, costs = [each.gain for each in found], [each.bytes / _GUESSED_RATE for each in found]

    def score(number: int) -> float:
        return 0.7 * _normal(gains[number], gains) - 0.3 * _normal(costs[number], costs)

    return [found[number] for number in sorted(range(len(found)), key=lambda number: -score(number))]


def _normal(value: float, among: Sequence[float]) -> float:
    low, high = min(among), max(among)
    return (value - low) / (high - low) if high > low else 0.0


def our_ranking(tables: Sequence[Table], day: int, _: float, history: Sequence[Mapping[str, Any]]) -> Sequence[Table]:
    return _chosen(tables, ranked(_candidates(tables, day, history)))


def ours(tables: Sequence[Table], day: int, left: float, history: Sequence[Mapping[str, Any]]) -> Sequence[Table]:
    return _chosen(tables, spend(_candidates(tables, day, history), Allowance(left), _PATIENCE, None, day + 1))


def _candidates(tables: Sequence[Table], day: int, history: Sequence[Mapping[str, Any]]) -> list[Candidate]:
    experience = Experience.of(history, {each.name: each.kind for each in tables})
    return [
        Candidate(
            each.name,
            each.gain,
            experience.seconds(each.name, "compact", each.bytes).seconds,
            waited=(day - each.since) * _DAY,
        )
        for each in tables
        if each.gain
    ]


def _chosen(tables: Sequence[Table], order: Sequence[Candidate]) -> Sequence[Table]:
    by_name = {each.name: each for each in tables}
    return [by_name[one.key] for one in order]


POLICIES: Mapping[str, Policy] = {
    "our ranking": our_ranking,
    "ours": ours,
    "gain by cost": gain_by_cost,
    "fixed trigger": fixed_trigger,
}


def month(policy: Policy, seed: int, budget: float) -> Month:
    """The same writers for every policy of a seed."""
    made, writers, luck = random.Random(seed), random.Random(seed + 1), random.Random(seed + 2)
    tables = [_table(number, made) for number in range(TABLES)]
    bursts = {each.name: 0 for each in tables}
    done: list[dict[str, Any]] = []
    found = Month()
    freed, left = 0, 0.0
    for day in range(DAYS):
        for table in tables:
            bursts[table.name] -= 1
            if bursts[table.name] <= 0 and writers.random() < 0.15:
                bursts[table.name] = writers.randint(1, 3)
            pace = table.writes * (8 if bursts[table.name] > 0 else 0.3)
            new = int(pace * writers.uniform(0.5, 1.5))
            table.since = table.since if table.files else day
            table.files += new
            table.bytes += int(new * table.size)
        # What a night takes too much, or leaves, the next one has less, or more: all policies work equally long.
        left += budget
        for table in policy(tables, day, left, done[::-1]):
            if left <= 0:
                break
            took = table.seconds(luck)
            left -= took
            freed += table.gain
            found.seconds += took
            done.append({
                "table_name": table.name, "operation": "compact", "outcome": SUCCEEDED, "seconds": took,
                "input_bytes": table.bytes,
            })  # fmt: skip
            table.files, table.bytes, table.since = 0, 0, day + 1
        found.freed.append(freed)
        found.open.append(sum(each.files for each in tables))
    return found


def _table(number: int, made: random.Random) -> Table:
    kind = made.choice(("append", "primary key"))
    slow = 4.0 if kind == "primary key" else 1.0
    return Table(
        f"t{number:03}",
        kind,
        400 / (number + 1) ** 0.9,
        made.lognormvariate(13.8, 1.2),
        made.uniform(3, 30),
        slow * made.lognormvariate(0, 0.7) / 60e6,
    )


def plotted(months: Mapping[str, Month]) -> str:
    """The files that readers open no more, by day, as SVG."""
    width, height, left, top = 640, 320, 70, 20
    most = max(each.freed[-1] for each in months.values())
    looks = {"our ranking": "#1b7837", "ours": "#7fbf7b", "gain by cost": "#2166ac", "fixed trigger": "#b2182b"}

    def point(day: int, files: int) -> str:
        x, y = left + (width - left - 150) * day / (DAYS - 1), top + (height - top - 40) * (1 - files / most)
        return f"{x:.1f},{y:.1f}"

    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" font-size="12">',
        f"<title>Files that readers open no more, over a month of {TABLES} tables</title>",
        f'<rect width="{width}" height="{height}" fill="white"/>',
        '<g font-family="sans-serif">',
    ]
    for share in (0, 0.25, 0.5, 0.75, 1):
        start, end = point(0, int(most * share)).split(","), point(DAYS - 1, int(most * share)).split(",")
        lines.append(f'<line x1="{start[0]}" y1="{start[1]}" x2="{end[0]}" y2="{end[1]}" stroke="#ddd"/>')
        lines.append(f'<text x="{left - 8}" y="{float(start[1]) + 4:.1f}" text-anchor="end">{most * share:,.0f}</text>')
    for day in (1, 10, 20, 30):
        x = point(day - 1, 0).split(",")[0]
        lines.append(f'<text x="{x}" y="{height - 20}" text-anchor="middle">day {day}</text>')
    for name, each in months.items():
        points = " ".join(point(day, files) for day, files in enumerate(each.freed))
        x, y = point(DAYS - 1, each.freed[-1]).split(",")
        lines.append(f'<polyline points="{points}" fill="none" stroke="{looks[name]}" stroke-width="2"/>')
        lines.append(
            f'<text x="{float(x) + 6:.1f}" y="{float(y) + 4:.1f}" fill="{looks[name]}">{name}, '
            f"{each.per_second:.1f} a second</text>"
        )
    return "\n".join([*lines, "</g></svg>", ""])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--seconds", type=float, default=600.0, help="of work in a night")
    parser.add_argument("--plot", type=Path)
    given = parser.parse_args()
    rates: dict[str, list[float]] = {name: [] for name in POLICIES}
    for seed in range(1, given.seeds + 1):
        months = {name: month(policy, seed, given.seconds) for name, policy in POLICIES.items()}
        said = "; ".join(
            f"{name}: {each.per_second:6.2f} files/s, {each.freed[-1]:,} freed in {each.seconds:,.0f} s, "
            f"{sum(each.open) // DAYS:,} open on average"
            for name, each in months.items()
        )
        print(f"seed {seed}: {said}")
        for name, each in months.items():
            rates[name].append(each.per_second)
        if given.plot and seed == 1:
            given.plot.write_text(plotted(months))
    for name, found in rates.items():
        print(f"{name}: {sum(found) / len(found):.2f} files/s on average")
        for other in ("gain by cost", "fixed trigger"):
            times = [one / another for one, another in zip(found, rates[other], strict=True)]
            if other != name:
                print(
                    f"  {sum(times) / len(times):.2f} times those of {other}, in single months {min(times):.2f} to "
                    f"{max(times):.2f}, behind in {sum(each < 1 for each in times)} of {len(times)}"
                )


if __name__ == "__main__":
    main()
