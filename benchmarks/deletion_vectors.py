"""What deletion vectors cost and save reads: merge on write against merge on read, and vectors against none.

    python -m benchmarks.deletion_vectors [--rows 2000000] [--rounds 3]

The same records are written to two tables with a primary key, in 5 overlapping runs that each change a fifth of the
keys: one is read by merging them, the other is compacted with deletion vectors after each run and read without merging.
An append table is read before and after a tenth of its rows is deleted. The best of the rounds counts, in seconds of
the processor, in one thread. What vectors cost is compared with pyarrow reading the same files whole.
"""

import argparse
import shutil
import tempfile
import time
from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks.results import tell
from maintenance.catalog import CatalogTable, Schema, open_catalog
from maintenance.operations.compaction.compact import compact

VECTORS = {"deletion-vectors.enabled": "true"}
FIELDS = (("id", "BIGINT NOT NULL"), ("a", "BIGINT"), ("b", "DOUBLE"), ("v", "STRING"))
RUNS = 5


def create(folder: Path, name: str, keys: tuple[str, ...], options: Mapping[str, str]) -> CatalogTable:
    catalog = open_catalog({"warehouse": str(folder)})
    catalog.create_database("bench", ignore_if_exists=True)
    catalog.create_table(f"bench.{name}", Schema(FIELDS, keys, (), options))
    table = catalog.get_table(f"bench.{name}")
    assert isinstance(table, CatalogTable)
    return table


def batch(ids: np.ndarray, version: int) -> pa.Table:
    texts = pa.array(np.char.add(f"text {version} of ", (ids % 1000).astype(str)))
    return pa.table({"id": ids, "a": ids * version, "b": ids / 3 + version, "v": texts})


def best(work: Callable[[], pa.Table], rounds: int, what: str) -> tuple[float, pa.Table]:
    """Seconds of the quickest round, and what it returned. `what`: is told of it."""
    taken, found = [], None
    for _ in range(rounds):
        started = time.process_time()
        found = work()
        taken.append(time.process_time() - started)
    assert found is not None
    tell("processor time of a read", what, taken)
    return min(taken), found


def one_by_one(table: CatalogTable) -> pa.Table:
    """The rows of the table, read in one thread: what threads cost each other is not what vectors cost."""
    plan, read = table.plan()
    return pa.concat_tables([rows for split in plan.splits for rows in read.tables(split)])


def whole_files(table: CatalogTable) -> pa.Table:
    """The data files as they are, deleted rows too: nobody reads them faster."""
    snapshot = table.latest_snapshot()
    assert snapshot is not None
    names = table.schema.field_names
    paths = [table.paths.data_file(e.partition, e.bucket, e.file) for e in table.manifests.live_entries(snapshot)]
    return pa.concat_tables([pq.ParquetFile(path).read(names, use_threads=False) for path in paths])


def against_whole(table: CatalogTable, rounds: int, label: str) -> None:
    """Tell how long a read takes against reading the same files whole."""
    read, rows = best(lambda: one_by_one(table), rounds, label)
    plain, physical = best(lambda: whole_files(table), rounds, f"{label}: its files whole")
    print(f"{label:16s} {read:8.3f} s, {read / plain:.2f} times as long as its files whole ({plain:.3f} s)")
    print(f"                 {physical.num_rows - rows.num_rows} of {physical.num_rows} rows in them are deleted")


def merge_on_write(folder: Path, rows: int, rounds: int) -> None:
    random = np.random.default_rng(7)
    lazy = {"bucket": "2", "write-only": "true"}
    merged = create(folder, "merged", ("id",), lazy)
    marked = create(folder, "marked", ("id",), {**lazy, **VECTORS})
    seconds = 0.0
    for run in range(RUNS):
        ids = np.arange(rows) if run == 0 else np.sort(random.choice(rows, rows // 5, replace=False))
        for table in (merged, marked):
            table.write_arrow(batch(ids, run))
        started = time.perf_counter()
        assert not compact(None, marked).failed
        seconds = time.perf_counter() - started
        if run == 1:
            against_whole(marked, rounds, "a fifth changed")
    read, expected = best(lambda: one_by_one(merged), rounds, "merge on read")
    raw, found = best(lambda: one_by_one(marked), rounds, "merge on write, all runs")
    assert found.sort_by("id").equals(expected.sort_by("id"))
    print(f"merge on read    {read:8.3f} s")
    print(f"merge on write   {raw:8.3f} s, {read / raw:.2f} times as fast; its last compaction took {seconds:.3f} s")
    against_whole(marked, rounds, "merge on write")


def vectors_on_append(folder: Path, rows: int, rounds: int) -> None:
    table = create(folder, "append", (), {"bucket": "-1", **VECTORS})
    for part in np.array_split(np.arange(rows), RUNS):
        table.write_arrow(batch(part, 1))
    plain, _ = best(lambda: one_by_one(table), rounds, "append table")
    started = time.perf_counter()
    report = table.delete("a < 0 OR v LIKE 'text 1 of %7'")
    seconds = time.perf_counter() - started
    left, found = best(lambda: one_by_one(table), rounds, "append table with vectors")
    assert found.num_rows == rows - report.deleted_rows
    print(f"plain read       {plain:8.3f} s")
    print(f"with vectors     {left:8.3f} s, {left / plain:.2f} of it")
    against_whole(table, rounds, "with vectors")
    print(f"DELETE           {seconds:8.3f} s for {report.deleted_rows} rows")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=2_000_000)
    parser.add_argument("--rounds", type=int, default=3)
    arguments = parser.parse_args()
    folder = Path(tempfile.mkdtemp())
    try:
        merge_on_write(folder, arguments.rows, arguments.rounds)
        vectors_on_append(folder, arguments.rows, arguments.rounds)
    finally:
        shutil.rmtree(folder)


if __name__ == "__main__":
    main()
