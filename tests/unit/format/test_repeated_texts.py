"""Texts that a file holds as numbers of a dictionary: read in a shorter way, with the same result."""

import io

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from maintenance.format.parquet.reader import PARQUET, open_reader
from maintenance.types.data_type import DataField, parse_type

ROWS = 40_000
RANDOM = np.random.default_rng(7)
FEW = np.array(["", "a", "ü" * 40, "same"])[RANDOM.integers(0, 4, ROWS)]
HALF = np.where(np.arange(ROWS) < ROWS // 2, FEW, np.char.add("x", np.arange(ROWS).astype(str)))
NULLS = RANDOM.random(ROWS) < 0.9
COLUMNS = {
    "few": pa.array(FEW),
    "bytes": pa.array(FEW).cast(pa.binary()),
    "nulls": pa.array(FEW, mask=NULLS),
    "none": pa.nulls(ROWS, pa.string()),
    "distinct": pa.array(np.arange(ROWS).astype(str)),
    "distinct and nulls": pa.array(np.arange(ROWS).astype(str), mask=NULLS),
    "given up in the middle": pa.array(HALF),
    "number": pa.array(np.arange(ROWS)),
}
TYPES = {"bytes": "BYTES", "number": "BIGINT"}
FIELDS = [DataField(number, name, parse_type(TYPES.get(name, "STRING"))) for number, name in enumerate(COLUMNS)]


def content(rows_in_group: int, *, statistics: bool = True) -> bytes:
    sink = io.BytesIO()
    pq.write_table(
        pa.table(COLUMNS),
        sink,
        row_group_size=rows_in_group,
        write_statistics=statistics,
        dictionary_pagesize_limit=1 << 12,
        data_page_size=1 << 10,
    )
    return sink.getvalue()


@pytest.mark.parametrize("rows_in_group", [ROWS, ROWS // 3])
@pytest.mark.parametrize("statistics", [True, False])
def test_rows_are_those_of_the_file(rows_in_group: int, statistics: bool) -> None:
    data = content(rows_in_group, statistics=statistics)
    whole = PARQUET.open_reader(pa.BufferReader(data), "file.parquet", {}).read(FIELDS)
    assert whole.equals(pa.table(COLUMNS))
    batches = list(PARQUET.open_reader(pa.BufferReader(data), "file.parquet", {}).batches(FIELDS, 7000))
    assert pa.concat_tables(batches).equals(pa.table(COLUMNS))


def test_which_columns_are_read_as_dictionaries() -> None:
    reader = open_reader(pa.BufferReader(content(ROWS)), "file.parquet", columns=list(COLUMNS))
    actual = {field.name for field in reader.schema_arrow if pa.types.is_dictionary(field.type)}
    assert {"few", "bytes", "nulls"} <= actual
    assert not actual & {"distinct", "distinct and nulls", "number"}
    plain = open_reader(pa.BufferReader(content(ROWS, statistics=False)), "file.parquet", columns=list(COLUMNS))
    assert not any(pa.types.is_dictionary(field.type) for field in plain.schema_arrow)
