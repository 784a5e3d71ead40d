"""The times that the values of partitions name, by the options `partition.timestamp-pattern` and `-formatter`.

Source: metadata section 10.5, Java `PartitionTimeExtractor`.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from maintenance.errors import OptionError
from maintenance.format.rows.binary_row import parse_row
from maintenance.metadata.partition_path import partition_text
from maintenance.options import table as table_options
from maintenance.options.model import TableModel
from maintenance.types.data_type import DataField
from maintenance.types.time_pattern import TimePattern, default_time


@dataclass(frozen=True, slots=True)
class PartitionTimes:
    """How values of partition columns are read as a time.

    Attributes:
        pattern: of values to the text of a time; None = the first column is it.
        formatter: how that text is read; None = Paimon's own form.
    """

    fields: tuple[DataField, ...]
    pattern: str | None
    formatter: TimePattern | None

    @classmethod
    def of(cls, fields: Sequence[DataField], options: TableModel, where: str) -> "PartitionTimes":
        """Args: `fields`: the partition columns. Raises: OptionError: the formatter cannot be read."""
        text = options.partition_timestamp_formatter
        try:
            formatter = None if text is None else TimePattern.parse(text)
        except ValueError as error:
            fix = "Set 'partition.timestamp-formatter' to a pattern such as yyyy-MM-dd."
            raise OptionError(f"'partition.timestamp-formatter' = '{text}': {error}", where, fix) from error
        return cls(tuple(fields), table_options.PARTITION_TIMESTAMP_PATTERN.of(options), formatter)

    def time_of(self, partition: bytes) -> int | None:
        """Nanoseconds since 1970 of a clock without a zone, None if the values are not a time, null among them."""
        text = self.text_of(partition)
        if text is None:
            return None
        return default_time(text) if self.formatter is None else self.formatter.time_of(text)

    def text_of(self, partition: bytes) -> str | None:
        """The text that is read as the time, None if a value is null."""
        values = parse_row(partition, [field.type for field in self.fields])
        named = values if self.pattern is not None else values[:1]
        if any(value is None for value in named):
            return None
        texts = {
            field.name: partition_text(value, field.type, legacy=True)
            for field, value in zip(self.fields, named, strict=False)
        }
        return texts[self.fields[0].name] if self.pattern is None else _filled(self.pattern, texts)


def _filled(pattern: str, texts: Mapping[str, str]) -> str:
    """The pattern with values in place of their ``$column``, the longest name that fits."""
    names = sorted(texts, key=len, reverse=True)
    return re.sub(r"\$(" + "|".join(map(re.escape, names)) + ")", lambda match: texts[match[1]], pattern)
