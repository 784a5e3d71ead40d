"""A Sail server on this machine: Spark Connect without a JVM, which starts in a fraction of a second.

It is a process of its own, since it runs Python's tasks in itself, in threads, and calls PySpark there in its own way
(`sail_process`). It listens only on loopback, on a free port. It asks for no token: whoever else may open connections
on this machine can use it. It ends with its context, and on Linux also with a parent that was killed.
"""

import atexit
import os
import sys
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from maintenance.spark.lost import expect_nothing
from maintenance.spark.sail_process import check_versions
from maintenance.spark.server_process import ConnectServer, free_ports, listens, running
from maintenance.spark.session import ROOT

_START_SECONDS = 60.0
_HOST = "localhost"
# By the process that started it: one that was forked from it does not end it.
_OWN: dict[int, tuple[ConnectServer, ExitStack]] = {}


@contextmanager
def sail_server(*, log: Path, seconds: float = _START_SECONDS) -> Iterator[ConnectServer]:
    """A server for as long as the context lasts.

    Args: `log`: file for what it prints.
    Raises: OptionError: it does not work with what is installed; InfrastructureError: it did not start within
        `seconds`; the message has the end of its log.
    """
    check_versions()
    (port,) = free_ports(1)
    server = ConnectServer(f"sc://{_HOST}:{port}", {})
    command = [sys.executable, "-m", "maintenance.spark.sail_process", str(port)]
    with running("Sail", command, _environment(), remote=server.remote, log=log, seconds=seconds):
        yield server


def own_server() -> ConnectServer:
    """The server of this process, which starts it when it first asks and ends it at its own end. Errors as above."""
    pid = os.getpid()
    if pid not in _OWN or not listens(_OWN[pid][0].remote):
        stack = ExitStack()
        folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="paimon-sail-"))
        _OWN[pid] = (stack.enter_context(sail_server(log=Path(folder) / "sail.log")), stack)
        atexit.register(_close, pid, stack)
    return _OWN[pid][0]


def end_own_server(session: Any) -> bool:
    """End the server of this process with whatever it does, if the session is of it. Returns whether it is."""
    pid = os.getpid()
    if pid not in _OWN or session.client.host != _HOST or not _OWN[pid][0].remote.endswith(f":{_port_of(session)}"):
        return False
    # There will be nobody to say goodbye to.
    expect_nothing(session)
    session.release_session_on_close = False
    _, stack = _OWN.pop(pid)
    stack.close()
    session.stop()
    return True


def _port_of(session: Any) -> str:
    return str(session.client._builder.endpoint).rpartition(":")[2]


def _close(pid: int, stack: ExitStack) -> None:
    if pid == os.getpid():
        _OWN.pop(pid, None)
        stack.close()


def _environment() -> dict[str, str]:
    return {
        **os.environ,
        "PYTHONPATH": os.pathsep.join(filter(None, [ROOT, os.environ.get("PYTHONPATH", "")])),
        # It says at each session that it is there.
        "RUST_LOG": os.environ.get("RUST_LOG", "warn"),
    }
