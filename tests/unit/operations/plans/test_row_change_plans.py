"""The former names of the kept plans of DELETE and UPDATE."""

from pathlib import Path

import pytest

from maintenance.errors import OutdatedPlanError
from maintenance.operations.plans.row_change_plans import DELETE, UPDATE
from tests.small_tables import put, rows, small_table


def test_former_names_do_what_the_records_do_and_say_where_those_are(tmp_path: Path) -> None:
    table = small_table(tmp_path)
    put(table, {1: "a", 2: "b"})
    with pytest.warns(DeprecationWarning, match=r"rows\.update\.OPERATION\.dry_run"):
        changed = UPDATE.plan(table, assignments={"v": "'c'"}, where="k = 1")
    with pytest.warns(DeprecationWarning, match=r"rows\.delete\.OPERATION\.dry_run"):
        deleted = DELETE.plan(table, where="k = 2")
    with pytest.warns(DeprecationWarning, match=r"rows\.delete\.OPERATION\.carry_out"):
        assert DELETE.apply(table, deleted).deleted_rows == 1
    with pytest.warns(DeprecationWarning, match="carry_out"), pytest.raises(OutdatedPlanError):
        UPDATE.apply(table, changed)
    assert rows(table) == [(1, "a")]
