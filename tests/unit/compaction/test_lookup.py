"""Compactions of level 0 that look up what lies above: their changelog, and what becomes of the files."""

from collections.abc import Mapping
from pathlib import Path

import pyarrow as pa
import pytest

from maintenance.catalog import CatalogTable
from maintenance.errors import DataError
from maintenance.format.metadata.data_file import FileSource
from maintenance.merge.engine import MergeEngine
from maintenance.operations.compaction.compact import compact
from maintenance.operations.compaction.produce_changelog import produce_changelog
from maintenance.table.system.view import system_table
from tests.tables import create_table, data_files, files_on_disk, keyed, live_files, state

LOOKUP = {"changelog-producer": "lookup"}
COMPOSITE = (("a", "STRING NOT NULL"), ("b", "DOUBLE NOT NULL"), ("v", "BIGINT"))


def large(table: CatalogTable, count: int = 3000) -> None:
    """Rows whose file stays above those of a few rows."""
    table.write_arrow(keyed({i: f"a long text that takes space {i * 7919 % 10007}" for i in range(count)}))
    produce(table)


def produce(table: CatalogTable) -> Mapping[str, int]:
    report = produce_changelog(None, table)
    assert not report.failed
    return report.changelog_rows


def changes(table: CatalogTable, since: int = 0) -> list[tuple[str, int, str | None]]:
    latest = table.snapshots.latest_id()
    between = {"incremental-between": f"{since},{latest}", "incremental-between-scan-mode": "changelog"}
    rows = system_table(table, "audit_log").to_arrow(options=between)
    return [tuple(row.values()) for row in rows.to_pylist()]


def levels(table: CatalogTable) -> list[tuple[int, int]]:
    return sorted((file.level, file.row_count) for file in live_files(table))


def test_older_records_are_found_on_every_level_above(tmp_path: Path) -> None:
    table = create_table(tmp_path, options=LOOKUP)
    large(table)
    table.write_arrow(keyed({1: "A", 5000: "new"}))
    assert produce(table) == {"+I": 1, "-U": 1, "+U": 1, "-D": 0}
    assert levels(table) == [(4, 2), (5, 3000)]
    table.write_arrow(keyed({1: "B", 2: "B", 5000: None}), ["+I", "-D", "-D"])
    assert produce(table) == {"+I": 0, "-U": 1, "+U": 1, "-D": 2}
    snapshot = table.latest_snapshot()
    assert snapshot is not None
    last = changes(table, snapshot.id - 1)
    assert sorted(last) == [
        ("+U", 1, "B"),
        ("-D", 2, "a long text that takes space 5831"),
        ("-D", 5000, "new"),
        ("-U", 1, "A"),
    ]
    assert len(state(table)) == 2999
    before = changes(table)
    compact(None, table, full=True)
    assert changes(table) == before
    assert levels(table) == [(5, 2999)]
    assert files_on_disk(table) == data_files(table)


def test_a_deletion_above_is_no_former_row(tmp_path: Path) -> None:
    table = create_table(tmp_path, options=LOOKUP)
    large(table)
    table.write_arrow(keyed({1: None}), ["-D"])
    assert produce(table)["-D"] == 1
    table.write_arrow(keyed({1: "again"}))
    assert produce(table) == {"+I": 1, "-U": 0, "+U": 0, "-D": 0}
    assert state(table)[1] == "again"


def test_keys_of_several_columns_are_told_apart(tmp_path: Path) -> None:
    """Every column of a key may be known of another key; the two zeros are two keys, every NaN is one."""
    table = create_table(tmp_path, COMPOSITE, ("a", "b"), LOOKUP)
    names, numbers = [f"n{i:04}" for i in range(60)], [0.0, -0.0, float("nan"), 1.5]
    pairs = [(name, number) for name in names for number in numbers[: 3 if name < "n0030" else 4]]
    table.write_arrow(
        pa.table({"a": [a for a, _ in pairs], "b": [b for _, b in pairs], "v": [2**62 + i for i in range(len(pairs))]})
    )
    produce(table)
    asked = [("n0001", -0.0), ("n0002", 1.5), ("n0003", float("nan")), ("n0040", 1.5), ("zz", 0.0)]
    table.write_arrow(pa.table({"a": [a for a, _ in asked], "b": [b for _, b in asked], "v": [7] * len(asked)}))
    assert produce(table) == {"+I": 2, "-U": 3, "+U": 3, "-D": 0}
    assert sorted({level for level, _ in levels(table)}) == [4, 5]


def test_a_file_of_level_0_is_lifted_where_merging_changes_nothing(tmp_path: Path) -> None:
    options = {**LOOKUP, "target-file-size": "1 kb"}
    table = create_table(tmp_path, options=options)
    large(table)
    table.write_arrow(keyed({5: "new", 6: None}), ["+I", "-D"])
    assert produce(table) == {"+I": 0, "-U": 1, "+U": 1, "-D": 1}
    (lifted,) = [file for file in live_files(table) if file.level < 5]
    assert (lifted.level, lifted.file_source, lifted.delete_row_count) == (4, FileSource.APPEND, 1)
    assert 6 not in state(table)


def test_with_a_sequence_field_a_late_record_changes_nothing(tmp_path: Path) -> None:
    fields = (("id", "INT NOT NULL"), ("v", "STRING"), ("s", "INT"))
    table = create_table(tmp_path, fields, options={**LOOKUP, "sequence.field": "s", "target-file-size": "1 kb"})
    old = keyed({i: f"a long text that takes space {i * 7919 % 10007}" for i in range(3000)})
    table.write_arrow(old.append_column("s", pa.array([5] * 3000, pa.int32())))
    produce(table)
    late = keyed({1: "late", 2: "newer"}).append_column("s", pa.array([4, 6], pa.int32()))
    table.write_arrow(late)
    # The former row of key 1 stays: an update to the same.
    assert produce(table) == {"+I": 0, "-U": 2, "+U": 2, "-D": 0}
    assert {row["id"]: row["v"] for row in table.to_arrow(where="id in (1, 2)").to_pylist()} == {
        1: "a long text that takes space 7919",
        2: "newer",
    }


def test_first_row_keeps_what_is_there_on_any_level(tmp_path: Path) -> None:
    for name, producer in (("db.a", "none"), ("db.b", "lookup")):
        table = create_table(tmp_path, options={"merge-engine": "first-row", "changelog-producer": producer}, name=name)
        table.write_arrow(keyed({i: f"a long text that takes space {i * 7919 % 10007}" for i in range(3000)}))
        compact(None, table)
        table.write_arrow(keyed({1: "no", 5000: "first"}))
        report = compact(None, table)
        assert levels(table) == [(4, 1), (5, 3000)]
        table.write_arrow(keyed({5000: "second", 2: "no", 5001: "first"}))
        compact(None, table)
        actual = state(table)
        assert (len(actual), actual[5000], actual[5001]) == (3002, "first", "first")
        assert report.changelog_rows["+I"] == (1 if producer == "lookup" else 0)


def test_first_row_refuses_a_lone_retraction_when_it_looks_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    table = create_table(tmp_path, options={"merge-engine": "first-row", **LOOKUP})
    with monkeypatch.context() as others:
        # Paimon's writers store what ours refuse.
        others.setattr(MergeEngine, "refuse", lambda *_: None)
        table.write_arrow(keyed({1: None}), ["-D"])
    (group,) = produce_changelog(None, table).groups
    assert group.outcome == "failed"
    assert "first-row does not take" in group.message


def test_input_writes_what_came_in(tmp_path: Path) -> None:
    table = create_table(tmp_path, options={"changelog-producer": "input"})
    table.write_arrow(keyed([(2, "a"), (1, "b"), (2, "a"), (2, "c"), (9, None)]), ["+I", "+I", "-U", "+U", "-D"])
    assert changes(table) == [("+I", 1, "b"), ("+I", 2, "a"), ("-U", 2, "a"), ("+U", 2, "c"), ("-D", 9, None)]
    snapshot = table.latest_snapshot()
    assert snapshot is not None
    assert (snapshot.commit_kind, snapshot.changelog_record_count) == ("APPEND", 5)
    (changelog,) = table.manifests.changelog_entries(snapshot)
    (data,) = live_files(table)
    # One counter for both, the changelog first, as Java names them.
    assert changelog.file.file_name.startswith("changelog-")
    assert changelog.file.file_name.endswith("-0.parquet")
    assert data.file_name.endswith("-1.parquet")
    assert (changelog.file.level, changelog.file.file_source) == (0, FileSource.APPEND)
    assert state(table) == {1: "b", 2: "c"}


def test_input_leaves_no_file_when_writing_fails(tmp_path: Path) -> None:
    table = create_table(tmp_path, options={"changelog-producer": "input", "write-buffer-size": "1 b"})
    before = files_on_disk(table)
    with pytest.raises(DataError):
        table.write_arrow(keyed({1: "a"}), ["+X"])
    table.write_arrow(keyed({1: "a"}))
    assert files_on_disk(table) == data_files(table) != before


def test_large_files_are_looked_up_by_their_keys_first(tmp_path: Path) -> None:
    """Several row groups; keys in the first, in the last and in none; one that a file index rules out."""
    options = {**LOOKUP, "file.block-size": "64 kb", "file-index.bloom-filter.columns": "id"}
    table = create_table(tmp_path, options=options)
    count = 60_000
    large(table, count)
    table.write_arrow(keyed({0: "first", count - 1: "last", count + 5: "new"}))
    assert produce(table) == {"+I": 1, "-U": 2, "+U": 2, "-D": 0}
    assert [row for row in changes(table, 2) if row[0] == "-U"] == [
        ("-U", 0, "a long text that takes space 0"),
        ("-U", count - 1, f"a long text that takes space {(count - 1) * 7919 % 10007}"),
    ]
    table.write_arrow(keyed(dict.fromkeys(range(0, 3000, 7), "many")))
    assert produce(table)["+U"] == 429
    assert max(level for level, _ in levels(table)) == 5
    assert len(state(table)) == count + 1


def test_an_overwrite_carries_no_changelog_and_leaves_none_behind(tmp_path: Path) -> None:
    table = create_table(tmp_path, options={"changelog-producer": "input"})
    table.write_arrow(keyed({1: "a"}))
    table.overwrite_arrow(keyed({2: "b"}))
    snapshot = table.latest_snapshot()
    assert snapshot is not None
    assert (snapshot.commit_kind, snapshot.changelog_manifest_list) == ("OVERWRITE", None)
    assert files_on_disk(table) == data_files(table)
    assert state(table) == {2: "b"}
