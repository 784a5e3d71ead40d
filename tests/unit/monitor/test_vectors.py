"""Deletions lost between two snapshots are told, with the one who lost them, also where the state looks whole."""

from pathlib import Path

import pyarrow as pa
import pytest

from maintenance.catalog import CatalogTable
from maintenance.format.metadata.index_manifest import IndexManifestEntry
from maintenance.monitor.judgement import Judgement
from maintenance.monitor.vectors import deletion_vectors_intact
from maintenance.operations.compaction.compact import compact
from maintenance.operations.refs.rollback_to import rollback_to
from maintenance.operations.rows.delete import delete
from tests.deletion_vectors import ENABLED, set_index
from tests.foreign_commits import as_foreign, drop
from tests.tables import create_table, keyed, state


def check(table: CatalogTable, *, limit: int = 100) -> Judgement:
    return deletion_vectors_intact(table, limit=limit)


def index(table: CatalogTable) -> list[IndexManifestEntry]:
    snapshot = table.latest_snapshot()
    assert snapshot is not None
    return table.manifests.read_index(snapshot)


def keyed_table(folder: Path) -> CatalogTable:
    """In snapshot 4 a vector deletes ten rows of a file."""
    table = create_table(folder, options={**ENABLED, "num-sorted-run.compaction-trigger": "9"})
    table.write_arrow(keyed(dict.fromkeys(range(100), "a")))
    compact(None, table, full=True)
    table.write_arrow(keyed(dict.fromkeys(range(10), "b")))
    compact(None, table)
    assert [entry.row_count for entry in index(table)] == [1]
    return table


def foreign_index(table: CatalogTable, entries: list[IndexManifestEntry]) -> int:
    """`flink` writes a row and publishes an index state of its own. Returns the snapshot's id."""
    (snapshot_id,) = table.write_arrow(keyed({50: "c"}))
    as_foreign(table, snapshot_id, "flink")
    set_index(table, entries)
    return snapshot_id


def test_sound_tables_pass_whatever_was_done_to_them(tmp_path: Path) -> None:
    table = keyed_table(tmp_path)
    for version in "cde":
        table.write_arrow(keyed(dict.fromkeys(range(20, 25), version)))
        compact(None, table, full=version == "d")
    delete(None, table, "id = 3")
    compact(None, table)
    table.overwrite_arrow(keyed({1: "x"}))
    table.write_arrow(keyed({1: "y"}))
    compact(None, table)
    assert check(table).passed
    assert check(table).details["damaged buckets"] == 0
    append = create_table(tmp_path, primary_keys=(), options=ENABLED, name="db.append")
    for start in range(0, 60, 20):
        append.write_arrow(keyed(dict.fromkeys(range(start, start + 20), "a")))
    delete(None, append, "id IN (3, 30)")
    delete(None, append, "id IN (4, 31, 50)")
    compact(None, append, full=True)
    delete(None, append, "id = 5")
    assert check(append).passed
    assert check(create_table(tmp_path, name="db.plain")).passed
    assert check(create_table(tmp_path, options=ENABLED, name="db.empty")).passed


def test_a_vector_of_a_dead_file_is_told_at_once(tmp_path: Path) -> None:
    table = keyed_table(tmp_path)
    stale = index(table)
    compact(None, table, full=True)
    guilty = foreign_index(table, stale)
    report = check(table)
    assert not report.passed
    assert f"snapshot {guilty} by 'flink' has a deletion vector of data-" in report.summary
    assert "in bucket 0 deleted rows are back" in report.summary
    assert (report.details["commit user"], report.details["damaged buckets"]) == ("flink", 1)
    assert f"Roll back to a state before snapshot {guilty}" in report.fix
    rollback_to(table, snapshot_id=guilty - 1)
    assert check(table).passed
    assert len(state(table)) == 100


def test_it_is_told_although_the_next_commit_hides_it(tmp_path: Path) -> None:
    table = keyed_table(tmp_path)
    stale = index(table)
    compact(None, table, full=True)
    sound = index(table)
    guilty = foreign_index(table, stale)
    foreign_index(table, sound)
    assert f"snapshot {guilty} by 'flink'" in check(table).summary


def test_a_vector_that_loses_rows_of_a_live_file_is_told(tmp_path: Path) -> None:
    """The other writer has never known of our vectors: the state names live files alone, and reads return 110 rows."""
    table = keyed_table(tmp_path)
    guilty = foreign_index(table, [])
    assert len(table.to_arrow()) > 100
    report = check(table)
    assert not report.passed
    assert f"snapshot {guilty} by 'flink' drops deletions of rows in data-" in report.summary
    compact(None, table, full=True)
    assert not check(table).passed, "the compaction has kept the rows for good"


def test_damage_older_than_the_history_looked_at(tmp_path: Path) -> None:
    table = keyed_table(tmp_path)
    stale = index(table)
    compact(None, table, full=True)
    guilty = foreign_index(table, stale)
    for number in range(3):
        table.write_arrow(keyed({number: "d"}))
    report = check(table, limit=2)
    assert f"snapshot {guilty} by 'flink'" in report.summary
    assert report.details["damaged buckets"] == 1
    drop(table, range(1, guilty))
    assert f"snapshot {guilty} by 'flink'" in check(table, limit=2).summary


@pytest.mark.parametrize("dead", [True, False])
def test_an_overwrite_ends_it(tmp_path: Path, dead: bool) -> None:
    table = keyed_table(tmp_path)
    stale = index(table)
    if dead:
        compact(None, table, full=True)
    foreign_index(table, stale if dead else [])
    assert not check(table).passed
    table.overwrite_arrow(keyed(dict.fromkeys(range(100), "right")))
    assert check(table).passed
    rows = pa.table({"id": pa.array([1], pa.int32()), "v": ["new"]})
    table.write_arrow(rows)
    compact(None, table)
    assert check(table).passed
    assert len(state(table)) == 100
