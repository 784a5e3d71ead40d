"""Pruning never loses a row: any table, any filter, against filtering every row by hand; and it does prune."""

import math
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from maintenance.catalog import CatalogTable
from maintenance.format.metadata.manifest import ManifestEntry
from maintenance.format.metadata.schema import TableSchema
from maintenance.metastore.schema_change import AddColumn
from maintenance.operations.compaction.compact import compact
from maintenance.predicate.tree import And, Compare, Constant, In, Or, Predicate, columns_of
from maintenance.scan.plan import ScanPlan
from maintenance.scan.pruning import Pruning, alone_by_bucket, stands_alone
from maintenance.table.rows import read_splits
from maintenance.types.data_type import DataField, parse_type
from maintenance.types.values import arrow_of_values, values_of_arrow
from tests.examples import examples
from tests.models.order import ordered_key
from tests.models.predicates import truth
from tests.tables import create_table, get_table, keyed, live_files, open_warehouse, splits_of, state
from tests.unit.commit.entries import add
from tests.unit.predicate.strategies import BY_NAME, FIELDS, predicates, rows

Row = dict[str, Any]
COLUMNS = [(field.name, str(field.type)) for field in FIELDS]
BLOOM = {
    "file-index.bloom-filter.columns": "number,name,double,single,nanos",
    "file-index.in-manifest-threshold": "1 mb",
}


@dataclass(frozen=True)
class Layout:
    """How a table is laid out. `keys`: of the primary key; `partition`: columns."""

    keys: tuple[str, ...]
    partition: tuple[str, ...]
    options: dict[str, str]


LAYOUTS = (
    Layout((), (), {"bucket": "-1", **BLOOM}),
    Layout((), ("day", "name"), {"bucket": "-1"}),
    Layout((), (), {"bucket": "3", "bucket-key": "double,number"}),
    Layout(("number",), (), {"bucket": "3"}),
    Layout(("day", "double", "name"), ("day",), {"bucket": "2", "bucket-key": "double"}),
    Layout(("flag", "price"), (), {"bucket": "2", **BLOOM}),
)


@dataclass(frozen=True)
class Case:
    layout: Layout
    options: dict[str, str]
    commits: list[tuple[list[Row], bool, bool]]
    predicate: Predicate


@st.composite
def cases(draw: st.DrawFn) -> Case:
    """Commits of rows, each deleting them or not, compacted in full afterwards or not."""
    layout = draw(st.sampled_from(LAYOUTS))
    predicate = draw(predicates())
    columns = columns_of(predicate) | {"number", *layout.keys, *layout.partition}
    commits = []
    for _ in range(draw(st.integers(1, 3))):
        batch = draw(rows(columns, 6))
        for row in batch:
            if row.get("seconds") is not None:
                row["seconds"] -= row["seconds"] % 10**9
            for key in layout.keys:
                if row[key] is None:
                    row[key] = {"flag": False, "price": Decimal("0.00"), "name": "", "double": 0.0}.get(key, 0)
        commits.append((batch, bool(layout.keys) and draw(st.booleans()), draw(st.booleans())))
    mode = draw(st.sampled_from(["truncate(16)", "truncate(1)", "full", "counts", "none"]))
    return Case(layout, {"metadata.stats-mode": mode, "source.split.target-size": "1 b"}, commits, predicate)


def arrow_rows(batch: Sequence[Row]) -> pa.Table:
    names = list(batch[0]) if batch else ["number"]
    return pa.table({name: arrow_of_values([row[name] for row in batch], BY_NAME[name].type) for name in names})


def model_rows(case: Case) -> list[Row]:
    alive: list[Row] = []
    for batch, deletes, _ in case.commits:
        for row in batch:
            whole = {field.name: row.get(field.name) for field in FIELDS}
            if case.layout.keys:
                key = ordered_key([row[name] for name in case.layout.keys])
                alive = [r for r in alive if ordered_key([r[name] for name in case.layout.keys]) != key]
            if not deletes:
                alive.append(whole)
    return alive


def read(table: CatalogTable, predicate: Predicate) -> list[Row]:
    plan, split_read = table.plan(None, predicate)
    actual = [part.cast(part.schema) for part in read_splits(plan.splits, split_read)]
    if not actual:
        return []
    merged = pa.concat_tables(actual)
    columns = {field.name: values_of_arrow(merged.column(field.name)) for field in FIELDS}
    return [{name: column[i] for name, column in columns.items()} for i in range(merged.num_rows)]


def comparable(found: Sequence[Row]) -> list[Any]:
    return sorted(ordered_key([row[field.name] for field in FIELDS]) for row in found)


@settings(max_examples=examples(30))
@given(cases())
def test_no_row_is_lost(case: Case) -> None:
    with tempfile.TemporaryDirectory() as folder:
        layout = case.layout
        table = create_table(
            folder, COLUMNS, layout.keys, {**layout.options, **case.options}, partition_keys=layout.partition
        )
        for batch, deletes, full in case.commits:
            table.write_arrow(arrow_rows(batch), ["-D"] * len(batch) if deletes else None)
            if full:
                compact(None, table, full=True)
        expected = [row for row in model_rows(case) if truth(case.predicate, row)]
        assert comparable(read(table, case.predicate)) == comparable(expected)


def planned(table: CatalogTable, predicate: Predicate | str) -> ScanPlan:
    tree = table.predicate(predicate) if isinstance(predicate, str) else predicate
    return table.plan(None, tree)[0]


def files_of(plan: ScanPlan) -> int:
    return sum(len(split.files) for split in splits_of(plan))


def test_equality_reads_one_bucket(tmp_path: Path) -> None:
    table = create_table(tmp_path, options={"bucket": "8"})
    table.write_arrow(keyed({key: str(key) for key in range(100)}))
    assert len({split.bucket for split in splits_of(planned(table, "v is not null"))}) == 8
    assert len({split.bucket for split in splits_of(planned(table, "id = 7"))}) == 1
    assert len({split.bucket for split in splits_of(planned(table, "id in (7, 8, 9)"))}) <= 3
    assert len({split.bucket for split in splits_of(planned(table, "id = 7 or id = 8"))}) > 1
    assert state(table, where="id in (7, 8, 1000)") == {7: "7", 8: "8"}


def test_both_zeros_and_nan_are_found_whatever_their_bucket(tmp_path: Path) -> None:
    """Filters take both zeros for one value, buckets do not."""
    table = create_table(tmp_path, [("d", "DOUBLE NOT NULL")], ("d",), {"bucket": "64"})
    table.write_arrow(pa.table({"d": [0.0, -0.0, float("nan"), 1.0]}))
    for zero in (0.0, -0.0):
        assert len(read_d(table, Compare("=", "d", zero))) == 2
        assert len(read_d(table, In("d", (1.0, zero)))) == 3
    assert len(read_d(table, Compare("=", "d", float("nan")))) == 1


def read_d(table: CatalogTable, predicate: Predicate) -> list[float]:
    plan, split_read = table.plan(None, predicate)
    return [value for part in read_splits(plan.splits, split_read) for value in part.column("d").to_pylist()]


def test_partitions_without_a_match_are_not_read(tmp_path: Path) -> None:
    table = create_table(tmp_path, [("p", "INT"), ("a", "INT")], (), partition_keys=["p"])
    table.write_arrow(pa.table({"p": pa.array([1, 2, 3, None], pa.int32()), "a": pa.array([1, 2, 3, 4], pa.int32())}))
    assert files_of(planned(table, "p >= 2")) == 2
    assert files_of(planned(table, "p is null")) == 1
    assert files_of(planned(table, "p = 9")) == 0
    assert table.to_arrow(where="p is null").to_pylist() == [{"p": None, "a": 4}]


def test_statistics_are_not_asked_again_for_what_the_partition_says() -> None:
    fields = (DataField(0, "p", parse_type("INT")), DataField(1, "a", parse_type("INT")))
    schema = TableSchema(0, fields, 1, ("p",))
    of_partition, of_file = Compare(">", "p", 1), Or((Compare("=", "p", 1), Compare("=", "a", 2)))
    never = Constant(False)
    for asked, left in (
        (of_partition, None),
        (And((of_partition, of_file)), of_file),
        (never, never),
        (None, None),
    ):
        assert Pruning(schema, {}, asked).of_files.predicate == left


def test_files_are_pruned_by_statistics(tmp_path: Path) -> None:
    table = create_table(tmp_path, [("a", "INT"), ("b", "STRING")], ())
    for start in (0, 100, 200):
        table.write_arrow(pa.table({"a": pa.array([start, start + 9], pa.int32()), "b": ["x", None]}))
    plan = planned(table, "a > 150")
    assert (files_of(plan), plan.live_files, plan.skipped_by_stats, plan.skipped_by_index) == (1, 3, 2, 0)
    assert files_of(planned(table, "b is null")) == 3
    assert files_of(planned(table, "b = 'y'")) == 0


def test_files_are_pruned_by_their_index(tmp_path: Path) -> None:
    options = {"file-index.bloom-filter.columns": "b", "file-index.bloom-filter.b.items": "100"}
    table = create_table(tmp_path, [("a", "INT"), ("b", "STRING")], (), options)
    for i in range(4):
        table.write_arrow(pa.table({"a": pa.array([i] * 2, pa.int32()), "b": [f"a{i}", f"z{i}"]}))
    plan = planned(table, "b = 'z2'")
    assert plan.skipped_by_stats == 2, "a3 and z3 lie around it, a0 to z1 do not"
    assert (files_of(plan), plan.skipped_by_index) == (1, 1)
    assert table.to_arrow(where="b = 'z2'").num_rows == 1
    off = table.copy({"file-index.read.enabled": "false"})
    assert planned(off, "b = 'z2'").skipped_by_index == 0


def test_an_old_version_is_not_resurrected(tmp_path: Path) -> None:
    """The newest version does not match, an older one in another file does: nothing may come back."""
    table = create_table(tmp_path)
    table.write_arrow(keyed({1: "old", 2: "old"}))
    compact(None, table, full=True)
    table.write_arrow(keyed({1: "new"}))
    table.write_arrow(keyed({2: None}), ["-D"])
    assert state(table, where="v = 'old'") == {}
    assert state(table, where="v = 'new'") == {1: "new"}
    assert files_of(planned(table, "v = 'nothing like it'")) == 0, "no file of the bucket matches"
    assert files_of(planned(table, "id = 77")) == 0, "keys prune single files"


@pytest.mark.parametrize("target", ["1 b", "128 mb"])
def test_the_target_size_says_how_many_splits_there_are(tmp_path: Path, target: str) -> None:
    table = create_table(tmp_path, [("a", "INT")], (), {"source.split.target-size": target})
    for i in range(3):
        table.write_arrow(pa.table({"a": pa.array([i], pa.int32())}))
    assert len(planned(table, "a is not null").splits) == (3 if target == "1 b" else 1)
    assert table.to_arrow().column("a").to_pylist() == [0, 1, 2]


def test_only_the_buckets_of_the_values_are_read() -> None:
    """Of a zero those of both zeros; of NaN, which has many forms, any."""
    field = DataField(0, "d", parse_type("DOUBLE"))
    schema = TableSchema(0, (field,), 0, (), (), {"bucket": "1000", "bucket-key": "d"})

    def buckets(predicate: Predicate | None, total: int = 1000) -> frozenset[int] | None:
        return Pruning(schema, {}, predicate).buckets(total, "default")

    one, both = buckets(Compare("=", "d", 1.0)), buckets(Compare("=", "d", 0.0))
    assert one is not None
    assert both is not None
    assert (len(one), len(both)) == (1, 2)
    assert buckets(Compare("=", "d", -0.0)) == both
    assert buckets(In("d", (1.0, -0.0))) == one | both
    assert buckets(And((Compare("=", "d", 1.0), Compare(">", "d", 0.0)))) == one
    for everything in (None, Compare(">", "d", 1.0), Compare("=", "d", math.nan), In("d", (1.0, math.nan))):
        assert buckets(everything) is None
    assert buckets(Compare("=", "d", 1.0), -1) is None
    assert buckets(Compare("=", "d", 1.0), 0) is None
    many = tuple(map(float, range(1, 1001)))
    assert buckets(In("d", many)) is not None
    assert buckets(In("d", (*many, 1001.0))) is None
    assert buckets(In("d", (*many[1:], 0.0))) is None, "both zeros are one too many"


def test_a_column_that_a_file_has_not_is_null_in_it(tmp_path: Path) -> None:
    table = create_table(tmp_path, [("a", "INT")], ())
    table.write_arrow(pa.table({"a": pa.array([1], pa.int32())}))
    open_warehouse(tmp_path).alter_table("db.t", [AddColumn("n", "INT")])
    table = get_table(tmp_path)
    assert files_of(planned(table, "n = 1")) == 0
    assert files_of(planned(table, "n is null")) == 1


def test_the_least_value_of_a_file(tmp_path: Path) -> None:
    table = create_table(tmp_path, [("a", "INT"), ("b", "STRING")], (), {"metadata.stats-mode": "none"})
    table = table.copy({"fields.a.stats-mode": "full"})
    table.write_arrow(pa.table({"a": pa.array([3, 1, 2], pa.int32()), "b": ["x", "y", "z"]}))
    (file,) = live_files(table)
    pruning = Pruning(table.schema, {table.schema.id: table.schema}, None)
    assert pruning.least(file, "a") == 1
    assert pruning.least(file, "b") is None
    assert pruning.least(file, "c") is None


def of_level(name: str, level: int, *, bucket: int = 0, deletes: int | None = 0) -> ManifestEntry:
    actual = add(name, level=level, bucket=bucket)
    return replace(actual, file=replace(actual.file, delete_row_count=deletes))


@pytest.mark.parametrize(
    ("group", "one_version", "alone"),
    [
        ([("a", 0, 0)], False, True),
        ([("a", 0, 3)], False, True),
        ([("a", 0, None)], True, True),
        ([("a", 5, 0), ("b", 5, 0)], False, True),
        ([("a", 5, 0), ("b", 5, 1)], False, False),
        ([("a", 0, 0), ("b", 0, 0)], False, False),
        ([("a", 0, 0), ("b", 5, 0)], True, False),
        ([("a", 4, 0), ("b", 5, 0)], False, False),
        ([("a", 4, 0), ("b", 5, 0)], True, True),
    ],
)
def test_files_that_stand_alone(group: list[tuple[str, int, int | None]], one_version: bool, alone: bool) -> None:
    """The only one of a bucket always does: whatever it holds, no other file has versions of its rows."""
    entries = [of_level(name, level, deletes=deletes) for name, level, deletes in group]
    assert stands_alone(entries, one_version=one_version) == alone
    other = of_level("x", 0, bucket=1)
    actual = alone_by_bucket([*entries, other], one_version=one_version)
    assert actual == {(other.partition, bucket) for bucket, flag in ((0, alone), (1, True)) if flag}
    if not one_version:
        assert (stands_alone(entries), alone_by_bucket([*entries, other])) == (alone, actual)
