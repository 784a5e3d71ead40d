"""Minor compaction against the warm Java core and a plain copy: new small runs above a large compacted one.

    python -m benchmarks.minor_compaction [--rows 4000000] [--rounds 3]

A primary key table of 4 buckets, fully compacted, then five commits that each write a twentieth of the rows again. Both
engines pick the five new runs of each bucket and leave the large one alone. Ours: the operation on a warm Spark session
with two task slots; Java: two threads, one commit. The limit decodes the files of the new runs and encodes their rows
with pyarrow, without merging, on two threads. Rows of the table after it are compared. Best of the rounds counts.
Ours is timed with the proof of what it wrote, as it is by default, and without.
"""

from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks import contest, java_core, tables

_BUCKETS = 4
_RUNS = 5
_PART = 20


def build(source: Path, rows: int) -> None:
    """`bench.t`: one run at the highest level, `_RUNS` small ones at level 0."""
    from maintenance.catalog import open_catalog
    from maintenance.operations.compaction.compact import compact

    unfinished = source.with_name(f"{source.name}-unfinished")
    tables.build(unfinished, rows, buckets=_BUCKETS, runs=1)
    table = open_catalog({"warehouse": str(unfinished)}).get_table(tables.NAME)
    compact(None, table, full=True)
    random = np.random.default_rng(11)
    for run in range(_RUNS):
        new = tables.records(random, rows, rows // _PART)
        table.write_arrow(new, commit_user="bench", commit_identifier=10 + run)
    unfinished.rename(source)


def _state(warehouse: Path) -> dict[str, Any]:
    """Digest of the rows and how many files there are at which level."""
    table = tables.opened(warehouse)
    levels: dict[int, int] = {}
    for entry in tables.live(table):
        levels[entry.file.level] = levels.get(entry.file.level, 0) + 1
    shape = ", ".join(f"{count} at level {level}" for level, count in sorted(levels.items()))
    return {"digest": contest.digest(table.to_arrow()), "shape": shape}


def ours(source: str, rounds: str, proof: str = "auto") -> contest.Found:
    """The operation `compact`."""
    from maintenance.operations.compaction.compact import compact
    from maintenance.spark.session import get_session

    spark = get_session(master=f"local[{contest.CORES}]")
    action = partial(compact, spark, proof=proof)
    timed, warehouse = contest.on_copies(source, "minor-ours", rounds, tables.opened, action)
    return timed.found(**_state(warehouse))


def java(source: str, rounds: str) -> contest.Found:
    """The Java core's compaction of each bucket."""
    paimon = java_core.start()
    opened = partial(java_core.get_table, paimon, name=tables.NAME)
    action = partial(java_core.compact_seconds, paimon, buckets=_BUCKETS, threads=contest.CORES, full=False)
    timed, warehouse = contest.on_copies(source, "minor-java", rounds, opened, action)
    return timed.found(**_state(warehouse))


def limit(source: str, rounds: str) -> contest.Found:
    """Decode and encode the files of level 0 of each bucket with pyarrow alone."""
    pa.set_cpu_count(1)
    table = tables.opened(Path(source))
    buckets: dict[int, list[str]] = {}
    for entry in tables.live(table):
        if entry.file.level == 0:
            path = table.paths.data_file(entry.partition, entry.bucket, entry.file)
            buckets.setdefault(entry.bucket, []).append(path)
    target = contest.CACHE / "minor-limit"

    def copy(bucket: int) -> None:
        rows = pa.concat_tables([pq.ParquetFile(path).read(use_threads=False) for path in buckets[bucket]])
        pq.write_table(rows, target / f"{bucket}.parquet", compression="zstd", compression_level=1)

    def copies() -> Any:
        with ThreadPoolExecutor(contest.CORES) as pool:
            return list(pool.map(copy, buckets))

    return contest.into(target, rounds, copies).found()


CONTENDERS: dict[str, contest.Contender] = {
    "limit": limit,
    "ours": ours,
    "ours, no proof": partial(ours, proof="off"),
    "Java core": java,
}


def main() -> None:
    parser = contest.parser_of(__doc__)
    parser.add_argument("--rows", type=int, default=4_000_000)
    arguments = parser.parse_args()
    if contest.run_contender(CONTENDERS, arguments):
        return
    source = contest.built("minor", build, arguments.rows)
    results = {
        name: contest.contend("minor_compaction", name, source, arguments.rounds)
        for name in contest.with_java(list(CONTENDERS))
    }
    merged = _RUNS * (arguments.rows // _PART)
    contest.report(f"minor compaction of {merged:,} records above {arguments.rows:,} rows", results, merged)
    for name, found in results.items():
        if "shape" in found:
            print(f"  files after, {name}: {found['shape']}")


if __name__ == "__main__":
    main()
