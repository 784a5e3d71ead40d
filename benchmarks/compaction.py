"""Compaction and merge-on-read against the warm Java core, pypaimon and the physical limit, on the same table.

    python -m benchmarks.compaction [--rows 4000000 16000000] [--rounds 3]

Each contender is a process of its own, warmed up on a copy of the table; each round works on a fresh copy. All use two
cores: our operation on a warm local Spark session with two task slots and in this process without Spark, the Java core
on two threads, the limit (decode every input file with pyarrow, encode the same rows, no merge) on two threads. Best of
the rounds counts.
"""

import argparse
import json
import os
import shutil
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks import java_core, tables
from benchmarks.results import tell

CACHE = Path(".cache/benchmarks")
BUCKETS = 4
CORES = 2


def fresh(source: Path, name: str) -> Path:
    target = CACHE / name
    shutil.rmtree(target, ignore_errors=True)
    return Path(shutil.copytree(source, target))


def ours(source: Path, rounds: int) -> dict[str, Any]:
    """Our operation on a warm Spark session."""
    from maintenance.spark.session import get_session

    return _compacted(get_session(master=f"local[{CORES}]"), source, rounds)


def embedded(source: Path, rounds: int) -> dict[str, Any]:
    """Our operation without Spark."""
    return _compacted(None, source, rounds)


def _compacted(spark: Any, source: Path, rounds: int) -> dict[str, Any]:
    from maintenance.catalog import open_catalog
    from maintenance.operations.compaction.compact import compact

    seconds = []
    for turn in range(rounds + 1):
        table = open_catalog({"warehouse": str(fresh(source, "ours"))}).get_table(tables.NAME)
        started = time.perf_counter()
        report = compact(spark, table, full=True)
        seconds.append(time.perf_counter() - started)
        assert report.count("committed") == BUCKETS, report.groups
        if turn == 0:
            seconds.clear()
    return {"compact": min(seconds), "rounds": seconds}


def proof(source: Path, rounds: int) -> dict[str, Any]:
    """Processor time of our operation in this process, without a proof, with it as it is by default, and in full."""
    from maintenance.catalog import open_catalog
    from maintenance.operations.compaction.compact import compact

    pa.set_cpu_count(1)  # as in Spark's tasks
    seconds: dict[str, list[float]] = {"off": [], "auto": [], "full": []}
    for turn in range(rounds + 1):
        for mode, taken in seconds.items():
            table = open_catalog({"warehouse": str(fresh(source, "proof"))}).get_table(tables.NAME)
            started = time.process_time()
            report = compact(None, table, full=True, proof=mode)
            taken.append(time.process_time() - started)
            assert report.count("committed") == BUCKETS, report.groups
            if turn == 0:
                taken.clear()
    return {mode: min(taken) for mode, taken in seconds.items()} | {"rounds": seconds}


def ours_read(source: Path, rounds: int) -> dict[str, Any]:
    """Merge-on-read of the uncompacted table into Arrow, without Spark."""
    from maintenance.catalog import open_catalog

    table = open_catalog({"warehouse": str(source)}).get_table(tables.NAME)
    seconds = []
    for _ in range(rounds + 1):
        started = time.perf_counter()
        rows = table.to_arrow().num_rows
        seconds.append(time.perf_counter() - started)
    return {"read": min(seconds[1:]), "rounds": seconds[1:], "rows": rows}


def java(source: Path, rounds: int) -> dict[str, Any]:
    """The Java core's full compaction."""
    paimon = java_core.start()
    seconds = []
    for turn in range(rounds + 1):
        table = java_core.get_table(paimon, fresh(source, "java").absolute(), tables.NAME)
        taken = java_core.compact_seconds(paimon, table, BUCKETS, CORES)
        if turn:
            seconds.append(taken)
    return {"compact": min(seconds), "rounds": seconds}


def limit(source: Path, rounds: int) -> dict[str, Any]:
    """Decode and encode the bytes of each bucket with pyarrow alone, with the settings Paimon's files have."""
    folders = sorted(source.glob("bench.db/t/bucket-*"))
    target = CACHE / "limit"
    pa.set_cpu_count(CORES)

    def copy(folder: Path) -> None:
        parts = [pq.ParquetFile(path).read(use_threads=False) for path in sorted(folder.glob("*.parquet"))]
        rows = pa.concat_tables(parts)
        pq.write_table(rows, target / f"{folder.name}.parquet", compression="zstd", compression_level=1)

    seconds = []
    for _ in range(rounds + 1):
        shutil.rmtree(target, ignore_errors=True)
        target.mkdir(parents=True)
        started = time.perf_counter()
        with ThreadPoolExecutor(CORES) as pool:
            list(pool.map(copy, folders))
        seconds.append(time.perf_counter() - started)
    return {"compact": min(seconds[1:]), "rounds": seconds[1:]}


PYPAIMON = """
import sys, time, json
from pypaimon import CatalogFactory
table = CatalogFactory.create({"warehouse": sys.argv[1]}).get_table("bench.t")
started = time.perf_counter()
builder = table.new_read_builder()
rows = builder.new_read().to_arrow(builder.new_scan().plan().splits()).num_rows
print(json.dumps({"read": time.perf_counter() - started, "rows": rows}))
"""


def pypaimon(source: Path) -> dict[str, Any] | None:
    """pypaimon's merge-on-read, once: it takes minutes. None where it is not installed."""
    python = Path(".venv-pypaimon/bin/python")
    if not python.exists():
        return None
    done = subprocess.run([python, "-c", PYPAIMON, str(source.absolute())], capture_output=True, text=True, check=False)
    return json.loads(done.stdout.splitlines()[-1]) if done.returncode == 0 else None


CONTENDERS = {"ours": ours, "embedded": embedded, "proof": proof, "ours_read": ours_read, "java": java, "limit": limit}


def contend(name: str, source: Path, rounds: int) -> dict[str, Any]:
    """Run a contender in a process of its own."""
    command = [sys.executable, "-m", "benchmarks.compaction", "--contender", name, str(source), str(rounds)]
    done = subprocess.run(command, capture_output=True, text=True, env={**os.environ, "PYTHONPATH": "."}, check=False)
    if done.returncode:
        raise SystemExit(f"{name} failed:\n{done.stderr[-4000:]}")
    return json.loads(done.stdout.splitlines()[-1])


def compare(rows: int, rounds: int) -> None:
    source = CACHE / f"source-{rows}"
    if not source.exists():
        print(
            f"building {rows:,} rows: {BUCKETS} buckets x 5 overlapping runs, {len(tables.FIELDS)} columns", flush=True
        )
        tables.build(source, rows, buckets=BUCKETS)
    size = sum(path.stat().st_size for path in source.rglob("*.parquet"))
    print(f"\n{rows:,} rows, {size / 2**20:.0f} MiB of parquet, {CORES} cores, best of {rounds}", flush=True)
    case = f"full compaction of {rows:,} rows"
    copied, done = contend("limit", source, rounds), contend("ours", source, rounds)
    floor, mine = copied["compact"], done["compact"]
    tell(case, "limit", copied["rounds"])
    tell(case, "ours, warm Spark", done["rounds"])
    print(f"  full compaction   limit (pyarrow copy)   {floor:7.2f} s", flush=True)
    print(f"                    ours, warm Spark       {mine:7.2f} s   {mine / floor:5.2f} x the limit", flush=True)
    alone = contend("embedded", source, rounds)
    own = alone["compact"]
    tell(case, "ours, embedded", alone["rounds"])
    print(f"                    ours, embedded         {own:7.2f} s   {own / floor:5.2f} x the limit", flush=True)
    proved = contend("proof", source, rounds)
    for mode, taken in proved["rounds"].items():
        tell(f"{case}, processor time in one process", f"ours, proof = {mode}", taken)
    for mode in ("auto", "full"):
        print(
            f"                    proof = {mode:4}           {proved[mode]:7.2f} s   "
            f"{100 * (proved[mode] / proved['off'] - 1):.0f} % more processor time than {proved['off']:.2f} s without",
            flush=True,
        )
    if java_core.JAR.exists():
        by_java = contend("java", source, rounds)
        peer = by_java["compact"]
        tell(case, "Java core", by_java["rounds"])
        print(
            f"                    Java core, warm        {peer:7.2f} s   ours is {peer / mine:.2f} x faster, "
            f"embedded {peer / own:.2f} x",
            flush=True,
        )
    read = contend("ours_read", source, rounds)
    per = read["read"] * 4_000_000 / rows
    tell(f"merge on read of {rows:,} rows", "ours", read["rounds"])
    print(
        f"  merge-on-read     ours                   {read['read']:7.2f} s   {per:.2f} s per 4 million rows", flush=True
    )
    if rows <= 4_000_000:
        other = pypaimon(source)
        if other is not None:
            assert other["rows"] == read["rows"], (other, read)
            tell(f"merge on read of {rows:,} rows", "pypaimon", [other["read"]])
            print(
                f"                    pypaimon               {other['read']:7.2f} s   "
                f"ours is {other['read'] / read['read']:.0f} x faster",
                flush=True,
            )


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--rows", type=int, nargs="+", default=[4_000_000, 16_000_000])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--contender", nargs=3, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.contender:
        name, source, rounds = arguments.contender
        print(json.dumps(CONTENDERS[name](Path(source), int(rounds))))
        return
    for rows in arguments.rows:
        compare(rows, arguments.rounds)


if __name__ == "__main__":
    main()
