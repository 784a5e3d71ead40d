"""The weather at New York's airports: an append-only table of hourly observations."""

import pandas as pd
import pyarrow as pa

from paimon_maintenance.demo import nycflights

SCHEMA = pa.schema(
    [
        pa.field("origin", pa.string(), nullable=False),
        pa.field("time_hour", pa.timestamp("ms", "UTC"), nullable=False),
        pa.field("temp", pa.float32()),
        pa.field("dewp", pa.float32()),
        pa.field("humid", pa.float32()),
        pa.field("wind_dir", pa.int16()),
        pa.field("wind_speed", pa.float64()),
        pa.field("wind_gust", pa.float64()),
        pa.field("precip", pa.decimal128(4, 2)),
        pa.field("pressure", pa.decimal128(5, 1)),
        pa.field("visib", pa.float32()),
    ]
)


def observations() -> pa.Table:
    """All observations by hour, then airport, with columns SCHEMA."""
    rows = nycflights.weather().sort_values(["time_hour", "origin"], kind="stable")
    columns = [pa.Array.from_pandas(_rounded(rows[field.name], field.type)).cast(field.type) for field in SCHEMA]
    return pa.table(columns, schema=SCHEMA)


def _rounded(values: pd.Series, data_type: pa.DataType) -> pd.Series:
    """`values` with no more decimal places than a decimal type keeps; other values as they are."""
    return values.round(data_type.scale) if pa.types.is_decimal(data_type) else values
