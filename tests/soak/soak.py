"""The soak: a writer that commits to many tables, compaction by sensor, expiry by schedule, for as long as is asked.

Everything is real: Dagster's daemon launches the runs, each a process that uses one Spark Connect server. Meanwhile the
tables, the memory of every process and how long rows take to be seen are measured; at the end each table must hold
exactly what the writer's batches leave, and no process may have grown.
"""

import json
import os
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path

import dagster as dg

from maintenance.errors import PaimonError
from maintenance.operations.checks.fsck import fsck
from maintenance.project.config import Project
from maintenance.spark.connect_server import connect_server
from maintenance.table.shape import table_shape
from paimon_maintenance.assets import keys
from paimon_maintenance.assets.project.environment import FOLDER
from paimon_maintenance.assets.project.table_of_run import small_tables_of
from paimon_maintenance.assets.resources.catalog import PaimonCatalog
from tests.soak.lake import RETAINED, TRIGGER, daemon, environment, set_up
from tests.soak.latencies import Changelogs, Point, Reader, commits_of, plot, told
from tests.soak.memory import growth, is_flat, memory_now
from tests.soak.workload import model, names, note
from tests.tables import data_files, files_on_disk

# A sample looks at every table, so a long soak takes fewer.
_SAMPLE_SECONDS, _SAMPLES = 5.0, 120
_DRAIN_SECONDS, _DRAIN_OF_TABLE = 600.0, 60.0
_MIB = 2**20
# Shorter ones end before caches and the JVM have their size, so memory is told, not judged.
_JUDGED_MINUTES = 8
_UNFINISHED = (
    dg.DagsterRunStatus.QUEUED,
    dg.DagsterRunStatus.NOT_STARTED,
    dg.DagsterRunStatus.STARTING,
    dg.DagsterRunStatus.STARTED,
    dg.DagsterRunStatus.CANCELING,
)


@dataclass(frozen=True, slots=True)
class Load:
    """What is written. `rate`: commits per second over all tables; `seconds`: how long."""

    seconds: int
    tables: int = 1
    rate: float = 1.0

    @property
    def commits(self) -> int:
        """To each table."""
        return max(1, int(self.seconds * self.rate / self.tables))

    @property
    def sample_seconds(self) -> float:
        """Between two samples."""
        return max(_SAMPLE_SECONDS, self.seconds / _SAMPLES)


@dataclass(frozen=True, slots=True)
class Limits:
    """What a table must stay under: so many commits that maintenance may lag behind."""

    lag: int = 180

    @property
    def sorted_runs(self) -> int:
        return TRIGGER + self.lag

    @property
    def files(self) -> int:
        return 2 * self.sorted_runs

    @property
    def snapshots(self) -> int:
        """Those kept, and those of the writer since the last expiry, with the compactions among them."""
        return RETAINED + self.lag + self.lag // 10


@dataclass(frozen=True, slots=True)
class Sample:
    """The tables at one moment: `files`, `sorted_runs` and `snapshots` of the one that has most.

    Attributes:
        second: of the soak; `moment`: since 1970-01-01.
        commits: snapshots made so far, of all tables.
        disk: bytes of everything below the tables' folders.
        memory: MiB by what processes do.
    """

    second: float
    moment: float
    memory: Mapping[str, float]
    commits: int
    files: int
    sorted_runs: int
    snapshots: int
    disk: int


@dataclass(slots=True)
class Outcome:
    """What the soak found. `faults`: what is wrong, empty if nothing is wrong."""

    samples: list[Sample] = field(default_factory=list)
    runs: dict[str, int] = field(default_factory=dict)
    numbers: dict[str, float | str] = field(default_factory=dict)
    changelogs: list[Point] = field(default_factory=list)
    faults: list[str] = field(default_factory=list)

    def check(self, holds: bool, fault: str) -> None:
        if not holds:
            self.faults.append(fault)


def soak(
    folder: Path, load: Load, *, limits: Limits, say: Callable[[str], None], artifacts: Path | None = None
) -> Outcome:
    """Write for so many seconds, then wait until maintenance has caught up, and judge.

    `artifacts`: where a plot of the latencies and of memory is left.
    """
    project = set_up(folder, load.tables)
    catalog = PaimonCatalog(warehouse=project.warehouse)
    for described in project.tables:
        catalog.get_or_create(described)
    outcome, log = Outcome(), folder / "commits.jsonl"
    with ExitStack() as running:
        say("starting a Spark Connect server and Dagster's daemon")
        server = running.enter_context(connect_server(project.spark.options, log=folder / "spark.log"))
        running.enter_context(daemon(folder, server.environment()))
        instance = running.enter_context(dg.DagsterInstance.from_config(str(folder / "home")))
        writes = [project.warehouse, str(load.commits), str(load.tables), str(load.rate), str(log)]
        writer = subprocess.Popen(
            [sys.executable, "-m", "tests.soak.writer", *writes],
            cwd=FOLDER, env=environment(folder, {}), stdout=subprocess.PIPE, text=True,
        )  # fmt: skip
        reader = Reader(project.warehouse, log)
        reader.start()
        running.callback(reader.ended.set)
        watch = _Watch(project, outcome, say)
        try:
            while writer.poll() is None:
                watch.sample()
                time.sleep(load.sample_seconds)
            summary_text, _ = writer.communicate()
        finally:
            writer.kill()
            writer.wait()
        written = len(outcome.samples)
        say("the writer is done; maintenance catches up")
        _wait_for_maintenance(instance, watch, outcome, _DRAIN_SECONDS + _DRAIN_OF_TABLE * load.tables)
        _judge_writer(outcome, summary_text, load)
        _judge_runs(instance, outcome, load)
    commits = commits_of(log) if log.exists() else []
    _judge_latencies(outcome, commits, reader.visible)
    _judge_memory(outcome, written, load)
    if artifacts is not None:
        artifacts.mkdir(parents=True, exist_ok=True)
        path = artifacts / "latencies.svg"
        path.write_text(_plotted(outcome, commits, reader.visible))
        say(f"latencies and memory: {path}")
    _judge_bounds(outcome, limits)
    for name in names(load.tables):
        _judge_table(catalog, name, outcome, load)
    return outcome


class _Watch:
    """Measures the tables every few seconds."""

    def __init__(self, project: Project, outcome: Outcome, say: Callable[[str], None]) -> None:
        self._names = [table.identifier for table in project.tables]
        self._catalog = PaimonCatalog(warehouse=project.warehouse)
        self._outcome, self._say = outcome, say
        self._started = time.monotonic()
        self._followed = {name: Changelogs() for name in self._names}

    def sample(self) -> None:
        tables = [self._catalog.get_table(name) for name in self._names]
        try:
            shapes = [table_shape(table) for table in tables]
            disk = sum(entry.stat().st_size for t in tables for entry in Path(t.location).rglob("*") if entry.is_file())
            for name, table in zip(self._names, tables, strict=True):
                self._outcome.changelogs += [(at / 1000, taken) for at, taken in self._followed[name].follow(table)]
        except (PaimonError, OSError):
            return  # an expiry was faster; the next sample is near
        memory = memory_now()
        sample = Sample(
            time.monotonic() - self._started, time.time(), memory, sum(shape.snapshot_id or 0 for shape in shapes),
            max(shape.files for shape in shapes), max(shape.sorted_runs_max for shape in shapes),
            max(shape.snapshots for shape in shapes), disk,
        )  # fmt: skip
        self._outcome.samples.append(sample)
        self._say(
            f"{sample.second:6.0f} s  snapshots made {sample.commits:6}  files {sample.files:4}"
            f"  sorted runs {sample.sorted_runs:4}  snapshots {sample.snapshots:4}  disk {disk / _MIB:7.1f} MiB"
            f"  memory {sum(memory.values()):6.0f} MiB"
        )


def _wait_for_maintenance(instance: dg.DagsterInstance, watch: _Watch, outcome: Outcome, limit: float) -> None:
    deadline = time.monotonic() + limit
    while time.monotonic() < deadline:
        time.sleep(_SAMPLE_SECONDS)
        watch.sample()
        last = outcome.samples[-1]
        if last.sorted_runs < TRIGGER and last.snapshots <= RETAINED + 2 and not _unfinished(instance):
            return
    outcome.faults.append(f"maintenance did not catch up within {limit:.0f} s")


def _judge_latencies(outcome: Outcome, commits: Sequence[Point], visible: Sequence[Point]) -> None:
    outcome.numbers |= {
        "seconds of a commit": told(commits),
        "seconds until its rows are read": told(visible),
        "seconds until its changelog": told(outcome.changelogs),
    }
    outcome.check(bool(visible), "no reader saw a row of a commit")
    outcome.check(bool(outcome.changelogs), "no changelog was made")


def _judge_memory(outcome: Outcome, written: int, load: Load) -> None:
    """Whether processes have grown. `written`: samples taken while rows were written."""
    for kind, (early, late) in growth([sample.memory for sample in outcome.samples[:written]]).items():
        outcome.numbers[f"MiB of the {kind}, early and late"] = f"{early:.0f}, {late:.0f}"
        if load.seconds >= 60 * _JUDGED_MINUTES:
            outcome.check(is_flat(early, late), f"the {kind} has grown from {early:.0f} to {late:.0f} MiB")


def _plotted(outcome: Outcome, commits: Sequence[Point], visible: Sequence[Point]) -> str:
    memory = {
        kind: [(sample.moment, sample.memory[kind]) for sample in outcome.samples if kind in sample.memory]
        for kind in dict.fromkeys(kind for sample in outcome.samples for kind in sample.memory)
    }
    runs = [(sample.moment, float(sample.sorted_runs)) for sample in outcome.samples]
    return plot({
        "commit, s": {"a commit": commits},
        "visible row, s": {"until it is read": visible},
        "changelog, s": {"until its changelog": outcome.changelogs},
        "sorted runs of a table": {"most": runs},
        "memory, MiB": memory,
    })  # fmt: skip


def _unfinished(instance: dg.DagsterInstance) -> list[dg.DagsterRun]:
    return list(instance.get_runs(dg.RunsFilter(statuses=_UNFINISHED)))


def _judge_writer(outcome: Outcome, summary_text: str, load: Load) -> None:
    outcome.check(bool(summary_text), "the writer died")
    if not summary_text:
        return
    document = json.loads(summary_text)
    outcome.numbers |= {"writer's commits": document["commits"], "writer's failed commits": len(document["failures"]),
                        "writer's slowest commit (s)": round(document["slowest"], 2),
                        "writer's seconds": round(document["seconds"], 1)}  # fmt: skip
    wanted = load.commits * load.tables
    outcome.numbers[f"commits per second ({load.rate:g} asked for)"] = round(
        document["commits"] / document["seconds"], 2
    )
    outcome.check(document["commits"] == wanted, f"the writer made {document['commits']} commits of {wanted}")
    outcome.check(not document["failures"], f"commits of the writer failed: {document['failures'][:3]}")


def _judge_runs(instance: dg.DagsterInstance, outcome: Outcome, load: Load) -> None:
    runs = instance.get_runs()
    outcome.runs = dict(Counter(f"{run.job_name}: {run.status.value}" for run in runs))
    done = [run for run in runs if run.status == dg.DagsterRunStatus.SUCCESS]
    shared = {name for run in done for name in small_tables_of(run)}
    jobs = {run.job_name for run in done}
    for name in names(load.tables):
        compacted = name in shared or keys.job("compact", name) in jobs
        outcome.check(compacted, f"no run that compacts {name} succeeded")
    outcome.check("expire_all" in jobs, "no run of expire_all succeeded")
    bad = [run for run in runs if run.is_finished and run.status != dg.DagsterRunStatus.SUCCESS]
    outcome.check(not bad, f"runs failed: {[(run.job_name, run.run_id) for run in bad][:3]}")
    for name in names(load.tables):
        info = instance.event_log_storage.get_concurrency_info(keys.pool(name))
        outcome.check(info.active_slot_count == 0, f"the pool of {name} is held by {info.active_run_ids}")
        outcome.check(info.pending_step_count == 0, f"steps wait for the pool of {name}")


def _judge_bounds(outcome: Outcome, limits: Limits) -> None:
    for name, limit in (
        ("sorted_runs", limits.sorted_runs), ("files", limits.files), ("snapshots", limits.snapshots)
    ):  # fmt: skip
        most = max(getattr(sample, name) for sample in outcome.samples)
        outcome.numbers[f"most {name.replace('_', ' ')} (limit {limit})"] = most
        outcome.check(most <= limit, f"{most} {name.replace('_', ' ')}, the limit is {limit}")
    disk = [sample.disk / _MIB for sample in outcome.samples]
    outcome.numbers["most MiB on disk"] = round(max(disk), 1)
    outcome.numbers["MiB on disk at the end"] = round(disk[-1], 1)


def _judge_table(catalog: PaimonCatalog, name: str, outcome: Outcome, load: Load) -> None:
    table = catalog.get_table(name)
    expected = model(range(1, load.commits + 1))
    actual = {row["id"]: (row["version"], row["note"]) for row in table.to_arrow().to_pylist()}
    wrong = {key for key in expected.keys() | actual.keys()
             if key not in expected or actual.get(key) != (expected[key], note(key, expected[key]))}  # fmt: skip
    outcome.numbers["rows"] = int(outcome.numbers.get("rows", 0)) + len(expected)
    outcome.numbers["wrong rows"] = int(outcome.numbers.get("wrong rows", 0)) + len(wrong)
    outcome.check(not wrong, f"{name}: {len(wrong)} rows are wrong, among them ids {sorted(wrong)[:5]}")
    outcome.check(table.snapshots.list_ids()[0] > 1, f"{name}: no snapshot expired")
    report = fsck(table.file_io, table.location)
    outcome.check(report.healthy, f"{name}: fsck: {report.faults[:3]}")
    stray = files_on_disk(table) - data_files(table)
    outcome.check(not stray, f"{name}: files that nothing names: {sorted(stray)[:3]}")


def summary_text(outcome: Outcome) -> str:
    """The figures and the verdict."""
    lines = [f"{name:<40} {value:>10}" for name, value in outcome.numbers.items()]
    lines += [f"{'runs of ' + name:<44} {count}" for name, count in sorted(outcome.runs.items())]
    lines += [f"WRONG: {fault}" for fault in outcome.faults] or ["The soak held."]
    return os.linesep.join(lines)
