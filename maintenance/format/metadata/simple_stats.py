"""Smallest and largest value and null count of columns, as manifests hold them. Source: metadata section 5."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from maintenance.format.rows.binary_row import EMPTY_ROW


@dataclass(frozen=True, slots=True)
class SimpleStats:
    """Statistics of some columns, in their order.

    Attributes:
        min_values, max_values: serialized rows (with arity) of the columns' types made nullable; null = unknown, or
            all values are null.
        null_counts: per column, None = unknown.
    """

    min_values: bytes
    max_values: bytes
    null_counts: tuple[int | None, ...] | None

    def __reduce__(self) -> tuple[type["SimpleStats"], tuple[Any, ...]]:
        """As with the data files that they are of."""
        return SimpleStats, (self.min_values, self.max_values, self.null_counts)


EMPTY_STATS = SimpleStats(EMPTY_ROW, EMPTY_ROW, ())

STATS_FIELDS: list[dict[str, Any]] = [
    {"name": "_MIN_VALUES", "type": "bytes"},
    {"name": "_MAX_VALUES", "type": "bytes"},
    {"name": "_NULL_COUNTS", "type": ["null", {"type": "array", "items": ["null", "long"]}], "default": None},
]


def stats_of_record(record: Mapping[str, Any]) -> SimpleStats:
    """The statistics of a decoded Avro record. Raises: KeyError: minimum or maximum is missing."""
    null_counts = record.get("_NULL_COUNTS")
    return SimpleStats(
        record["_MIN_VALUES"], record["_MAX_VALUES"], None if null_counts is None else tuple(null_counts)
    )


def record_of_stats(stats: SimpleStats) -> dict[str, Any]:
    """The Avro record of statistics."""
    return {
        "_MIN_VALUES": stats.min_values,
        "_MAX_VALUES": stats.max_values,
        "_NULL_COUNTS": None if stats.null_counts is None else list(stats.null_counts),
    }
