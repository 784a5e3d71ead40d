"""Exceptions that the drivers of storages raise, besides those of Python."""

import sys

from maintenance.errors import PaimonError

_DRIVERS = frozenset({"aiohttp", "requests", "urllib3", "botocore", "google", "azure", "ossfs", "oss2", "paramiko"})
_OBJECTS = "obstore"
_PANICS = "pyo3_runtime"


def is_of_driver(error: BaseException) -> bool:
    """Whether an exception is one of a driver of fsspec, and not of Python."""
    return any(kind.__module__.partition(".")[0] in _DRIVERS for kind in type(error).__mro__)


def is_panic(error: BaseException) -> bool:
    """Whether a driver written in Rust broke off: an exception that is none of Python's `Exception`."""
    return type(error).__module__ == _PANICS


def error_of_store(error: Exception, path: str, action: str) -> OSError | None:
    """The error to raise for one of the driver of object stores; None for any other."""
    if _OBJECTS not in sys.modules:
        return None
    from maintenance.fs.object_errors import is_of_store, store_error

    if isinstance(error, PaimonError) or not is_of_store(error):
        return None
    return store_error(error, path, action)
