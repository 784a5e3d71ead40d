"""Merge a bucket of at least 2 GiB of parquet in one task whose Python worker may hold 1 GiB.

    python -m benchmarks.memory [--gib 2.0] [--cap-mib 1024]

The bucket has five overlapping runs. The compaction runs as a Spark task; a thread of the Python worker notes its
resident memory a hundred times a second, and above the cap the task fails. Prints the peak and the throughput.
"""

import argparse
import shutil
import threading
import time
from pathlib import Path

import numpy as np
import pyarrow as pa

from benchmarks import tables
from maintenance.catalog import open_catalog
from maintenance.compaction.rewrite import CompactionTask
from maintenance.operations import compact as compact_operation
from maintenance.operations.compact import compact, run_unit
from maintenance.spark.session import get_session

CACHE = Path(".cache/benchmarks")


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


def build(warehouse: Path, target_bytes: int) -> int:
    """One bucket of at least that many bytes of parquet, in five overlapping runs. Returns its bytes."""
    probe = warehouse.with_name("probe")
    tables.build(probe, 400_000, buckets=1, runs=1)
    each = sum(path.stat().st_size for path in probe.rglob("*.parquet")) / 400_000
    shutil.rmtree(probe)
    rows = int(target_bytes * 1.08 / each)
    shutil.rmtree(warehouse, ignore_errors=True)
    catalog = open_catalog({"warehouse": str(warehouse)})
    catalog.create_database("bench")
    options = {"bucket": "1", "write-only": "true", "write-buffer-size": "64 gb", "target-file-size": "64 gb"}
    catalog.create_table(tables.NAME, tables.Schema(tables.FIELDS, primary_keys=["id"], options=options))
    table = catalog.get_table(tables.NAME)
    random = np.random.default_rng(1)
    for run in range(5):
        table.write_arrow(tables.records(random, rows, rows // 5), commit_user="bench", commit_identifier=run)
        print(f"  run {run + 1} of 5 written", flush=True)
    return sum(path.stat().st_size for path in warehouse.rglob("*.parquet"))


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--gib", type=float, default=2.0)
    parser.add_argument("--cap-mib", type=int, default=1024)
    arguments = parser.parse_args()
    warehouse = CACHE / "memory"
    print(f"building a bucket of {arguments.gib} GiB of parquet", flush=True)
    size = build(warehouse, int(arguments.gib * 2**30))
    pa.default_memory_pool().release_unused()
    note = CACHE / "peak"
    # The operation looks the function up in its module: the watched one takes its place, everything else is as it is.
    compact_operation.run_unit = WatchedUnit(note, arguments.cap_mib << 20)  # type: ignore[assignment]
    table = open_catalog({"warehouse": str(warehouse)}).get_table(tables.NAME).copy({"target-file-size": "128 mb"})
    spark = get_session(master="local[1]")
    started = time.perf_counter()
    report = compact(spark, table, full=True)
    seconds = time.perf_counter() - started
    (group,) = report.groups
    peak = int(note.read_text())
    print(
        f"{group.outcome}: {size / 2**30:.2f} GiB of parquet, {group.input_rows:,} records in 5 runs -> "
        f"{group.output_rows:,} rows in {group.output_files} files\n"
        f"peak of the Python worker {peak / 2**20:.0f} MiB (cap {arguments.cap_mib} MiB), {seconds:.0f} s, "
        f"{size / 2**20 / seconds:.0f} MiB/s on one core {group.message}"
    )
    shutil.rmtree(warehouse)
    if group.outcome != "committed" or peak > arguments.cap_mib << 20:
        raise SystemExit(1)


if __name__ == "__main__":
    main()
