"""Serves the console over HTTP, on this machine alone unless another address is asked for."""

import os
import socket
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryDirectory

import dagster as dg
import uvicorn

from maintenance.errors import OptionError
from paimon_maintenance.console.app import application
from paimon_maintenance.console.lake import Lake

HOST = "127.0.0.1"
PORT = 3001
# What a browser may call a machine that it is on itself.
_LOCAL = ("127.0.0.1", "localhost", "[::1]")


def serve(path: Path, host: str, port: int) -> int:
    """Serve the tables of a tables.yaml until stopped; returns the exit code.

    Dagster's storage is read where DAGSTER_HOME names one. Without it the pages show what the tables say themselves.
    """
    with _instance() as instance:
        lake = Lake(path, instance)
        try:
            lake.project.get()
        except OptionError as error:
            print(error, file=sys.stderr)
            return 1
        try:
            listening = socket.create_server((host, port), family=socket.AF_INET6 if ":" in host else socket.AF_INET)
        except OSError as error:
            problem = f"Port {port} of {host} cannot be used: {error.strerror}. Choose another one with --port."
            print(problem, file=sys.stderr)
            return 1
        with listening:
            address = f"http://{f'[{host}]' if ':' in host else host}:{listening.getsockname()[1]}"
            print(f"Console: {address}", flush=True)
            lake.warm_up()
            app = application(lake, _LOCAL if host in ("127.0.0.1", "::1", "localhost") else ())
            config = uvicorn.Config(app, log_level="warning", access_log=False, lifespan="off")
            # Ctrl-C is how it is ended.
            with suppress(KeyboardInterrupt):
                uvicorn.Server(config).run(sockets=[listening])
    return 0


@contextmanager
def _instance() -> Iterator[dg.DagsterInstance]:
    if os.environ.get("DAGSTER_HOME"):
        with dg.DagsterInstance.get() as instance:
            yield instance
    else:
        with TemporaryDirectory() as folder, dg.DagsterInstance.local_temp(folder) as empty:
            yield empty
