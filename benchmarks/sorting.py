"""Sort compaction along a Z-order against a plain sort in memory and a plain copy.

    python -m benchmarks.sorting [--rows 4000000] [--rounds 3]

An append table of eight files in random order and a target of 32 MB, so that it is cut into ranges of the curve. Ours:
the operation on a warm Spark session with two task slots. `polars`: the whole table in memory, the same curve computed
with NumPy, one sort by polars on two threads, two files written on two threads. The limit reads and writes every file
with pyarrow on two threads, unsorted. The Java core alone has no sort compaction, its connectors for Spark and Flink
have. The rows of all are compared. Best of the rounds counts.
Ours is timed with the proof of what it wrote, as it is by default, and without, and with threads in the place of Spark.
"""

import os
import shutil
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks import contest, tables

_FILES = 8
_BY = ("score", "ts")


def build(source: Path, rows: int) -> None:
    """`bench.t`, unsorted."""
    from maintenance.catalog import Schema, open_catalog

    unfinished = source.with_name(f"{source.name}-unfinished")
    shutil.rmtree(unfinished, ignore_errors=True)
    catalog = open_catalog({"warehouse": str(unfinished)})
    catalog.create_database("bench")
    options = {"bucket": "-1", "write-only": "true", "target-file-size": "32 mb"}
    catalog.create_table(tables.NAME, Schema(tables.FIELDS, options=options))
    table = catalog.get_table(tables.NAME)
    made = tables.records(np.random.default_rng(7), rows, rows)
    step = -(-rows // _FILES)
    for start in range(0, rows, step):
        table.write_arrow(made.slice(start, step))
    unfinished.rename(source)


def _write(rows: pa.Table, path: Path) -> None:
    pq.write_table(rows, path, compression="zstd", compression_level=1, use_dictionary=["city", "day"])


def ours(source: str, rounds: str, proof: str = "auto", *, tasks: bool = True) -> contest.Found:
    """The operation `compact` with an order. `tasks`: of Spark; else threads of this process."""
    from maintenance.operations.compaction.compact import compact
    from maintenance.spark.session import get_session

    pa.set_cpu_count(contest.CORES)
    spark = get_session(master=f"local[{contest.CORES}]", config={"spark.driver.memory": "4g"}) if tasks else None
    action = partial(compact, spark, order_strategy="zorder", order_by=_BY, proof=proof)
    timed, warehouse = contest.on_copies(source, "sorting-ours", rounds, tables.opened, action)
    return timed.found(digest=contest.digest(tables.opened(warehouse).to_arrow()))


def _curve(rows: pa.Table) -> np.ndarray:
    """First word of the curve through a DOUBLE that is not negative and a time: 32 bits of each, in turn."""
    values = rows.column(_BY[0]).to_numpy().view(np.uint64) ^ np.uint64(1 << 63)
    micros = rows.column(_BY[1]).cast(pa.int64()).to_numpy()
    times = (micros // 1000).view(np.uint64) ^ np.uint64(1 << 63)
    found = np.zeros(len(values), np.uint64)
    for shift, column in ((1, values), (0, times)):
        bits = column >> np.uint64(32)
        for bit in range(32):
            found |= (bits >> np.uint64(bit) & np.uint64(1)) << np.uint64(2 * bit + shift)
    return found


def plain_sort(source: str, rounds: str) -> contest.Found:
    """Read, sort by the curve and write, all in memory."""
    os.environ["POLARS_MAX_THREADS"] = str(contest.CORES)
    import polars as pl

    pa.set_cpu_count(contest.CORES)
    files = sorted(Path(source).glob("bench.db/t/bucket-*/*.parquet"))
    target = contest.CACHE / "sorting-polars"

    def sort() -> Any:
        rows = pa.concat_tables([pq.read_table(path) for path in files])
        frame = pl.DataFrame({"code": _curve(rows), "row": np.arange(rows.num_rows)})
        ordered = rows.take(frame.sort("code")["row"].to_arrow())
        step = -(-ordered.num_rows // contest.CORES)
        with ThreadPoolExecutor(contest.CORES) as pool:
            parts = [ordered.slice(start, step) for start in range(0, ordered.num_rows, step)]
            return list(pool.map(_write, parts, [target / f"{part}.parquet" for part in range(len(parts))]))

    return contest.into(target, rounds, sort).found(
        digest=contest.digest(pa.concat_tables(pq.read_table(path) for path in target.iterdir()))
    )


def limit(source: str, rounds: str) -> contest.Found:
    """Read and write the files with pyarrow alone."""
    pa.set_cpu_count(1)
    files = sorted(Path(source).glob("bench.db/t/bucket-*/*.parquet"))
    target = contest.CACHE / "sorting-limit"

    def copy(path: Path) -> None:
        _write(pq.ParquetFile(path).read(use_threads=False), target / path.name)

    def copies() -> Any:
        with ThreadPoolExecutor(contest.CORES) as pool:
            return list(pool.map(copy, files))

    return contest.into(target, rounds, copies).found(
        digest=contest.digest(pa.concat_tables(pq.read_table(path) for path in target.iterdir()))
    )


CONTENDERS: dict[str, contest.Contender] = {
    "limit": limit,
    "ours": ours,
    "ours, no proof": partial(ours, proof="off"),
    "ours, no Spark": partial(ours, tasks=False),
    "polars": plain_sort,
}


def main() -> None:
    parser = contest.parser_of(__doc__)
    parser.add_argument("--rows", type=int, default=4_000_000)
    arguments = parser.parse_args()
    if contest.run_contender(CONTENDERS, arguments):
        return
    source = contest.built("sorting", build, arguments.rows)
    results = {name: contest.contend("sorting", name, source, arguments.rounds) for name in CONTENDERS}
    contest.report(f"Z-order of {arguments.rows:,} rows by {' and '.join(_BY)}", results, arguments.rows)


if __name__ == "__main__":
    main()
