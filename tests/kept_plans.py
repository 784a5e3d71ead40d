"""Plans of operations, made and carried out in one line each."""

from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from functools import partial
from typing import Any

import maintenance.operations.databases.compact_database as compact_database
from maintenance.catalog import Catalog
from maintenance.operations.compaction.compact import OPERATION as COMPACT
from maintenance.operations.compaction.produce_changelog import OPERATION as CHANGELOG
from maintenance.operations.compaction.report import CompactReport
from maintenance.operations.compaction.request import ChangelogRequest, CompactRequest
from maintenance.operations.databases.each_table import Opened, TableChoice
from maintenance.operations.expiry.expire_partitions import OPERATION as EXPIRE_PARTITIONS
from maintenance.operations.expiry.expire_snapshots import OPERATION as EXPIRE_SNAPSHOTS
from maintenance.operations.expiry.expire_tags import OPERATION as EXPIRE_TAGS
from maintenance.operations.indexes.rewrite_file_index import OPERATION as FILE_INDEX
from maintenance.operations.operation import Operation, Run, silent
from maintenance.operations.orphans.remove_orphan_files import OPERATION as ORPHANS
from maintenance.operations.plan_store import StoredPlan
from maintenance.operations.refs.create_tag import OPERATION as TAG
from maintenance.operations.refs.delete_branch import OPERATION as DELETE_BRANCH
from maintenance.operations.refs.fast_forward import OPERATION as FAST_FORWARD
from maintenance.table.table import Table

Progress = Callable[[str], None]


def plan_compact(table: Table, request: CompactRequest | None = None) -> StoredPlan:
    return preview_compact(table, request)[1]


def preview_compact(table: Table, request: CompactRequest | None = None) -> tuple[CompactReport, StoredPlan]:
    made, stored = COMPACT.keepable(Run(), table, request or CompactRequest())
    return COMPACT.foretold(made), stored


def apply_compact(spark: Any, table: Table, plan: StoredPlan, progress: Progress = silent) -> CompactReport:
    return COMPACT.carry_out(table, plan, Run(spark, progress))


def preview_changelog(table: Table, request: ChangelogRequest | None = None) -> tuple[CompactReport, StoredPlan]:
    made, stored = CHANGELOG.keepable(Run(), table, request or ChangelogRequest())
    return CHANGELOG.foretold(made), stored


def apply_changelog(spark: Any, table: Table, plan: StoredPlan) -> CompactReport:
    return CHANGELOG.carry_out(table, plan, Run(spark))


def plan_expire_snapshots(table: Table, **arguments: Any) -> StoredPlan:
    return EXPIRE_SNAPSHOTS.dry_run(table, **arguments)


def apply_expire_snapshots(table: Table, plan: StoredPlan) -> Any:
    return EXPIRE_SNAPSHOTS.carry_out(table, plan)


def plan_expire_tags(table: Table, **arguments: Any) -> StoredPlan:
    return EXPIRE_TAGS.dry_run(table, **arguments)


def apply_expire_tags(table: Table, plan: StoredPlan) -> Any:
    return EXPIRE_TAGS.carry_out(table, plan)


def plan_expire_partitions(table: Table, **arguments: Any) -> StoredPlan:
    return EXPIRE_PARTITIONS.dry_run(table, **arguments)


def apply_expire_partitions(table: Table, plan: StoredPlan) -> Any:
    return EXPIRE_PARTITIONS.carry_out(table, plan)


def plan_file_index(spark: Any, table: Table, **arguments: Any) -> StoredPlan:
    return FILE_INDEX.dry_run(table, Run(spark), **arguments)


def apply_file_index(spark: Any, table: Table, plan: StoredPlan) -> Any:
    return FILE_INDEX.carry_out(table, plan, Run(spark))


def plan_tag(table: Table, name: str, **arguments: Any) -> StoredPlan:
    return TAG.dry_run(table, name=name, **arguments)


def apply_tag(table: Table, plan: StoredPlan) -> Any:
    return TAG.carry_out(table, plan)


def preview_orphans(spark: Any, table: Table, **arguments: Any) -> tuple[Any, StoredPlan]:
    made, stored = ORPHANS.keepable(Run(spark), table, ORPHANS.request(**arguments))
    return ORPHANS.foretold(made), stored


def apply_orphans(spark: Any, table: Table, plan: StoredPlan, *, time_limit: timedelta | None = None) -> Any:
    return ORPHANS.carry_out(table, plan, Run(spark), time_limit=time_limit)


def plan_delete_branch(table: Table, branch: str) -> StoredPlan:
    return DELETE_BRANCH.dry_run(table, branch=branch)


def apply_delete_branch(table: Table, plan: StoredPlan) -> Any:
    return DELETE_BRANCH.carry_out(table, plan)


def plan_fast_forward(table: Table, branch: str) -> StoredPlan:
    return FAST_FORWARD.dry_run(table, branch=branch)


def apply_fast_forward(table: Table, plan: StoredPlan) -> Any:
    return FAST_FORWARD.carry_out(table, plan)


def plan_compact_database(
    catalog: Catalog,
    choice: TableChoice | None = None,
    request: CompactRequest | None = None,
    opened: Opened | None = None,
) -> StoredPlan:
    chosen, asked = choice or TableChoice(), request or CompactRequest()
    tables: dict[str, Any] = {"databases": chosen.databases, "tables": chosen.tables, "excluded": chosen.excluded}
    return _of_many(opened).dry_run(catalog, **tables, full=asked.full, proof=asked.proof)


def apply_compact_database(spark: Any, catalog: Catalog, plan: StoredPlan, **others: Any) -> Any:
    return _of_many(None).carry_out(catalog, plan, Run(spark), **others)


def _of_many(opened: Opened | None) -> Operation[Any, Any, Any]:
    module = compact_database
    return replace(
        module.OPERATION, plan=partial(module.plan, opened=opened), again=partial(module.again, opened=opened)
    )
