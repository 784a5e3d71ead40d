"""Tables that both engines write, compact and expire in turn read the same on both sides."""

from pathlib import Path

import pytest

from maintenance.format.snapshot import CommitKind
from maintenance.operations.compact import compact
from maintenance.operations.expire_snapshots import expire_snapshots
from tests.java.process import JavaProcess
from tests.java.samples import COLUMNS, SAMPLES, Row, Sample, arrow_of, comparable, rows_in, rows_of, table_of

Batch = tuple[list[Row], list[str]]


def inserts(ids: range, version: int) -> Batch:
    rows = rows_of(ids, version)
    return rows, ["+I"] * len(rows)


def changes(ids: range, version: int) -> Batch:
    """Updates with their images, every third row deleted."""
    before, after = rows_of(ids, version - 1), rows_of(ids, version)
    rows: list[Row] = []
    kinds: list[str] = []
    for number, (old, new) in enumerate(zip(before, after, strict=True)):
        deleted = number % 3 == 2
        rows += [old] if deleted else [old, new]
        kinds += ["-D"] if deleted else ["-U", "+U"]
    return rows, kinds


def batches(sample: Sample) -> list[Batch]:
    """What is written to a sample, in order."""
    if not sample.primary_keys:
        return [inserts(range(start, start + 8), start) for start in range(0, 40, 8)]
    return [
        inserts(range(14), 0),
        changes(range(4, 14), 1),
        inserts(range(12, 20), 2),
        changes(range(8, 18), 3),
        inserts(range(2, 5), 4),
    ]


class Replay:
    """One table, both engines, and what it must hold."""

    def __init__(self, java: JavaProcess, warehouse: str, sample: Sample) -> None:
        self.java, self.warehouse, self.sample = java, warehouse, sample
        self._rows: list[Row] = []

    def expect(self, batch: Batch) -> None:
        """Apply a batch to the model."""
        if not self.sample.primary_keys:
            self._rows += batch[0]
            return
        by_id = {row[1]: row for row in self._rows}
        for row, kind in zip(*batch, strict=True):
            if kind in ("+I", "+U"):
                by_id[row[1]] = row
            else:
                by_id.pop(row[1], None)
        self._rows = list(by_id.values())

    def we_write(self, batch: Batch) -> None:
        kinds = batch[1] if self.sample.primary_keys else None
        table_of(self.warehouse).write_arrow(arrow_of(batch[0]), kinds)
        self.expect(batch)

    def java_writes(self, batch: Batch) -> None:
        self.java.write(self.warehouse, "db.t", *batch)
        self.expect(batch)

    def check(self) -> None:
        """Both read what was written, and no file lies there that nothing names."""
        wanted = comparable(self._rows)
        assert comparable(self.java.rows(self.warehouse, "db.t")) == wanted
        assert comparable(rows_in(table_of(self.warehouse).to_arrow())) == wanted
        assert self.java.orphans(self.warehouse, "db.t") == []

    def kind(self) -> CommitKind:
        """Of the latest snapshot."""
        snapshot = table_of(self.warehouse).latest_snapshot()
        assert snapshot is not None
        return snapshot.commit_kind


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
def test_both_take_turns(java: JavaProcess, tmp_path: Path, name: str) -> None:
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
