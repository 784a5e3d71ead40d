"""Results of benchmarks, as they are stored: a JSON file for each benchmark in `benchmarks/results`.

A benchmark tells its figures with `tell`; `python -m benchmarks --store` gathers them and adds what the machine was
doing meanwhile. `scripts/benchmarks-page` makes the tables of docs/benchmarks.md from the files.
"""

import json
import os
import platform
import resource
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from statistics import median
from typing import Any

FOLDER = Path(__file__).parent / "results"
# Names the file that figures are told to, a JSON line each; without it they are only printed.
TOLD = "BENCHMARK_FIGURES"
# If other processes use a larger share of the processors, a run counts as one on a loaded machine.
_MOST_OTHERS = 0.1
_TICKS = os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True, slots=True)
class Figures:
    """What one contender did in one case. `seconds`: of each round; `more`: other figures by name."""

    case: str
    contender: str
    seconds: Sequence[float] = ()
    more: Mapping[str, float | str] = field(default_factory=dict)

    @property
    def minimum(self) -> float:
        return min(self.seconds)

    @property
    def median(self) -> float:
        return median(self.seconds)


def tell(case: str, contender: str, seconds: Sequence[float] = (), **more: float | str) -> None:
    """Store figures, where a run is stored. Arguments: as in `Figures`; `_` in a name of `more` stands for a blank."""
    if TOLD in os.environ:
        named = {name.replace("_", " "): value for name, value in more.items()}
        figures = Figures(case, contender, [round(each, 4) for each in seconds], named)
        with Path(os.environ[TOLD]).open("a") as told:
            told.write(json.dumps(asdict(figures)) + "\n")


def told(path: Path) -> list[Figures]:
    """What a benchmark told to a file."""
    return [Figures(**json.loads(line)) for line in path.read_text().splitlines()] if path.exists() else []


@dataclass(frozen=True, slots=True)
class Moment:
    """What the processors have done until now. Times in processor seconds; `children`: those of processes from here."""

    load: float
    busy: float
    children: float
    whole: float

    @classmethod
    def now(cls) -> "Moment":
        ticks = [int(each) for each in Path("/proc/stat").read_text().splitlines()[0].split()[1:9]]
        used = resource.getrusage(resource.RUSAGE_CHILDREN)
        # The fourth and fifth are idle and waiting for a disk; the last is time that another machine had.
        busy = sum(ticks) - ticks[3] - ticks[4]
        return cls(os.getloadavg()[0], busy / _TICKS, used.ru_utime + used.ru_stime, sum(ticks) / _TICKS)


@dataclass(frozen=True, slots=True)
class Result:
    """One run of a benchmark.

    Attributes:
        load: of the machine when it began and when it ended.
        others: share of the processors that other processes had.
    """

    benchmark: str
    command: str
    date: str
    machine: str
    load: tuple[float, float]
    others: float
    figures: Sequence[Figures]

    @classmethod
    def of(cls, benchmark: str, command: str, figures: Sequence[Figures], start: Moment, end: Moment) -> "Result":
        """The result of a run between two moments, whose processes are those from here."""
        others = (end.busy - start.busy) - (end.children - start.children)
        share = max(0.0, round(others / max(end.whole - start.whole, 0.01), 3))
        load = (round(start.load, 1), round(end.load, 1))
        return cls(benchmark, command, datetime.now(UTC).date().isoformat(), machine(), load, share, figures)

    @classmethod
    def read(cls, path: Path) -> "Result":
        document: dict[str, Any] = json.loads(path.read_text())
        figures = [Figures(**each) for each in document.pop("figures")]
        return cls(**{**document, "load": tuple(document["load"])}, figures=figures)

    @property
    def is_loaded(self) -> bool:
        """Whether other processes used so much of the machine that seconds compare only within the run."""
        return self.others > _MOST_OTHERS

    @property
    def machine_text(self) -> str:
        """What the machine did, in a sentence."""
        load = f"load {self.load[0]} before, {self.load[1]} after; other processes used {self.others:.0%} of the cores"
        return f"**on a loaded machine** ({load}): compare seconds only within this table" if self.is_loaded else load

    def store(self) -> Path:
        FOLDER.mkdir(exist_ok=True)
        path = FOLDER / f"{self.benchmark}.json"
        path.write_text(json.dumps(asdict(self), indent=1) + "\n")
        return path


def machine() -> str:
    """Processors and memory of this machine."""
    models = (line for line in Path("/proc/cpuinfo").read_text().splitlines() if line.startswith("model name"))
    model = next(models, platform.machine()).rpartition(":")[2].strip()
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    return f"{os.cpu_count()} × {model}, {memory:.0f} GiB"
