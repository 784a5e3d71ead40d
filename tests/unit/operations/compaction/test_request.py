"""The request of a compaction: what a stored plan keeps of it, and that a dry run plans once."""

from dataclasses import FrozenInstanceError, fields
from pathlib import Path
from typing import Any

import pytest

from maintenance.catalog import CatalogTable
from maintenance.operations.compaction import request as requests
from maintenance.operations.compaction.compact import compact
from maintenance.operations.compaction.plan import plan_compaction
from maintenance.operations.compaction.request import CheckedRequest, CompactRequest
from maintenance.operations.parameters import arguments_of, fields_of_arguments
from tests.kept_plans import apply_compact, preview_changelog, preview_compact
from tests.tables import create_table, keyed


@pytest.fixture
def table(tmp_path: Path) -> CatalogTable:
    table = create_table(tmp_path, options={"changelog-producer": "lookup", "write-only": "true"})
    for value in "xy":
        table.write_arrow(keyed({1: value}))
    return table


@pytest.fixture
def planned(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """A line for each time that a compaction is planned."""
    lines: list[str] = []

    def counted(table: CatalogTable, *given: Any, **named: Any) -> Any:
        lines.append(table.identifier)
        return plan_compaction(table, *given, **named)

    monkeypatch.setattr(requests, "plan_compaction", counted)
    return lines


def test_a_request_does_not_change_once_it_is_made(table: CatalogTable) -> None:
    request = CompactRequest(full=True)
    for frozen in (request, request.checked(table)):
        for each in fields(frozen):
            with pytest.raises(FrozenInstanceError):
                setattr(frozen, each.name, None)


def test_a_request_outlives_a_stored_plan() -> None:
    request = CompactRequest(True, [{"day": "a"}], None, order_strategy="zorder", order_by=("a", "b"), proof="full")
    again = CompactRequest(**fields_of_arguments(CompactRequest, arguments_of(request)))
    assert arguments_of(again) == arguments_of(request)
    assert (again.full, again.partitions, list(again.order_by), again.proof) == (
        True,
        [{"day": "a"}],
        ["a", "b"],
        "full",
    )


def test_what_a_request_sets_reaches_the_work(table: CatalogTable) -> None:
    checked = CompactRequest(full=True, proof="sampled", max_retries=3, groups_per_commit=2).checked(table)
    assert isinstance(checked, CheckedRequest)
    assert (checked.scope.full, checked.proof.mode) == (True, "sampled")
    assert (checked.max_retries, checked.groups_per_commit) == (3, 2)


def test_a_dry_run_plans_once(table: CatalogTable, planned: list[str]) -> None:
    report, plan = preview_compact(table, CompactRequest(full=True))
    assert report.dry_run
    assert (report.count("planned"), len(plan.groups)) == (1, 1)
    assert len(planned) == 1
    report, plan = preview_changelog(table)
    assert (report.count("planned"), len(plan.groups), plan.operation) == (1, 1, "changelog")
    assert len(planned) == 2
    compact(None, table, full=True, dry_run=True)
    assert len(planned) == 3


def test_a_plan_is_carried_out_as_it_was_compared(table: CatalogTable, planned: list[str]) -> None:
    _, plan = preview_compact(table, CompactRequest(full=True))
    planned.clear()
    assert apply_compact(None, table, plan).count("committed") == 1
    assert len(planned) == 1
