"""First part of compacting tables with postponed buckets: rows that wait get real buckets, in a COMPACT snapshot.

The second part is an ordinary compaction of the real buckets. Source: data section 8.4, Java Spark's
`SparkPostponeCompactProcedure`.
"""

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from maintenance.amounts import number_of
from maintenance.bucket.postpone import PostponeOptions
from maintenance.commit.commit import abort
from maintenance.compaction.postpone import (
    Distributed,
    PostponeCompaction,
    PostponeTask,
    check_shares,
    distribute,
    in_order,
    leaving,
)
from maintenance.compaction.proof.settings import together
from maintenance.compaction.rewriting import CompactionResult
from maintenance.compaction.superseded import DirectFiles
from maintenance.errors import PaimonError, ProofError
from maintenance.format.metadata.data_file import DataFileMeta
from maintenance.format.metadata.manifest import ManifestEntry
from maintenance.format.metadata.snapshot import Snapshot
from maintenance.metadata.expired import again_if_expired
from maintenance.operations.compaction.arrivals import Arrivals, find_arrivals, rows_wait
from maintenance.operations.compaction.plan import CompactionScope, Group
from maintenance.operations.compaction.work import CompactionWork, group_of
from maintenance.options import table as table_options
from maintenance.scan.split import by_bucket
from maintenance.spark.tasks import TaskError, run_tasks
from maintenance.table.table import Table
from maintenance.write.context import wall_clock_millis
from maintenance.write.message import CommitMessage

_SHARE_BYTES = 128 << 20


@dataclass(frozen=True, slots=True)
class PostponedPlan:
    """Work on one snapshot. `units`: one or more for each partition in which rows wait."""

    snapshot: Snapshot | None
    units: tuple[PostponeCompaction, ...]


def plan_postponed(table: Table, scope: CompactionScope, *, now_millis: int) -> PostponedPlan:
    """The plan on the latest snapshot. `now_millis`: local wall clock as if UTC."""
    snapshot = table.latest_snapshot()
    if snapshot is None or not table.is_primary_key_table:  # only keys wait for their bucket
        return PostponedPlan(snapshot, ())
    selection = replace(scope, groups=None).selection(table)
    if not rows_wait(table, snapshot, selection):
        return PostponedPlan(snapshot, ())
    entries = table.manifests.live_entries(snapshot, selection)
    left_alone = scope.left_alone(table, entries, now_millis)
    groups = by_bucket([entry for entry in entries if entry.partition not in left_alone])
    waiting = {
        partition: entries_of_bucket
        for (partition, bucket), entries_of_bucket in groups.items()
        if bucket == table_options.POSTPONE_BUCKET
    }
    if not waiting:
        return PostponedPlan(snapshot, ())
    arrivals = find_arrivals(table, snapshot, [entry for entry in entries if entry.partition in waiting])
    options = PostponeOptions.of(table.options)
    units: list[PostponeCompaction] = []
    for partition, files in waiting.items():
        real = {
            bucket: entries_of_bucket
            for (p, bucket), entries_of_bucket in groups.items()
            if p == partition and bucket >= 0
        }
        units += _units(partition, files, real, arrivals, options)
    return PostponedPlan(snapshot, tuple(units))


def _units(
    partition: bytes,
    waiting: Sequence[ManifestEntry],
    real: Mapping[int, Sequence[ManifestEntry]],
    arrivals: Arrivals,
    options: PostponeOptions,
) -> list[PostponeCompaction]:
    files = [entry.file for entry in waiting]
    size = sum(file.file_size for file in files)
    current_total = next((entry.total_buckets for entries in real.values() for entry in entries), None)
    total = current_total or options.buckets_for(sum(file.row_count for file in files), size)
    ordered = in_order(files, arrivals.commits)
    direct = _direct(ordered, real, arrivals)
    newer = {file.file_name for each in direct for file in each.files}
    older = {bucket: [e for e in entries if e.file.file_name not in newer] for bucket, entries in real.items()}
    unit = PostponeCompaction(partition, total, ordered, _highest(older), direct, _highest(real))
    shares = max(1, min(total, size // _SHARE_BYTES))
    return [replace(unit, share=share, shares=shares) for share in range(shares)]


def _highest(entries: Mapping[int, Sequence[ManifestEntry]]) -> dict[int, int]:
    """The largest sequence number in each bucket that has files."""
    return {
        bucket: max(entry.file.max_sequence_number for entry in of_bucket)
        for bucket, of_bucket in entries.items()
        if of_bucket
    }


def _direct(
    waiting: Sequence[DataFileMeta], real: Mapping[int, Sequence[ManifestEntry]], arrivals: Arrivals
) -> tuple[DirectFiles, ...]:
    """What came into real buckets after some of the files that wait, oldest first. `waiting`: in order."""
    moments = [arrivals.moment(file) for file in waiting]
    commits: dict[tuple[int, int, int], list[DataFileMeta]] = {}
    for bucket, entries in real.items():
        for entry in entries:
            if arrivals.came_after(entry, moments[0]):
                moment = arrivals.moment(entry.file)
                # Files without a known commit may be of one.
                place = (bisect_right(moments, moment), moment[0], bucket)
                commits.setdefault(place, []).append(entry.file)
    return tuple(DirectFiles(bucket, after, tuple(files)) for (after, _, bucket), files in sorted(commits.items()))


def planned_rows(work: CompactionWork) -> PostponedPlan:
    """The plan of the rows that wait in a compaction's scope."""
    scope = work.request.scope
    return again_if_expired(lambda: plan_postponed(work.table, scope, now_millis=wall_clock_millis()))


def distribute_rows(work: CompactionWork) -> None:
    """Give the rows that wait their buckets. What another writer changed is planned again, as far as it is left."""
    lost: Mapping[Group, str] = {}
    for attempt in range(work.request.max_retries + 1):
        plan = planned_rows(work)
        partitions = {unit.partition for unit in plan.units}
        work.summary.plan_again((partition, table_options.POSTPONE_BUCKET) for partition in partitions)
        for group in lost:
            if group[0] not in partitions:
                work.summary.idle(group, "another writer did the work")
        if not plan.units:
            return
        lost = _distributed(work, plan, retried=attempt > 0)
        if not lost:
            return
        if attempt < work.request.max_retries:
            work.back_off(plan.snapshot, lost, attempt)
    work.summary.give_up(lost)


def _distributed(work: CompactionWork, plan: PostponedPlan, *, retried: bool) -> Mapping[Group, str]:
    """Returns the postpone buckets whose partitions another writer changed meanwhile."""
    write = work.table.write_context()
    read = work.read_context([file for unit in plan.units for file in unit.input_files], write)
    base = None if plan.snapshot is None else plan.snapshot.id
    tasks = [PostponeTask(write, read, unit, work.request.proof, base) for unit in plan.units]
    work.progress(f"rows of {number_of(len(tasks), 'partition')} wait for their buckets")
    done = run_tasks(work.spark, distribute, tasks)
    by_partition: dict[bytes, list[tuple[PostponeTask, Distributed | TaskError]]] = {}
    for task, outcome in zip(tasks, done, strict=True):
        by_partition.setdefault(task.compaction.partition, []).append((task, outcome))
    results: list[CompactionResult] = []
    kept: list[CommitMessage] = []
    expired: dict[Group, str] = {}
    for partition, parts in by_partition.items():
        written = _whole(work, parts, plan.snapshot)
        if written is None:
            expired[partition, table_options.POSTPONE_BUCKET] = (
                "the files that it read were replaced and expired meanwhile"
            )
        elif written:
            rows = sum(file.row_count for file in parts[0][0].compaction.files)
            proof = together([part.proof for part in written])
            results.append(CompactionResult(leaving(parts[0][0].compaction), rows, rows, proof=proof))
            kept += [message for part in written for message in part.messages]
    lost = work.commit(results, [*(result.message for result in results), *kept], retried=retried)
    return {**expired, **{group: reason for group, reason in lost.items() if group[1] == table_options.POSTPONE_BUCKET}}


def _whole(
    work: CompactionWork, parts: Sequence[tuple[PostponeTask, Distributed | TaskError]], snapshot: Snapshot | None
) -> list[Distributed] | None:
    """What the units of one partition wrote; nothing if one failed, and nothing of it stays then.

    None if what they read has expired. Args: `snapshot`: that they were planned on.
    """
    written = [out for _, out in parts if not isinstance(out, TaskError)]
    errors: list[PaimonError] = [out.error_at(work.table.identifier) for _, out in parts if isinstance(out, TaskError)]
    if not errors:
        try:
            check_shares([task for task, _ in parts], written)
            return written
        except ProofError as error:
            errors.append(error)
    else:
        abort(work.table.commit_target(), [message for part in written for message in part.messages])
        if all(work.has_expired(snapshot, error) for error in errors):
            return None
    unit = parts[0][0].compaction
    work.summary.fail_files(group_of(leaving(unit)), unit.files, errors)
    return []
