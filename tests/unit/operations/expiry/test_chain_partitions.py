"""Partitions of chain tables expire by segments: complete partitions with the changes up to the next one."""

from datetime import datetime, timedelta
from pathlib import Path

import pytest

from maintenance.catalog import CatalogTable
from maintenance.operations import expire_partitions
from tests.chain_tables import chain_table, found, put

NOW = datetime(2025, 8, 20)
LIFE = timedelta(days=4)  # due is what is before the 16th


@pytest.fixture
def table(tmp_path: Path) -> CatalogTable:
    table = chain_table(tmp_path)
    put(table, "snapshot", *((f"202508{day}", 1, 1, "whole") for day in (11, 13, 15, 18)))
    put(table, "delta", *((f"202508{day}", day, 1, "changed") for day in (10, 11, 12, 13, 14, 16, 19)))
    return table


def days(table: CatalogTable, branch: str) -> list[int]:
    return sorted({int(str(row[0])[-2:]) for row in found(table.on_branch(branch))})


@pytest.mark.parametrize("branch", ["main", "snapshot", "delta"])
@pytest.mark.parametrize("batch_size", [None, 1])
def test_segments_that_are_due_go_on_every_branch_and_no_others(
    table: CatalogTable, branch: str, batch_size: int | None
) -> None:
    before = found(table, "day >= '20250815'")
    opened = table.on_branch(branch)
    planned = expire_partitions(opened, expiration_time=LIFE, now=NOW, dry_run=True)
    assert days(table, "delta") == [10, 11, 12, 13, 14, 16, 19]
    report = expire_partitions(opened, expiration_time=LIFE, batch_size=batch_size, now=NOW)
    assert report.expired == planned.expired
    assert [spec["day"][-2:] for spec in report.expired] == ["10", "11", "12", "13", "14"]
    assert (days(table, "snapshot"), days(table, "delta")) == ([15, 18], [16, 19])
    assert found(table, "day >= '20250815'") == before
    assert expire_partitions(opened, expiration_time=LIFE, now=NOW).expired == ()


def test_no_more_segments_than_allowed(table: CatalogTable) -> None:
    report = expire_partitions(table, expiration_time=LIFE, now=NOW, max_expires=1)
    assert report.remaining == 1
    assert (days(table, "snapshot"), days(table, "delta")) == ([13, 15, 18], [13, 14, 16, 19])


def test_the_newest_complete_partition_that_is_due_stays(table: CatalogTable) -> None:
    report = expire_partitions(table, expiration_time=timedelta(days=8), now=NOW)
    assert report.expired == ()
    assert days(table, "snapshot") == [11, 13, 15, 18]
