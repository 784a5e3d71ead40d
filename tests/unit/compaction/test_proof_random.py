"""Random tables, compactions and faults: no fault with an effect reaches a snapshot, and nothing right is refused."""

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from maintenance.catalog import CatalogTable
from maintenance.compaction.merging import MergedKeys, Merging
from maintenance.operations.compaction.compact import compact
from maintenance.read.windows import Window
from tests.examples import examples
from tests.tables import create_table, get_table

FIELDS = (("id", "INT NOT NULL"), ("s", "INT"), ("a", "INT"), ("b", "STRING"))
SUMS = {"fields.a.aggregate-function": "sum", "fields.b.aggregate-function": "max"}
LISTS = {"fields.a.aggregate-function": "min", "fields.b.aggregate-function": "listagg"}
GROUPS = {"fields.s.sequence-group": "a", "fields.a.aggregate-function": "sum"}
# Options, and whether deletions fit.
TABLES: tuple[tuple[dict[str, str], bool], ...] = (
    ({}, True),
    ({"sequence.field": "s"}, True),
    ({"sequence.field": "s", "sequence.field.sort-order": "descending"}, True),
    ({"ignore-delete": "true"}, True),
    ({"changelog-producer": "lookup"}, True),
    ({"changelog-producer": "lookup", "sequence.field": "s"}, True),
    ({"changelog-producer": "full-compaction", "changelog-producer.row-deduplicate": "true"}, True),
    ({"deletion-vectors.enabled": "true"}, True),
    ({"merge-engine": "first-row"}, False),
    ({"merge-engine": "first-row", "changelog-producer": "lookup"}, False),
    ({"merge-engine": "partial-update"}, False),
    ({"merge-engine": "partial-update", "fields.s.sequence-group": "a,b"}, True),
    ({"merge-engine": "partial-update", **GROUPS}, False),
    ({"merge-engine": "partial-update", "changelog-producer": "lookup"}, False),
    ({"merge-engine": "partial-update", "partial-update.remove-record-on-delete": "true"}, True),
    ({"merge-engine": "aggregation", **SUMS}, False),
    ({"merge-engine": "aggregation", **LISTS}, False),
    ({"merge-engine": "aggregation", **SUMS, "changelog-producer": "lookup"}, False),
    ({"merge-engine": "aggregation", "aggregation.remove-record-on-delete": "true"}, True),
)
SMALL = st.one_of(st.none(), st.integers(0, 3))
ROWS = st.tuples(st.integers(0, 15), SMALL, SMALL, st.sampled_from([None, "x", "y"]))
RECORDS = st.lists(st.tuples(st.sampled_from(["+I", "+U", "-D"]), ROWS), min_size=1, max_size=12)
# Batches of records; None is a compaction of what the rules pick.
HISTORIES = st.lists(st.one_of(RECORDS, RECORDS, st.none()), min_size=2, max_size=7)


def table_with(folder: str, options: dict[str, str], history: list[Any], *, deletes: bool) -> CatalogTable:
    table = create_table(folder, FIELDS, ("id",), {"num-sorted-run.compaction-trigger": "2", **options})
    for batch in history:
        if batch is None:
            assert not compact(None, table).failed
            continue
        columns = list(zip(*(row for _, row in batch), strict=True))
        types = (pa.int32(), pa.int32(), pa.int32(), pa.string())
        arrays = [pa.array(column, kind) for column, kind in zip(columns, types, strict=True)]
        rows = pa.table(arrays, names=[name for name, _ in FIELDS])
        table.write_arrow(rows, [kind if deletes else "+I" for kind, _ in batch])
    return table


def changed(rows: pa.Table, fault: str, where: int) -> pa.Table:
    """Results with a fault at some row."""
    if not rows.num_rows:
        return rows
    at = where % rows.num_rows
    match fault:
        case "drop":
            return rows.take(pa.array([n for n in range(rows.num_rows) if n != at], pa.int64()))
        case "double":
            return rows.take(pa.array(sorted([*range(rows.num_rows), at])))
        case "swap":
            order = np.arange(rows.num_rows)
            order[[at, at - 1]] = order[[at - 1, at]]
            number = rows.column_names.index("b")
            return rows.set_column(number, "b", rows.column("b").take(pa.array(order)))
        case "sort":
            return rows.take(pa.array(list(range(rows.num_rows))[::-1]))
    values = rows.column("a").to_pylist()
    values[at] = None if values[at] is not None else 7
    return rows.set_column(rows.column_names.index("a"), "a", pa.array(values, pa.int32()))


@contextmanager
def faulty(fault: str, where: int) -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        for method in ("merged", "looked_up"):
            right = getattr(Merging, method)

            def wrong(self: Merging, window: Window, levels: np.ndarray, right: Any = right) -> MergedKeys:
                actual: MergedKeys = right(self, window, levels)
                return replace(actual, results=changed(actual.results, fault, where))

            patch.setattr(Merging, method, wrong)
        yield


def content(table: CatalogTable) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = table.to_arrow().sort_by("id").to_pylist()
    return rows


@settings(max_examples=examples(40), suppress_health_check=[HealthCheck.too_slow])
@given(
    options=st.sampled_from(TABLES),
    history=HISTORIES,
    fault=st.sampled_from(["drop", "double", "swap", "sort", "value"]),
    where=st.integers(0, 50),
)
def test_no_fault_reaches_a_snapshot(options: Any, history: list[Any], fault: str, where: int) -> None:
    folder = tempfile.mkdtemp()
    try:
        table = table_with(f"{folder}/one", options[0], history, deletes=options[1])
        before, snapshot = content(table), table.snapshots.latest_id()
        shutil.copytree(f"{folder}/one", f"{folder}/two")
        right = get_table(Path(f"{folder}/two"))
        assert not compact(None, right, full=True).failed
        with faulty(fault, where):
            report = compact(None, table, full=True)
        if report.failed:
            assert table.snapshots.latest_id() == snapshot
            assert content(table) == before
        else:
            unproved = report.proof.get("columns proved by key"), report.proof.get("keys only counted")
            assert content(table) == content(right) or any(unproved)
    finally:
        shutil.rmtree(folder)


@settings(max_examples=examples(40), suppress_health_check=[HealthCheck.too_slow])
@given(options=st.sampled_from(TABLES), history=HISTORIES, mode=st.sampled_from(["auto", "full", "sampled"]))
def test_nothing_right_is_refused(options: Any, history: list[Any], mode: str) -> None:
    folder = tempfile.mkdtemp()
    try:
        table = table_with(folder, options[0], history, deletes=options[1])
        report = compact(None, table, full=True, proof=mode)
        assert not report.failed
        assert not list(Path(table.location).glob("_quarantine"))
    finally:
        shutil.rmtree(folder)
