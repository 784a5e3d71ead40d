"""A server of this machine that runs as a process of its own: started, waited for, ended."""

import json
import os
import socket
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from maintenance.errors import InfrastructureError
from maintenance.spark.parent import end_with_parent

# Where a process finds the server that its parent has started: its address, and the settings it was started with.
REMOTE_VARIABLE = "PAIMON_SPARK_REMOTE"
CONFIG_VARIABLE = "PAIMON_SPARK_CONFIG"
_STOP_SECONDS = 4.0
_PAUSE_SECONDS = 0.05
_LINES_TOLD = 5


@dataclass(frozen=True, slots=True)
class ConnectServer:
    """A server.

    Attributes:
        remote: its address, with the token.
        config: what it was started with, apart from its defaults.
        ui: address of its Spark UI, where known.
    """

    remote: str
    config: Mapping[str, str]
    ui: str | None = None

    def environment(self) -> dict[str, str]:
        """Variables by which processes find it."""
        return {REMOTE_VARIABLE: self.remote, CONFIG_VARIABLE: json.dumps(dict(self.config))}


def server_of_environment() -> ConnectServer | None:
    """The server that a parent of this process has started, if it has."""
    remote = os.environ.get(REMOTE_VARIABLE)
    return ConnectServer(remote, json.loads(os.environ.get(CONFIG_VARIABLE) or "{}")) if remote else None


@contextmanager
def running(
    name: str, command: Sequence[str], environment: Mapping[str, str], *, remote: str, log: Path, seconds: float
) -> Iterator[None]:
    """A server for as long as the context lasts. On Linux it ends also with a parent that was killed.

    Args: `name`: for errors; `remote`: where it will listen; `log`: file for what it prints.
    Raises: InfrastructureError: it did not start within `seconds`; the message has the end of its log.
    """
    log.parent.mkdir(parents=True, exist_ok=True)
    with log.open("wb") as output:
        process = subprocess.Popen(
            command,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,  # Ctrl-C is for those who use it: it ends after them
            preexec_fn=end_with_parent,  # noqa: PLW1509 - takes no lock
        )
    try:
        _await(name, remote, process, log, seconds)
        yield
    finally:
        _stop(process)


def free_ports(count: int) -> list[int]:
    """Ports of this machine that nobody listens on."""
    probes = [socket.socket() for _ in range(count)]
    try:
        for probe in probes:
            probe.bind(("127.0.0.1", 0))
        return [int(probe.getsockname()[1]) for probe in probes]
    finally:
        for probe in probes:
            probe.close()


def _await(name: str, remote: str, process: "subprocess.Popen[bytes]", log: Path, seconds: float) -> None:
    deadline = time.monotonic() + seconds
    while not listens(remote):
        ended = process.poll()
        if ended is not None or time.monotonic() > deadline:
            reason = f"it ended with code {ended}" if ended is not None else f"nothing listens after {seconds:.0f} s"
            last = " | ".join(log.read_text(errors="replace").splitlines()[-_LINES_TOLD:])
            raise InfrastructureError(f"{name} did not start: {reason}", last or "it printed nothing", f"Read {log}.")
        time.sleep(_PAUSE_SECONDS)


def _stop(process: "subprocess.Popen[bytes]") -> None:
    process.terminate()
    try:
        process.wait(_STOP_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def listens(remote: str, seconds: float = 2.0) -> bool:
    """Whether somebody listens at the address of a Connect server."""
    host, _, port = remote.removeprefix("sc://").partition("/")[0].partition(";")[0].rpartition(":")
    if not host:
        host, port = port, "15002"
    try:
        with socket.create_connection((host.strip("[]"), int(port)), seconds):
            return True
    except (OSError, ValueError):
        return False
