"""Commits to the branches of a chain table keep what the other branch needs."""

from pathlib import Path
from typing import Any

import pytest

from maintenance.catalog import CatalogTable
from maintenance.commit.overwrite import Overwrite
from maintenance.errors import CommitError, DataError
from maintenance.operations import drop_partitions, rescale
from maintenance.table import chain_commits
from tests.chain_tables import chain_table, found, put, rows


@pytest.fixture
def table(tmp_path: Path) -> CatalogTable:
    table = chain_table(tmp_path)
    put(table, "snapshot", ("20250810", 1, 1, "a"), ("20250813", 1, 1, "c"))
    put(table, "delta", ("20250811", 2, 1, "b"), ("20250814", 3, 1, "d"))
    return table


def days(table: CatalogTable, branch: str) -> list[Any]:
    return sorted({row[0] for row in found(table.on_branch(branch))})


def drop(table: CatalogTable, branch: str, *names: str) -> None:
    drop_partitions(table.on_branch(branch), [{"day": name} for name in names])


def test_an_anchor_stays_while_changes_need_it(table: CatalogTable) -> None:
    with pytest.raises(DataError, match=r"day=20250810 is what day=20250811 .*builds on"):
        drop(table, "snapshot", "20250810")
    with pytest.raises(DataError, match=r"day=20250810 .*builds on"):
        drop(table, "snapshot", "20250810", "20250813")
    before = found(table)
    assert len(before) == 6
    drop(table, "delta", "20250811")
    drop(table, "snapshot", "20250810")
    assert found(table) == [row for row in before if str(row[0]) > "20250811"]


def test_a_later_anchor_may_go_where_an_earlier_one_is_left(table: CatalogTable) -> None:
    drop(table, "snapshot", "20250813")
    assert [row[1] for row in found(table, "day = '20250814'")] == [1, 2, 3]


def test_an_overwrite_of_changes_drops_what_was_made_of_them(table: CatalogTable) -> None:
    put(table, "snapshot", ("20250814", 9, 9, "merged"))
    assert [row[1] for row in found(table, "day = '20250814'")] == [9]
    delta = table.on_branch("delta")
    delta.overwrite_arrow(rows(("20250814", 4, 1, "again")), Overwrite([{"day": "20250814"}], dynamic=False))
    assert days(table, "snapshot") == ["20250810", "20250813"]
    assert [row[1] for row in found(table, "day = '20250814'")] == [1, 4]


def test_an_overwrite_that_would_take_an_anchor_is_refused(table: CatalogTable) -> None:
    put(table, "delta", ("20250810", 5, 1, "first"))
    delta = table.on_branch("delta")
    with pytest.raises(DataError, match=r"day=20250810 .*builds on"):
        delta.overwrite_arrow(rows(("20250810", 6, 1, "x")), Overwrite([{"day": "20250810"}], dynamic=False))
    assert found(delta, "day = '20250810'") == [("20250810", 5, 1, "first")]


def test_a_rescale_of_changes_keeps_what_was_made_of_them(table: CatalogTable) -> None:
    put(table, "snapshot", ("20250814", 9, 9, "merged"))
    rescale(None, table.on_branch("delta"), bucket_num=2)
    assert days(table, "snapshot") == ["20250810", "20250813", "20250814"]


def test_an_overwrite_stays_where_what_was_made_of_it_cannot_be_dropped(
    table: CatalogTable, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The changes are committed first, and repeating them drops the rest."""
    put(table, "snapshot", ("20250814", 9, 9, "merged"))
    delta, new = table.on_branch("delta"), rows(("20250814", 4, 1, "again"))
    overwrite = Overwrite([{"day": "20250814"}], dynamic=False)

    def busy(*_: object) -> None:
        raise CommitError("other writers published first in 11 attempts", "the snapshot branch", "Run again.")

    with monkeypatch.context() as patch:
        patch.setattr(chain_commits, "drop_partitions", busy)
        with pytest.raises(CommitError, match="the snapshot branch"):
            delta.overwrite_arrow(new, overwrite)
    assert found(delta, "day = '20250814'") == [("20250814", 4, 1, "again")]
    assert days(table, "snapshot") == ["20250810", "20250813", "20250814"]
    delta.overwrite_arrow(new, overwrite)
    assert [row[1] for row in found(table, "day = '20250814'")] == [1, 4]
