"""Files of a format table become a Paimon table that Java reads, too."""

from datetime import datetime
from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pytest

from maintenance.catalog import Schema, open_catalog
from maintenance.errors import ConflictError, OptionError, UnsupportedError
from maintenance.format.metadata.schema import TableSchema
from maintenance.fs.file_io import FileIO
from maintenance.operations.checks.fsck import fsck
from maintenance.operations.databases.migrate_table import migrate_table
from maintenance.table.format_table import FormatTable
from maintenance.types.data_type import DataField
from maintenance.types.type_text import parse_data_type
from tests.java.process import JavaProcess
from tests.tables import get_table

TYPES = {"a": "INT", "s": "STRING", "d": "DECIMAL(10, 2)", "t": "TIMESTAMP(6)", "l": "ARRAY<INT>", "pt": "STRING"}


def source_in(folder: Path, kind: str, *keys: str) -> FormatTable:
    fields = tuple(DataField(i, name, parse_data_type(text)) for i, (name, text) in enumerate(TYPES.items()))
    options = {"type": "format-table", "file.format": kind}
    return FormatTable("db.plain", str(folder), FileIO(), TableSchema(0, fields, 9, keys, (), options))


def rows(first: int, count: int) -> pa.Table:
    numbers = range(first, first + count)
    return pa.table(
        {
            "a": pa.array(numbers, pa.int32()),
            "s": [None if n % 3 == 0 else f"v{n}" for n in numbers],
            "d": pa.array([Decimal(n) / 4 for n in numbers], pa.decimal128(10, 2)),
            "t": pa.array([datetime(2024, 1, 1, 0, 0, n) for n in numbers], pa.timestamp("us")),
            "l": pa.array([[n, None] for n in numbers], pa.list_(pa.int32())),
            "pt": [None if n % 4 == 0 else f"p/{n % 2}" for n in numbers],
        }
    )


def listed(table: pa.Table) -> list[tuple[object, ...]]:
    return sorted((tuple(map(str, row.values())) for row in table.to_pylist()), key=str)


@pytest.mark.parametrize(("kind", "keys"), [("parquet", ("pt",)), ("orc", ())])
def test_migrated_files_are_read_by_java(java: JavaProcess, tmp_path: Path, kind: str, keys: tuple[str, ...]) -> None:
    source = source_in(tmp_path / "plain", kind, *keys)
    source.write_arrow(rows(0, 6))
    source.write_arrow(rows(6, 5))
    catalog = open_catalog({"warehouse": str(tmp_path / "lake")})
    assert migrate_table(source, catalog, "db.t", dry_run=True).files == len(source.data_files())
    report = migrate_table(source, catalog, "db.t", options={"compaction.min.file-num": "2"})
    assert (report.rows, report.snapshot_id) == (11, 1)
    assert report.copied_files == report.files == len(source.data_files())
    table = get_table(str(tmp_path / "lake"), "db.t")
    assert listed(table.to_arrow()) == listed(source.to_arrow())
    theirs = {row[0]: (row[1], row[5]) for row in java.rows(str(tmp_path / "lake"), "db.t")}
    assert theirs == {row["a"]: (row["s"], row["pt"]) for row in source.to_arrow().to_pylist()}
    assert fsck(table.file_io, table.location, deep=True).faults == ()
    again = migrate_table(source, catalog, "db.t")
    assert (again.snapshot_id, again.copied_files, again.rows) == (None, 0, 11)
    java.compact(str(tmp_path / "lake"), "db.t")
    assert listed(get_table(str(tmp_path / "lake"), "db.t").to_arrow()) == listed(source.to_arrow())
    with pytest.raises(ConflictError, match="not by this migration"):
        migrate_table(source, catalog, "db.t")


def test_a_source_goes_only_after_the_commit_and_as_it_was_migrated(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = source_in(tmp_path / "plain", "parquet")
    source.write_arrow(rows(0, 6))
    source.write_arrow(rows(6, 5))
    catalog = open_catalog({"warehouse": str(tmp_path / "lake")})
    dropped: list[str] = []
    monkeypatch.setattr(type(catalog), "drop_table", lambda _, name: dropped.append(name))

    def dies(*_: object, **__: object) -> None:
        raise OSError("killed")

    with monkeypatch.context() as patch:
        patch.setattr("maintenance.operations.databases.migration.CommitAttempts", dies)
        with pytest.raises(OSError, match="killed"):
            migrate_table(source, catalog, "db.t", delete_origin=True)
    assert dropped == []
    source.write_arrow(rows(11, 2))
    listing = FormatTable.data_files
    with monkeypatch.context() as patch:
        calls = iter((listing(source)[:-1], listing(source)))
        patch.setattr(FormatTable, "data_files", lambda _: next(calls))
        with pytest.raises(ConflictError, match="changed since they were migrated"):
            migrate_table(source, catalog, "db.t", delete_origin=True)
    assert dropped == []
    report = migrate_table(source, catalog, "db.t", delete_origin=True)
    assert (report.files, report.rows, report.origin_deleted, dropped) == (3, 13, True, ["db.plain"])
    assert listed(get_table(str(tmp_path / "lake"), "db.t").to_arrow()) == listed(source.to_arrow())


def test_a_source_that_changed_after_its_migration_stays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source = source_in(tmp_path / "plain", "parquet")
    source.write_arrow(rows(0, 6))
    catalog = open_catalog({"warehouse": str(tmp_path / "lake")})
    dropped: list[str] = []
    monkeypatch.setattr(type(catalog), "drop_table", lambda _, name: dropped.append(name))
    migrate_table(source, catalog, "db.t")
    ((name, _),) = source.data_files()
    path = tmp_path / "plain" / name
    before = path.read_bytes()
    path.write_bytes(before[:-20] + bytes(byte ^ 1 for byte in before[-20:-12]) + before[-12:])
    with pytest.raises(ConflictError, match="changed since they were migrated"):
        migrate_table(source, catalog, "db.t", delete_origin=True)
    path.unlink()
    source.write_arrow(rows(0, 7))
    with pytest.raises(ConflictError, match="1 files that were migrated are not in the source any more"):
        migrate_table(source, catalog, "db.t", delete_origin=True)
    assert dropped == []
    assert get_table(str(tmp_path / "lake"), "db.t").to_arrow().num_rows == 6


def test_what_cannot_be_migrated_is_refused(tmp_path: Path) -> None:
    catalog = open_catalog({"warehouse": str(tmp_path / "lake")})
    source = source_in(tmp_path / "plain", "parquet")
    source.write_arrow(rows(0, 2))
    with pytest.raises(UnsupportedError, match="'csv'"):
        migrate_table(source_in(tmp_path / "texts", "csv"), catalog, "db.t")
    with pytest.raises(OptionError, match="the target is the source"):
        migrate_table(source, catalog, "db.plain")
    with pytest.raises(OptionError, match="'bucket' = '4'"):
        migrate_table(source, catalog, "db.t", options={"bucket": "4"})
    catalog.create_database("db", ignore_if_exists=True)
    catalog.create_table("db.other", Schema([("a", "INT")]))
    with pytest.raises(ConflictError, match="another table"):
        migrate_table(source, catalog, "db.other")
    assert catalog.list_tables("db") == ["other"]
