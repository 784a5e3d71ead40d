"""Plans of dry runs in Dagster: shown as a table, stored, and found again by their id."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any
from urllib.parse import quote

import dagster as dg

from maintenance.amounts import number_of, seconds_text, size_text
from maintenance.errors import OptionError, UnsupportedError
from maintenance.operations.history import planned_seconds
from maintenance.operations.plan_store import UNPLANNED, PlannedGroup, StoredPlan
from maintenance.person import person
from paimon_maintenance.assets.checks.due import location_of
from paimon_maintenance.assets.keys import APPLY_PLAN
from paimon_maintenance.assets.project.console_links import console_link
from paimon_maintenance.assets.resources.catalog import PaimonCatalog

PERSON_TAG = "paimon/person"
"""The tag of a run that says who has launched it."""
_GROUPS_SHOWN = 1000
_COLUMNS = ("group", "files", "size", "expected files", "reason")
# What may be set beside a plan: all else the plan says.
_WITH_A_PLAN = ("into_bin", "max_concurrent")


def kept_plan(context: dg.OpExecutionContext, catalog: PaimonCatalog, plan: StoredPlan) -> dict[str, Any]:
    """Store a plan; returns it as metadata. The run gets the plan's id as a tag.

    Where plans have no place it is shown all the same, and a warning says why it has no id.
    """
    metadata: dict[str, Any] = {
        **_stored(context, catalog, plan),
        "plan": dg.MetadataValue.table(
            [_row(group) for group in plan.groups[:_GROUPS_SHOWN]],
            dg.TableSchema([dg.TableColumn(name) for name in _COLUMNS]),
        ),
        "planned files": plan.files,
        "planned size": size_text(plan.bytes),
    }
    if plan.files:
        metadata["now and expected after"] = _now_and_after(plan)
    for warning in plan.warnings:
        context.log.warning(warning)
    if plan.warnings:
        metadata["warnings"] = dg.MetadataValue.md("\n".join(f"- {warning}" for warning in plan.warnings))
    seconds = planned_seconds(catalog.open(), catalog.history, plan)
    if seconds is not None:
        metadata["estimated time"] = seconds_text(seconds)
    return metadata


def _row(group: PlannedGroup) -> dg.TableRecord:
    shown = (group.name, len(group.files), size_text(group.bytes), group.expected_files, group.reason)
    return dg.TableRecord(dict(zip(_COLUMNS, shown, strict=True)))


def _stored(context: dg.OpExecutionContext, catalog: PaimonCatalog, plan: StoredPlan) -> dict[str, Any]:
    """The id of a plan that is stored now, and where it can be carried out."""
    try:
        root = catalog.root()
    except UnsupportedError as error:
        context.log.warning(f"The plan is not kept: {error}")
        return {}
    plan_id = replace(plan, made_by=person_of(context)).store(catalog.file_io(), root, catalog.open().options)
    context.instance.add_run_tags(context.run_id, {"paimon/plan_id": plan_id})
    return {"plan id": plan_id, **console_link("plans", plan_id), **_apply_link(context, plan_id)}


def person_of(context: dg.OpExecutionContext) -> str:
    """Who does what a run does: as its tag says, else the person of the process."""
    return context.run.tags.get(PERSON_TAG) or person()


def _now_and_after(plan: StoredPlan) -> dg.TableMetadataValue:
    """What the plan's groups are now, and about what is expected of them once it is carried out."""
    kept = sum(group.bytes for group in plan.groups if group.expected_files)
    expected = sum(group.expected_files for group in plan.groups)
    left = f"about {size_text(kept)}, or less" if kept else "0 bytes"
    rows = (("files", f"{plan.files:,}", f"{expected:,}"), ("size", size_text(plan.bytes), left))
    names = ("of these groups", "now", "expected after")
    return dg.MetadataValue.table([dg.TableRecord(dict(zip(names, row, strict=True))) for row in rows])


def _apply_link(context: dg.OpExecutionContext, plan_id: str) -> dict[str, Any]:
    """A link to the Launchpad of the job that carries a plan out; none where the code location is unknown."""
    location = location_of(context.run)
    if location is None:
        return {}
    config = quote(f"ops: {{plan: {{config: {{plan_id: '{plan_id}'}}}}}}")
    job = f"/locations/{quote(location, safe='')}/jobs/{APPLY_PLAN}"
    return {"apply this plan": dg.MetadataValue.url(f"{job}/playground/setup?config={config}")}


def refuse_unplanned(plan: StoredPlan, kept: Mapping[str, Any]) -> None:
    """Raises: dg.Failure: some tables could not be planned: they are missing in the plan. `kept`: it as metadata."""
    unplanned = plan.arguments.get(UNPLANNED)
    if unplanned:
        first = next(iter(unplanned.values()))
        fix = "Correct it and launch a new dry run, or apply the plan without it."
        raise dg.Failure(
            description=f"{number_of(len(unplanned), 'table')} could not be planned: {first} Next step: {fix}",
            metadata={"tables that could not be planned": dg.MetadataValue.json(unplanned), "next step": fix, **kept},
            allow_retries=False,
        )


def found_plan(catalog: PaimonCatalog, plan_id: str) -> StoredPlan:
    """The plan of an id. Raises: NotFoundError, CorruptFileError; UnsupportedError: plans have no place."""
    return StoredPlan.load(catalog.file_io(), catalog.root(), plan_id)


def planned(config: dg.Config, catalog: PaimonCatalog) -> StoredPlan | None:
    """The plan that a run is to apply, None if it makes its own.

    Raises: OptionError: what the plan says is set, too; as `found_plan`.
    """
    values = {name: value for name, value in config.model_dump().items() if name not in _WITH_A_PLAN}
    plan_id: str | None = values.pop("plan_id", None)
    if not plan_id:
        return None
    fields = type(config).model_fields
    others = [name for name, value in values.items() if value != fields[name].default]
    if others:
        problem = f"'{others[0]}' is set together with 'plan_id'"
        raise OptionError(problem, f"plan {plan_id}", "A plan needs no other settings: leave them out.")
    return found_plan(catalog, plan_id)
