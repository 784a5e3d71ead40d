"""Tables that both engines write, compact and expire in turn read the same on both sides."""

from pathlib import Path

import pytest

from maintenance.format.metadata.snapshot import CommitKind
from maintenance.operations.compaction.compact import compact
from maintenance.operations.expiry.expire_snapshots import expire_snapshots
from tests.java.process import JavaProcess
from tests.java.replay import Replay, batches
from tests.java.samples import COLUMNS, SAMPLES, table_of


@pytest.mark.parametrize("name", SAMPLES)
def test_java_reads_what_we_write_and_compact(java: JavaProcess, tmp_path: Path, name: str) -> None:
    sample = SAMPLES[name]
    sample.create(str(tmp_path))
    replay = Replay(java, str(tmp_path), sample)
    for batch in batches(sample)[:3]:
        replay.we_write(batch)
    replay.check()
    report = compact(None, table_of(replay.warehouse), full=True)
    assert report.snapshot_ids
    assert report.failed == ()
    replay.check()


@pytest.mark.parametrize("name", SAMPLES)
def test_we_read_what_java_writes_and_compacts(java: JavaProcess, tmp_path: Path, name: str) -> None:
    sample = SAMPLES[name]
    replay = Replay(java, str(tmp_path), sample)
    keys = (sample.primary_keys, sample.partition_keys)
    java.create_table(replay.warehouse, "db.t", COLUMNS, keys, sample.options)
    for batch in batches(sample)[:3]:
        replay.java_writes(batch)
    replay.check()
    java.compact(replay.warehouse, "db.t")
    assert replay.kind() == CommitKind.COMPACT
    replay.check()


@pytest.mark.parametrize("name", SAMPLES)
def test_both_write_and_compact_by_turns_and_read_the_same(java: JavaProcess, tmp_path: Path, name: str) -> None:
    sample = SAMPLES[name]
    sample.create(str(tmp_path))
    replay = Replay(java, str(tmp_path), sample)
    first, second, third, fourth, fifth = batches(sample)
    replay.we_write(first)
    replay.java_writes(second)
    java.compact(replay.warehouse, "db.t")
    replay.check()
    replay.we_write(third)
    replay.java_writes(fourth)
    assert compact(None, table_of(replay.warehouse), full=True).snapshot_ids
    replay.check()
    replay.java_writes(fifth)
    java.compact(replay.warehouse, "db.t")
    assert replay.kind() == CommitKind.COMPACT
    replay.check()


@pytest.mark.parametrize("name", ["keyed and partitioned", "append"])
def test_expiry_of_either_side_leaves_whole_tables(java: JavaProcess, tmp_path: Path, name: str) -> None:
    sample = SAMPLES[name]
    sample.create(str(tmp_path))
    replay = Replay(java, str(tmp_path), sample)
    first, second, third, *_ = batches(sample)
    replay.we_write(first)
    replay.java_writes(second)
    compact(None, table_of(replay.warehouse), full=True)
    table = table_of(replay.warehouse)
    report = expire_snapshots(table.copy({"snapshot.time-retained": "0 s"}), retain_min=1, retain_max=1)
    assert report.expired == (1, 2)
    assert report.deleted_files
    replay.check()
    replay.we_write(third)
    java.compact(replay.warehouse, "db.t")
    assert java.expire(replay.warehouse, "db.t", 1) == 2
    assert table.snapshots.list_ids() == [5]
    replay.check()
