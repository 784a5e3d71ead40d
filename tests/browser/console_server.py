"""The console over a tables.yaml, served to a browser."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import dagster as dg
import uvicorn

from paimon_maintenance.console.app import application
from paimon_maintenance.console.lake import Lake
from paimon_maintenance.console.looks import Looks


@contextmanager
def serving(path: Path, instance: dg.DagsterInstance, seconds: float = 30.0) -> Iterator[str]:
    """The address of a console. `path`: of tables.yaml; `seconds`: how old what it lists may be."""
    app = application(Lake(path, instance, seconds), (), Looks(patience=60))
    server = uvicorn.Server(uvicorn.Config(app, host="127.0.0.1", port=0, log_level="warning", lifespan="off"))
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    while not server.started:
        thread.join(0.05)
        assert thread.is_alive()
    yield f"http://127.0.0.1:{server.servers[0].sockets[0].getsockname()[1]}"
    server.should_exit = True
    thread.join()
