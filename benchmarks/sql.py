"""The 22 queries of TPC-H through SQL over Paimon tables, beside DuckDB and Spark on plain parquet of the same rows.

    python -m benchmarks.sql [--scale 0.1] [--keyed] [--spark] [--rounds 3] [--preparation]

Each engine runs all queries in a process of its own, once to warm up; of the rounds the fastest counts. The answers are
compared. DuckDB reads the files as its generator leaves them, in snappy, and again in zstd, as Paimon's are.
`--keyed`: the tables have primary keys and were compacted; else they are append tables. `--spark`: Spark's
turn as well: our session on Spark, and Spark SQL on the parquet files. `--preparation`: processor time of preparing
each query alone, which is parsed, resolved, typed and said in DuckDB's words, and not run.
"""

import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any
from unittest import mock

import duckdb
import pyarrow as pa

from benchmarks.contest import CACHE, CORES, Found, agree, contend, parser_of, plain_rows, run_contender
from benchmarks.results import tell
from benchmarks.tpch.queries import QUERIES
from benchmarks.tpch.tables import PRIMARY_KEYS, fill, generated
from maintenance.errors import SqlError
from maintenance.sql import Session
from maintenance.sql.duckdb import embedded

Ask = Callable[[str], pa.Table]


def timed(ask: Ask, rounds: str) -> Found:
    """Seconds and answer of each query."""
    found: Found = {}
    for number, query in QUERIES.items():
        seconds = []
        for _ in range(int(rounds) + 1):
            started = time.perf_counter()
            rows = ask(query)
            seconds.append(time.perf_counter() - started)
        found[str(number)] = {"seconds": min(seconds[1:]), "rounds": seconds[1:], "rows": plain_rows(rows)}
    return found


def ask_duckdb(parquet: str) -> Ask:
    """DuckDB by itself, on the generated files."""
    connection = duckdb.connect()
    for table in PRIMARY_KEYS:
        connection.execute(f"CREATE VIEW {table} AS SELECT * FROM '{parquet}/{table}.parquet'")
    return lambda query: connection.sql(query).to_arrow_table()


def ask_embedded(warehouse: str) -> Ask:
    session = Session({"warehouse": warehouse})
    return lambda query: session.sql(query).to_arrow()


def ask_on_spark(warehouse: str) -> Ask:
    session = Session({"warehouse": warehouse}, spark=_spark())
    return lambda query: session.sql(query).to_arrow()


def ask_spark(parquet: str) -> Ask:
    """Spark SQL by itself, on the generated files."""
    spark = _spark()
    for table in PRIMARY_KEYS:
        spark.read.parquet(f"{parquet}/{table}.parquet").createOrReplaceTempView(table)
    return lambda query: spark.sql(query).toArrow()


def _spark() -> Any:
    from maintenance.spark.session import get_session

    return get_session(master=f"local[{CORES}]")


class _NotRunError(Exception):
    """Instead of the rows."""


def preparations(warehouse: Path, rounds: int) -> dict[int, float]:
    """Milliseconds of processor time that it takes to prepare each query: of so many rounds the least."""
    session = Session({"warehouse": str(warehouse)})

    def prepare(resolved: Any, *_: Any, **__: Any) -> pa.Table:
        embedded.translated(resolved)
        raise _NotRunError

    def timed_once(query: str, number: int) -> float:
        text = f"{query} -- {number}"  # a session knows the last texts
        started = time.process_time()
        try:
            session.sql(text)
        except SqlError as error:
            if _NotRunError.__name__.removesuffix("Error") not in repr(error.__cause__):
                raise
            return (time.process_time() - started) * 1000
        raise AssertionError("the query was run")

    with mock.patch.object(embedded, "run_embedded", prepare):
        return {number: min(timed_once(query, n) for n in range(rounds + 1)) for number, query in QUERIES.items()}


def in_zstd(parquet: str) -> str:
    """The folder of the same files in zstd, made if it is not there."""
    folder = Path(f"{parquet}-zstd")
    if not folder.exists():
        part = folder.with_name(folder.name + ".part")
        part.mkdir(parents=True, exist_ok=True)
        for table in PRIMARY_KEYS:
            rows = f"SELECT * FROM '{parquet}/{table}.parquet'"
            duckdb.execute(f"COPY ({rows}) TO '{part}/{table}.parquet' (FORMAT parquet, COMPRESSION zstd)")
        part.rename(folder)
    return str(folder)


CONTENDERS: Mapping[str, Callable[..., Found]] = {
    "DuckDB": lambda parquet, _, rounds: timed(ask_duckdb(parquet), rounds),
    "DuckDB, zstd": lambda parquet, _, rounds: timed(ask_duckdb(in_zstd(parquet)), rounds),
    "ours": lambda _, warehouse, rounds: timed(ask_embedded(warehouse), rounds),
    "Spark": lambda parquet, _, rounds: timed(ask_spark(parquet), rounds),
    "ours, Spark": lambda _, warehouse, rounds: timed(ask_on_spark(warehouse), rounds),
}


def main() -> None:
    parser = parser_of(__doc__)
    parser.add_argument("--scale", type=float, default=0.1)
    parser.add_argument("--keyed", action="store_true")
    parser.add_argument("--spark", action="store_true")
    parser.add_argument("--preparation", action="store_true")
    arguments = parser.parse_args()
    if run_contender(CONTENDERS, arguments):
        return
    parquet = generated(CACHE / f"tpch-{arguments.scale}", arguments.scale)
    warehouse = filled(parquet, keyed=arguments.keyed)
    if arguments.preparation:
        found = preparations(warehouse, arguments.rounds)
        largest = max(QUERIES, key=lambda number: len(QUERIES[number]))
        print("preparation, ms: " + ", ".join(f"Q{number} {taken:.1f}" for number, taken in found.items()))
        print(f"most {max(found.values()):.1f} ms; the longest query, Q{largest}, {found[largest]:.1f} ms")
        return
    names = ["DuckDB", "DuckDB, zstd", "ours", *(["Spark", "ours, Spark"] if arguments.spark else [])]
    given = (parquet.absolute(), warehouse.absolute(), arguments.rounds)
    report({name: contend("sql", name, *given) for name in names}, arguments)


def filled(parquet: Path, *, keyed: bool) -> Path:
    """A warehouse with the tables, made if it is not there."""
    warehouse = parquet.with_name(f"{parquet.name}-{'keyed' if keyed else 'append'}")
    if not warehouse.exists():
        part = warehouse.with_name(warehouse.name + ".part")
        fill(part, parquet, keyed=keyed)
        if keyed:
            session = Session({"warehouse": str(part)})
            for table in PRIMARY_KEYS:
                session.sql(f"CALL sys.compact(table => 'default.{table}', compact_strategy => 'full')")
        part.rename(warehouse)
    return warehouse


def report(results: Mapping[str, Found], arguments: Any) -> None:
    """Print a line for each query. Raises: SystemExit: answers differ."""
    kind = "primary keys, compacted" if arguments.keyed else "append tables"
    print(f"\nTPC-H, scale factor {arguments.scale}, {kind}, {CORES} cores: seconds, and times what it is beside")
    pairs = [("ours", "DuckDB"), ("ours", "DuckDB, zstd"), ("ours, Spark", "Spark")]
    pairs = [(name, beside) for name, beside in pairs if name in results]
    print("query" + "".join(f"{beside:>14}{name:>14}{'':>8}" for name, beside in pairs))
    wrong = []
    for number in map(str, QUERIES):
        line = f"{number:>5}"
        for name, beside in pairs:
            ours, theirs = results[name][number]["seconds"], results[beside][number]["seconds"]
            line += f"{theirs:14.3f}{ours:14.3f}{ours / theirs:7.2f}x"
        print(line)
        wrong += [
            f"{number} by {name}"
            for name in results
            if not agree(results[name][number]["rows"], results["DuckDB"][number]["rows"])
        ]
    for name, answers in results.items():
        rounds = zip(*(query["rounds"] for query in answers.values()), strict=True)
        tell(f"22 queries of TPC-H, scale {arguments.scale}, {kind}", name, [sum(each) for each in rounds])
    line = "  all"
    for name, beside in pairs:
        ours, theirs = (sum(query["seconds"] for query in results[each].values()) for each in (name, beside))
        line += f"{theirs:14.3f}{ours:14.3f}{ours / theirs:7.2f}x"
    print(line)
    if wrong:
        raise SystemExit(f"answers differ from DuckDB's: {', '.join(wrong)}")


if __name__ == "__main__":
    main()
