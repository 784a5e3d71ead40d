"""The changelog of every producer and merge engine is the one that Java produces from the same writes."""

import datetime as dt
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from maintenance.catalog import open_catalog
from maintenance.operations.checks.audit_changelog import audit_changelog
from maintenance.operations.compaction.compact import compact
from maintenance.operations.compaction.produce_changelog import produce_changelog
from tests.java.process import JavaProcess
from tests.java.samples import Row, Sample, arrow_of, comparable, rows_in, table_of
from tests.tables import live_files

COLUMNS = (("id", "BIGINT NOT NULL"), ("version", "BIGINT"), ("v", "STRING"), ("d", "DOUBLE"))
TEXTS = ("a", "b", "é", "", None)
NAN = float("nan")
NUMBERS = (1.5, float("nan"), -0.0, 0.0, None)
KINDS = ("+I", "+I", "+U", "-U", "-D")
INSERTS = ("+I", "+U")
OLDER = 400
PRODUCER = {"bucket": "2", "write-only": "true", "changelog-producer": "full-compaction"}
SUMS = {
    "merge-engine": "aggregation",
    "fields.version.aggregate-function": "sum",
    "fields.d.aggregate-function": "last_value",
}


@dataclass(frozen=True)
class Case:
    """A table: options of its merge engine, and the kinds of rows it takes."""

    options: Mapping[str, str] = field(default_factory=dict)
    kinds: tuple[str, ...] = KINDS


CASES = {
    "plain": Case(),
    "without changes to the same": Case({"changelog-producer.row-deduplicate": "true"}),
    "without changes to most columns": Case(
        {
            "changelog-producer.row-deduplicate": "true",
            "changelog-producer.row-deduplicate-ignore-fields": "version,d, v",
        }
    ),
    "in another order": Case({"sequence.field": "version"}),
    "without deletes": Case({"ignore-delete": "true"}),
    "partial update": Case({"merge-engine": "partial-update"}, INSERTS),
    "partial update with deletes": Case(
        {"merge-engine": "partial-update", "partial-update.remove-record-on-delete": "true"}
    ),
    "partial update in groups": Case({"merge-engine": "partial-update", "fields.version.sequence-group": "v,d"}),
    "aggregation": Case(SUMS),
    "aggregation without changes to the same": Case({**SUMS, "changelog-producer.row-deduplicate": "true"}),
    "aggregation with deletes": Case({**SUMS, "aggregation.remove-record-on-delete": "true"}),
}
FIRST_ROW = {
    "first row": Case({"merge-engine": "first-row"}, INSERTS),
    "first row without deletes": Case({"merge-engine": "first-row", "ignore-delete": "true"}),
}


def random_batch(dice: random.Random, kinds: Sequence[str] = KINDS) -> tuple[list[Row], list[str]]:
    """Changes of few keys, so that they meet; the same key several times in a batch too."""
    count = dice.randint(1, 12)
    rows: list[Row] = [
        (dice.randint(0, 9), dice.randint(0, 5), dice.choice(TEXTS), dice.choice(NUMBERS)) for _ in range(count)
    ]
    return rows, [dice.choice(kinds) for _ in range(count)]


def older_rows() -> list[Row]:
    """Rows whose file is so large that small ones stay on levels below it."""
    return [(i * 2, i, f"a text of its own {i * 7919 % 10007}", float(i)) for i in range(OLDER)]


def changes_of(java: JavaProcess, warehouse: str) -> list[str]:
    """All changelog rows of a table, as Java reads them."""
    last = table_of(warehouse).snapshots.latest_id()
    between = {"incremental-between": f"0,{last}", "incremental-between-scan-mode": "changelog"}
    return comparable(java.rows(warehouse, "db.t$audit_log", between))


def same_rows(java: JavaProcess, ours: str, theirs: str) -> None:
    """Both engines find the same rows in both tables."""
    wanted = comparable(java.rows(theirs, "db.t"))
    assert comparable(java.rows(ours, "db.t")) == wanted
    assert comparable(rows_in(table_of(ours).to_arrow())) == wanted
    assert comparable(rows_in(table_of(theirs).to_arrow())) == wanted


@pytest.mark.parametrize("name", CASES)
def test_the_changelog_of_full_compactions_is_that_of_java(java: JavaProcess, tmp_path: Path, name: str) -> None:
    ours, theirs = both(java, tmp_path, {**PRODUCER, **CASES[name].options})
    dice = random.Random(name)
    changes = 0
    for _ in range(4):
        for _ in range(dice.randint(1, 3)):
            rows, kinds = random_batch(dice, CASES[name].kinds)
            for warehouse in (ours, theirs):
                table_of(warehouse).write_arrow(arrow_of(rows, COLUMNS), kinds)
        java.compact(theirs, "db.t")
        report = produce_changelog(None, table_of(ours))
        changes += sum(report.changelog_rows.values())
    assert table_of(ours).snapshots.latest_id() == table_of(theirs).snapshots.latest_id()
    actual = changes_of(java, ours)
    assert actual == changes_of(java, theirs)
    assert len(actual) == changes > 10
    same_rows(java, ours, theirs)


# A value, and one that it is written over with: what is a change of it is for Paimon to say.
NO_CHANGES: Mapping[str, Sequence[tuple[Any, Any]]] = {
    "DOUBLE": ((0.0, -0.0), (NAN, NAN), (1.5, 1.5), (None, None)),
    "FLOAT": ((0.0, -0.0), (NAN, NAN), (1.5, 1.5), (None, None)),
    "ARRAY<DOUBLE>": (([0.0], [-0.0]), ([NAN], [NAN]), ([1.5], [1.5]), ([None], [None]), (None, None)),
    "ROW<a FLOAT, b INT>": (({"a": 0.0, "b": None}, {"a": -0.0, "b": None}), ({"a": NAN, "b": 1}, {"a": NAN, "b": 1})),
    "ARRAY<ROW<a FLOAT>>": (([{"a": 0.0}], [{"a": -0.0}]), ([{"a": NAN}], [{"a": NAN}]),
                            ([{"a": None}], [{"a": None}])),
    "MAP<STRING, DOUBLE>": (([("k", 1.5)], [("k", 1.5)]), ([("k", None)], [("k", None)]), ([], [])),
    "MAP<STRING, INT>": (([("k", 127)], [("k", 127)]), ([("k", 128)], [("k", 128)]), ([("k", -129)], [("k", -129)])),
    "MAP<INT, STRING>": (([(1, "a"), (2, "b")], [(2, "b"), (1, "a")]), ([(1, None)], [(1, None)])),
    "MAP<STRING, DATE>": (([("k", dt.date(1970, 3, 1))], [("k", dt.date(1970, 3, 1))]),
                          ([("k", dt.date(2024, 3, 1))], [("k", dt.date(2024, 3, 1))])),
    "MAP<STRING, ARRAY<INT>>": (([("k", [300])], [("k", [300])]), ([("k", [None])], [("k", [None])])),
    "MULTISET<STRING>": (([("k", 5)], [("k", 5)]), ([("k", 300)], [("k", 300)])),
}  # fmt: skip


@pytest.mark.parametrize("kind", NO_CHANGES)
def test_what_is_no_change_is_what_java_says(java: JavaProcess, tmp_path: Path, kind: str) -> None:
    """And the proof of the changelog knows that changes are left out of it."""
    found = []
    for name, producer in (("ours", "lookup"), ("theirs", "lookup"), ("full", "full-compaction")):
        warehouse, pairs = str(tmp_path / name), NO_CHANGES[kind]
        options = {**PRODUCER, "changelog-producer": producer, "changelog-producer.row-deduplicate": "true"}
        java.create_table(warehouse, "db.t", [("id", "BIGINT NOT NULL"), ("v", kind)], (["id"], []), options)
        for values in zip(*pairs, strict=True):
            table = table_of(warehouse)
            _, wanted = table.to_arrow().schema.types
            rows = {"id": pa.array(range(len(pairs)), pa.int64()), "v": pa.array(values, wanted)}
            table.write_arrow(pa.table(rows))
            if name == "theirs":
                java.compact(warehouse, "db.t")
            else:
                assert not produce_changelog(None, table_of(warehouse)).failed
        found.append([(row["rowkind"], row["id"]) for row in _changes(warehouse)])
        assert audit_changelog(None, table_of(warehouse)).holds
    ours, theirs, full = map(sorted, found)
    assert ours == theirs == full


def _changes(warehouse: str) -> list[dict[str, Any]]:
    log = open_catalog({"warehouse": warehouse}).get_table("db.t$audit_log")
    between = {
        "incremental-between": f"0,{table_of(warehouse).snapshots.latest_id()}",
        "incremental-between-scan-mode": "changelog",
    }
    changes: list[dict[str, Any]] = log.to_arrow(options=between).to_pylist()
    return changes


BY_THE_WRITER = ("plain", "partial update in groups", "first row")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "inline"), [*((name, False) for name in (*CASES, *FIRST_ROW)), *((name, True) for name in BY_THE_WRITER)]
)
def test_the_changelog_of_lookups_is_that_of_java(
    java: JavaProcess, tmp_path: Path, name: str, *, inline: bool
) -> None:
    """Java compacts and looks up in its writer, at each commit; we do afterwards, or in the writer too (`inline`)."""
    case = (CASES | FIRST_ROW)[name]
    ours, theirs = both(java, tmp_path, {"bucket": "1", "changelog-producer": "lookup", **case.options})
    dice = random.Random(name)
    levels = set()
    changes = 0
    for number in range(9):
        rows, kinds = random_batch(dice, case.kinds)
        if number in (0, 5):
            rows, kinds = [*older_rows(), *rows], ["+I"] * OLDER + kinds
        java.write(theirs, "db.t", rows, kinds)
        table_of(ours).copy({"write-only": str(not inline)}).write_arrow(arrow_of(rows, COLUMNS), kinds)
        if not inline:
            report = produce_changelog(None, table_of(ours))
            assert not report.failed
            changes += sum(report.changelog_rows.values())
        levels |= {file.level for file in live_files(table_of(ours))}
        assert produce_changelog(None, table_of(ours)).snapshot_ids == ()
        same_rows(java, ours, theirs)
    assert len(levels) > 1
    actual = changes_of(java, ours)
    assert actual == changes_of(java, theirs)
    assert len(actual) > OLDER
    assert inline or len(actual) == changes
    java.compact(theirs, "db.t")
    compact(None, table_of(ours), full=True)
    assert changes_of(java, ours) == changes_of(java, theirs) == actual
    same_rows(java, ours, theirs)


@pytest.mark.parametrize("name", ["plain", "partial update in groups", "aggregation"])
def test_lookups_after_several_commits_are_those_of_java(java: JavaProcess, tmp_path: Path, name: str) -> None:
    """Writers are write-only on both sides, so that level 0 holds several files, of several changes to a key.

    Both compact to the highest level: what a deletion leaves behind depends on whether there is a level above.
    """
    case = CASES[name]
    ours, theirs = both(
        java, tmp_path, {"bucket": "1", "changelog-producer": "lookup", "write-only": "true", **case.options}
    )
    dice = random.Random(name)
    for _ in range(4):
        for _ in range(dice.randint(1, 3)):
            rows, kinds = random_batch(dice, case.kinds)
            for warehouse in (ours, theirs):
                table_of(warehouse).write_arrow(arrow_of(rows, COLUMNS), kinds)
        java.compact(theirs, "db.t")
        assert not compact(None, table_of(ours), full=True).failed
        same_rows(java, ours, theirs)
    assert changes_of(java, ours) == changes_of(java, theirs) != []


@pytest.mark.parametrize("name", CASES)
def test_the_changelog_of_input_is_that_of_java(java: JavaProcess, tmp_path: Path, name: str) -> None:
    case = CASES[name]
    options = {"bucket": "2", "changelog-producer": "input", "write-only": "true", **case.options}
    ours, theirs = both(java, tmp_path, options)
    dice = random.Random(name)
    for _ in range(3):
        rows, kinds = random_batch(dice, case.kinds)
        java.write(theirs, "db.t", rows, kinds)
        table_of(ours).write_arrow(arrow_of(rows, COLUMNS), kinds)
    actual = changes_of(java, ours)
    assert actual == changes_of(java, theirs) != []
    same_rows(java, ours, theirs)
    for snapshot_id in table_of(ours).snapshots.list_ids():
        mine, other = (table_of(w).snapshots.get(snapshot_id) for w in (ours, theirs))
        assert (mine.commit_kind, mine.changelog_record_count) == (other.commit_kind, other.changelog_record_count)


def both(java: JavaProcess, folder: Path, options: Mapping[str, str]) -> tuple[str, str]:
    """Two warehouses with the same table: one for us, one for Java."""
    warehouses = (str(folder / "ours"), str(folder / "theirs"))
    for warehouse in warehouses:
        java.create_table(warehouse, "db.t", COLUMNS, (["id"], []), options)
    return warehouses


def test_java_goes_on_from_our_changelog(java: JavaProcess, tmp_path: Path) -> None:
    warehouse = str(tmp_path)
    java.create_table(warehouse, "db.t", COLUMNS, (["id"], []), PRODUCER)
    table_of(warehouse).write_arrow(arrow_of([(1, 0, "a", 1.0), (2, 0, "b", 2.0)], COLUMNS))
    produce_changelog(None, table_of(warehouse))
    table_of(warehouse).write_arrow(arrow_of([(1, 1, "c", 1.0), (2, 0, "b", 2.0)], COLUMNS), ["+U", "-D"])
    java.compact(warehouse, "db.t")
    between = {"incremental-between": "2,4", "incremental-between-scan-mode": "changelog"}
    rows = java.rows(warehouse, "db.t$audit_log", between)
    assert comparable(rows) == comparable([("-U", 1, 0, "a", 1.0), ("+U", 1, 1, "c", 1.0), ("-D", 2, 0, "b", 2.0)])


def test_merging_by_sequence_fields_is_that_of_java(java: JavaProcess, tmp_path: Path) -> None:
    """Several fields, nulls among them, both directions of the order. Java 1.4 cannot order NaN and both zeros."""
    dice = random.Random(7)
    for order in ("ascending", "descending"):
        warehouse = str(tmp_path / order)
        options = {
            "bucket": "1",
            "write-only": "true",
            "sequence.field": "v,version",
            "sequence.field.sort-order": order,
        }
        Sample(("id",), (), options).create(warehouse, COLUMNS)
        for _ in range(4):
            rows, kinds = random_batch(dice)
            table_of(warehouse).write_arrow(arrow_of(rows, COLUMNS), kinds)
        assert comparable(rows_in(table_of(warehouse).to_arrow())) == comparable(java.rows(warehouse, "db.t"))
