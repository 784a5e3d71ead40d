"""The command of `make ui`: one Connect server for all runs, gone when Dagster is; Dagster starts without it, too."""

import os
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable
from pathlib import Path

import pytest
import yaml

from paimon_maintenance.assets.project.environment import FOLDER

pytestmark = pytest.mark.slow
SERVER = """
import os, sys
from paimon_maintenance.assets.ui import shared_server
with shared_server() as found:
    print("found", sorted(found), flush=True)
    sys.stdin.read()
"""


def tables(folder: Path, options: str) -> dict[str, str]:
    """Variables of a project with one table, whose Dagster instance lies in the folder."""
    path = folder / "tables.yaml"
    path.write_text(f"warehouse: {folder}\nspark: {{options: {options}}}\ntables: [{{identifier: db.t}}]\n")
    shipped = yaml.safe_load((FOLDER / "dagster.yaml").read_text())
    (folder / "dagster.yaml").write_text(yaml.safe_dump({"telemetry": shipped["telemetry"]}))
    return {**os.environ, "PAIMON_TABLES": str(path), "DAGSTER_HOME": str(folder)}


def eventually(what: str, test: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 900
    while not test():
        assert time.monotonic() < deadline, what
        time.sleep(0.2)


def processes(mark: str) -> list[int]:
    """Those whose environment holds the mark."""
    collected = []
    for path in Path("/proc").glob("[0-9]*"):
        try:
            if mark.encode() in (path / "environ").read_bytes():
                collected.append(int(path.name))
        except OSError:
            continue
    return collected


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere it outlives a parent that is killed")
def test_the_server_ends_with_a_parent_that_is_killed(tmp_path: Path) -> None:
    variables = tables(tmp_path, "{spark.driver.extraJavaOptions: -XX:TieredStopAtLevel=1}")
    parent = subprocess.Popen([sys.executable, "-c", SERVER], cwd=FOLDER, env=variables, text=True,
                              stdin=subprocess.PIPE, stdout=subprocess.PIPE)  # fmt: skip
    assert parent.stdout is not None
    assert parent.stdin is not None
    assert parent.stdout.readline().startswith("Spark: one Connect server for all runs, its UI is at http://127.0.0.1:")
    assert parent.stdout.readline().strip() == "found ['PAIMON_SPARK_CONFIG', 'PAIMON_SPARK_REMOTE']"
    assert len(processes(str(tmp_path))) > 1
    parent.kill()
    parent.communicate()
    eventually("the server has ended", lambda: not processes(str(tmp_path)))


def free_port() -> int:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return int(taken.getsockname()[1])


def ignore_interrupts() -> None:
    """As shells without a terminal start what runs in the background."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_dagster_starts_without_the_server_and_everything_ends_together(tmp_path: Path, number: signal.Signals) -> None:
    port = free_port()
    variables = tables(tmp_path, "{spark.driver.memory: plenty}")
    with (tmp_path / "said").open("w") as said:
        ui = subprocess.Popen(
            [sys.executable, "-m", "paimon_maintenance.assets.ui", "-p", str(port)],
            cwd=FOLDER, env=variables, text=True, stdout=subprocess.PIPE, stderr=said,
            preexec_fn=ignore_interrupts,  # noqa: PLW1509 - this process has one thread
        )  # fmt: skip
    try:
        assert ui.stdout is not None
        assert ui.stdout.readline().startswith(f"Dagster: http://127.0.0.1:{port}")
        line = ui.stdout.readline()
        assert line.startswith("Spark: every run starts its own. Spark Connect did not start: it ended with code 1")

        def answers(address: str) -> bool:
            assert ui.poll() is None
            try:
                with urllib.request.urlopen(address, timeout=5) as answer:
                    return bool(answer.status == 200)
            except (urllib.error.URLError, OSError):
                return False

        eventually("the web server answers", lambda: answers(f"http://127.0.0.1:{port}/server_info"))
        daemons = [pid for pid in processes(str(tmp_path)) if b"_daemon" in Path(f"/proc/{pid}/cmdline").read_bytes()]
        assert daemons
        for pid in daemons:
            address = f"PAIMON_DAGSTER_URL=http://127.0.0.1:{port}".encode()
            variables_of = Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
            assert address in variables_of, "alerts link to it"
            (console,) = [each for each in variables_of if each.startswith(b"PAIMON_CONSOLE_URL=")]
        found = console.decode().partition("=")[2]
        eventually("the console answers where pages link to it", lambda: answers(f"{found}/"))
        ui.send_signal(number)
        ui.communicate(timeout=600)
        assert ui.returncode == 0
        assert not processes(str(tmp_path)), "nothing is left"
        assert "Warning:" not in (tmp_path / "said").read_text()
    finally:
        if ui.poll() is None:
            ui.kill()
            ui.communicate()


def test_a_port_that_is_taken_is_said_at_once() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        command = [sys.executable, "-m", "paimon_maintenance.assets.ui", "-p", str(port)]
        done = subprocess.run(command, cwd=FOLDER, text=True, capture_output=True, check=False)
    assert done.returncode == 1
    assert done.stdout.startswith(f"Port {port} is taken.")
