"""Partitions that a table does not have are named, with those it has, wherever they can be asked for."""

import datetime as dt
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from maintenance.catalog import CatalogTable
from maintenance.errors import ErrorClass, NotFoundError
from maintenance.operations.compaction.compact import compact
from maintenance.operations.compaction.partition_choice import no_match
from maintenance.operations.compaction.produce_changelog import produce_changelog
from maintenance.operations.compaction.request import ChangelogRequest, CompactRequest
from maintenance.operations.indexes.rewrite_file_index import rewrite_file_index
from tests.kept_plans import plan_compact, preview_changelog
from tests.tables import create_table, get_table

FIELDS = (("day", "STRING NOT NULL"), ("id", "INT NOT NULL"), ("v", "STRING"))
OPTIONS = {"changelog-producer": "full-compaction", "file-index.bloom-filter.columns": "v"}
VECTORS = {"deletion-vectors.enabled": "true"}


def filled(
    folder: Path, days: int = 3, options: Mapping[str, str] | None = None, *, keyed: bool = True
) -> CatalogTable:
    keys = ("day", "id") if keyed else ()
    table = create_table(folder, FIELDS, keys, OPTIONS if options is None else options, partition_keys=("day",))
    for _ in range(2):
        names = [f"2026-08-{number:02d}" for number in range(1, days + 1)]
        table.write_arrow(pa.table({"day": names, "id": pa.array(range(days), pa.int32()), "v": ["x"] * days}))
    return table


BY_NAME: dict[str, Callable[..., Any]] = {
    "compact": lambda table, **how: compact(None, table, **how),
    "dry run": lambda table, **how: compact(None, table, dry_run=True, **how),
    "plan": lambda table, **how: plan_compact(table, CompactRequest(**how)),
    "changelog": lambda table, **how: produce_changelog(None, table, **how),
    "changelog plan": lambda table, **how: preview_changelog(table, ChangelogRequest(**how)),
}


@pytest.mark.parametrize("operation", BY_NAME)
def test_a_misspelt_partition_is_an_error(tmp_path: Path, operation: str) -> None:
    table = filled(tmp_path)
    with pytest.raises(NotFoundError) as caught:
        BY_NAME[operation](table, partitions=[{"day": "2026-08-02"}, {"day": "2026-08-2"}])
    assert caught.value.error_class == ErrorClass.USER
    assert caught.value.found == "partition day=2026-08-2 does not exist"
    assert caught.value.where == "table db.t"
    assert caught.value.fix == (
        "The nearest one is day=2026-08-02. The table has 3 partitions: day=2026-08-01, day=2026-08-02, day=2026-08-03."
    )
    assert table.snapshots.latest_id() == 2


def test_many_partitions_are_told_as_a_range(tmp_path: Path) -> None:
    table = filled(tmp_path, 30)
    with pytest.raises(NotFoundError, match=r"The table has 30 partitions, from day=2026-08-01 to day=2026-08-30\."):
        compact(None, table, partitions=[{"day": "nothing like it"}])


def test_a_table_without_rows_has_no_partitions(tmp_path: Path) -> None:
    table = create_table(tmp_path, FIELDS, ("day", "id"), partition_keys=("day",))
    with pytest.raises(NotFoundError, match="The table has no partitions yet"):
        compact(None, table, partitions=[{"day": "2026-08-01"}])


BY_FILTER: dict[str, Callable[..., Any]] = {
    "compact": lambda table, where: compact(None, table, full=True, where=where),
    "dry run": lambda table, where: compact(None, table, full=True, where=where, dry_run=True),
    "changelog": lambda table, where: produce_changelog(None, table, where=where),
    "file index": lambda table, where: rewrite_file_index(None, table, where=where),
}


@pytest.mark.parametrize("operation", BY_FILTER)
def test_a_filter_that_matches_no_partition_is_a_finding(tmp_path: Path, operation: str) -> None:
    table = filled(tmp_path)
    report = BY_FILTER[operation](table, "day > '2027'")
    assert report.finding == (
        "no partition matches day > '2027'. The table has 3 partitions: day=2026-08-01, day=2026-08-02, day=2026-08-03."
    )
    assert report.snapshot_ids == ()
    assert BY_FILTER[operation](table, "day > '2026-08-01'").finding is None
    assert BY_FILTER[operation](table, "day > '2026-08-01'").finding is None, "also where nothing is left to do"


@pytest.mark.parametrize(
    ("options", "keyed"),
    [({}, True), (VECTORS, True), ({}, False), (VECTORS, False)],
    ids=["records", "merge on write", "copy on write", "vectors"],
)
def test_rows_of_no_partition(tmp_path: Path, options: Mapping[str, str], keyed: bool) -> None:
    table = filled(tmp_path, options=options, keyed=keyed)
    compact(None, table, full=True)
    for where in ("day = '2026-08-31'", "day = '2026-08-31' AND id = 1"):
        report = table.delete(where)
        assert report.finding is not None
        assert report.finding.startswith(f"no partition matches {where}. The table has 3 partitions")
        assert table.update({"v": "'y'"}, where).finding == report.finding
    assert table.delete("id = 77").finding is None
    assert table.delete("day = '2026-08-01' AND id = 77").finding is None
    report = table.delete("day = '2026-08-01' AND id = 0")
    assert (report.deleted_rows, report.finding) == (1 if keyed else 2, None)


def test_dates_that_folders_show_as_numbers(tmp_path: Path) -> None:
    fields = (("day", "DATE NOT NULL"), ("id", "INT NOT NULL"))
    table = create_table(tmp_path, fields, ("day", "id"), partition_keys=("day",))
    table.write_arrow(pa.table({"day": [dt.date(2026, 8, 1)], "id": pa.array([1], pa.int32())}))
    with pytest.raises(NotFoundError) as caught:
        compact(None, table, partitions=[{"day": "2026-08-02"}])
    assert caught.value.found == "partition day=20667 does not exist"
    for name in ("2026-08-01", "20666"):
        assert [group.partition for group in compact(None, table, partitions=[{"day": name}]).groups] == ["day=20666"]
    assert compact(None, get_table(tmp_path), full=True, partitions=[{"day": "2026-08-01"}]).snapshot_ids == (2,)


def test_a_table_without_partitions_has_nothing_to_match(tmp_path: Path) -> None:
    table = create_table(tmp_path)
    table.write_arrow(pa.table({"id": pa.array([1], pa.int32()), "v": ["x"]}))
    assert no_match(table, "id = 7") is None
    assert table.delete("id = 7").finding is None
