"""Ingestion: rows of a Spark DataFrame against the warm Java core's writer.

    python -m benchmarks.ingestion [--rows 2000000] [--cases 4 64 dynamic wide partitioned] [--rounds 3]

Both start from rows in memory and end with a committed snapshot of a primary key table with `write-only`. Ours: a
DataFrame whose rows Spark holds as objects (a local checkpoint of eight partitions), written by the operation on a warm
session with two task slots; `by bytes`: with Spark's batches limited by bytes instead of rows (docs/dagster.md). Java:
`BinaryRow`s made before, half of the buckets on each of two threads, each with a `BatchTableWrite` of its own. The
limit encodes the same rows with pyarrow, one file for each bucket, on two threads; it neither sorts nor divides them.
What was written is read back and compared. Best of the rounds counts.

Cases: 4 and 64 buckets; `dynamic` buckets, of which Java is told each row's, so that its assigner does not count;
`wide`: 100 columns instead of 8, and as many fewer rows; `partitioned`: 16 partitions of 4 buckets.
"""

import shutil
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks import contest, java_core, tables

_PARTITIONS = 8


@dataclass(frozen=True, slots=True)
class Case:
    """What is written. `buckets`: -1 = dynamic; `partitions`: of the table, 0 = it has none."""

    buckets: int
    columns: int = 8
    partitions: int = 0

    @property
    def fields(self) -> list[tuple[str, str]]:
        kinds = ("BIGINT", "DOUBLE", "STRING")
        more = [(f"c{number}", kinds[number % 3]) for number in range(self.columns - len(tables.FIELDS))]
        return [*tables.FIELDS, *more, *([("part", "STRING NOT NULL")] if self.partitions else [])]

    def records(self, rows: int) -> pa.Table:
        made = tables.records(np.random.default_rng(7), rows, rows)
        ids = made.column("id").to_numpy()
        for number, (name, kind) in enumerate(self.fields[8 : self.columns]):
            values = ids * (number + 3) % 10_007
            made = made.append_column(name, pa.array(values).cast({"DOUBLE": pa.float64(), "STRING": pa.string()}
                                                                  .get(kind, pa.int64())))  # fmt: skip
        if self.partitions:
            made = made.append_column("part", pa.array(np.char.add("p", (ids % self.partitions).astype(str))))
        return made


CASES = {"4": Case(4), "64": Case(64), "dynamic": Case(-1), "wide": Case(4, 100), "partitioned": Case(4, 8, 16)}


def build(source: Path, rows: int, columns: int, partitions: int) -> None:
    """Tables `bench.even` and `bench.odd`: rows of even and of odd buckets, in no order."""
    from maintenance.bucket.fixed import assign_buckets
    from maintenance.catalog import Schema, open_catalog

    shutil.rmtree(source, ignore_errors=True)
    catalog = open_catalog({"warehouse": str(source)})
    catalog.create_database("bench")
    case = Case(1, columns, partitions)
    made = case.records(rows)
    schema = Schema(case.fields, options={"bucket": "-1", "write-only": "true"})
    parity: np.ndarray | None = None
    for number, name in enumerate(("bench.even", "bench.odd")):
        catalog.create_table(name, schema)
        table = catalog.get_table(name)
        if parity is None:
            parity = assign_buckets(made, [table.schema.field("id")], 2)
        table.write_arrow(made.filter(pa.array(parity == number)))


def _empty(name: str, case: Case) -> Path:
    """A warehouse with an empty table."""
    from maintenance.catalog import Schema, open_catalog

    warehouse = contest.CACHE / name
    shutil.rmtree(warehouse, ignore_errors=True)
    catalog = open_catalog({"warehouse": str(warehouse)})
    catalog.create_database("bench")
    options = {"bucket": str(case.buckets), "write-only": "true"}
    parts = ["part"] if case.partitions else []
    schema = Schema(case.fields, primary_keys=[*parts, "id"], partition_keys=parts, options=options)
    catalog.create_table(tables.NAME, schema)
    return warehouse.absolute()


def _digest(warehouse: Path) -> str:
    from maintenance.catalog import open_catalog

    return contest.digest(open_catalog({"warehouse": str(warehouse)}).get_table(tables.NAME).to_arrow())


_BY_BYTES = {"spark.sql.execution.arrow.maxBytesPerBatch": "64m"}


def ours(source: str, case: str, rounds: str, settings: Mapping[str, str] = MappingProxyType({})) -> contest.Found:
    """The operation `ingest`."""
    from maintenance.catalog import open_catalog
    from maintenance.operations.ingestion.ingest import ingest
    from maintenance.spark.session import get_session

    spark = get_session(master=f"local[{contest.CORES}]", config={"spark.driver.memory": "4g", **settings})
    files = [str(path.absolute()) for path in Path(source).glob("bench.db/*/bucket-*/*.parquet")]
    frame = spark.read.parquet(*files).repartition(_PARTITIONS).localCheckpoint()
    timed = contest.Rounds()
    for _ in range(int(rounds) + 1):
        warehouse = _empty("ingested-by-us", CASES[case])
        table = open_catalog({"warehouse": str(warehouse)}).get_table(tables.NAME)
        timed.time(partial(ingest, spark, table, frame, commit_user="bench"))
    return timed.found(digest=_digest(warehouse))


def java(source: str, case: str, rounds: str) -> contest.Found:
    """The Java core's writer."""
    paimon = java_core.start("6g")
    halves = [java_core.rows_in_memory(paimon, Path(source).absolute(), f"bench.{name}") for name in ("even", "odd")]
    timed = contest.Rounds()
    for _ in range(int(rounds) + 1):
        warehouse = _empty("ingested-by-java", CASES[case])
        table = java_core.get_table(paimon, warehouse, tables.NAME)
        buckets = (0, 1) if CASES[case].buckets == -1 else None
        timed.time(partial(java_core.write_rows, paimon, table, halves, buckets))
    return timed.found(digest=_digest(warehouse))


def limit(source: str, case: str, rounds: str) -> contest.Found:
    """Encode the rows in memory with pyarrow alone, with the settings Paimon's files have."""
    pa.set_cpu_count(1)
    rows = pa.concat_tables([pq.read_table(path) for path in Path(source).glob("bench.db/*/bucket-*/*.parquet")])
    shape = CASES[case]
    target, number = contest.CACHE / "ingested-limit", max(2, shape.buckets) * max(1, shape.partitions)
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
    parser.add_argument("--cases", nargs="+", choices=list(CASES), default=list(CASES))
    arguments = parser.parse_args()
    if contest.run_contender(CONTENDERS, arguments):
        return
    for name in arguments.cases:
        case = CASES[name]
        rows = arguments.rows * 8 // case.columns
        source = contest.built("ingestion", build, rows, case.columns, case.partitions)
        names = contest.with_java(list(CONTENDERS))
        results = {each: contest.contend("ingestion", each, source, name, arguments.rounds) for each in names}
        contest.report(f"ingestion of {rows:,} rows, {_TITLES[name]}", results, rows)


_TITLES = {
    "4": "4 buckets", "64": "64 buckets", "dynamic": "dynamic buckets", "wide": "100 columns, 4 buckets",
    "partitioned": "16 partitions of 4 buckets",
}  # fmt: skip


if __name__ == "__main__":
    main()
