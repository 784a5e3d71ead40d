"""Tables that Paimon wrote, written and compacted on here: the rows stay, and there is nothing left to do."""

from pathlib import Path

import pytest

from maintenance.catalog import CatalogTable, open_catalog
from maintenance.operations.compaction.compact import compact
from tests.golden.case import extract
from tests.tables import live

CASES = ("append_tables", "bucket_key", "dynamic_bucket", "overwrites", "postpone_bucket", "rescale_bucket")


def rows(table: CatalogTable) -> list[str]:
    return sorted(map(repr, table.to_arrow().to_pylist()))


@pytest.mark.parametrize("case", CASES)
def test_writing_and_compacting_on(tmp_path: Path, case: str) -> None:
    catalog = open_catalog({"warehouse": str(extract(case, tmp_path))})
    for name in catalog.list_tables("db"):
        table = catalog.get_table(f"db.{name}")
        assert isinstance(table, CatalogTable)
        # A partition with another number of buckets than the table's takes no rows until it is overwritten.
        numbers = {entry.total_buckets for entry in live(table)}
        compact(None, table)
        before = table.to_arrow()
        if table.is_primary_key_table and numbers <= {int(table.options.get("bucket", "-1"))}:
            table.write_arrow(before)
        assert rows(table) == sorted(map(repr, before.to_pylist())), name
        compact(None, table, full=True)
        assert rows(table) == sorted(map(repr, before.to_pylist())), name
        assert compact(None, table, full=True).snapshot_ids == (), name
