"""Data evolution: files of the same rows are joined by position, each column from the newest file that has it."""

import uuid
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from maintenance.catalog import CatalogTable
from maintenance.commit.commit import commit_compact
from maintenance.commit.identity import CommitIdentity
from maintenance.errors import CorruptFileError, PredicateError, SchemaError
from maintenance.format.metadata.data_file import DataFileMeta
from maintenance.write.message import CommitMessage
from tests.deletion_vectors import ENABLED, MODIFIABLE, delete_rows
from tests.tables import create_table, live, live_files

FIELDS = (("id", "INT"), ("b", "INT"), ("c", "STRING"))
TRACKED = {"row-tracking.enabled": "true"}
EVOLVING = {**TRACKED, **MODIFIABLE, "data-evolution.enabled": "true"}
ROWS = 100


def rows(first: int) -> pa.Table:
    ids = pa.array(range(first, first + ROWS), pa.int32())
    return pa.table({"id": ids, "b": ids, "c": [f"old {n}" for n in range(first, first + ROWS)]})


def change(table: CatalogTable, before: Sequence[DataFileMeta], after: Sequence[DataFileMeta]) -> None:
    """Put files in the place of others."""
    entry = live(table)[0]
    message = CommitMessage(
        entry.partition, entry.bucket, entry.total_buckets, compact_before=tuple(before), compact_after=tuple(after)
    )
    commit_compact(table.commit_target(), [message], CommitIdentity("test", len(table.snapshots.list_ids())))


@pytest.fixture
def table(tmp_path: Path) -> CatalogTable:
    """Two files with row ids 0 to 99 and 100 to 199."""
    table = create_table(tmp_path, FIELDS, ())
    for first in (0, ROWS):
        table.write_arrow(rows(first))
    files = live_files(table)
    numbered = [replace(file, first_row_id=n * ROWS, max_sequence_number=n + 1) for n, file in enumerate(files)]
    # The same file twice in one commit would cancel out, so the numbered ones get names of their own.
    renamed = []
    for file in numbered:
        name = f"data-{uuid.uuid4()}-0.parquet"
        Path(path_of(table, file)).rename(Path(path_of(table, file)).with_name(name))
        renamed.append(replace(file, file_name=name))
    change(table, files, renamed)
    return table


def path_of(table: CatalogTable, file: DataFileMeta) -> str:
    return table.paths.data_file(live(table)[0].partition, 0, file)


def add_columns(
    table: CatalogTable,
    first_row_id: int,
    columns: Mapping[str, Sequence[Any]],
    sequence: int,
    group: int = 30,
    *,
    row_count: int | None = None,
) -> DataFileMeta:
    """A further file of the rows from `first_row_id` on. `group`: rows of a row group; `row_count`: as the metadata
    says, None = that of the file."""
    old = next(file for file in live_files(table) if file.first_row_id == first_row_id)
    name = f"data-{uuid.uuid4()}-0.parquet"
    types = {"id": pa.int32(), "b": pa.int32(), "c": pa.string()}
    data = pa.table({key: pa.array(values, types[key]) for key, values in columns.items()})
    path = path_of(table, replace(old, file_name=name))
    pq.write_table(data, path, row_group_size=group)
    file = replace(
        old,
        file_name=name,
        file_size=Path(path).stat().st_size,
        row_count=data.num_rows if row_count is None else row_count,
        write_cols=tuple(columns),
        value_stats_cols=(),
        value_stats=old.key_stats,
        max_sequence_number=sequence,
    )
    change(table, [], [file])
    return file


def read(table: CatalogTable, **how: Any) -> list[tuple[Any, ...]]:
    actual = replace(table, dynamic_options=EVOLVING).to_arrow(**how)
    return sorted(zip(*(column.to_pylist() for column in actual.columns), strict=True))


def test_the_newest_file_of_a_column_wins(table: CatalogTable) -> None:
    add_columns(table, 0, {"c": [f"new {n}" for n in range(ROWS)]}, sequence=7)
    add_columns(table, 0, {"b": [-n for n in range(ROWS)], "c": [f"mid {n}" for n in range(ROWS)]}, 5, group=7)
    expected = [(n, -n, f"new {n}") for n in range(ROWS)]
    untouched = [(n, n, f"old {n}") for n in range(ROWS, 2 * ROWS)]
    assert read(table) == expected + untouched
    assert read(table, columns=["c"]) == sorted((row[2],) for row in expected + untouched)
    assert read(table, where="c = 'new 3'") == [(3, -3, "new 3")]
    assert read(table, where="b = -99") == [(99, -99, "new 99")]
    assert read(table, where="c = 'old 3'") == []


def test_row_ids_and_sequence_numbers(table: CatalogTable) -> None:
    add_columns(table, ROWS, {"b": [0] * ROWS}, sequence=9)
    actual = read(table, columns=["id", "_ROW_ID", "_SEQUENCE_NUMBER"])
    assert actual == [(n, n, 1 if n < ROWS else 9) for n in range(2 * ROWS)]
    alone = read(table, columns=["_ROW_ID", "id"], where="id >= 150")
    assert alone == [(n, n) for n in range(150, 200)]


def test_rows_are_found_by_row_id_and_sequence_number(table: CatalogTable) -> None:
    add_columns(table, ROWS, {"b": [0] * ROWS}, sequence=9)
    assert read(table, columns=["id"], where="_ROW_ID = 3 OR _ROW_ID >= 198") == [(3,), (198,), (199,)]
    assert read(table, columns=["id", "_ROW_ID"], where="_ROW_ID = 7 AND id = 7") == [(7, 7)]
    assert read(table, where="_ROW_ID = 7 AND id = 8") == []
    assert len(read(table, columns=["id"], where="_SEQUENCE_NUMBER > 1")) == ROWS
    assert read(table, columns=["c", "_ROW_ID"], where="NOT _ROW_ID < 199") == [("old 199", 199)]
    with pytest.raises(PredicateError, match="_ROW_ID"):
        table.to_arrow(where="_ROW_ID = 3")


def test_system_columns_are_there_only_with_row_tracking(table: CatalogTable) -> None:
    tracked = replace(table, dynamic_options=TRACKED)
    assert tracked.to_arrow(columns=["_ROW_ID"]).num_rows == 2 * ROWS
    with pytest.raises(SchemaError, match="_ROW_ID"):
        table.to_arrow(columns=["_ROW_ID"])
    assert tracked.to_arrow().column_names == ["id", "b", "c"]


def test_deleted_rows_go_by_the_oldest_file(table: CatalogTable) -> None:
    anchor = next(file for file in live_files(table) if file.first_row_id == 0)
    add_columns(table, 0, {"c": ["new"] * ROWS}, sequence=7, group=9)
    delete_rows(table, {anchor.file_name: range(10, ROWS)})
    actual = read(table, options=ENABLED, columns=["id", "c", "_ROW_ID"])
    assert actual[:10] == [(n, "new", n) for n in range(10)]
    assert len(actual) == 10 + ROWS


def test_files_that_do_not_fit_together(table: CatalogTable) -> None:
    add_columns(table, 0, {"c": ["new"] * (ROWS - 1)}, sequence=7)
    with pytest.raises(CorruptFileError, match="other row ids"):
        read(table)


def test_a_file_that_ends_early(table: CatalogTable) -> None:
    add_columns(table, 0, {"c": ["new"] * 60}, sequence=7, row_count=ROWS)
    with pytest.raises(CorruptFileError, match="has 60 rows where its manifest says 100"):
        read(table)


def test_a_file_of_another_size(table: CatalogTable) -> None:
    file = add_columns(table, 0, {"c": ["new"] * ROWS}, sequence=7)
    pq.write_table(pa.table({"c": ["other"] * ROWS}), path_of(table, file))
    with pytest.raises(CorruptFileError, match=f"expected {file.file_size} bytes, found"):
        read(table)


def test_a_file_without_row_ids(table: CatalogTable) -> None:
    table.write_arrow(rows(500))
    with pytest.raises(CorruptFileError, match="no first row id"):
        read(table)
