"""A correction of past weather: as if the wind gauge at JFK had read too high in the spring of 2013.

The demo supposes that a check in autumn found the gauge to show 1/0.92 of the wind from March to May, New York time. So
speed and gusts of these hours are multiplied by 0.92: an UPDATE of rows that were ingested and compacted long before,
which the job `change_rows` carries out while the weather of autumn is still to come.
"""

from dataclasses import dataclass
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from maintenance.catalog import Catalog
from paimon_maintenance.assets.steps.row_changes import STEP
from paimon_maintenance.demo import weather

STATION = "JFK"
FIRST, END = "2013-03-01T05:00:00Z", "2013-06-01T04:00:00Z"
FACTOR = 0.92
COLUMNS = ("wind_speed", "wind_gust")
WHERE = f"origin = '{STATION}' AND time_hour >= TIMESTAMP '{FIRST}' AND time_hour < TIMESTAMP '{END}'"
ASSIGNMENTS = {name: f"{name} * {FACTOR}D" for name in COLUMNS}
NAME = "wind speed and gusts at JFK from March to May 2013, times 0.92"


@dataclass(frozen=True, slots=True)
class Marks:
    """What the system tables say of deleted rows. `records`: in the data files, deleted ones too."""

    files: int
    records: int
    vectors: int
    deleted_rows: int
    bytes: int


def run_config(identifier: str) -> dict[str, Any]:
    """What a person could type into the Launchpad of the job `change_rows`."""
    config = {"table": identifier, "where": WHERE, "assignments": ASSIGNMENTS}
    return {"ops": {STEP: {"config": config}}, "loggers": {"progress": {}}}


def marks(catalog: Catalog, identifier: str) -> Marks:
    """Files of `$files`, and deletion vectors of `$table_indexes`."""
    files = catalog.get_table(f"{identifier}$files").to_arrow(columns=["record_count"])
    indexes = catalog.get_table(f"{identifier}$table_indexes").to_arrow()
    indexes = indexes.filter(pc.equal(indexes["index_type"], "DELETION_VECTORS"))
    ranges = [part for parts in indexes["dv_ranges"].to_pylist() for part in parts or ()]
    return Marks(
        files.num_rows,
        pc.sum(files["record_count"]).as_py() or 0,
        len(ranges),
        sum(part["_CARDINALITY"] or 0 for part in ranges),
        pc.sum(indexes["file_size"]).as_py() or 0,
    )


def expected() -> pd.DataFrame:
    """The weather by hour and airport with the correction, straight from the source."""
    rows = weather.observations().to_pandas()
    wrong = (rows.origin == STATION) & (rows.time_hour >= pd.Timestamp(FIRST)) & (rows.time_hour < pd.Timestamp(END))
    for name in COLUMNS:
        rows.loc[wrong, name] *= FACTOR
    return rows


def found(rows: pa.Table) -> pd.DataFrame:
    """Rows of the table in the same order."""
    return rows.sort_by([("time_hour", "ascending"), ("origin", "ascending")]).to_pandas()
