"""The pages of plans: what each would do, whether it still holds, and what became of it."""

from dataclasses import replace
from pathlib import Path

import dagster as dg
import pytest
from dagster._core.storage.dagster_run import DagsterRunStatus
from dagster._core.test_utils import create_run_for_test

from maintenance.catalog import CatalogTable, open_catalog
from maintenance.operations.acknowledgements.approve_plan import approve_plan
from maintenance.operations.compaction.compact import OPERATION as COMPACT
from maintenance.operations.databases.clone_plan import plan_clone
from maintenance.operations.databases.drop_table import OPERATION as DROP_TABLE
from maintenance.operations.expiry.expire_snapshots import OPERATION as EXPIRE
from maintenance.operations.plan_store import StoredPlan
from tests.console_site import Site
from tests.tables import keyed


@pytest.fixture
def kept(keyed_table: CatalogTable, tmp_path: Path) -> StoredPlan:
    """The plan of a compaction of five files."""
    plan = COMPACT.dry_run(keyed_table, full=True)
    plan.store(keyed_table.file_io, str(tmp_path / "lake"))
    return plan


def test_a_plan_begins_with_what_goes_what_stays_and_what_is_gained(site: Site, kept: StoredPlan) -> None:
    answer = site.get(f"/plans/{kept.id}")
    assert answer.status == 200
    assert "Goes 4.4 KiB in 5 files become about 1 file" in answer.text
    assert "Stays the table keeps 0 of its 5 live files as they are, 0 bytes" in answer.text
    assert "Gained about 4 files fewer to read" in answer.text
    assert f"/plans/{kept.id}" in site.get("/plans").links()


def test_a_plan_that_deletes_says_what_is_freed(site: Site, keyed_table: CatalogTable, tmp_path: Path) -> None:
    plan = EXPIRE.dry_run(keyed_table, retain_max=1, retain_min=1)
    plan.store(keyed_table.file_io, str(tmp_path / "lake"))
    text = site.get(f"/plans/{plan.id}").text
    assert "freed" in text
    assert "the table keeps 5 of its 5 live files as they are" in text


def test_a_plan_that_only_its_own_operation_can_compare_is_not_called_outdated(
    site: Site, keyed_table: CatalogTable, tmp_path: Path
) -> None:
    catalog = open_catalog({"warehouse": str(tmp_path / "lake")})
    name = keyed_table.identifier
    for plan in (DROP_TABLE.dry_run(catalog, table=name), plan_clone(keyed_table, catalog, f"{name}_copy")):
        plan.store(keyed_table.file_io, str(tmp_path / "lake"))
        answer = site.get(f"/plans/{plan.id}")
        assert answer.status == 200
        assert "It no longer holds" not in answer.text
        assert "http://dagster.test/guess/apply_plan" in answer.links()


def test_a_plan_that_holds_leads_to_the_job_with_its_id_filled_in(site: Site, kept: StoredPlan) -> None:
    answer = site.get(f"/plans/{kept.id}")
    assert "It still holds" in answer.text
    assert "http://dagster.test/guess/apply_plan" in answer.links()


def test_a_plan_whose_files_have_changed_says_which_and_is_not_offered(
    site: Site, kept: StoredPlan, keyed_table: CatalogTable
) -> None:
    COMPACT.carry_out(keyed_table, kept)
    answer = site.get(f"/plans/{kept.id}")
    assert "It no longer holds: the table has changed" in answer.text
    assert "Apply in Dagster" not in answer.text


def test_a_plan_that_needs_an_approval_is_offered_once_it_has_one(
    site: Site, keyed_table: CatalogTable, tmp_path: Path
) -> None:
    root = str(tmp_path / "lake")
    plan = replace(COMPACT.dry_run(keyed_table, full=True), made_by="ana")
    plan_id = plan.store(keyed_table.file_io, root, {"plans.need-approval": "all"})
    before = site.get(f"/plans/{plan_id}").text
    assert "Somebody else than ana has to approve it first" in before
    assert f"paimonctl approve-plan {plan_id}" in before
    assert "Approve in Dagster" in before
    assert "It still holds" in before
    assert "Apply in Dagster" not in before
    approve_plan(keyed_table.file_io, root, plan_id, name="ben", reason="it is due")
    after = site.get(f"/plans/{plan_id}").text
    assert "Approved by ben: it is due" in after
    assert "Apply in Dagster" in after
    assert "Approve in Dagster" not in after


def test_looking_at_a_plan_changes_nothing(site: Site, kept: StoredPlan, keyed_table: CatalogTable) -> None:
    before = keyed_table.snapshots.list_ids()
    site.get(f"/plans/{kept.id}")
    assert keyed_table.snapshots.list_ids() == before


def test_a_used_plan_says_which_run_applied_it(tables_yaml: Path, kept: StoredPlan, keyed_table: CatalogTable) -> None:
    tag = {"paimon/plan_id": kept.id}
    config = {"ops": {"plan": {"config": {"plan_id": kept.id}}}}
    with dg.instance_for_test() as instance:
        create_run_for_test(
            instance,
            "compact_db_t",
            run_id="aade0000-0000-4000-8000-000000000000",
            status=DagsterRunStatus.SUCCESS,
            tags=tag,
        )
        site = Site(tables_yaml, instance)
        assert "by run aade0000 : launched by hand" in site.get(f"/plans/{kept.id}").text
        create_run_for_test(
            instance,
            "apply_plan",
            "bbed0000-0000-4000-8000-000000000000",
            status=DagsterRunStatus.SUCCESS,
            tags=tag,
            run_config=config,
        )
        text = site.get(f"/plans/{kept.id}").text
    assert "Applied by run bbed0000" in text
    assert "Apply in Dagster" not in text


def test_a_run_that_failed_to_apply_a_plan_does_not_make_it_used(
    tables_yaml: Path, kept: StoredPlan, keyed_table: CatalogTable
) -> None:
    config = {"ops": {"plan": {"config": {"plan_id": kept.id}}}}
    with dg.instance_for_test() as instance:
        tags = {"paimon/plan_id": kept.id}
        failure = DagsterRunStatus.FAILURE
        create_run_for_test(
            instance, "apply_plan", "cc5f0000-0000-4000-8000-000000000000", status=failure, tags=tags, run_config=config
        )
        text = Site(tables_yaml, instance).get(f"/plans/{kept.id}").text
    assert "Run to apply it: failure by run cc5f0000" in text
    assert "Apply in Dagster" in text


def test_plans_that_cannot_be_read_are_told(site: Site, kept: StoredPlan, tmp_path: Path) -> None:
    (tmp_path / "lake" / "_maintenance" / "plans" / f"{kept.id}.json").write_text("{}")
    assert "cannot be read" in site.get("/plans").text
    assert site.get(f"/plans/{kept.id}").status == 500
    assert site.get("/plans/0123456789abcdef").status == 404
    assert site.get("/plans/nonsense").status == 404


def test_there_may_be_no_plans(site: Site, keyed_table: CatalogTable) -> None:
    keyed_table.write_arrow(keyed({1: "z"}))
    assert "No plans are kept." in site.get("/plans").text
