"""Tables with dynamic buckets: real Paimon reads, compacts and continues what is written here, and the other way."""

from pathlib import Path

import pytest

from maintenance.catalog import open_catalog
from maintenance.operations.compact import compact
from maintenance.table.table import Table
from tests.golden.case import extract
from tests.java.process import JavaProcess
from tests.java.replay import Replay, batches
from tests.java.samples import Sample, table_of
from tests.tables import live

OPTIONS = {"bucket": "-1", "dynamic-bucket.target-row-num": "4", "write-only": "true"}
SAMPLES = {
    "whole": Sample(("id",), (), OPTIONS),
    "partitioned": Sample(("p", "id"), ("p",), OPTIONS),
}


@pytest.mark.parametrize("name", SAMPLES)
def test_java_reads_compacts_and_continues(java: JavaProcess, tmp_path: Path, name: str) -> None:
    sample = SAMPLES[name]
    sample.create(str(tmp_path))
    replay = Replay(java, str(tmp_path), sample)
    first, second, third, fourth, fifth = batches(sample)
    replay.we_write(first)
    replay.we_write(second)
    replay.check()
    java.compact(replay.warehouse, "db.t")
    replay.check()
    java.write_dynamic(replay.warehouse, "db.t", *third)
    replay.expect(third)
    replay.check()
    replay.we_write(fourth)
    assert compact(None, table_of(replay.warehouse), full=True).snapshot_ids
    replay.check()
    java.write_dynamic(replay.warehouse, "db.t", *fifth)
    replay.expect(fifth)
    replay.check()
    table = table_of(replay.warehouse)
    keys = sum(entry.row_count for entry in (table.hash_files() or {}).values())
    assert keys == 20, "each key of the batches has one bucket"
    assert {(entry.partition, entry.bucket) for entry in live(table)} <= set(table.hash_files() or {})


@pytest.mark.parametrize("name", ["plain", "part", "maxb", "init"])
def test_keys_of_paimons_own_tables_keep_their_buckets(tmp_path: Path, name: str) -> None:
    catalog = open_catalog({"warehouse": str(extract("dynamic_bucket", tmp_path))})
    table = catalog.get_table(f"db.{name}")
    assert isinstance(table, Table)
    rows = table.to_arrow()
    before = table.hash_files()
    table.copy({"write-only": "true"}).write_arrow(rows)
    assert table.hash_files() == before
    assert (
        table.to_arrow()
        .sort_by([(k, "ascending") for k in table.schema.primary_keys])
        .equals(rows.sort_by([(k, "ascending") for k in table.schema.primary_keys]))
    )
