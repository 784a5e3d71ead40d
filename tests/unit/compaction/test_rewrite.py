"""Compactions of real buckets: where retractions go, what files come out, what the changelog says."""

from pathlib import Path

import pytest

from maintenance.catalog import CatalogTable
from maintenance.errors import DataError
from maintenance.format.metadata.data_file import FileSource
from maintenance.operations.compaction.compact import compact
from maintenance.operations.compaction.produce_changelog import produce_changelog
from tests.tables import create_table, data_files, files_on_disk, keyed, live, live_files, state


def levels(table: CatalogTable) -> list[tuple[int, int]]:
    return sorted((file.level, file.row_count) for file in live_files(table))


def delete(table: CatalogTable, *keys: int) -> None:
    table.write_arrow(keyed([(key, None) for key in keys]), ["-D"] * len(keys))


def test_retractions_vanish_at_the_highest_level(tmp_path: Path) -> None:
    table = create_table(tmp_path)
    table.write_arrow(keyed({1: "a", 2: "b"}))
    delete(table, 1)
    compact(None, table, full=True)
    assert levels(table) == [(5, 1)]
    assert state(table) == {2: "b"}
    delete(table, 2, 3)
    compact(None, table, full=True)
    assert levels(table) == []
    assert state(table) == {}


def test_retractions_stay_above_older_records(tmp_path: Path) -> None:
    """Five tiny runs over a large one merge below it: what they delete must stay deleted."""
    options = {"target-file-size": "1 kb", "compaction.max-size-amplification-percent": "100000"}
    table = create_table(tmp_path, options=options)
    table.write_arrow(keyed({i: f"a long text that takes space {i * 7919 % 10007}" for i in range(20_000)}))
    compact(None, table, full=True)
    for _ in range(4):
        delete(table, 7, 8)
    table.write_arrow(keyed({8: "again"}))
    report = compact(None, table)
    assert report.count("committed") == 1
    (lower,) = {level for level, _ in levels(table)} - {5}
    assert 0 < lower < 5
    assert [file.delete_row_count for file in live_files(table) if file.level == lower] == [1]
    actual = state(table)
    assert 7 not in actual
    assert actual[8] == "again"
    assert len(actual) == 19_999
    compact(None, table, full=True)
    assert sum(file.delete_row_count or 0 for file in live_files(table)) == 0
    assert state(table) == actual


def test_sequence_numbers_and_source_of_what_was_written(tmp_path: Path) -> None:
    table = create_table(tmp_path)
    table.write_arrow(keyed({1: "a", 2: "b", 3: "c"}))
    table.write_arrow(keyed({2: "d"}))
    compact(None, table, full=True)
    (file,) = live_files(table)
    assert (file.min_sequence_number, file.max_sequence_number) == (0, 3)
    assert file.file_source == FileSource.COMPACT
    assert file.level == 5
    table.write_arrow(keyed({1: "e"}))
    assert min(f.min_sequence_number for f in live_files(table) if f.level == 0) == 4


def test_a_lifted_file_stays_as_it_is(tmp_path: Path) -> None:
    table = create_table(tmp_path)
    table.write_arrow(keyed({1: "a"}))
    (before,) = live_files(table)
    compact(None, table, full=True)
    (after,) = live_files(table)
    assert after.level == 5
    assert (after.file_name, after.file_source, after.creation_time) == (
        before.file_name,
        FileSource.APPEND,
        before.creation_time,
    )


def test_output_rolls_at_the_target_size(tmp_path: Path) -> None:
    table = create_table(tmp_path, options={"target-file-size": "20 kb"})
    for offset in (0, 1):
        rows = {i: f"{i * 7919 % 1_000_003} text of its own" for i in range(offset, 40_000, 2)}
        table.write_arrow(keyed(rows))
    compact(None, table, full=True)
    files = live_files(table)
    assert len(files) > 3
    assert {file.level for file in files} == {5}
    assert sum(file.row_count for file in files) == 40_000
    assert table.to_arrow(columns=["id"]).column("id").to_pylist() == list(range(40_000))


def test_changelog_files_lie_beside_and_say_what_changed(tmp_path: Path) -> None:
    table = create_table(tmp_path, options={"changelog-producer": "full-compaction"})
    table.write_arrow(keyed({1: "a", 2: "b", 3: "c"}))
    first = produce_changelog(None, table)
    assert first.changelog_rows == {"+I": 3, "-U": 0, "+U": 0, "-D": 0}
    table.write_arrow(keyed({2: "B", 4: "d"}))
    delete(table, 1, 99)
    second = produce_changelog(None, table)
    assert second.changelog_rows == {"+I": 1, "-U": 1, "+U": 1, "-D": 1}
    snapshot = table.latest_snapshot()
    assert snapshot is not None
    assert snapshot.changelog_record_count == 4
    (entry,) = table.manifests.changelog_entries(snapshot)
    assert entry.file.file_name.startswith("changelog-")
    assert entry.file.file_source == FileSource.APPEND
    assert produce_changelog(None, table).snapshot_ids == ()
    assert files_on_disk(table) == data_files(table)


def test_equal_rows_are_no_change_if_the_table_says_so(tmp_path: Path) -> None:
    for name, option, expected in (("db.a", "false", 1), ("db.b", "true", 0)):
        options = {"changelog-producer": "full-compaction", "changelog-producer.row-deduplicate": option}
        table = create_table(tmp_path, options=options, name=name)
        table.write_arrow(keyed({1: "a"}))
        produce_changelog(None, table)
        table.write_arrow(keyed({1: "a"}))
        assert produce_changelog(None, table).changelog_rows["+U"] == expected


def test_a_failing_rewrite_leaves_no_file(tmp_path: Path) -> None:
    table = create_table(tmp_path)
    table.write_arrow(keyed({1: "a"}))
    table.write_arrow(keyed({1: "b"}))
    entry = live(table)[0]
    victim = Path(table.paths.data_file(entry.partition, entry.bucket, entry.file))
    content = victim.read_bytes()
    victim.write_bytes(b"not parquet")
    before = files_on_disk(table)
    report = compact(None, table, full=True)
    assert [group.outcome for group in report.groups] == ["failed"]
    assert "bytes, found 11" in report.groups[0].message
    assert report.snapshot_ids == ()
    assert files_on_disk(table) == before
    victim.write_bytes(content)
    assert compact(None, table, full=True).count("committed") == 1
    assert state(table) == {1: "b"}


def test_dry_run_changes_nothing(tmp_path: Path) -> None:
    table = create_table(tmp_path, options={"bucket": "2"})
    for i in range(5):
        table.write_arrow(keyed({key: str(i) for key in range(10)}))
    report = compact(None, table, dry_run=True)
    assert report.count("planned") == 2
    assert report.before == report.after
    assert report.compacted_through is None
    assert table.snapshots.list_ids() == [1, 2, 3, 4, 5]


def test_only_the_partitions_asked_for(tmp_path: Path) -> None:
    fields = [("p", "STRING NOT NULL"), ("id", "INT NOT NULL"), ("v", "STRING")]
    table = create_table(tmp_path, fields, ("p", "id"), partition_keys=["p"])
    for v in "ab":
        for p in "xy":
            table.write_arrow(keyed({1: v}).append_column("p", [[p]]))
    report = compact(None, table, full=True, partitions=[{"p": "x"}])
    assert [(group.partition, group.outcome) for group in report.groups] == [("p=x", "committed")]
    with pytest.raises(DataError):
        table.write_arrow(keyed({1: "no partition"}))


def test_changelog_of_a_run_that_joins_levels(tmp_path: Path) -> None:
    """A new file behind the highest level's file shares its run: it is a change all the same."""
    options = {"changelog-producer": "full-compaction"}
    table = create_table(tmp_path, options=options)
    table.write_arrow(keyed({0: "a"}))
    produce_changelog(None, table)
    table.write_arrow(keyed({0: "b", 11: "b"}))
    table.write_arrow(keyed({11: "c"}))
    assert produce_changelog(None, table).changelog_rows == {"+I": 1, "-U": 1, "+U": 1, "-D": 0}
    assert state(table) == {0: "b", 11: "c"}


def test_files_written_do_not_reach_across_a_lifted_one(tmp_path: Path) -> None:
    """Small files on both sides of a large one are rewritten, the large one is lifted: no output may span it."""
    table = create_table(tmp_path, options={"target-file-size": "16 kb"})
    table.write_arrow(keyed({key: f"{key * 7919 % 104729:08d}-{key * 104723}" for key in range(1000, 4000)}))
    for keys in ((1, 2), (1, 3), (9001, 9002), (9001, 9003)):
        table.write_arrow(keyed(dict.fromkeys(keys, "small")))
    before = state(table)
    report = compact(None, table, full=True)
    assert report.count("committed") == 1, report.groups
    assert state(table) == before
    ranges = sorted((file.min_key, file.max_key) for file in live_files(table))
    lifted = [file for file in live_files(table) if file.file_source == FileSource.APPEND]
    assert lifted
    assert len(ranges) >= len(lifted) + 2
