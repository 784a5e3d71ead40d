"""Small files are read together only where that changes nothing."""

from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pytest

from maintenance.catalog import CatalogTable, SchemaChange, open_catalog
from maintenance.errors import CorruptFileError
from maintenance.metastore.schema_change import RenameColumn, UpdateColumnType
from maintenance.read.data_file import DataFileReader, ReadContext
from maintenance.read.row_selection import RowSelection
from maintenance.read.small_files import batches_of_files
from maintenance.types.data_type import parse_type
from maintenance.types.nanos import widened
from tests.tables import create_table, get_table, live


def written(warehouse: Path, options: dict[str, str] | None = None) -> CatalogTable:
    """Ten files of ten rows, the last five of a newer schema: a column renamed, another widened."""
    table = create_table(warehouse, [("a", "INT NOT NULL"), ("v", "STRING")], (), options)
    for start in range(0, 50, 10):
        table.write_arrow(pa.table({"a": pa.array(range(start, start + 10), pa.int32()), "v": ["x"] * 10}))
    changes: list[SchemaChange] = [RenameColumn(("v",), "w"), UpdateColumnType(("a",), parse_type("BIGINT"))]
    open_catalog({"warehouse": str(warehouse)}).alter_table("db.t", changes)
    table = get_table(warehouse)
    for start in range(50, 100, 10):
        table.write_arrow(pa.table({"a": pa.array(range(start, start + 10), pa.int64()), "w": ["y"] * 10}))
    return table


def readers(table: CatalogTable) -> list[DataFileReader]:
    schemas = {number: table.schemas.get(number) for number in range(table.schema.id + 1)}
    context = ReadContext(table.file_io, schemas, tuple(table.schema.fields), keyed=False)
    actual = [
        DataFileReader(context, table.paths.data_file(e.partition, e.bucket, e.file), e.file, {}) for e in live(table)
    ]
    return sorted(actual, key=lambda reader: reader.file.creation_time or 0)


@pytest.mark.parametrize("file_format", ["parquet", "orc"])
def test_rows_are_those_of_the_files_one_by_one(tmp_path: Path, file_format: str) -> None:
    table = written(tmp_path, {"file.format": file_format})
    files = readers(table)
    for batch_rows in (1, 25, 1000):
        together = list(batches_of_files(files, batch_rows))
        expected = pa.concat_tables([reader.read() for reader in files])
        assert pa.concat_tables(together).equals(expected)
        assert max(part.num_rows for part in together) <= max(10, batch_rows)
    assert len(together) == (2 if file_format == "parquet" else 10), "one table for each schema"


def test_times_stored_as_int96(tmp_path: Path) -> None:
    table = create_table(tmp_path, [("a", "INT"), ("t", "TIMESTAMP(9)"), ("l", "ARRAY<TIMESTAMP(9)>")], ())
    times = pa.array([1, -(2**62), None], pa.int64()).view(pa.timestamp("ns"))
    for number in range(3):
        lists = pa.array([[times[0].as_py()], None, []], pa.list_(pa.timestamp("ns")))
        table.write_arrow(pa.table({"a": pa.array([number] * 3, pa.int32()), "t": times, "l": lists}))
    files = readers(table)
    (together,) = batches_of_files(files, 1000)
    assert together.equals(pa.concat_tables([reader.read() for reader in files]))
    assert together.column("t").to_pylist() == 3 * widened(times).to_pylist()


def test_chosen_rows_are_those_of_their_file(tmp_path: Path) -> None:
    files = readers(written(tmp_path))
    files[1] = replace(files[1], rows=RowSelection(exactly=pa.array([2, 3]).to_numpy()))
    rows = pa.concat_tables(list(batches_of_files(files, 1000))).column("a").to_pylist()
    assert rows == [*range(10), 12, 13, *range(20, 100)]


def test_an_error_names_its_file(tmp_path: Path) -> None:
    files = readers(written(tmp_path))
    Path(files[3].path).write_bytes(b"PAR1 no more")
    with pytest.raises(CorruptFileError, match=files[3].file.file_name):
        list(batches_of_files(files, 1000))
    files = readers(written(tmp_path / "other"))
    files[2] = replace(files[2], file=replace(files[2].file, row_count=11))
    with pytest.raises(CorruptFileError, match=f"has 10 rows.*{files[2].file.file_name}"):
        list(batches_of_files(files, 1000))
