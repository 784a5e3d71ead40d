"""The same compaction on 1, 2 and more machines, and a simulation of its schedule for clusters that are not here.

    python -m benchmarks.machines [--workers 1 2] [--rows 8000000] [--buckets 16] [--rounds 3] [--cluster-buckets 10000]

A standalone Spark cluster with that many workers, processes of one core each, compacts the same table of overlapping
runs in full; each round works on a fresh copy, the first one is to warm up. Each task notes when it began and ended.

The simulation knows what the runs on one worker tell: the throughput of a task, what Spark adds to each, and what the
driver does alone. It hands tasks of the plan's sizes to as many cores as a cluster has, in the waves of `run_tasks`,
and so predicts the runs on all workers; the error is told. Then it says what clusters do with 10 TB in 10,000 buckets.
For those the driver's part is measured on metadata of so many buckets (`--cluster-buckets`): the plan, the commit, and
how many tasks it hands out in a second. More workers than this machine has cores show nothing but the scheduler.
"""

import argparse
import heapq
import json
import os
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import mean, median
from typing import Any

import numpy as np

from benchmarks import contest, tables
from benchmarks.results import tell
from maintenance.spark.tasks import wave_of
from tests.servers.spark_cluster import cluster_settings, standalone_cluster

_TERABYTES, _CORES = 10, (10, 100, 1000, 5000)
_RUNS_OF_BUCKET = 5


class TimedUnit:
    """`run_unit`, which notes when each task began and ended, and the bytes that it read."""

    def __init__(self, folder: Path) -> None:
        self.folder = str(folder)

    def __call__(self, task: Any) -> object:
        from maintenance.operations.compaction.groups import run_unit

        started = time.time()
        result = run_unit(task)
        size = sum(file.file_size for file in task.compaction.input_files)
        note = {"began": started, "ended": time.time(), "bytes": size}
        Path(self.folder, f"{time.time_ns()}-{os.getpid()}").write_text(json.dumps(note))
        return result


def compacted(master: str, workers: str, source: str, rounds: str) -> contest.Found:
    """Rounds of the compaction on a cluster: seconds, and the notes of the tasks of each round."""
    from maintenance.operations.compaction import groups
    from maintenance.operations.compaction.compact import compact
    from maintenance.spark.session import get_session

    spark = get_session(master=master, config=cluster_settings(int(workers), "900m"))
    done: list[dict[str, Any]] = []
    for _ in range(int(rounds) + 1):
        table = tables.opened(contest.fresh(Path(source), "machines-copy"))
        with tempfile.TemporaryDirectory() as folder:
            # The operation looks the function up in its module.
            groups.run_unit = TimedUnit(Path(folder))  # type: ignore[assignment]
            started = time.time()
            report = compact(spark, table, full=True)
            ended = time.time()
            notes = [json.loads(path.read_text()) for path in sorted(Path(folder).iterdir())]
        assert not report.failed
        done.append({"started": started, "ended": ended, "tasks": notes})
    return {"rounds": done[1:], "digest": contest.digest(table.to_arrow())}


def dispatched(master: str, workers: str, count: str) -> contest.Found:
    """Seconds that it takes to hand out so many tasks that do nothing, and to gather what they return."""
    from maintenance.spark.session import get_session
    from maintenance.spark.tasks import run_tasks

    spark = get_session(master=master, config=cluster_settings(int(workers), "900m"))
    run_tasks(spark, len, [b"x"] * int(workers))
    payloads = [os.urandom(2000)] * int(count)
    started = time.perf_counter()
    run_tasks(spark, len, payloads)
    return {"seconds": time.perf_counter() - started}


def driver(buckets: str) -> contest.Found:
    """Seconds of planning and committing the compaction of so many buckets, by metadata alone."""
    from dataclasses import replace

    from benchmarks.metadata import many_buckets
    from maintenance.commit.commit import commit_compact
    from maintenance.commit.identity import CommitIdentity
    from maintenance.operations.compaction.compact import compact
    from maintenance.write.message import CommitMessage

    table = many_buckets(contest.CACHE / "machines-driver", int(buckets), _RUNS_OF_BUCKET)
    started = time.perf_counter()
    report = compact(None, table, full=True, dry_run=True)
    planned = time.perf_counter() - started
    assert len(report.groups) == int(buckets), len(report.groups)
    snapshot = table.latest_snapshot()
    assert snapshot is not None
    by_bucket: dict[int, list[Any]] = {}
    for entry in table.manifests.live_entries(snapshot):
        by_bucket.setdefault(entry.bucket, []).append(entry)
    messages = [
        CommitMessage(
            entries[0].partition, bucket, int(buckets), compact_before=tuple(entry.file for entry in entries),
            compact_after=(replace(entries[0].file, file_name=f"data-new-{bucket}.parquet", level=5),),
        )
        for bucket, entries in by_bucket.items()
    ]  # fmt: skip
    for message in messages:
        # The commit makes the files that it names safe; here nothing is in them.
        path = Path(table.paths.data_file(message.partition, message.bucket, message.compact_after[0]))
        path.parent.mkdir(parents=True)
        path.touch()
    started = time.perf_counter()
    made = commit_compact(table.commit_target(), messages, CommitIdentity("benchmark", 2))
    assert made.snapshot_id == snapshot.id + 1, made
    return {"plan": planned, "commit": time.perf_counter() - started}


CONTENDERS: dict[str, contest.Contender] = {"compacted": compacted, "dispatched": dispatched, "driver": driver}


@dataclass(frozen=True, slots=True)
class Model:
    """What a schedule is made of, in seconds.

    Attributes:
        of_byte: of a task, for each byte that it reads; `of_task`: what comes on top for each task, in its slot.
        alone: what the driver does before and after the tasks.
        dispatch: between two tasks that the driver hands out.
    """

    of_byte: float
    of_task: float
    alone: float
    dispatch: float = 0.0

    @classmethod
    def of(cls, rounds: Sequence[dict[str, Any]]) -> "Model":
        """From rounds on one worker, whose tasks come one after the other."""
        tasks = [task for each in rounds for task in each["tasks"]]
        of_byte = sum(task["ended"] - task["began"] for task in tasks) / sum(task["bytes"] for task in tasks)
        spans = [(min(t["began"] for t in each["tasks"]), max(t["ended"] for t in each["tasks"])) for each in rounds]
        gaps = [
            (end - begin - sum(t["ended"] - t["began"] for t in each["tasks"])) / (len(each["tasks"]) - 1)
            for each, (begin, end) in zip(rounds, spans, strict=True)
        ]
        alone = [
            each["ended"] - each["started"] - end + begin for each, (begin, end) in zip(rounds, spans, strict=True)
        ]
        return cls(of_byte, mean(gaps), median(alone))

    def seconds(self, sizes: Sequence[int], cores: int) -> float:
        """How long tasks of these sizes take, in order, on so many cores."""
        wave = wave_of(cores)
        return self.alone + sum(self._wave(sizes[start : start + wave], cores) for start in range(0, len(sizes), wave))

    def _wave(self, sizes: Sequence[int], cores: int) -> float:
        free = [0.0] * min(cores, len(sizes))
        for number, size in enumerate(sizes):
            begin = max(heapq.heappop(free), number * self.dispatch)
            heapq.heappush(free, begin + self.of_task + size * self.of_byte)
        return max(free)


def on_cluster(workers: int, action: str, *given: object) -> contest.Found:
    """A contender, on a cluster that is there for it."""
    with tempfile.TemporaryDirectory() as folder, standalone_cluster(Path(folder), workers, "1g") as master:
        return contest.contend("machines", action, master, workers, *given)


def report(given: argparse.Namespace) -> None:
    source = contest.built("machines", lambda path, rows, buckets: tables.build(path, rows, buckets=buckets),
                           given.rows, given.buckets)  # fmt: skip
    found = {workers: on_cluster(workers, "compacted", source, given.rounds) for workers in given.workers}
    if len({each["digest"] for each in found.values()}) > 1:
        raise SystemExit("the rows differ")
    times = {n: [each["ended"] - each["started"] for each in of["rounds"]] for n, of in found.items()}
    one = min(given.workers)
    model = Model.of(found[one]["rounds"])
    sizes = [task["bytes"] for task in found[one]["rounds"][0]["tasks"]]
    print(f"\nfull compaction of {given.rows:,} records in {given.buckets} buckets", flush=True)
    print(f"  a task: {1 / model.of_byte / 2**20:.0f} MiB/s and {model.of_task * 1000:.0f} ms; the driver alone: "
          f"{model.alone:.2f} s", flush=True)  # fmt: skip
    for workers, taken in times.items():
        efficiency = min(times[one]) * one / workers / min(taken)
        predicted = model.seconds(sizes, workers)
        error = predicted / median(taken) - 1
        print(f"  {workers} workers  {min(taken):7.2f} s  median {median(taken):7.2f} s  efficiency {efficiency:4.0%}  "
              f"simulated {predicted:7.2f} s, {error:+.0%} beside the median", flush=True)  # fmt: skip
        tell(f"compaction of {given.rows:,} records, {given.buckets} buckets", f"ours, {workers} workers", taken,
             efficiency=f"{efficiency:.0%}", simulated_s=round(predicted, 2), error=f"{error:+.0%}")  # fmt: skip
    clusters(given, model)


def clusters(given: argparse.Namespace, model: Model) -> None:
    """What the model says of clusters that are not here."""
    alone = contest.contend("machines", "driver", given.cluster_buckets)
    workers = max(given.workers)
    handed = on_cluster(workers, "dispatched", given.dispatched)["seconds"] / given.dispatched
    # Tasks of small payloads share a Spark task by eights; those of a gigabyte do not.
    large = Model(model.of_byte, model.of_task, alone["plan"] + alone["commit"], handed)
    sizes = np.random.default_rng(7).normal(1, 0.1, given.cluster_buckets).clip(0.5, 1.5)
    sizes = (sizes / sizes.sum() * _TERABYTES * 10**12).astype(np.int64)
    each = float(sizes.mean()) * model.of_byte + model.of_task
    print(f"\n{_TERABYTES} TB in {given.cluster_buckets:,} buckets: a task takes {each:.0f} s; the driver plans for "
          f"{alone['plan']:.1f} s, commits for {alone['commit']:.1f} s and hands out {1 / handed:,.0f} tasks/s",
          flush=True)  # fmt: skip
    work = each * len(sizes)
    for cores in _CORES:
        seconds = large.seconds(sizes.tolist(), cores)
        busy = work / cores / seconds
        print(f"  {cores:>6,} cores  {seconds:10,.0f} s  {busy:4.0%} of them at work", flush=True)
        tell(f"simulated: {_TERABYTES} TB in {given.cluster_buckets:,} buckets", f"{cores:,} cores",
             simulated_s=round(seconds), cores_at_work=f"{busy:.0%}")  # fmt: skip
    limit = each / handed
    print(f"  the driver keeps {limit:,.0f} cores busy, if there are tasks enough", flush=True)
    tell("the driver", "plan, s", value=round(alone["plan"], 1))
    tell("the driver", "commit, s", value=round(alone["commit"], 1))
    tell("the driver", "tasks handed out in a second", value=round(1 / handed))
    tell("the driver", "cores that it keeps busy", value=round(limit))


def main() -> None:
    parser = contest.parser_of(__doc__)
    parser.add_argument("--workers", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--rows", type=int, default=8_000_000)
    parser.add_argument("--buckets", type=int, default=16)
    parser.add_argument("--cluster-buckets", type=int, default=10_000)
    parser.add_argument("--dispatched", type=int, default=300, help="tasks that do nothing")
    arguments = parser.parse_args()
    if contest.run_contender(CONTENDERS, arguments):
        return
    report(arguments)


if __name__ == "__main__":
    main()
