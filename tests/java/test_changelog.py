"""The changelog of a full compaction is the one that Java produces from the same writes."""

import random
from collections.abc import Mapping
from pathlib import Path

import pytest

from maintenance.operations.produce_changelog import produce_changelog
from tests.java.process import JavaProcess
from tests.java.samples import Row, Sample, arrow_of, comparable, rows_in, table_of

COLUMNS = (("id", "BIGINT NOT NULL"), ("version", "BIGINT"), ("v", "STRING"), ("d", "DOUBLE"))
TEXTS = ("a", "b", "é", "", None)
NUMBERS = (1.5, float("nan"), -0.0, 0.0, None)
PRODUCER = {"bucket": "2", "write-only": "true", "changelog-producer": "full-compaction"}
OPTIONS = {
    "plain": {},
    "without changes to the same": {"changelog-producer.row-deduplicate": "true"},
    "in another order": {"sequence.field": "version"},
    "without deletes": {"ignore-delete": "true"},
}


def random_batch(dice: random.Random) -> tuple[list[Row], list[str]]:
    """Changes of few keys, so that they meet; the same key several times in a batch too."""
    count = dice.randint(1, 12)
    rows: list[Row] = [
        (dice.randint(0, 9), dice.randint(0, 5), dice.choice(TEXTS), dice.choice(NUMBERS)) for _ in range(count)
    ]
    return rows, [dice.choice(["+I", "+I", "+U", "-U", "-D"]) for _ in range(count)]


@pytest.mark.parametrize("name", OPTIONS)
def test_the_changelog_is_that_of_java(java: JavaProcess, tmp_path: Path, name: str) -> None:
    options: Mapping[str, str] = {**PRODUCER, **OPTIONS[name]}
    ours, theirs = str(tmp_path / "ours"), str(tmp_path / "theirs")
    for warehouse in (ours, theirs):
        java.create_table(warehouse, "db.t", COLUMNS, (["id"], []), options)
    dice = random.Random(name)
    changes = 0
    for _ in range(4):
        for _ in range(dice.randint(1, 3)):
            rows, kinds = random_batch(dice)
            for warehouse in (ours, theirs):
                table_of(warehouse).write_arrow(arrow_of(rows, COLUMNS), kinds)
        java.compact(theirs, "db.t")
        report = produce_changelog(None, table_of(ours))
        changes += sum(report.changelog_rows.values())
    last = table_of(ours).snapshots.latest_id()
    assert last == table_of(theirs).snapshots.latest_id()
    between = {"incremental-between": f"1,{last}", "incremental-between-scan-mode": "changelog"}
    found, wanted = (comparable(java.rows(w, "db.t$audit_log", between)) for w in (ours, theirs))
    assert found == wanted
    assert len(found) == changes > 10
    assert comparable(rows_in(table_of(ours).to_arrow())) == comparable(java.rows(theirs, "db.t"))


def test_java_goes_on_from_our_changelog(java: JavaProcess, tmp_path: Path) -> None:
    warehouse = str(tmp_path)
    java.create_table(warehouse, "db.t", COLUMNS, (["id"], []), PRODUCER)
    table_of(warehouse).write_arrow(arrow_of([(1, 0, "a", 1.0), (2, 0, "b", 2.0)], COLUMNS))
    produce_changelog(None, table_of(warehouse))
    table_of(warehouse).write_arrow(arrow_of([(1, 1, "c", 1.0), (2, 0, "b", 2.0)], COLUMNS), ["+U", "-D"])
    java.compact(warehouse, "db.t")
    between = {"incremental-between": "2,4", "incremental-between-scan-mode": "changelog"}
    found = java.rows(warehouse, "db.t$audit_log", between)
    assert comparable(found) == comparable([("-U", 1, 0, "a", 1.0), ("+U", 1, 1, "c", 1.0), ("-D", 2, 0, "b", 2.0)])


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
