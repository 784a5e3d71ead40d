"""Drop partitions past their retention: procedure `expire_partitions`.

OVERWRITE snapshots drop `partition.expiration-batch-size` partitions each; the files stay on storage until these
snapshots are the oldest. Each batch is checked again on the state that its snapshot replaces: with `update-time`, a
partition that was written to meanwhile stays. If a run dies, the next run drops the remaining partitions. Source:
metadata section 10.5, Java `PartitionExpire`. Partitions of chain tables go by other rules, see `chain_partitions`.
"""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import partial
from itertools import chain

from maintenance.commit.identity import OPERATION_PROPERTY, CommitIdentity
from maintenance.commit.overwrite import drop_partitions
from maintenance.errors import OptionError
from maintenance.format.metadata.manifest import ManifestEntry
from maintenance.format.metadata.manifest_list import ManifestFileMeta
from maintenance.format.metadata.snapshot import Snapshot
from maintenance.metadata.manifests import Manifests, merge_scan
from maintenance.metadata.partition_value import PartitionValue
from maintenance.metadata.shares import MANIFEST_BYTES
from maintenance.metadata.zone import local_time
from maintenance.operations.expiry.chain_partitions import branches_of_chain, drop_due, due_of_chain
from maintenance.operations.expiry.partition_rules import PartitionRules, rules_or_error
from maintenance.options import table as table_options
from maintenance.spark.sharing import SparkSharing, SparkSource
from maintenance.table.chain import ChainBranches
from maintenance.table.partitions import done_partitions, forget_partitions
from maintenance.table.table import Table, new_commit_user


@dataclass(frozen=True, slots=True)
class ExpirePartitionsReport:
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
    dry_run: bool = False
    seconds: float = 0.0
    spark_tasks: int = 0


def expire_partitions(
    table: Table,
    *,
    expiration_time: timedelta | None = None,
    timestamp_pattern: str | None = None,
    timestamp_formatter: str | None = None,
    expire_strategy: str | None = None,
    max_expires: int | None = None,
    batch_size: int | None = None,
    dry_run: bool = False,
    progress: Callable[[str], None] | None = None,
    now: datetime | None = None,
    spark: SparkSource = None,
) -> ExpirePartitionsReport:
    """Expire the partitions of a table or branch.

    Args:
        expiration_time: in place of `partition.expiration-time`.
        timestamp_pattern, timestamp_formatter, expire_strategy, max_expires, batch_size: in place of the options
            `partition.timestamp-pattern`, `.timestamp-formatter`, `.expiration-strategy`, `.expiration-max-num` and
            `.expiration-batch-size`.
        dry_run: report what would go, change nothing.
        progress: called with a line for each thing that happens.
        now: None = the current time; one without a zone is local.
        spark: a session whose tasks read the manifests where these are large (64 MB); or what gives one, and is asked
            only then; None = this process does. The files are deleted when the snapshots expire.
    Raises: OptionError: the table has no partitions, or no time is given; a formatter or strategy that does not exist.
        CommitError: other writers kept publishing first; what was committed before stays. UnsupportedError.
    """
    overrides = {
        table_options.PARTITION_TIMESTAMP_PATTERN.key: timestamp_pattern,
        table_options.PARTITION_TIMESTAMP_FORMATTER.key: timestamp_formatter,
        table_options.PARTITION_EXPIRATION_STRATEGY.key: expire_strategy,
        table_options.PARTITION_EXPIRATION_MAX_NUM.key: None if max_expires is None else str(max_expires),
        table_options.PARTITION_EXPIRATION_BATCH_SIZE.key: None if batch_size is None else str(batch_size),
    }
    table = table.copy({key: value for key, value in overrides.items() if value is not None})
    table_options.check_keepable(table.options, table.identifier)
    rules = rules_or_error(table, expiration_time)
    millis = int(local_time(now).replace(tzinfo=UTC).timestamp() * 1000)
    chain = branches_of_chain(table)
    if chain is not None:
        return _expire_chain(table, chain, millis - rules.life // timedelta(milliseconds=1), dry_run=dry_run)
    progress = progress or (lambda _: None)
    expiry = _Expiry(table, rules, millis, progress, SparkSharing(spark, table.location, progress))
    return expiry.run(dry_run=dry_run)


def _expire_chain(
    table: Table, chain: ChainBranches[Table], limit_millis: int, *, dry_run: bool
) -> ExpirePartitionsReport:
    """Expire partitions of both branches of a chain table, whichever of them was named."""
    started = time.monotonic()
    options = table.options
    if table_options.PARTITION_EXPIRATION_STRATEGY.of(options) != "values-time":
        raise OptionError(
            "partitions of a chain table expire by the times that they name",
            f"table {table.identifier}",
            f"Set '{table_options.PARTITION_EXPIRATION_STRATEGY.key}' to 'values-time'.",
        )
    most = max(0, table_options.PARTITION_EXPIRATION_MAX_NUM.of(options))
    due = due_of_chain(chain, limit_millis, most)
    batch_size = table_options.PARTITION_EXPIRATION_BATCH_SIZE.of(options) or 0
    ids = () if dry_run else drop_due(chain, due, batch_size)
    gone = [*due.changes, *due.complete]
    partition_of = chain.delta.paths.partition
    return ExpirePartitionsReport(
        table=table.identifier,
        expired=tuple(sorted(map(partition_of, dict.fromkeys(gone)), key=lambda one: tuple(one.values()))),
        snapshot_ids=ids,
        remaining=due.remaining,
        without_time=tuple(map(partition_of, due.without_time)),
        files=len(due.entries),
        rows=sum(entry.file.row_count for entry in due.entries),
        bytes=sum(entry.file.file_size for entry in due.entries),
        dry_run=dry_run,
        seconds=time.monotonic() - started,
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
    started: float = field(default_factory=time.monotonic)

    def run(self, *, dry_run: bool) -> ExpirePartitionsReport:
        snapshot = self.table.latest_snapshot()
        entries = [] if snapshot is None else self._live(snapshot)
        due = sorted(self.rules.due(entries, self.now_millis), key=self._text)
        most = max(0, table_options.PARTITION_EXPIRATION_MAX_NUM.of(self.table.options))
        if dry_run:
            self.expired = due[:most]
            dropped = set(self.expired)
            self.gone = [entry for entry in entries if entry.partition in dropped]
        else:
            for batch in self._batches(due[:most]):
                self._drop(batch)
        return self._report(entries, max(0, len(due) - most), dry_run=dry_run)

    def _live(self, snapshot: Snapshot) -> list[ManifestEntry]:
        manifests = self.table.manifests
        with manifests.reading(snapshot):
            metas = manifests.data_manifests(snapshot)
            sizes = [meta.file_size for meta in metas]
            return merge_scan(
                chain.from_iterable(self.sharing(partial(_read, manifests), metas, MANIFEST_BYTES, sizes))
            )

    def _batches(self, due: Sequence[bytes]) -> list[Sequence[bytes]]:
        size = table_options.PARTITION_EXPIRATION_BATCH_SIZE.of(self.table.options) or 0
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

        identity = CommitIdentity(
            new_commit_user(self.table.options), properties={OPERATION_PROPERTY: "expire_partitions"}
        )
        snapshot_id = drop_partitions(self.table.commit_target(), identity, chosen)
        if snapshot_id is None:
            return
        went = {entry.partition for entry in leaving}
        specs = [self.table.paths.spec_of(partition) for partition in went]
        forget_partitions(self.table, [*specs, *done_partitions(specs)])
        self.snapshot_ids.append(snapshot_id)
        self.expired += [partition for partition in batch if partition in went]
        self.gone += leaving
        self.progress(f"{len(went)} partitions dropped in snapshot {snapshot_id}")

    def _text(self, partition: bytes) -> str:
        return ",".join(self.table.paths.partition(partition).values())

    def _report(self, entries: Sequence[ManifestEntry], remaining: int, *, dry_run: bool) -> ExpirePartitionsReport:
        partition_of = self.table.paths.partition
        endless = [partition for partition, moment in self.rules.times(entries).items() if moment is None]
        return ExpirePartitionsReport(
            table=self.table.identifier,
            expired=tuple(map(partition_of, self.expired)),
            snapshot_ids=tuple(self.snapshot_ids),
            remaining=remaining,
            without_time=tuple(map(partition_of, sorted(endless, key=self._text))),
            files=len(self.gone),
            rows=sum(entry.file.row_count for entry in self.gone),
            bytes=sum(entry.file.file_size for entry in self.gone),
            dry_run=dry_run,
            seconds=time.monotonic() - self.started,
            spark_tasks=self.sharing.tasks,
        )


def _read(manifests: Manifests, metas: Sequence[ManifestFileMeta]) -> list[ManifestEntry]:
    """The entries of some manifests. Runs in this process or in a task."""
    return list(manifests.entries_of(metas))
