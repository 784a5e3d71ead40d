"""Incremental clustering: this engine and the Java core pick the same files, and read the same rows afterwards."""

import random
from pathlib import Path

import pytest

from maintenance.catalog import CatalogTable
from maintenance.operations import compact, fsck
from maintenance.operations.compaction.request import CompactRequest
from tests.java.process import JavaProcess
from tests.java.samples import arrow_of, comparable, rows_in, table_of
from tests.tables import live

COLUMNS = (("p", "INT NOT NULL"), ("a", "INT"), ("b", "STRING"))
CLUSTERED = {"clustering.incremental": "true", "bucket": "-1", "num-sorted-run.compaction-trigger": "3"}
TABLES = {
    "one column": {"clustering.columns": "a"},
    "vectors": {"clustering.columns": "a,b", "deletion-vectors.enabled": "true"},
    "row tracking": {"clustering.columns": "b, a", "clustering.strategy": "hilbert", "row-tracking.enabled": "true"},
    "local": {"clustering.columns": "a", "clustering.incremental.mode": "local-sort", "target-file-size": "2 kb"},
}


def picked(table: CatalogTable, *, full: bool) -> list[tuple[int, list[str]]]:
    units: dict[tuple[bytes, int], list[str]] = {}
    for unit in CompactRequest(full=full).checked(table).plan(table).units:
        level = getattr(unit, "output_level", 0)
        units.setdefault((unit.partition, level), []).extend(file.file_name for file in unit.input_files)
    return sorted((level, sorted(names)) for (_, level), names in units.items())


@pytest.mark.parametrize("name", TABLES)
def test_the_same_files_are_picked(java: JavaProcess, tmp_path: Path, name: str) -> None:
    warehouse, dice = str(tmp_path), random.Random(name)
    java.create_table(warehouse, "db.t", COLUMNS, ([], ["p"]), {**CLUSTERED, **TABLES[name]})
    levels = set()
    for number in range(9):
        rows = [(dice.randint(0, 1), dice.randint(0, 99), f"{number} {i}") for i in range(dice.choice([3, 30]))]
        if number % 2:
            java.write(warehouse, "db.t", rows)
        else:
            table_of(warehouse).write_arrow(arrow_of(rows, COLUMNS))
        table = table_of(warehouse)
        if name == "vectors" and number == 5:
            table.delete("a < 20")
        for full in (False, True):
            ours, theirs = picked(table, full=full), java.cluster_units(warehouse, "db.t", full=full)
            if full and name == "vectors":  # Java leaves what is on the highest level alone, with its vectors
                ours = [unit for unit in ours if unit in theirs]
            assert ours == theirs, (number, full)
        before = comparable(java.rows(warehouse, "db.t"))
        report = compact(None, table, full=number == 6)
        assert not report.failed
        assert comparable(rows_in(table.to_arrow())) == comparable(java.rows(warehouse, "db.t")) == before
        levels |= {entry.file.level for entry in live(table)}
    assert {0, 3} <= levels
    assert fsck(table.file_io, table.location).healthy
    compact(None, table, full=True)
    assert {entry.file.level for entry in live(table)} == {3}
    assert java.cluster_units(warehouse, "db.t", full=True) == []
