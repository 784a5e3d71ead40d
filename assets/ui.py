"""`make ui`: Dagster's web server and daemon, and what lets a run start its work at once.

That is a Spark Connect server that all runs share, instead of a JVM of each one's own, and a process that has imported
what a run needs, from which runs are forked. The server is left out where tables.yaml names a master or a server of its
own. If one of them cannot be started, one line says why, and each run does without. Everything ends with this process,
whether by Ctrl-C, a signal or a closed terminal.
"""

import argparse
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path

from assets.project.config import FOLDER, LOCAL_MASTER, project_of_environment
from assets.run_launcher.launcher import unavailable
from assets.run_launcher.workers import SOCKET_VARIABLE, unsupported
from maintenance.errors import PaimonError
from maintenance.spark.connect_server import connect_server
from maintenance.spark.parent import end_with_parent

_LOG = Path(".dagster_home") / "spark-connect.log"
_STOP_SECONDS = 30.0
_WARM_UP = [sys.executable, "-W", "ignore", "-m", "maintenance.spark.connect_server"]


def main(arguments: Sequence[str]) -> int:
    """Run until told to stop; returns the exit code of Dagster."""
    parser = argparse.ArgumentParser(prog="python -m assets.ui", description="Dagster and the Spark of its runs.")
    parser.add_argument("-p", "--port", default="3000", help="where the web server listens")
    port = parser.parse_args(arguments).port
    dagster = [str(Path(sys.executable).parent / "dagster"), "dev", "-w", "workspace.yaml", "-p", port]
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.default_int_handler)
    with ExitStack() as beside:
        try:
            found = beside.enter_context(shared_server())
            environment = {**os.environ, **found}
            environment |= beside.enter_context(run_workers(environment))
            if found:
                beside.enter_context(child(_WARM_UP, environment, quiet=True))
            return beside.enter_context(child(dagster, environment)).wait()
        except KeyboardInterrupt:
            # A second Ctrl-C must not keep the rest from ending.
            for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
                signal.signal(number, lambda *_: None)
            return 0


@contextmanager
def shared_server() -> Iterator[dict[str, str]]:
    """A Connect server for all runs; yields the variables by which they find it, none if there is no server."""
    with ExitStack() as beside:
        found = {}
        try:
            spark = project_of_environment().spark
            if spark.remote is None and spark.master == LOCAL_MASTER:
                server = beside.enter_context(connect_server(spark.options, log=FOLDER / _LOG))
                found = server.environment()
                _say(f"Spark: one Connect server for all runs, its UI is at {server.ui}")
        except (PaimonError, OSError) as error:
            _say(f"Spark: every run starts its own. {error}")
        yield found


@contextmanager
def run_workers(environment: Mapping[str, str]) -> Iterator[dict[str, str]]:
    """The parent of all runs; yields the variable by which launchers find it, none where there can be no parent."""
    reason = unsupported() or unavailable()
    if reason is not None:
        _say(f"Runs: each one starts a Python process of its own, which takes some seconds longer: {reason}.")
        yield {}
        return
    with tempfile.TemporaryDirectory(prefix="paimon-runs-") as folder:
        address = str(Path(folder) / "socket")
        with child([sys.executable, "-W", "ignore", "-m", "assets.run_launcher.workers", address], environment):
            yield {SOCKET_VARIABLE: address}


@contextmanager
def child(
    command: Sequence[str], environment: Mapping[str, str], *, quiet: bool = False
) -> Iterator["subprocess.Popen[bytes]"]:
    """A process that ends with the context, as by Ctrl-C, and with this process."""
    output = subprocess.DEVNULL if quiet else None
    process = subprocess.Popen(
        command,
        cwd=FOLDER,
        env=environment,
        stdout=output,
        stderr=output,
        preexec_fn=end_with_parent,  # noqa: PLW1509 - this process has one thread
    )
    try:
        yield process
    finally:
        if process.poll() is None:
            process.send_signal(signal.SIGINT)
        try:
            process.wait(_STOP_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def _say(line: str) -> None:
    print(line, flush=True)  # noqa: T201 - a command line


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
