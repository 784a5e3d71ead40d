"""Which partitions of a table are past their retention, by the options `partition.expiration-*`.

The age of a partition counts from the time that its values name (`values-time`) or from the creation of its newest file
(`update-time`). What is older than `partition.expiration-time` is due. Times are those of the local clock, without a
zone, as in Java: tables must be written and expired in one time zone. Values that are not a time, null among them, make
a partition that never expires; so do DATE columns, whose values print as numbers of days.
Source: metadata section 10.5, Java `PartitionExpire`, `PartitionValuesTimeExpireStrategy`.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta

from maintenance.errors import OptionError
from maintenance.format.metadata.manifest import ManifestEntry
from maintenance.metadata.partition_times import PartitionTimes
from maintenance.options import table as table_options
from maintenance.table.table import Table

_MILLI = timedelta(milliseconds=1)


@dataclass(frozen=True, slots=True)
class PartitionRules:
    """When partitions of one table are due.

    Attributes:
        life: how old they become; `check_interval`: how often somebody is expected to look.
        named: how values are read as a time.
    """

    table: Table
    life: timedelta
    check_interval: timedelta
    by_values: bool
    named: PartitionTimes

    @classmethod
    def of(cls, table: Table, life: timedelta | None = None) -> "PartitionRules | None":
        """The rules of a table's options, None if its partitions never expire. `life`: in place of the option's.

        Raises: OptionError: `partition.timestamp-formatter` cannot be read.
        """
        options = table.options
        life = options.partition_expiration_time if life is None else life
        if life is None or not table.schema.partition_keys:
            return None
        return cls(
            table,
            life,
            table_options.PARTITION_EXPIRATION_CHECK_INTERVAL.of(options),
            options.partition_expiration_strategy == "values-time",
            PartitionTimes.of(table.schema.partition_fields, options, f"table {table.identifier}"),
        )

    def times(self, entries: Sequence[ManifestEntry]) -> dict[bytes, int | None]:
        """For each partition the time its age counts from, in milliseconds rounded up; None: it never expires."""
        partitions = {entry.partition for entry in entries}
        if self.by_values:
            return {partition: _rounded_up(self.named.time_of(partition)) for partition in partitions}
        newest: dict[bytes, int | None] = dict.fromkeys(partitions)
        for entry in entries:
            if entry.file.creation_time is not None:
                newest[entry.partition] = max(newest[entry.partition] or 0, entry.file.creation_time)
        return newest

    def due(self, entries: Sequence[ManifestEntry], now_millis: int) -> set[bytes]:
        """Partitions past their retention. `now_millis`: local wall clock as if UTC."""
        limit = now_millis - self.life // _MILLI
        return {partition for partition, time in self.times(entries).items() if time is not None and limit > time}

    def expiring(self, entries: Sequence[ManifestEntry], now_millis: int) -> dict[bytes, str]:
        """Partitions that are due before the next check is over, and a sentence about each."""
        options = self.table.options
        # Of a chain table old partitions stay as long as later ones build on them.
        if table_options.COMPACTION_SKIP_EXPIRED_PARTITIONS.of(options) is False or options.is_chain_table:
            return {}
        over = self.due(entries, now_millis)
        soon = self.due(entries, now_millis + self.check_interval // _MILLI)
        return {
            partition: "it is past its retention; the next expiry of partitions drops it"
            if partition in over
            else f"it is about to expire, within {self.check_interval}"
            for partition in soon
        }


def _rounded_up(nanos: int | None) -> int | None:
    return None if nanos is None else -(-nanos // 1_000_000)


def rules_or_error(table: Table, life: timedelta | None) -> PartitionRules:
    """The rules of a table that is to be expired. Raises: OptionError: it has none."""
    rules = PartitionRules.of(table, life)
    if rules is None:
        fix = "Set 'partition.expiration-time', or name a time."
        if not table.schema.partition_keys:
            fix = "Only partitions can expire."
        raise OptionError("no retention of partitions is set", f"table {table.identifier}", fix)
    return rules
