"""Stored plans of a removal of orphan files."""

from datetime import timedelta
from pathlib import Path

import pytest

from maintenance.errors import OptionError, OutdatedPlanError
from maintenance.format.metadata.snapshot_identity import SnapshotIdentity
from maintenance.operations.plan_store import StoredPlan
from tests.kept_plans import apply_orphans, preview_orphans
from tests.models.reachable import files_on_disk
from tests.unit.operations.orphans.test_remove_orphan_files import age, filled, strays


def test_says_path_age_bytes_and_reason_and_is_carried_out_exactly(tmp_path: Path) -> None:
    table = filled(tmp_path)
    planted = strays(table)
    age(tmp_path)
    report, plan = preview_orphans(None, table)
    assert {group.name for group in plan.groups} == planted
    assert (plan.bytes, plan.files, plan.base_snapshot_id) == (report.orphan_bytes, 7, 6)
    data = next(group for group in plan.groups if group.name.endswith("data-x-0.orc"))
    assert data.reason == (
        "data file that no snapshot, tag, changelog or branch names, unchanged since 2020-01-01T00:00:00Z"
    )
    stored = StoredPlan.load(table.file_io, str(tmp_path), plan.store(table.file_io, str(tmp_path)))
    later = Path(table.location) / "bucket-0" / "data-later-0.orc"
    later.write_bytes(b"later")
    age(later.parent)
    done = apply_orphans(None, table, stored)
    assert (done.deleted_files, done.remaining) == (7, 0)
    assert later.exists()


def test_is_refused_when_a_file_is_in_use_by_now_or_was_written_to(tmp_path: Path) -> None:
    table = filled(tmp_path)
    snapshot = Path(table.paths.snapshot(6))
    late = snapshot.read_bytes()
    snapshot.unlink()
    age(tmp_path)
    _, plan = preview_orphans(None, table)
    assert plan.files
    snapshot.write_bytes(late)
    before = files_on_disk(table)
    with pytest.raises(OutdatedPlanError, match="no longer orphans"):
        apply_orphans(None, table, plan)
    assert files_on_disk(table) == before


def test_goes_on_after_it_was_interrupted(tmp_path: Path) -> None:
    table = filled(tmp_path)
    planted = sorted(strays(table))
    age(tmp_path)
    _, plan = preview_orphans(None, table)
    Path(planted[0]).unlink()
    assert apply_orphans(None, table, plan, time_limit=timedelta(0)).remaining == 6
    done = apply_orphans(None, table, plan)
    assert (done.deleted_files, done.notes) == (6, ("1 file of the plan gone already",))


def test_has_the_oldest_files_and_says_how_many_more_there_are(tmp_path: Path) -> None:
    table = filled(tmp_path)
    strays(table)
    age(tmp_path)
    _, plan = preview_orphans(None, table, max_deletes=2)
    assert (plan.files, plan.warnings) == (2, ("5 more orphans are not part of it",))


def test_a_plan_of_another_operation_is_refused(tmp_path: Path) -> None:
    table = filled(tmp_path)
    with pytest.raises(OptionError, match="this plan is about x"):
        apply_orphans(None, table, StoredPlan("x", table.identifier, SnapshotIdentity.numbered(6), 0.0, ()))
