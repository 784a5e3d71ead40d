"""Errors of the disk or store become the project's own, with the path.

A missing file stays a `FileNotFoundError` for whoever reads: callers decide what that means. One that cannot be written
is a `StorageError`, whatever the system calls it.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import wraps
from threading import Lock
from typing import Any, Concatenate, ParamSpec, TypeVar, cast

from maintenance.errors import PaimonError, StorageError
from maintenance.fs.foreign_errors import error_of_store, is_of_driver, is_panic

P = ParamSpec("P")
R = TypeVar("R")
Method = Callable[Concatenate[Any, Any, P], R]


_CALLS = {"all": 0}
_COUNTING = Lock()


def calls_so_far() -> int:
    """How often this process has called a storage. Of a store each is a request, or a few where it has many parts."""
    return _CALLS["all"]


def _place(path: Any, error: Exception) -> str:
    """The path, or of several the one that the error names, else the first."""
    if isinstance(path, str):
        return path
    named = getattr(error, "filename", None)
    return str(named or next(iter(path), "") if isinstance(path, Sequence | Mapping) else named)


def reported(action: str, *, missing_is_fault: bool = False) -> Callable[[Method[P, R]], Method[P, R]]:
    """Decorate a method whose first argument is a path. `action`: as of `StorageError.of`."""

    def decorate(method: Method[P, R]) -> Method[P, R]:
        @wraps(method)
        def call(self: Any, path: Any, *args: P.args, **kwargs: P.kwargs) -> R:
            with _COUNTING:
                _CALLS["all"] += 1
            try:
                return method(self, path, *args, **kwargs)
            except PaimonError:
                raise
            except Exception as error:
                where = _place(path, error)
                found = error_of_store(error, where, action)
                if found is not None:
                    raise found from None
                if not isinstance(error, (OSError, UnicodeEncodeError)) and not is_of_driver(error):
                    raise
                if isinstance(error, FileNotFoundError) and not missing_is_fault:
                    raise
                raise StorageError.of(error, action, where) from error
            except BaseException as error:
                if not is_panic(error):
                    raise
                fix = "Check the path and the options of the store."
                raise StorageError(f"the storage cannot {action}: its driver broke off: {error}", path, fix) from None

        return cast(Method[P, R], call)

    return decorate
