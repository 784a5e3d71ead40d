"""A campaign: many processes work on one table and are killed at random, while an observer and a judge look on."""

import json
import os
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import pyarrow as pa

from maintenance.catalog import CatalogTable
from maintenance.options import table as table_options
from maintenance.write.buckets import buckets_of
from tests.chaos.java_client import observed_file
from tests.chaos.judge import Judge
from tests.chaos.model import Model
from tests.chaos.observer import Observer
from tests.chaos.processes import TICK_SECONDS, Processes
from tests.chaos.readers import FOLLOWER
from tests.chaos.scenarios import SCENARIOS
from tests.chaos.verdict import Verdict
from tests.chaos.worker import journal_of
from tests.chaos.workload import JAVA, PARTITIONS, WRITERS
from tests.java.core import missing

Say = Callable[[str], None]

_PROGRESS_SECONDS = 10.0
_UNCHANGED_SECONDS = 0.5


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a campaign found. `figures`: counts by name; `left`: files that killed processes left behind."""

    figures: dict[str, int] = field(default_factory=dict)
    errors: Counter[str] = field(default_factory=Counter)
    faults: tuple[str, ...] = ()
    left: tuple[str, ...] = ()


def campaign(folder: Path, name: str, seed: int, seconds: float, *, say: Say, mischief: float = 1.0) -> Outcome:
    """Run a campaign in an empty folder."""
    return _Campaign(folder, name, seed, say, mischief).run(seconds)


class _Campaign:
    def __init__(self, folder: Path, name: str, seed: int, say: Say, mischief: float) -> None:
        (folder / "journals").mkdir(parents=True)
        self.folder, self.say = folder, say
        self.scenario = SCENARIOS[name](seed)
        self.table = self.scenario.create(folder / "warehouse")
        hides_level_0 = self.scenario.hides_level_0 or self.scenario.produces
        buckets = _buckets(self.table) if hides_level_0 else {}
        self.judge = Judge(self.scenario, Model(self.scenario.workload.partial is not None, buckets))
        self.observer = Observer(
            self.table,
            self.scenario.workload,
            self.judge.change,
            self.judge.faults,
            lambda bucket, level: bucket == table_options.POSTPONE_BUCKET or (hides_level_0 and level == 0),
            folder / "snapshots.jsonl",
        )
        self.processes = Processes(folder, name, seed, mischief)
        self.java = missing() is None

    def run(self, seconds: float) -> Outcome:
        self.say(f"{self.scenario.name}: {dict(self.scenario.options)}")
        try:
            self._start()
            self._go_on(seconds)
            self.say("no more mischief: everyone ends what it has begun")
            self._finish()
            verdict = Verdict(self.folder, self.scenario, self.table, self.judge, self.processes, java=self.java)
            verdict.finish(self._look)
            for text in self.processes.faults:
                self.judge.faults.add("processes", text)
            return Outcome(self._figures(), self.judge.errors, self.judge.faults.texts(), verdict.left)
        finally:
            self.processes.close()

    def _start(self) -> None:
        self.observer.start()
        roles = [*(("write", name) for name in WRITERS), ("tag", "tagger"), ("sweep", "sweeper"), ("read", "reader")]
        roles += [("compact", f"compactor-{i}") for i in range(self.scenario.compactors)]
        roles += [("expire", f"expirer-{i}") for i in range(self.scenario.expirers)]
        if self.scenario.produces:
            self.table.consumers.record(FOLLOWER, 1)
            roles += [("audit", "auditor"), ("follow", FOLLOWER)]
        if self.java:
            roles.append((JAVA, JAVA))
        else:
            self.say(f"without the Java core: {missing()}")
        for role, name in roles:
            self.judge.follow(name, journal_of(self.folder, name))
            self.processes.start(role, name)

    def _go_on(self, seconds: float) -> None:
        started = time.monotonic()
        reported = compared = started
        while time.monotonic() - started < seconds:
            self.processes.tick()
            self._look()
            if time.monotonic() - compared > _UNCHANGED_SECONDS:
                compared = time.monotonic()
                self.observer.check_unchanged()
            if time.monotonic() - reported > _PROGRESS_SECONDS:
                reported = time.monotonic()
                self.say(self._progress(reported - started))
            time.sleep(TICK_SECONDS)
        self.processes.stop(self._look)

    def _finish(self) -> None:
        """What a killed process had begun is ended by its next incarnation, without any mischief."""
        roles = [("write", name) for name in WRITERS] + ([(JAVA, JAVA)] if self.java else [])
        for role, name in roles:
            self.processes.start(role, name, finish=True)
        self.processes.wait(self._look)

    def _look(self) -> None:
        """See the new snapshots, and judge what was noted."""
        for applied in self.observer.poll():
            self.judge.observed(self.observer.seen[applied.snapshot_id - 1], applied)
        last = max((s.identifier for s in self.observer.seen if s.numbered and s.user == JAVA), default=0)
        temporary = self.folder / "observed.tmp"
        temporary.write_text(json.dumps({"snapshot": self.observer.latest, "java": last}))
        os.replace(temporary, observed_file(self.folder))
        self.judge.poll()

    def _figures(self) -> dict[str, int]:
        actual = {"snapshots": len(self.judge.seen), "snapshots compared": len(self.judge.checked)}
        actual |= dict(sorted((self.processes.counts + self.judge.counts).items()))
        actual["killed in all"] = len(self.processes.deaths)
        return actual

    def _progress(self, seconds: float) -> str:
        figures = self._figures()
        reads = sum(count for name, count in figures.items() if name.startswith("reads"))
        return (
            f"{seconds:5.0f} s  {figures.get('commit acknowledged', 0)} commits  {figures['snapshots']} snapshots, "
            f"{figures['snapshots compared']} compared  {reads} reads  {figures['killed in all']} kills  "
            f"{figures.get('conflicts told', 0)} conflicts  {len(self.judge.faults)} faults"
        )


def _buckets(table: CatalogTable) -> dict[tuple[str, int], int]:
    """The bucket of every key that the workload has."""
    ids = [*range(1000), *range(10_000, 11_000)]
    keys = [(partition, number) for partition in PARTITIONS for number in ids]
    columns = {"p": pa.array([key[0] for key in keys]), "id": pa.array([key[1] for key in keys], pa.int64())}
    return dict(zip(keys, map(int, buckets_of(pa.table(columns), table.write_context())), strict=True))
