"""The stored plan of a removal of orphan files: each file that would go, with its age, its bytes and the reason."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from maintenance.operations.bin.run import BinRun
from maintenance.operations.orphans.remove_orphan_files import (
    MINIMUM_AGE,
    OrphanRemoval,
    RemoveOrphanFilesReport,
    cutoff,
    remove_orphan_files,
)
from maintenance.operations.plans.stored_plan import PlannedGroup, StoredPlan, check_plan, refuse
from maintenance.operations.progress import Progress
from maintenance.spark.sharing import SparkSource
from maintenance.table.table import Table

REMOVE_ORPHAN_FILES = "remove_orphan_files"
MOST_FILES = 100_000
"""The most files in a plan unless more are asked for; oldest first."""
_SHOWN = 5


def preview_orphans(
    spark: SparkSource,
    table: Table,
    *,
    older_than: datetime | None = None,
    minimum_age: timedelta = MINIMUM_AGE,
    max_deletes: int | None = MOST_FILES,
    progress: Progress | None = None,
    **others: Any,
) -> tuple[RemoveOrphanFilesReport, StoredPlan]:
    """What `remove_orphan_files` would delete now, as the report of a dry run and as a plan. Errors as there.

    Args: `others`: of its arguments.
    """
    made_at = datetime.now(UTC)
    moment = cutoff(older_than, minimum_age, made_at)
    base = table.snapshots.latest_identity()
    report = remove_orphan_files(
        spark,
        table,
        older_than=moment,
        minimum_age=minimum_age,
        max_deletes=max_deletes,
        dry_run=True,
        progress=progress,
        now=made_at,
        **others,
    )
    groups = tuple(PlannedGroup(o.path, (o.path,), o.bytes, 0, o.reason) for o in report.orphans)
    chosen = {"older_than": moment.isoformat(), "never_committed": bool(others.get("never_committed"))}
    more = (
        (f"{report.remaining - len(groups)} more orphans are not part of it",) if report.remaining > len(groups) else ()
    )
    plan = StoredPlan(REMOVE_ORPHAN_FILES, table.identifier, base, made_at.timestamp(), groups, chosen, more)
    return report, plan


def apply_orphans(
    spark: SparkSource,
    table: Table,
    plan: StoredPlan,
    *,
    time_limit: timedelta | None = None,
    progress: Progress | None = None,
    into: BinRun | None = None,
) -> RemoveOrphanFilesReport:
    """Delete the plan's files and no others. Those that are gone by now are done: so an apply that died is repeated.

    `time_limit`, `into`: as of `remove_orphan_files`.
    Raises: OutdatedPlanError: a file of the plan is in use by now, or was written to; nothing is deleted then.
        OptionError: not a plan of this table and operation; others as of `remove_orphan_files`.
    """
    check_plan(plan, REMOVE_ORPHAN_FILES, table)
    moment = datetime.fromisoformat(plan.arguments["older_than"])
    removal = OrphanRemoval(
        spark, table, moment, None, progress or (lambda _: None), bool(plan.arguments["never_committed"]), into
    )
    orphans = removal.find()
    sizes = dict(zip(orphans.column("path").to_pylist(), orphans.column("bytes").to_pylist(), strict=True))
    moved = [group.name for group in plan.groups if sizes.get(group.name) != group.bytes]
    refuse(plan, _moved([path for path in moved if table.file_io.exists(path)]))
    chosen = orphans.filter(pc.is_in(orphans.column("path"), pa.array([g.name for g in plan.groups], pa.string())))
    removal.delete(chosen, time_limit)
    report = removal.report(chosen, chosen, dry_run=False)
    gone = [f"{len(moved)} files of the plan were gone already"] if moved else []
    return replace(report, notes=(*report.notes, *gone))


def _moved(there: Sequence[str]) -> list[str]:
    if not there:
        return []
    more = f" and {len(there) - _SHOWN} more" if len(there) > _SHOWN else ""
    return [f"no longer orphans, or written to since: {', '.join(there[:_SHOWN])}{more}"]
