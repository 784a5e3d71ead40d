"""Data files as they are written: rolling, row groups, what the manifest says of them, leftovers."""

import math
import uuid
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from maintenance.catalog import CatalogTable
from maintenance.errors import DataError, OptionError
from maintenance.format.metadata.column_stats import stats_values
from maintenance.format.metadata.data_file import DataFileMeta, FileSource
from maintenance.format.rows.binary_row import EMPTY_ROW, parse_row
from maintenance.fs import local_disk
from maintenance.write import rolling
from maintenance.write.context import FileNames
from maintenance.write.file_index import index_names
from maintenance.write.rolling import FilePlace, RollingFileWriter
from tests.tables import create_table, files_on_disk, keyed, live_files, state

APPEND = [("a", "INT"), ("b", "STRING")]


def writer_of(table: CatalogTable, **place: Any) -> RollingFileWriter:
    context = table.write_context()
    return RollingFileWriter(context, FilePlace(EMPTY_ROW, 0, **place), FileNames.of(context))


def rows_of(count: int, start: int = 0) -> pa.Table:
    """Rows that do not compress well."""
    numbers = np.arange(start, start + count)
    texts = pa.array((numbers * 7919 % 1_000_003).astype(str)).cast(pa.string())
    return pa.table({"a": pa.array(numbers.astype(np.int32)), "b": texts})


def parquet_of(table: CatalogTable, file: DataFileMeta) -> pq.ParquetFile:
    return pq.ParquetFile(table.paths.data_file(EMPTY_ROW, 0, file))


def test_files_are_closed_at_the_target_size(tmp_path: Path) -> None:
    table = create_table(tmp_path, APPEND, (), {"target-file-size": "60 kb"})
    writer = writer_of(table)
    for start in range(0, 60_000, 1000):
        writer.write(rows_of(1000, start))
    files = writer.close()
    assert len(files) > 3
    assert all(60 << 10 <= file.file_size < 120 << 10 for file in files[:-1])
    assert [file.file_size for file in files] == [
        Path(table.paths.data_file(EMPTY_ROW, 0, file)).stat().st_size for file in files
    ]
    read = pa.concat_tables([parquet_of(table, file).read() for file in files])
    assert read.column("a").to_pylist() == list(range(60_000))
    assert [file.min_sequence_number for file in files][1:] == [file.max_sequence_number + 1 for file in files][:-1]
    assert sum(file.row_count for file in files) == 60_000


def test_names_share_a_uuid_and_a_counter(tmp_path: Path) -> None:
    table = create_table(tmp_path, APPEND, (), {"data-file.prefix": "d-", "changelog-file.prefix": "c-"})
    names = FileNames.of(table.write_context())
    first, second, third = (names.next("parquet", changelog=kind) for kind in (False, True, False))
    assert (first[:2], second[:2]) == ("d-", "c-")
    assert first[2:-10] == second[2:-10]
    assert [name[-10:] for name in (first, second, third)] == ["-0.parquet", "-1.parquet", "-2.parquet"]
    assert FileNames.of(table.write_context()).next("parquet", changelog=False) != first
    stamped = replace(table.write_context(), stamp="0123abcd-4567-89ef")
    one, other = (FileNames.of(stamped).next("parquet", changelog=False) for _ in range(2))
    assert one.startswith("d-0123abcd-4567-89ef-")
    assert str(uuid.UUID(one[2:-10])) == one[2:-10]
    assert one != other, "the rest is every writer's own"
    table.write_arrow(rows_of(1))
    assert live_files(table)[0].file_name.startswith("d-")


def test_small_pieces_gather_to_large_row_groups(tmp_path: Path) -> None:
    table = create_table(tmp_path, APPEND, ())
    writer = writer_of(table)
    for start in range(0, 30_000, 100):
        writer.write(rows_of(100, start))
    (file,) = writer.close()
    assert parquet_of(table, file).metadata.num_row_groups == 1


def test_a_disk_begins_to_write_large_files_before_they_are_closed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun: list[str] = []
    monkeypatch.setattr(local_disk, "write_back", begun.append)
    monkeypatch.setattr(rolling, "_WRITTEN_BACK_BYTES", 60 << 10)
    table = create_table(tmp_path, APPEND, (), {"file.block-size": "100 kb"})
    writer = writer_of(table)
    writer.write(rows_of(1000))
    (small,) = writer.close()
    assert small.file_size < 60 << 10
    assert not begun, "the flush of a small file takes as long"
    writer = writer_of(table)
    for start in range(0, 60_000, 1000):
        writer.write(rows_of(1000, start))
    (file,) = writer.close()
    assert file.file_size // (60 << 10) <= len(begun) <= parquet_of(table, file).metadata.num_row_groups + 1
    assert set(begun) == {table.paths.data_file(EMPTY_ROW, 0, file)}


def test_row_groups_are_bounded(tmp_path: Path) -> None:
    table = create_table(tmp_path, APPEND, (), {"file.block-size": "200 kb"})
    writer = writer_of(table)
    writer.write(rows_of(60_000))
    (file,) = writer.close()
    groups = parquet_of(table, file).metadata
    assert groups.num_row_groups > 2
    assert max(groups.row_group(i).num_rows for i in range(groups.num_row_groups)) < 30_000


def test_what_the_manifest_says_of_a_file(tmp_path: Path) -> None:
    fields = [("id", "INT NOT NULL"), ("s", "STRING"), ("d", "DOUBLE"), ("t", "TIMESTAMP(9)")]
    table = create_table(tmp_path, fields, ("id",))
    rows = pa.table(
        {
            "id": pa.array([5, -3, 9], pa.int32()),
            "s": ["a value that is long enough", None, "b"],
            "d": [1.5, -0.0, math.nan],
            "t": pa.array([1, None, 2], pa.timestamp("ns")),
        }
    )
    table.write_arrow(rows, ["+I", "+U", "-D"])
    (file,) = live_files(table)
    assert (file.row_count, file.delete_row_count, file.level) == (3, 1, 0)
    assert (file.min_sequence_number, file.max_sequence_number) == (0, 2)
    assert (file.file_source, file.schema_id) == (FileSource.APPEND, 0)
    keys = [field.type for field in table.schema.key_fields]
    assert (parse_row(file.min_key, keys), parse_row(file.max_key, keys)) == ((-3,), (9,))
    assert stats_values(file.key_stats, table.schema.key_fields) == ((-3, 9, 0),)
    assert stats_values(file.value_stats, table.schema.fields) == (
        (-3, 9, 0),
        ("a value that is ", "b", 1),
        (None, None, 0),
        (None, None, 1),
    )


def test_columns_of_a_file(tmp_path: Path) -> None:
    table = create_table(tmp_path)
    table.write_arrow(keyed({1: "a"}))
    schema = parquet_of(table, live_files(table)[0]).schema_arrow
    assert schema.names == ["_KEY_id", "_SEQUENCE_NUMBER", "_VALUE_KIND", "id", "v"]
    assert [int(field.metadata[b"PARQUET:field_id"]) for field in schema] == [2**30 - 1, 2**31 - 2, 2**31 - 3, 0, 1]
    assert [field.nullable for field in schema] == [False, False, False, False, True]


def test_statistics_are_kept_of_the_columns_that_options_name(tmp_path: Path) -> None:
    options = {"metadata.stats-mode": "none", "fields.b.stats-mode": "counts"}
    table = create_table(tmp_path, [("a", "INT"), ("b", "STRING")], (), options)
    table.write_arrow(rows_of(3))
    (file,) = live_files(table)
    assert file.value_stats_cols == ("b",)
    assert stats_values(file.value_stats, table.schema.fields[1:]) == ((None, None, 0),)
    table = create_table(tmp_path, APPEND, (), {"metadata.stats-keep-first-n-columns": "1"}, name="db.first")
    table.write_arrow(rows_of(3))
    assert live_files(table)[0].value_stats_cols == ("a",)


def test_an_index_is_embedded_up_to_the_threshold(tmp_path: Path) -> None:
    options = {"file-index.bloom-filter.columns": "v", "file-index.bloom-filter.v.items": "100"}
    small = create_table(tmp_path, options=options, name="db.small")
    small.write_arrow(keyed({1: "a"}))
    (file,) = live_files(small)
    assert file.embedded_index is not None
    assert file.extra_files == ()
    large = create_table(tmp_path, options={**options, "file-index.in-manifest-threshold": "10 b"}, name="db.large")
    large.write_arrow(keyed({1: "a"}))
    (file,) = live_files(large)
    assert file.embedded_index is None
    assert file.extra_files == (f"{file.file_name}.index",)
    assert files_on_disk(large) == {f"bucket-0/{file.file_name}", f"bucket-0/{file.file_name}.index"}
    assert next(index_names(file)) == f"{file.file_name}-1.index"
    assert state(large) == state(small) == {1: "a"}


def test_a_null_that_may_not_be_leaves_nothing(tmp_path: Path) -> None:
    table = create_table(tmp_path, [("a", "INT NOT NULL"), ("b", "STRING")], (), {"target-file-size": "1 kb"})
    writer = writer_of(table)
    writer.write(rows_of(30_000))
    with pytest.raises(DataError, match="null in column 'a'"):
        writer.write(pa.table({"a": pa.array([None], pa.int32()), "b": ["x"]}))
    assert files_on_disk(table)
    writer.abort()
    assert files_on_disk(table) == set()


def test_an_abort_with_side_files_leaves_nothing(tmp_path: Path) -> None:
    options = {"file-index.bloom-filter.columns": "a", "file-index.in-manifest-threshold": "1 b"}
    table = create_table(tmp_path, APPEND, (), {**options, "target-file-size": "1 kb"})
    writer = writer_of(table)
    writer.write(rows_of(30_000))
    assert any(path.endswith(".index") for path in files_on_disk(table))
    writer.abort()
    assert files_on_disk(table) == set()


def test_a_wrong_option_is_found_before_a_file_is_there(tmp_path: Path) -> None:
    table = create_table(tmp_path, APPEND, (), {"fields.a.stats-mode": "nonsense"})
    with pytest.raises(OptionError, match="nonsense"):
        table.write_arrow(rows_of(1))
    assert files_on_disk(table) == set()
