"""rewrite_file_index: adds, changes and drops indexes, commits nothing without need, and hides no row."""

import logging
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from maintenance.catalog import CatalogTable, SchemaChange
from maintenance.commit.commit import commit_compact
from maintenance.commit.identity import CommitIdentity
from maintenance.errors import CorruptFileError, PredicateError
from maintenance.format.file_index.container import parse_container
from maintenance.metastore.schema_change import RemoveOption, RenameColumn, SetOption, UpdateColumnType
from maintenance.operations.checks.explain_scan import explain_scan
from maintenance.operations.compaction.compact import compact
from maintenance.operations.indexes.probe_file_index import probe_file_index
from maintenance.operations.indexes.rewrite_file_index import RewriteFileIndexReport, rewrite_file_index
from maintenance.scan.file_index import index_bytes
from maintenance.types.data_type import parse_type
from maintenance.write.message import CommitMessage
from tests.tables import create_table, get_table, keyed, live, open_warehouse, splits_of

FIELDS = (("day", "INT"), ("city", "STRING"), ("degrees", "INT"), ("tags", "MAP<STRING, INT>"))
ALL_KINDS = {
    "file-index.bitmap.columns": "city,tags[a]",
    "file-index.bsi.columns": "degrees",
    "file-index.range-bitmap.columns": "degrees",
    "file-index.bloom-filter.columns": "city",
    "file-index.bloom-filter.city.items": "20",
}


def days(tmp_path: Path, options: Mapping[str, str] | None = None, **how: list[str]) -> CatalogTable:
    """Five files: the rows of day n have degrees 10 n to 10 n + 9, two at a time in towns of their own."""
    table = create_table(tmp_path, FIELDS, (), options, partition_keys=how.get("partitioned", []))
    for day in range(5):
        table.write_arrow(rows_of(table, day))
    return get_table(tmp_path)


def rows_of(table: CatalogTable, day: int) -> pa.Table:
    maps = [None if row == 3 else [("a", day), ("b", row)] for row in range(10)]
    return pa.table(
        {
            "day": pa.array([day] * 10, pa.int32()),
            "city": pa.array([f"town {day}{row // 2}" if row else None for row in range(10)]),
            "degrees": pa.array([10 * day + row if row != 5 else None for row in range(10)], pa.int32()),
            "tags": pa.array(maps, pa.map_(pa.string(), pa.int32())),
        }
    )


def altered(table: CatalogTable, *changes: SchemaChange) -> CatalogTable:
    location = Path(table.location)
    catalog = open_warehouse(location.parent.parent)
    catalog.alter_table("db.t", changes)
    return get_table(location.parent.parent)


def declare(table: CatalogTable, options: Mapping[str, str]) -> CatalogTable:
    return altered(table, *(SetOption(key, value) for key, value in options.items()))


def indexes(table: CatalogTable) -> list[dict[str, set[str]]]:
    """Columns and kinds of each file's index."""
    collected = []
    for entry in live(table):
        path = table.paths.data_file(entry.partition, entry.bucket, entry.file)
        container = index_bytes(table.file_io, path, entry.file)
        parsed = {} if container is None else parse_container(container, path)
        collected.append({column: set(kinds) for column, kinds in parsed.items()})
    return collected


def rewritten(table: CatalogTable, **how: Any) -> RewriteFileIndexReport:
    report = rewrite_file_index(None, table, **how)
    if not report.dry_run:
        assert rewrite_file_index(None, table).snapshot_ids == ()
    return report


def degrees(table: CatalogTable, where: str) -> list[int | None]:
    rows = table.to_arrow(["degrees"], where).column("degrees").to_pylist()
    assert rows == table.to_arrow(["degrees"], where, {"file-index.read.enabled": "false"})["degrees"].to_pylist()
    return rows


def test_adds_all_kinds_and_probes_them(tmp_path: Path) -> None:
    table = declare(days(tmp_path), ALL_KINDS)
    dry = rewritten(table, dry_run=True)
    assert (dry.written_files, dry.read_files, dry.snapshot_ids) == (5, 5, ())
    report = rewritten(table)
    assert (report.written_files, report.skipped_files, report.built_indexes, report.read_files) == (5, 0, 25, 5)
    assert len(report.snapshot_ids) == 1
    assert report.probe is not None
    assert (report.probe.missed, report.probe_values, report.probe.files) == ((), 6, 30)
    assert report.probe.skipped_by_stats == 24
    kinds = {"city": {"bitmap", "bloom-filter"}, "tags[a]": {"bitmap"}, "degrees": {"bsi", "range-bitmap"}}
    assert indexes(table) == [kinds] * 5
    assert degrees(table, "city = 'town 23'") == [26, 27]
    assert degrees(table, "degrees > 46 OR degrees IS NULL") == [None, None, None, None, None, 47, 48, 49]


def test_a_second_run_reads_no_data_file(tmp_path: Path) -> None:
    table = declare(days(tmp_path), ALL_KINDS)
    rewrite_file_index(None, table)
    report = rewrite_file_index(None, table)
    assert (report.written_files, report.skipped_files, report.read_files, report.snapshot_ids) == (0, 5, 0, ())
    assert report.probe is not None
    assert report.probe.values == 6
    again = rewrite_file_index(None, table, rebuild=True)
    assert (again.written_files, again.read_files, again.snapshot_ids) == (0, 5, ())


def test_changed_indexes_are_built_again_and_others_dropped(tmp_path: Path) -> None:
    table = declare(days(tmp_path), ALL_KINDS)
    rewrite_file_index(None, table)
    table = declare(table, {"file-index.bloom-filter.city.items": "500", "file-index.bitmap.city.version": "1"})
    report = rewritten(table)
    assert (report.written_files, report.built_indexes, report.dropped_indexes) == (5, 10, 0)
    table = altered(table, RemoveOption("file-index.range-bitmap.columns"), RemoveOption("file-index.bitmap.columns"),
                    RemoveOption("file-index.bitmap.city.version"))  # fmt: skip
    report = rewritten(table)
    assert (report.written_files, report.read_files, report.dropped_indexes) == (5, 0, 15)
    assert indexes(table) == [{"city": {"bloom-filter"}, "degrees": {"bsi"}}] * 5
    gone = [key for key in table.options if key.startswith("file-index.")]
    table = altered(table, *map(RemoveOption, gone))
    assert rewritten(table).dropped_indexes == 10
    assert all(e.file.embedded_index is None and not e.file.extra_files for e in live(table))


def test_only_files_of_the_chosen_partitions_are_written(tmp_path: Path) -> None:
    table = declare(days(tmp_path, partitioned=["day"]), {"file-index.bsi.columns": "degrees"})
    report = rewrite_file_index(None, table, where="day IN (1, 3)")
    assert (report.written_files, report.skipped_files) == (2, 0)
    with pytest.raises(PredicateError, match="not partition columns"):
        rewrite_file_index(None, table, where="city = 'a'")
    assert rewritten(table).written_files == 3


def test_indexes_move_between_manifest_and_file(tmp_path: Path) -> None:
    table = declare(days(tmp_path), {"file-index.bsi.columns": "degrees", "file-index.in-manifest-threshold": "1 b"})
    rewritten(table)
    assert [e.file.extra_files for e in live(table)] == [(f"{e.file.file_name}.index",) for e in live(table)]
    table = declare(table, {"file-index.in-manifest-threshold": "1 mb"})
    report = rewritten(table)
    assert (report.written_files, report.read_files) == (5, 0)
    assert all(e.file.embedded_index and not e.file.extra_files for e in live(table))
    table = declare(table, {"file-index.in-manifest-threshold": "1 b"})
    rewritten(table)
    # The name of the first is taken still: an older snapshot reads it.
    assert [e.file.extra_files for e in live(table)] == [(f"{e.file.file_name}-1.index",) for e in live(table)]


def test_a_renamed_and_retyped_column_keeps_its_index_and_a_new_one_of_its_name_has_none(tmp_path: Path) -> None:
    table = declare(days(tmp_path), {"file-index.bitmap.columns": "degrees"})
    rewrite_file_index(None, table)
    table = altered(
        table, RenameColumn(("degrees",), "heat"), UpdateColumnType(("heat",), parse_type("BIGINT")),
        RenameColumn(("day",), "degrees"),
    )  # fmt: skip
    assert table.options["file-index.bitmap.columns"] == "heat"
    assert explain_scan(table, "heat IN (7, 27)").rows == 2
    assert explain_scan(table, "degrees IN (2)").rows == 10
    assert table.to_arrow(["heat"], "heat = 27").column("heat").to_pylist() == [27]
    assert table.to_arrow(["heat"], "degrees = 2").num_rows == 10
    rewritten(table)
    assert indexes(table) == [{"degrees": {"bitmap"}}] * 5
    assert table.to_arrow(["heat"], "heat = 27").column("heat").to_pylist() == [27]


def test_work_is_committed_in_parts_and_goes_on(tmp_path: Path) -> None:
    table = declare(days(tmp_path), {"file-index.bsi.columns": "degrees"})
    said: list[str] = []

    def stop(text: str) -> None:
        said.append(text)
        if len(said) == 3:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        rewrite_file_index(None, table, files_per_commit=2, progress=stop)
    assert sum(map(bool, indexes(table))) == 4
    report = rewritten(table)
    assert (report.written_files, report.skipped_files, report.read_files) == (1, 4, 1)


def test_a_compaction_meanwhile_wins(tmp_path: Path) -> None:
    table = create_table(tmp_path, options={"bucket": "1", "write-only": "true"})
    for start in range(3):
        table.write_arrow(keyed(dict.fromkeys(range(start, 10), f"{start}")))
    declared = declare(table, {"file-index.bitmap.columns": "v"})

    def compacted_meanwhile(_: str) -> None:
        if len(live(table)) > 1:
            compact(None, table, full=True)

    report = rewrite_file_index(None, declared, progress=compacted_meanwhile)
    assert report.conflicts == 3
    assert [e.file.level > 0 for e in live(declared)] == [True]
    assert indexes(declared) == [{"v": {"bitmap"}}]
    assert declared.to_arrow(where="v = '0'").num_rows == 1


def test_damaged_indexes_are_ignored_then_built_anew(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    table = declare(days(tmp_path), {"file-index.bsi.columns": "degrees", "file-index.in-manifest-threshold": "1 b"})
    rewrite_file_index(None, table)
    where = "degrees IN (3, 13, 23, 33, 43)"
    assert explain_scan(table, where).rows == 5
    paths = sorted(Path(table.location).rglob("*.index"))
    paths[0].write_bytes(b"damaged")
    paths[1].write_bytes(paths[1].read_bytes()[:-5])
    paths[2].unlink()
    with caplog.at_level(logging.WARNING):
        assert degrees(table, where) == [3, 13, 23, 33, 43]
        assert explain_scan(table, where).rows == 32
    for path in paths[:3]:
        assert path.name.removesuffix(".index") in caplog.text
    assert rewritten(table).written_files == 3
    assert explain_scan(table, where).rows == 5


def test_a_probe_tells_of_an_index_that_hides_rows(tmp_path: Path) -> None:
    table = declare(days(tmp_path), {"file-index.bitmap.columns": "city"})
    rewrite_file_index(None, table)
    entry = live(table)[0]
    other = live(table)[1].file.embedded_index
    wrong = replace(entry.file, embedded_index=other)
    group = (entry.partition, entry.bucket, entry.total_buckets)
    message = CommitMessage(*group, compact_before=(entry.file,), compact_after=(wrong,))
    commit_compact(table.commit_target(), [message], CommitIdentity("the tests"))
    assert any("town" in text for text in probe_file_index(table, files=5).missed)
    with pytest.raises(CorruptFileError, match="hide rows"):
        rewrite_file_index(None, table)


def test_a_scan_is_explained_by_the_indexes_that_were_written(tmp_path: Path) -> None:
    table = declare(days(tmp_path, partitioned=["day"]), {"file-index.bitmap.columns": "city"})
    rewrite_file_index(None, table, where="day > 0")
    explanation = explain_scan(table, "day < 4 AND city IN ('town 03', 'town 125', 'town 23') AND degrees < 28")
    assert explanation.kept == 2
    assert explanation.skipped == {"partition": 1, "statistics": 1, "file index": 1}
    assert explanation.rows == 12
    text = str(explanation)
    assert "2 of 5 files are read" in text
    assert "it has no file index" in text
    assert "2 of 10 rows may match by bitmap of city" in text
    assert "no row matches by bitmap of city" in text
    plan, _ = table.plan(None, table.predicate(explanation.where))
    read = {file.file_name for split in splits_of(plan) for file in split.files}
    assert read == {file.file_name for file in explanation.files if file.kept}
