"""Chain tables: which partitions of the snapshot branch and the delta branch make up a partition that is read.

The last partition columns, those of `chain-table.chain-partition-keys` or all, name times; partitions that have the
other columns in common are a chain. A partition of the snapshot branch is complete. One that only the delta branch has
consists of the nearest earlier one of the snapshot branch, its anchor, and the changes of the delta branch since: those
of each day if one column names the time, else of each hour, as the pattern and formatter of the partitions write these
times. Without an anchor all earlier changes of the chain count. Source: Java `ChainGroupReadTable`, `ChainTableUtils`.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from maintenance.errors import DataError
from maintenance.format.metadata.partition_stats import sort_word
from maintenance.format.rows.binary_row import parse_row, serialize_row
from maintenance.metadata.partition_times import PartitionTimes
from maintenance.options import table as table_options
from maintenance.options.model import TableModel
from maintenance.types.data_type import DataField
from maintenance.types.time_pattern import text_by_pattern
from maintenance.types.values import Value

CHAIN_BRANCHES = (table_options.SCAN_FALLBACK_SNAPSHOT_BRANCH, table_options.SCAN_FALLBACK_DELTA_BRANCH)
"""The options that name the two branches: of complete partitions, and of changes."""
_HOUR = 3600 * 10**9
_DAY = 24 * _HOUR
_EPOCH = datetime(1970, 1, 1)
_Place = tuple[tuple[bool, object], ...]


@dataclass(frozen=True, slots=True)
class Link:
    """What a partition consists of. `anchor`: of the snapshot branch, if any; `changes`: of the delta branch."""

    anchor: bytes | None
    changes: tuple[bytes, ...]


@dataclass(frozen=True, slots=True)
class Chains:
    """How partitions of a table form chains. `fields`: its partition columns, the last `length` of which name times."""

    table: str
    fields: tuple[DataField, ...]
    length: int
    times: PartitionTimes
    formatter: str

    @classmethod
    def of(cls, fields: Sequence[DataField], options: TableModel, table: str) -> "Chains":
        """Args: `fields`: the partition columns. Raises: OptionError: the formatter cannot be read."""
        names = options.chain_table_chain_partition_keys
        length = len(names) or len(fields)
        times = PartitionTimes.of(fields[len(fields) - length :], options, f"table {table}")
        formatter = options.partition_timestamp_formatter or ""
        return cls(table, tuple(fields), length, times, formatter)

    def links(
        self, wanted: Collection[bytes], changes: Collection[bytes], anchors: Collection[bytes]
    ) -> dict[bytes, Link]:
        """What each wanted partition consists of. `changes`, `anchors`: partitions of the delta and snapshot branch.

        Raises: DataError: a partition that has to be put together names no time.
        """
        of_group = self._grouped(changes)
        anchors_of_group = self._grouped(anchors)
        found = {}
        for partition in wanted:
            group, place = self._split(partition)
            earlier = [(end, other) for end, other in anchors_of_group.get(group, ()) if end < place]
            start, anchor = max(earlier, default=(None, None))
            between = [
                (end, other)
                for end, other in of_group.get(group, ())
                if end <= place and (start is None or end > start) and (anchor is None or self._counts(other, anchor))
            ]
            found[partition] = Link(anchor, tuple(other for _, other in sorted(between)))
        return found

    def group(self, partition: bytes) -> bytes:
        """The chain that a partition belongs to."""
        return self._split(partition)[0]

    def place(self, partition: bytes) -> _Place:
        """Where it is in its chain."""
        return self._split(partition)[1]

    def time_of(self, partition: bytes) -> int | None:
        """The time that a partition names, see `PartitionTimes.time_of`."""
        return self.times.time_of(self._suffix(partition))

    def _grouped(self, partitions: Collection[bytes]) -> dict[bytes, list[tuple[_Place, bytes]]]:
        groups: dict[bytes, list[tuple[_Place, bytes]]] = {}
        for partition in partitions:
            group, place = self._split(partition)
            groups.setdefault(group, []).append((place, partition))
        return groups

    def _split(self, partition: bytes) -> tuple[bytes, _Place]:
        values, cut = self._values(partition), len(self.fields) - self.length
        group = serialize_row(values[:cut], [field.type for field in self.fields[:cut]])
        return group, tuple(sort_word(value) for value in values[cut:])

    def _values(self, partition: bytes) -> tuple[Value, ...]:
        return tuple(parse_row(partition, [field.type for field in self.fields]))

    def _suffix(self, partition: bytes) -> bytes:
        cut = len(self.fields) - self.length
        return serialize_row(self._values(partition)[cut:], [field.type for field in self.fields[cut:]])

    def _counts(self, partition: bytes, anchor: bytes) -> bool:
        """Whether a partition behind the anchor is one of the days or hours that Paimon looks at."""
        time, start = self._time(partition), self._time(anchor)
        if self.length == 1 and (time % _DAY or time // _DAY <= start // _DAY):
            return False
        if time % _HOUR:
            return False
        text = self.times.text_of(self._suffix(partition))
        return text == text_by_pattern(_EPOCH + timedelta(microseconds=time // 1000), self.formatter)

    def _time(self, partition: bytes) -> int:
        time = self.time_of(partition)
        if time is None:
            text = self.times.text_of(self._suffix(partition))
            raise DataError(
                f"a partition of a chain table names no time: '{text}'",
                f"table {self.table}",
                "Drop it, or correct 'partition.timestamp-pattern' and 'partition.timestamp-formatter'.",
            )
        return time
