"""Delete files of a table that nothing names: procedure `remove_orphan_files`.

Such files are left by writers that died, by rollbacks, and by branches that were deleted. Old files are listed first,
then what is live is marked among them. Right before each batch is deleted, snapshots and tags that came meanwhile are
read, too; if one has vanished, all are looked at again. So a file that a commit takes into use while this runs stays.
A file that no snapshot names yet looks like an orphan: only its age protects the file of a running writer.
Source: metadata section 10.4, Java `OrphanFilesClean`.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from functools import cached_property
from typing import Annotated

import pyarrow as pa
import pyarrow.compute as pc

from maintenance.amounts import number_of
from maintenance.errors import OptionError
from maintenance.operations.operation import Operation, Run, Shown
from maintenance.operations.orphans.orphan_removal import OrphanRemoval, RemoveOrphanFilesReport, orphans_of
from maintenance.operations.parameters import Param, one_of
from maintenance.operations.plan_store import PlannedGroup, StoredPlan, refuse
from maintenance.options import table as table_options
from maintenance.table.table import Table

MINIMUM_AGE = timedelta(days=1)
MOST_FILES = 100_000
"""The most files in a plan; oldest first."""
_SHOWN = 5


@dataclass(frozen=True, slots=True)
class RemoveOrphanFiles:
    """Which orphan files go."""

    older_than: Annotated[datetime | None, Param("Only older ones; a time without a zone is local.")] = None
    minimum_age: Annotated[
        timedelta, Param("How far back older_than must lie, such as 6 h; a day by default.", is_kept=False)
    ] = MINIMUM_AGE
    parallelism: Annotated[
        int | None, Param("Maximum number of tasks that share the folders and manifests.", is_kept=False)
    ] = None
    max_deletes: Annotated[
        int | None, Param("Remove at most this many in this run, the oldest first.", least=1, is_kept=False)
    ] = None
    time_limit: Annotated[
        timedelta | None, Param("Start no more batches after this time, e.g. 1 h.", is_kept=False)
    ] = None
    mode: Annotated[
        str | None, Param("'local': do not use Spark.", read=one_of("local", "distributed"), is_kept=False)
    ] = None
    never_committed: Annotated[bool, Param("Also clean a table that never had a snapshot.")] = False


@dataclass(frozen=True)
class OrphanPlan:
    """The orphans that were found. `chosen`: those that go; `gone`: how many of a kept plan's are gone already."""

    asked: RemoveOrphanFiles
    removal: OrphanRemoval
    found: pa.Table
    chosen: pa.Table
    gone: int = 0
    of = None

    @property
    def request(self) -> RemoveOrphanFiles:
        return replace(self.asked, older_than=self.removal.older_than)

    @cached_property
    def report(self) -> RemoveOrphanFilesReport:
        return self.removal.report(self.found, self.chosen)

    def groups(self) -> Iterator[PlannedGroup]:
        for orphan in orphans_of(self.chosen.slice(0, MOST_FILES)):
            yield PlannedGroup(orphan.path, (orphan.path,), orphan.bytes, 0, orphan.reason)

    @property
    def warnings(self) -> tuple[str, ...]:
        more = len(self.found) - min(len(self.chosen), MOST_FILES)
        return (f"{more} more orphans are not part of it",) if more else ()


def plan(run: Run, table: Table, request: RemoveOrphanFiles) -> OrphanPlan:
    """The files that nothing names and that are old enough."""
    table_options.check_keepable(table.options, table.identifier)
    moment = cutoff(request.older_than, request.minimum_age, run.moment)
    removal = _removal(run, table, request, moment)
    orphans = removal.find()
    most = request.max_deletes
    return OrphanPlan(request, removal, orphans, orphans if most is None else orphans.slice(0, max(0, most)))


def _removal(run: Run, table: Table, request: RemoveOrphanFiles, moment: datetime) -> OrphanRemoval:
    spark = None if request.mode == "local" else run.spark
    return OrphanRemoval(spark, table, moment, request.parallelism, run.progress, request.never_committed, run.into)


def _again(run: Run, table: Table, request: RemoveOrphanFiles, stored: StoredPlan) -> OrphanPlan:
    """The kept files and no others. Those that are gone by now are done: so an apply that died is repeated.

    Raises: OutdatedPlanError: a file of the plan is in use by now, or was written to.
    """
    # What it waited for when the plan was made is over: the moment alone counts.
    removal = _removal(run, table, request, request.older_than or run.moment)
    orphans = removal.find()
    sizes = dict(zip(orphans.column("path").to_pylist(), orphans.column("bytes").to_pylist(), strict=True))
    moved = [group.name for group in stored.groups if sizes.get(group.name) != group.bytes]
    refuse(stored, _moved([path for path in moved if table.file_io.exists(path)]))
    paths = pa.array([group.name for group in stored.groups], pa.string())
    chosen = orphans.filter(pc.is_in(orphans.column("path"), paths))
    return OrphanPlan(request, removal, chosen, chosen, len(moved))


def _moved(there: Sequence[str]) -> list[str]:
    if not there:
        return []
    more = f" and {len(there) - _SHOWN} more" if len(there) > _SHOWN else ""
    return [f"no longer orphans, or written to since: {', '.join(there[:_SHOWN])}{more}"]


def apply(_: Run, __: Table, planned: OrphanPlan) -> RemoveOrphanFilesReport:
    """Delete what was found, as far as nothing has taken it into use since."""
    planned.removal.delete(planned.chosen, planned.asked.time_limit)
    report = planned.removal.report(planned.found, planned.chosen)
    gone = (f"{number_of(planned.gone, 'file')} of the plan gone already",) if planned.gone else ()
    return replace(report, notes=(*report.notes, *gone))


def counted(reports: Iterable[RemoveOrphanFilesReport]) -> Shown:
    """The number of files and their bytes; after a dry run, of those that would be deleted."""
    listed = list(reports)
    files = sum(len(report.orphans) if report.dry_run else report.deleted_files for report in listed)
    size = sum(report.orphan_bytes if report.dry_run else report.deleted_bytes for report in listed)
    return Shown.one({"deletedFileCount": files, "deletedFileTotalLenInBytes": size}, nothing_to_do=not files)


OPERATION = Operation(
    "remove_orphan_files",
    "Delete files that nothing references, of a table, 'database.*' or '*'.",
    RemoveOrphanFiles,
    plan,
    apply,
    shown=lambda report: counted([report]),
    again=_again,
    takes_bin=True,
    uses_spark=True,
    has_job=False,
)


def cutoff(older_than: datetime | None, minimum_age: timedelta, now: datetime) -> datetime:
    """The moment before which a file must have been changed, with its zone. Raises: OptionError: it is too late."""
    latest = now - minimum_age
    moment = latest if older_than is None else older_than.astimezone()
    if minimum_age < timedelta(0) or moment > latest:
        raise OptionError(
            f"older_than {moment.isoformat()} is less than {minimum_age} ago",
            "older_than",
            "Files of running writers look like orphans. Choose an earlier time, or set minimum_age to the age that no"
            " uncommitted file reaches.",
        )
    return moment


remove_orphan_files = OPERATION.function(
    """Remove the orphan files of a table, including its branches.

    Args:
        spark: a session whose tasks list, read and delete where there is much of it (more than 256 folders, 256 MB of
            manifests, 4,000 files), or where `parallelism` is given; or what gives one, and is asked only then; None =
            this process does.
        older_than: only files last changed before; None = `minimum_age` ago; a time without a zone is local.
        minimum_age: `older_than` must lie at least this far back. Files of writers that are still running look like
            orphans, so set less than a day only if no writer runs for longer than that before it commits.
        never_committed: also clean a table without any snapshot, where every file is an orphan.
    Raises: CorruptFileError: metadata of a snapshot, tag or changelog is missing or damaged, nothing is deleted then;
        OptionError: `older_than` is too late; NotFoundError: there never was a snapshot; ConflictError: snapshots
        vanish faster than they can be read; UnsupportedError.
    """,
    takes=("progress", "now"),
    spark_first=True,
    without=("mode",),
)
