"""What a changelog costs beside its compaction, and what a lookup reads of the levels above.

    python -m benchmarks.changelog [--rows 1000000] [--rounds 3]

The first part compacts the same overlapping runs into the highest level with and without a changelog, in this process
on all cores: seconds, changes per second, and the added cost as a ratio. The second part writes changes of 0.1 and 1
percent of the keys, lying together or anywhere, over a table at its highest level, and produces their changelog by
lookup: bytes read from storage beside the bytes of the table, which a full re-read would take. Its files are small, so
that a level has as many as that of a large table. Best of the rounds counts.
"""

import argparse
import shutil
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np
import pyarrow as pa

from benchmarks import tables
from benchmarks.results import tell
from maintenance.catalog import CatalogTable
from maintenance.operations.compaction.compact import compact
from maintenance.operations.compaction.produce_changelog import produce_changelog

CACHE = Path(".cache/benchmarks/changelog")
BUCKETS = 2


def fresh(source: Path) -> CatalogTable:
    target = CACHE / "run"
    shutil.rmtree(target, ignore_errors=True)
    return tables.opened(Path(shutil.copytree(source, target)))


def bytes_read() -> int:
    """Bytes that this process has read from files so far, those that the page cache held among them."""
    for line in Path("/proc/self/io").read_text().splitlines():
        if line.startswith("rchar:"):
            return int(line.split()[1])
    raise SystemExit("this system does not count what a process reads")


def added_cost(rows: int, rounds: int) -> None:
    seconds = {}
    changes = 0
    for producer in ("none", "full-compaction", "lookup"):
        source = CACHE / f"runs-{producer}-{rows}"
        if not source.exists():
            # Half the keys stand at the highest level, the rest comes over them in four runs.
            tables.build(source, rows, buckets=BUCKETS, runs=2, options={"changelog-producer": producer})
            compact(None, tables.opened(source), full=True)
            random = np.random.default_rng(11)
            for _ in range(4):
                tables.opened(source).write_arrow(tables.records(random, rows, rows // 8))
        rounds_taken = []
        for turn in range(rounds + 1):
            table = fresh(source)
            started = time.perf_counter()
            report = compact(None, table, full=True)
            taken = time.perf_counter() - started
            rounds_taken += [taken] if turn else []
            assert report.count("committed") == BUCKETS, report.groups
        best = seconds[producer] = min(rounds_taken)
        tell(f"full compaction of {rows:,} keys", f"ours, {producer}", rounds_taken)
        changes = sum(report.changelog_rows.values())
        if producer == "none":
            print(f"  full compaction            {best:6.2f} s")
        else:
            ratio = best / seconds["none"]
            print(f"  with {producer:<16}      {best:6.2f} s   {changes / best:12,.0f} changes/s   {ratio:.2f} x")


def looked_up(rows: int, rounds: int) -> None:
    source = CACHE / f"top-{rows}"
    if not source.exists():
        small_files = {"changelog-producer": "lookup", "target-file-size": "512 kb"}
        tables.build(source, rows, buckets=BUCKETS, runs=2, options=small_files)
        compact(None, tables.opened(source), full=True)
    size = sum(path.stat().st_size for path in source.rglob("bucket-*/data-*.parquet"))
    print(f"  a full re-read takes {size / 2**20:.1f} MiB")
    for share in (0.001, 0.01):
        count = int(rows * share)
        random = np.random.default_rng(13)
        places: dict[str, Callable[[], pa.Table]] = {
            "together": partial(together, random, rows, count),
            "anywhere": partial(tables.records, random, rows, count),
        }
        for place, records in places.items():
            found = []
            for _ in range(rounds):
                table = fresh(source)
                table.write_arrow(records())
                before, started = bytes_read(), time.perf_counter()
                report = produce_changelog(None, table)
                taken = time.perf_counter() - started
                found.append((taken, bytes_read() - before, sum(report.changelog_rows.values())))
            taken, read, changes = min(found)
            told = {"read_of_the_table": f"{read / size:.2f}"}
            tell(f"lookup, {share:.1%} of {rows:,} keys, {place}", "ours", [each[0] for each in found], **told)
            print(
                f"  {share:6.1%} of the keys, {place}: {taken:6.2f} s   {changes / taken:10,.0f} changes/s   "
                f"{read / 2**20:6.1f} MiB read, {read / size:.2f} of the table"
            )


def together(random: np.random.Generator, rows: int, count: int) -> pa.Table:
    """Records of that many keys in a row, in the middle."""
    records = tables.records(random, count, count)
    ids = pa.array(records.column("id").to_numpy() + rows // 3)
    return records.set_column(records.schema.get_field_index("id"), "id", ids)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--only", choices=("cost", "lookup"))
    arguments = parser.parse_args()
    print(f"{arguments.rows:,} keys, {BUCKETS} buckets, best of {arguments.rounds}")
    if arguments.only != "lookup":
        added_cost(arguments.rows, arguments.rounds)
    if arguments.only != "cost":
        looked_up(arguments.rows, arguments.rounds)


if __name__ == "__main__":
    main()
