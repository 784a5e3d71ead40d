"""A Spark Connect server on this machine, so that runs need no JVM of their own and start at once.

The server listens only on loopback, on a free port, and requires the token in its address: other users of the machine
cannot run code with it. It ends with the context, and on Linux also with a parent that was killed.
Clients whose settings are equal share one session of the server (`shared_session`): the Python workers belong to a
session, and those of a new one take seconds to start. This engine names and keeps nothing in a session, so its
clients do not interfere with each other.
"""

import json
import os
import secrets
import sys
import tempfile
import uuid
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyspark

from maintenance.errors import UnsupportedError
from maintenance.spark.class_archive import with_class_archive
from maintenance.spark.java import JAVA_KEY
from maintenance.spark.server_process import REMOTE_VARIABLE, ConnectServer, free_ports, running
from maintenance.spark.session import DAEMON, DAEMON_KEY, PACKAGE_KEY, ROOT, START_DEFAULTS, get_session
from maintenance.spark.tasks import run_tasks

_HOME = Path(pyspark.__path__[0])
_START_SECONDS = 120.0
# It waits most of the time, and gives back then what it does not need; the work of tasks is done in Python.
_JAVA_OPTIONS = "-XX:G1PeriodicGCInterval=30000 -XX:MinHeapFreeRatio=10 -XX:MaxHeapFreeRatio=20"
# Variables with which somebody else's Spark would be started, or the server would take itself for a client.
_FOREIGN = ("SPARK_", "PYSPARK_")


@contextmanager
def connect_server(
    config: Mapping[str, str], *, log: Path, master: str = "local[*]", seconds: float = _START_SECONDS
) -> Iterator[ConnectServer]:
    """A server for as long as the context lasts.

    Args: `config`: Spark settings, also those that cannot be changed later; `log`: file for what it prints.
    Raises: UnsupportedError: this PySpark has none. InfrastructureError: it did not start within `seconds`; the message
        has the end of its log.
    """
    if not has_server():
        problem = f"PySpark {pyspark.__version__} comes without a Spark Connect server"
        raise UnsupportedError(
            problem, "Spark Connect", "Use PySpark 4.0 or newer, or name a server that runs: sc://HOST:PORT."
        )
    port, ui_port = free_ports(2)
    token = secrets.token_hex(16)
    # gRPC sends a token without encryption to this name only.
    server = ConnectServer(
        f"sc://localhost:{port}/;user_id=paimon-maintenance;token={token}", dict(config), f"http://127.0.0.1:{ui_port}"
    )
    command = _command(_settings(config, port, ui_port), master)
    with running("Spark Connect", command, _environment(token), remote=server.remote, log=log, seconds=seconds):
        yield server


def has_server() -> bool:
    """Whether this PySpark comes with a Connect server."""
    return any(_HOME.glob("jars/spark-connect_*.jar"))


def _settings(config: Mapping[str, str], port: int, ui_port: int) -> dict[str, str]:
    settings = {
        **START_DEFAULTS,
        "spark.ui.enabled": "true",
        "spark.ui.port": str(ui_port),
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.connect.grpc.binding.address": "127.0.0.1",
        "spark.connect.session.manager.defaultSessionTimeout": "-1",
        DAEMON_KEY: DAEMON,
        PACKAGE_KEY: ROOT,
        **config,
        JAVA_KEY: f"{_JAVA_OPTIONS} {config.get(JAVA_KEY, '')}".strip(),
        "spark.connect.grpc.binding.port": str(port),
    }
    return with_class_archive(settings)


def _command(settings: Mapping[str, str], master: str) -> list[str]:
    command = [str(_HOME / "bin" / "spark-submit"), "--master", master, "--name", "paimon-maintenance"]
    command += ["--class", "org.apache.spark.sql.connect.service.SparkConnectServer"]
    command += [word for key, value in settings.items() for word in ("--conf", f"{key}={value}")]
    return [*command, "spark-internal"]


def _environment(token: str) -> dict[str, str]:
    return {key: value for key, value in os.environ.items() if not key.startswith(_FOREIGN)} | {
        "SPARK_HOME": str(_HOME),
        "SPARK_LOCAL_IP": "127.0.0.1",
        "SPARK_CONNECT_AUTHENTICATE_TOKEN": token,
        "PYSPARK_PYTHON": sys.executable,
        "PYSPARK_DRIVER_PYTHON": sys.executable,
        "PYTHONPATH": os.pathsep.join(filter(None, [ROOT, os.environ.get("PYTHONPATH", "")])),
    }


def shared_session(remote: str, config: Mapping[str, str]) -> str:
    """The address of the session that all clients with these settings share."""
    named = json.dumps([remote, sorted(config.items())])
    return f"{remote};session_id={uuid.uuid5(uuid.NAMESPACE_URL, named)}"


def warm_up(remote: str) -> None:
    """Let a server do once, on all its cores, what every run does, so that the first run does not wait for it."""
    session: Any = get_session(remote=shared_session(remote, {}))
    session.release_session_on_close = False
    with tempfile.TemporaryDirectory() as folder:
        session.range(0, 100, 1, 2).write.parquet(f"{folder}/rows")
        rows = session.read.parquet(f"{folder}/rows").repartition(2, "id")
        rows.mapInArrow(lambda batches: batches, "id long").collect()
    run_tasks(session, str, range(2 * (os.cpu_count() or 1)))
    session.stop()


if __name__ == "__main__":
    warm_up(os.environ[REMOTE_VARIABLE])
