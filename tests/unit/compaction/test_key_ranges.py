"""A bucket that is cut by its keys becomes what one task would make of it."""

import datetime as dt
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from maintenance.catalog import CatalogTable
from maintenance.compaction import key_ranges
from maintenance.compaction.key_ranges import most_tasks, tasks_of
from maintenance.compaction.plan import BucketCompaction, RewriteStep
from maintenance.compaction.rewrite import rewrite_bucket
from maintenance.compaction.rewriting import CompactionResult, CompactionTask
from maintenance.operations.compaction import groups
from maintenance.operations.compaction.compact import compact
from maintenance.operations.compaction.report import CompactReport
from maintenance.read.key_range import KeyRange
from tests.examples import examples
from tests.tables import create_table, live
from tests.unit.compaction.files import data_file
from tests.unit.compaction.test_proof_random import HISTORIES, TABLES, table_with


@contextmanager
def cut_into(parts: int) -> Iterator[None]:
    """Each bucket is large enough for so many tasks, and each key is looked at."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(groups, "most_tasks", lambda _: parts)
        patch.setattr(groups, "tasks_of", lambda plans, slots: [parts if _merges(plan) else 1 for plan in plans])
        patch.setattr(key_ranges, "_BATCH_ROWS", 3)
        yield


def _merges(plan: BucketCompaction) -> bool:
    return any(isinstance(step, RewriteStep) for step in plan.steps)


def compacted(table: CatalogTable, parts: int, **arguments: Any) -> CompactReport:
    with cut_into(parts):
        report = compact(None, table, proof="full", **arguments)
    assert not report.failed, report.failed
    return report


def content(table: CatalogTable) -> tuple[list[Any], list[Any]]:
    """The rows, and the changelog of all compactions in the order of keys."""
    rows = sorted(map(str, table.to_arrow().to_pylist()))
    logged = []
    for number in range(1, (table.snapshots.latest_id() or 0) + 1):
        snapshot = table.snapshots.get(number)
        entries = table.manifests.changelog_entries(snapshot) if snapshot.commit_kind == "COMPACT" else []
        logged.append(sum(entry.file.row_count for entry in entries))
    return rows, logged


@settings(max_examples=examples(20), suppress_health_check=[HealthCheck.too_slow])
@given(case=st.sampled_from(TABLES), history=HISTORIES, parts=st.integers(2, 5), full=st.booleans())
def test_rows_and_changelog_are_those_of_one_task(case: Any, history: list[Any], parts: int, full: bool) -> None:
    options, deletes = case
    states = []
    for number in (1, parts):
        table = table_with(tempfile.mkdtemp(), options, history, deletes=deletes)
        compacted(table, number, full=full)
        states.append(content(table))
    assert states[0] == states[1]


KEYS = {
    "BIGINT": st.integers(-(2**63), 2**63 - 1),
    "STRING": st.text(max_size=4),
    "DOUBLE": st.floats(),
    "DECIMAL(20, 3)": st.decimals(-(10**16), 10**16, places=3),
    "DATE": st.dates(),
    "BYTES": st.binary(max_size=3),
    "TIMESTAMP(9)": st.datetimes(dt.datetime(1900, 1, 1), dt.datetime(2200, 1, 1)),
    "BOOLEAN": st.booleans(),
}


@settings(max_examples=examples(20), suppress_health_check=[HealthCheck.too_slow])
@given(data=st.data(), types=st.lists(st.sampled_from(sorted(KEYS)), min_size=1, max_size=3))
def test_keys_of_all_types_are_cut(data: st.DataObject, types: list[str]) -> None:
    fields = [(f"k{number}", f"{kind} NOT NULL") for number, kind in enumerate(types)]
    key = tuple(name for name, _ in fields)
    batches = [
        data.draw(st.lists(st.tuples(*(KEYS[kind] for kind in types)), min_size=1, max_size=20)) for _ in range(3)
    ]
    states = []
    for parts in (1, 3):
        table = create_table(tempfile.mkdtemp(), [*fields, ("v", "INT")], key)
        for number, batch in enumerate(batches):
            rows = [dict(zip(key, values, strict=True), v=number) for values in batch]
            table.write_arrow(pa.Table.from_pylist(rows, table.to_arrow().schema))
        compacted(table, parts, full=True)
        states.append(sorted(map(repr, table.to_arrow().to_pylist())))
    assert states[0] == states[1]


def large_table(folder: Path, **options: str) -> CatalogTable:
    table = create_table(
        folder, [("id", "BIGINT NOT NULL"), ("v", "STRING")], ("id",), {"write-only": "true", **options}
    )
    for start in (0, 1, 2):
        ids = range(start, 3000, 3 - start)
        table.write_arrow(pa.table({"id": pa.array(ids, pa.int64()), "v": [f"v{start}" for _ in ids]}))
    return table


def test_the_new_files_of_all_tasks_are_one_sorted_run(tmp_path: Path) -> None:
    table = large_table(tmp_path)
    lines: list[str] = []
    report = compacted(table, 4, full=True, progress=lines.append)
    (group,) = report.groups
    assert (group.tasks, group.output_files, group.output_rows) == (4, 4, 3000)
    assert "bucket 0 is cut by its keys into 4 tasks, which run side by side" in lines
    files = [entry.file for entry in live(table)]
    assert {file.level for file in files} == {5}
    assert sorted(file.row_count for file in files)[0] > 600


def test_what_other_tasks_have_written_goes_when_one_fails(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    table = large_table(tmp_path)
    before = {path.name for path in tmp_path.rglob("data-*")}
    whole = rewrite_bucket

    def failing(task: CompactionTask) -> CompactionResult:
        if task.keys.low is None:
            raise OSError("no room")
        return whole(task)

    monkeypatch.setattr(groups, "rewrite_bucket", failing)
    with cut_into(3):
        report = compact(None, table, full=True)
    assert [group.outcome for group in report.groups] == ["failed"]
    assert "no room" in report.groups[0].message
    assert {path.name for path in tmp_path.rglob("data-*")} == before
    assert table.to_arrow().num_rows == 3000


@pytest.mark.parametrize("fault", ["a row is in no range", "a row is in two ranges"])
def test_ranges_that_do_not_fit_together_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fault: str
) -> None:
    table = large_table(tmp_path)
    right = KeyRange.of

    def wrong(keys: KeyRange, rows: pa.Table) -> pa.Table:
        if fault == "a row is in two ranges":
            return right(KeyRange(keys.low, None), rows)
        inside = right(keys, rows)
        return inside if keys.low is None else inside.slice(1)

    monkeypatch.setattr(KeyRange, "of", wrong)
    with cut_into(2):
        report = compact(None, table, full=True)
    (group,) = report.groups
    assert group.outcome == "failed"
    assert "compaction failed verification" in group.message
    assert table.snapshots.latest_id() == 3
    assert len([*tmp_path.rglob("_quarantine/*/proof.json")]) == 1


def planned(size: int, clustering: tuple[str, ...] = ()) -> BucketCompaction:
    file = data_file("f", size=size)
    step = RewriteStep((((file,),),))
    return BucketCompaction(b"", 0, 1, 5, 5, True, False, (step,), "full", clustering=clustering)


def test_a_bucket_is_cut_only_where_it_would_hold_up_the_others() -> None:
    large, small = planned(1 << 30), planned(1 << 24)
    assert tasks_of([large], 1) == [1]
    assert tasks_of([large], 4) == [4]
    assert tasks_of([large] * 8, 4) == [1] * 8
    assert tasks_of([large, *[small] * 4], 4) == [4, 1, 1, 1, 1]
    assert tasks_of([small], 4) == [1]
    assert tasks_of([planned(1 << 30, ("a",))], 4) == [1]
    assert most_tasks(large) == 11
