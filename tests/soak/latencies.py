"""How long it takes in the soak until a commit is made, its rows are read, and its changelog is there; and a plot."""

import json
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median, quantiles

from maintenance.catalog import CatalogTable
from maintenance.errors import PaimonError
from maintenance.format.metadata.snapshot import CommitKind
from paimon_maintenance.assets.resources.catalog import PaimonCatalog
from tests.soak.workload import changes

Point = tuple[float, float]
_PANEL, _WIDTH, _LEFT = 150, 900, 70
_BUCKETS = 120


@dataclass(slots=True)
class Changelogs:
    """Follows the snapshots of a table: each commit of rows waits for the next snapshot that has a changelog."""

    seen: int = 0
    waiting: list[int] = field(default_factory=list)

    def follow(self, table: CatalogTable) -> list[tuple[int, float]]:
        """(moment of the commit in milliseconds, seconds until its changelog) of what came since."""
        ids = [number for number in table.snapshots.list_ids() if number > self.seen]
        found: list[tuple[int, float]] = []
        for number in ids:
            snapshot = table.snapshots.find(number)
            if snapshot is None:  # it has expired
                continue
            if snapshot.commit_kind == CommitKind.APPEND:
                self.waiting.append(snapshot.time_millis)
            if snapshot.changelog_manifest_list is not None:
                found += [(made, (snapshot.time_millis - made) / 1000) for made in self.waiting]
                self.waiting = []
            self.seen = number
        return found


class Reader(threading.Thread):
    """Reads a row of the newest commit of one table after the other, as a process that is not the writer.

    Attributes:
        visible: when a commit began, and the seconds from then until a reader had its row.
    """

    def __init__(self, warehouse: str, log: Path, pause: float = 1.0) -> None:
        super().__init__(daemon=True)
        self.visible: list[Point] = []
        self.ended = threading.Event()
        self._catalog = PaimonCatalog(warehouse=warehouse)
        self._log = log
        self._pause = pause

    def run(self) -> None:
        position, newest = 0, None
        while not self.ended.wait(self._pause):
            if not self._log.exists():
                continue
            with self._log.open() as log:
                log.seek(position)
                lines = [line for line in log if line.endswith("\n")]
                position += sum(map(len, lines))
            newest = json.loads(lines[-1]) if lines else None
            if newest is not None:
                self._read(newest)

    def _read(self, commit: Mapping[str, float | str]) -> None:
        number = int(commit["number"])
        identifier = next(key for kind, key, _ in changes(number) if kind == "+I")
        try:
            rows = self._catalog.get_table(str(commit["table"])).to_arrow(where=f"id = {identifier}").to_pylist()
        except PaimonError:
            return  # the snapshot expired while it was read
        # A later commit may have changed the row by now.
        if rows and rows[0]["version"] == number:
            self.visible.append((float(commit["begun"]), time.time() - float(commit["begun"])))


def commits_of(log: Path) -> list[Point]:
    """When each commit of the writer began, and how long it took."""
    found = [json.loads(line) for line in log.read_text().splitlines()]
    return [(each["begun"], each["seconds"]) for each in found]


def told(points: Sequence[Point]) -> str:
    """Median, 99th percentile and most of some latencies."""
    values = [value for _, value in points]
    if len(values) < 2:
        return "too few"
    nearly_all = quantiles(values, n=100, method="inclusive")[-1]
    return f"median {median(values):.2f}, 99 % {nearly_all:.2f}, most {max(values):.2f}"


def plot(panels: Mapping[str, Mapping[str, Sequence[Point]]]) -> str:
    """An SVG: a panel for each name, in it a line for each series over the time; of each moment the largest value."""
    times = [at for series in panels.values() for points in series.values() for at, _ in points]
    first, span = min(times, default=0.0), (max(times, default=1.0) - min(times, default=0.0)) or 1.0
    colours = ("#1f77b4", "#d62728", "#2ca02c", "#9467bd", "#ff7f0e", "#8c564b")
    height = len(panels) * (_PANEL + 40) + 30
    size = f'width="{_WIDTH + _LEFT + 20}" height="{height}" font-family="sans-serif" font-size="11"'
    parts = [f'<svg xmlns="http://www.w3.org/2000/svg" {size}><rect width="100%" height="100%" fill="white"/>']
    for place, (name, series) in enumerate(panels.items()):
        top = 30 + place * (_PANEL + 40)
        most = max((value for points in series.values() for _, value in points), default=1.0) or 1.0
        parts.append(f'<text x="{_LEFT}" y="{top - 8}" font-weight="bold">{name}</text>')
        for share in (0, 0.5, 1):
            y = top + _PANEL * (1 - share)
            parts.append(f'<line x1="{_LEFT}" x2="{_LEFT + _WIDTH}" y1="{y}" y2="{y}" stroke="#ddd"/>')
            parts.append(f'<text x="{_LEFT - 6}" y="{y + 4}" text-anchor="end">{most * share:,.4g}</text>')
        for number, (label, points) in enumerate(series.items()):
            largest: dict[int, float] = {}
            for at, value in points:
                bucket = int((at - first) / span * (_BUCKETS - 1))
                largest[bucket] = max(largest.get(bucket, 0.0), value)
            line = " ".join(
                f"{_LEFT + bucket / (_BUCKETS - 1) * _WIDTH:.1f},{top + _PANEL * (1 - value / most):.1f}"
                for bucket, value in sorted(largest.items())
            )
            colour = colours[number % len(colours)]
            parts.append(f'<polyline points="{line}" fill="none" stroke="{colour}"/>')
            at_x = _LEFT + 240 + 130 * number
            parts.append(f'<text x="{at_x}" y="{top - 8}" fill="{colour}">{label}</text>')
    parts.append(f'<text x="{_LEFT + _WIDTH}" y="{height - 8}" text-anchor="end">{span / 60:.1f} minutes</text></svg>')
    return "\n".join(parts)
