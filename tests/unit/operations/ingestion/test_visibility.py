"""Batches that wait until a compaction has made their rows visible."""

import threading
from pathlib import Path

import pytest

from maintenance.catalog import CatalogTable
from maintenance.commit.overwrite import Overwrite
from maintenance.errors import VisibilityError
from maintenance.format.metadata.index_manifest import IndexManifestEntry
from maintenance.operations import compact, create_global_index
from maintenance.operations.ingestion.ingest import ingest
from tests.tables import create_table, keyed, state

WAITS = {
    "visibility-callback.enabled": "true",
    "visibility-callback.check-interval": "1 ms",
    "visibility-callback.timeout": "20 ms",
}
VECTORS = {"deletion-vectors.enabled": "true"}
POSTPONED = {
    "bucket": "-2", "postpone.batch-write-fixed-bucket": "false", "postpone.default-bucket-num": "1"
}  # fmt: skip


@pytest.mark.parametrize("options", [VECTORS, POSTPONED])
def test_a_batch_waits_for_the_compaction(tmp_path: Path, options: dict[str, str]) -> None:
    table = create_table(tmp_path, options={**WAITS, **options})
    with pytest.raises(VisibilityError, match="1 of their files are not compacted") as raised:
        table.write_arrow(keyed({1: "a"}))
    assert "Do not write them again" in raised.value.fix
    assert (state(table), table.snapshots.latest_id()) == ({}, 1)
    compact(None, table)
    patient = table.copy({"visibility-callback.timeout": "60 s"})

    def compact_soon() -> None:
        while (table.snapshots.latest_id() or 0) < 3:
            pass
        compact(None, table)

    other = threading.Thread(target=compact_soon)
    other.start()
    patient.write_arrow(keyed({2: "b"}))
    assert state(table) == {1: "a", 2: "b"}
    other.join()


def test_writers_that_compact_need_not_wait(tmp_path: Path) -> None:
    table = create_table(tmp_path, options={**WAITS, **VECTORS, "write-only": "false", "bucket": "1"})
    table.write_arrow(keyed({1: "a"}))
    table.overwrite_arrow(keyed({2: "b"}), Overwrite())
    assert state(table) == {2: "b"}


def test_tables_and_writes_that_show_rows_at_once_do_not_wait(tmp_path: Path) -> None:
    plain: CatalogTable = create_table(tmp_path / "plain", options=WAITS)
    plain.write_arrow(keyed({1: "a"}))
    assert state(plain) == {1: "a"}
    table = create_table(tmp_path, options={**WAITS, **VECTORS})
    ingest(None, table, keyed({1: "a"}), commit_user="stream", commit_identifier=1)
    assert table.snapshots.latest_id() == 1
    table.overwrite_arrow(keyed({1: "b"}))  # its files go to the highest level at once
    assert state(table) == {1: "b"}


def test_a_batch_waits_for_global_indexes(tmp_path: Path) -> None:
    tracked = {"row-tracking.enabled": "true", "data-evolution.enabled": "true"}
    table = create_table(tmp_path, primary_keys=(), options={**WAITS, **tracked})
    table.write_arrow(keyed({1: "a"}))  # nothing indexes the table yet
    create_global_index(None, table, "id")
    create_global_index(None, table, "v", "bitmap")
    with pytest.raises(VisibilityError, match="2 of them are in no global index"):
        table.write_arrow(keyed({2: "b", 3: "c"}))
    assert state(table) == {1: "a", 2: "b", 3: "c"}
    patient = table.copy({"visibility-callback.timeout": "60 s"})
    before = table.snapshots.latest_id() or 0

    def index_soon() -> None:
        while (table.snapshots.latest_id() or 0) == before:
            pass
        create_global_index(None, table, "id")
        create_global_index(None, table, "v", "bitmap")

    other = threading.Thread(target=index_soon)
    other.start()
    patient.write_arrow(keyed({4: "d"}))
    other.join()
    assert len([entry for entry in _indexed(table) if entry.global_index.row_range_end == 3]) == 2  # type: ignore[union-attr]


def _indexed(table: CatalogTable) -> list[IndexManifestEntry]:
    snapshot = table.latest_snapshot()
    assert snapshot is not None
    return [entry for entry in table.manifests.read_index(snapshot) if entry.global_index is not None]
