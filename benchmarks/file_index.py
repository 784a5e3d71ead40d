"""File indexes: how fast they are built, against the Java core, and what they save a read of many files.

    python -m benchmarks.file_index [--rows 1000000] [--files 1000] [--rows-per-file 2000]

Building: rows per second of each kind for a column of few and one of many values, from Arrow to the finished body; Java
gets its rows as an array of objects made before. Reading: a query for one value and one for a narrow range over a table
whose files statistics cannot tell apart; without an index and with each kind, seconds (best of three) and files opened.
The bytes of the indexes are compared with Java's, the rows of the queries with those found without an index.
"""

import argparse
import json
import shutil
import subprocess
import sys
import time
import zlib
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from benchmarks import java_core
from benchmarks.results import tell

CACHE = Path(".cache/benchmarks/file_index")
KINDS: Mapping[str, Mapping[str, str]] = {
    "bloom-filter": {"items": "1000000"},
    "bitmap": {},
    "bsi": {},
    "range-bitmap": {},
}
ROUNDS = 3


def column(rows: int, distinct: int) -> np.ndarray:
    """Numbers in no order. int64, shape (rows,)."""
    return np.random.default_rng(7).integers(0, distinct, rows)


def best(action: Callable[[], object]) -> float:
    """Seconds of the fastest of some rounds, after one to warm up."""
    action()
    seconds = []
    for _ in range(ROUNDS):
        started = time.perf_counter()
        action()
        seconds.append(time.perf_counter() - started)
    return min(seconds)


def build_ours(rows: int) -> dict[str, tuple[float, int]]:
    """Rows per second, and a check sum of the index, by kind and number of distinct values."""
    from maintenance.format.file_index.kinds import KINDS as OURS
    from maintenance.types.data_type import parse_type

    found = {}
    for distinct in (1000, rows):
        array = pa.array(column(rows, distinct))
        for kind, options in KINDS.items():

            def build(array: pa.Array = array, kind: str = kind, options: Mapping[str, str] = options) -> bytes | None:
                builder = OURS[kind].builder(parse_type("BIGINT"), options)
                builder.add(array)
                return builder.finish()

            found[f"{kind}, {distinct} values"] = (rows / best(build), zlib.crc32(build() or b""))
    return found


def consumer_of(writer: Any) -> Any:
    """What hands over each value without leaving the JVM."""
    import jpype

    invoke, lang = jpype.java.lang.invoke, jpype.java.lang
    kind = lang.Class.forName("org.apache.paimon.fileindex.FileIndexWriter")
    signature = invoke.MethodType.methodType(lang.Void.TYPE, jpype.java.lang.Object.class_)
    handle = invoke.MethodHandles.publicLookup().findVirtual(kind, "writeRecord", signature).bindTo(writer)
    return invoke.MethodHandleProxies.asInterfaceInstance(jpype.java.util.function.Consumer.class_, handle)


def build_java(rows: int) -> dict[str, tuple[float, int]]:
    """The same by the Java core. Runs in a process of its own."""
    import jpype

    paimon = java_core.start()
    found = {}
    for distinct in (1000, rows):
        numbers = jpype.JArray(jpype.JLong)(column(rows, distinct))
        boxed = jpype.java.util.Arrays.stream(numbers).boxed().toList()
        for kind, options in KINDS.items():
            settings = paimon.options.Options(jpype.java.util.HashMap(dict(options)))

            def build(kind: str = kind, settings: Any = settings, boxed: Any = boxed) -> Any:
                indexer = paimon.fileindex.FileIndexer.create(kind, paimon.types.BigIntType(), settings)
                writer = indexer.createWriter()
                boxed.forEach(consumer_of(writer))
                return writer.serializedBytes()

            found[f"{kind}, {distinct} values"] = (rows / best(build), zlib.crc32(bytes(build())))
    return found


def table_of(files: int, rows_per_file: int) -> str:
    """A warehouse with `db.t`: every file has values from all over, each value is in one file."""
    from maintenance.catalog import Schema, open_catalog

    warehouse = CACHE / f"{files}x{rows_per_file}"
    if warehouse.exists():
        return str(warehouse)
    shutil.rmtree(CACHE / "new", ignore_errors=True)
    catalog = open_catalog({"warehouse": str(CACHE / "new")})
    catalog.create_database("db")
    catalog.create_table(
        "db.t", Schema((("id", "BIGINT"), ("payload", "STRING")), (), (), {"bucket": "-1", "write-only": "true"})
    )
    table = catalog.get_table("db.t")
    for file in range(files):
        ids = np.random.default_rng(file).permutation(rows_per_file) * files + file
        table.write_arrow(pa.table({"id": ids, "payload": [f"payload of {i}" for i in ids.tolist()]}))
    (CACHE / "new").rename(warehouse)
    return str(warehouse)


def reading(files: int, rows_per_file: int) -> dict[str, dict[str, float]]:
    """For each kind the seconds and the files opened of both queries, and what the rewrite took and wrote."""
    from maintenance.catalog import open_catalog
    from maintenance.metastore.schema_change import RemoveOption, SetOption
    from maintenance.operations.checks.explain_scan import explain_scan
    from maintenance.operations.indexes.rewrite_file_index import rewrite_file_index
    from maintenance.table.shape import table_shape

    middle = files * rows_per_file // 2 + 1
    queries = {"point": f"id = {middle}", "range": f"id BETWEEN {middle} AND {middle + 3}"}
    catalog = open_catalog({"warehouse": table_of(files, rows_per_file)})
    found: dict[str, dict[str, float]] = {}
    answers: dict[str, pa.Table] = {}
    for kind in ("none", *KINDS):
        table = catalog.get_table("db.t")
        old = [RemoveOption(key) for key in table.options if key.startswith("file-index.")]
        new = {} if kind == "none" else {f"file-index.{kind}.columns": "id"}
        if kind == "bloom-filter":
            new["file-index.bloom-filter.id.items"] = str(rows_per_file)
        catalog.alter_table("db.t", [*old, *(SetOption(key, value) for key, value in new.items())])
        table = catalog.get_table("db.t")
        report = rewrite_file_index(None, table)
        numbers = {"rewrite seconds": report.seconds, "index bytes": float(table_shape(table).index_bytes)}
        for name, where in queries.items():
            numbers[f"{name} seconds"] = best(partial(table.to_arrow, where=where))
            numbers[f"{name} files"] = explain_scan(table, where).kept
            answer = table.to_arrow(where=where).sort_by("id")
            if not answers.setdefault(name, answer).equals(answer):
                raise SystemExit(f"{kind}: {where} finds other rows")
        found[kind] = numbers
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--files", type=int, default=1000)
    parser.add_argument("--rows-per-file", type=int, default=2000)
    parser.add_argument("--part", choices=["java"], help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.part == "java":
        print(json.dumps(build_java(arguments.rows)))
        return 0
    CACHE.mkdir(parents=True, exist_ok=True)
    ours = build_ours(arguments.rows)
    command = [sys.executable, "-m", "benchmarks.file_index", "--part", "java", "--rows", str(arguments.rows)]
    java = subprocess.run(command, capture_output=True, text=True, check=False)
    theirs = json.loads(java.stdout.splitlines()[-1]) if java.returncode == 0 else {}
    print(f"building, {arguments.rows} rows of BIGINT: rows per second")
    for name, (rate, check) in ours.items():
        beside = ""
        tell(f"building {name}", "ours", rows_per_second=round(rate))
        if name in theirs:
            other, others_check = theirs[name]
            tell(f"building {name}", "Java core", rows_per_second=round(other))
            beside = f"   Java core {other:12,.0f}   {rate / other:5.1f} times as fast"
            if check != others_check:
                raise SystemExit(f"the bytes of {name} are not those of the Java core")
        print(f"  {name:35} {rate:12,.0f}{beside}")
    if not theirs:
        print(f"  the Java core did not run: {java.stderr[-300:]}")
    print(f"reading {arguments.files} files of {arguments.rows_per_file} rows")
    for kind, numbers in reading(arguments.files, arguments.rows_per_file).items():
        tell(f"reading {arguments.files} files", kind, [], **{key: float(f"{v:.3g}") for key, v in numbers.items()})
        print(f"  {kind:13} " + "   ".join(f"{name} {value:,.4g}" for name, value in numbers.items()))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
