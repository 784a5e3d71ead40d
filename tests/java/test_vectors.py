"""VECTOR columns that either side writes and the other one reads and compacts."""

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from maintenance.catalog import Schema, open_catalog
from maintenance.errors import DataError, SchemaError, UnsupportedError
from maintenance.format.rows.binary_row import parse_row, serialize_row
from maintenance.operations.compaction.compact import compact
from maintenance.types.data_type import DataType
from maintenance.types.type_text import parse_data_type
from tests.java.process import JavaProcess
from tests.java.samples import table_of

ELEMENTS: dict[str, list[Any]] = {
    "BOOLEAN": [True, False, True],
    "TINYINT": [-128, 127, 0],
    "SMALLINT": [-(2**15), 2**15 - 1, 1],
    "INT NOT NULL": [-(2**31), 2**31 - 1, 2],
    "BIGINT": [-(2**63), 2**63 - 1, 3],
    "FLOAT": [1.5, float("-inf"), -0.0],
    "DOUBLE": [0.1, 5e-324, 1e308],
}
COLUMNS = [
    ("id", "INT NOT NULL"),
    *((f"v{n}", f"VECTOR<{text}, 3>") for n, text in enumerate(ELEMENTS)),
    ("r", "ROW<a VECTOR<FLOAT, 2>, b INT>"),
]


def rows(first: int) -> list[tuple[Any, ...]]:
    vectors = tuple(ELEMENTS.values())
    return [
        (first, *vectors, ([1.0, 2.0], 5)),
        (first + 1, *([None] * len(vectors)), (None, 6)),
        (first + 2, *(vector[::-1] for vector in vectors), None),
    ]


def arrow_of(written: list[tuple[Any, ...]]) -> pa.Table:
    kinds = [pa.bool_(), pa.int8(), pa.int16(), pa.int32(), pa.int64(), pa.float32(), pa.float64()]
    types = [
        pa.int32(),
        *(pa.list_(kind, 3) if n % 2 else pa.list_(kind) for n, kind in enumerate(kinds)),
        pa.struct([("a", pa.list_(pa.float32(), 2)), ("b", pa.int32())]),
    ]
    records = [(*row[:-1], None if row[-1] is None else dict(zip("ab", row[-1], strict=True))) for row in written]
    columns = zip(*records, strict=True)
    arrays = [pa.array(list(column), kind) for column, kind in zip(columns, types, strict=True)]
    return pa.table(dict(zip((name for name, _ in COLUMNS), arrays, strict=True)))


def ours(warehouse: str) -> list[tuple[Any, ...]]:
    actual = table_of(warehouse).to_arrow()
    assert pa.types.is_fixed_size_list(actual.schema.field("v5").type)
    assert pa.types.is_fixed_size_list(actual.schema.field("r").type.field("a").type)
    found_rows = (tuple(row.values()) for row in actual.to_pylist())
    return [(*row[:-1], row[-1] and tuple(row[-1].values())) for row in found_rows]


def by_id(found: list[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
    return sorted(found, key=lambda row: int(row[0]))


@pytest.mark.parametrize("keys", [["id"], []])
def test_java_reads_what_we_write_and_compact(java: JavaProcess, tmp_path: Path, keys: list[str]) -> None:
    """Java 1.4 reads vectors out of Avro files, and writes none; pypaimon has them in parquet files."""
    warehouse = str(tmp_path)
    catalog = open_catalog({"warehouse": warehouse})
    catalog.create_database("db")
    options = {"bucket": "1" if keys else "-1", "file.format": "avro"}
    catalog.create_table("db.t", Schema(COLUMNS, keys, options=options))
    table_of(warehouse).write_arrow(arrow_of(rows(0)))
    table_of(warehouse).write_arrow(arrow_of(rows(2 if keys else 3)))
    wanted = rows(0)[:2] + rows(2) if keys else rows(0) + rows(3)
    assert by_id(ours(warehouse)) == by_id(java.rows(warehouse, "db.t")) == wanted
    compact(None, table_of(warehouse), full=True)
    assert by_id(ours(warehouse)) == by_id(java.rows(warehouse, "db.t")) == wanted
    assert table_of(warehouse).to_arrow(where="v5 IS NULL").num_rows == len([row for row in wanted if row[6] is None])


def test_serialized_rows_are_those_of_java(java: JavaProcess) -> None:
    types = [DataType("INT"), *(parse_data_type(f"VECTOR<{text}, 3>") for text in ELEMENTS)]
    written = [(1, *ELEMENTS.values()), (2, *([None] * len(ELEMENTS)))]
    expected = [data for data, _ in java.serialized(types, written)]
    assert [serialize_row(row, types) for row in written] == expected
    assert [parse_row(row, types) for row in expected] == written


def test_what_is_not_a_vector(tmp_path: Path) -> None:
    catalog = open_catalog({"warehouse": str(tmp_path)})
    catalog.create_database("db")
    for text, match in (("VECTOR<STRING, 3>", "elements of the types"), ("VECTOR<INT, 0>", "1 to")):
        with pytest.raises(SchemaError, match=match):
            catalog.create_table("db.t", Schema([("id", "INT"), ("v", text)]))
    with pytest.raises(UnsupportedError, match="ORC"):
        catalog.create_table("db.t", Schema([("id", "INT"), ("v", "VECTOR<INT, 2>")], options={"file.format": "orc"}))
    catalog.create_table("db.t", Schema([("id", "INT"), ("l", "ARRAY<VECTOR<INT, 2>>")]))
    for value, match in (([[1, 2], [3]], "1 elements in column 'l.element'"), ([[1, None]], "a null among")):
        with pytest.raises(DataError, match=match):
            table_of(str(tmp_path)).write_arrow(pa.table({"id": [1], "l": [value]}))
    with pytest.raises(SchemaError, match="nested"):
        catalog.create_table("db.u", Schema([("id", "INT"), ("v", "VECTOR<INT, 2> NOT NULL")], ["v"]))
