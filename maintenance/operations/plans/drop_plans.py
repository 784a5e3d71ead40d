"""Stored plans of dropping a table, and of emptying it.

A table is dropped with all that lies in its folder, so a plan of that names every file there: one more or less, be it
of a writer that has not committed yet, and the plan is outdated.
"""

import hashlib
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from itertools import groupby
from operator import itemgetter

from maintenance.amounts import number_of
from maintenance.format.metadata.schema import serialize_schema
from maintenance.metadata.branches import Branches
from maintenance.metadata.external_files import external_files
from maintenance.metadata.partition_names import Spec, kept
from maintenance.metadata.partition_value import PartitionValue, covering
from maintenance.operations.plan_store import PlannedGroup, StoredPlan, changed_groups, check_plan, refuse
from maintenance.operations.planned_groups import partition_groups
from maintenance.table.partitions import named_partitions
from maintenance.table.table import Table

DROP_TABLE, TRUNCATE = "drop_table", "truncate"
_OUTSIDE = "other folders"


def plan_drop_table(table: Table, *, deletes_files: bool = True) -> StoredPlan:
    """What dropping a table would delete now. `deletes_files`: False = its catalog only forgets it.

    Raises: StorageError: the folder cannot be listed.
    """
    groups = (_named(table), *(_files(table) if deletes_files else ()))
    return _plan(DROP_TABLE, table, groups, {})


def check_drop_table(table: Table, plan: StoredPlan, *, deletes_files: bool = True) -> None:
    """Raises: OutdatedPlanError: something else would be deleted now; OptionError: not such a plan."""
    check_plan(plan, DROP_TABLE, table)
    refuse(plan, changed_groups(plan, plan_drop_table(table, deletes_files=deletes_files).groups))


def plan_truncate(table: Table, partition: Spec | None = None) -> StoredPlan:
    """Which partitions would be emptied now. `partition`: some of its columns suffice; None = all."""
    snapshot = table.latest_snapshot()
    live = () if snapshot is None else table.manifests.live_entries(snapshot)
    rows = dict.fromkeys(entry.partition for entry in live)
    chosen = () if partition is None else named_partitions(table, [partition])
    covers = covering(table.schema.partition_fields, chosen)
    emptied = [table.paths.partition(row) for row in rows if partition is None or covers(row)]
    groups = sorted(partition_groups(table, emptied, "is emptied"), key=lambda group: group.name)
    arguments = {"partition": kept(chosen[0])} if chosen else {}
    return _plan(TRUNCATE, table, tuple(groups), arguments)


def check_truncate(table: Table, plan: StoredPlan) -> PartitionValue | None:
    """The partition that a plan empties, None = all. Raises: as `check_drop_table`."""
    check_plan(plan, TRUNCATE, table)
    stored = plan.arguments.get("partition")
    partition = None if stored is None else named_partitions(table, [stored])[0]
    refuse(plan, changed_groups(plan, plan_truncate(table, partition).groups))
    return partition


def _plan(
    operation: str, table: Table, groups: tuple[PlannedGroup, ...], arguments: Mapping[str, object]
) -> StoredPlan:
    now = datetime.now(UTC).timestamp()
    return StoredPlan(operation, table.identifier, table.snapshots.latest_identity(), now, groups, arguments)


def _named(table: Table) -> PlannedGroup:
    """The table by what a user knows of it."""
    snapshot = table.latest_snapshot()
    state = (
        "holds no snapshot"
        if snapshot is None
        else f"snapshot {snapshot.id}: {number_of(snapshot.total_record_count, 'record')}"
    )
    tags, branches = sorted(table.tags.names()), [*Branches(table.file_io, table.paths).changed()]
    held = [f"{kind} {', '.join(names)}" for kind, names in (("tags", tags), ("branches", branches)) if names]
    reason = "; ".join((f"{state}, schema {table.schema.id}", *held))
    schema = hashlib.sha256(serialize_schema(table.schema)).hexdigest()[:16]
    return PlannedGroup(f"table {table.identifier}", (), 0, 0, reason, schema)


def _files(table: Table) -> Iterator[PlannedGroup]:
    """All files of the table, by the folder that they lie in below it."""
    root = table.location.rstrip("/") + "/"
    found: list[tuple[str, str, int]] = []
    for status in table.file_io.list_tree(table.location):
        path = status.path.removeprefix(root)
        found.append((path.partition("/")[0] if "/" in path else "", path, status.size))
    for path in external_files(table.file_io, table.location):
        found.append((_OUTSIDE, path, table.file_io.size(path) or 0))
    for folder, files in groupby(sorted(found), key=itemgetter(0)):
        listed = list(files)
        paths = tuple(path for _, path, _ in listed)
        yield PlannedGroup(
            f"files in {folder or 'its folder'}", paths, sum(size for *_, size in listed), 0, "go with it"
        )
