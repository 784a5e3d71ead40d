"""Tables of each merge engine, written, compacted and read: the worked examples of the rules; cuts change nothing."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from maintenance.catalog import CatalogTable
from maintenance.commit.commit import append_or_abort
from maintenance.commit.identity import CommitIdentity
from maintenance.errors import DataError
from maintenance.operations.compaction.compact import compact
from maintenance.table.rows import read_splits
from maintenance.types.row_kind import RowKind
from maintenance.write.rows import conform
from maintenance.write.table_write import write_rows
from tests.examples import examples
from tests.tables import create_table, get_table, live

Row = tuple[Any, ...]


def a_table(folder: Path, columns: str, options: Mapping[str, str]) -> CatalogTable:
    """All columns but `k` are INT, unless they say otherwise: ``a b:STRING``."""
    fields = [("k", "INT NOT NULL"), *([*c.split(":"), "INT"][:2] for c in columns.split())]
    return create_table(folder, [(name, text) for name, text in fields], ["k"], options)


def put(table: CatalogTable, *rows: Row, kinds: Sequence[str] | None = None) -> None:
    names = table.schema.field_names
    columns = {name: [row[i] for row in rows] for i, name in enumerate(names)}
    schema = pa.schema([(field.name, _arrow(field.type.root)) for field in table.schema.fields])
    table.write_arrow(pa.table(columns, schema=schema), row_kinds=kinds)


def _arrow(root: str) -> pa.DataType:
    return {"INT": pa.int32(), "BIGINT": pa.int64(), "VARCHAR": pa.string(), "TIMESTAMP": pa.timestamp("ms")}[root]


def rows(table: CatalogTable, **how: Any) -> list[Row]:
    return sorted(tuple(row.values()) for row in table.to_arrow(**how).to_pylist())


GROUPS = {"merge-engine": "partial-update", "fields.g_1.sequence-group": "a,b", "fields.g_2.sequence-group": "c,d"}
REMOVING = {
    "merge-engine": "partial-update",
    "fields.g_1.sequence-group": "a",
    "fields.g_2.sequence-group": "c",
    "partial-update.remove-record-on-sequence-group": "g_1",
}
AGGREGATION = {"merge-engine": "aggregation", "fields.s.aggregate-function": "sum"}
PARTIAL = {"merge-engine": "partial-update"}
# Each: columns, options, then commits of one record (kind, row) with what the table shows of key 1 after it.
EXAMPLES: Mapping[str, tuple[str, Mapping[str, str], Sequence[tuple[str, Row, Row | None]]]] = {
    "sequence": (
        "v s",
        {"sequence.field": "s"},
        [
            ("+I", (1, 1, 5), (1, 1, 5)),
            ("+I", (1, 2, None), (1, 1, 5)),
            ("+I", (1, 3, 5), (1, 3, 5)),
            ("-D", (1, 9, 4), (1, 3, 5)),
            ("-D", (1, 9, 6), None),
            ("+I", (1, 7, 6), (1, 7, 6)),
        ],
    ),
    "descending sequence": (
        "v s",
        {"sequence.field": "s", "sequence.field.sort-order": "descending"},
        [
            ("+I", (1, 1, 5), (1, 1, 5)),
            ("+I", (1, 2, None), (1, 1, 5)),
            ("+I", (1, 3, 4), (1, 3, 4)),
            ("+I", (1, 4, 9), (1, 3, 4)),
        ],
    ),
    "rows removed on delete": (
        "a b",
        {**PARTIAL, "partial-update.remove-record-on-delete": "true"},
        [
            ("+I", (1, 1, None), (1, 1, None)),
            ("-D", (1, 7, 8), None),
            ("+I", (1, None, 5), (1, 7, 5)),
            ("-U", (1, None, 5), (1, 7, 5)),
        ],
    ),
    "groups": (
        "a b g_1 c d g_2",
        GROUPS,
        [
            ("+I", (1, 1, 1, 1, 1, 1, 1), (1, 1, 1, 1, 1, 1, 1)),
            ("+I", (1, 2, 2, 2, 2, 2, None), (1, 2, 2, 2, 1, 1, 1)),
            ("+I", (1, 3, 3, 1, 3, 3, 3), (1, 2, 2, 2, 3, 3, 3)),
            ("+I", (1, None, 7, 3, None, None, 4), (1, None, 7, 3, None, None, 4)),
            ("-D", (1, 0, 0, 3, 0, 0, 3), (1, None, None, 3, None, None, 4)),
        ],
    ),
    "aggregates in groups": (
        "a b c d",
        {
            **PARTIAL,
            "fields.a.sequence-group": "b",
            "fields.b.aggregate-function": "first_value",
            "fields.c.sequence-group": "d",
            "fields.d.aggregate-function": "sum",
        },
        [
            ("+I", (1, 1, 1, None, None), (1, 1, 1, None, None)),
            ("+I", (1, None, None, 1, 1), (1, 1, 1, 1, 1)),
            ("+I", (1, 2, 2, None, None), (1, 2, 1, 1, 1)),
            ("+I", (1, None, None, 2, 2), (1, 2, 1, 2, 3)),
            ("+I", (1, 0, 77, 1, 10), (1, 2, 77, 2, 13)),
        ],
    ),
    "rows removed by a group": (
        "a g_1 c g_2",
        REMOVING,
        [
            ("+I", (1, 1, 1, 1, 1), (1, 1, 1, 1, 1)),
            ("-D", (1, None, None, 1, 2), (1, 1, 1, None, 2)),
            ("-D", (1, 1, 2, None, None), None),
            ("+I", (1, None, None, 5, 9), (1, 1, 2, 5, 9)),
        ],
    ),
    "aggregation": (
        "s c",
        AGGREGATION,
        [("+I", (1, 5, 1), (1, 5, 1)), ("-D", (1, 2, 1), (1, 3, None))],
    ),
    "lone deletes of an aggregation": (
        "s c",
        AGGREGATION,
        [("-D", (1, 4, 9), None), ("-D", (1, 3, 9), (1, -7, None))],
    ),
    "aggregation, rows removed": (
        "s",
        {**AGGREGATION, "aggregation.remove-record-on-delete": "true"},
        [("+I", (1, 5), (1, 5)), ("-D", (1, 2), None), ("+I", (1, 7), (1, 9))],
    ),
    "listagg": (
        "v:STRING",
        {
            "merge-engine": "aggregation",
            "fields.v.aggregate-function": "listagg",
            "fields.v.list-agg-delimiter": ";",
            "fields.v.distinct": "true",
        },
        [("+I", (1, "a;b;a"), (1, "a;b;a")), ("+I", (1, " "), (1, "a;b;a")), ("+I", (1, "b;c;;c"), (1, "a;b;a;c"))],
    ),
    "product": (
        "v",
        {"merge-engine": "aggregation", "fields.v.aggregate-function": "product"},
        [("+I", (1, 6), (1, 6)), ("+I", (1, 4), (1, 24)), ("-D", (1, 5), (1, 4))],
    ),
    "count": (
        "v",
        {"merge-engine": "aggregation", "fields.v.aggregate-function": "count"},
        [
            ("+I", (1, 42), (1, 1)),
            ("+I", (1, None), (1, 1)),
            ("+I", (1, 0), (1, 2)),
            ("-D", (1, 42), (1, 1)),
        ],
    ),
}


@pytest.mark.parametrize("name", EXAMPLES)
def test_worked_examples_show_the_row_due_after_each_commit(tmp_path: Path, name: str) -> None:
    columns, options, commits = EXAMPLES[name]
    table = a_table(tmp_path, columns, options)
    for kind, row, shown in commits:
        put(table, row, kinds=[kind])
        assert rows(table) == ([] if shown is None else [shown])


def put_as_java_does(table: CatalogTable, row: Row, kind: RowKind) -> None:
    """Real Paimon's writers store retractions of every kind where a key has one record in a batch."""
    context = table.write_context()
    schema = pa.schema([(field.name, _arrow(field.type.root)) for field in table.schema.fields])
    columns = {name: [value] for name, value in zip(table.schema.field_names, row, strict=True)}
    conformed = conform(pa.table(columns, schema=schema), None, context)
    kinds = pa.array([int(kind)], pa.int8())
    retracting = conformed.set_column(0, conformed.schema.field(0), kinds)
    messages = write_rows(context, table.write_state("java"), retracting)
    append_or_abort(table.commit_target(), messages, CommitIdentity("java"))


def test_a_lone_delete_is_no_error_two_records_are(tmp_path: Path) -> None:
    table = a_table(tmp_path, "a", PARTIAL)
    put_as_java_does(table, (2, None), RowKind.DELETE)
    put(table, (1, 1))
    assert rows(table) == [(1, 1)]
    put_as_java_does(table, (1, 1), RowKind.DELETE)
    with pytest.raises(DataError, match=r"'ignore-delete'.*'partial-update.remove-record-on-delete'.*sequence groups"):
        table.to_arrow()


def test_a_function_without_retraction_says_what_to_set(tmp_path: Path) -> None:
    table = a_table(tmp_path, "v", {"merge-engine": "aggregation", "fields.v.aggregate-function": "max"})
    put(table, (1, 1))
    put_as_java_does(table, (1, 1), RowKind.DELETE)
    with pytest.raises(DataError, match=r"'max' does not support .*Set 'fields.v.ignore-retract' = 'true'"):
        table.to_arrow()


def test_integers_that_overflow_are_an_error(tmp_path: Path) -> None:
    table = a_table(tmp_path, "s", AGGREGATION)
    put(table, (1, 2**31 - 1))
    put(table, (1, 1))
    with pytest.raises(DataError, match="sum leaves the range of INT"):
        table.to_arrow()


def test_columns_that_a_projection_needs_are_read_with_it(tmp_path: Path) -> None:
    table = a_table(tmp_path, "a g_1 c g_2", REMOVING)
    put(table, (1, 1, 5, 1, 5), (2, 1, 1, 1, 1))
    put(table, (1, 2, 4, 2, 6))
    put(table, (2, None, 2, None, None), kinds=["-D"])
    for columns in (["a"], ["c"], ["k"], ["c", "a"]):
        everything = table.to_arrow().select(columns)
        assert table.to_arrow(columns=columns).equals(everything)


def test_filters_see_merged_values(tmp_path: Path) -> None:
    """No file holds a sum, and no statistics know it."""
    table = a_table(tmp_path, "s", {**AGGREGATION, "file-index.bloom-filter.columns": "s"})
    put(table, (1, 5), (2, 1))
    put(table, (1, 6), (2, 1))
    assert rows(table, where="s = 11") == [(1, 11)]
    assert rows(table, where="s = 6") == []
    compact(None, table, full=True)
    put(get_table(tmp_path), (1, 1))
    assert rows(table, where="s > 11") == [(1, 12)]


def test_row_kinds_of_a_column(tmp_path: Path) -> None:
    table = a_table(tmp_path, "v op:STRING", {"rowkind.field": "op"})
    put(table, (1, 1, "+I"), (2, 2, "+I"), (3, 3, "+I"))
    put(table, (1, 1, "-D"), (2, 2, "-U"), (2, 5, "+U"))
    assert rows(table) == [(2, 5, "+U"), (3, 3, "+I")]
    for wrong in ("I", None):
        with pytest.raises(DataError, match=r"'op' of 'rowkind.field'"):
            put(table, (4, 4, wrong))
    assert rows(table) == [(2, 5, "+U"), (3, 3, "+I")]


def test_row_kinds_of_a_column_that_are_ignored(tmp_path: Path) -> None:
    table = a_table(tmp_path, "v op:STRING", {"rowkind.field": "op", "ignore-delete": "true"})
    put(table, (1, 1, "+I"), (1, 1, "-D"), (2, 1, "-D"))
    assert rows(table) == [(1, 1, "+I")]


def test_nulls_that_reads_fill(tmp_path: Path) -> None:
    table = a_table(tmp_path, "a b c", {**PARTIAL, "fields.b.default-value": "0"})
    put(table, (1, 1, None, None), (2, 1, 3, 1))
    put(table, (1, None, None, 1))
    assert rows(table) == [(1, 1, 0, 1), (2, 1, 3, 1)]
    assert rows(table, where="b = 0") == [(1, 1, 0, 1)]
    assert rows(table, where="b IS NULL") == []
    assert rows(table, where="b = 0 AND k = 1", columns=["c"]) == [(1,)]
    compact(None, table, full=True)
    assert rows(get_table(tmp_path), where="b = 0") == [(1, 1, 0, 1)]


def test_an_addition_wins_over_a_retraction_of_its_sequence(tmp_path: Path) -> None:
    """Of the same sequence the addition wins, whichever comes first."""
    options = {"sequence.field": "s", "sequence.auto-padding": "row-kind-flag"}
    table = a_table(tmp_path, "v s", options)
    put(table, (1, 2, 7), (1, 1, 7), kinds=["+U", "-U"])
    put(table, (2, 2, 7))
    put(table, (2, 1, 7), (3, 1, None), kinds=["-U", "+I"])
    assert rows(table) == [(1, 2, 7), (2, 2, 7), (3, 1, None)]
    numbers = {e.file.max_sequence_number for e in live(table)}
    assert 15 in numbers


def test_padding_with_microseconds_keeps_the_order_of_arrival(tmp_path: Path) -> None:
    table = a_table(tmp_path, "v s", {"sequence.field": "s", "sequence.auto-padding": "second-to-micro,row-kind-flag"})
    put(table, (1, 1, 7), (1, 2, 7), (2, 1, 9), (2, 2, 8))
    assert rows(table) == [(1, 2, 7), (2, 1, 9)]
    (entry,) = live(table)
    assert 7 * 2 * 10**6 <= entry.file.min_sequence_number < 8 * 2 * 10**6


def test_first_row_shows_what_was_compacted(tmp_path: Path) -> None:
    table = a_table(tmp_path, "v", {"merge-engine": "first-row"})
    put(table, (1, 1), (1, 2))
    assert rows(table) == []
    compact(None, table, full=True)
    put(get_table(tmp_path), (1, 3), (2, 2))
    assert rows(get_table(tmp_path)) == [(1, 1)]
    compact(None, get_table(tmp_path), full=True)
    assert rows(get_table(tmp_path)) == [(1, 1), (2, 2)]


def test_first_row_refuses_retractions(tmp_path: Path) -> None:
    table = a_table(tmp_path, "v", {"merge-engine": "first-row"})
    with pytest.raises(DataError, match=r"first-row does not take -U and -D.*'ignore-delete'"):
        put(table, (1, 1), (1, 1), kinds=["+I", "-D"])
    ignoring = create_table(tmp_path, [("k", "INT NOT NULL"), ("v", "INT")], ["k"], IGNORING, name="db.i")
    put(ignoring, (1, 1), (1, 1), (2, 2), kinds=["+I", "-D", "-U"])
    compact(None, ignoring, full=True)
    assert rows(get_table(tmp_path, "db.i")) == [(1, 1)]


IGNORING = {"merge-engine": "first-row", "first-row.ignore-delete": "true"}
CUT = {
    "deduplicate": {},
    "partial-update": PARTIAL,
    "groups": {
        **PARTIAL,
        "fields.s.sequence-group": "a,b,c",
        "fields.a.aggregate-function": "sum",
        "fields.c.aggregate-function": "max",
    },
    "aggregation": {
        "merge-engine": "aggregation",
        "fields.a.aggregate-function": "sum",
        "fields.b.aggregate-function": "last_value",
        "fields.c.aggregate-function": "max",
        "sequence.field": "s",
    },
}


def changes(kinds: Sequence[str]) -> st.SearchStrategy[list[tuple[str, Row]]]:
    small = st.sampled_from([None, 0, 1, 2])
    row = st.tuples(st.integers(0, 4), small, small, st.sampled_from([None, "x", "y"]), small)
    return st.lists(st.tuples(st.sampled_from(kinds), row), min_size=1, max_size=30)


@pytest.mark.parametrize("name", CUT)
@settings(max_examples=examples(12), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_batches_compactions_and_windows_change_no_row(
    tmp_path_factory: pytest.TempPathFactory, name: str, data: st.DataObject
) -> None:
    """One batch or many, compacted in between or not, merged in windows of any size: the same rows."""
    batch = data.draw(changes(["+I", "+U", "-D", "-U"] if name == "deduplicate" else ["+I", "+U"]))
    cuts = sorted(data.draw(st.sets(st.integers(1, len(batch)), max_size=6)))
    compacted = data.draw(st.sets(st.sampled_from(cuts))) if cuts else set()
    folder = tmp_path_factory.mktemp("cuts")
    whole = a_table(folder / "whole", "a b c:STRING s", CUT[name])
    put(whole, *(row for _, row in batch), kinds=[kind for kind, _ in batch])
    parts = a_table(folder / "parts", "a b c:STRING s", CUT[name])
    for start, end in zip([0, *cuts], [*cuts, len(batch)], strict=True):
        if batch[start:end]:
            put(parts, *(row for _, row in batch[start:end]), kinds=[kind for kind, _ in batch[start:end]])
        if end in compacted:
            compact(None, parts, full=data.draw(st.booleans()))
    assert rows(parts) == rows(whole)
    plan, read = parts.plan()
    small = read_splits(plan.splits, replace(read, memory=1))
    assert sorted(tuple(row.values()) for table in small for row in table.to_pylist()) == rows(whole)
