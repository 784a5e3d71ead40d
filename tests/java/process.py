"""The Java core in a process of its own.

The process that runs the tests also starts Spark and other processes, and a JVM inside it would take part in that.
"""

import multiprocessing
from collections.abc import Callable
from multiprocessing.connection import Connection
from typing import Any


class JavaError(Exception):
    """An exception of the Java core: its class and message."""


class JavaProcess:
    """Calls methods of `Oracle` in the Java process; attributes are its methods.

    Args: `server`: what answers there; gets the connection and `arguments`.
    """

    def __init__(self, server: Callable[..., None] | None = None, *arguments: Any) -> None:
        context = multiprocessing.get_context("spawn")
        self._connection, theirs = context.Pipe()
        self._process = context.Process(target=server or serve, args=(theirs, *arguments), daemon=True)
        self._process.start()
        theirs.close()

    @property
    def pid(self) -> int:
        assert self._process.pid is not None
        return self._process.pid

    def kill(self) -> None:
        """End the process as a crash would."""
        self._process.kill()
        self._process.join()
        self._connection.close()

    def __getattr__(self, method: str) -> Callable[..., Any]:
        if method.startswith("_"):
            raise AttributeError(method)

        def call(*args: Any, **kwargs: Any) -> Any:
            self._connection.send((method, args, kwargs))
            returned, result = self._connection.recv()
            if not returned:
                raise JavaError(result)
            return result

        return call

    def close(self) -> None:
        """End the process. A server's threads in Java would keep it until it is killed."""
        self._connection.close()
        self._process.join(timeout=1)
        if self._process.is_alive():
            self._process.kill()
            self._process.join()
        self._process.close()


def serve(connection: Connection) -> None:
    """Answer calls until the other side hangs up. Runs in the Java process."""
    from tests.java.core import start
    from tests.java.oracle import Oracle

    answer(connection, Oracle(start()))


def answer(connection: Connection, target: Any) -> None:
    """Answer calls of methods of `target` until the other side hangs up."""
    import jpype

    while True:
        try:
            method, args, kwargs = connection.recv()
        except EOFError:
            return
        try:
            connection.send((True, getattr(target, method)(*args, **kwargs)))
        except (jpype.JException, TypeError, AttributeError, KeyError) as error:
            connection.send((False, f"{type(error).__name__}: {error}"))
