"""What deletion vectors cost and save reads: merge on write against merge on read, and vectors against none.

    python -m benchmarks.deletion_vectors [--rows 2000000] [--rounds 3]

The same records are written to two tables with a primary key, in 5 overlapping runs that each change a fifth of the
keys: one is read by merging them, the other is compacted with deletion vectors after each run and read without merging.
An append table is read before and after a tenth of its rows is deleted. Best of the rounds counts.
"""

import argparse
import shutil
import tempfile
import time
from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np
import pyarrow as pa

from maintenance.catalog import Schema, open_catalog
from maintenance.operations.compact import compact
from maintenance.table.table import Table

VECTORS = {"deletion-vectors.enabled": "true"}
FIELDS = (("id", "BIGINT NOT NULL"), ("a", "BIGINT"), ("b", "DOUBLE"), ("v", "STRING"))
RUNS = 5


def create(folder: Path, name: str, keys: tuple[str, ...], options: Mapping[str, str]) -> Table:
    catalog = open_catalog({"warehouse": str(folder)})
    catalog.create_database("bench", ignore_if_exists=True)
    catalog.create_table(f"bench.{name}", Schema(FIELDS, keys, (), options))
    table = catalog.get_table(f"bench.{name}")
    assert isinstance(table, Table)
    return table


def batch(ids: np.ndarray, version: int) -> pa.Table:
    texts = pa.array(np.char.add(f"text {version} of ", (ids % 1000).astype(str)))
    return pa.table({"id": ids, "a": ids * version, "b": ids / 3 + version, "v": texts})


def best(work: Callable[[], pa.Table], rounds: int) -> tuple[float, pa.Table]:
    """Seconds of the quickest round, and what it returned."""
    quickest, found = float("inf"), None
    for _ in range(rounds):
        started = time.perf_counter()
        found = work()
        quickest = min(quickest, time.perf_counter() - started)
    assert found is not None
    return quickest, found


def merge_on_write(folder: Path, rows: int, rounds: int) -> None:
    random = np.random.default_rng(7)
    merged = create(folder, "merged", ("id",), {"bucket": "2"})
    marked = create(folder, "marked", ("id",), {"bucket": "2", **VECTORS})
    seconds = 0.0
    for run in range(RUNS):
        ids = np.arange(rows) if run == 0 else np.sort(random.choice(rows, rows // 5, replace=False))
        for table in (merged, marked):
            table.write_arrow(batch(ids, run))
        started = time.perf_counter()
        assert not compact(None, marked).failed
        seconds = time.perf_counter() - started
    read, expected = best(merged.to_arrow, rounds)
    raw, found = best(marked.to_arrow, rounds)
    assert found.sort_by("id").equals(expected.sort_by("id"))
    print(f"merge on read    {read:8.3f} s")
    print(f"merge on write   {raw:8.3f} s, {read / raw:.2f} times as fast; its last compaction took {seconds:.3f} s")


def vectors_on_append(folder: Path, rows: int, rounds: int) -> None:
    table = create(folder, "append", (), {"bucket": "-1", **VECTORS})
    for part in np.array_split(np.arange(rows), RUNS):
        table.write_arrow(batch(part, 1))
    plain, _ = best(table.to_arrow, rounds)
    started = time.perf_counter()
    report = table.delete("a < 0 OR v LIKE 'text 1 of %7'")
    seconds = time.perf_counter() - started
    left, found = best(table.to_arrow, rounds)
    assert found.num_rows == rows - report.deleted_rows
    print(f"plain read       {plain:8.3f} s")
    print(f"with vectors     {left:8.3f} s, {left / plain:.2f} of it")
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
