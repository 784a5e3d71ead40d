"""A report says what became of every unit: a group is as bad as its worst one, and nobody passes over a failure."""

import os
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import maintenance.operations.compaction.groups as compaction
from maintenance.catalog import CatalogTable
from maintenance.errors import ErrorClass, ProofError
from maintenance.format.metadata.data_file import DataFileMeta
from maintenance.operations.compaction.compact import compact
from maintenance.operations.compaction.plan import CompactionScope, plan_compaction
from maintenance.operations.compaction.report import CompactReport, GroupResult
from maintenance.operations.databases.compact_database import compact_database
from maintenance.operations.plan_store import UNPLANNED
from maintenance.table.table import Table
from maintenance.write.context import wall_clock_millis
from tests.kept_plans import plan_compact_database
from tests.tables import create_table, get_table, live, open_warehouse

FIELDS = (("id", "BIGINT"), ("v", "STRING"))
DAYS = (("day", "INT NOT NULL"), ("id", "INT NOT NULL"), ("v", "INT"))
TABLES: dict[str, dict[str, str]] = {"plain": {}, "deletion vectors": {"deletion-vectors.enabled": "true"}}


def many_units(folder: Path, options: dict[str, str] | None = None) -> CatalogTable:
    """An append table whose one bucket is compacted in several units of work."""
    small = {"target-file-size": "8 kb", "compaction.min.file-num": "2"}
    table = create_table(folder, FIELDS, (), {**small, **(options or {})})
    for start in range(0, 1200, 100):
        ids = range(start, start + 100)
        table.write_arrow(pa.table({"id": [*ids], "v": [os.urandom(12).hex() for _ in ids]}))
    return table


def units_of(table: CatalogTable) -> list[tuple[DataFileMeta, ...]]:
    plan = plan_compaction(table, CompactionScope(), now_millis=wall_clock_millis())
    return [tuple(unit.input_files) for unit in plan.units]


@contextmanager
def truncated(table: CatalogTable, file: DataFileMeta) -> Iterator[None]:
    """A data file has lost its second half."""
    (entry,) = (entry for entry in live(table) if entry.file == file)
    path = Path(table.paths.data_file(entry.partition, entry.bucket, entry.file))
    content = path.read_bytes()
    path.write_bytes(content[: len(content) // 2])
    yield
    path.write_bytes(content)


def the_group(report: CompactReport) -> GroupResult:
    (group,) = report.groups
    return group


@pytest.mark.parametrize("options", TABLES.values(), ids=TABLES)
@pytest.mark.parametrize("place", [0, 1, -1])
def test_a_unit_that_fails_makes_its_group_fail(tmp_path: Path, options: dict[str, str], place: int) -> None:
    table = many_units(tmp_path, options)
    if options:
        for start in range(0, 1200, 300):  # files whose vectors are in one index file share a unit
            gone = ", ".join(str(start + more) for more in (7, 107, 207))
            assert table.delete(f"id IN ({gone})").deleted_rows == 3
    units = units_of(table)
    assert len(units) > 2
    before = sorted(table.to_arrow().to_pylist(), key=lambda row: row["id"])
    with truncated(table, units[place][0]):
        report = compact(None, table)
    group = the_group(report)
    assert (group.outcome, report.failed, report.compacted_through) == ("failed", (group,), None)
    assert group.units == {"failed": 1, "committed": len(units) - 1}
    assert group.message.startswith(f"1 of {len(units)} units failed: ")
    assert units[place][0].file_name in group.message
    assert group.changed
    assert group.input_files == sum(map(len, units)) - len(units[place]), "what was replaced"
    assert len(report.snapshot_ids) == 1, "the others are committed"
    assert sorted(table.to_arrow().to_pylist(), key=lambda row: row["id"]) == before
    again = compact(None, table)
    assert (again.failed, again.compacted_through) == ((), again.base_snapshot_id)


def test_a_proof_that_fails_makes_its_group_fail(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    table = many_units(tmp_path)
    units = units_of(table)
    right = compaction.run_unit

    def wrong(task: Any) -> Any:
        if task.compaction.input_files == units[0]:
            raise ProofError("the rows are others", "here", "Look.")
        return right(task)

    monkeypatch.setattr(compaction, "run_unit", wrong)
    report = compact(None, table)
    group = the_group(report)
    assert (group.outcome, group.units, report.compacted_through) == (
        "failed",
        {"failed": 1, "committed": len(units) - 1},
        None,
    )
    assert "the rows are others" in group.message
    assert group.proof, "the others are proved"


def partitioned(folder: Path, options: dict[str, str], keys: tuple[str, ...]) -> CatalogTable:
    table = create_table(folder, DAYS, keys, options, partition_keys=("day",))
    for turn in range(3):
        rows = [(day, turn * 2000 + i, turn) for day in range(2) for i in range(2000)]
        columns = [pa.array(column, pa.int32()) for column in zip(*rows, strict=True)]
        table.write_arrow(pa.table(columns, [name for name, _ in DAYS]))
    return table


def outcomes(report: CompactReport) -> dict[tuple[str, int], str]:
    return {(group.partition, group.bucket): group.outcome for group in report.groups}


@pytest.mark.parametrize("target", ["10 mb", "8 kb"], ids=["whole", "in ranges"])
def test_a_partition_that_cannot_be_sorted_holds_up_no_other(tmp_path: Path, target: str) -> None:
    table = partitioned(tmp_path, {"target-file-size": target}, ())
    victim = next(entry.file for entry in live(table) if table.paths.spec_of(entry.partition) == {"day": "1"})
    with truncated(table, victim):
        report = compact(None, table, order_strategy="order", order_by=["id"])
    assert outcomes(report) == {("day=0", 0): "committed", ("day=1", 0): "failed"}
    assert victim.file_name in report.failed[0].message
    assert report.compacted_through is None
    assert len(report.snapshot_ids) == 1


def test_rows_that_cannot_leave_the_postpone_bucket_are_a_failure(tmp_path: Path) -> None:
    waiting = {"bucket": "-2", "postpone.batch-write-fixed-bucket": "false", "postpone.default-bucket-num": "1"}
    table = partitioned(tmp_path, waiting, ("day", "id"))
    victim = next(entry.file for entry in live(table) if table.paths.spec_of(entry.partition) == {"day": "1"})
    with truncated(table, victim):
        report = compact(None, table, full=True)
    actual = outcomes(report)
    assert (actual["day=0", -2], actual["day=0", 0], actual["day=1", -2]) == ("committed", "committed", "failed")
    assert report.compacted_through is None


def test_what_failed_counts_no_more_once_it_is_planned_again(tmp_path: Path) -> None:
    """A group that lost against another writer is planned again with all of its units, failed ones among them."""
    table = many_units(tmp_path)
    units = units_of(table)
    with ExitStack() as broken:
        broken.enter_context(truncated(table, units[0][0]))

        def listen(line: str) -> None:
            if "planned again" in line:
                broken.close()
            elif not others and "groups rewritten" in line:
                others.append(compact(None, table, only=lambda unit: tuple(unit.input_files) == units[-1]))

        others: list[CompactReport] = []
        report = compact(None, table, progress=listen)
    assert len(others[0].snapshot_ids) == 1
    group = the_group(report)
    assert (group.outcome, group.units) == ("conflict_retried", {"conflict_retried": len(units) - 1})
    assert report.compacted_through == report.base_snapshot_id


def test_a_table_that_fails_in_any_way_keeps_the_reports_of_the_others(tmp_path: Path) -> None:
    for name in ("db.a", "db.b", "db.c"):
        table = create_table(tmp_path, name=name, options={"num-sorted-run.compaction-trigger": "2"})
        for value in "xy":
            table.write_arrow(pa.table({"id": pa.array([1], pa.int32()), "v": [value]}))
    catalog = open_warehouse(tmp_path)

    def opened(table: Table) -> Table:
        if table.identifier == "db.b":
            raise OSError("no route to host")
        return table

    plan = plan_compact_database(catalog, opened=opened)
    assert {group.name.split(" ")[0] for group in plan.groups} == {"db.a", "db.c"}
    assert plan.arguments[UNPLANNED]["db.b"].startswith("OSError: no route to host (table db.b). ")
    report = compact_database(None, catalog, opened=opened, max_concurrent=1)
    assert {name: done.count("committed") for name, done in report.reports.items()} == {"db.a": 1, "db.c": 1}
    assert report.failed["db.b"].startswith("OSError: no route to host (table db.b). ")
    assert report.errors["db.b"].error_class == ErrorClass.INFRASTRUCTURE
    assert get_table(tmp_path, "db.b").snapshots.latest_id() == 2
