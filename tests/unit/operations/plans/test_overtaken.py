"""What others commit after a plan was compared with the table, and before its own commit, is not overlooked."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from maintenance.catalog import CatalogTable
from maintenance.errors import OutdatedPlanError
from maintenance.operations import compact, operation
from maintenance.operations.rows import planned_merge
from maintenance.sql import Session
from tests.tables import create_table, data_files, files_on_disk, get_table

FIELDS = (("p", "STRING NOT NULL"), ("id", "INT NOT NULL"), ("b", "INT"))
TABLES: Mapping[str, Mapping[str, str]] = {
    "keyed": {"bucket": "1", "write-only": "true"},
    "keyed, dynamic": {"bucket": "-1", "write-only": "true"},
    "keyed, compacting": {"bucket": "1", "num-sorted-run.compaction-trigger": "1"},
    "evolved": {"row-tracking.enabled": "true", "data-evolution.enabled": "true", "deletion-vectors.enabled": "true"},
    "plain": {"deletion-vectors.enabled": "true"},
    "rewritten": {},
}
DELETE, UPDATE = "DELETE FROM db.t WHERE id >= 2", "UPDATE db.t SET b = 0 WHERE id >= 2"
MERGE = "MERGE INTO db.t USING (SELECT 3 AS id) s ON t.id >= s.id WHEN MATCHED THEN UPDATE SET b = 0"
CHANGES = (DELETE, UPDATE, "UPDATE db.t SET b = b - b WHERE id >= 2", MERGE)
DROPS = ("ALTER TABLE db.t DROP PARTITION (p = 'a')", "TRUNCATE TABLE db.t PARTITION (p = 'a')")


def put(table: CatalogTable, *ids: int, partition: str = "a") -> None:
    count = len(ids)
    rows = {"p": [partition] * count, "id": pa.array(ids, pa.int32()), "b": pa.array([10] * count, pa.int32())}
    table.write_arrow(pa.table(rows))


def table_of(folder: Path, kind: str) -> CatalogTable:
    """Rows 1 to 3 of partition a, and row 1 of partition b."""
    create_table(folder, FIELDS, ("p", "id") if "keyed" in kind else (), TABLES[kind], partition_keys=("p",))
    table = get_table(folder)
    put(table, 1, 2, 3)
    put(table, 1, partition="b")
    return table


def state(table: CatalogTable) -> set[tuple[str, int, int]]:
    return {(row["p"], row["id"], row["b"]) for row in table.to_arrow().to_pylist()}


def between(patch: pytest.MonkeyPatch, act: Callable[[], Any]) -> list[int]:
    """Do something once, right after a plan was found to be good. Returns how often one was compared."""
    compared: list[int] = []
    for module in (operation, planned_merge):
        refuse = module.refuse

        def refused(*given: Any, refuse: Callable[..., None] = refuse) -> None:
            refuse(*given)
            compared.append(1)
            if len(compared) == 1:
                act()

        patch.setattr(module, "refuse", refused)
    return compared


OF_SNAPSHOTS = [(kind, text) for kind in ("keyed", "keyed, dynamic", "keyed, compacting") for text in CHANGES]


@pytest.mark.parametrize(("kind", "text"), [*OF_SNAPSHOTS, ("evolved", DELETE), ("evolved", UPDATE)])
def test_a_change_of_rows_that_others_have_changed_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str, text: str
) -> None:
    table, session = table_of(tmp_path, kind), Session({"warehouse": str(tmp_path)})
    plan = session.plan(text)
    between(monkeypatch, lambda: put(table, 4))
    before = state(table)
    with pytest.raises(OutdatedPlanError):
        session.apply(plan)
    assert state(table) == {*before, ("a", 4, 10)}
    assert files_on_disk(table) == data_files(table)


@pytest.mark.parametrize("text", CHANGES[2:])
def test_rows_found_by_their_ids_stay_those(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    table, session = table_of(tmp_path, "evolved"), Session({"warehouse": str(tmp_path)})
    plan = session.plan(text)
    between(monkeypatch, lambda: put(table, 4))
    session.apply(plan)
    assert ("a", 4, 10) in state(table)
    assert ("a", 3, 0) in state(table)


@pytest.mark.parametrize("text", [DELETE, UPDATE])
@pytest.mark.parametrize("kind", ["plain", "rewritten"])
def test_new_files_with_such_rows_are_seen(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str, text: str
) -> None:
    table, session = table_of(tmp_path, kind), Session({"warehouse": str(tmp_path)})
    plan = session.plan(text)
    compared = between(monkeypatch, lambda: put(table, 4))
    with pytest.raises(OutdatedPlanError, match="the table has changed"):
        session.apply(plan)
    assert compared == [1], "the second comparison refuses"
    assert ("a", 4, 10) in state(table)
    assert ("a", 2, 10) in state(table)


@pytest.mark.parametrize("text", [DELETE, UPDATE, *DROPS])
@pytest.mark.parametrize("kind", ["plain", "rewritten"])
def test_what_does_not_concern_the_plan_has_it_compared_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str, text: str
) -> None:
    table, session = table_of(tmp_path, kind), Session({"warehouse": str(tmp_path)})
    plan = session.plan(text)
    compared = between(monkeypatch, lambda: put(table, 1, partition="b"))
    session.apply(plan)
    assert len(compared) == 2
    assert not state(table) & {("a", 2, 10), ("a", 3, 10)}
    assert table.to_arrow(where="p = 'b'").num_rows == 2
    assert files_on_disk(table) >= data_files(table)


@pytest.mark.parametrize("text", DROPS)
@pytest.mark.parametrize("kind", ["keyed", "plain"])
def test_rows_added_to_a_partition_are_not_dropped_with_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str, text: str
) -> None:
    table, session = table_of(tmp_path, kind), Session({"warehouse": str(tmp_path)})
    plan = session.plan(text)
    between(monkeypatch, lambda: put(table, 4))
    with pytest.raises(OutdatedPlanError, match="the table has changed"):
        session.apply(plan)
    assert table.to_arrow(where="p = 'a'").num_rows == 4


@pytest.mark.parametrize("text", CHANGES)
def test_a_compaction_by_others_changes_no_rows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    table, session = table_of(tmp_path, "keyed"), Session({"warehouse": str(tmp_path)})
    plan = session.plan(text)
    compared = between(monkeypatch, lambda: compact(None, table, full=True))
    session.apply(plan)
    assert len(compared) == 1
    assert not {("a", 3, 10)} & state(table)


def test_a_rollback_is_another_state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    table, session = table_of(tmp_path, "keyed"), Session({"warehouse": str(tmp_path)})
    plan = session.plan(DELETE)

    def back_and_on() -> None:
        session.sql("CALL sys.rollback(`table` => 'db.t', snapshot => 1)")
        put(table, 9, partition="b")

    between(monkeypatch, back_and_on)
    with pytest.raises(OutdatedPlanError):
        session.apply(plan)
    assert state(table) == {("a", 1, 10), ("a", 2, 10), ("a", 3, 10), ("b", 9, 10)}
