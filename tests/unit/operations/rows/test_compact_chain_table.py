"""Partitions of chain tables are made complete: what is read of them stays the same."""

from pathlib import Path

import pytest

from maintenance.catalog import CatalogTable
from maintenance.errors import ConflictError, NotFoundError, OptionError, OutdatedPlanError
from maintenance.operations import compact_chain_table, rollback_to
from maintenance.operations.rows import compact_chain_table as module
from maintenance.sql import Session
from tests.chain_tables import BY_HOUR, HOURS, chain_table, found, put
from tests.tables import files_on_disk, texts_of


@pytest.fixture
def table(tmp_path: Path) -> CatalogTable:
    table = chain_table(tmp_path)
    put(table, "snapshot", ("20250810", 1, 1, "a"), ("20250810", 2, 1, "b"))
    put(table, "delta", ("20250811", 2, 2, "c"), ("20250812", 3, 1, "d"))
    return table


def test_a_partition_is_made_complete(table: CatalogTable) -> None:
    before = found(table)
    planned = compact_chain_table(None, table, {"day": "20250811"}, dry_run=True)
    assert (planned.files, planned.snapshot_id) == (2, None)
    report = compact_chain_table(None, table, {"day": "20250811"})
    assert (texts_of(report.partitions), report.snapshot_id) == (({"day": "20250811"},), 2)
    snapshot = table.on_branch("snapshot")
    assert found(snapshot, "day = '20250811'") == [row for row in before if row[0] == "20250811"]
    assert found(table) == before
    again = compact_chain_table(None, table, {"day": "20250811"})
    assert (again.files, again.snapshot_id) == (0, None)


def test_a_partition_without_rows_has_nothing_to_complete(table: CatalogTable) -> None:
    report = compact_chain_table(None, table, {"day": "20250901"})
    assert (report.partitions, report.files, report.snapshot_id) == ((), 0, None)


def test_again_with_later_changes(table: CatalogTable) -> None:
    compact_chain_table(None, table, {"day": "20250811"})
    put(table, "delta", ("20250811", 9, 1, "late"))
    assert len(found(table, "day = '20250811'")) == 2
    compact_chain_table(None, table, {"day": "20250811"}, overwrite=True)
    assert [row[1] for row in found(table, "day = '20250811'")] == [1, 2, 9]


def test_one_group_leaves_the_others(tmp_path: Path) -> None:
    table = chain_table(tmp_path, HOURS, BY_HOUR)
    put(table, "delta", *((region, "20250811", "01", 1, 1, "x") for region in ("eu", "us")), columns=BY_HOUR)
    compact_chain_table(None, table, {"region": "eu", "day": "20250811"})
    assert [row[0] for row in found(table.on_branch("snapshot"))] == ["eu"]
    report = compact_chain_table(None, table, {"day": "20250811"}, overwrite=True)
    assert len(report.partitions) == 2
    assert len(found(table)) == 2


def test_changes_that_come_meanwhile(table: CatalogTable, monkeypatch: pytest.MonkeyPatch) -> None:
    written = module._written

    def slowly(*given: object) -> object:
        messages = written(*given)  # type: ignore[arg-type]
        put(table, "delta", ("20250811", 7, 1, "late"))
        return messages

    monkeypatch.setattr(module, "_written", slowly)
    with pytest.raises(ConflictError, match="written to while"):
        compact_chain_table(None, table, {"day": "20250811"})
    assert table.on_branch("snapshot").snapshots.list_ids() == [1]
    assert sum(path.endswith(".parquet") for path in files_on_disk(table)) == 4, "what was written is gone"
    assert [row[1] for row in found(table, "day = '20250811'")] == [1, 2, 7]


def test_other_changes_in_the_place_of_those_that_were_rolled_back(
    table: CatalogTable, monkeypatch: pytest.MonkeyPatch
) -> None:
    written, delta = module._written, table.on_branch("delta")
    put(table, "delta", ("20250811", 8, 1, "rolled back"))

    def slowly(*given: object) -> object:
        messages = written(*given)  # type: ignore[arg-type]
        rollback_to(delta, snapshot_id=1)
        put(table, "delta", ("20250811", 7, 1, "in its place"))
        return messages

    monkeypatch.setattr(module, "_written", slowly)
    with pytest.raises(ConflictError, match="written to while"):
        compact_chain_table(None, table, {"day": "20250811"})
    assert [row[1] for row in found(table, "day = '20250811'")] == [1, 2, 7]


def test_partitions_and_tables_that_cannot_be_completed_are_refused(table: CatalogTable) -> None:
    with pytest.raises(NotFoundError, match="is not a partition"):
        compact_chain_table(None, table, {"k": "1"})
    with pytest.raises(OptionError, match="not a chain table"):
        compact_chain_table(None, table.on_branch("delta"), {"day": "20250811"})


def test_the_procedure_completes_a_partition_once(tmp_path: Path, table: CatalogTable) -> None:
    session = Session({"warehouse": str(tmp_path)}, dialect="spark")
    call = "CALL sys.compact_chain_table(table => 'db.t', partition => 'day=\"20250811\"')"
    assert session.sql(call).to_arrow().to_pylist() == [{"result": True}]
    assert session.sql(call).to_arrow().to_pylist() == [{"result": False}]
    assert len(found(table.on_branch("snapshot"), "day = '20250811'")) == 2


def test_a_partition_is_made_complete_as_planned(table: CatalogTable, tmp_path: Path) -> None:
    session = Session({"warehouse": str(tmp_path)})
    call = "CALL sys.compact_chain_table(table => 'db.t', partition => 'day=\"20250811\"')"
    plan = session.plan(call)
    assert [(group.name, len(group.files)) for group in plan.groups] == [("day=20250811", 2)]
    put(table, "delta", ("20250811", 5, 1, "e"))
    with pytest.raises(OutdatedPlanError, match="1 file new in it"):
        session.apply(plan)
    before = found(table)
    assert session.apply(session.plan(call)).to_arrow().to_pylist() == [{"result": True}]
    assert found(table) == before
