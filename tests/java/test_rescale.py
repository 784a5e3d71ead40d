"""Another number of buckets: both engines refuse to write before an overwrite, and go on in either's new layout."""

from pathlib import Path

import pytest

from maintenance.catalog import SetOption, open_catalog
from maintenance.commit.overwrite import Overwrite
from maintenance.errors import ConflictError
from maintenance.operations.compaction.compact import compact
from tests.java.process import JavaError, JavaProcess
from tests.java.replay import Batch, Replay, inserts
from tests.java.samples import Sample, arrow_of, table_of
from tests.tables import live

SAMPLES = {
    "keyed": Sample(("p", "id"), ("p",), {"bucket": "2", "write-only": "true"}),
    "append": Sample((), ("p",), {"bucket": "2", "bucket-key": "id", "write-only": "true"}),
    "by remainder": Sample(
        (), ("p",), {"bucket": "2", "bucket-key": "id", "bucket-function.type": "mod", "write-only": "true"}
    ),
}


def of_part(number: int, ids: range, version: int) -> Batch:
    """Rows of one partition."""
    rows = [row for row in inserts(ids, version)[0] if row[0] == f"part {number}"]
    return rows, ["+I"] * len(rows)


def rescale(warehouse: str, java: JavaProcess, ours: bool) -> None:
    change = SetOption("bucket", "5")
    if ours:
        open_catalog({"warehouse": warehouse}).alter_table("db.t", [change])
    else:
        java.alter(warehouse, "db.t", [change])


def numbers(warehouse: str) -> dict[str, set[int]]:
    """The numbers of buckets of each partition."""
    table = table_of(warehouse)
    collected: dict[str, set[int]] = {}
    for entry in live(table):
        collected.setdefault(table.paths.spec_of(entry.partition)["p"], set()).add(entry.total_buckets)
    return collected


@pytest.mark.parametrize("ours", [True, False], ids=["ours", "java"])
@pytest.mark.parametrize("name", SAMPLES)
def test_rescale_one_partition_after_the_other(java: JavaProcess, tmp_path: Path, name: str, ours: bool) -> None:
    """`ours`: which side rescales."""
    warehouse, sample = str(tmp_path), SAMPLES[name]
    sample.create(warehouse)
    replay = Replay(java, warehouse, sample)
    for version in range(2):
        replay.we_write(inserts(range(20), version))
    opened = table_of(warehouse)
    rescale(warehouse, java, ours)
    replay.check()
    before = table_of(warehouse).snapshots.list_ids()
    with pytest.raises(ConflictError, match=r"part 0 has 2 buckets, and is written with 5 .*overwrite the partition"):
        table_of(warehouse).write_arrow(arrow_of(inserts(range(3), 5)[0]))
    with pytest.raises(JavaError, match="new bucket num 5, but the previous bucket num is 2"):
        java.write(warehouse, "db.t", *inserts(range(30), 5))
    assert table_of(warehouse).snapshots.list_ids() == before

    # Java 1.4 notices it where rows fall into a bucket that is there, and leaves files behind.
    # A new partition has the new number at once, the old ones keep theirs until they are overwritten.
    rows = [("part 9", *row[1:]) for row in inserts(range(30, 40), 1)[0]]
    replay.we_write((rows, ["+I"] * len(rows)))
    replay.check(orphans=True)
    again = of_part(0, range(20), 7)
    kept = [row for row in replay.rows if row[0] != "part 0"]
    if ours:
        table_of(warehouse).overwrite_arrow(arrow_of(again[0]), Overwrite([{"p": "part 0"}]))
    else:
        java.write(warehouse, "db.t", again[0], None, {"p": "part 0"})
    replay.rows = kept + again[0]
    replay.check(orphans=True)
    assert numbers(warehouse) == {"part 0": {5}, "part 1": {2}, "part 9": {5}}
    replay.we_write(of_part(0, range(4, 24), 8))
    replay.java_writes(of_part(0, range(8, 28), 9))
    replay.check(orphans=True)
    with pytest.raises(ConflictError, match="has 2 buckets"):
        table_of(warehouse).write_arrow(arrow_of(of_part(1, range(9), 5)[0]))
    with pytest.raises(JavaError, match="previous bucket num is 2"):
        java.write(warehouse, "db.t", *of_part(1, range(30), 5))
    assert compact(None, table_of(warehouse), full=True).failed == ()
    replay.check(orphans=True)
    assert numbers(warehouse) == {"part 0": {5}, "part 1": {2}, "part 9": {5}}

    # A writer that was opened before knows the old number alone.
    with pytest.raises(ConflictError, match="buckets"):
        opened.write_arrow(arrow_of(of_part(0, range(9), 5)[0]))
    replay.check(orphans=True)
