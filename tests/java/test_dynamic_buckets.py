"""Tables with dynamic buckets: real Paimon reads, compacts and continues what is written here, and the other way."""

from pathlib import Path

import pytest

from maintenance.catalog import CatalogTable, open_catalog
from maintenance.format.metadata.hash_index import parse_hash_index
from maintenance.operations.compaction.compact import compact
from tests.golden.case import extract
from tests.java.process import JavaProcess
from tests.java.replay import Replay, batches, changes, inserts
from tests.java.samples import COLUMNS, Sample, table_of
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


OTHERS = {
    "ours": {},
    "java": {},
    "few buckets": {"dynamic-bucket.max-buckets": "2"},
    "many assigners": {"dynamic-bucket.initial-buckets": "3", "dynamic-bucket.assigner-parallelism": "3"},
}


@pytest.mark.parametrize("name", OTHERS)
def test_both_write_and_compact_in_turns(java: JavaProcess, tmp_path: Path, name: str) -> None:
    """Six rounds, each by the other engine, on a table that one of them made and began."""
    sample = Sample(("p", "id"), ("p",), {**OPTIONS, **OTHERS[name]})
    replay = Replay(java, str(tmp_path), sample)
    if name == "java":
        java.create_table(replay.warehouse, "db.t", COLUMNS, (["p", "id"], ["p"]), sample.options)
    else:
        sample.create(replay.warehouse)
    seen: dict[tuple[bytes, int], set[int]] = {}
    for turn in range(6):
        batch = inserts(range(4 * turn, 4 * turn + 16), turn) if turn % 3 else changes(range(turn, turn + 9), turn)
        ours = (turn % 2 == 0) != (name == "java")
        if ours:
            replay.we_write(batch)
        else:
            java.write_dynamic(replay.warehouse, "db.t", *batch, 3 if name == "many assigners" else 1)
            replay.expect(batch)
        if turn in (2, 5):
            compact(None, table_of(replay.warehouse), full=True)
        elif turn == 3:
            java.compact(replay.warehouse, "db.t")
        replay.check()
        actual = hashes_of(table_of(replay.warehouse))
        assert all(before <= actual[group] for group, before in seen.items()), "a key never leaves its bucket"
        seen = actual
    partitions = {partition for partition, _ in seen}
    of_partition = [[seen[group] for group in seen if group[0] == partition] for partition in partitions]
    for sets in of_partition:
        assert sum(map(len, sets)) == len(set().union(*sets)), "a key is in one bucket"
        assert len(sets) == 2 if name == "few buckets" else len(sets) > 2


def hashes_of(table: CatalogTable) -> dict[tuple[bytes, int], set[int]]:
    """The key hashes of each bucket."""
    files = table.hash_files() or {}
    return {
        group: set(parse_hash_index(table.file_io.read_bytes(table.paths.index_file(entry)), entry.file_name).tolist())
        for group, entry in files.items()
    }


@pytest.mark.parametrize("name", ["plain", "part", "maxb", "init"])
def test_keys_of_paimons_own_tables_keep_their_buckets(tmp_path: Path, name: str) -> None:
    catalog = open_catalog({"warehouse": str(extract("dynamic_bucket", tmp_path))})
    table = catalog.get_table(f"db.{name}")
    assert isinstance(table, CatalogTable)
    rows = table.to_arrow()
    before = table.hash_files()
    table.copy({"write-only": "true"}).write_arrow(rows)
    assert table.hash_files() == before
    assert (
        table.to_arrow()
        .sort_by([(k, "ascending") for k in table.schema.primary_keys])
        .equals(rows.sort_by([(k, "ascending") for k in table.schema.primary_keys]))
    )
