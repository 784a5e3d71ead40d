"""The full compaction of one large bucket by one task and by two, and by the warm Java core.

    python -m benchmarks.one_bucket [--rows 32000000] [--rounds 3]

A primary key table of a single bucket: five commits that each write a random fifth of the keys. Ours: the operation on
a warm local Spark session with one task slot, with two, and in this process. The Java core has one thread for a bucket.
Rows of the table after it are compared. Best of the rounds counts. Two tasks can reach half of the time of one.
"""

from functools import partial
from pathlib import Path

from benchmarks import contest, java_core, tables

_RUNS = 5


def build(source: Path, rows: int) -> None:
    """`bench.t`."""
    unfinished = source.with_name(f"{source.name}-unfinished")
    tables.build(unfinished, rows, buckets=1, runs=_RUNS)
    unfinished.rename(source)


def _found(timed: contest.Rounds, warehouse: Path) -> contest.Found:
    table = tables.opened(warehouse)
    return timed.found(digest=contest.digest(table.to_arrow()), files=len(tables.live(table)))


def ours(source: str, rounds: str, slots: int) -> contest.Found:
    """The operation `compact`. `slots`: of a local Spark; 0 = this process."""
    from maintenance.operations.compaction.compact import compact
    from maintenance.spark.session import get_session

    spark = get_session(master=f"local[{slots}]") if slots else None
    action = partial(compact, spark, full=True)
    return _found(*contest.on_copies(source, "one-bucket-ours", rounds, tables.opened, action))


def java(source: str, rounds: str) -> contest.Found:
    """The Java core's compaction of the bucket."""
    paimon = java_core.start()
    opened = partial(java_core.get_table, paimon, name=tables.NAME)
    action = partial(java_core.compact_seconds, paimon, buckets=1, threads=contest.CORES)
    return _found(*contest.on_copies(source, "one-bucket-java", rounds, opened, action))


CONTENDERS: dict[str, contest.Contender] = {
    "ours, one slot": partial(ours, slots=1),
    "ours, two slots": partial(ours, slots=2),
    "ours, no Spark": partial(ours, slots=0),
    "Java core": java,
}


def main() -> None:
    parser = contest.parser_of(__doc__)
    parser.add_argument("--rows", type=int, default=32_000_000)
    arguments = parser.parse_args()
    if contest.run_contender(CONTENDERS, arguments):
        return
    source = contest.built("one-bucket", build, arguments.rows)
    results = {
        name: contest.contend("one_bucket", name, source, arguments.rounds)
        for name in contest.with_java(list(CONTENDERS))
    }
    contest.report(f"full compaction of one bucket, {arguments.rows:,} records", results, arguments.rows)
    one, two = (results[f"ours, {slots}"]["seconds"] for slots in ("one slot", "two slots"))
    print(f"  two slots take {two / one:.2f} of the time of one")


if __name__ == "__main__":
    main()
