"""Dropped partitions are listed with the newest state that holds them, and come back from it."""

from pathlib import Path

import pytest

from maintenance.operations.expiry.expire_snapshots import expire_snapshots
from maintenance.operations.refs.delete_tag import delete_tag
from maintenance.operations.rows.drop_partitions import drop_partitions
from maintenance.operations.rows.restorable_partitions import restorable_partitions
from maintenance.operations.rows.restore_partitions import restore_partitions
from maintenance.sql import Session
from tests.tables import create_table
from tests.unit.operations.rows.test_restore_partitions import FIELDS, MONDAY, TUESDAY, VECTORS, filled, rows, seen


@pytest.mark.parametrize(
    ("keys", "options"),
    [((), None), (("day", "id"), None), (("day", "id"), VECTORS)],
    ids=["append", "primary key", "deletion vectors"],
)
def test_what_is_listed_comes_back(tmp_path: Path, keys: tuple[str, ...], options: dict[str, str] | None) -> None:
    table = filled(tmp_path, keys, options)
    before = seen(table)
    (monday,) = restorable_partitions(table).partitions
    assert (str(monday.partition), monday.tag) == ("day=mon", None)
    assert monday.gone_at is not None
    report = restore_partitions(None, table, [MONDAY], snapshot_id=monday.snapshot_id)
    assert (report.files, report.rows, report.bytes) == (monday.files, monday.rows, monday.bytes)
    assert seen(table) == sorted([("mon", 1, "a"), *before])
    assert restorable_partitions(table).partitions == ()


def test_a_tag_holds_what_its_snapshot_does_no_longer(tmp_path: Path) -> None:
    table = filled(tmp_path, ())
    expire_snapshots(table, retain_min=1, retain_max=1)
    (monday,) = restorable_partitions(table).partitions
    assert (monday.tag, monday.gone_at) == ("kept", None)
    assert restore_partitions(None, table, [MONDAY], tag=monday.tag, dry_run=True).rows == monday.rows
    delete_tag(table, "kept")
    assert restorable_partitions(table).partitions == ()


def test_the_newest_state_of_a_partition_that_went_twice(tmp_path: Path) -> None:
    table = create_table(tmp_path, FIELDS, (), partition_keys=("day",))
    table.write_arrow(rows(("mon", 1, "a"), ("tue", 1, "b")))
    drop_partitions(table, [MONDAY])
    table.write_arrow(rows(("mon", 9, "new")))
    drop_partitions(table, [MONDAY])
    drop_partitions(table, [TUESDAY])
    listed = restorable_partitions(table).partitions
    assert [(str(each.partition), each.snapshot_id, each.rows) for each in listed] == [
        ("day=tue", 4, 1),
        ("day=mon", 3, 1),
    ]


def test_tables_that_have_none(tmp_path: Path) -> None:
    empty = create_table(tmp_path / "empty", FIELDS, (), partition_keys=("day",))
    assert restorable_partitions(empty).partitions == ()
    plain = create_table(tmp_path / "plain", FIELDS, ())
    plain.write_arrow(rows(("mon", 1, "a")))
    assert restorable_partitions(plain).partitions == ()


def test_the_procedure_lists_a_dropped_partition_with_its_snapshot(tmp_path: Path) -> None:
    filled(tmp_path, ())
    session = Session({"warehouse": str(tmp_path)})
    (row,) = session.sql("CALL sys.restorable_partitions('db.t')").to_arrow().to_pylist()
    assert (row["partition"], row["snapshot_id"], row["tag"], row["rows"]) == ("day=mon", 2, None, 1)
