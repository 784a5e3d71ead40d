"""Why snapshots are still there: each keeper is named, and the bytes of old states are those that expiry frees."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pyarrow as pa

from maintenance.catalog import CatalogTable
from maintenance.operations.compaction.compact import compact
from maintenance.operations.expiry.expire_snapshots import expire_snapshots
from maintenance.operations.expiry.kept_snapshots import CURRENT, DUE, HeldFiles, kept_snapshots
from maintenance.operations.expiry.rules import RetentionChoice
from maintenance.operations.refs.create_tag import create_tag
from maintenance.operations.refs.delete_tag import delete_tag
from maintenance.operations.refs.reset_consumer import reset_consumer
from tests.tables import create_table

FIELDS = (("id", "INT NOT NULL"), ("v", "STRING"))


def written(folder: Path, commits: int) -> CatalogTable:
    options = {"write-only": "true", "snapshot.num-retained.min": "1"}
    table = create_table(folder, FIELDS, ("id",), options)
    for number in range(commits):
        table.write_arrow(pa.table({"id": pa.array([1], pa.int32()), "v": [f"{number}"]}))
    return table


def test_each_snapshot_says_what_keeps_it(tmp_path: Path) -> None:
    table = written(tmp_path, 5)
    create_tag(table, "month-end", snapshot_id=2)
    reset_consumer(table, "dashboard", next_snapshot=4)
    late = datetime.now(UTC) + timedelta(hours=3)
    actual = kept_snapshots(table, late)
    assert {kept.snapshot.id: kept.kept_by for kept in actual.listed} == {
        5: CURRENT,
        4: "consumer dashboard has yet to read snapshot 4",
        3: DUE,
        2: f"{DUE}; tag month-end",
        1: DUE,
    }
    assert (actual.count, actual.due, actual.tags, actual.consumers) == (5, 3, 1, 1)
    young = kept_snapshots(table, datetime.now(UTC))
    assert young.due == 0
    assert "snapshot.time-retained" in young.listed[-1].kept_by
    assert kept_snapshots(table, late, RetentionChoice(retain_min=4)).due == 1, "what is set goes before the options"


def test_the_bytes_of_old_states_are_those_that_expiry_and_the_tag_free(tmp_path: Path) -> None:
    table = written(tmp_path, 3)
    assert kept_snapshots(table, datetime.now(UTC)).by_snapshots == HeldFiles(), "appending leaves nothing behind"
    compact(None, table, full=True)
    before = {path.name: path.stat().st_size for path in Path(table.location).rglob("data-*")}
    actual = kept_snapshots(table, datetime.now(UTC))
    create_tag(table, "kept", snapshot_id=2)
    expire_snapshots(table.copy({"snapshot.time-retained": "0 s"}))
    middle = {path.name for path in Path(table.location).rglob("data-*")}
    held = kept_snapshots(table, datetime.now(UTC))
    delete_tag(table, "kept")
    after = {path.name for path in Path(table.location).rglob("data-*")}
    freed = sum(size for name, size in before.items() if name not in after)
    assert actual.by_snapshots == HeldFiles(3, freed)
    assert held.by_snapshots == HeldFiles()
    assert held.by_tags == HeldFiles(2, sum(before[name] for name in middle - after))
    assert [(name, tag.snapshot.id) for name, tag in held.tagged] == [("kept", 2)]


def test_of_many_snapshots_the_newest_and_the_oldest_are_listed(tmp_path: Path) -> None:
    actual = kept_snapshots(written(tmp_path, 23), datetime.now(UTC))
    assert [kept.snapshot.id for kept in actual.listed] == [*range(23, 13, -1), *range(10, 0, -1)]
    assert actual.count == 23
