"""BLOB columns: files of blobs that either side writes and the other one reads, kept by what changes the rows."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pyarrow as pa
import pytest

from maintenance.catalog import CatalogTable, Schema, open_catalog
from maintenance.errors import DataError, MissingFileError, OptionError, SchemaError
from maintenance.format.blob_descriptor import BlobDescriptor
from maintenance.operations.checks.fsck import fsck
from maintenance.operations.compaction.compact import compact
from maintenance.operations.expiry.expire_snapshots import expire_snapshots
from maintenance.operations.orphans.remove_orphan_files import remove_orphan_files
from tests.java.process import JavaProcess
from tests.tables import create_table, files_on_disk, get_table, live_files

FIELDS = [("k", "INT"), ("b", "BLOB"), ("v", "STRING"), ("c", "BLOB")]
EVOLVING = {"row-tracking.enabled": "true", "data-evolution.enabled": "true", "bucket": "-1"}
ROLLING = {"blob.target-file-size": "100 b", "target-file-row-num": "4", "compaction.min.file-num": "2"}
FUTURE = datetime(2099, 1, 1, tzinfo=UTC)
Row = tuple[int, bytes | None, str, bytes]


def row(key: int) -> Row:
    return key, None if key % 3 == 0 else bytes([key]) * key * 7, str(key), b"x" * key


def arrow_of(keys: range) -> pa.Table:
    keyed, blobs, texts, others = zip(*map(row, keys), strict=True)
    return pa.table(
        {"k": pa.array(keyed, pa.int32()), "b": blobs, "v": texts, "c": pa.array(others, pa.large_binary())}
    )


def assert_we_see(table: CatalogTable, rows: list[Row]) -> None:
    actual = get_table(table.location.rsplit("/db.db", 1)[0]).to_arrow(["k", "b", "v", "c"])
    assert sorted(tuple(r.values()) for r in actual.to_pylist()) == rows
    assert fsck(table.file_io, table.location, deep=True).faults == ()


def assert_both_see(java: JavaProcess, table: CatalogTable, rows: list[Row]) -> None:
    assert_we_see(table, rows)
    assert sorted(java.rows(table.location.rsplit("/db.db", 1)[0], "db.t")) == rows


def test_either_side_reads_what_the_other_writes(java: JavaProcess, tmp_path: Path) -> None:
    table = create_table(tmp_path, FIELDS, (), {**EVOLVING, **ROLLING})
    table.write_arrow(arrow_of(range(10)))
    java.write(str(tmp_path), "db.t", [row(key) for key in range(10, 13)])
    table.write_arrow(arrow_of(range(13, 15)))
    assert_both_see(java, table, [row(key) for key in range(15)])
    blobs = [file for file in live_files(table) if file.file_name.endswith(".blob")]
    assert len({file.write_cols for file in blobs}) == 2
    assert len(blobs) > 8
    snapshot = table.latest_snapshot()
    assert snapshot is not None
    assert snapshot.next_row_id == 15


def test_deleted_rows_of_blobs(tmp_path: Path) -> None:
    """Java 1.4 has no deletion vectors beside data evolution."""
    table = create_table(tmp_path, FIELDS, (), {**EVOLVING, **ROLLING, "deletion-vectors.enabled": "true"})
    table.write_arrow(arrow_of(range(10)))
    table.delete("k = 5 OR k = 7")
    compact(None, get_table(tmp_path), full=True)
    assert_we_see(table, [row(key) for key in range(10) if key not in (5, 7)])


def test_rows_change_and_their_blobs_stay(java: JavaProcess, tmp_path: Path) -> None:
    table = create_table(tmp_path, FIELDS, (), {**EVOLVING, **ROLLING})
    table.write_arrow(arrow_of(range(10)))
    table.update({"v": "'new'"}, "k = 4")
    rows = [row(key) for key in range(10)]
    rows[4] = (4, rows[4][1], "new", rows[4][3])
    compact(None, get_table(tmp_path), full=True)
    # The other columns become one file; blobs stay where they are.
    assert len([file for file in live_files(get_table(tmp_path)) if not file.file_name.endswith(".blob")]) == 1
    assert_both_see(java, table, rows)
    before = files_on_disk(table)
    remove_orphan_files(None, get_table(tmp_path), minimum_age=timedelta(0))
    assert files_on_disk(table) == before
    table.write_arrow(arrow_of(range(20, 22)))
    table.overwrite_arrow(arrow_of(range(30, 33)))
    expire_snapshots(get_table(tmp_path), retain_max=1, retain_min=1, older_than=FUTURE)
    names = {path.rsplit("/", 1)[-1] for path in files_on_disk(table)}
    assert {name for name in names if name.endswith(".blob")} == {
        file.file_name for file in live_files(get_table(tmp_path)) if file.file_name.endswith(".blob")
    }
    assert_both_see(java, table, [row(key) for key in range(30, 33)])


def test_tables_and_values_that_blobs_cannot_have_are_refused(tmp_path: Path) -> None:
    catalog = open_catalog({"warehouse": str(tmp_path)})
    catalog.create_database("db")
    for schema, match in (
        (Schema(FIELDS), "row-tracking.enabled"),
        (Schema(FIELDS[1::2], options=EVOLVING), "all columns are BLOB"),
        (Schema(FIELDS, partition_keys=["b"], options=EVOLVING), "partition"),
    ):
        with pytest.raises(SchemaError, match=match):
            catalog.create_table("db.t", schema)
    catalog.create_table("db.t", Schema(FIELDS, [], [], EVOLVING))
    table = get_table(tmp_path)
    table.write_arrow(arrow_of(range(2)))
    with pytest.raises(DataError):
        table.write_arrow(pa.table({"k": [1], "b": [1.5]}))
    assert table.to_arrow().num_rows == 2


def test_blobs_outside_the_table(java: JavaProcess, tmp_path: Path) -> None:
    """Java 1.4 writes them, too; 2.0 reads what they are then, descriptors."""
    outside = tmp_path / "outside"
    options = {
        **EVOLVING, **ROLLING, "blob-descriptor-field": "b", "blob-external-storage-field": "b",
        "blob-external-storage-path": f"file:{outside}",
    }  # fmt: skip
    table = create_table(tmp_path, FIELDS, (), options)
    table.write_arrow(arrow_of(range(10)))
    java.write(str(tmp_path), "db.t", [row(key) for key in range(10, 13)])
    rows = [row(key) for key in range(13)]
    assert_both_see(java, table, rows)
    before = sorted(outside.rglob("*.blob"))
    assert len(before) >= 4
    # Rows that are written again keep the blobs they have.
    table.update({"v": "'new'"}, "k = 4")
    rows[4] = (4, rows[4][1], "new", rows[4][3])
    compact(None, get_table(tmp_path), full=True)
    remove_orphan_files(None, get_table(tmp_path), minimum_age=timedelta(0))
    assert sorted(outside.rglob("*.blob")) == before
    assert_both_see(java, table, rows)
    # Of a descriptor that leads elsewhere the blob is copied.
    other = tmp_path / "other.bin"
    other.write_bytes(b"0123456789")
    described = BlobDescriptor(str(other), 2, 3).serialize()
    new = pa.table({"k": pa.array([20], pa.int32()), "b": pa.array([described], pa.large_binary())})
    get_table(tmp_path).write_arrow(new)
    other.unlink()
    assert get_table(tmp_path).to_arrow(["b"], where="k = 20").column("b").to_pylist() == [b"234"]
    count = len(list(outside.rglob("*.blob")))
    lost = pa.table({"k": pa.array([21, 22], pa.int32()), "b": pa.array([b"x" * 200, described], pa.large_binary())})
    with pytest.raises(MissingFileError):
        get_table(tmp_path).write_arrow(lost)
    assert len(list(outside.rglob("*.blob"))) == count


def test_what_blobs_outside_the_table_need(tmp_path: Path) -> None:
    external = {**EVOLVING, "blob-external-storage-field": "b"}
    path = {"blob-external-storage-path": "relative"}
    described = {"blob-descriptor-field": "b"}
    for options, match in (
        (external, "and not in 'blob-descriptor-field'"),
        (external | described, "'blob-external-storage-path' is not"),
        (external | described | path, "'relative' has no scheme"),
    ):
        with pytest.raises(OptionError, match=match):
            create_table(tmp_path, FIELDS, (), options)
