"""Ingestion into 4 and 64 buckets: rows of a Spark DataFrame against the warm Java core's writer.

    python -m benchmarks.ingestion [--rows 2000000] [--buckets 4 64] [--rounds 3]

Both start from rows in memory and end with a committed snapshot of a primary key table with `write-only`. Ours: a
DataFrame whose rows Spark holds as objects (a local checkpoint of eight partitions), written by the operation on a warm
session with two task slots; `by bytes`: with Spark's batches limited by bytes instead of rows (docs/dagster.md). Java:
`BinaryRow`s made before, half of the buckets on each of two threads, each with a `BatchTableWrite` of its own. The
limit encodes the same rows with pyarrow, one file for each bucket, on two threads; it neither sorts nor divides them.
What was written is read back and compared. Best of the rounds counts.
"""

import shutil
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks import contest, java_core, tables

_PARTITIONS = 8


def build(source: Path, rows: int) -> None:
    """Tables `bench.even` and `bench.odd`: rows of even and of odd buckets, in no order."""
    from maintenance.bucket.fixed import assign_buckets
    from maintenance.catalog import Schema, open_catalog

    shutil.rmtree(source, ignore_errors=True)
    catalog = open_catalog({"warehouse": str(source)})
    catalog.create_database("bench")
    made = tables.records(np.random.default_rng(7), rows, rows)
    schema = Schema(tables.FIELDS, options={"bucket": "-1", "write-only": "true"})
    parity: np.ndarray | None = None
    for number, name in enumerate(("bench.even", "bench.odd")):
        catalog.create_table(name, schema)
        table = catalog.get_table(name)
        if parity is None:
            parity = assign_buckets(made, [table.schema.field("id")], 2)
        table.write_arrow(made.filter(pa.array(parity == number)))


def _empty(name: str, buckets: int) -> Path:
    """A warehouse with an empty table."""
    from maintenance.catalog import Schema, open_catalog

    warehouse = contest.CACHE / name
    shutil.rmtree(warehouse, ignore_errors=True)
    catalog = open_catalog({"warehouse": str(warehouse)})
    catalog.create_database("bench")
    options = {"bucket": str(buckets), "write-only": "true"}
    catalog.create_table(tables.NAME, Schema(tables.FIELDS, primary_keys=["id"], options=options))
    return warehouse.absolute()


def _digest(warehouse: Path) -> str:
    from maintenance.catalog import open_catalog

    return contest.digest(open_catalog({"warehouse": str(warehouse)}).get_table(tables.NAME).to_arrow())


_BY_BYTES = {"spark.sql.execution.arrow.maxBytesPerBatch": "64m"}


def ours(source: str, buckets: str, rounds: str, settings: Mapping[str, str] = MappingProxyType({})) -> contest.Found:
    """The operation `ingest`."""
    from maintenance.catalog import open_catalog
    from maintenance.operations.ingestion.ingest import ingest
    from maintenance.spark.session import get_session

    spark = get_session(master=f"local[{contest.CORES}]", config={"spark.driver.memory": "4g", **settings})
    files = [str(path.absolute()) for path in Path(source).glob("bench.db/*/bucket-*/*.parquet")]
    frame = spark.read.parquet(*files).repartition(_PARTITIONS).localCheckpoint()
    timed = contest.Rounds()
    for _ in range(int(rounds) + 1):
        warehouse = _empty("ingested-by-us", int(buckets))
        table = open_catalog({"warehouse": str(warehouse)}).get_table(tables.NAME)
        timed.time(partial(ingest, spark, table, frame, commit_user="bench"))
    return timed.found(digest=_digest(warehouse))


def java(source: str, buckets: str, rounds: str) -> contest.Found:
    """The Java core's writer."""
    paimon = java_core.start("6g")
    halves = [java_core.rows_in_memory(paimon, Path(source).absolute(), f"bench.{name}") for name in ("even", "odd")]
    timed = contest.Rounds()
    for _ in range(int(rounds) + 1):
        warehouse = _empty("ingested-by-java", int(buckets))
        table = java_core.get_table(paimon, warehouse, tables.NAME)
        timed.time(partial(java_core.write_rows, paimon, table, halves))
    return timed.found(digest=_digest(warehouse))


def limit(source: str, buckets: str, rounds: str) -> contest.Found:
    """Encode the rows in memory with pyarrow alone, with the settings Paimon's files have."""
    pa.set_cpu_count(1)
    rows = pa.concat_tables([pq.read_table(path) for path in Path(source).glob("bench.db/*/bucket-*/*.parquet")])
    target, number = contest.CACHE / "ingested-limit", int(buckets)
    step = -(-rows.num_rows // number)

    def write(bucket: int) -> None:
        part = rows.slice(bucket * step, step)
        repeated = ["city", "day"]
        pq.write_table(
            part, target / f"{bucket}.parquet", compression="zstd", compression_level=1, use_dictionary=repeated
        )

    def copy() -> Any:
        with ThreadPoolExecutor(contest.CORES) as pool:
            return list(pool.map(write, range(number)))

    return contest.into(target, rounds, copy).found()


CONTENDERS: dict[str, contest.Contender] = {
    "limit": limit,
    "ours": ours,
    "ours, by bytes": partial(ours, settings=_BY_BYTES),
    "Java core": java,
}


def main() -> None:
    parser = contest.parser_of(__doc__)
    parser.add_argument("--rows", type=int, default=2_000_000)
    parser.add_argument("--buckets", type=int, nargs="+", default=[4, 64])
    arguments = parser.parse_args()
    if contest.run_contender(CONTENDERS, arguments):
        return
    source = contest.built("ingestion", build, arguments.rows)
    for buckets in arguments.buckets:
        names = contest.with_java(list(CONTENDERS))
        results = {name: contest.contend("ingestion", name, source, buckets, arguments.rounds) for name in names}
        contest.report(f"ingestion of {arguments.rows:,} rows into {buckets} buckets", results, arguments.rows)


if __name__ == "__main__":
    main()
