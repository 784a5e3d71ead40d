"""Stored plans of clones: which files would be copied, and which the copy would not name any more.

A plan is about one snapshot of the source, and is carried out with that one: what others commit meanwhile is left for
the next clone.
"""

from collections.abc import Callable
from dataclasses import asdict
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from maintenance.errors import NotFoundError, OptionError
from maintenance.format.metadata.snapshot_identity import SnapshotIdentity
from maintenance.metastore.catalog import Catalog
from maintenance.operations.databases.clone import CloneReport, Copied, clone
from maintenance.operations.databases.clone_database import CloneDatabaseReport, CopiedTables, goal_of
from maintenance.operations.databases.each_table import each_table
from maintenance.operations.parameters import keywords_of
from maintenance.operations.plan_store import (
    PlannedGroup,
    StoredPlan,
    changed_groups,
    check_plan,
    plan_of_many,
    plans_of,
    refuse,
)
from maintenance.operations.progress import Progress
from maintenance.operations.refs.snapshot_choice import counted_or_tagged
from maintenance.table.table import Table

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

CLONE, CLONE_DATABASE = "clone", "clone_database"


@keywords_of(Copied, "copied")
def plan_clone(table: Table, catalog: Catalog, identifier: str, copied: Copied) -> StoredPlan:
    """What `clone` would copy now, and what would leave the copy. Arguments and errors as there."""
    report = clone(table, catalog, identifier, **asdict(copied), dry_run=True)
    chosen = {"target": identifier, "warehouse": catalog.warehouse, "where": copied.where}
    now = datetime.now(UTC).timestamp()
    source = None if report.source_snapshot is None else counted_or_tagged(table, report.source_snapshot)
    base = None if source is None else SnapshotIdentity.of(source)
    return StoredPlan(CLONE, table.identifier, base, now, _groups(report), chosen)


def apply_clone(
    table: Table,
    catalog: Catalog,
    plan: StoredPlan,
    *,
    parallelism: int = 8,
    spark: "SparkSession | None" = None,
    progress: Progress | None = None,
) -> CloneReport:
    """Copy what the plan says, of its snapshot. `parallelism`, `spark`, `progress`: as of `clone`.

    Raises: OutdatedPlanError: the snapshot is gone, or other files would be copied or leave the copy by now;
        OptionError: not a plan of this table and operation, or of another target; others as of `clone`.
    """
    check_plan(plan, CLONE, table)
    target, warehouse = plan.arguments["target"], plan.arguments["warehouse"]
    if catalog.warehouse != warehouse:
        raise OptionError(
            f"the plan is about a copy in {warehouse}, not in {catalog.warehouse}",
            f"plan {plan.id}",
            "Give the options of the catalog that it was made for.",
        )
    arguments: dict[str, Any] = {"snapshot_id": plan.base_snapshot_id, "where": plan.arguments["where"]}
    if plan.base_snapshot_id is None:
        arguments["meta_only"] = True
    source = None if plan.base is None else counted_or_tagged(table, plan.base.id)
    if source is not None and SnapshotIdentity.of(source) != plan.base:
        refuse(plan, [f"snapshot {source.id} is another one"])
    try:
        now = _groups(clone(table, catalog, target, **arguments, dry_run=True))
    except NotFoundError as error:
        refuse(plan, [error.found])
        raise
    refuse(plan, changed_groups(plan, now))
    return clone(table, catalog, target, **arguments, parallelism=parallelism, spark=spark, progress=progress)


def _groups(report: CloneReport) -> tuple[PlannedGroup, ...]:
    groups = []
    if report.is_new:
        groups.append(PlannedGroup(f"table {report.target}", (), 0, 1, "is created"))
    if report.new_paths:
        state = f"of snapshot {report.source_snapshot}: are copied"
        groups.append(PlannedGroup("new files", report.new_paths, report.new_bytes, report.new_files, state))
    if report.leaving_names:
        reason = "are not in the source's state any more"
        groups.append(PlannedGroup("files of the copy", report.leaving_names, 0, 0, reason))
    return tuple(groups)


@keywords_of(CopiedTables, "copied")
def plan_clone_database(
    catalog: Catalog,
    database: str | None,
    target: Catalog,
    target_database: str | None = None,
    copied: CopiedTables = CopiedTables(),  # noqa: B008 - frozen
) -> StoredPlan:
    """What `clone_database` would copy now, the plans of all tables as one. Arguments and errors as there.

    Tables that cannot be planned are not part of it: the plan's argument `UNPLANNED` says why, by table.
    """

    def one(table: Table, _: Progress) -> StoredPlan:
        return plan_clone(table, target, goal_of(table, target_database), **copied.of_each)

    plans, _, errors = each_table(catalog, copied.among(catalog, database), one, 1, None, None)
    return plan_of_many(CLONE_DATABASE, plans.values(), errors)


def apply_clone_database(
    catalog: Catalog,
    target: Catalog,
    plan: StoredPlan,
    *,
    parallelism: int = 8,
    spark: "SparkSession | None" = None,
    progress: Callable[[str], None] | None = None,
) -> CloneDatabaseReport:
    """Copy what the plan says. A table that has changed since has failed; the others are done. Arguments as there."""
    check_plan(plan, CLONE_DATABASE, None)
    plans = plans_of(plan)

    def one(table: Table, say: Progress) -> CloneReport:
        own = plans[table.identifier]
        return apply_clone(table, target, own, parallelism=parallelism, spark=spark, progress=say)

    return CloneDatabaseReport(*each_table(catalog, list(plans), one, 1, None, progress))
