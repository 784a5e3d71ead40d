"""Statistics of columns, as Spark's ANALYZE counts them: distinct values, bounds, nulls and lengths.

Source: Spark's `CommandUtils.computeColumnStats`, Java `ColStats`. Distinct values are counted exactly, in memory.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from maintenance.errors import NotFoundError, UnsupportedError
from maintenance.types.data_type import DataField
from maintenance.types.values import text_of_value, values_of_arrow

# Bytes of a value, as Spark counts them.
_FIXED = {
    "BOOLEAN": 1, "TINYINT": 1, "SMALLINT": 2, "INT": 4, "INTEGER": 4, "BIGINT": 8, "FLOAT": 4, "DOUBLE": 8, "DATE": 4,
}  # fmt: skip
_TEXTS = {"CHAR": 20, "VARCHAR": 20, "STRING": 20, "BINARY": 100, "VARBINARY": 100, "BYTES": 100}
_BOUNDED = ("BOOLEAN", "TINYINT", "SMALLINT", "INT", "INTEGER", "BIGINT", "FLOAT", "DOUBLE", "DECIMAL", "DATE")
_LONG_DIGITS = 18
_TIMESTAMP = 8


def chosen_fields(fields: Sequence[DataField], names: Sequence[str] | None, table: str) -> list[DataField]:
    """The columns to look at. `names`: None = all that can be.

    Raises: NotFoundError: no such column; UnsupportedError: it has no statistics.
    """
    by_name = {each.name: each for each in fields}
    if names is None:
        return [each for each in fields if _is_simple(each)]
    for name in names:
        if name not in by_name:
            raise NotFoundError(f"column '{name}' does not exist", table, f"Columns: {', '.join(by_name)}.")
        if not _is_simple(by_name[name]):
            problem = f"column '{name}' of type {by_name[name].type.root} has no statistics"
            raise UnsupportedError(problem, table, "Name columns of simple types.")
    return [by_name[name] for name in names]


def _is_simple(column: DataField) -> bool:
    root = column.type.root
    return root in _FIXED or root in _TEXTS or root == "DECIMAL" or column.type.is_timestamp


def _is_finite(value: Any) -> bool:
    return not isinstance(value, float) or math.isfinite(value)


@dataclass(slots=True)
class ColumnCounter:
    """Counts one column, batch by batch."""

    column: DataField
    nulls: int = 0
    rows: int = 0
    length: int = 0
    longest: int = 0
    distinct: pa.Array | None = field(default=None)

    def take(self, values: pa.ChunkedArray) -> None:
        self.nulls += values.null_count
        there = values.drop_null()
        self.rows += len(there)
        if self.column.type.root in _TEXTS and len(there):
            lengths = self._lengths(there)
            self.length += pc.sum(lengths).as_py()
            self.longest = max(self.longest, pc.max(lengths).as_py())
        seen = [] if self.distinct is None else [self.distinct]
        self.distinct = pc.unique(pa.chunked_array([*seen, *there.chunks], there.type))

    @staticmethod
    def _lengths(values: pa.ChunkedArray) -> pa.ChunkedArray:
        is_text = pa.types.is_string(values.type) or pa.types.is_large_string(values.type)
        return pc.utf8_length(values) if is_text else pc.binary_length(values)

    def result(self) -> dict[str, Any]:
        """The column's part of a statistics file."""
        values = pa.array([]) if self.distinct is None else self.distinct
        bounds: dict[str, Any] = {}
        if self.column.type.root in _BOUNDED and len(values):
            low_and_high = pc.min_max(values)
            if all(_is_finite(low_and_high[name].as_py()) for name in ("min", "max")):
                bounds = {name: self._text(low_and_high[name]) for name in ("min", "max")}
        average, longest = self._sizes()
        return {
            "colId": self.column.id,
            "distinctCount": len(values),
            **bounds,
            "nullCount": self.nulls,
            "avgLen": average,
            "maxLen": longest,
        }

    def _text(self, bound: pa.Scalar) -> str:
        """As Java's serializer of the type prints it: a date as the number of its day."""
        if self.column.type.root == "DATE":
            return str(bound.cast(pa.int32()).as_py())
        (value,) = values_of_arrow(pa.array([bound.as_py()], bound.type))
        return text_of_value(value, self.column.type)

    def _sizes(self) -> tuple[int, int]:
        root = self.column.type.root
        if root in _TEXTS:
            return (-(-self.length // self.rows), self.longest) if self.rows else (_TEXTS[root], _TEXTS[root])
        if root == "DECIMAL":
            size = 8 if (self.column.type.precision or 10) <= _LONG_DIGITS else 16
            return size, size
        size = _TIMESTAMP if self.column.type.is_timestamp else _FIXED[root]
        return size, size


def count_columns(fields: Sequence[DataField], batches: Iterable[pa.Table]) -> tuple[int, Mapping[str, dict[str, Any]]]:
    """Count rows, and the columns of them. Returns: the rows, and the columns' parts by name."""
    counters = [ColumnCounter(each) for each in fields]
    rows = 0
    for batch in batches:
        rows += batch.num_rows
        for counter in counters:
            counter.take(batch.column(counter.column.name))
    return rows, {counter.column.name: counter.result() for counter in counters}
