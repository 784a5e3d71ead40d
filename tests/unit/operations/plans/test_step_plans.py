"""Plans of changelog production, file indexes, tags and their expiry: done as they stand, or refused with a reason."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pyarrow as pa
import pytest

from maintenance.catalog import CatalogTable, Schema, open_catalog
from maintenance.errors import ConflictError, OptionError
from maintenance.operations.compaction.compact import compact
from maintenance.operations.compaction.request import ChangelogRequest
from maintenance.operations.indexes.rewrite_file_index import rewrite_file_index
from maintenance.operations.plan_store import StoredPlan
from maintenance.operations.refs.create_tag import create_tag
from maintenance.scan.file_index import has_index
from tests.kept_plans import (
    apply_changelog,
    apply_expire_partitions,
    apply_expire_tags,
    apply_file_index,
    apply_tag,
    plan_expire_partitions,
    plan_expire_tags,
    plan_file_index,
    plan_tag,
    preview_changelog,
)

LONG_AGO = datetime(2026, 1, 1, tzinfo=UTC)


def create(folder: Path, **options: str) -> CatalogTable:
    catalog = open_catalog({"warehouse": str(folder)})
    catalog.create_database("db", ignore_if_exists=True)
    columns = [("day", "STRING NOT NULL"), ("id", "INT NOT NULL"), ("v", "INT")]
    chosen = {"bucket": "1", "write-only": "true", **{key.replace("_", "-"): text for key, text in options.items()}}
    catalog.create_table("db.t", Schema(columns, primary_keys=["day", "id"], partition_keys=["day"], options=chosen))
    opened = catalog.get_table("db.t")
    assert isinstance(opened, CatalogTable)
    return opened


def put(table: CatalogTable, value: int, *days: str) -> None:
    ids, values = pa.array([1] * len(days), pa.int32()), pa.array([value] * len(days), pa.int32())
    table.write_arrow(pa.table({"day": list(days), "id": ids, "v": values}))


def changes(table: CatalogTable) -> set[tuple[str, str]]:
    """Day and kind of what the newest snapshot's changelog says."""
    latest = table.snapshots.latest_id() or 0
    log = open_catalog({"warehouse": table.location.rsplit("/", 2)[0]}).get_table("db.t$audit_log")
    rows = log.to_arrow(options={"incremental-between": f"{latest - 1},{latest}"}).to_pylist()
    return {(row["day"], row["rowkind"]) for row in rows}


@pytest.mark.parametrize("producer", ["lookup", "full-compaction"])
def test_a_changelog_is_made_of_exactly_what_its_plan_names(tmp_path: Path, producer: str) -> None:
    table = create(tmp_path, changelog_producer=producer)
    put(table, 1, "a", "b")
    _, plan = preview_changelog(table, ChangelogRequest(partitions=[{"day": "a"}]))
    assert [group.name for group in plan.groups] == ["day=a bucket 0"]
    put(table, 2, "c")
    assert apply_changelog(None, table, plan).count("committed") == 1
    assert changes(table) == {("a", "+I")}
    with pytest.raises(ConflictError, match="day=a bucket 0: 1 file no longer in it"):
        apply_changelog(None, table, plan)
    _, rest = preview_changelog(table)
    put(table, 3, "b")
    with pytest.raises(ConflictError, match="day=b bucket 0: 1 file new in it"):
        apply_changelog(None, table, rest)


def test_a_table_without_a_producer_has_no_plan_of_a_changelog(tmp_path: Path) -> None:
    with pytest.raises(OptionError, match="leaves nothing to produce"):
        preview_changelog(create(tmp_path))


def indexed(table: CatalogTable) -> set[str]:
    snapshot = table.latest_snapshot()
    assert snapshot is not None
    return {e.file.file_name for e in table.manifests.live_entries(snapshot) if has_index(e.file)}


def test_indexes_are_built_of_exactly_the_files_that_the_plan_names(tmp_path: Path) -> None:
    table = create(tmp_path)
    put(table, 1, "a", "b")
    wanted = table.copy({"file-index.bloom-filter.columns": "v"})
    plan = plan_file_index(None, wanted, where="day = 'a'")
    assert (plan.files, [group.name for group in plan.groups]) == (1, ["day=a bucket 0"])
    put(table, 2, "a")
    with pytest.raises(ConflictError, match="1 file new in it"):
        apply_file_index(None, wanted, plan)
    whole = plan_file_index(None, wanted)
    assert whole.files == 3
    put(table, 3, "c")
    assert apply_file_index(None, wanted, whole).written_files == 3
    assert indexed(table) == {name for group in whole.groups for name in group.files}
    assert plan_file_index(None, wanted).files == 1, "the file that came later"
    with pytest.raises(ConflictError, match="no longer in it"):
        apply_file_index(None, wanted, whole)


def test_a_plan_finds_the_files_that_a_rewrite_changes(tmp_path: Path) -> None:
    table = create(tmp_path)
    put(table, 1, "a", "b")
    bloom = table.copy({"file-index.bloom-filter.columns": "v"})
    rewrite_file_index(None, bloom, where="day = 'a'")
    for options in ({"file-index.bloom-filter.columns": "v"}, {"file-index.bitmap.columns": "v"}, {}):
        for rebuild in (False, True) if options else (False,):
            now = table.copy(options)
            planned = plan_file_index(None, now, rebuild=rebuild).files
            assert planned >= rewrite_file_index(None, now, rebuild=rebuild, dry_run=True).written_files
            assert rebuild or planned == rewrite_file_index(None, now, dry_run=True).written_files


def test_a_plan_is_refused_once_other_indexes_are_declared(tmp_path: Path) -> None:
    table = create(tmp_path)
    put(table, 1, "a")
    plan = plan_file_index(None, table.copy({"file-index.bloom-filter.columns": "v"}))
    with pytest.raises(ConflictError, match="other indexes are declared"):
        apply_file_index(None, table.copy({"file-index.bitmap.columns": "v"}), plan)
    assert not indexed(table)


def test_a_tag_holds_the_snapshot_that_was_planned(tmp_path: Path) -> None:
    table = create(tmp_path)
    put(table, 1, "a")
    plan = plan_tag(table, "kept", time_retained=timedelta(days=1))
    assert [group.reason for group in plan.groups] == ["keeps snapshot 1"]
    plan_id = plan.store(table.file_io, str(tmp_path))
    put(table, 2, "a")
    report = apply_tag(table, StoredPlan.load(table.file_io, str(tmp_path), plan_id))
    assert report is not None
    assert (report.snapshot_id, table.tags.get("kept").time_retained) == (1, timedelta(days=1))
    with pytest.raises(ConflictError, match="tag 'kept' exists and holds snapshot 1"):
        apply_tag(table, plan)
    none = plan_tag(table, "kept")
    assert none.groups == ()
    assert not apply_tag(table, none).created


def test_a_tag_of_a_snapshot_that_expired_is_refused(tmp_path: Path) -> None:
    table = create(tmp_path)
    put(table, 1, "a")
    plan = plan_tag(table, "kept")
    put(table, 2, "a")
    table.snapshots.write_hint("EARLIEST", 2)
    table.file_io.delete_quietly([table.paths.snapshot(1)])
    with pytest.raises(ConflictError, match="snapshot 1 is gone"):
        apply_tag(table, plan)
    assert table.tags.names() == []


def test_tags_expire_exactly_as_planned(tmp_path: Path) -> None:
    table = create(tmp_path)
    for value in (1, 2):
        put(table, value, "a")
        create_tag(table, f"t{value}", time_retained=timedelta(hours=1), now=LONG_AGO)
    compact(None, table, full=True)
    plan = plan_expire_tags(table)
    assert [group.name for group in plan.groups if group.name != "files"] == ["tag t1", "tag t2"]
    create_tag(table, "t0", snapshot_id=1, time_retained=timedelta(hours=1), now=LONG_AGO)
    with pytest.raises(ConflictError, match="tag t0 would be deleted, too"):
        apply_expire_tags(table, plan)
    assert table.tags.names() == ["t0", "t1", "t2"]
    again = plan_expire_tags(table)
    assert apply_expire_tags(table, again).expired == ("t0", "t1", "t2")
    assert table.tags.names() == []


def test_partitions_expire_exactly_as_planned(tmp_path: Path) -> None:
    table = create(tmp_path).copy({"partition.expiration-time": "1 d"})
    put(table, 1, "2026-01-01", "2026-01-02", "2999-01-01")
    plan = plan_expire_partitions(table)
    assert [(group.name, len(group.files)) for group in plan.groups] == [("day=2026-01-01", 1), ("day=2026-01-02", 1)]
    put(table, 2, "2026-01-02")
    with pytest.raises(ConflictError, match="day=2026-01-02: 1 file new in it"):
        apply_expire_partitions(table, plan)
    assert table.to_arrow().num_rows == 3
    put(table, 3, "2999-01-01")
    apply_expire_partitions(table, plan_expire_partitions(table))
    assert {row["day"] for row in table.to_arrow().to_pylist()} == {"2999-01-01"}
