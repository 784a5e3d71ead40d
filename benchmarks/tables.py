"""The table that the compaction and reading benchmarks use: mixed types, overlapping sorted runs."""

import shutil
from pathlib import Path

import numpy as np
import pyarrow as pa

from maintenance.catalog import CatalogTable, Schema, open_catalog
from maintenance.format.metadata.manifest import ManifestEntry

NAME = "bench.t"
FIELDS = [
    ("id", "BIGINT NOT NULL"),
    ("name", "STRING"),
    ("city", "STRING"),
    ("amount", "DECIMAL(12, 2)"),
    ("score", "DOUBLE"),
    ("flag", "BOOLEAN"),
    ("day", "DATE"),
    ("ts", "TIMESTAMP(6)"),
]


def build(
    warehouse: Path, rows: int, *, buckets: int = 4, runs: int = 5, options: dict[str, str] | None = None
) -> None:
    """A write-only table of `rows` records: `runs` commits, each a random subset of the same keys."""
    shutil.rmtree(warehouse, ignore_errors=True)
    catalog = open_catalog({"warehouse": str(warehouse)})
    catalog.create_database("bench")
    given = {"bucket": str(buckets), "write-only": "true", **(options or {})}
    catalog.create_table(NAME, Schema(FIELDS, primary_keys=["id"], options=given))
    table = catalog.get_table(NAME)
    random = np.random.default_rng(7)
    for run in range(runs):
        table.write_arrow(records(random, rows, rows // runs), commit_user="bench", commit_identifier=run)


def opened(warehouse: Path) -> CatalogTable:
    """The table of a warehouse."""
    table = open_catalog({"warehouse": str(warehouse)}).get_table(NAME)
    assert isinstance(table, CatalogTable)
    return table


def live(table: CatalogTable) -> list[ManifestEntry]:
    """The live files of the latest snapshot."""
    snapshot = table.latest_snapshot()
    assert snapshot is not None
    return table.manifests.live_entries(snapshot)


def records(random: np.random.Generator, keys: int, count: int) -> pa.Table:
    """`count` records with distinct random keys below `keys`."""
    ids = random.choice(keys, count, replace=False).astype(np.int64)
    cities = pa.array([f"city-{number}" for number in range(500)])
    cents = pa.array(random.integers(0, 10**7, count)).cast(pa.decimal128(20, 0))
    return pa.table(
        {
            "id": ids,
            "name": pa.array(np.char.add("customer-", ids.astype(str))),
            "city": cities.take(pa.array(random.integers(0, len(cities), count))),
            "amount": cents.cast(pa.decimal128(12, 2)),
            "score": random.random(count),
            "flag": random.random(count) < 0.5,
            "day": pa.array(random.integers(15_000, 20_000, count).astype(np.int32)).cast(pa.date32()),
            "ts": pa.array(random.integers(10**15, 2 * 10**15, count)).cast(pa.timestamp("us")),
        }
    )
