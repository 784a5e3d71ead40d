"""What a procedure takes and returns in one engine, and the rows that Paimon's own returns there.

A procedure of Flink that declares no rows returns texts, under the name `result`.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import pyarrow as pa

from maintenance.sql.procedures.procedure import Call
from maintenance.sql.result import Result

Row = tuple[object, ...]
Rows = Callable[[Call, pa.Table], Sequence[Row]]
"""Of a call and what its operation reports, what the engine's procedure returns."""

_STRING, _BIGINT = pa.string(), pa.int64()
TEXT: Mapping[str, pa.DataType] = {"result": _STRING}
TRUTH: Mapping[str, pa.DataType] = {"result": pa.bool_()}
WENT_BACK: Mapping[str, pa.DataType] = {"previous_snapshot_id": _BIGINT, "current_snapshot_id": _BIGINT}
EARLIEST: Mapping[str, pa.DataType] = {
    "previous_earliest_snapshot_id": _BIGINT,
    "current_earliest_snapshot_id": _BIGINT,
}
TAGGED: Mapping[str, pa.DataType] = {
    "tagName": _STRING,
    "snapshot": _BIGINT,
    "commit_time": _BIGINT,
    "watermark": _STRING,
}


def said(*row: object) -> Rows:
    """Always this row."""
    return lambda _call, _reported: [row]


def text(make: Callable[[Call, pa.Table], str]) -> Rows:
    """One text."""
    return lambda call, reported: [(make(call, reported),)]


def each_value(_: Call, reported: pa.Table) -> list[Row]:
    """Each value in a row of its own, as text."""
    return [(str(value),) for row in reported.to_pylist() for value in row.values()]


SUCCESS, TRUE = said("Success"), said(True)


@dataclass(frozen=True, slots=True)
class Signature:
    """One engine's procedure.

    Attributes:
        parameters: in the order of positions, as the engine spells them.
        columns: that it returns.
        rows: None = what the operation reports under these columns.
    """

    parameters: Sequence[str]
    columns: Mapping[str, pa.DataType]
    rows: Rows | None = None

    def returned(self, call: Call, result: Result) -> Result:
        """What the engine returns, of what the operation reports."""
        schema = pa.schema(self.columns.items())
        if self.rows is None:
            return replace(result, rows=result.to_arrow().select(schema.names).cast(schema))
        rows = self.rows(call, result.to_arrow())
        named = [dict(zip(schema.names, row, strict=True)) for row in rows]
        return replace(result, rows=pa.Table.from_pylist(named, schema))


def takes(parameters: str, columns: Mapping[str, pa.DataType], rows: Rows | None = None) -> Signature:
    """A signature. `parameters`: with blanks between them."""
    return Signature(parameters.split(), columns, rows)
