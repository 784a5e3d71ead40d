"""The soak: a writer that commits every second, compaction by sensor, expiry by schedule, for as long as is asked.

Everything is real: Dagster's daemon launches the runs, each a process that uses one Spark Connect server. Meanwhile the
table is measured every few seconds; at the end it must hold exactly what the writer's batches leave.
"""

import json
import os
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path

import dagster as dg

from maintenance.errors import PaimonError
from maintenance.operations.checks.fsck import fsck
from maintenance.spark.connect_server import connect_server
from maintenance.table.shape import table_shape
from paimon_maintenance.assets import keys
from paimon_maintenance.assets.project.config import FOLDER, Project
from paimon_maintenance.assets.resources.catalog import PaimonCatalog
from tests.soak.lake import RETAINED, TRIGGER, daemon, environment, set_up
from tests.soak.workload import TABLE, model, note
from tests.tables import data_files, files_on_disk

SAMPLE_SECONDS = 5.0
_DRAIN_SECONDS = 600.0
_MIB = 2**20
_UNFINISHED = (
    dg.DagsterRunStatus.QUEUED,
    dg.DagsterRunStatus.NOT_STARTED,
    dg.DagsterRunStatus.STARTING,
    dg.DagsterRunStatus.STARTED,
    dg.DagsterRunStatus.CANCELING,
)


@dataclass(frozen=True, slots=True)
class Limits:
    """What the table must stay under, in seconds of writing that maintenance may lag behind."""

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
    """The table at one moment. `second`: of the soak; `disk`: bytes of everything below the table's folder."""

    second: float
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
    numbers: dict[str, float] = field(default_factory=dict)
    faults: list[str] = field(default_factory=list)

    def check(self, holds: bool, fault: str) -> None:
        if not holds:
            self.faults.append(fault)


def soak(folder: Path, seconds: int, *, limits: Limits, say: Callable[[str], None]) -> Outcome:
    """Write for so many seconds, then wait until maintenance has caught up, and judge."""
    project = set_up(folder)
    catalog = PaimonCatalog(warehouse=project.warehouse)
    catalog.get_or_create(project.tables[0])
    outcome = Outcome()
    with ExitStack() as running:
        say("starting a Spark Connect server and Dagster's daemon")
        server = running.enter_context(connect_server(project.spark.options, log=folder / "spark.log"))
        running.enter_context(daemon(folder, server.environment()))
        instance = running.enter_context(dg.DagsterInstance.from_config(str(folder / "home")))
        writer = subprocess.Popen(
            [sys.executable, "-m", "tests.soak.writer", project.warehouse, str(seconds)],
            cwd=FOLDER, env=environment(folder, {}), stdout=subprocess.PIPE, text=True,
        )  # fmt: skip
        try:
            started = time.monotonic()
            while writer.poll() is None:
                _sample(project, outcome, started, say)
                time.sleep(SAMPLE_SECONDS)
            summary_text, _ = writer.communicate()
        finally:
            writer.kill()
            writer.wait()
        say("the writer is done; maintenance catches up")
        _wait_for_maintenance(instance, project, outcome, started, say)
        _judge_writer(outcome, summary_text, seconds)
        _judge_runs(instance, outcome)
    _judge_bounds(outcome, limits)
    _judge_table(catalog, outcome, seconds)
    return outcome


def _sample(project: Project, outcome: Outcome, started: float, say: Callable[[str], None]) -> None:
    table = PaimonCatalog(warehouse=project.warehouse).get_table(TABLE)
    try:
        shape = table_shape(table)
        disk = sum(entry.stat().st_size for entry in Path(table.location).rglob("*") if entry.is_file())
    except (PaimonError, OSError):
        return  # an expiry was faster; the next sample is near
    sample = Sample(time.monotonic() - started, shape.snapshot_id or 0, shape.files, shape.sorted_runs_max,
                    shape.snapshots, disk)  # fmt: skip
    outcome.samples.append(sample)
    say(
        f"{sample.second:6.0f} s  snapshot {sample.commits:5}  files {sample.files:4}"
        f"  sorted runs {sample.sorted_runs:4}  snapshots {sample.snapshots:4}  disk {sample.disk / _MIB:7.1f} MiB"
    )


def _wait_for_maintenance(
    instance: dg.DagsterInstance, project: Project, outcome: Outcome, started: float, say: Callable[[str], None]
) -> None:
    deadline = time.monotonic() + _DRAIN_SECONDS
    while time.monotonic() < deadline:
        time.sleep(SAMPLE_SECONDS)
        _sample(project, outcome, started, say)
        last = outcome.samples[-1]
        if last.sorted_runs < TRIGGER and last.snapshots <= RETAINED + 2 and not _unfinished(instance):
            return
    outcome.faults.append(f"maintenance did not catch up within {_DRAIN_SECONDS:.0f} s")


def _unfinished(instance: dg.DagsterInstance) -> list[dg.DagsterRun]:
    return list(instance.get_runs(dg.RunsFilter(statuses=_UNFINISHED)))


def _judge_writer(outcome: Outcome, summary_text: str, seconds: int) -> None:
    outcome.check(bool(summary_text), "the writer died")
    if not summary_text:
        return
    document = json.loads(summary_text)
    outcome.numbers |= {"writer's commits": document["commits"], "writer's failed commits": len(document["failures"]),
                        "writer's slowest commit (s)": round(document["slowest"], 2),
                        "writer's seconds": round(document["seconds"], 1)}  # fmt: skip
    outcome.check(document["commits"] == seconds, f"the writer made {document['commits']} commits of {seconds}")
    outcome.check(not document["failures"], f"commits of the writer failed: {document['failures'][:3]}")


def _judge_runs(instance: dg.DagsterInstance, outcome: Outcome) -> None:
    runs = instance.get_runs()
    outcome.runs = dict(Counter(f"{run.job_name}: {run.status.value}" for run in runs))
    for job in (keys.job("compact", TABLE), "expire"):
        succeeded = outcome.runs.get(f"{job}: {dg.DagsterRunStatus.SUCCESS.value}", 0)
        outcome.check(succeeded > 0, f"no run of {job} succeeded")
    bad = [run for run in runs if run.is_finished and run.status != dg.DagsterRunStatus.SUCCESS]
    outcome.check(not bad, f"runs failed: {[(run.job_name, run.run_id) for run in bad][:3]}")
    info = instance.event_log_storage.get_concurrency_info(keys.pool(TABLE))
    outcome.numbers["pool slots held at the end"] = info.active_slot_count
    outcome.numbers["steps that wait for the pool"] = info.pending_step_count
    outcome.check(info.active_slot_count == 0, f"the pool is held by {info.active_run_ids}")
    outcome.check(info.pending_step_count == 0, "steps wait for the pool")


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


def _judge_table(catalog: PaimonCatalog, outcome: Outcome, seconds: int) -> None:
    table = catalog.get_table(TABLE)
    expected = model(range(1, seconds + 1))
    actual = {row["id"]: (row["version"], row["note"]) for row in table.to_arrow().to_pylist()}
    wrong = {key for key in expected.keys() | actual.keys()
             if key not in expected or actual.get(key) != (expected[key], note(key, expected[key]))}  # fmt: skip
    outcome.numbers |= {"rows": len(expected), "wrong rows": len(wrong)}
    outcome.check(not wrong, f"{len(wrong)} rows are wrong, among them ids {sorted(wrong)[:5]}")
    snapshots = table.snapshots.list_ids()
    outcome.numbers["oldest snapshot"] = snapshots[0]
    outcome.check(snapshots[0] > 1, "no snapshot expired")
    report = fsck(table.file_io, table.location)
    outcome.check(report.healthy, f"fsck: {report.faults[:3]}")
    stray = files_on_disk(table) - data_files(table)
    outcome.numbers["files that nothing names"] = len(stray)
    outcome.check(not stray, f"files that nothing names: {sorted(stray)[:3]}")


def summary_text(outcome: Outcome) -> str:
    """The figures and the verdict."""
    lines = [f"{name:<34} {value:>10}" for name, value in outcome.numbers.items()]
    lines += [f"{'runs of ' + name:<44} {count}" for name, count in sorted(outcome.runs.items())]
    lines += [f"WRONG: {fault}" for fault in outcome.faults] or ["The soak held."]
    return os.linesep.join(lines)
