"""The same operations on each engine: in this process, on Sail and on Spark, in one run.

    python -m benchmarks.engines [--rows 4000000] [--rounds 3] [--engines embedded sail spark]

Each engine has a process of its own: it opens the session, compacts a fresh copy of a table (the first time, then warm,
best of the rounds), compacts a copy with one bucket, and ingests a million rows. `memory` is the most that the process
had, with all that it has started: its server, JVM and Python workers.
"""

import argparse
import json
import os
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import tables
from benchmarks.compaction import CACHE, CORES, fresh
from benchmarks.results import tell
from maintenance.catalog import Schema, open_catalog
from maintenance.operations.compaction.compact import compact
from maintenance.operations.ingestion.ingest import ingest
from maintenance.spark.engine import Engine
from maintenance.spark.opened import open_session
from maintenance.spark.read import rows_to_spark
from tests.family import family

INGESTED = 1_000_000
_WORDS = {"embedded": "embedded", "sail": "sail", "spark": f"local[{CORES}]"}
_SHOWN = ("session", "first", "warm", "one_bucket", "ingestion", "memory")


def measured(engine: str, rounds: int, many: Path, one: Path) -> dict[str, float]:
    """Seconds of everything on one engine, and its memory in MiB."""
    found: dict[str, float] = {}
    with _watched() as peak:
        found["session"], session = _timed(lambda: open_session(Engine.parse(_WORDS[engine], "benchmark")))
        found["first"] = _compaction(session, many)
        found["warm"] = min(_compaction(session, many) for _ in range(rounds))
        found["one_bucket"] = min(_compaction(session, one) for _ in range(rounds))
        found["ingestion"] = min(_ingestion(session) for _ in range(rounds))
    return {**found, "memory": peak[0] / 2**20}


def _compaction(session: Any, source: Path) -> float:
    table = tables.opened(fresh(source, "engine"))
    seconds, report = _timed(lambda: compact(session, table, full=True))
    assert not report.failed
    assert {group.outcome for group in report.groups} == {"committed"}
    return seconds


def _ingestion(session: Any) -> float:
    """Rows that are a DataFrame, where there is a session, into a table of four buckets."""
    warehouse = CACHE / "engine-ingested"
    shutil.rmtree(warehouse, ignore_errors=True)
    catalog = open_catalog({"warehouse": str(warehouse)})
    catalog.create_database("bench")
    options = {"bucket": "4", "write-only": "true"}
    catalog.create_table(tables.NAME, Schema(tables.FIELDS, primary_keys=["id"], options=options))
    table, rows = tables.opened(warehouse), tables.records(np.random.default_rng(7), INGESTED, INGESTED)
    data = rows if session is None else rows_to_spark(session, rows, table.schema.fields)
    seconds, report = _timed(lambda: ingest(session, table, data, commit_user="bench"))
    assert report.row_count == INGESTED
    return seconds


def _timed(work: Callable[[], Any]) -> tuple[float, Any]:
    started = time.perf_counter()
    made = work()
    return time.perf_counter() - started, made


@contextmanager
def _watched() -> Iterator[list[int]]:
    """The most bytes that this process and its descendants have had together, as the first of a list."""
    peak, done = [0], threading.Event()

    def watch() -> None:
        while not done.wait(0.05):
            peak[0] = max(peak[0], _resident())

    thread = threading.Thread(target=watch)
    thread.start()
    try:
        yield peak
    finally:
        done.set()
        thread.join()


def _resident() -> int:
    """Bytes of this process and its descendants; what several of them share counts once for each part of it."""
    return sum(_share(pid) for pid in family())


def _share(pid: int) -> int:
    try:
        text = Path(f"/proc/{pid}/smaps_rollup").read_text()
    except OSError:
        return 0
    return next((int(line.split()[1]) << 10 for line in text.splitlines() if line.startswith("Pss:")), 0)


def contend(engine: str, rounds: int, many: Path, one: Path) -> dict[str, float]:
    """Measure an engine in a process of its own."""
    command = [sys.executable, "-m", "benchmarks.engines", "--contender", engine, str(rounds), str(many), str(one)]
    done = subprocess.run(command, capture_output=True, text=True, env={**os.environ, "PYTHONPATH": "."}, check=False)
    if done.returncode:
        raise SystemExit(f"{engine} failed:\n{done.stderr[-4000:]}")
    found: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return found


def _built(rows: int, buckets: int) -> Path:
    source = CACHE / f"engines-{rows}-{buckets}"
    if not source.exists():
        tables.build(source, rows, buckets=buckets)
    return source


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--rows", type=int, default=4_000_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--engines", nargs="+", choices=list(_WORDS), default=list(_WORDS))
    parser.add_argument("--contender", nargs=4, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.contender:
        engine, rounds, many, one = arguments.contender
        print(json.dumps(measured(engine, int(rounds), Path(many), Path(one))))
        return
    many, one = _built(arguments.rows, 4), _built(arguments.rows // 4, 1)
    print(f"{arguments.rows:,} rows in 4 buckets, {arguments.rows // 4:,} in one; {INGESTED:,} ingested; {CORES} cores")
    print(f"{'':10}" + "".join(f"{name.replace('_', ' '):>12}" for name in _SHOWN), flush=True)
    for engine in arguments.engines:
        found = contend(engine, arguments.rounds, many, one)
        told = {name: round(found[name], 2) for name in _SHOWN[:-1]} | {"memory_MiB": round(found["memory"])}
        tell(f"{arguments.rows:,} rows in 4 buckets, {INGESTED:,} ingested", f"ours, {engine}", [], **told)
        shown = "".join(f"{found[name]:10.2f} s" for name in _SHOWN[:-1])
        print(f"{engine:10}{shown}{found['memory']:8.0f} MiB", flush=True)


if __name__ == "__main__":
    main()
