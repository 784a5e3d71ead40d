"""Tables with deletion vectors that Paimon wrote: we go on deleting, updating and compacting."""

from pathlib import Path
from typing import Any

import pytest

from maintenance.catalog import CatalogTable, open_catalog
from maintenance.operations.checks.fsck import fsck
from maintenance.operations.compaction.compact import compact
from maintenance.options.own import BESIDE_OTHER_COMPACTORS
from tests.golden.case import extract

Row = tuple[Any, ...]
TABLES = [
    ("dv_append", "t"),
    ("dv_append", "p"),
    ("dv_append", "nodv"),
    ("dv_pk", "t"),
    ("dv_pk", "part"),
    ("dv_bitmap64", "t"),
    ("dv_bitmap64", "app"),
]


def rows(table: CatalogTable, snapshot_id: int | None = None) -> list[Row]:
    options = {} if snapshot_id is None else {"scan.snapshot-id": str(snapshot_id)}
    return sorted(tuple(row.values()) for row in table.to_arrow(options=options).to_pylist())


@pytest.mark.parametrize(("case", "name"), TABLES)
def test_tables_of_paimon_are_deleted_from_updated_and_compacted(tmp_path: Path, case: str, name: str) -> None:
    table = open_catalog({"warehouse": str(extract(case, tmp_path))}).get_table(f"db.{name}")
    assert isinstance(table, CatalogTable)
    # Paimon has compacted these tables as well; whoever wrote them is gone.
    table = table.copy({BESIDE_OTHER_COMPACTORS.key: "true"})
    key = table.schema.field_names.index("k")
    text = next(field.name for field in table.schema.fields if field.type.is_string)
    at = table.schema.field_names.index(text)
    before = {snapshot_id: rows(table, snapshot_id) for snapshot_id in table.snapshots.list_ids()}

    def settled() -> list[Row]:
        if table.is_primary_key_table:
            assert not compact(None, table).failed
        return rows(table)

    expected = rows(table)
    gone = sorted({row[key] for row in expected})[1::3]
    report = table.delete(f"k IN ({', '.join(map(str, gone))})")
    assert report.deleted_rows == sum(row[key] in gone for row in expected) > 0
    expected = [row for row in expected if row[key] not in gone]
    assert settled() == expected
    middle = expected[len(expected) // 2][key]
    if text not in (*table.schema.primary_keys, *table.schema.partition_keys):
        assert table.update({text: "'ours'"}, f"k >= {middle}").updated_rows > 0
        expected = sorted((*row[:at], "ours", *row[at + 1 :]) if row[key] >= middle else row for row in expected)
        assert settled() == expected
    assert not compact(None, table, full=True).failed
    assert rows(table) == expected
    assert table.delete(f"k = {middle}").deleted_rows > 0
    assert settled() == [row for row in expected if row[key] != middle]
    assert {snapshot_id: rows(table, snapshot_id) for snapshot_id in before} == before
    actual = fsck(table.file_io, table.location, deep=True)
    assert actual.healthy, actual.faults
