"""Rows chosen by position or by mask are the same rows."""

from decimal import Decimal

import numpy as np
import pyarrow as pa
import pytest

from maintenance.types.chosen_rows import chosen_rows

ROWS = 1000
TABLE = pa.table(
    {
        "number": pa.array([None if i % 7 == 0 else i for i in range(ROWS)], pa.int64()),
        "flag": pa.array([i % 3 == 0 for i in range(ROWS)]),
        "text": pa.array([None if i % 5 == 0 else "x" * (i % 9) for i in range(ROWS)]),
        "bytes": pa.array([bytes([i % 256]) for i in range(ROWS)]),
        "decimal": pa.array([Decimal(i) / 4 for i in range(ROWS)], pa.decimal128(12, 2)),
        "list": pa.array([list(range(i % 4)) for i in range(ROWS)]),
        "time": pa.array(range(ROWS), pa.timestamp("us", "UTC")),
    }
)


@pytest.mark.parametrize("kept", [0.0, 0.3, 0.9, 1.0])
@pytest.mark.parametrize("chunks", [1, 3])
def test_rows_are_those_of_a_mask(kept: float, chunks: int) -> None:
    step = -(-ROWS // chunks)
    table = pa.concat_tables([TABLE.slice(start, step) for start in range(0, ROWS, step)])
    chosen = np.random.default_rng(7).random(ROWS) < kept
    actual = chosen_rows(table, chosen)
    assert actual.equals(table.filter(pa.array(chosen)))
    assert actual.schema.equals(table.schema)
    assert chosen_rows(table.slice(0, 0), chosen[:0]).num_rows == 0
