"""What the bin holds of one table: whatever its runs took of it and still have."""

from pathlib import Path

import pytest

from maintenance.catalog import CatalogTable, Schema, open_catalog
from maintenance.operations.bin import bytes_in_bin as module
from maintenance.operations.bin.bytes_in_bin import BytesInBin, bytes_in_bin
from maintenance.operations.bin.restore import restore
from maintenance.operations.bin.run import BIN, BinRun, Going
from tests.small_tables import put, small_table


def binned(table: CatalogTable, warehouse: Path, sizes: list[int]) -> str:
    """Files of these sizes go into the bin; returns the run."""
    into = BinRun.begin(table, str(warehouse), "test")
    paths = [Path(table.location) / "bucket-0" / f"stray-{into.head.run}-{number}" for number in range(len(sizes))]
    for path, size in zip(paths, sizes, strict=True):
        path.write_bytes(b"x" * size)
    into.take([Going(str(path), size) for path, size in zip(paths, sizes, strict=True)])
    into.close()
    return into.head.run


def test_it_counts_what_is_there_of_this_table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    table, catalog = small_table(tmp_path), open_catalog({"warehouse": str(tmp_path)})
    catalog.create_table("db.other", Schema([("k", "BIGINT NOT NULL"), ("v", "STRING")], ["k"], (), {"bucket": "1"}))
    other = catalog.get_table("db.other")
    for one in (table, other):
        put(one, {1: "a"})
    assert bytes_in_bin(table, str(tmp_path)) == BytesInBin()
    binned(table, tmp_path, [5, 7])
    run = binned(table, tmp_path, [11])
    binned(other, tmp_path, [100])
    (tmp_path / BIN / "no-run").mkdir()
    assert bytes_in_bin(table, str(tmp_path)) == BytesInBin(2, 3, 23)
    assert bytes_in_bin(other, str(tmp_path)) == BytesInBin(1, 1, 100)
    restore(table, str(tmp_path), run)
    assert bytes_in_bin(table, str(tmp_path)) == BytesInBin(1, 2, 12)
    monkeypatch.setattr(module, "_RUNS_READ", 3)
    assert bytes_in_bin(table, str(tmp_path)) is None
