"""`make ui`: Dagster's web server and daemon, the console, and what lets a run start its work at once.

That is a Spark Connect server that all runs share, instead of a JVM of each one's own, and a process that has imported
what a run needs, from which runs are forked. The server is left out where tables.yaml names a master or a server of its
own. If one of them cannot be started, one line says why, and each run does without. Everything ends with this process,
whether by Ctrl-C, a signal or a closed terminal: first Dagster and the runs, then Spark, which runs need to tidy up.
What has not ended in time is killed.
"""

import argparse
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from importlib import import_module
from pathlib import Path
from typing import Any, ClassVar

from maintenance.errors import PaimonError
from maintenance.project.policies import URL_VARIABLE
from maintenance.spark.connect_server import connect_server
from maintenance.spark.engine import EngineKind
from maintenance.spark.parent import adopt_orphans, end_with_parent, kill_children
from paimon_maintenance.assets.project.console_address import CONSOLE_VARIABLE
from paimon_maintenance.assets.project.environment import FOLDER, project_of_environment

_LOG = Path(".dagster_home") / "spark-connect.log"
_HOST = "127.0.0.1"
_PARENT_OF_RUNS = "paimon_maintenance.run_launcher.parent"
# The limit of forked runs, 12 s, comes first.
_STOP_SECONDS = 14.0
_WARM_UP = [sys.executable, "-m", "maintenance.spark.connect_server"]
_CONSOLE = [sys.executable, "-W", "ignore", "-m", "paimon_maintenance.console"]
_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
# Of every process started here: what libraries warn of is for their developers, and memory that glibc keeps for each
# thread is never used again in processes that mostly wait.
_QUIET_AND_SMALL = {"PYTHONWARNINGS": "ignore", "MALLOC_ARENA_MAX": "2"}


def main(arguments: Sequence[str]) -> int:
    """Run until stopped; returns the exit code of Dagster."""
    parser = argparse.ArgumentParser(
        prog="python -m paimon_maintenance.assets.ui", description="Dagster, the console, and the Spark of the runs."
    )
    parser.add_argument("-p", "--port", type=int, default=3000, help="where Dagster's web server listens")
    parser.add_argument("--console-port", type=int, help="where the console listens; the next port unless it is taken")
    given = parser.parse_args(arguments)
    # Said for each: a shell that ignores Ctrl-C for its background jobs hands that down.
    for number in _SIGNALS:
        signal.signal(number, signal.default_int_handler)
    adopt_orphans()
    try:
        return _serve(given.port, given.console_port)
    except KeyboardInterrupt:
        return 0
    finally:
        _ignore_signals()
        kill_children()


def _serve(port: int, console_port: int | None) -> int:
    address = f"http://{_HOST}:{port}"
    if _is_taken(port):
        _say(f"Port {port} is taken. Choose another one: make ui PORT=<number>.")
        return 1
    if console_port is not None and _is_taken(console_port):
        _say(f"Port {console_port} is taken. Choose another one for the console.")
        return 1
    console = console_port or _free_port(port + 1)
    os.environ.update({**_QUIET_AND_SMALL, URL_VARIABLE: os.environ.get(URL_VARIABLE) or address})
    os.environ[CONSOLE_VARIABLE] = os.environ.get(CONSOLE_VARIABLE) or f"http://{_HOST}:{console}"
    _say(f"Dagster: {address}, in about half a minute. Ctrl-C ends it.")
    dagster = [str(Path(sys.executable).parent / "dagster"), "dev", "-w", "workspace.yaml"]
    with shared_server() as variables, ExitStack() as users:
        environment = {**os.environ, **variables}
        environment |= users.enter_context(run_workers(environment))
        # It says itself where it listens.
        users.enter_context(child([*_CONSOLE, "-p", str(console)], environment))
        if variables:
            users.enter_context(child(_WARM_UP, environment, quiet=True))
        try:
            return users.enter_context(child([*dagster, "-h", _HOST, "-p", str(port)], environment)).wait()
        finally:
            _ignore_signals()  # a second Ctrl-C must not keep the rest from ending
            for process in Child.started:
                process.interrupt()


def _ignore_signals() -> None:
    # No SIG_IGN, which children would inherit.
    for number in _SIGNALS:
        signal.signal(number, lambda *_: None)


def _is_taken(port: int) -> bool:
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((_HOST, port))
        except OSError:
            return True
    return False


def _free_port(wished: int) -> int:
    """The port, or any other one that is free."""
    if wished < 2**16 and not _is_taken(wished):
        return wished
    with socket.socket() as probe:
        probe.bind((_HOST, 0))
        return int(probe.getsockname()[1])


@contextmanager
def shared_server() -> Iterator[dict[str, str]]:
    """A Connect server for all runs; yields the variables by which they find it, none if there is no server."""
    with ExitStack() as servers:
        variables = {}
        try:
            spark = project_of_environment().spark
            engine = spark.chosen.settled()
            if engine.kind is EngineKind.SAIL:
                # It starts in a fraction of a second, and a run that is cancelled ends its own.
                _say(f"Spark: every run starts its own. {engine.told()}")
            elif engine.kind is EngineKind.SPARK and engine.address is None:
                server = servers.enter_context(connect_server(spark.options, log=FOLDER / _LOG))
                variables = server.environment()
                _say(f"Spark: one Connect server for all runs, its UI is at {server.ui}")
        except (PaimonError, OSError) as error:
            _say(f"Spark: every run starts its own. {error}")
        yield variables


@contextmanager
def run_workers(environment: Mapping[str, str]) -> Iterator[dict[str, str]]:
    """The parent of all runs; yields the variable by which launchers find it, none where there can be no parent."""
    parent = _run_launcher()
    reason = "the package run_launcher is left out" if parent is None else parent.unusable()
    if reason is not None:
        _say(f"Runs: each one starts a Python process of its own, which takes some seconds longer: {reason}.")
        yield {}
        return
    with tempfile.TemporaryDirectory(prefix="paimon-runs-") as folder:
        address = str(Path(folder) / "socket")
        with child(parent.command(address), environment):
            yield {parent.SOCKET_VARIABLE: address}


def _run_launcher() -> Any:
    """What starts the parent of the runs; None where the package is left out, as it may be."""
    try:
        return import_module(_PARENT_OF_RUNS)
    except ModuleNotFoundError as error:
        if error.name is None or not _PARENT_OF_RUNS.startswith(error.name):
            raise
        return None


class Child(subprocess.Popen[bytes]):
    """A process that ends with this one. Ctrl-C in a terminal does not reach it: it is interrupted once, from here.

    `started`: all of them, so that they can be asked to end side by side.
    """

    started: ClassVar[list["Child"]] = []

    def __init__(self, command: Sequence[str], environment: Mapping[str, str], *, quiet: bool) -> None:
        output = subprocess.DEVNULL if quiet else None
        super().__init__(
            command,
            cwd=FOLDER,
            env=environment,
            stdout=output,
            stderr=output,
            process_group=0,
            preexec_fn=end_with_parent,  # this process has one thread
        )
        self._interrupted_at: float | None = None
        self.started.append(self)

    def interrupt(self) -> None:
        """Ask it to end, as by Ctrl-C; again is without effect, since that would interrupt its tidying up."""
        if self._interrupted_at is None and self.poll() is None:
            self._interrupted_at = time.monotonic()
            self.send_signal(signal.SIGINT)

    def end(self) -> None:
        """Wait until it has ended; kill it if that takes too long."""
        self.interrupt()
        since = 0.0 if self._interrupted_at is None else time.monotonic() - self._interrupted_at
        try:
            self.wait(max(0.0, _STOP_SECONDS - since))
        except subprocess.TimeoutExpired:
            self.kill()
            self.wait()


@contextmanager
def child(command: Sequence[str], environment: Mapping[str, str], *, quiet: bool = False) -> Iterator[Child]:
    """A process that ends with the context, as by Ctrl-C, and with this process."""
    process = Child(command, environment, quiet=quiet)
    try:
        yield process
    finally:
        process.end()


def _say(line: str) -> None:
    print(line, flush=True)  # noqa: T201 - a command line


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
