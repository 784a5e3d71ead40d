"""Drop partitions past their retention: procedure `expire_partitions`.

OVERWRITE snapshots drop `partition.expiration-batch-size` partitions each; the files stay on storage until these
snapshots are the oldest. Each batch is checked again on the state that its snapshot replaces: with `update-time`, a
partition that was written to meanwhile stays. If a run dies, the next run drops the remaining partitions. Source:
metadata section 10.5, Java `PartitionExpire`. Partitions of chain tables go by other rules, see `chain_partitions`.
"""

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import partial
from itertools import chain
from typing import Annotated

from maintenance.amounts import number_of
from maintenance.commit.overwrite import drop_partitions
from maintenance.errors import OptionError
from maintenance.format.metadata.manifest import ManifestEntry
from maintenance.format.metadata.manifest_list import ManifestFileMeta
from maintenance.format.metadata.snapshot import Snapshot
from maintenance.metadata.manifests import Manifests, merge_scan
from maintenance.metadata.partition_value import PartitionValue
from maintenance.metadata.shares import MANIFEST_BYTES
from maintenance.metadata.zone import local_time
from maintenance.operations.expiry.chain_partitions import DuePartitions as DueOfChain
from maintenance.operations.expiry.chain_partitions import branches_of_chain, drop_due, due_of_chain
from maintenance.operations.expiry.partition_rules import PartitionRules, rules_or_error
from maintenance.operations.operation import Operation, OperationReport, Plan, Run, Shown
from maintenance.operations.parameters import Param
from maintenance.operations.plan_store import PlannedGroup
from maintenance.operations.planned_groups import entries_by_partition, group_of_files
from maintenance.options import table as table_options
from maintenance.spark.sharing import SparkSharing
from maintenance.table.chain import ChainBranches
from maintenance.table.partitions import done_partitions, forget_partitions
from maintenance.table.table import Table, identity_of


@dataclass(frozen=True, slots=True)
class ExpirePartitionsReport(OperationReport):
    """What an expiry of partitions did, or would do.

    Attributes:
        expired: in the order of their texts.
        snapshot_ids: the OVERWRITE snapshots it made.
        remaining: partitions that are due as well, beyond `partition.expiration-max-num`.
        without_time: partitions that never expire, since their values are not a time.
        files, rows, bytes: of the partitions that went, as their last states count them.
        spark_tasks: how many tasks of Spark read the manifests; 0: this process did.
    """

    table: str
    expired: tuple[PartitionValue, ...]
    snapshot_ids: tuple[int, ...] = ()
    remaining: int = 0
    without_time: tuple[PartitionValue, ...] = ()
    files: int = 0
    rows: int = 0
    bytes: int = 0
    seconds: float = 0.0
    spark_tasks: int = 0


@dataclass(frozen=True, slots=True)
class DuePartitions:
    """How many partitions the next expiry drops, and their live files."""

    count: int = 0
    files: int = 0
    bytes: int = 0


@dataclass(frozen=True, slots=True)
class ExpirePartitions:
    """Which partitions are dropped. What is left out comes from the table's options."""

    expiration_time: Annotated[timedelta | None, Param("Drop partitions that are older than this, e.g. 90 d.")] = None
    timestamp_formatter: Annotated[str | None, Param("The format of the time in partition values, e.g. yyyyMMdd.")] = (
        None
    )
    timestamp_pattern: Annotated[
        str | None, Param("How the time is made up of partition columns, e.g. $year-$month-$day.")
    ] = None
    expire_strategy: Annotated[
        str | None,
        Param("What the age is measured from: values-time (the partition's values) or update-time (its newest file)."),
    ] = None
    max_expires: Annotated[int | None, Param("Drop at most this many in this run.", least=1)] = None
    batch_size: Annotated[int | None, Param("How many to drop in one commit.", least=1)] = None

    def opened(self, table: Table) -> Table:
        """The table with the options that the request sets. Raises: UnsupportedError."""
        overrides = {
            table_options.PARTITION_TIMESTAMP_PATTERN.key: self.timestamp_pattern,
            table_options.PARTITION_TIMESTAMP_FORMATTER.key: self.timestamp_formatter,
            table_options.PARTITION_EXPIRATION_STRATEGY.key: self.expire_strategy,
            table_options.PARTITION_EXPIRATION_MAX_NUM.key: self.max_expires,
            table_options.PARTITION_EXPIRATION_BATCH_SIZE.key: self.batch_size,
        }
        table = table.copy({key: str(value) for key, value in overrides.items() if value is not None})
        table_options.check_keepable(table.options, table.identifier)
        return table


def plan(run: Run, table: Table, request: ExpirePartitions) -> Plan[ExpirePartitions, ExpirePartitionsReport]:
    """The partitions that are past their retention."""
    table = request.opened(table)
    rules = rules_or_error(table, request.expiration_time)
    millis = int(local_time(run.now).replace(tzinfo=UTC).timestamp() * 1000)
    chain = branches_of_chain(table)
    work: _OfChain | _Expiry
    if chain is not None:
        work = _OfChain(table, chain, millis - rules.life // timedelta(milliseconds=1))
    else:
        work = _Expiry(table, rules, millis, run.progress, SparkSharing(run.spark, table.location, run.progress))
    report = work.planned()

    def groups() -> Iterator[PlannedGroup]:
        for partition, entries in entries_by_partition(table, report.expired).items():
            yield group_of_files(str(partition), entries, "past its retention")

    return Plan(request, report, groups, work)


def partitions_due(table: Table, now: datetime) -> DuePartitions | None:
    """What the next expiry of partitions drops, by the table's options; None: its partitions never expire.

    Raises: OptionError: these options cannot be followed. CorruptFileError.
    """
    if PartitionRules.of(table) is None:
        return None
    report = plan(Run(now=now), table, ExpirePartitions()).report
    return DuePartitions(len(report.expired), report.files, report.bytes)


def apply(_: Run, __: Table, planned: Plan[ExpirePartitions, ExpirePartitionsReport]) -> ExpirePartitionsReport:
    """Drop the planned partitions."""
    work: _OfChain | _Expiry = planned.work
    return work.dropped()


def _shown(report: ExpirePartitionsReport) -> Shown:
    specs = [", ".join(f"{key}={value}" for key, value in spec.items()) for spec in report.expired]
    return Shown.texts(("expired_partitions",), [(spec,) for spec in specs])


OPERATION = Operation(
    "expire_partitions",
    "Expire partitions by their age.",
    ExpirePartitions,
    plan,
    apply,
    _shown,
    takes_options=True,
    uses_spark=True,
    has_job=False,
)


@dataclass(slots=True)
class _OfChain:
    """An expiry of both branches of a chain table, whichever of them was named."""

    table: Table
    chain: ChainBranches[Table]
    limit_millis: int
    started: float = field(default_factory=time.monotonic)
    due: DueOfChain = field(init=False)

    def planned(self) -> ExpirePartitionsReport:
        options = self.table.options
        if options.partition_expiration_strategy != "values-time":
            raise OptionError(
                "partitions of a chain table expire by the times that they name",
                f"table {self.table.identifier}",
                f"Set '{table_options.PARTITION_EXPIRATION_STRATEGY.key}' to 'values-time'.",
            )
        most = max(0, options.partition_expiration_max_num)
        self.due = due_of_chain(self.chain, self.limit_millis, most)
        return self._report(())

    def dropped(self) -> ExpirePartitionsReport:
        batch_size = self.table.model.partition_expiration_batch_size or 0
        return self._report(drop_due(self.chain, self.due, batch_size))

    def _report(self, ids: tuple[int, ...]) -> ExpirePartitionsReport:
        due, partition_of = self.due, self.chain.delta.paths.partition
        gone = dict.fromkeys([*due.changes, *due.complete])
        return ExpirePartitionsReport(
            table=self.table.identifier,
            expired=tuple(sorted(map(partition_of, gone), key=lambda one: tuple(one.values()))),
            snapshot_ids=ids,
            remaining=due.remaining,
            without_time=tuple(map(partition_of, due.without_time)),
            files=len(due.entries),
            rows=sum(entry.file.row_count for entry in due.entries),
            bytes=sum(entry.file.file_size for entry in due.entries),
            seconds=time.monotonic() - self.started,
        )


@dataclass(slots=True)
class _Expiry:
    table: Table
    rules: PartitionRules
    now_millis: int
    progress: Callable[[str], None]
    sharing: SparkSharing
    expired: list[bytes] = field(default_factory=list)
    snapshot_ids: list[int] = field(default_factory=list)
    gone: list[ManifestEntry] = field(default_factory=list)
    entries: list[ManifestEntry] = field(default_factory=list)
    due: list[bytes] = field(default_factory=list)
    started: float = field(default_factory=time.monotonic)

    def planned(self) -> ExpirePartitionsReport:
        snapshot = self.table.latest_snapshot()
        self.entries = [] if snapshot is None else self._live(snapshot)
        self.due = sorted(self.rules.due(self.entries, self.now_millis), key=self._text)
        now = set(self.due[: self._most])
        return self._report(self.due[: self._most], [e for e in self.entries if e.partition in now])

    def dropped(self) -> ExpirePartitionsReport:
        for batch in self._batches(self.due[: self._most]):
            self._drop(batch)
        return self._report(self.expired, self.gone)

    @property
    def _most(self) -> int:
        return max(0, self.table.model.partition_expiration_max_num)

    def _live(self, snapshot: Snapshot) -> list[ManifestEntry]:
        manifests = self.table.manifests
        with manifests.reading(snapshot):
            metas = manifests.data_manifests(snapshot)
            sizes = [meta.file_size for meta in metas]
            return merge_scan(
                chain.from_iterable(self.sharing(partial(_read, manifests), metas, MANIFEST_BYTES, sizes))
            )

    def _batches(self, due: Sequence[bytes]) -> list[Sequence[bytes]]:
        size = self.table.model.partition_expiration_batch_size or 0
        size = size if size > 0 else max(1, len(due))
        return [due[start : start + size] for start in range(0, len(due), size)]

    def _drop(self, batch: Sequence[bytes]) -> None:
        leaving: list[ManifestEntry] = []
        in_batch = set(batch)

        def chosen(live: Sequence[ManifestEntry]) -> set[bytes]:
            inside = [entry for entry in live if entry.partition in in_batch]
            due = self.rules.due(inside, self.now_millis)
            leaving[:] = [entry for entry in inside if entry.partition in due]
            return due

        identity = identity_of(self.table, "expire_partitions")
        snapshot_id = drop_partitions(self.table.commit_target(), identity, chosen)
        if snapshot_id is None:
            return
        went = {entry.partition for entry in leaving}
        specs = [self.table.paths.spec_of(partition) for partition in went]
        forget_partitions(self.table, [*specs, *done_partitions(specs)])
        self.snapshot_ids.append(snapshot_id)
        self.expired += [partition for partition in batch if partition in went]
        self.gone += leaving
        self.progress(f"{number_of(len(went), 'partition')} dropped in snapshot {snapshot_id}")

    def _text(self, partition: bytes) -> str:
        return ",".join(self.table.paths.partition(partition).values())

    def _report(self, expired: Sequence[bytes], gone: Sequence[ManifestEntry]) -> ExpirePartitionsReport:
        partition_of = self.table.paths.partition
        endless = [partition for partition, moment in self.rules.times(self.entries).items() if moment is None]
        return ExpirePartitionsReport(
            table=self.table.identifier,
            expired=tuple(map(partition_of, expired)),
            snapshot_ids=tuple(self.snapshot_ids),
            remaining=max(0, len(self.due) - self._most),
            without_time=tuple(map(partition_of, sorted(endless, key=self._text))),
            files=len(gone),
            rows=sum(entry.file.row_count for entry in gone),
            bytes=sum(entry.file.file_size for entry in gone),
            seconds=time.monotonic() - self.started,
            spark_tasks=self.sharing.tasks,
        )


def _read(manifests: Manifests, metas: Sequence[ManifestFileMeta]) -> list[ManifestEntry]:
    """The entries of some manifests. Runs in this process or in a task."""
    return list(manifests.entries_of(metas))


expire_partitions = OPERATION.function(
    """Expire the partitions of a table or branch.

    Args:
        expiration_time: in place of `partition.expiration-time`.
        timestamp_pattern, timestamp_formatter, expire_strategy, max_expires, batch_size: in place of the options
            `partition.timestamp-pattern`, `.timestamp-formatter`, `.expiration-strategy`, `.expiration-max-num` and
            `.expiration-batch-size`.
        spark: a session whose tasks read the manifests where these are large (64 MB); or what gives one, and is asked
            only then; None = this process does. The files are deleted when the snapshots expire.
    Raises: OptionError: the table has no partitions, or no time is given; a formatter or strategy that does not exist.
        CommitError: other writers kept publishing first; what was committed before stays. UnsupportedError.
    """,
    takes=("progress", "now"),
)
