"""Merge buckets that are up to ten times what their task may hold: memory stays flat as the bucket grows.

    python -m benchmarks.memory [--gib 0.25 2.3] [--cap-mib 640]

Each bucket has five overlapping runs of at least so many GiB of parquet. The compaction runs as a Spark task in one
process of Python, a new one for each size; a thread of it notes its resident memory a hundred times a second, and above
the cap the task fails. Prints the peak, how many times the cap the bucket's rows take as Arrow, and the throughput.
Every key's row is checked to be that of its newest run.
"""

import argparse
import shutil
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks import tables
from benchmarks.results import tell
from maintenance.catalog import CatalogTable, Schema, open_catalog
from maintenance.compaction.rewriting import CompactionTask
from maintenance.operations.compaction import groups
from maintenance.operations.compaction.compact import compact
from maintenance.operations.compaction.groups import run_unit
from maintenance.spark.session import get_session

CACHE = Path(".cache/benchmarks")
RUNS = 5


def resident() -> int:
    """Bytes of this process in memory now."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("VmRSS"):
            return int(line.split()[1]) << 10
    raise RuntimeError("no VmRSS")


class WatchedUnit:
    """`run_unit`, with the peak of the worker's memory written to a file; stops the task above the cap."""

    def __init__(self, note: Path, cap: int) -> None:
        self.note = str(note.absolute())
        self.cap = cap

    def __call__(self, task: CompactionTask) -> object:
        peak = 0
        over = threading.Event()
        done = threading.Event()

        def watch() -> None:
            nonlocal peak
            while not done.wait(0.01):
                peak = max(peak, resident())
                if peak > self.cap:
                    over.set()

        watcher = threading.Thread(target=watch, daemon=True)
        watcher.start()
        try:
            result = run_unit(task)
        finally:
            done.set()
            watcher.join()
            Path(self.note).write_text(str(peak))
        if over.is_set():
            raise MemoryError(f"the worker held {peak >> 20} MiB, the cap is {self.cap >> 20} MiB")
        return result


def build(warehouse: Path, target_bytes: int) -> tuple[int, int]:
    """One bucket of at least that many bytes of parquet, in five overlapping runs. Its bytes, and those of its rows."""
    probe = warehouse.with_name("probe")
    tables.build(probe, 400_000, buckets=1, runs=1)
    each = sum(path.stat().st_size for path in probe.rglob("*.parquet")) / 400_000
    shutil.rmtree(probe)
    rows = int(target_bytes * 1.08 / each)
    shutil.rmtree(warehouse, ignore_errors=True)
    catalog = open_catalog({"warehouse": str(warehouse)})
    catalog.create_database("bench")
    options = {"bucket": "1", "write-only": "true", "write-buffer-size": "64 gb", "target-file-size": "64 gb"}
    catalog.create_table(tables.NAME, Schema(tables.FIELDS, primary_keys=["id"], options=options))
    table = catalog.get_table(tables.NAME)
    assert isinstance(table, CatalogTable)
    random = np.random.default_rng(1)
    in_memory = 0
    for run in range(RUNS):
        made = tables.records(random, rows, rows // RUNS)
        # A hundredth of the score tells the run.
        made = made.set_column(4, "score", pa.array(np.floor(random.random(made.num_rows) * 100) + run / 100))
        table.write_arrow(made, commit_user="bench", commit_identifier=run)
        in_memory += made.nbytes
    return sum(path.stat().st_size for path in warehouse.rglob("*.parquet")), in_memory


def newest_of(table: CatalogTable) -> tuple[int, int]:
    """Number of keys, and the sum of the runs that their newest records are of: without the engine's merging."""
    newest = np.zeros(0, np.int8)
    entries = sorted(tables.live(table), key=lambda entry: entry.file.min_sequence_number)
    for run, entry in enumerate(entries):
        path = table.paths.data_file(entry.partition, entry.bucket, entry.file)
        ids = pq.read_table(path, columns=["id"]).column("id").to_numpy()
        if len(newest) <= ids.max():
            newest = np.append(newest, np.full(ids.max() + 1 - len(newest), -1, np.int8))
        newest[ids] = run
    return int(np.count_nonzero(newest >= 0)), int(newest[newest >= 0].sum())


def runs_of(table: CatalogTable) -> tuple[int, int]:
    """The same of a compacted table, from the scores that its rows have."""
    keys = total = 0
    for path in (table.paths.data_file(e.partition, e.bucket, e.file) for e in tables.live(table)):
        scores = pq.read_table(path, columns=["score"]).column("score").to_numpy()
        keys += len(scores)
        total += int(np.rint(scores % 1 * 100).sum())
    return keys, total


def merge(gib: float, cap_mib: int) -> bool:
    """Build, merge and check a bucket. Returns whether it stayed below the cap."""
    warehouse = CACHE / "memory"
    size, in_memory = build(warehouse, int(gib * 2**30))
    note = CACHE / "peak"
    note.unlink(missing_ok=True)
    # The operation looks the function up in its module: the watched one takes its place, everything else is as it is.
    groups.run_unit = WatchedUnit(note, cap_mib << 20)  # type: ignore[assignment]
    table = open_catalog({"warehouse": str(warehouse)}).get_table(tables.NAME).copy({"target-file-size": "128 mb"})
    expected = newest_of(table)
    spark = get_session(master="local[1]")
    started = time.perf_counter()
    report = compact(spark, table, full=True)
    seconds = time.perf_counter() - started
    (group,) = report.groups
    peak = int(note.read_text())
    tell(f"{gib} GiB of parquet", "ours", [seconds], peak_MiB=round(peak / 2**20), cap_MiB=cap_mib)
    reported = (
        f"{size / 2**30:5.2f} GiB of parquet, {group.input_rows:,} records -> {group.output_rows:,} rows",
        f"as Arrow {in_memory / (cap_mib << 20):.1f} x the cap",
        f"peak of the Python worker {peak / 2**20:.0f} MiB",
        f"{seconds:.0f} s, {size / 2**20 / seconds:.0f} MiB/s on one core",
    )
    print(f"  {'; '.join(reported)}; {group.outcome} {group.message}", flush=True)
    if group.outcome == "committed" and runs_of(table) != expected:
        raise SystemExit(f"the merged bucket is not that of the newest records: {runs_of(table)}, not {expected}")
    shutil.rmtree(warehouse)
    return group.outcome == "committed" and peak <= cap_mib << 20


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--gib", type=float, nargs="+", default=[0.25, 2.3])
    parser.add_argument("--cap-mib", type=int, default=640)
    parser.add_argument("--one", type=float, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.one is not None:
        raise SystemExit(0 if merge(arguments.one, arguments.cap_mib) else 1)
    print(f"merging buckets of {RUNS} runs, cap {arguments.cap_mib} MiB", flush=True)
    command = [sys.executable, "-m", "benchmarks.memory", "--cap-mib", str(arguments.cap_mib), "--one"]
    # A process for each size, so that none starts with what another left.
    codes = [subprocess.run([*command, str(gib)], check=False).returncode for gib in arguments.gib]
    if any(codes):
        raise SystemExit(1)


if __name__ == "__main__":
    main()
