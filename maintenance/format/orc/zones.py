"""The time zone database that ORC's library needs as soon as a file has timestamps, even in UTC."""

from importlib.util import find_spec

import pyarrow as pa

from maintenance.errors import UnsupportedError


def is_missing_database(error: Exception) -> bool:
    """Whether ORC's library found no database."""
    return isinstance(error, pa.ArrowException) and "IANA time zone database" in str(error)


def missing_database(where: str) -> UnsupportedError:
    """The error that says what to do."""
    spec = find_spec("tzdata")
    folder = (
        "the folder of one" if spec is None or spec.origin is None else spec.origin.replace("__init__.py", "zoneinfo")
    )
    return UnsupportedError(
        "this machine has no time zone database, which ORC timestamps need",
        where,
        f"Install the system's package tzdata, or set the environment variable TZDIR to {folder}.",
    )
