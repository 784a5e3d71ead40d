"""Drop a table with all that lies in its folder.

A plan of it names every file there: one more or less, be it of a writer that has not committed yet, and the plan is
outdated.
"""

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import groupby
from operator import itemgetter
from typing import Annotated

from maintenance.amounts import number_of, size_text
from maintenance.errors import NotFoundError, PaimonError, UnsupportedError
from maintenance.format.metadata.schema import serialize_schema
from maintenance.metadata.branches import Branches
from maintenance.metadata.external_files import external_files
from maintenance.metastore.catalog import Catalog
from maintenance.operations.operation import Keeping, Operation, OperationReport, Plan, Run
from maintenance.operations.parameters import Param
from maintenance.operations.plan_store import PlannedGroup, StoredPlan, changed_groups, check_plan, refuse
from maintenance.table.table import Table

_OUTSIDE = "other folders"


@dataclass(frozen=True, slots=True)
class DropTableReport(OperationReport):
    """What was dropped, or would be; a catalog that only forgets the table deletes no files."""

    table: str
    files: int
    bytes: int


@dataclass(frozen=True, slots=True)
class DropTable:
    """Which table."""

    table: Annotated[str, Param("The table, as database.table.")]


def plan(_: Run, catalog: Catalog, request: DropTable) -> Plan[DropTable, DropTableReport]:
    """The table by what a user knows of it, and all of its files.

    Raises: as `_opened`; StorageError: a folder cannot be listed.
    """
    table = _opened(catalog, request.table)
    groups = (_named(table), *(_files(table) if catalog.deletes_files(request.table) else ()))
    report = DropTableReport(request.table, sum(len(each.files) for each in groups), sum(each.bytes for each in groups))
    return Plan(request, report, lambda: groups, table)


def _opened(catalog: Catalog, name: str) -> Table:
    """Raises: NotFoundError; UnsupportedError: no plan can say what would go."""
    try:
        table = catalog.get_table(name)
    except NotFoundError:
        raise
    except PaimonError as error:
        raise without_plan(name, f"it cannot be read: {error.found}") from error
    if not isinstance(table, Table):
        raise without_plan(name, "it holds no snapshots")
    return table


def apply(_: Run, catalog: Catalog, planned: Plan[DropTable, DropTableReport]) -> DropTableReport:
    """Drop it."""
    catalog.drop_table(planned.request.table)
    return planned.report


def _make(run: Run, _: Catalog, made: Plan[DropTable, DropTableReport]) -> StoredPlan:
    base = made.work.snapshots.latest_identity()
    return StoredPlan(OPERATION.key, made.request.table, base, run.moment.timestamp(), tuple(made.groups()))


def _carry_out(run: Run, catalog: Catalog, stored: StoredPlan) -> DropTableReport:
    # Before its files are listed, which may take long.
    check_plan(stored, OPERATION.key, _opened(catalog, stored.table))
    made = plan(run, catalog, DropTable(stored.table))
    refuse(stored, changed_groups(stored, tuple(made.groups())))
    return apply(run, catalog, made)


def plan_of_none(name: str) -> StoredPlan:
    """The plan of dropping a table that does not exist."""
    return StoredPlan(OPERATION.key, name, None, datetime.now(UTC).timestamp(), ())


def without_plan(name: str, why: str, instead: str = "Drop it without one.") -> UnsupportedError:
    """That a table can only be dropped without a plan."""
    return UnsupportedError(f"dropping it has no plan: {why}", f"table {name}", instead)


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


def _said(report: DropTableReport) -> Iterator[str]:
    verb = "would be dropped" if report.dry_run else "was dropped"
    yield f"{report.table} {verb}, with {number_of(report.files, 'file')} of {size_text(report.bytes)}."


OPERATION = Operation(
    "drop_table",
    "Drop a table with all of its files.",
    DropTable,
    plan,
    apply,
    said=_said,
    keeping=Keeping(_make, _carry_out),
    of_catalog=True,
    has_job=False,
    spellings=(),
)


drop_table = OPERATION.function(
    """Drop a table with all of its files.

    Args:
        dry_run: report what would go, change nothing.
    Raises: NotFoundError: there is no such table; UnsupportedError: it holds no snapshots: `drop_table` of its catalog
        drops it; StorageError: a folder cannot be listed.
    """
)
