"""Full compaction with each merge engine, against the warm Java core and against our own deduplicate.

    python -m benchmarks.merge_engines [--rows 4000000] [--rounds 3] [--only sum groups]

Every table has 5 overlapping runs in 4 buckets: each run has a record for four of five keys. All contenders are
processes of their own with two cores, warmed up on a copy of the table; each round works on a fresh copy. Best of the
rounds counts. Tables of bitmaps and sketches have a twentieth of the rows: there the objects are the work.
"""

import argparse
import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
import pyarrow as pa

from benchmarks import java_core
from benchmarks.results import tell

CACHE = Path(".cache/benchmarks")
NAME = "bench.t"
BUCKETS, CORES, RUNS = 4, 2, 5
Random = np.random.Generator


@dataclass(frozen=True)
class Case:
    """A table. `part`: of the rows that are asked for."""

    columns: Mapping[str, str]
    options: Mapping[str, str]
    part: int = 1


FLAT = {"a": "BIGINT", "b": "BIGINT", "c": "DOUBLE", "d": "DECIMAL(12, 2)", "e": "STRING", "s": "INT"}
PARTIAL = {"merge-engine": "partial-update"}
AGGREGATION = {"merge-engine": "aggregation"}


def _functions(**names: str) -> dict[str, str]:
    return {f"fields.{column}.aggregate-function": name for column, name in names.items()}


CASES = {
    "deduplicate": Case(FLAT, {}),
    "first-row": Case(FLAT, {"merge-engine": "first-row"}),
    "partial-update": Case(FLAT, PARTIAL),
    "groups": Case(FLAT, {**PARTIAL, "fields.s.sequence-group": "a,b,c", "fields.a.aggregate-function": "sum"}),
    "sum": Case(FLAT, {**AGGREGATION, **_functions(a="sum", b="sum", c="sum", d="sum")}),
    "max": Case(FLAT, {**AGGREGATION, **_functions(a="max", b="min", c="max", d="min", e="max")}),
    "listagg": Case(FLAT, {**AGGREGATION, **_functions(e="listagg")}),
    "rbm32": Case({"r": "BYTES"}, {**AGGREGATION, **_functions(r="rbm32")}, 20),
    "rbm64": Case({"r": "BYTES"}, {**AGGREGATION, **_functions(r="rbm64")}, 20),
    "theta_sketch": Case({"t": "BYTES"}, {**AGGREGATION, **_functions(t="theta_sketch")}, 20),
    "hll_sketch": Case({"h": "BYTES"}, {**AGGREGATION, **_functions(h="hll_sketch")}, 20),
}


def build(warehouse: Path, case: Case, rows: int, name: str) -> None:
    """A write-only table of about `rows` records."""
    from maintenance.catalog import Schema, open_catalog

    shutil.rmtree(warehouse, ignore_errors=True)
    catalog = open_catalog({"warehouse": str(warehouse)})
    catalog.create_database("bench")
    options = {"bucket": str(BUCKETS), "write-only": "true", **case.options}
    fields = [("id", "BIGINT NOT NULL"), *case.columns.items()]
    catalog.create_table(NAME, Schema(fields, primary_keys=["id"], options=options))
    table = catalog.get_table(NAME)
    random = np.random.default_rng(7)
    for run in range(RUNS):
        ids = random.choice(rows // 4, rows // RUNS, replace=False).astype(np.int64)
        columns = (
            flat(random, len(ids)) if case.columns is FLAT else {next(iter(case.columns)): objects(random, ids, name)}
        )
        table.write_arrow(pa.table({"id": ids, **columns}), commit_user="bench", commit_identifier=run)


def flat(random: Random, count: int) -> dict[str, pa.Array]:
    """Columns of `FLAT`, a third of the values null."""

    def with_nulls(values: pa.Array) -> pa.Array:
        return pa.compute.if_else(pa.array(random.random(count) < 0.67), values, pa.nulls(count, values.type))

    texts = pa.array([f"part-{number}" for number in range(1000)])
    cents = pa.array(random.integers(0, 10**6, count)).cast(pa.decimal128(20, 0)).cast(pa.decimal128(12, 2))
    return {
        "a": with_nulls(pa.array(random.integers(0, 10**9, count))),
        "b": with_nulls(pa.array(random.integers(0, 10**6, count))),
        "c": with_nulls(pa.array(random.random(count))),
        "d": with_nulls(cents),
        "e": with_nulls(texts.take(pa.array(random.integers(0, 1000, count)))),
        "s": with_nulls(pa.array(random.integers(0, 100, count).astype(np.int32))),
    }


def objects(random: Random, ids: np.ndarray, name: str) -> pa.Array:
    """A serialized object of 50 members for each row, out of a thousand."""
    make = _MAKERS[name]
    pool = pa.array([make(random.integers(0, 1 << 20, 50)) for _ in range(1000)], pa.binary())
    return pool.take(pa.array(random.integers(0, len(pool), len(ids))))


def _rbm32(members: np.ndarray) -> bytes:
    from pyroaring import BitMap

    return bytes(BitMap(members.tolist()).serialize())


def _rbm64(members: np.ndarray) -> bytes:
    from pyroaring import BitMap

    from maintenance.format.bytes.roaring import Bitmap64, parse_portable, serialize_bitmap64

    containers = dict(parse_portable(BitMap(members.tolist()).serialize()))
    return serialize_bitmap64(Bitmap64(containers, len(containers)))


def _theta(members: np.ndarray) -> bytes:
    from datasketches import update_theta_sketch

    sketch = update_theta_sketch()
    for member in members.tolist():
        sketch.update(member)
    return bytes(sketch.compact().serialize())


def _hll(members: np.ndarray) -> bytes:
    from datasketches import hll_sketch

    sketch = hll_sketch(12)
    for member in members.tolist():
        sketch.update(member)
    return bytes(sketch.serialize_compact())


_MAKERS: Mapping[str, Callable[[np.ndarray], bytes]] = {
    "rbm32": _rbm32,
    "rbm64": _rbm64,
    "theta_sketch": _theta,
    "hll_sketch": _hll,
}


def fresh(source: Path, name: str) -> Path:
    target = CACHE / name
    shutil.rmtree(target, ignore_errors=True)
    return Path(shutil.copytree(source, target))


def ours(sources: list[Path], rounds: int, *, embedded: bool = False) -> list[list[float]]:
    """Seconds of our operation for each table, on a warm Spark session or in threads of this process."""
    from maintenance.catalog import open_catalog
    from maintenance.operations.compaction.compact import compact
    from maintenance.spark.session import get_session

    spark = None if embedded else get_session(master=f"local[{CORES}]")
    found = []
    for source in sources:
        seconds = []
        for _ in range(rounds + 1):
            table = open_catalog({"warehouse": str(fresh(source, "ours"))}).get_table(NAME)
            started = time.perf_counter()
            report = compact(spark, table, full=True)
            seconds.append(time.perf_counter() - started)
            assert report.count("committed") == BUCKETS, report.groups
        found.append(seconds[1:])
    return found


def java(sources: list[Path], rounds: int) -> list[list[float]]:
    """Seconds of the Java core's full compaction for each table."""
    paimon = java_core.start()
    found = []
    for source in sources:
        seconds = []
        for _ in range(rounds + 1):
            table = java_core.get_table(paimon, fresh(source, "java").absolute(), NAME)
            seconds.append(java_core.compact_seconds(paimon, table, BUCKETS, CORES))
        found.append(seconds[1:])
    return found


CONTENDERS: dict[str, Callable[[list[Path], int], list[list[float]]]] = {
    "ours": ours,
    "ours, embedded": partial(ours, embedded=True),
    "Java core": java,
}


def contend(name: str, sources: list[Path], rounds: int) -> list[list[float]]:
    """Run a contender in a process of its own."""
    command = [sys.executable, "-m", "benchmarks.merge_engines", "--contender", name, "--rounds", str(rounds)]
    environment = {**os.environ, "PYTHONPATH": "."}
    done = subprocess.run([*command, *map(str, sources)], capture_output=True, text=True, env=environment, check=False)
    if done.returncode:
        raise SystemExit(f"{name} failed:\n{done.stderr[-4000:]}")
    found: list[list[float]] = json.loads(done.stdout.splitlines()[-1])
    return found


def compare(rows: int, rounds: int, names: list[str]) -> None:
    sources = []
    for name in names:
        source = CACHE / f"engine-{name}-{rows}"
        if not source.exists():
            build(source, CASES[name], rows // CASES[name].part, name)
        sources.append(source)
    names_of = [each for each in CONTENDERS if each != "Java core" or java_core.JAR.exists()]
    found = {each: dict(zip(names, contend(each, sources, rounds), strict=True)) for each in names_of}
    base = min(found["ours"].get("deduplicate", []), default=None)
    print(f"\nfull compaction, {rows:,} rows, {CORES} cores, best of {rounds}; rows per second", flush=True)
    for name in names:
        count = rows // CASES[name].part
        line = f"  {name:15}"
        for contender, seconds in found.items():
            tell(f"{name}, {count:,} rows", contender, seconds[name])
            line += f" {contender} {count / min(seconds[name]):12,.0f}  "
        mine = min(found["ours"][name])
        if "Java core" in found:
            line += f" ours is {min(found['Java core'][name]) / mine:5.2f} x as fast"
        if base is not None and CASES[name].part == 1:
            line += f"   {mine / base:5.2f} x the time of deduplicate"
        print(line, flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--rows", type=int, default=4_000_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--only", nargs="+", choices=CASES, default=list(CASES))
    parser.add_argument("--contender", help=argparse.SUPPRESS)
    parser.add_argument("sources", nargs="*", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.contender:
        print(json.dumps(CONTENDERS[arguments.contender]([Path(s) for s in arguments.sources], arguments.rounds)))
        return
    compare(arguments.rows, arguments.rounds, arguments.only)


if __name__ == "__main__":
    main()
