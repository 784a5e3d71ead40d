"""A project of the soak's own: warehouse, tables.yaml and Dagster's instance in one folder, the daemon beside them."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

import yaml

from maintenance.project.config import Project, load_project
from maintenance.spark.parent import end_with_parent
from paimon_maintenance.assets.project.environment import FOLDER
from paimon_maintenance.run_launcher import parent
from tests.soak.workload import COLUMNS, names

TRIGGER = 5
RETAINED = 20
_STOP_SECONDS = 120.0
_SPARK = {"spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
          "spark.sql.codegen.wholeStage": "false"}  # fmt: skip


def set_up(folder: Path, tables: int) -> Project:
    """Write the project's files; the tables do not exist yet."""
    described = {
        "warehouse": str(folder / "warehouse"),
        "spark": {"options": _SPARK},
        "expiry": {"cron": "* * * * *", "time_zone": "UTC"},
        "tables": [
            {
                "identifier": name,
                "columns": dict(COLUMNS),
                "primary_keys": ["id"],
                "options": {
                    "bucket": 2,
                    "write-only": True,
                    "num-sorted-run.compaction-trigger": TRIGGER,
                    "changelog-producer": "lookup",
                },
                "retention": {"keep_at_least": 5, "keep_at_most": RETAINED},
            }
            for name in names(tables)
        ],
    }
    path = folder / "tables.yaml"
    path.write_text(yaml.safe_dump(described))
    shipped = yaml.safe_load((FOLDER / "dagster.yaml").read_text())
    home = folder / "home"
    home.mkdir()
    shipped["storage"]["sqlite"]["base_dir"] = str(home / "sqlite")
    shipped["local_artifact_storage"]["config"]["base_dir"] = str(home)
    shipped["compute_logs"]["config"]["base_dir"] = str(home / "logs")
    # A machine that does other work, too, may need minutes until a run's process has loaded its definitions.
    shipped["run_monitoring"]["start_timeout_seconds"] = 900
    (home / "dagster.yaml").write_text(yaml.safe_dump(shipped))
    return load_project(path, folder)


def environment(folder: Path, more: Mapping[str, str]) -> dict[str, str]:
    """Of Dagster's processes."""
    own = {"DAGSTER_HOME": str(folder / "home"), "PAIMON_TABLES": str(folder / "tables.yaml")}
    return {**os.environ, **own, "PYTHONPATH": str(FOLDER), **more}


def _command(name: str, *arguments: str | Path) -> list[str]:
    return [str(Path(sys.executable).parent / name), *map(str, arguments)]


@contextmanager
def _process(command: Sequence[str], variables: Mapping[str, str], log: Path) -> Iterator[subprocess.Popen[bytes]]:
    """One that ends with this process, interrupted at the end."""
    with log.open("wb") as output:
        process = subprocess.Popen(
            command,
            env=variables,
            cwd=FOLDER,
            stdout=output,
            stderr=subprocess.STDOUT,
            preexec_fn=end_with_parent,  # noqa: PLW1509 - takes no lock
        )
        try:
            yield process
        finally:
            process.send_signal(signal.SIGINT)
            try:
                process.wait(_STOP_SECONDS)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


@contextmanager
def _code_server(folder: Path, variables: Mapping[str, str]) -> Iterator[Path]:
    """A code server of its own, as a deployment has it; yields the workspace. A daemon would start one each minute."""
    socket, workspace = folder / "code", folder / "workspace.yaml"
    described = {"grpc_server": {"socket": str(socket), "location_name": "paimon_maintenance"}}
    workspace.write_text(yaml.safe_dump({"load_from": [described]}))
    code = ("-f", FOLDER / "definitions.py", "-d", FOLDER, "--location-name", "paimon_maintenance")
    asked = _command("dagster", "api", "grpc-health-check", "--socket", socket)
    with _process(_command("dagster", "api", "grpc", "--socket", socket, *code), variables, folder / "code.log") as it:
        while subprocess.run(asked, env=variables, cwd=FOLDER, check=False, capture_output=True).returncode:
            if it.poll() is not None:
                raise SystemExit((folder / "code.log").read_text())
        yield workspace


@contextmanager
def _parent_of_runs(folder: Path, variables: Mapping[str, str]) -> Iterator[dict[str, str]]:
    """What forks the runs; yields the variable by which the daemon finds it."""
    if parent.unusable() is not None:
        yield {}
        return
    address = str(folder / "runs")
    with _process(parent.command(address), variables, folder / "runs.log"):
        yield {parent.SOCKET_VARIABLE: address}


@contextmanager
def daemon(folder: Path, found: Mapping[str, str]) -> Iterator[None]:
    """Dagster's daemon, with compaction by sensor and expiry by schedule on; runs are forked, as by `make ui`."""
    switches = [("sensor", "start", "latest_snapshots"), ("schedule", "start", "daily_expiry")]
    variables = environment(folder, found)
    with _parent_of_runs(folder, variables) as workers, _code_server(folder, variables) as workspace:
        for switch in switches:
            started = _command("dagster", *switch, "-w", workspace)
            subprocess.run(started, env=variables, cwd=FOLDER, check=True, stdout=subprocess.DEVNULL)
        command = _command("dagster-daemon", "run", "-w", workspace)
        with _process(command, {**variables, **workers}, folder / "daemon.log"):
            yield
