"""Tables with `primary-key.nullable`: null is a key like any other, and the smallest."""

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from maintenance.catalog import CatalogTable, Schema, UpdateColumnNullability
from maintenance.errors import OptionError, PaimonError
from maintenance.operations import compact
from tests.tables import create_table, get_table, open_warehouse

FIELDS = [("a", "INT NOT NULL"), ("b", "STRING"), ("v", "INT")]
NULLABLE = {"primary-key.nullable": "true"}
Row = tuple[int | None, str | None, int | None]


def rows(*values: Row) -> pa.Table:
    schema = pa.schema([("a", pa.int32()), ("b", pa.string()), ("v", pa.int32())])
    return pa.Table.from_pylist([dict(zip(schema.names, row, strict=True)) for row in values], schema=schema)


def table_of(tmp_path: Path, **options: str) -> CatalogTable:
    table = create_table(tmp_path, FIELDS, ("a", "b"), {**NULLABLE, **options})
    assert isinstance(table, CatalogTable)
    return table


def found(table: CatalogTable, where: str | None = None) -> list[tuple[Any, ...]]:
    return sorted((tuple(row.values()) for row in table.to_arrow(where=where).to_pylist()), key=repr)


KINDS = [
    {"bucket": "3"},
    {"bucket": "-1"},
    {"bucket": "2", "deletion-vectors.enabled": "true"},
    {"bucket": "1", "merge-engine": "partial-update"},
    {"bucket": "1", "merge-engine": "aggregation", "fields.v.aggregate-function": "sum"},
    {"bucket": "1", "changelog-producer": "lookup"},
    {"bucket": "1", "file.format": "orc"},
    {"bucket": "1", "file.format": "avro"},
    {"bucket": "1", "file.format": "row"},
]


@pytest.mark.parametrize("options", KINDS, ids=str)
def test_rows_are_written_merged_and_compacted(tmp_path: Path, options: dict[str, str]) -> None:
    table = table_of(tmp_path, **options)
    table.write_arrow(rows((None, "x", 1), (1, None, 2), (None, None, 3), (1, "x", 4)))
    compact(None, table)
    table.write_arrow(rows((None, "x", 10), (None, None, 30), (2, None, 50)))
    report = compact(None, table, full=True, proof="full")
    assert report.failed == ()
    added = options.get("merge-engine") == "aggregation"
    expected = [(None, "x", 11 if added else 10), (1, None, 2), (None, None, 33 if added else 30)]
    expected = sorted([*expected, (1, "x", 4), (2, None, 50)], key=repr)
    assert found(table) == expected
    assert found(table, "a IS NULL") == [row for row in expected if row[0] is None]
    assert found(table, "b = 'x' AND a IS NULL") == [row for row in expected if row[:2] == (None, "x")]
    assert found(table, "b IS NULL AND a = 1") == [(1, None, 2)]
    if not added and "partial" not in str(options):
        table.delete("a IS NULL AND b IS NULL")
        compact(None, table, full=True)
        assert found(table) == [row for row in expected if row[:2] != (None, None)]


def test_key_columns_stay_nullable_and_the_option_needs_a_key(tmp_path: Path) -> None:
    table = table_of(tmp_path, bucket="1")
    assert [str(field.type) for field in table.schema.fields] == ["INT", "STRING", "INT"]
    catalog = open_warehouse(tmp_path)
    with pytest.raises(PaimonError):
        catalog.alter_table("db.t", [UpdateColumnNullability("a", False)])
    assert [str(field.type) for field in get_table(tmp_path).schema.fields] == ["INT", "STRING", "INT"]
    with pytest.raises(OptionError, match="without a primary key"):
        catalog.create_table("db.u", Schema(FIELDS, options=NULLABLE))
