"""Reading, writing and SQL beside `pypaimon-rust`, Apache Paimon's own client in Rust, on DataFusion.

    python -m benchmarks.rust_client [--rows 4000000] [--rounds 3] [--only reading writing sql]

Each is a process of its own, without Spark, and warm. The client in Rust has an environment of its own, which
`scripts/install pypaimon-rust` makes. What is read and asked is one table in two states: five overlapping runs, which
are merged on read, and fully compacted. The client's splits are read on two threads; how long it takes to get the same
rows by SQL is a line of its own. Written is one record batch in memory, up to the commit. The rows read are compared by
number and check sum, the answers by value, and each client reads back what either has written.
"""

import json
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any

import pyarrow as pa

from benchmarks import contest
from benchmarks.contest import CORES, Found, Rounds
from benchmarks.results import tell

Ask = Callable[[str], pa.Table]

# Of benchmarks.tables, which needs the project: this module is imported without it, too.
NAME = "bench.t"
_PYTHON = Path(".venv-pypaimon-rust/bin/python")
_CITIES, _REGIONS = 500, 17


@dataclass(frozen=True, slots=True)
class Read:
    """What is read of the table. `below`: only rows with a `score` below it."""

    columns: tuple[str, ...] = ("id", "name", "city", "amount", "score", "flag", "day", "ts")
    below: float | None = None

    @property
    def where(self) -> str | None:
        return None if self.below is None else f"score < {self.below}"

    @property
    def query(self) -> str:
        return f"SELECT {', '.join(self.columns)} FROM {NAME}" + (f" WHERE {self.where}" if self.where else "")


READS = {"all columns": Read(), "two columns": Read(("id", "score")), "a tenth of the rows": Read(below=0.1)}
QUERIES = {
    "COUNT": f"SELECT COUNT(*) FROM {NAME}",
    "COUNT and SUM by a text": f"SELECT city, COUNT(*), SUM(amount) FROM {NAME} GROUP BY city ORDER BY city",
    "MAX of times, MIN of texts, AVG": f"SELECT MAX(ts), MIN(city), AVG(score) FROM {NAME}",
    "MIN of distinct texts, AVG": f"SELECT MIN(name), AVG(score) FROM {NAME}",
    "SUM of a tenth of the rows": f"SELECT SUM(amount), COUNT(*) FROM {NAME} WHERE score < 0.1",
    "ten largest": f"SELECT id, name, score FROM {NAME} ORDER BY score DESC, id LIMIT 10",
    "join": f"SELECT c.region, COUNT(*), MAX(t.ts) FROM {NAME} t JOIN bench.cities c ON t.city = c.city "
    "GROUP BY c.region ORDER BY c.region",
}
STATES = {"runs": "merge on read", "compacted": "compacted"}
WRITTEN = {"append": "an append table", "keyed": "4 buckets of a table with a primary key"}


def build(source: Path, rows: int) -> None:
    """Warehouses with the table in each state and with empty tables, and the rows to write as a file of Arrow."""
    from benchmarks import tables
    from maintenance.catalog import Schema, open_catalog
    from maintenance.operations.compaction.compact import compact

    tables.build(source / "runs", rows)
    catalog = open_catalog({"warehouse": str(source / "runs")})
    catalog.create_table("bench.cities", Schema([("city", "STRING"), ("region", "STRING")]))
    regions = {f"city-{number}": f"region-{number % _REGIONS}" for number in range(_CITIES)}
    catalog.get_table("bench.cities").write_arrow(pa.table({"city": list(regions), "region": list(regions.values())}))
    table = tables.opened(contest.fresh(source / "runs", f"{source.name}/compacted"))
    assert not compact(None, table, full=True).failed
    made = table.to_arrow().combine_chunks()
    with pa.OSFile(str(source / "rows.arrow"), "wb") as file, pa.ipc.new_file(file, made.schema) as writer:
        writer.write_table(made)
    for kind in WRITTEN:
        catalog = open_catalog({"warehouse": str(source / kind)})
        catalog.create_database("bench")
        keys, buckets = (["id"], "4") if kind == "keyed" else ([], "-1")
        options = {"bucket": buckets, "write-only": "true"}
        catalog.create_table(NAME, Schema(tables.FIELDS, primary_keys=keys, options=options))


def _rows(source: str) -> pa.Table:
    with pa.OSFile(f"{source}/rows.arrow") as file:
        return pa.ipc.open_file(file).read_all()


def _digest(rows: pa.Table, source: str) -> str:
    """Of rows in the types of those written: DataFusion has others for texts."""
    schema = _rows(source).schema
    fields = [pa.field(name, schema.field(name).type) for name in rows.column_names]
    return contest.digest(rows.cast(pa.schema(fields)))


def _timed(action: Callable[[], pa.Table], rounds: str) -> tuple[Rounds, pa.Table]:
    timed, last = Rounds(), [pa.table({})]

    def once() -> None:
        last[0] = action()

    for _ in range(int(rounds) + 1):
        last[0] = pa.table({})  # its memory is free again before the next round
        timed.time(once)
    return timed, last[0]


def _reading(read: Callable[[Read], pa.Table], source: str, rounds: str) -> Found:
    found: Found = {}
    for name, what in READS.items():
        timed, rows = _timed(partial(read, what), rounds)
        found[name] = timed.found(digest=_digest(rows, source))
    return found


def _answers(ask: Ask, rounds: str) -> Found:
    found: Found = {}
    for name, query in QUERIES.items():
        timed, rows = _timed(partial(ask, query), rounds)
        found[name] = timed.found(rows=contest.plain_rows(rows))
    return found


# Ours.


def _table(warehouse: str | Path) -> Any:
    from maintenance.catalog import open_catalog

    return open_catalog({"warehouse": str(warehouse)}).get_table(NAME)


def _session(warehouse: str) -> Ask:
    from maintenance.sql import Session

    session = Session({"warehouse": warehouse})
    return lambda query: session.sql(query).to_arrow()


def _read(table: Any, what: Read) -> pa.Table:
    rows: pa.Table = table.to_arrow(columns=list(what.columns), where=what.where)
    return rows


def _written(table: Any, rows: pa.Table) -> None:
    table.write_arrow(rows)


def _write(source: str, kind: str, rounds: str) -> Found:
    rows = _rows(source)
    name = f"rust-client-{kind}-ours"
    timed, warehouse = contest.on_copies(
        f"{source}/{kind}", name, rounds, _table, lambda table: table.write_arrow(rows)
    )
    return timed.found(warehouse=str(warehouse))


# The client in Rust.


def _rust_table(warehouse: str | Path) -> Any:
    from pypaimon_rust.datafusion import PaimonCatalog

    return PaimonCatalog({"warehouse": str(warehouse)}).get_table(NAME)


def _rust_session(warehouse: str) -> Ask:
    from pypaimon_rust.datafusion import SQLContext

    context = SQLContext()
    context.register_catalog("paimon", {"warehouse": warehouse})
    context.set_current_catalog("paimon")
    return lambda query: pa.Table.from_batches(context.sql(query))


def _rust_read(table: Any, what: Read) -> pa.Table:
    builder = table.new_read_builder().with_projection(list(what.columns))
    if what.below is not None:
        builder = builder.with_filter({"method": "lessThan", "field": "score", "literals": [what.below]})
    read = builder.new_read()
    with ThreadPoolExecutor(CORES) as pool:
        parts = pool.map(lambda split: read.read([split]), builder.new_scan().plan().splits())
        return pa.Table.from_batches([batch for part in parts for batch in part])


def _asked(ask: Ask, what: Read) -> pa.Table:
    return ask(what.query)


def _rust_write(source: str, kind: str, rounds: str) -> Found:
    (batch,) = _rows(source).to_batches()

    def write(table: Any) -> None:
        builder = table.new_batch_write_builder()
        writer = builder.new_write()
        writer.write_arrow(batch)
        builder.new_commit().commit(writer.prepare_commit())

    name = f"rust-client-{kind}-rust"
    timed, warehouse = contest.on_copies(f"{source}/{kind}", name, rounds, _rust_table, write)
    return timed.found(warehouse=str(warehouse))


# Names of contenders, and the arguments they take: a folder of warehouses, which of them, the number of rounds.
_READERS: Mapping[str, Callable[[str, str, str], Found]] = {
    "ours": lambda s, state, rounds: _reading(partial(_read, _table(f"{s}/{state}")), s, rounds),
    "pypaimon-rust": lambda s, state, rounds: _reading(partial(_rust_read, _rust_table(f"{s}/{state}")), s, rounds),
    "pypaimon-rust, SQL": lambda s, state, rounds: _reading(partial(_asked, _rust_session(f"{s}/{state}")), s, rounds),
}
_WRITERS: Mapping[str, Callable[[str, str, str], Found]] = {"ours": _write, "pypaimon-rust": _rust_write}
_ANSWERERS: Mapping[str, Callable[[str, str, str], Found]] = {
    "ours": lambda s, state, rounds: _answers(_session(f"{s}/{state}"), rounds),
    "pypaimon-rust": lambda s, state, rounds: _answers(_rust_session(f"{s}/{state}"), rounds),
}
_CHECKERS: Mapping[str, Callable[[str, str], Found]] = {
    "ours": lambda s, warehouse: {"digest": _digest(_read(_table(warehouse), Read()), s)},
    "pypaimon-rust": lambda s, warehouse: {"digest": _digest(_rust_read(_rust_table(warehouse), Read()), s)},
}
_TASKS: Mapping[str, Mapping[str, contest.Contender]] = {
    "reading": _READERS,
    "writing": _WRITERS,
    "sql": _ANSWERERS,
    "checking": _CHECKERS,
}
CONTENDERS: Mapping[str, contest.Contender] = {
    f"{task}/{name}": contender for task, those in _TASKS.items() for name, contender in those.items()
}


def _contend(task: str, name: str, *arguments: object) -> Found:
    python = None if name == "ours" else _PYTHON
    return contest.contend("rust_client", f"{task}/{name}", *arguments, python=python)


def _report(case: str, found_by: Mapping[str, Found]) -> None:
    ours = found_by["ours"]["seconds"]
    print(f"\n{case}, {CORES} cores", flush=True)
    for name, found in found_by.items():
        line = f"  {name:<19} {found['seconds']:8.3f} s   median {median(found['rounds']):8.3f}"
        line += f"   {found['cpu']:6.2f} s CPU"
        print(line + (f"   ours is {found['seconds'] / ours:5.2f} x as fast" if name != "ours" else ""), flush=True)
        tell(case, name, found["rounds"], processor_seconds=round(found["cpu"], 2))


def _reported(case: str, found_by: Mapping[str, Found]) -> None:
    """Report each part of what the contenders of a case have found. Raises: SystemExit: they do not agree."""
    for part, ours in found_by["ours"].items():
        parts = {name: found[part] for name, found in found_by.items()}
        _report(f"{case}: {part}", parts)
        for name, found in parts.items():
            if found.get("digest") != ours.get("digest") or not contest.agree(
                found.get("rows", []), ours.get("rows", [])
            ):
                raise SystemExit(f"{name} and ours differ in {case}: {part}:\n{json.dumps([found, ours])[:4000]}")


def compare(source: Path, rows: int, rounds: int, task: str) -> None:
    if task == "writing":
        expected = _digest(_rows(str(source)), str(source))
        for kind, title in WRITTEN.items():
            written = {name: _contend(task, name, source, kind, rounds) for name in _WRITERS}
            _report(f"writing of {rows:,} rows into {title}", written)
            for name, found in written.items():
                for reader in _CHECKERS:
                    digest = _contend("checking", reader, source, found["warehouse"])["digest"]
                    if digest != expected:
                        raise SystemExit(f"{reader} reads {digest} of what {name} wrote into {title}, not {expected}")
        return
    what = "reading" if task == "reading" else "SQL"
    for state, title in STATES.items():
        found_by = {name: _contend(task, name, source, state, rounds) for name in _TASKS[task]}
        _reported(f"{what}, {title}, {rows:,} rows", found_by)


def main() -> None:
    parser = contest.parser_of(__doc__)
    parser.add_argument("--rows", type=int, default=4_000_000)
    tasks = ["reading", "writing", "sql"]
    parser.add_argument("--only", nargs="+", choices=tasks, default=tasks)
    arguments = parser.parse_args()
    if contest.run_contender(CONTENDERS, arguments):
        return
    if not _PYTHON.exists():
        raise SystemExit(f"There is no {_PYTHON}: make it by scripts/install pypaimon-rust")
    source = contest.built("rust-client", build, arguments.rows).absolute()
    merged = _rows(str(source)).num_rows
    for task in arguments.only:
        compare(source, merged, arguments.rounds, task)


if __name__ == "__main__":
    main()
