"""Retractions that could be stored and never merged are refused when they are written, at every entrance."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import pyarrow as pa
import pytest

from maintenance.catalog import CatalogTable
from maintenance.errors import DataError
from maintenance.operations.compaction.compact import compact
from maintenance.operations.ingestion.ingest import ingest
from maintenance.spark.frame_write import FrameWrite
from tests.tables import create_table, files_on_disk, get_table

FIELDS = [("k", "INT NOT NULL"), ("g", "INT"), ("a", "INT"), ("kind", "STRING")]
PARTIAL = {"merge-engine": "partial-update"}
GROUP = {**PARTIAL, "fields.g.sequence-group": "a"}
AGGREGATION = {"merge-engine": "aggregation", "fields.kind.ignore-retract": "true"}
FIRST = {"merge-engine": "first-row"}

Row = tuple[int, int | None, int | None]


def put_by(entrance: str, table: CatalogTable, rows: Sequence[Row], kinds: Sequence[str]) -> None:
    data = pa.table(
        {
            "k": pa.array([row[0] for row in rows], pa.int32()),
            "g": pa.array([row[1] for row in rows], pa.int32()),
            "a": pa.array([row[2] for row in rows], pa.int32()),
        }
    )
    spoken = data.append_column("op", pa.array(kinds))
    ENTRANCES[entrance](table, data, spoken, kinds)


def _by_argument(table: CatalogTable, data: pa.Table, _spoken: pa.Table, kinds: Sequence[str]) -> None:
    table.write_arrow(data, row_kinds=kinds)


def _by_column(table: CatalogTable, data: pa.Table, _spoken: pa.Table, kinds: Sequence[str]) -> None:
    table.write_arrow(data.append_column("kind", [kinds]))


def _by_ingest(table: CatalogTable, _data: pa.Table, spoken: pa.Table, _kinds: Sequence[str]) -> None:
    ingest(None, table, spoken, commit_user="feed", commit_identifier=1, row_kind_column="op")


def _by_frame(table: CatalogTable, _data: pa.Table, spoken: pa.Table, _kinds: Sequence[str]) -> None:
    """What each task of Spark's writer, of the data source and of the streaming sink does with its rows."""
    FrameWrite(table.write_context(), table.write_state("me"), "op").conformed(spoken)


ENTRANCES: Mapping[str, Callable[[CatalogTable, pa.Table, pa.Table, Sequence[str]], None]] = {
    "write_arrow": _by_argument,
    "rowkind.field": _by_column,
    "ingest": _by_ingest,
    "tasks": _by_frame,
}


def a_table(folder: Path, options: Mapping[str, str], entrance: str = "write_arrow") -> CatalogTable:
    fields = {"rowkind.field": "kind"} if entrance == "rowkind.field" else {}
    return create_table(folder, FIELDS, ["k"], {**options, **fields})


REFUSED: Mapping[str, tuple[Mapping[str, str], Row, str, str]] = {
    "partial-update -D": (PARTIAL, (1, None, 1), "-D", "'ignore-delete'"),
    "partial-update -U": (PARTIAL, (1, None, 1), "-U", "'ignore-delete'"),
    "partial-update -D with the other kind ignored": (
        {**PARTIAL, "ignore-update-before": "true"}, (1, None, 1), "-D", "'ignore-delete'",
    ),
    "first-row -D": (FIRST, (1, None, 1), "-D", "'ignore-delete'"),
    "first-row -U": (FIRST, (1, None, 1), "-U", "'ignore-delete'"),
    "waiting rows": ({**FIRST, "bucket": "-2"}, (1, None, 1), "-D", "'ignore-delete'"),
    "aggregation max": (
        {**AGGREGATION, "fields.a.aggregate-function": "max"}, (1, None, 1), "-D", "'fields.a.ignore-retract'",
    ),
    "aggregation with one function for all": (
        {**AGGREGATION, "fields.default-aggregate-function": "max"}, (1, None, None), "-U", "ignore-retract",
    ),
    "aggregation that removes rows, -U": (
        {**AGGREGATION, "fields.a.aggregate-function": "max", "aggregation.remove-record-on-delete": "true",
         "fields.kind.ignore-retract": "false", "fields.kind.aggregate-function": "last_value"},
        (1, None, 1), "-U", "'fields.a.ignore-retract'",
    ),
    "a group whose column cannot retract": (
        {**GROUP, "fields.a.aggregate-function": "max"}, (1, 5, 1), "-D", "'fields.a.ignore-retract'",
    ),
    "a removing group whose column cannot retract, -U": (
        {**GROUP, "fields.a.aggregate-function": "max", "partial-update.remove-record-on-sequence-group": "g"},
        (1, 5, 1), "-U", "'fields.a.ignore-retract'",
    ),
}  # fmt: skip


@pytest.mark.parametrize("entrance", ENTRANCES)
@pytest.mark.parametrize("name", REFUSED)
def test_refused_rows_leave_nothing_and_say_what_to_do(tmp_path: Path, name: str, entrance: str) -> None:
    options, row, kind, fix = REFUSED[name]
    table = a_table(tmp_path, options, entrance)
    with pytest.raises(DataError) as caught:
        put_by(entrance, table, [(2, None, 2), row], ["+I", kind])
    assert fix in caught.value.fix
    assert "table db.t" in caught.value.where
    assert table.snapshots.list_ids() == []
    assert files_on_disk(table) == set()


TAKEN: Mapping[str, tuple[Mapping[str, str], Row, str]] = {
    "deduplicate": ({}, (1, None, 1), "-D"),
    "partial-update ignoring deletes": ({**PARTIAL, "ignore-delete": "true"}, (1, None, 1), "-D"),
    "by its older name": ({**PARTIAL, "partial-update.ignore-delete": "true"}, (1, None, 1), "-U"),
    "partial-update removing rows": ({**PARTIAL, "partial-update.remove-record-on-delete": "true"}, (1, None, 1), "-D"),
    "partial-update removing rows, -U": (
        {**PARTIAL, "partial-update.remove-record-on-delete": "true"}, (1, None, 1), "-U",
    ),
    "partial-update with a group": (GROUP, (1, 5, 1), "-D"),
    "a group without a sequence": ({**GROUP, "fields.a.aggregate-function": "max"}, (1, None, 1), "-D"),
    "a removing group": (
        {**GROUP, "fields.a.aggregate-function": "max", "partial-update.remove-record-on-sequence-group": "g"},
        (1, 5, 1), "-D",
    ),
    "a group whose column ignores them": (
        {**GROUP, "fields.a.aggregate-function": "max", "fields.a.ignore-retract": "true"}, (1, 5, 1), "-D",
    ),
    "partial-update, -U ignored": ({**PARTIAL, "ignore-update-before": "true"}, (1, None, 1), "-U"),
    "first-row ignoring deletes": ({**FIRST, "first-row.ignore-delete": "true"}, (1, None, 1), "-D"),
    "aggregation ignoring deletes": ({**AGGREGATION, "ignore-delete": "true"}, (1, None, 1), "-D"),
    "aggregation removing rows": ({**AGGREGATION, "aggregation.remove-record-on-delete": "true",
                                   "fields.kind.ignore-retract": "false"}, (1, None, 1), "-D"),
    "aggregation that retracts": (
        {**AGGREGATION, "fields.a.aggregate-function": "sum", "fields.g.aggregate-function": "last_value"},
        (1, None, 1), "-U",
    ),
    "aggregation that ignores retractions": (
        {**AGGREGATION, "fields.a.ignore-retract": "true", "fields.g.ignore-retract": "true"}, (1, None, 1), "-D",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", TAKEN)
def test_taken_and_readable_ever_after(tmp_path: Path, name: str) -> None:
    options, row, kind = TAKEN[name]
    table = a_table(tmp_path, options)
    put_by("write_arrow", table, [(1, 5, 7), (2, 5, 7)], ["+I", "+I"])
    put_by("write_arrow", table, [row], [kind])
    table.to_arrow()
    assert not compact(None, get_table(tmp_path), full=True).failed
    put_by("write_arrow", get_table(tmp_path), [row], ["+I"])
    assert {2} <= set(get_table(tmp_path).to_arrow()["k"].to_pylist())
