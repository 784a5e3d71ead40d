"""Compaction of an append table of 10,000 small files against the warm Java core and a plain copy.

    python -m benchmarks.append_compaction [--rows 2000000] [--files 10000] [--rounds 3]

An unaware bucket, all files of one commit. Ours: the operation on a warm Spark session with two task slots. Java: its
coordinator plans, two threads carry out its tasks, one commit. The limit reads each group of files with pyarrow and
writes it as one, on two threads. Rows before and after are compared. Best of the rounds counts.
Ours is timed with the proof of what it wrote, as it is by default, and without.
"""

import shutil
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks import contest, java_core, tables

# Files that both engines put together at their defaults: a file counts with its bytes and 4 MiB for opening it.
_GROUP = 128


def build(source: Path, rows: int, files: int) -> None:
    """`bench.t` with that many files."""
    from maintenance.catalog import Schema, open_catalog

    shutil.rmtree(source, ignore_errors=True)
    unfinished = source.with_name(f"{source.name}-unfinished")
    shutil.rmtree(unfinished, ignore_errors=True)
    catalog = open_catalog({"warehouse": str(unfinished)})
    catalog.create_database("bench")
    options = {"bucket": "-1", "write-only": "true"}
    catalog.create_table(tables.NAME, Schema(tables.FIELDS, options=options))
    table = catalog.get_table(tables.NAME).copy({"target-file-row-num": str(-(-rows // files))})
    table.write_arrow(tables.records(np.random.default_rng(7), rows, rows))
    unfinished.rename(source)


def _digest(warehouse: Path) -> str:
    return contest.digest(tables.opened(warehouse).to_arrow())


def _live_files(warehouse: Path) -> int:
    from maintenance.table.shape import table_shape

    return table_shape(tables.opened(warehouse)).files


def ours(source: str, rounds: str, proof: str = "auto") -> contest.Found:
    """The operation `compact`."""
    from maintenance.operations.compaction.compact import compact
    from maintenance.spark.session import get_session

    spark = get_session(master=f"local[{contest.CORES}]")
    action = partial(compact, spark, proof=proof)
    timed, warehouse = contest.on_copies(source, "append-ours", rounds, tables.opened, action)
    return timed.found(digest=_digest(warehouse), files=_live_files(warehouse))


def java(source: str, rounds: str) -> contest.Found:
    """The Java core's coordinator and tasks."""
    paimon = java_core.start()
    opened = partial(java_core.get_table, paimon, name=tables.NAME)
    action = partial(java_core.compact_append, paimon, threads=contest.CORES)
    timed, warehouse = contest.on_copies(source, "append-java", rounds, opened, action)
    return timed.found(digest=_digest(warehouse), files=_live_files(warehouse))


def limit(source: str, rounds: str) -> contest.Found:
    """Read and write the files with pyarrow alone, with the settings Paimon's files have."""
    pa.set_cpu_count(1)
    files = sorted(Path(source).glob("bench.db/t/bucket-*/*.parquet"))
    target = contest.CACHE / "append-limit"

    def copy(start: int) -> None:
        parts = [pq.ParquetFile(path).read(use_threads=False) for path in files[start : start + _GROUP]]
        rows = pa.concat_tables(parts)
        pq.write_table(rows, target / f"{start}.parquet", compression="zstd", compression_level=1)

    def copies() -> Any:
        with ThreadPoolExecutor(contest.CORES) as pool:
            return list(pool.map(copy, range(0, len(files), _GROUP)))

    return contest.into(target, rounds, copies).found(
        digest=contest.digest(pa.concat_tables(pq.read_table(path) for path in target.iterdir()))
    )


CONTENDERS: dict[str, contest.Contender] = {
    "limit": limit,
    "ours": ours,
    "ours, no proof": partial(ours, proof="off"),
    "Java core": java,
}


def main() -> None:
    parser = contest.parser_of(__doc__)
    parser.add_argument("--rows", type=int, default=2_000_000)
    parser.add_argument("--files", type=int, default=10_000)
    arguments = parser.parse_args()
    if contest.run_contender(CONTENDERS, arguments):
        return
    source = contest.built("append", build, arguments.rows, arguments.files)
    results = {
        name: contest.contend("append_compaction", name, source, arguments.rounds)
        for name in contest.with_java(list(CONTENDERS))
    }
    contest.report(f"{arguments.files:,} small files of {arguments.rows:,} rows", results, arguments.rows)
    print(
        "  files after: " + ", ".join(f"{name} {found['files']}" for name, found in results.items() if "files" in found)
    )


if __name__ == "__main__":
    main()
