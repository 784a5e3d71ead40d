"""Plans: applied they do exactly what they say; when the table has moved they do nothing and say what moved."""

from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pyarrow as pa
import pytest

from maintenance.catalog import CatalogTable, Schema, open_catalog
from maintenance.errors import ConflictError, CorruptFileError, NotFoundError, OptionError
from maintenance.operations.compaction.compact import compact
from maintenance.operations.compaction.request import CompactRequest
from maintenance.operations.plan_store import StoredPlan
from maintenance.operations.refs.create_tag import create_tag
from tests.kept_plans import (
    apply_compact,
    apply_expire_snapshots,
    apply_tag,
    plan_compact,
    plan_expire_snapshots,
    plan_tag,
)


@pytest.fixture
def table(tmp_path: Path) -> CatalogTable:
    catalog = open_catalog({"warehouse": str(tmp_path)})
    catalog.create_database("db")
    columns = [("day", "STRING NOT NULL"), ("id", "INT NOT NULL"), ("v", "INT")]
    options = {"bucket": "1", "write-only": "true"}
    catalog.create_table("db.t", Schema(columns, primary_keys=["day", "id"], partition_keys=["day"], options=options))
    opened = catalog.get_table("db.t")
    assert isinstance(opened, CatalogTable)
    return opened


def put(table: CatalogTable, value: int, *days: str) -> None:
    ids, values = pa.array([1] * len(days), pa.int32()), pa.array([value] * len(days), pa.int32())
    table.write_arrow(pa.table({"day": list(days), "id": ids, "v": values}))


def live(table: CatalogTable) -> set[str]:
    snapshot = table.latest_snapshot()
    assert snapshot is not None
    return {entry.file.file_name for entry in table.manifests.live_entries(snapshot)}


def test_a_plan_survives_its_file_and_is_refused_when_changed(table: CatalogTable, tmp_path: Path) -> None:
    put(table, 1, "a")
    put(table, 2, "a")
    plan = plan_compact(table, CompactRequest(full=True))
    assert (plan.files, len(plan.groups), plan.groups[0].expected_files) == (2, 1, 1)
    plan_id = plan.store(table.file_io, str(tmp_path))
    assert StoredPlan.load(table.file_io, str(tmp_path), plan_id) == plan
    path = tmp_path / "_maintenance" / "plans" / f"{plan_id}.json"
    path.write_text(path.read_text().replace("day=a", "day=b"))
    with pytest.raises(CorruptFileError, match="changed after it was stored"):
        StoredPlan.load(table.file_io, str(tmp_path), plan_id)
    for missing in ("0123456789abcdef", "../secret", f"../plans/{plan_id}", f"{plan_id}\0", "", "x" * 300, "²" * 16):
        with pytest.raises(NotFoundError):
            StoredPlan.load(table.file_io, str(tmp_path), missing)


def test_a_compaction_rewrites_exactly_what_its_plan_names(table: CatalogTable) -> None:
    put(table, 1, "a", "b")
    put(table, 2, "a", "b")
    plan = plan_compact(table, CompactRequest(full=True, partitions=[{"day": "a"}]))
    put(table, 3, "b", "c")
    before = live(table)
    report = apply_compact(None, table, plan)
    assert report.count("committed") == 1
    gone = before - live(table)
    assert gone == set(plan.groups[0].files)
    assert sorted(row["v"] for row in table.to_arrow().to_pylist()) == [2, 3, 3]


def test_a_compaction_whose_files_moved_does_nothing_and_says_what_moved(table: CatalogTable) -> None:
    put(table, 1, "a", "b")
    put(table, 2, "a", "b")
    plan = plan_compact(table, CompactRequest(full=True))
    put(table, 3, "b")
    before = table.snapshots.latest_id()
    with pytest.raises(ConflictError, match=r"day=b bucket 0: 1 file new in it"):
        apply_compact(None, table, plan)
    assert table.snapshots.latest_id() == before
    compact(None, table, full=True)
    with pytest.raises(ConflictError, match=r"day=a bucket 0: 2 files no longer in it"):
        apply_compact(None, table, plan)


def test_an_expiry_deletes_exactly_what_its_plan_names(table: CatalogTable) -> None:
    for value in range(4):
        put(table, value, "a")
        compact(None, table, full=True)
    plan = plan_expire_snapshots(table, retain_max=5, retain_min=1)
    put(table, 9, "a")
    put(table, 10, "b")
    report = apply_expire_snapshots(table, plan)
    planned = next(group for group in plan.groups if group.name == "files")
    assert {f"snapshot {actual}" for actual in report.expired} == {g.name for g in plan.groups if g is not planned}
    assert set(report.deleted_files) == set(planned.files)
    assert report.deleted_bytes == planned.bytes
    assert table.to_arrow().num_rows == 2


def test_an_expiry_is_refused_once_a_tag_needs_what_it_would_delete(table: CatalogTable) -> None:
    for value in range(4):
        put(table, value, "a")
        compact(None, table, full=True)
    plan = plan_expire_snapshots(table, retain_max=2, retain_min=1)
    create_tag(table, "kept", snapshot_id=3)
    before = table.snapshots.list_ids()
    with pytest.raises(ConflictError, match="no longer in it"):
        apply_expire_snapshots(table, plan)
    assert table.snapshots.list_ids() == before


def test_a_plan_of_another_table_is_refused(table: CatalogTable) -> None:
    put(table, 1, "a")
    plan = plan_compact(table, CompactRequest(full=True))
    with pytest.raises(OptionError, match=r"compact of db\.other"):
        apply_compact(None, table, replace(plan, table="db.other"))
    with pytest.raises(OptionError, match="plan of this table and operation"):
        apply_expire_snapshots(table, plan)


def test_a_plan_to_sort_is_carried_out_sorting(tmp_path: Path) -> None:
    catalog = open_catalog({"warehouse": str(tmp_path)})
    catalog.create_database("db")
    catalog.create_table("db.a", Schema([("id", "INT"), ("v", "INT")], options={"bucket": "-1"}))
    table = catalog.get_table("db.a")
    assert isinstance(table, CatalogTable)
    for ids in ([3, 1], [2, 0]):
        table.write_arrow(pa.table({"id": pa.array(ids, pa.int32()), "v": pa.array(ids, pa.int32())}))
    plan = plan_compact(table, CompactRequest(order_strategy="order", order_by=["id"]))
    assert plan.files == 2
    assert apply_compact(None, table, plan).count("committed") == 1
    assert table.to_arrow()["id"].to_pylist() == [0, 1, 2, 3]


def test_a_plan_of_an_earlier_release_is_applied_as_it_was_meant_or_refused(table: CatalogTable) -> None:
    """Times were kept without saying that they are times; other arguments had other names."""
    for value in range(3):
        put(table, value, "a")
    moment = datetime.now(UTC)
    plan = plan_expire_snapshots(table, retain_max=3, retain_min=1, older_than=moment)
    as_then = replace(plan, arguments={**plan.arguments, "older_than": moment.isoformat(), "max_deletes": None})
    assert [int(group.name.split()[1]) for group in plan.groups if "snapshot" in group.name] == [1, 2]
    assert apply_expire_snapshots(table, as_then).expired == (1, 2)
    tag = plan_tag(table, "kept")
    with pytest.raises(OptionError, match="an earlier release has made this plan, and kept 'seconds_retained'"):
        apply_tag(table, replace(tag, arguments={**tag.arguments, "seconds_retained": 60.0}))
    assert table.tags.names() == []
