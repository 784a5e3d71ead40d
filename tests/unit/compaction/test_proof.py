"""Proved rewrites: faithful ones pass, and what is done wrong in any of them never reaches a snapshot."""

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import maintenance.compaction.rewrite as rewrite
import maintenance.compaction.sorting as sorting
from maintenance.catalog import CatalogTable
from maintenance.compaction.merging import MergedKeys, Merging
from maintenance.compaction.order.ranges import divided
from maintenance.compaction.proof.observer import HEAD_ROWS
from maintenance.compaction.proof.settings import ProofMode, ProofSettings
from maintenance.errors import OptionError
from maintenance.format.rows.system_fields import SEQUENCE_NUMBER
from maintenance.merge.ordered import RecordOrder
from maintenance.operations.checks.fsck import fsck
from maintenance.operations.compaction.compact import compact
from maintenance.read.run import ReadsFile
from maintenance.read.windows import Window, windows
from maintenance.write.rolling import RollingFileWriter
from tests.tables import create_table, data_files, files_on_disk, live

FIELDS = (("id", "INT NOT NULL"), ("a", "INT"), ("b", "STRING"), ("c", "DOUBLE"))
Change = Callable[[pa.Table], pa.Table]


def rows(keys: range, salt: int) -> pa.Table:
    ids = np.array(keys)
    return pa.table(
        {
            "id": pa.array(ids, pa.int32()),
            "a": pa.array((ids * 7 + salt) % 100, pa.int32(), mask=(ids + salt) % 3 == 0),
            "b": pa.array([None if (key + salt) % 4 == 0 else f"{salt} of {key}" for key in keys]),
            "c": pa.array(ids * 0.5 + salt),
        }
    )


def keyed(folder: Path, options: dict[str, str] | None = None) -> CatalogTable:
    """A table with three runs that overlap."""
    table = create_table(folder, FIELDS, ("id",), options or {})
    for salt in range(3):
        table.write_arrow(rows(range(salt * 50, 200 + salt * 30), salt))
    return table


def untouched(table: CatalogTable, folder: Path, before: pa.Table, snapshot: int | None) -> dict[str, Any]:
    """Check that the table is as it was, and that what was written is in quarantine. Returns what is told of it."""
    assert table.snapshots.latest_id() == snapshot
    assert table.to_arrow().sort_by("id") == before.sort_by("id")
    (said,) = Path(table.location).glob("_quarantine/*/proof.json")
    report: dict[str, Any] = json.loads(said.read_text())
    moved = {str(path.relative_to(said.parent)) for path in said.parent.rglob("*") if path.is_file()} - {"proof.json"}
    assert moved == set(report["files"])
    assert files_on_disk(table) - moved_paths(table) == data_files(table)
    assert fsck(table.file_io, table.location, deep=True).healthy
    return report


def moved_paths(table: CatalogTable) -> set[str]:
    return {path for path in files_on_disk(table) if "_quarantine" in path}


def refused(table: CatalogTable, folder: Path, **how: Any) -> dict[str, Any]:
    """Compact, which must fail with both digests, and leave the table as it was."""
    before, snapshot = table.to_arrow(), table.snapshots.latest_id()
    report = compact(None, table, full=True, **how)
    (group,) = report.failed
    said = untouched(table, folder, before, snapshot)
    assert said["expected"]["digest"] in group.message
    assert said["given"]["digest"] in group.message
    assert "_quarantine" in group.message
    return said


def merged_as(change: Change, monkeypatch: pytest.MonkeyPatch) -> None:
    """Make every merge of a compaction wrong, but for windows of few rows."""
    for method in ("merged", "looked_up"):
        right = getattr(Merging, method)

        def wrong(self: Merging, window: Window, levels: np.ndarray, right: Any = right) -> MergedKeys:
            actual: MergedKeys = right(self, window, levels)
            return actual if actual.results.num_rows < 10 else replace(actual, results=change(actual.results))

        monkeypatch.setattr(Merging, method, wrong)


def swapped(rows: pa.Table) -> pa.Table:
    """Two keys have each other's value."""
    order = np.arange(rows.num_rows)
    order[[3, 4]] = order[[4, 3]]
    at = rows.column_names.index("c")
    return rows.set_column(at, "c", rows.column("c").take(pa.array(order)))


def renumbered(rows: pa.Table) -> pa.Table:
    numbers = rows.column(SEQUENCE_NUMBER.name).to_numpy().copy()
    numbers[5] -= 1
    return rows.set_column(rows.column_names.index(SEQUENCE_NUMBER.name), SEQUENCE_NUMBER.name, pa.array(numbers))


def retracted(rows: pa.Table) -> pa.Table:
    kinds = rows.column("_VALUE_KIND").to_numpy().copy()
    kinds[2] = 3
    return rows.set_column(rows.column_names.index("_VALUE_KIND"), "_VALUE_KIND", pa.array(kinds))


def negated(rows: pa.Table) -> pa.Table:
    """The values of a whole column have another sign."""
    return rows.set_column(rows.column_names.index("c"), "c", pa.compute.negate(rows.column("c")))


WRONG: dict[str, Change] = {
    "drops a row": lambda rows: pa.concat_tables([rows.slice(0, 7), rows.slice(8)]),
    "doubles a row": lambda rows: pa.concat_tables([rows.slice(0, 8), rows.slice(7)]),
    "swaps values": swapped,
    "is out of order": lambda rows: rows.take(pa.array([1, 0, *range(2, rows.num_rows)])),
    "has another number": renumbered,
    "has another kind": retracted,
    "has other signs": negated,
    "has nothing": lambda rows: rows.slice(0, 0),
}
ENGINES: dict[str, dict[str, str]] = {
    "deduplicate": {},
    "first-row": {"merge-engine": "first-row"},
    "partial-update": {"merge-engine": "partial-update"},
    "groups": {"merge-engine": "partial-update", "fields.a.sequence-group": "b"},
    "aggregation": {
        "merge-engine": "aggregation",
        "fields.a.aggregate-function": "sum",
        "fields.b.aggregate-function": "max",
        "fields.c.aggregate-function": "sum",
    },
}


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("mode", ["auto", "full", "sampled"])
def test_a_faithful_rewrite_is_proved(engine: str, mode: str, tmp_path: Path) -> None:
    table = keyed(tmp_path, ENGINES[engine])
    before = table.to_arrow().sort_by("id")
    report = compact(None, table, full=True, proof=mode)
    assert not report.failed
    assert report.proof["mode"] == ("sampled" if mode == "sampled" else "full")
    assert (report.proof["rows read"], report.proof["rows written"]) == (540, 260)
    assert report.proof["columns proved by key"] == []
    assert str(report.proof["digest"]) in report.groups[0].proof
    # Of first-row tables reads leave out what is not compacted.
    assert engine == "first-row" or table.to_arrow().sort_by("id") == before


@pytest.mark.parametrize("wrong", WRONG)
@pytest.mark.parametrize("engine", ENGINES)
def test_a_wrong_merge_is_found(engine: str, wrong: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    table = keyed(tmp_path, ENGINES[engine])
    merged_as(WRONG[wrong], monkeypatch)
    refused(table, tmp_path)


def test_the_older_record_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    right = Merging.merged

    def wrong(self: Merging, window: Window, run_levels: np.ndarray) -> MergedKeys:
        oldest = window.groups.order[window.groups.starts]
        actual = right(self, window, run_levels)
        return replace(actual, results=window.rows.select(actual.results.column_names).take(pa.array(oldest)))

    monkeypatch.setattr(Merging, "merged", wrong)
    said = refused(keyed(tmp_path), tmp_path)
    assert said["expected"]["rows"] == said["given"]["rows"] == 260


@pytest.mark.parametrize("which", [0, 1])
def test_a_lost_window_is_found(which: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def wrong(runs: Sequence[Sequence[ReadsFile]], order: RecordOrder, _: int) -> Iterator[Window]:
        for number, window in enumerate(windows(runs, order, 100)):
            if number != which:
                yield window

    monkeypatch.setattr(rewrite, "windows", wrong)
    refused(keyed(tmp_path), tmp_path)


def test_a_writer_that_drops_a_batch_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    table = keyed(tmp_path)
    right = RollingFileWriter._write_group
    monkeypatch.setattr(RollingFileWriter, "_write_group", lambda self, rows: right(self, rows.slice(0, 100)))
    refused(table, tmp_path)


def test_a_wrong_level_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    table = keyed(tmp_path)
    right = RollingFileWriter.close
    monkeypatch.setattr(RollingFileWriter, "close", lambda self: tuple(replace(file, level=3) for file in right(self)))
    said = refused(table, tmp_path)
    assert any("on level 3, and 5 was planned" in wrong for wrong in said["wrong"])


def test_wrong_key_bounds_are_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    table = keyed(tmp_path)
    right = RollingFileWriter.close
    monkeypatch.setattr(
        RollingFileWriter, "close", lambda self: tuple(replace(file, max_key=file.min_key) for file in right(self))
    )
    said = refused(table, tmp_path)
    assert any("largest key" in wrong for wrong in said["wrong"])


@pytest.mark.parametrize("producer", ["full-compaction", "lookup"])
@pytest.mark.parametrize("lost", ["+I", "-U", "all", "values"])
def test_a_wrong_changelog_is_found(producer: str, lost: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    table = keyed(tmp_path, {"changelog-producer": producer})
    compact(None, table, full=True)
    table.write_arrow(rows(range(100, 400), 9))
    kind = {"+I": 0, "-U": 1}.get(lost)
    for method in ("merged", "looked_up"):
        right = getattr(Merging, method)

        def wrong(self: Merging, window: Window, levels: np.ndarray, right: Any = right) -> MergedKeys:
            actual: MergedKeys = right(self, window, levels)
            if actual.changelog is None:
                return actual
            kinds = actual.changelog.column("_VALUE_KIND").to_numpy()
            if lost == "values" and actual.changelog.num_rows >= 10:
                return replace(actual, changelog=swapped(actual.changelog))
            return replace(actual, changelog=actual.changelog.filter(pa.array((kinds != kind) & (lost != "all"))))

        monkeypatch.setattr(Merging, method, wrong)
    said = refused(table, tmp_path)
    assert any("changelog" in wrong for wrong in said["wrong"])


def appended(folder: Path, options: dict[str, str] | None = None) -> CatalogTable:
    table = create_table(folder, FIELDS, (), {"bucket": "-1", **(options or {})})
    for salt in range(4):
        table.write_arrow(rows(range(salt * 100, salt * 100 + 100), salt))
    return table


@pytest.mark.parametrize("how", [{}, {"order_strategy": "order", "order_by": ["a"]}])
def test_an_append_table_is_proved_and_other_rows_are_found(
    how: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = appended(tmp_path)
    report = compact(None, table, full=not how, **how)
    assert (report.proof["rows read"], report.proof["rows written"]) == (400, 400)
    table.write_arrow(rows(range(1000, 1100), 3))
    table.write_arrow(rows(range(1100, 1200), 3))
    right = RollingFileWriter.write
    monkeypatch.setattr(RollingFileWriter, "write", lambda self, rows: right(self, swapped(rows)))
    before, snapshot = table.to_arrow(), table.snapshots.latest_id()
    (group,) = compact(None, table, full=not how, **how).failed
    assert "not those read" in group.message
    untouched(table, tmp_path, before, snapshot)


def test_a_range_that_loses_rows_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    table = appended(tmp_path, {"target-file-size": "3 kb"})
    monkeypatch.setattr(sorting, "divided", lambda *given: ((n, rows.slice(0, 10)) for n, rows in divided(*given)))
    before, snapshot = table.to_arrow(), table.snapshots.latest_id()
    (group,) = compact(None, table, order_strategy="order", order_by=["id"]).failed
    assert "not those read" in group.message
    untouched(table, tmp_path, before, snapshot)


def test_off_is_off_and_other_words_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    table = keyed(tmp_path)
    with pytest.raises(OptionError, match="auto, full, sampled, off"):
        compact(None, table, proof="maybe")
    merged_as(WRONG["drops a row"], monkeypatch)
    report = compact(None, table, full=True, proof="off")
    assert not report.failed
    assert report.proof["mode"] == "off"


def test_a_sample_grows_thinner_with_the_rows() -> None:
    settings = ProofSettings(hashes=1000)
    assert [settings.shift(rows, 10) for rows in (1, 100, 101, 200, 201, 1000)] == [0, 0, 1, 1, 2, 4]


def test_rows_that_are_read_again() -> None:
    assert ProofSettings(ProofMode.FULL).read_back_rows(1 << 20) == 1 << 20
    assert ProofSettings(ProofMode.AUTO, read_back=100).read_back_rows(1 << 20) == 100
    assert ProofSettings(ProofMode.AUTO, read_back=100).read_back_rows(7) == 7


def test_files_are_read_again_until_it_is_enough(tmp_path: Path) -> None:
    table = create_table(tmp_path, FIELDS[:2], options={"target-file-size": "32 kb"})
    for turn in range(2):
        ids = pa.array(range(70_000), pa.int32())
        table.write_arrow(pa.table({"id": ids, "a": pa.array([turn] * len(ids), pa.int32())}))
    proof = compact(None, table, full=True).proof
    heads = [min(entry.file.row_count, HEAD_ROWS) for entry in live(table)]
    enough = next(i for i in range(len(heads)) if sum(heads[:i]) >= ProofSettings().read_back)
    assert enough < len(heads)
    assert proof["rows read back"] == sum(heads[:enough])
