"""Overwrites of either side replace the same, whoever wrote before."""

from pathlib import Path

import pytest

from maintenance.commit.overwrite import Overwrite
from maintenance.format.metadata.snapshot import CommitKind
from maintenance.operations.compaction.compact import compact
from tests.java.process import JavaProcess
from tests.java.replay import Replay, batches, inserts
from tests.java.samples import SAMPLES, arrow_of, comparable, rows_in, table_of
from tests.tables import live


@pytest.mark.parametrize("name", SAMPLES)
def test_overwrites_of_either_side_leave_the_same_rows(java: JavaProcess, tmp_path: Path, name: str) -> None:
    sample = SAMPLES[name]
    twins = []
    for side in ("ours", "java"):
        warehouse = str(tmp_path / side)
        sample.create(warehouse)
        replay = Replay(java, warehouse, sample)
        for batch in batches(sample)[:2]:
            replay.we_write(batch)
        twins.append(warehouse)
    ours, theirs = twins
    # Rows of one partition first, so that a dynamic overwrite leaves the other one.
    for version, ids in enumerate([range(0, 6, 2), range(1, 30), range(4, 5)], 10):
        rows, _ = inserts(range(30), version)
        rows = [row for row in rows if row[1] in ids]
        table_of(ours).overwrite_arrow(arrow_of(rows))
        java.write(theirs, "db.t", rows, None, {})
        check(java, ours, theirs)
    assert Replay(java, ours, sample).kind() == CommitKind.OVERWRITE
    levels = [sorted(entry.file.level for entry in live(table_of(warehouse))) for warehouse in twins]
    assert levels[0] == levels[1]
    rows, _ = inserts(range(3, 9), 20)
    table_of(theirs).write_arrow(arrow_of(rows))
    java.write(ours, "db.t", rows)
    check(java, ours, theirs)
    compact(None, table_of(theirs), full=True)
    java.compact(ours, "db.t")
    check(java, ours, theirs)


@pytest.mark.parametrize("name", ["keyed and partitioned", "append"])
def test_overwriting_a_named_partition_leaves_the_same_rows(java: JavaProcess, tmp_path: Path, name: str) -> None:
    sample = SAMPLES[name]
    ours, theirs = str(tmp_path / "ours"), str(tmp_path / "java")
    rows = [row for row in inserts(range(12), 5)[0] if row[0] == "part 1"]
    for warehouse in (ours, theirs):
        sample.create(warehouse)
        Replay(java, warehouse, sample).we_write(inserts(range(12), 0))
    table_of(ours).overwrite_arrow(arrow_of(rows), Overwrite([{"p": "part 1"}]))
    java.write(theirs, "db.t", rows, None, {"p": "part 1"})
    check(java, ours, theirs)
    table_of(ours).truncate([{"p": "part 0"}])
    assert len(comparable(java.rows(ours, "db.t"))) == len(rows)


def check(java: JavaProcess, ours: str, theirs: str) -> None:
    """Four reads agree: of either table by either side."""
    wanted = comparable(java.rows(theirs, "db.t"))
    assert comparable(java.rows(ours, "db.t")) == wanted
    for warehouse in (ours, theirs):
        assert comparable(rows_in(table_of(warehouse).to_arrow())) == wanted
