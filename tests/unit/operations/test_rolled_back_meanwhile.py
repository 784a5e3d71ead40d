"""A rollback while an operation runs: the rows, row ids and numbers that it has read are those of others by then."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pyarrow as pa
import pytest

from maintenance.catalog import CatalogTable
from maintenance.commit.attempts import CommitAttempts
from maintenance.operations import create_global_index, rollback_to
from maintenance.operations.rows.merge_clauses import Clause
from tests.tables import create_table, get_table, keyed, state

OPTIONS = {"row-tracking.enabled": "true", "data-evolution.enabled": "true", "deletion-vectors.enabled": "true"}
CHANGES: dict[str, Callable[[CatalogTable], object]] = {
    "update": lambda table: table.update({"v": "'changed'"}, "id = 2"),
    "merge": lambda table: table.merge(keyed({2: "new"}), "t.id = s.id", [Clause("matched", "update", {"v": "s.v"})]),
    "delete": lambda table: table.delete("id = 2"),
}


@pytest.fixture
def table(tmp_path: Path) -> CatalogTable:
    """Two snapshots with a row each."""
    create_table(tmp_path, (("id", "INT"), ("v", "STRING"), ("w", "STRING")), (), OPTIONS)
    table = get_table(tmp_path)
    put(table, {1: "one"})
    put(table, {2: "two"})
    return table


def put(table: CatalogTable, rows: dict[int, str | None]) -> None:
    added = keyed(rows)
    table.write_arrow(added.append_column("w", pa.nulls(added.num_rows, pa.string())))


def before_the_commit(patch: pytest.MonkeyPatch, act: Callable[[], object]) -> list[int]:
    """Do something once, when all is read and written and the first commit begins."""
    begin = CommitAttempts.__iter__
    done: list[int] = []

    def late(attempts: CommitAttempts) -> Iterator[object]:
        if not done:
            done.append(1)
            act()
        return begin(attempts)

    patch.setattr(CommitAttempts, "__iter__", late)
    return done


@pytest.mark.parametrize("change", CHANGES)
def test_rows_of_the_same_ids_are_not_changed_in_the_place_of_others(
    table: CatalogTable, monkeypatch: pytest.MonkeyPatch, change: str
) -> None:
    def other_rows() -> None:
        rollback_to(table, snapshot_id=1)
        put(table, {30: "thirty"})

    done = before_the_commit(monkeypatch, other_rows)
    CHANGES[change](table)
    assert done
    assert state(table) == {1: "one", 30: "thirty"}


def test_values_of_what_was_rolled_back_do_not_come_again(table: CatalogTable, monkeypatch: pytest.MonkeyPatch) -> None:
    table.update({"v": "'third'"})
    done = before_the_commit(monkeypatch, lambda: rollback_to(table, snapshot_id=2))
    table.update({"w": "v"})
    assert done
    assert table.to_arrow(columns=["w"])["w"].to_pylist() == ["one", "two"]


def test_an_index_is_of_the_rows_that_are_there(table: CatalogTable, monkeypatch: pytest.MonkeyPatch) -> None:
    def other_rows() -> None:
        rollback_to(table, snapshot_id=1)
        put(table, {30: "thirty"})

    done = before_the_commit(monkeypatch, other_rows)
    create_global_index(None, table, "v", "btree")
    assert done
    assert table.to_arrow(where="v = 'thirty'")["id"].to_pylist() == [30]
    assert table.to_arrow(where="v = 'two'").num_rows == 0
