"""Which partitions of a table are past their retention, by the options `partition.expiration-*`.

The age of a partition counts from the time that its values name (`values-time`) or from the creation of its newest file
(`update-time`). What is older than `partition.expiration-time` is due. Times are those of the local clock, without a
zone, as in Java: tables must be written and expired in one time zone. Values that are not a time, null among them, make
a partition that never expires; so do DATE columns, whose values print as numbers of days.
Source: metadata section 10.5, Java `PartitionExpire`, `PartitionValuesTimeExpireStrategy`.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta

from maintenance.errors import OptionError
from maintenance.format.metadata.manifest import ManifestEntry
from maintenance.format.rows.binary_row import parse_row
from maintenance.metadata.partition_path import partition_text
from maintenance.options import table as table_options
from maintenance.table.table import Table
from maintenance.types.time_pattern import TimePattern, default_time

_MILLI = timedelta(milliseconds=1)


@dataclass(frozen=True, slots=True)
class PartitionRules:
    """When partitions of one table are due.

    Attributes:
        life: how old they become; `check_interval`: how often somebody is expected to look.
        pattern: of values to the text of a time; None = the first column is it. `formatter`: how that text is read;
            None = Paimon's own form.
    """

    table: Table
    life: timedelta
    check_interval: timedelta
    by_values: bool
    pattern: str | None
    formatter: TimePattern | None

    @classmethod
    def of(cls, table: Table, life: timedelta | None = None) -> "PartitionRules | None":
        """The rules of a table's options, None if its partitions never expire. `life`: in place of the option's.

        Raises: OptionError: `partition.timestamp-formatter` cannot be read.
        """
        options = table.options
        life = table_options.PARTITION_EXPIRATION_TIME.of(options) if life is None else life
        if life is None or not table.schema.partition_keys:
            return None
        return cls(
            table,
            life,
            table_options.PARTITION_EXPIRATION_CHECK_INTERVAL.of(options),
            table_options.PARTITION_EXPIRATION_STRATEGY.of(options) == "values-time",
            table_options.PARTITION_TIMESTAMP_PATTERN.of(options),
            _formatter(table),
        )

    def times(self, entries: Sequence[ManifestEntry]) -> dict[bytes, int | None]:
        """For each partition the time its age counts from, in milliseconds rounded up; None: it never expires."""
        partitions = {entry.partition for entry in entries}
        if self.by_values:
            return {partition: _rounded_up(self._time_of_values(partition)) for partition in partitions}
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
        if table_options.COMPACTION_SKIP_EXPIRED_PARTITIONS.of(self.table.options) is False:
            return {}
        over = self.due(entries, now_millis)
        soon = self.due(entries, now_millis + self.check_interval // _MILLI)
        return {
            partition: "it is past its retention; the next expiry of partitions drops it"
            if partition in over
            else f"it is about to expire, within {self.check_interval}"
            for partition in soon
        }

    def _time_of_values(self, partition: bytes) -> int | None:
        fields = self.table.schema.partition_fields
        values = parse_row(partition, [field.type for field in fields])
        named = values if self.pattern is not None else values[:1]
        if any(value is None for value in named):
            return None
        texts = {
            field.name: partition_text(value, field.type, legacy=True)
            for field, value in zip(fields, named, strict=False)
        }
        text = texts[fields[0].name] if self.pattern is None else _filled(self.pattern, texts)
        return default_time(text) if self.formatter is None else self.formatter.time_of(text)


def _formatter(table: Table) -> TimePattern | None:
    text = table_options.PARTITION_TIMESTAMP_FORMATTER.of(table.options)
    try:
        return None if text is None else TimePattern.parse(text)
    except ValueError as error:
        raise OptionError(
            f"'partition.timestamp-formatter' = '{text}': {error}", f"table {table.identifier}", "Choose another one."
        ) from error


def _filled(pattern: str, texts: Mapping[str, str]) -> str:
    """The pattern with values in place of their ``$column``, the longest name that fits."""
    names = sorted(texts, key=len, reverse=True)
    return re.sub(r"\$(" + "|".join(map(re.escape, names)) + ")", lambda match: texts[match[1]], pattern)


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
