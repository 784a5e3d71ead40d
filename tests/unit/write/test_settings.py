"""Format, codec and statistics of files: by table, by level, of changelog files; thin files, and files of few rows."""

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyarrow import orc

from maintenance.catalog import CatalogTable, Schema
from maintenance.errors import OptionError, UnsupportedError
from maintenance.format.metadata.column_stats import stats_values
from maintenance.format.metadata.data_file import DataFileMeta
from maintenance.format.rows.binary_row import EMPTY_ROW
from maintenance.operations.compaction.compact import compact
from maintenance.write.settings import file_settings, stats_mode
from tests.tables import KEYED, create_table, get_table, keyed, live_files, open_warehouse, state

APPEND = [("a", "INT"), ("b", "STRING")]
EVERYTHING = {
    "file.format": "parquet",
    "file.format.per.level": "0:AVRO, 5:orc",
    "file.compression": "snappy",
    "file.compression.per.level": "0:zstd,5:LZ4",
    "metadata.stats-mode.per.level": "0:none",
}
CHANGELOG = {
    "changelog-file.format": "avro",
    "changelog-file.compression": "deflate",
    "changelog-file.stats-mode": "counts",
}


def chosen(table: CatalogTable, level: int, *, changelog: bool = False) -> tuple[str, str, str]:
    actual = file_settings(table.schema, table.options, level, changelog=changelog)
    mode = stats_mode(table.schema, table.options, level, changelog=changelog)
    return actual.format, actual.compression, mode


def path_of(table: CatalogTable, file: DataFileMeta) -> str:
    return table.paths.data_file(EMPTY_ROW, 0, file)


def test_levels_and_changelog_files(tmp_path: Path) -> None:
    table = create_table(tmp_path, options=EVERYTHING)
    assert chosen(table, 0) == ("avro", "zstd", "none")
    assert chosen(table, 3) == ("parquet", "snappy", "truncate(16)")
    assert chosen(table, 5) == ("orc", "lz4", "truncate(16)")
    assert chosen(table, 0, changelog=True) == chosen(table, 0)
    assert chosen(table.copy(CHANGELOG), 5, changelog=True) == ("avro", "deflate", "counts")
    assert chosen(table.copy(CHANGELOG), 5) == ("orc", "lz4", "truncate(16)")


def test_append_tables_have_no_levels(tmp_path: Path) -> None:
    assert chosen(create_table(tmp_path, APPEND, (), EVERYTHING), 0) == ("parquet", "snappy", "truncate(16)")


@pytest.mark.parametrize("text", ["orc", "a:orc", "0:", "0-orc"])
def test_levels_that_are_none(tmp_path: Path, text: str) -> None:
    table = create_table(tmp_path)
    with pytest.raises(OptionError, match=r"file\.format\.per\.level.*expected levels"):
        table.copy({"file.format.per.level": text})
    assert live_files(table) == []


def test_compaction_goes_from_format_to_format(tmp_path: Path) -> None:
    table = create_table(tmp_path, options=EVERYTHING)
    table.write_arrow(keyed({1: "a", 2: "b"}))
    table.write_arrow(keyed({2: "c", 3: None}))
    assert {file.file_name.rsplit(".", 1)[1] for file in live_files(table)} == {"avro"}
    assert {file.value_stats_cols for file in live_files(table)} == {()}
    assert state(table) == {1: "a", 2: "c", 3: None}
    compact(None, table, full=True)
    (file,) = live_files(table)
    assert file.file_name.endswith(".orc")
    assert orc.ORCFile(path_of(table, file)).compression == "LZ4"
    assert file.value_stats_cols is None
    assert state(get_table(tmp_path)) == {1: "a", 2: "c", 3: None}


@pytest.mark.parametrize("file_format", ["parquet", "orc", "avro", "row"])
def test_every_operation_on_append_tables_of_a_format(tmp_path: Path, file_format: str) -> None:
    options = {"file.format": file_format, "compaction.min.file-num": "2"}
    table = create_table(tmp_path, APPEND, (), options)
    for start in range(3):
        table.write_arrow(pa.table({"a": pa.array([start], pa.int32()), "b": [f"text {start}"]}))
    assert {file.file_name.rsplit(".", 1)[1] for file in live_files(table)} == {file_format}
    compact(None, table, full=True)
    assert len(live_files(table)) == 1
    assert sorted(table.to_arrow().column("a").to_pylist()) == [0, 1, 2]
    assert table.to_arrow(where="a = 1").column("b").to_pylist() == ["text 1"]


@pytest.mark.parametrize("mode", ["none", "counts", "truncate(2)"])
def test_thin_files_have_no_key_columns_but_statistics_of_keys(tmp_path: Path, mode: str) -> None:
    options = {"data-file.thin-mode": "true", "metadata.stats-mode": mode}
    fields = (("k", "STRING NOT NULL"), ("v", "STRING"))
    table = create_table(tmp_path, fields, ("k",), options)
    table.write_arrow(pa.table({"k": ["key-a", "key-b"], "v": ["x", None]}))
    (file,) = live_files(table)
    assert pq.ParquetFile(path_of(table, file)).schema_arrow.names == ["_SEQUENCE_NUMBER", "_VALUE_KIND", "k", "v"]
    key = table.schema.key_fields
    assert stats_values(file.key_stats, key) == (("key-a", "key-b", 0),)
    covered = file.value_stats_cols if file.value_stats_cols is not None else ("k", "v")
    actual = dict(zip(covered, stats_values(file.value_stats, table.schema.fields_of(covered)), strict=True))
    assert actual["k"] == ("key-a", "key-b", 0)
    assert actual.get("v") == {"none": None, "counts": (None, None, 1), "truncate(2)": ("x", "x", 1)}[mode]
    table.write_arrow(pa.table({"k": ["key-b"], "v": ["y"]}))
    compact(None, table, full=True)
    assert dict(zip(*table.to_arrow().to_pydict().values(), strict=True)) == {"key-a": "x", "key-b": "y"}


def test_thin_files_and_others_stand_side_by_side(tmp_path: Path) -> None:
    table = create_table(tmp_path)
    table.write_arrow(keyed({1: "a", 2: "b"}))
    thin = table.copy({"data-file.thin-mode": "true"})
    thin.write_arrow(keyed({2: "c", 3: "d"}))
    assert state(table) == {1: "a", 2: "c", 3: "d"}
    compact(None, thin, full=True)
    assert state(table) == {1: "a", 2: "c", 3: "d"}


def test_files_are_closed_at_their_number_of_rows_but_not_by_compaction(tmp_path: Path) -> None:
    options = {"target-file-row-num": "4", "compaction.min.file-num": "2"}
    table = create_table(tmp_path, APPEND, (), options)
    table.write_arrow(pa.table({"a": pa.array(range(10), pa.int32()), "b": ["x"] * 10}))
    assert [file.row_count for file in live_files(table)] == [4, 4, 2]
    compact(None, table, full=True)
    assert [file.row_count for file in live_files(table)] == [10]
    with pytest.raises(OptionError, match=r"target-file-row-num.*at least 1"):
        table.copy({"target-file-row-num": "0"}).write_arrow(pa.table({"a": pa.array([1], pa.int32()), "b": ["x"]}))


@pytest.mark.parametrize(
    ("options", "end"),
    [
        ({}, "-0.zst.parquet"),
        ({"file.compression": "none"}, "-0.parquet"),
        ({"file.compression": "gzip"}, "-0.gz.parquet"),
        ({"file.format": "orc", "file.compression": "zlib"}, "-0.zlib.orc"),
        ({"file.compression.per.level": "0:lz4"}, "-0.zst.parquet"),
    ],
)
def test_names_with_the_codec(tmp_path: Path, options: dict[str, str], end: str) -> None:
    table = create_table(tmp_path, options={"file.suffix.include.compression": "true", **options})
    table.write_arrow(keyed({1: "a"}))
    assert live_files(table)[0].file_name.endswith(end)
    assert state(table) == {1: "a"}


@pytest.mark.parametrize("key", ["file.format", "changelog-file.format"])
@pytest.mark.parametrize("name", ["csv", "json", "text"])
def test_formats_of_format_tables_are_refused(tmp_path: Path, key: str, name: str) -> None:
    with pytest.raises(UnsupportedError, match=f"option '{key}' = '{name}'"):
        open_warehouse(tmp_path).create_table("db.t", Schema(KEYED, ["id"], options={"bucket": "1", key: name}))


@pytest.mark.parametrize(
    ("options", "column", "message"),
    [
        ({"file.format": "avro"}, "TIMESTAMP(9)", r"TIMESTAMP\(9\).*db\.t, column v"),
        ({"file.format.per.level": "5:avro"}, "TIME(6)", r"TIME\(6\).*db\.t, column v"),
        ({"changelog-file.format": "avro", "changelog-file.compression": "lz4"}, "INT", "compression 'lz4'"),
        ({"file.compression": "lzo"}, "INT", "lzo"),
        ({"file.format.per.level": "0:row", "data-file.thin-mode": "true"}, "INT", "thin-mode.*format row.*db"),
        ({"file.format": "orc", "orc.encrypt": "x"}, "INT", r"option 'orc\.encrypt'.*db\.t"),
        ({"file.format": "orc", "file.compression.zstd-level": "9"}, "INT", "zstd-level"),
    ],
)
def test_tables_whose_files_could_not_be_written(
    tmp_path: Path, options: dict[str, str], column: str, message: str
) -> None:
    fields = (("id", "INT NOT NULL"), ("v", column))
    with pytest.raises((OptionError, UnsupportedError), match=message):
        open_warehouse(tmp_path).create_table("db.t", Schema(fields, ["id"], options={"bucket": "1", **options}))


def test_parquet_keys_reach_the_writer(tmp_path: Path) -> None:
    options = {
        "parquet.enable.dictionary": "false",
        "parquet.writer.version": "PARQUET_2_0",
        "parquet.page.size": "1024",
    }
    table = create_table(tmp_path, APPEND, (), options)
    table.write_arrow(pa.table({"a": pa.array([1] * 9000, pa.int32()), "b": ["x"] * 9000}))
    (file,) = live_files(table)
    column = pq.ParquetFile(path_of(table, file)).metadata.row_group(0).column(1)
    assert not column.has_dictionary_page
    assert "PLAIN_DICTIONARY" not in column.encodings
    assert table.to_arrow().num_rows == 9000
