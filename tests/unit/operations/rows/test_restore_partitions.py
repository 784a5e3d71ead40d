"""Partitions come back from a tag or an earlier snapshot, and the rest of the table stays as it is."""

from pathlib import Path

import pyarrow as pa
import pytest

from maintenance.catalog import CatalogTable
from maintenance.errors import DataError, NotFoundError, OptionError, PredicateError
from maintenance.format.metadata.snapshot import CommitKind
from maintenance.metastore.schema_change import AddColumn, RenameColumn
from maintenance.operations.expiry.expire_snapshots import expire_snapshots
from maintenance.operations.refs.create_tag import create_tag
from maintenance.operations.refs.delete_tag import delete_tag
from maintenance.operations.rows.delete import delete
from maintenance.operations.rows.drop_partitions import drop_partitions
from maintenance.operations.rows.restore_partitions import OPERATION, restore_partitions
from tests.tables import create_table, get_table, open_warehouse, texts_of

FIELDS = (("day", "STRING NOT NULL"), ("id", "INT NOT NULL"), ("v", "STRING"))
MONDAY, TUESDAY = {"day": "mon"}, {"day": "tue"}
VECTORS = {"deletion-vectors.enabled": "true", "write-only": "false"}


def rows(*given: tuple[str, int, str]) -> pa.Table:
    days, ids, texts = zip(*given, strict=True)
    return pa.table({"day": days, "id": pa.array(ids, pa.int32()), "v": texts})


def seen(table: CatalogTable) -> list[tuple[str, int, str]]:
    return sorted((row["day"], row["id"], row["v"]) for row in table.to_arrow().to_pylist())


def filled(folder: Path, keys: tuple[str, ...], options: dict[str, str] | None = None) -> CatalogTable:
    """Two days, a row of each deleted, under the tag ``kept``; then Monday is dropped, and Tuesday gets a row."""
    table = create_table(folder, FIELDS, keys, options, partition_keys=("day",))
    table.write_arrow(rows(("mon", 1, "a"), ("mon", 2, "b"), ("tue", 1, "c"), ("tue", 2, "d")))
    delete(None, table, "id = 2")
    create_tag(table, "kept")
    drop_partitions(table, [MONDAY])
    table.write_arrow(rows(("tue", 3, "e")))
    return table


@pytest.mark.parametrize(
    ("keys", "options"),
    [((), None), (("day", "id"), None), (("day", "id"), VECTORS)],
    ids=["append", "primary key", "deletion vectors"],
)
def test_a_dropped_partition_comes_back(tmp_path: Path, keys: tuple[str, ...], options: dict[str, str] | None) -> None:
    table = filled(tmp_path, keys, options)
    newest, kept = table.snapshots.latest_id(), table.tags.get("kept").snapshot.id
    would = restore_partitions(None, table, [MONDAY], tag="kept", dry_run=True)
    assert table.snapshots.latest_id() == newest
    assert (would.source, texts_of(would.restored), would.replaced_files, would.snapshot_id) == (
        kept,
        (MONDAY,),
        0,
        None,
    )
    report = restore_partitions(None, table, [MONDAY], tag="kept")
    assert (report.files, report.rows, report.bytes) == (would.files, would.rows, would.bytes)
    assert report.snapshot_id is not None
    assert table.snapshots.get(report.snapshot_id).commit_kind == CommitKind.OVERWRITE
    assert seen(table) == [("mon", 1, "a"), ("tue", 1, "c"), ("tue", 3, "e")]
    delete_tag(table, "kept")
    expire_snapshots(table.copy({"snapshot.time-retained": "0 s"}), retain_min=1, retain_max=1)
    assert seen(table) == [("mon", 1, "a"), ("tue", 1, "c"), ("tue", 3, "e")], "it needs none of the tag's files"


def test_what_a_partition_holds_now_is_replaced(tmp_path: Path) -> None:
    table = filled(tmp_path, ("day", "id"))
    table.write_arrow(rows(("mon", 7, "new")))
    kept = table.tags.get("kept").snapshot.id
    report = restore_partitions(None, table, [MONDAY, TUESDAY], snapshot_id=kept)
    assert (report.replaced_files, texts_of(report.restored)) == (4, (MONDAY, TUESDAY))
    assert seen(table) == [("mon", 1, "a"), ("tue", 1, "c")]


@pytest.mark.parametrize(
    ("where", "expected"),
    [("day >= 'mon'", (MONDAY, TUESDAY)), ("day < 'n'", (MONDAY,)), ("day IN ('sun', 'tue')", (TUESDAY,))],
)
def test_the_partitions_of_a_condition_come_back(
    tmp_path: Path, where: str, expected: tuple[dict[str, str], ...]
) -> None:
    table = filled(tmp_path, ("day", "id"))
    plan = OPERATION.dry_run(table, tag="kept", where=where)
    report = OPERATION.carry_out(table, plan)
    assert texts_of(report.restored) == expected
    assert ("mon" in {day for day, _, _ in seen(table)}) == (MONDAY in expected)


def test_rows_come_back_under_the_newest_schema(tmp_path: Path) -> None:
    filled(tmp_path, ("day", "id"))
    open_warehouse(tmp_path).alter_table("db.t", [RenameColumn("v", "text"), AddColumn("n", "INT")])
    table = get_table(tmp_path)
    restore_partitions(None, table, [MONDAY], tag="kept")
    assert [row for row in table.to_arrow().to_pylist() if row["day"] == "mon"] == [
        {"day": "mon", "id": 1, "text": "a", "n": None}
    ]


def test_what_cannot_be_restored_changes_nothing(tmp_path: Path) -> None:
    table = filled(tmp_path, ("day", "id"))
    newest = table.snapshots.latest_id()
    for partitions, state, error, actual in (
        ([], {"tag": "kept"}, DataError, "no partition is named"),
        ([{"id": "1"}], {"tag": "kept"}, DataError, "is not a partition"),
        ([MONDAY], {}, OptionError, "exactly one earlier state"),
        ([MONDAY], {"tag": "kept", "snapshot_id": 1}, OptionError, "exactly one earlier state"),
        ([MONDAY], {"tag": "nope"}, NotFoundError, "nope"),
        ([MONDAY], {"snapshot_id": 99}, NotFoundError, "snapshot 99 does not exist"),
        ([MONDAY, {"day": "sun"}], {"tag": "kept"}, NotFoundError, r"no partition day=sun.*It has day=mon, day=tue"),
    ):
        with pytest.raises(error, match=actual):
            restore_partitions(None, table, partitions, **state)
    for where, fault, found in (
        ("day = 'sun'", NotFoundError, r"no partition of snapshot \d+ fulfils day = 'sun'.*It has day=mon, day=tue"),
        ("id = 1", PredicateError, "names columns that are not partition columns"),
    ):
        with pytest.raises(fault, match=found):
            restore_partitions(None, table, where=where, tag="kept")
    with pytest.raises(DataError, match="partitions are named, and a condition is given"):
        restore_partitions(None, table, [MONDAY], where="day = 'mon'", tag="kept")
    assert table.snapshots.latest_id() == newest
