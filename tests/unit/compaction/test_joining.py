"""Files that have columns of the same rows become one with all of them, whatever lies beside the rows."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from maintenance.catalog import CatalogTable
from maintenance.format.metadata.data_file import DataFileMeta, FileSource
from maintenance.operations.compaction.compact import compact
from maintenance.operations.rows.update import update
from tests.tables import create_table, data_files, files_on_disk, get_table, live_files

EVOLVING = {"row-tracking.enabled": "true", "data-evolution.enabled": "true", "bucket": "-1"}
FIELDS = (("id", "INT"), ("a", "STRING"), ("b", "STRING"))


def rows_of(start: int, stop: int, **columns: Any) -> pa.Table:
    ids = range(start, stop)
    texts = [f"old {i}" for i in ids]
    return pa.table({"id": pa.array(ids, pa.int32()), "a": texts, "b": texts, **columns})


def evolving(folder: Path, fields: Any = FIELDS, options: Mapping[str, str] | None = None) -> CatalogTable:
    return create_table(folder, fields, (), {**EVOLVING, **(options or {})})


def compacted(table: CatalogTable, **how: Any) -> list[DataFileMeta]:
    """The files after a full compaction, which keeps every row with its id, and leaves nothing over."""
    columns = ["_ROW_ID", *table.schema.field_names]
    before = table.to_arrow(columns=columns).sort_by("_ROW_ID").to_pylist()
    report = compact(None, table, full=True, **how)
    assert not report.failed
    assert report.count("committed")
    table = get_table(Path(table.location).parents[1])
    assert table.to_arrow(columns=columns).sort_by("_ROW_ID").to_pylist() == before
    assert files_on_disk(table) >= data_files(table)
    return sorted(live_files(table), key=lambda file: (file.first_row_id or 0, file.file_name))


@pytest.mark.parametrize("mode", ["off", "auto", "full"])
def test_columns_that_came_later_are_put_into_one_file(tmp_path: Path, mode: str) -> None:
    table = evolving(tmp_path)
    table.write_arrow(rows_of(0, 3))
    table.write_arrow(rows_of(3, 5))
    update(None, table, {"a": "'new'"}, "id >= 2")
    update(None, table, {"b": "'newer'"}, "id = 0")
    old = live_files(table)
    assert len(old) > 2
    (file,) = compacted(table, proof=mode)
    assert (file.first_row_id, file.row_count, file.file_source) == (0, 5, FileSource.COMPACT)
    assert file.min_sequence_number == min(each.min_sequence_number for each in old)
    assert file.max_sequence_number == max(each.max_sequence_number for each in old)
    assert sorted(table.to_arrow().column("a").to_pylist()) == ["new", "new", "new", "old 0", "old 1"]


def test_rows_in_the_middle_keep_their_ids(tmp_path: Path) -> None:
    """Only files that are full enough, or that share their rows, are written again."""
    table = evolving(tmp_path)
    for start in (0, 3, 6):
        table.write_arrow(rows_of(start, start + 3))
    update(None, table, {"a": "'new'"}, "id = 4")
    files = compacted(table)
    assert [(file.first_row_id, file.row_count) for file in files] == [(0, 9)]


def test_the_proof_counts_rows_once(tmp_path: Path) -> None:
    table = evolving(tmp_path)
    table.write_arrow(rows_of(0, 4))
    update(None, table, {"a": "'new'"}, "id = 1")
    report = compact(None, table, full=True, proof="full")
    assert (report.proof["rows read"], report.proof["rows written"], report.proof["rows read back"]) == (4, 4, 4)


BLOB_FIELDS = (*FIELDS, ("p", "BLOB"))


@pytest.mark.parametrize("mode", ["off", "full"])
def test_blobs_stay_beside_the_rows(tmp_path: Path, mode: str) -> None:
    """Their files are not written again, and the new file has the other columns."""
    table = evolving(tmp_path, BLOB_FIELDS)
    table.write_arrow(rows_of(0, 2, p=pa.array([b"zero", b"one"], pa.large_binary())))
    table.write_arrow(rows_of(2, 4, p=pa.array([None, b"three"], pa.large_binary())))
    update(None, table, {"a": "'new'"}, "id = 2")
    blobs = {file.file_name for file in live_files(table) if file.file_name.endswith(".blob")}
    assert len(blobs) == 2
    files = compacted(table, proof=mode)
    assert {file.file_name for file in files if file.file_name.endswith(".blob")} == blobs
    (whole,) = (file for file in files if not file.file_name.endswith(".blob"))
    assert (whole.first_row_id, whole.row_count, whole.write_cols) == (0, 4, ("id", "a", "b"))


def test_a_table_without_blobs_says_nothing_of_columns(tmp_path: Path) -> None:
    table = evolving(tmp_path)
    table.write_arrow(rows_of(0, 2))
    table.write_arrow(rows_of(2, 4))
    (file,) = compacted(table)
    assert file.write_cols is None


VECTOR_FIELDS = (*FIELDS, ("v", "VECTOR<FLOAT, 2>"))


def vectors(*values: list[float] | None) -> pa.Array:
    return pa.array(values, pa.list_(pa.float32(), 2))


def test_vectors_beside_the_rows_stay(tmp_path: Path) -> None:
    """New values of other columns go into the file of the rows; those of vectors are where they were."""
    table = evolving(tmp_path, VECTOR_FIELDS, {"vector.file.format": "parquet"})
    table.write_arrow(rows_of(0, 3, v=vectors([1, 2], [3, 4], [5, 6])))
    update(None, table, {"a": "'new'"}, "id = 2")
    beside = {file.file_name for file in live_files(table) if ".vector." in file.file_name}
    assert len(beside) == 1
    files = compacted(table)
    assert {file.file_name for file in files if ".vector." in file.file_name} == beside
    (whole,) = (file for file in files if ".vector." not in file.file_name)
    assert (whole.row_count, whole.write_cols) == (3, ("id", "a", "b"))


def test_vectors_among_the_other_columns_stay_there(tmp_path: Path) -> None:
    """Though the table has files of vectors for new rows by now."""
    table = evolving(tmp_path, VECTOR_FIELDS)
    table.write_arrow(rows_of(0, 2, v=vectors([1, 2], [3, 4])))
    table.write_arrow(rows_of(2, 3, v=vectors([5, 6])))
    (file,) = compacted(table.copy({"vector.file.format": "parquet"}))
    assert (file.row_count, file.write_cols) == (3, None)
