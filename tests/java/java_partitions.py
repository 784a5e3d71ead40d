"""Expiry of partitions in the Java core: the times that partitions mean, and dropping those that are due."""

from collections.abc import Sequence
from typing import Any

import jpype

Work = tuple[Sequence[str], Sequence[str], str | None, str | None]


class JavaPartitions:
    """`paimon`: the core's package, the JVM running."""

    def __init__(self, paimon: Any) -> None:
        self._paimon = paimon

    def times(self, work: Sequence[Work]) -> list[int | None]:
        """For each (columns, texts, pattern, formatter) the nanoseconds since 1970, None if Java finds no time."""
        return [self._time(*each) for each in work]

    def _time(
        self, columns: Sequence[str], texts: Sequence[str], pattern: str | None, formatter: str | None
    ) -> int | None:
        extractor = self._paimon.partition.PartitionTimeExtractor(pattern, formatter)
        values = jpype.java.util.ArrayList(list(texts))
        try:
            moment = extractor.extract(jpype.java.util.ArrayList(list(columns)), values)
        except jpype.java.time.format.DateTimeParseException:
            return None
        return int(moment.toEpochSecond(jpype.java.time.ZoneOffset.UTC)) * 10**9 + int(moment.getNano())

    def expire(self, table: Any) -> list[tuple[tuple[str, str], ...]]:
        """Drop what is due. Returns columns and texts of the partitions that went, in order."""
        expired = table.store().newPartitionExpire("java", table).expire(2**63 - 1)
        return [tuple((str(entry.getKey()), str(entry.getValue())) for entry in spec.entrySet()) for spec in expired]
