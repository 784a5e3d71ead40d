"""Counts what is asked of a catalog's server or database, and of storage, whoever asks."""

from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any
from unittest.mock import patch

from maintenance.fs.file_io import FileIO
from maintenance.metastore.hive.client import HiveMetastore
from maintenance.metastore.jdbc.connections import Connections
from maintenance.metastore.jdbc.server import Server
from maintenance.metastore.rest.server import RestServer

FILES = "files"
_CONNECT = "connect"


def _of_sql(_: Any, __: Any, sql: str, *___: Any) -> str:
    return f"SQL on {next(word for word in sql.replace('(', ' ').split() if word.startswith(('paimon_', 'sqlite_')))}"


def _of_rest(_: Any, method: str, path: str, **__: Any) -> str:
    kinds = [part for part in path.split("/") if part in ("config", "databases", "tables", "snapshot")]
    return f"{method} {kinds[-1] if kinds else path}"


# What is called, and how a call is named.
_WATCHED: tuple[tuple[type, str, Callable[..., str]], ...] = (
    (FileIO, "_storage", lambda *_, **__: FILES),
    (Server, "connect", lambda *_, **__: _CONNECT),
    (Connections, "_execute", _of_sql),
    (HiveMetastore, "_connect", lambda *_, **__: _CONNECT),
    (HiveMetastore, "change", lambda _, method, *__: str(method)),
    (RestServer, "request", _of_rest),
)


@contextmanager
def counted() -> Iterator[Counter[str]]:
    """The calls of this process, by what is called."""
    calls: Counter[str] = Counter()

    def watching(kind: type, name: str, told: Callable[..., str]) -> Any:
        actual = getattr(kind, name)

        def call(*arguments: Any, **named: Any) -> Any:
            calls[told(*arguments, **named)] += 1
            return actual(*arguments, **named)

        return patch.object(kind, name, call)

    with ExitStack() as stack:
        for watched in _WATCHED:
            stack.enter_context(watching(*watched))
        yield calls
