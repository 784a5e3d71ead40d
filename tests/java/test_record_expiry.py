"""`record-level.expire-time`: compactions here leave out the rows that Java's leave out, and rewrite the same files."""

import random
import shutil
import time
from pathlib import Path
from typing import Any

import pytest

from maintenance.catalog import CatalogTable
from maintenance.metastore.schema_change import SetOption
from maintenance.operations.compaction.compact import compact
from tests.java.process import JavaProcess
from tests.tables import get_table

DAY = 86_400
EXPIRY = {"record-level.expire-time": "1 d", "record-level.time-field": "t"}
# Of each type: how many of its units a second has.
UNITS = {
    "INT": 1,
    "BIGINT": 1,
    "TIMESTAMP(0)": 10**9,
    "TIMESTAMP(3)": 10**9,
    "TIMESTAMP(9)": 10**9,
    "TIMESTAMP(6) WITH LOCAL TIME ZONE": 10**9,
}
TABLES: dict[str, dict[str, str]] = {
    "deduplicate": {},
    "full-compaction": {"changelog-producer": "full-compaction"},
    "lookup": {"changelog-producer": "lookup"},
    "first-row": {"merge-engine": "first-row"},
    "partial-update": {"merge-engine": "partial-update", "partial-update.ignore-delete": "true"},
    "orc": {"file.format": "orc", "metadata.stats-dense-store": "true"},
}


def created(java: JavaProcess, folder: Path, data_type: str, options: dict[str, str]) -> str:
    warehouse = str(folder / "lake")
    given = {"bucket": "1", "write-only": "true", **options}
    java.create_table(warehouse, "db.t", [("k", "INT NOT NULL"), ("t", data_type), ("v", "INT")], (["k"], []), given)
    return warehouse


def times(dice: random.Random, data_type: str) -> int | None:
    """A time well before the limit, well after it, or none."""
    now = int(time.time())
    seconds = dice.choice([None, now, now + DAY, now - 20 * DAY, now - 3 * DAY, now - DAY // 2])
    if seconds is None:
        return None
    if data_type == "BIGINT" and dice.random() < 0.5:
        return seconds * 1000 + 999
    return seconds * UNITS[data_type]


def state(table: CatalogTable) -> list[Any]:
    rows = table.to_arrow()
    return sorted(zip(*(column.to_pylist() for column in rows.columns), strict=True), key=str)


def changes(table: CatalogTable) -> list[Any]:
    """The changelog of the newest snapshot."""
    snapshot = table.latest_snapshot()
    assert snapshot is not None
    return [
        (entry.file.row_count, entry.file.delete_row_count) for entry in table.manifests.changelog_entries(snapshot)
    ]


def files(table: CatalogTable) -> list[tuple[int, int]]:
    snapshot = table.latest_snapshot()
    assert snapshot is not None
    return sorted((entry.file.level, entry.file.row_count) for entry in table.manifests.live_entries(snapshot))


def compacted_by_both(java: JavaProcess, warehouse: str) -> CatalogTable:
    """Java compacts a copy, and both come to the same; returns the table compacted here."""
    copy = f"{warehouse}-java"
    shutil.rmtree(copy, ignore_errors=True)
    shutil.copytree(warehouse, copy)
    java.compact(copy, "db.t")
    table = get_table(warehouse, "db.t")
    compact(None, table, full=True)
    theirs = get_table(copy, "db.t")
    assert state(table) == state(theirs) == sorted(state(table), key=str)
    assert sorted(java.rows(warehouse, "db.t"), key=str) == sorted(java.rows(copy, "db.t"), key=str)
    assert files(table) == files(theirs)
    assert changes(table) == changes(theirs)
    return table


# Every type of time with one kind of table, and every kind with one type.
CASES = [("deduplicate", data_type) for data_type in UNITS] + [
    (name, "BIGINT") for name in TABLES if name != "deduplicate"
]


@pytest.mark.parametrize(("name", "data_type"), CASES)
def test_compactions_leave_out_the_same_rows(java: JavaProcess, tmp_path: Path, name: str, data_type: str) -> None:
    dice = random.Random(f"{name} {data_type}")
    warehouse = created(java, tmp_path, data_type, {**TABLES[name], **EXPIRY})
    lost = 0
    for number in range(4):
        for _ in range(2):
            rows = [(k, times(dice, data_type), number) for k in dice.sample(range(40), 15)]
            deletes = name in ("deduplicate", "lookup", "full-compaction", "orc")
            java.write(warehouse, "db.t", rows, [dice.choice(["+I", "+I", "-D"]) if deletes else "+I" for _ in rows])
        # Batch reads of first-row do not see level 0; its rows are never deleted.
        visible = {row[0] for row in state(get_table(warehouse, "db.t"))}
        before = {row[0] for row in rows} if name == "first-row" else visible
        after = {row[0] for row in state(compacted_by_both(java, warehouse))}
        lost += len(before - after)
    assert lost


def test_a_full_compaction_rewrites_files_that_hold_old_rows(java: JavaProcess, tmp_path: Path) -> None:
    now = int(time.time())
    warehouse = created(java, tmp_path, "INT", {"target-file-size": "1 kb"})
    java.write(warehouse, "db.t", [(k, now - (k > 500) * 9 * DAY, k) for k in range(1000)])
    java.compact(warehouse, "db.t")
    java.alter(warehouse, "db.t", [SetOption(key, value) for key, value in EXPIRY.items()])
    assert len(state(compacted_by_both(java, warehouse))) == 501
    again = compact(None, get_table(warehouse, "db.t"), full=True)
    assert not any(group.changed for group in again.groups), "nothing is left to do"


VECTORS: dict[str, dict[str, str]] = {
    "deduplicate": {},
    "lookup": {"changelog-producer": "lookup"},
    "partial-update": {"merge-engine": "partial-update", "partial-update.ignore-delete": "true"},
}


def written_by_both(
    java: JavaProcess, warehouse: str, rows: list[Any], kinds: list[str], *, full: bool
) -> CatalogTable:
    """Write rows to a table and to its copy, which Java compacts as it writes; returns the table compacted here."""
    java.write(warehouse, "db.t", rows, kinds)
    java.write(f"{warehouse}-java", "db.t", rows, kinds, options={"write-only": "false"})
    if full:
        java.compact(f"{warehouse}-java", "db.t")
    table = get_table(warehouse, "db.t")
    assert not compact(None, table, full=full).failed
    return table


@pytest.mark.parametrize("name", VECTORS)
def test_with_deletion_vectors_the_same_rows_go(java: JavaProcess, tmp_path: Path, name: str) -> None:
    dice = random.Random(name)
    options = {**VECTORS[name], **EXPIRY, "deletion-vectors.enabled": "true", "num-sorted-run.compaction-trigger": "2"}
    warehouse = created(java, tmp_path, "BIGINT", options)
    shutil.copytree(warehouse, f"{warehouse}-java")
    written: set[Any] = set()
    for number in range(4):
        rows = [(k, times(dice, "BIGINT"), number) for k in dice.sample(range(40), 15)]
        kinds = ["+I" if name == "partial-update" else dice.choice(["+I", "+I", "-D"]) for _ in rows]
        table = written_by_both(java, warehouse, rows, kinds, full=number == 3)
        assert state(table) == state(get_table(f"{warehouse}-java", "db.t"))
        written |= {row[0] for row, kind in zip(rows, kinds, strict=True) if kind == "+I"}
    assert sorted(java.rows(warehouse, "db.t"), key=str) == state(table)
    assert {row[0] for row in state(table)} < written


@pytest.mark.parametrize("name", VECTORS)
def test_a_new_row_deletes_the_older_one_that_is_past_its_time(java: JavaProcess, tmp_path: Path, name: str) -> None:
    """Java's lookup overlooks the older row, so that both stay until a full compaction."""
    now = int(time.time())
    options = {**VECTORS[name], "deletion-vectors.enabled": "true", "num-sorted-run.compaction-trigger": "9"}
    warehouse = created(java, tmp_path, "BIGINT", options)
    java.write(warehouse, "db.t", [(k, now - 9 * DAY, k) for k in range(2000)])
    java.compact(warehouse, "db.t")
    java.alter(warehouse, "db.t", [SetOption(key, value) for key, value in EXPIRY.items()])
    shutil.copytree(warehouse, f"{warehouse}-java")
    table = written_by_both(java, warehouse, [(5, now, None), (6, now - 9 * DAY, -6)], ["+I", "+I"], full=False)
    theirs = get_table(f"{warehouse}-java", "db.t")
    assert files(table) == files(theirs)
    assert changes(table) == changes(theirs)
    of_key = [row for row in state(table) if row[0] in (5, 6)]
    assert of_key == [(5, now, None), (6, now - 9 * DAY, 6)], "what was too old before it was merged is not there"
    assert sorted(java.rows(warehouse, "db.t"), key=str) == state(table)
    assert sorted(set(state(theirs)) - set(state(table))) == [(5, now - 9 * DAY, 5)]
