"""A plan belongs to the snapshot that it was made of: another one of its number, or another table, is not changed."""

import json
import shutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from maintenance.catalog import Catalog, CatalogTable, Schema, open_catalog
from maintenance.errors import OutdatedPlanError
from maintenance.operations import create_branch, create_tag, delete_tag, fast_forward, rollback_to
from maintenance.operations.compaction.request import CompactRequest
from maintenance.operations.databases.clone_plan import apply_clone, plan_clone
from maintenance.operations.databases.drop_table import OPERATION as DROP_TABLE
from maintenance.operations.operation import Operation
from maintenance.operations.plan_store import StoredPlan
from maintenance.operations.refs.delete_tag import OPERATION as DELETE_TAG
from maintenance.operations.refs.rename_branch import OPERATION as RENAME_BRANCH
from maintenance.operations.refs.rename_tag import OPERATION as RENAME_TAG
from maintenance.operations.refs.replace_tag import OPERATION as REPLACE_TAG
from maintenance.operations.refs.reset_consumer import OPERATION as RESET_CONSUMER
from maintenance.operations.refs.rollback_to import OPERATION as ROLLBACK
from maintenance.operations.refs.rollback_to_as_latest import OPERATION as ROLLBACK_AS_LATEST
from maintenance.operations.repairs.compact_manifest import OPERATION as COMPACT_MANIFEST
from maintenance.operations.repairs.purge_files import OPERATION as PURGE_FILES
from maintenance.operations.rows import planned_merge
from maintenance.operations.rows.delete import OPERATION as DELETE
from maintenance.operations.rows.drop_partitions import OPERATION as DROP_PARTITIONS
from maintenance.operations.rows.merge_clauses import Clause
from maintenance.operations.rows.rescale import OPERATION as RESCALE
from maintenance.operations.rows.restore_partitions import OPERATION as RESTORE_PARTITIONS
from maintenance.operations.rows.truncate import OPERATION as TRUNCATE
from maintenance.operations.rows.update import OPERATION as UPDATE
from maintenance.sql import Session
from tests import kept_plans
from tests.kept_plans import apply_compact_database, apply_orphans, plan_compact_database, preview_orphans

KEYED = {"bucket": "1", "write-only": "true"}
EVOLVED = {"row-tracking.enabled": "true", "data-evolution.enabled": "true", "deletion-vectors.enabled": "true"}
PLAIN = {"deletion-vectors.enabled": "true", "write-only": "true"}
SOURCE = pa.table({"p": ["a"], "id": pa.array([2], pa.int32()), "b": pa.array([0], pa.int32())})


def make(folder: Path, options: Mapping[str, str]) -> tuple[Catalog, CatalogTable]:
    """Three snapshots: rows 1, 2 and 3."""
    catalog = open_catalog({"warehouse": str(folder)})
    catalog.create_database("db", ignore_if_exists=True)
    keys = ["p", "id"] if "bucket" in options else []
    fields = [("p", "STRING NOT NULL"), ("id", "INT NOT NULL"), ("b", "INT")]
    catalog.create_table("db.t", Schema(fields, keys, ["p"], options))
    table = catalog.get_table("db.t")
    assert isinstance(table, CatalogTable)
    for number in (1, 2, 3):
        put(table, number)
    return catalog, table


def put(table: CatalogTable, *ids: int) -> None:
    count = len(ids)
    rows = {"p": ["a"] * count, "id": pa.array(ids, pa.int32()), "b": pa.array([10] * count, pa.int32())}
    table.write_arrow(pa.table(rows))


def state(table: CatalogTable) -> list[tuple[int, int]]:
    return sorted((row["id"], row["b"]) for row in table.to_arrow().to_pylist())


@dataclass(frozen=True)
class Kind:
    """How plans of an operation are made and applied. `options`: of the table."""

    plan: Callable[[Catalog, CatalogTable], StoredPlan]
    apply: Callable[[Catalog, CatalogTable, StoredPlan], Any]
    options: Mapping[str, str]


def by_dry_run(operation: Operation[Any, Any, Any], options: Mapping[str, str] = KEYED, **arguments: Any) -> Kind:
    return Kind(
        lambda _, table: operation.dry_run(table, **arguments),
        lambda _, table, plan: operation.carry_out(table, plan),
        options,
    )


def merge(options: Mapping[str, str]) -> Kind:
    clauses = [Clause("matched", "update", {"b": "0"})]
    return Kind(
        lambda _, table: planned_merge.plan_merge_into(None, table, SOURCE, "t.p = s.p AND t.id = s.id", clauses),
        lambda _, table, plan: planned_merge.apply_merge_into(None, table, plan, SOURCE),
        options,
    )


def statement(text: str, options: Mapping[str, str]) -> Kind:
    return Kind(
        lambda catalog, _: Session({"warehouse": catalog.warehouse}).plan(text),
        lambda catalog, _, plan: Session({"warehouse": catalog.warehouse}).apply(plan),
        options,
    )


KINDS = {
    **{f"delete {n}": by_dry_run(DELETE, o, where="id >= 2") for n, o in
       (("keyed", KEYED), ("evolved", EVOLVED), ("plain", PLAIN))},
    **{f"update {n}": by_dry_run(UPDATE, o, assignments={"b": 0}, where="id >= 2") for n, o in
       (("keyed", KEYED), ("evolved", EVOLVED), ("plain", PLAIN))},
    "delete in SQL": statement("DELETE FROM db.t WHERE id >= 2", KEYED),
    "update in SQL": statement("UPDATE db.t SET b = b + 1 WHERE id >= 2", EVOLVED),
    "merge in SQL": statement(
        "MERGE INTO db.t USING (SELECT 3 AS id) s ON t.id = s.id WHEN MATCHED THEN UPDATE SET b = 0", KEYED
    ),
    "merge": merge(KEYED),
    "compact": Kind(
        lambda _, table: kept_plans.plan_compact(table, CompactRequest(full=True)),
        lambda _, table, plan: kept_plans.apply_compact(None, table, plan),
        KEYED,
    ),
    "compact many": Kind(
        lambda catalog, _: plan_compact_database(catalog, request=CompactRequest(full=True)),
        lambda catalog, _, plan: apply_compact_database(None, catalog, plan),
        KEYED,
    ),
    "expire snapshots": Kind(
        lambda _, table: kept_plans.plan_expire_snapshots(table, retain_max=1, retain_min=1),
        lambda _, table, plan: kept_plans.apply_expire_snapshots(table, plan),
        PLAIN,
    ),
    "create tag": Kind(
        lambda _, table: kept_plans.plan_tag(table, "new", snapshot_id=3),
        lambda _, table, plan: kept_plans.apply_tag(table, plan),
        PLAIN,
    ),
    "rollback": by_dry_run(ROLLBACK, snapshot_id=2),
    "rollback by a commit": by_dry_run(ROLLBACK_AS_LATEST, snapshot_id=1),
    "drop partitions": by_dry_run(DROP_PARTITIONS, partitions=[{"p": "a"}]),
    "rescale": by_dry_run(RESCALE, bucket_num=2),
    "purge": by_dry_run(PURGE_FILES),
    "compact manifests": by_dry_run(COMPACT_MANIFEST),
    "restore partitions": by_dry_run(RESTORE_PARTITIONS, partitions=[{"p": "a"}], snapshot_id=1),
    "reset consumer": by_dry_run(RESET_CONSUMER, consumer="c", next_snapshot_id=3),
    "rename branch": by_dry_run(RENAME_BRANCH, from_branch="b", to_branch="c"),
    "fast forward": Kind(
        lambda _, table: kept_plans.plan_fast_forward(table, "b"),
        lambda _, table, plan: kept_plans.apply_fast_forward(table, plan),
        KEYED,
    ),
    "truncate": by_dry_run(TRUNCATE),
    "drop table": Kind(
        lambda catalog, table: DROP_TABLE.dry_run(catalog, table=table.identifier),
        lambda catalog, _, plan: DROP_TABLE.carry_out(catalog, plan),
        PLAIN,
    ),
    "orphans": Kind(
        lambda _, table: preview_orphans(None, table, minimum_age=timedelta(0))[1],
        lambda _, table, plan: apply_orphans(None, table, plan),
        PLAIN,
    ),
    "clone": Kind(
        lambda catalog, table: plan_clone(table, catalog, "db.copy"),
        lambda catalog, table, plan: apply_clone(table, catalog, plan),
        PLAIN,
    ),
}  # fmt: skip


@pytest.mark.parametrize("later", [(30,), (30, 40, 50)])
@pytest.mark.parametrize("name", KINDS)
def test_no_plan_is_carried_out_on_another_snapshot_of_its_number(
    name: str, later: tuple[int, ...], tmp_path: Path
) -> None:
    kind = KINDS[name]
    catalog, table = make(tmp_path, kind.options)
    create_branch(table, "b", snapshot_id=1)
    plan = kind.plan(catalog, table)
    plan = StoredPlan.load(table.file_io, str(tmp_path), plan.store(table.file_io, str(tmp_path)))
    assert plan.groups or name in ("compact manifests", "orphans")
    rollback_to(table, snapshot_id=2)
    for number in later:
        put(table, number)
    before, ids, tags = state(table), table.snapshots.list_ids(), table.tags.names()
    with pytest.raises(OutdatedPlanError):
        kind.apply(catalog, table, plan)
    assert (state(table), table.snapshots.list_ids(), table.tags.names()) == (before, ids, tags)


@pytest.mark.parametrize("name", ["delete keyed", "compact", "truncate", "drop table", "create tag", "rollback"])
def test_no_plan_is_carried_out_on_another_table_of_the_name(name: str, tmp_path: Path) -> None:
    kind = KINDS[name]
    catalog, table = make(tmp_path, kind.options)
    plan = kind.plan(catalog, table)
    catalog.drop_table("db.t")
    _, again = make(tmp_path, kind.options)
    with pytest.raises(OutdatedPlanError, match="was rolled back, or was one of another table of this name"):
        kind.apply(catalog, again, plan)
    assert state(again) == [(1, 10), (2, 10), (3, 10)]


def test_a_table_without_rows_is_dropped_only_as_it_was(tmp_path: Path) -> None:
    catalog = open_catalog({"warehouse": str(tmp_path)})
    catalog.create_database("db")
    catalog.create_table("db.t", Schema([("a", "INT")]))
    session = Session({"warehouse": str(tmp_path)})
    plan = session.plan("DROP TABLE db.t")
    catalog.drop_table("db.t")
    catalog.create_table("db.t", Schema([("b", "INT")]))
    with pytest.raises(OutdatedPlanError):
        session.apply(plan)
    assert catalog.list_tables("db") == ["t"]


def test_a_plan_stays_good_while_its_snapshot_is_part_of_the_past(tmp_path: Path) -> None:
    _, table = make(tmp_path, PLAIN)
    plan = DELETE.dry_run(table, where="id = 2")
    put(table, 4)
    rollback_to(table, snapshot_id=3)
    put(table, 5)
    assert DELETE.carry_out(table, plan).deleted_rows == 1
    assert state(table) == [(1, 10), (3, 10), (5, 10)]


def test_a_plan_of_a_branch_is_of_its_snapshots(tmp_path: Path) -> None:
    _, table = make(tmp_path, KEYED)
    create_branch(table, "b", snapshot_id=2)
    branch = table.on_branch("b")
    put(branch, 20)
    plan = DELETE.dry_run(branch, where="id = 20")
    rollback_to(branch, snapshot_id=2)
    put(branch, 20)
    with pytest.raises(OutdatedPlanError, match="snapshot 3 that the plan was made of"):
        DELETE.carry_out(branch, plan)
    fast_forward(table, "b")
    plan = DELETE.dry_run(table, where="id = 20")
    assert DELETE.carry_out(table, plan).deleted_rows == 1


@pytest.mark.parametrize("operation", ["delete_tag", "rename_tag", "replace_tag", "expire_tags"])
def test_a_tag_of_the_same_name_on_another_snapshot_is_another_tag(operation: str, tmp_path: Path) -> None:
    _, table = make(tmp_path, PLAIN)
    put(table, 4)
    rollback_to(table, snapshot_id=3)
    create_tag(table, "t", snapshot_id=2, time_retained=timedelta(0))
    plans: dict[str, tuple[Any, Mapping[str, Any]]] = {
        "delete_tag": (DELETE_TAG, {"names": ["t"]}),
        "rename_tag": (RENAME_TAG, {"tag": "t", "target_tag": "u"}),
        "replace_tag": (REPLACE_TAG, {"name": "t", "snapshot_id": 1}),
    }
    planned, arguments = plans.get(operation, (None, {}))
    plan = planned.dry_run(table, **arguments) if planned else kept_plans.plan_expire_tags(table)
    delete_tag(table, "t")
    create_tag(table, "t", snapshot_id=3, time_retained=timedelta(0))
    with pytest.raises(OutdatedPlanError, match="tag t"):
        planned.carry_out(table, plan) if planned else kept_plans.apply_expire_tags(table, plan)
    assert table.tags.get("t").snapshot.id == 3


def test_a_plan_of_an_earlier_form_is_shown_and_refused(tmp_path: Path) -> None:
    """It names its snapshot by the number alone, so nobody can tell which one it was made of."""
    _, table = make(tmp_path, KEYED)
    plan = DELETE.dry_run(table, where="id >= 2")
    content = plan.to_dict()
    del content["base"]
    for group in content["groups"]:
        del group["state"]
    earlier = StoredPlan.of_dict(json.loads(json.dumps(content)))
    folder = tmp_path / "_maintenance" / "plans"
    folder.mkdir(parents=True)
    # The id that the earlier form gave it: a digest of exactly these fields.
    (folder / f"{earlier.id}.json").write_text(json.dumps(content, sort_keys=True))
    loaded = StoredPlan.load(table.file_io, str(tmp_path), earlier.id)
    assert (loaded.base_snapshot_id, [group.reason[:12] for group in loaded.groups]) == (3, ["2 rows match"])
    with pytest.raises(OutdatedPlanError, match="only the number 3"):
        DELETE.carry_out(table, loaded)
    assert state(table) == [(1, 10), (2, 10), (3, 10)]
    shutil.rmtree(folder)
