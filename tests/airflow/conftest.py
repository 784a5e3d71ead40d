"""A real Airflow, standalone with SQLite: scripts/install airflow."""

import json
import os
import signal
import sqlite3
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

PROJECT = Path(__file__).parents[2]
ENVIRONMENT = PROJECT / ".venv-airflow"


@dataclass(frozen=True)
class Airflow:
    """An installation with a home of its own. `variables`: of its processes."""

    home: Path
    variables: dict[str, str]

    def __call__(self, *arguments: str, succeeds: bool = True) -> str:
        """Run a command of it. Returns: what it says."""
        done = subprocess.run(
            [str(ENVIRONMENT / "bin" / "airflow"), *arguments],
            env=self.variables,
            capture_output=True,
            text=True,
            check=False,
            cwd=self.home,
        )
        assert (done.returncode == 0) is succeeds, done.stdout + done.stderr
        return done.stdout + done.stderr

    def ask(self, query: str) -> list[tuple[Any, ...]]:
        """Rows of its database."""
        with sqlite3.connect(self.home / "airflow.db") as connection:
            rows = connection.execute(query).fetchall()
        connection.close()
        return rows

    def states(self, dag: str) -> dict[str, str]:
        """The tasks of a DAG and their states."""
        return dict(self.ask(f"SELECT task_id, state FROM task_instance WHERE dag_id = '{dag}'"))

    def xcom(self, dag: str, task: str, key: str = "return_value") -> Any:
        """What a task has left under a key."""
        ((value,),) = self.ask(
            f"SELECT value FROM xcom WHERE dag_id = '{dag}' AND task_id = '{task}' AND key = '{key}'"
        )
        return json.loads(value)


@pytest.fixture(scope="session")
def environment() -> Path:
    done = subprocess.run(
        ["scripts/install", "airflow"], cwd=PROJECT, capture_output=True, text=True, check=False
    )  # fmt: skip
    if done.returncode:
        assert os.environ.get("CI") != "true", done.stderr
        pytest.skip(f"no Airflow: {done.stderr.strip().splitlines()[-1]}")
    return ENVIRONMENT


def airflow_of(home: Path, dags: Path, **more: str) -> Airflow:
    """An installation with the DAGs of a folder, and a database. `more`: variables."""
    home.mkdir()
    inherited = {key: value for key, value in os.environ.items() if not key.startswith(("PYTHON", "PAIMON"))}
    bytecode = {name: os.environ[name] for name in ("PYTHONPYCACHEPREFIX",) if name in os.environ}
    variables = {
        **inherited,
        **bytecode,
        "PATH": f"{ENVIRONMENT / 'bin'}:{os.environ['PATH']}",
        "PYTHONPATH": str(PROJECT),
        "AIRFLOW_HOME": str(home),
        "AIRFLOW__CORE__DAGS_FOLDER": str(dags),
        "AIRFLOW__CORE__LOAD_EXAMPLES": "false",
        "AIRFLOW__DATABASE__SQL_ALCHEMY_CONN": f"sqlite:///{home}/airflow.db",
        **more,
    }
    made = Airflow(home, variables)
    made("db", "migrate")
    return made


@contextmanager
def running(airflow: Airflow, log: Path) -> Iterator[Path]:
    """All of Airflow in one go: scheduler, triggerer, API server and what reads the DAGs. Gives: its log."""
    with log.open("wb") as into:
        process = subprocess.Popen(
            [str(ENVIRONMENT / "bin" / "airflow"), "standalone"],
            env=airflow.variables,
            cwd=airflow.home,
            stdout=into,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        try:
            yield log
        finally:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGTERM)
            with suppress(subprocess.TimeoutExpired):
                process.wait(20)
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
