"""What flew on each route on each day: an aggregation fed with the changes of the flights.

A change of a flight is one or two records of its route and day: what was (-U) is retracted, what is (+I, +U) is added.
So a flight that departs adds its delay, one that is cancelled takes a flight away and adds a cancellation. Counts and
sums take retractions; the largest delay, the aircraft and the carriers only grow, and ignore them.
"""

from dataclasses import dataclass
from functools import cache

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
from pyroaring import BitMap

from paimon_maintenance.demo.flights import ROW_KIND, final_rows

KEY = ("origin", "dest", "flight_date")
READ = ("rowkind", *KEY, "status", "dep_delay", "tailnum", "carrier")
"""The columns of the changelog that are read."""


@dataclass(frozen=True, slots=True)
class Aircraft:
    """All tail numbers, and of each the bitmap that holds its place among them."""

    tail_numbers: pa.Array
    bitmaps: pa.Array


@cache
def all_aircraft() -> Aircraft:
    numbers = pa.array(sorted(final_rows()["tailnum"].unique().drop_null().to_pylist()), pa.string())
    return Aircraft(numbers, pa.array([BitMap([place]).serialize() for place in range(len(numbers))], pa.binary()))


def records(changes: pa.Table, aircraft: Aircraft) -> pa.Table:
    """The records of changes, in their order. `changes`: columns READ of the audit log."""
    changes = changes.filter(pc.is_valid(changes["origin"]))
    cancelled = pc.equal(changes["status"], "cancelled").cast(pa.int64())
    return pa.table(
        {
            **{name: changes[name] for name in KEY},
            "flights": pc.subtract(1, cancelled),
            "cancellations": cancelled,
            "delay_sum": changes["dep_delay"].cast(pa.int64()),
            "delay_max": changes["dep_delay"],
            "aircraft": aircraft.bitmaps.take(pc.index_in(changes["tailnum"], aircraft.tail_numbers)),
            "carriers": changes["carrier"],
            ROW_KIND: changes["rowkind"],
        }
    )


def expected() -> pd.DataFrame:
    """The same straight from the source, by key: carriers as sorted text, aircraft as their number."""
    flights = final_rows().to_pandas()
    flown = flights.assign(
        cancellations=(flights.status == "cancelled").astype(int), flights=(flights.status != "cancelled").astype(int)
    )
    days = flown.groupby(list(KEY), sort=True)
    return pd.DataFrame(
        {
            "flights": days.flights.sum(),
            "cancellations": days.cancellations.sum(),
            "delay_sum": days.dep_delay.sum(min_count=1),
            "delay_max": days.dep_delay.max(),
            "aircraft": days.tailnum.nunique(),
            "carriers": days.carrier.agg(lambda carriers: ",".join(sorted(set(carriers)))),
        }
    ).reset_index()


def found(rows: pa.Table) -> pd.DataFrame:
    """The rows of the table in the form of `expected`."""
    frame = rows.to_pandas().sort_values(list(KEY)).reset_index(drop=True)
    aircraft = [0 if data is None else len(BitMap.deserialize(data)) for data in frame.aircraft]
    carriers = [",".join(sorted(text.split(","))) for text in frame.carriers]
    return frame.assign(aircraft=aircraft, carriers=carriers)


def same(left: pd.DataFrame, right: pd.DataFrame) -> bool:
    """Whether two frames hold the same values, whatever their types; nulls are equal."""
    if list(left.columns) != list(right.columns) or len(left) != len(right):
        return False
    return all(_same(left[name], right[name]) for name in left.columns)


def _same(left: pd.Series, right: pd.Series) -> bool:
    absent = left.isna().to_numpy()
    if not np.array_equal(absent, right.isna().to_numpy()):
        return False
    # As arrays of pandas: NumPy would make an object of each instant.
    return bool(np.all(left[~absent].array == right[~absent].array))
