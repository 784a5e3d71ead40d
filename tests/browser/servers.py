"""Dagster's web server and daemon as a person starts them, on a folder of their own, and a receiver of alerts."""

import http.server
import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, chdir, contextmanager, suppress
from email import message_from_bytes, policy
from email.message import EmailMessage
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import dagster as dg
from aiosmtpd.controller import Controller

from maintenance.project.config import load_project
from maintenance.spark.connect_server import connect_server
from maintenance.spark.engine import EngineKind
from paimon_maintenance.run_launcher import parent

ROOT = Path(__file__).parents[2]
# Both are generous, since machines are shared: on a quiet one all of it comes in seconds.
# How long a page may take to show something, and how long servers and daemons may take to start or do something.
PATIENCE = 180.0
STARTING = 600.0

_LOCATIONS = """{ workspaceOrError { ... on Workspace { locationEntries { loadStatus locationOrLoadError {
  ... on PythonError { message } ... on RepositoryLocation { name } } } } } }"""
_ASSETS = "{ assetNodes { assetKey { path } } }"
_DAEMONS = "{ instance { daemonHealth { allDaemonStatuses { daemonType required healthy } } } }"
_RUNS = """query ($filter: RunsFilter!) { runsOrError(filter: $filter, limit: 20) { ... on Runs { results {
  id status tags { key value } } } } }"""


def wait_for(what: str, look: Callable[[], Any], seconds: float = STARTING) -> Any:
    """What `look` returns, once that is true. Raises: AssertionError: it took too long."""
    end = time.monotonic() + seconds
    while not (actual := look()):
        assert time.monotonic() < end, f"waited {seconds:.0f} s in vain for {what}"
        time.sleep(0.25)
    return actual


class Dagster:
    """A running web server and daemon. `url`: of the former.

    Args:
        folder: gets the project's dagster.yaml, and the storage beside it.
        logs: the folder for what both say.
        dev: one command starts all, ``dagster dev``, and each run is a process with a Spark of its own. Else runs are
            forked and share one Spark, as with `make ui`.
    """

    def __init__(
        self,
        folder: Path,
        tables: Path,
        environment: Mapping[str, str],
        logs: Path | None = None,
        *,
        workspace: Path = ROOT / "workspace.yaml",
        dev: bool = False,
    ) -> None:
        self.folder, self._logs = folder, logs or folder
        self.port = free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        folder.mkdir(parents=True, exist_ok=True)
        if folder != ROOT:
            shipped = (ROOT / "dagster.yaml").read_text()
            patient = shipped.replace("start_timeout_seconds: 180", f"start_timeout_seconds: {STARTING:.0f}")
            # A code server that starts too slowly on a busy machine would fail the backfill that needs it.
            patient += f"\ncode_servers: {{ local_startup_timeout: {STARTING:.0f} }}\n"
            (folder / "dagster.yaml").write_text(patient)
        self._environment = {
            **os.environ,
            "DAGSTER_HOME": str(folder),
            "PAIMON_TABLES": str(tables),
            "PYTHONPATH": str(ROOT),
            "DAGSTER_GRPC_TIMEOUT_SECONDS": str(round(STARTING)),
            **environment,
        }
        # Two processes that find no database would both create it.
        with chdir(folder), dg.DagsterInstance.from_config(str(folder)) as instance:
            assert all((instance.run_storage, instance.event_log_storage, instance.schedule_storage))
        self._shared = ExitStack()
        shared = [] if dev else [self._start(*self._parent_of_runs(tables))]
        locations, address = ["-w", str(workspace)], ["-h", "127.0.0.1", "-p", str(self.port)]
        self._processes = shared + (
            [self._start("dagster", "dev", *locations, *address)]
            if dev
            else [
                self._start("dagster-webserver", *locations, *address),
                self._start("dagster-daemon", "run", *locations),
            ]
        )

    def _parent_of_runs(self, tables: Path) -> list[str]:
        """The command of the process from which runs are forked; the Spark that they share is started."""
        assert parent.unusable() is None
        spark = load_project(tables).spark
        if spark.chosen.settled().kind is EngineKind.SPARK:
            server = connect_server(spark.options, log=self._logs / "spark-connect.log", seconds=STARTING)
            self._environment |= self._shared.enter_context(server).environment()
        # The path of a socket must be short.
        address = Path(self._shared.enter_context(TemporaryDirectory(prefix="paimon-runs-"))) / "socket"
        self._environment |= {parent.SOCKET_VARIABLE: str(address)}
        return parent.command(str(address))

    def _start(self, command: str, *arguments: str) -> subprocess.Popen[bytes]:
        program = Path(sys.executable).parent / command
        with (self._logs / f"{Path(command).name}.log").open("wb") as log:
            return subprocess.Popen(
                [str(program), *arguments],
                cwd=self.folder,  # paths in dagster.yaml start there
                env=self._environment,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )

    def wait_until_ready(self) -> None:
        """Until the definitions are loaded and the daemons are alive. Raises: AssertionError."""
        wait_for("the code location", self._is_loaded)
        wait_for("the daemons", self._daemons_are_alive)

    def _is_loaded(self) -> bool:
        self._check()
        try:
            entries = self.query(_LOCATIONS)["workspaceOrError"]["locationEntries"]
        except (urllib.error.URLError, ConnectionError):
            return False
        actual = [entry["locationOrLoadError"] or {} for entry in entries]
        errors = [of["message"] for of in actual if "message" in of]
        assert not errors, errors
        return bool(actual) and all("name" in of for of in actual)

    def _daemons_are_alive(self) -> bool:
        self._check()
        statuses = self.query(_DAEMONS)["instance"]["daemonHealth"]["allDaemonStatuses"]
        return all(status["healthy"] for status in statuses if status["required"])

    def _check(self) -> None:
        for process in self._processes:
            assert process.poll() is None, f"{process.args!r} ended: see the logs in {self._logs}"

    def query(self, text: str, variables: Mapping[str, Any] | None = None) -> Any:
        """The data that GraphQL answers with."""
        body = json.dumps({"query": text, "variables": dict(variables or {})}).encode()
        request = urllib.request.Request(f"{self.url}/graphql", body, {"Content-Type": "application/json"})
        with urllib.request.urlopen(request, timeout=60) as answer:
            document = json.load(answer)
        assert "errors" not in document, document["errors"]
        return document["data"]

    def runs(self, **tags: str) -> list[dict[str, Any]]:
        """The newest runs with these tags (`_` stands for `/`), newest first."""
        wanted = [{"key": key.replace("_", "/", 1), "value": value} for key, value in tags.items()]
        return list(self.query(_RUNS, {"filter": {"tags": wanted}})["runsOrError"]["results"])

    def asset_keys(self) -> set[str]:
        """The assets that the web server knows, as database.table."""
        return {".".join(node["assetKey"]["path"]) for node in self.query(_ASSETS)["assetNodes"]}

    def stop(self) -> None:
        """End both, and the code servers and runs that they started."""
        for process in self._processes:
            _signal(process, signal.SIGINT)
        for process in self._processes:
            with suppress(subprocess.TimeoutExpired):
                process.wait(timeout=20)
            _signal(process, signal.SIGKILL)
            process.wait()
        self._shared.close()


def _signal(process: subprocess.Popen[bytes], number: int) -> None:
    with suppress(ProcessLookupError):
        os.killpg(process.pid, number)


def free_port() -> int:
    """A port that nobody listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


class Receiver(http.server.BaseHTTPRequestHandler):
    """Keeps what is posted."""

    received: list[dict[str, Any]]

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.received.append(json.loads(body))
        self.send_response(200)
        self.end_headers()

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the library's name
        """Tests are quiet."""


@contextmanager
def receiving() -> Iterator[tuple[str, list[dict[str, Any]]]]:
    """A webhook's URL, and the alerts that have come in."""
    received: list[dict[str, Any]] = []
    handler = type("Kept", (Receiver,), {"received": received})
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/hook", received
        server.shutdown()


@contextmanager
def receiving_mail() -> Iterator[tuple[int, list[EmailMessage]]]:
    """The port of a mail server on this machine, and the mails that have come in."""
    received: list[EmailMessage] = []

    class Mailbox:
        async def handle_DATA(self, _server: Any, _session: Any, envelope: Any) -> str:  # noqa: N802 - aiosmtpd's name
            received.append(message_from_bytes(envelope.content, _class=EmailMessage, policy=policy.default))
            return "250 Message accepted"

    controller = Controller(Mailbox(), hostname="127.0.0.1", port=free_port())
    controller.start()
    try:
        yield controller.port, received
    finally:
        controller.stop()
