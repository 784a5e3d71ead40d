"""What the benchmarks share: contenders in processes of their own, rounds, processor time, digests, tables."""

import argparse
import json
import math
import os
import shutil
import subprocess
import sys
import time
import zlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any

import pyarrow as pa

from benchmarks import java_core, results

CACHE = Path(".cache/benchmarks")
CORES = 2
_TICKS = os.sysconf("SC_CLK_TCK")

Found = dict[str, Any]
Contender = Callable[..., Found]


def processor_seconds() -> float:
    """Processor time so far of this process and of those it started: the JVM of Spark, its Python workers."""
    parents: dict[int, list[int]] = {}
    ticks: dict[int, int] = {}
    for entry in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = entry.read_text().rpartition(")")[2].split()
        except OSError:  # it ended meanwhile
            continue
        pid = int(entry.parent.name)
        parents.setdefault(int(fields[1]), []).append(pid)
        ticks[pid] = sum(map(int, fields[11:15]))
    waiting, total = [os.getpid()], 0
    while waiting:
        pid = waiting.pop()
        total += ticks.get(pid, 0)
        waiting += parents.get(pid, [])
    return total / _TICKS


@dataclass(slots=True)
class Rounds:
    """Times actions: the first is to warm up, of the others the fastest counts."""

    seconds: list[float] = field(default_factory=list)
    cpu: list[float] = field(default_factory=list)
    _warm: bool = False

    def time(self, action: Callable[[], object]) -> None:
        """Run an action once more."""
        used, started = processor_seconds(), time.perf_counter()
        action()
        seconds, cpu = time.perf_counter() - started, processor_seconds() - used
        if self._warm:
            self.seconds.append(seconds)
            self.cpu.append(cpu)
        self._warm = True

    def found(self, **more: object) -> Found:
        return {"seconds": min(self.seconds), "cpu": min(self.cpu), "rounds": self.seconds, **more}


def into(target: Path, rounds: str, action: Callable[[], object]) -> Rounds:
    """Time an action that writes files into a folder, which is emptied before each round."""
    timed = Rounds()
    for _ in range(int(rounds) + 1):
        shutil.rmtree(target, ignore_errors=True)
        target.mkdir(parents=True)
        timed.time(action)
    return timed


def on_copies(
    source: str, name: str, rounds: str, opened: Callable[[Path], Any], action: Callable[[Any], object]
) -> tuple[Rounds, Path]:
    """Time an action on a table, each round in a new copy of its warehouse. Returns the last copy, too.

    `opened`: the table of a warehouse.
    """
    timed, warehouse = Rounds(), Path()
    for _ in range(int(rounds) + 1):
        warehouse = fresh(Path(source), name)
        timed.time(partial(action, opened(warehouse)))
    return timed, warehouse


def built(name: str, build: Callable[..., None], *sizes: int) -> Path:
    """The source tables of a benchmark, built if they are not there. `sizes`: arguments of `build`."""
    source = CACHE / "-".join([name, *map(str, sizes)])
    if not source.exists():
        build(source, *sizes)
    return source


def fresh(source: Path, name: str) -> Path:
    """A copy of a warehouse that may be changed."""
    target = CACHE / name
    shutil.rmtree(target, ignore_errors=True)
    return Path(shutil.copytree(source, target)).absolute()


def digest(rows: pa.Table) -> str:
    """Number and content of rows whatever their order. `rows`: without nulls, column `id` without duplicates."""
    ordered = rows.sort_by("id").combine_chunks()
    check = 0
    for column in ordered.columns:
        for buffer in column.chunk(0).buffers()[1:] if column.num_chunks else ():
            check = zlib.crc32(buffer, check)
    return f"{rows.num_rows:,} rows, {check:08x}"


def plain_rows(rows: pa.Table) -> list[list[Any]]:
    """Rows with numbers as floats and all else as text."""
    return [
        [float(value) if isinstance(value, int | float | Decimal) else str(value) for value in row.values()]
        for row in rows.to_pylist()
    ]


def agree(one: list[list[Any]], other: list[list[Any]]) -> bool:
    """Whether two answers are the same. Averages have six digits after the point in Spark, more in DuckDB."""
    return len(one) == len(other) and all(
        math.isclose(a, b, rel_tol=1e-6, abs_tol=1e-6) if isinstance(a, float) and isinstance(b, float) else a == b
        for row, other_row in zip(one, other, strict=True)
        for a, b in zip(row, other_row, strict=True)
    )


def contend(module: str, name: str, *arguments: object, python: Path | None = None) -> Found:
    """Run a contender of a benchmark in a process of its own. `python`: of another environment."""
    command = [str(python or sys.executable), "-m", f"benchmarks.{module}", "--contender", name, *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, env={**os.environ, "PYTHONPATH": "."}, check=False)
    if done.returncode:
        raise SystemExit(f"{name} failed:\n{done.stderr[-4000:]}")
    found: Found = json.loads(done.stdout.splitlines()[-1])
    return found


def run_contender(contenders: Mapping[str, Contender], arguments: argparse.Namespace) -> bool:
    """In such a process: run it and print what it found. False in the benchmark's own process."""
    if not arguments.contender:
        return False
    name, *given = arguments.contender
    print(json.dumps(contenders[name](*given)))
    return True


def parser_of(doc: str | None, *, rounds: int = 3) -> argparse.ArgumentParser:
    """The arguments that every benchmark with contenders takes."""
    parser = argparse.ArgumentParser(description=(doc or "").splitlines()[0])
    parser.add_argument("--rounds", type=int, default=rounds)
    parser.add_argument("--contender", nargs="+", help=argparse.SUPPRESS)
    return parser


def report(title: str, found_by: Mapping[str, Found], rows: int) -> None:
    """Print and tell a table: a line for each contender, with ratios to `limit` and `Java core` where they took part.

    Raises: SystemExit: the contenders, but for the limit, do not agree on the result.
    """
    print(f"\n{title}, {CORES} cores", flush=True)
    limit, java = found_by.get("limit"), found_by.get("Java core")
    for name, found in found_by.items():
        seconds, cpu = found["seconds"], found["cpu"]
        line = f"  {name:<16} {seconds:8.2f} s  {cpu:8.2f} s CPU  {rows / seconds:12,.0f} rows/s"
        if limit is not None and found is not limit:
            line += f"   {found['seconds'] / limit['seconds']:5.2f} x the limit"
        if name.startswith("ours") and java is not None:
            line += f"   {java['seconds'] / found['seconds']:5.2f} x as fast as Java"
        print(f"{line}   median {median(found['rounds']):.2f}", flush=True)
        results.tell(title, name, found["rounds"], processor_seconds=round(cpu, 2))
    digests = {found["digest"] for found in found_by.values() if "digest" in found}
    if len(digests) > 1:
        raise SystemExit(f"the results differ: {[(name, found.get('digest')) for name, found in found_by.items()]}")


def with_java(names: Sequence[str]) -> list[str]:
    """The contenders that can take part here."""
    if java_core.JAR.exists():
        return list(names)
    print("  (no Java core: scripts/fetch-paimon-core)", flush=True)
    return [name for name in names if name != "Java core"]
