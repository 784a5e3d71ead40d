"""Runs that are forked from a process which has imported all they need: started, cancelled, killed, left behind."""

import importlib
import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
import uuid
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, cast

import dagster as dg
import pyarrow as pa
import pytest
import yaml
from dagster._core.definitions.reconstruct import ReconstructableRepository
from dagster._core.launcher.base import WorkerStatus
from dagster._core.remote_origin import (
    ManagedGrpcPythonEnvCodeLocationOrigin,
    RemoteJobOrigin,
    RemoteRepositoryOrigin,
)
from dagster._core.types.loadable_target_origin import LoadableTargetOrigin

from maintenance.catalog import CatalogTable
from maintenance.errors import PaimonError
from paimon_maintenance.assets import keys
from paimon_maintenance.assets.project.environment import FOLDER
from paimon_maintenance.assets.ui import child, run_workers
from paimon_maintenance.run_launcher import internals
from paimon_maintenance.run_launcher.forking import SOCKET_TAG, ForkingRunLauncher
from paimon_maintenance.run_launcher.workers import PRELOADED, SOCKET_VARIABLE, UnansweredError, ask, listening
from tests.tables import create_table, files_on_disk

TABLE = "db.t"
PATIENCE = 900
BUCKETS = 150
# No Spark: what is looked at here is the process of a run. Cancelled Spark is looked at in `test_cancel`.
TABLES = """
warehouse: %s
history: null
spark: {engine: embedded}
tables: [{identifier: db.t}]
"""
STARTED, CANCELED, FAILURE, SUCCESS = (
    dg.DagsterRunStatus.STARTED,
    dg.DagsterRunStatus.CANCELED,
    dg.DagsterRunStatus.FAILURE,
    dg.DagsterRunStatus.SUCCESS,
)
# Whoever cancels a run is another process than the one that launched it.
TERMINATE = """
import sys
import dagster as dg
with dg.DagsterInstance.get() as instance:
    print(type(instance.run_launcher).__name__, flush=True)
    for run_id in sys.stdin:
        print(instance.run_launcher.terminate(run_id.strip()), flush=True)
"""


def large_table(folder: Path) -> CatalogTable:
    """A table whose compaction takes a while: two sorted runs in each of many buckets."""
    table = create_table(folder / "warehouse", options={"bucket": str(BUCKETS), "write-only": "true"})
    for start in (0, 1000):
        ids = pa.array(range(start, start + 100 * BUCKETS), pa.int32())
        table.write_arrow(pa.table({"id": ids, "v": [f"{uuid.uuid4()}-{start}" for _ in ids]}))
    return table


class World:
    """A folder with a table and an instance of Dagster. `variables`: of all processes."""

    def __init__(self, folder: Path, patch: pytest.MonkeyPatch) -> None:
        self.folder, self.patch = folder, patch
        shipped = yaml.safe_load((FOLDER / "dagster.yaml").read_text())
        settings = {"concurrency": {"pools": shipped["concurrency"]["pools"]}, "run_launcher": shipped["run_launcher"]}
        settings["run_coordinator"] = {"module": "dagster.core.run_coordinator", "class": "DefaultRunCoordinator"}
        settings["telemetry"] = {"enabled": False}
        (folder / "dagster.yaml").write_text(yaml.safe_dump(settings))
        self.variables = {
            **os.environ,
            "DAGSTER_HOME": str(folder),
            "PAIMON_TABLES": str(folder / "tables.yaml"),
            "PYTHONPATH": str(FOLDER),
        }
        patch.setenv("PAIMON_TABLES", self.variables["PAIMON_TABLES"])

    def write_tables(self) -> None:
        (self.folder / "tables.yaml").write_text(TABLES % (self.folder / "warehouse"))

    @contextmanager
    def workers(self) -> Iterator[int]:
        """The process that forks runs, as `make ui` starts it; yields its id."""
        with run_workers(self.variables) as actual:
            self.variables |= actual
            self.patch.setenv(SOCKET_VARIABLE, actual[SOCKET_VARIABLE])
            eventually("it has imported everything", lambda: reachable(actual[SOCKET_VARIABLE]))
            mark = actual[SOCKET_VARIABLE].encode()
            yield next(pid for pid in children(os.getpid()) if mark in Path(f"/proc/{pid}/cmdline").read_bytes())

    def launch(self, instance: dg.DagsterInstance, job: str, **config: Any) -> str:
        """Launch a job as the daemon does; returns the run's id."""
        repository = ReconstructableRepository.for_file(str(FOLDER / "definitions.py"), "definitions", str(FOLDER))
        code = repository.get_reconstructable_job(job)
        target = LoadableTargetOrigin(python_file=str(FOLDER / "definitions.py"))
        here = RemoteRepositoryOrigin(ManagedGrpcPythonEnvCodeLocationOrigin(target, "here"), "__repository__")
        run = instance.create_run_for_job(
            code.get_definition(),
            run_config={"ops": {"compact": {"config": config}}},
            status=dg.DagsterRunStatus.NOT_STARTED,
            job_code_origin=code.get_python_origin(),
            remote_job_origin=RemoteJobOrigin(here, job),
        )
        return instance.launch_run(run.run_id, cast("Any", None)).run_id

    def launch_by_command(self, job: str, **config: Any) -> str:
        """Launch a job as a person does at a command line; returns the run's id."""
        run_id = str(uuid.uuid4())
        command = [sys.executable, "-m", "dagster", "job", "launch", "-w", "workspace.yaml", "-j", job]
        reported = json.dumps({"ops": {"compact": {"config": config}}})
        done = subprocess.run(
            [*command, "--run-id", run_id, "--config-json", reported],
            cwd=FOLDER, env=self.variables, text=True, capture_output=True, timeout=PATIENCE, check=False,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr[-3000:]
        return run_id

    @contextmanager
    def terminator(self) -> Iterator[Callable[[str], str]]:
        """Another process that ends runs; what its launcher has answered."""
        process = subprocess.Popen(
            [sys.executable, "-c", TERMINATE], cwd=FOLDER, env=self.variables, text=True,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
        )  # fmt: skip
        assert process.stdin is not None
        assert process.stdout is not None
        wanted, answers = process.stdin, process.stdout

        def terminate(run_id: str) -> str:
            print(run_id, file=wanted, flush=True)
            return answers.readline().strip()

        try:
            assert answers.readline().strip() == ForkingRunLauncher.__name__
            yield terminate
        finally:
            process.communicate()

    @contextmanager
    def instance(self) -> Iterator[dg.DagsterInstance]:
        with dg.DagsterInstance.from_config(str(self.folder)) as instance:
            yield instance


@pytest.fixture
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> World:
    return World(tmp_path, monkeypatch)


def children(parent: int) -> list[int]:
    """The processes that a process has started, those that nobody has waited for included."""
    collected = []
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = path.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        if int(fields[1]) == parent:
            collected.append(int(path.parent.name))
    return collected


def eventually(what: str, look: Callable[[], Any]) -> Any:
    deadline = time.monotonic() + PATIENCE
    while not (actual := look()):
        assert time.monotonic() < deadline, what
        time.sleep(0.05)
    return actual


def status(instance: dg.DagsterInstance, run_id: str) -> dg.DagsterRunStatus:
    run = instance.get_run_by_id(run_id)
    assert run is not None
    return run.status


def ended(instance: dg.DagsterInstance, run_id: str) -> dg.DagsterRunStatus:
    """How the run has ended, once its process is gone, too."""
    run = instance.get_run_by_id(run_id)
    assert run is not None
    eventually("the run is over", lambda: status(instance, run_id) in (SUCCESS, FAILURE, CANCELED))
    eventually("its process is gone", lambda: answer_of(run.tags[SOCKET_TAG], run_id)["state"] == "ended")
    return status(instance, run_id)


def answer_of(address: str, run_id: str) -> Mapping[str, Any]:
    return ask(address, {"do": "state", "run": run_id})


def reported(instance: dg.DagsterInstance, run_id: str) -> str:
    return "\n".join(str(entry.user_message or entry.message) for entry in instance.all_logs(run_id))


def failures(instance: dg.DagsterInstance, run_id: str) -> str:
    entries = instance.all_logs(run_id, of_type=dg.DagsterEventType.STEP_FAILURE)
    return "\n".join(str(entry.get_dagster_event().step_failure_data.user_failure_data) for entry in entries)


def is_free(instance: dg.DagsterInstance, table: str) -> bool:
    info = instance.event_log_storage.get_concurrency_info(keys.pool(table))
    return (info.active_slot_count, info.pending_step_count) == (0, 0)


def compacting(world: World, instance: dg.DagsterInstance, table: CatalogTable) -> str:
    """A run that is in the middle of writing the table's files."""
    files = files_on_disk(table)
    run_id = world.launch(instance, "compact_db_t", full=True)
    eventually("files are being written", lambda: files_on_disk(table) - files)
    return run_id


def niceness(pid: int) -> int:
    return os.getpriority(os.PRIO_PROCESS, pid)


@pytest.mark.slow
def test_a_run_is_forked_and_reads_the_tables_of_now(world: World) -> None:
    table = large_table(world.folder)
    with world.workers() as parent, world.instance() as instance:
        world.write_tables()  # there was none until now
        run_id = world.launch(instance, "compact_db_t", full=True)
        run = eventually("it has started", lambda: instance.get_run_by_id(run_id))
        pid = answer_of(run.tags[SOCKET_TAG], run_id)["pid"]
        assert pid in children(parent)
        assert niceness(pid) == min(niceness(parent) + 5, 19), "who writes and who looks at pages goes first"
        assert ended(instance, run_id) == SUCCESS, reported(instance, run_id)
        assert f"(pid: {pid})" in reported(instance, run_id)
        assert instance.all_logs(run_id, of_type=dg.DagsterEventType.LOGS_CAPTURED)
        assert len(table.snapshots.list_ids()) == 3
        assert is_free(instance, TABLE)
        assert not children(parent), "no process is left, and no zombie"


@pytest.mark.slow
def test_a_run_is_cancelled_by_another_process(world: World) -> None:
    table = large_table(world.folder)
    world.write_tables()
    files, snapshots = files_on_disk(table), table.snapshots.list_ids()
    with world.workers(), world.instance() as instance, world.terminator() as terminate:
        run_id = compacting(world, instance, table)
        assert terminate(run_id) == "True"
        assert ended(instance, run_id) == CANCELED, reported(instance, run_id)
        assert is_free(instance, TABLE)
        assert not instance.all_logs(run_id, of_type=dg.DagsterEventType.STEP_UP_FOR_RETRY)
        assert terminate(run_id) == "False", "there is nothing to end any more"
    assert files_on_disk(table) == files, "nothing is left of what was being written"
    assert table.snapshots.list_ids() == snapshots


@pytest.mark.slow
def test_a_run_whose_process_is_killed_has_failed(world: World) -> None:
    table = large_table(world.folder)
    world.write_tables()
    with world.workers() as parent, world.instance() as instance:
        run_id = compacting(world, instance, table)
        run = instance.get_run_by_id(run_id)
        assert run is not None
        launcher = instance.run_launcher
        assert isinstance(launcher, ForkingRunLauncher)
        assert launcher.supports_check_run_worker_health
        assert launcher.check_run_worker_health(run).status == WorkerStatus.RUNNING
        os.kill(answer_of(run.tags[SOCKET_TAG], run_id)["pid"], signal.SIGKILL)
        assert ended(instance, run_id) == FAILURE
        assert "was terminated by signal 9 (SIGKILL)" in reported(instance, run_id)
        assert launcher.check_run_worker_health(run).status == WorkerStatus.FAILED
        eventually("no process is left, and no zombie", lambda: not children(parent))
    assert launcher.check_run_worker_health(run).status == WorkerStatus.NOT_FOUND


@pytest.mark.slow
def test_runs_end_with_their_parent_and_tidy_up(world: World) -> None:
    table = large_table(world.folder)
    world.write_tables()
    files, snapshots = files_on_disk(table), table.snapshots.list_ids()
    with world.instance() as instance:
        with world.workers():
            run_id = compacting(world, instance, table)
            run = instance.get_run_by_id(run_id)
            assert run is not None
            worker = answer_of(run.tags[SOCKET_TAG], run_id)["pid"]
        assert not Path(f"/proc/{worker}").exists()
        assert status(instance, run_id) == FAILURE
        assert "the run was cancelled or interrupted" in failures(instance, run_id)
        assert is_free(instance, TABLE)
    assert files_on_disk(table) == files, "nothing is left of what was being written"
    assert table.snapshots.list_ids() == snapshots


@pytest.mark.slow
def test_without_the_parent_runs_start_as_dagster_starts_them(world: World, tmp_path: Path) -> None:
    large_table(world.folder)
    world.write_tables()
    gone = str(tmp_path / "gone")
    world.variables[SOCKET_VARIABLE] = gone
    with world.instance() as instance:
        run_id = world.launch_by_command("compact_db_t", full=True)
        eventually("the run is over", lambda: status(instance, run_id) in (SUCCESS, FAILURE, CANCELED))
        assert status(instance, run_id) == SUCCESS
        assert "This run starts in a process of its own, which takes longer" in reported(instance, run_id)
        assert gone in reported(instance, run_id)


def reachable(address: str) -> bool:
    try:
        return bool(ask(address, {"do": "state", "run": "none"})["state"] == "unknown")
    except PaimonError:
        return False


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="it needs Linux")
def test_the_parent_has_one_thread_and_survives_whoever_talks_nonsense(tmp_path: Path) -> None:
    address = str(tmp_path / "socket")
    with child(
        [sys.executable, "-m", "paimon_maintenance.run_launcher.workers", address],
        {**os.environ, "PYTHONPATH": str(FOLDER)},
    ) as it:
        eventually("it listens", lambda: reachable(address))
        assert len(list(Path(f"/proc/{it.pid}/task").iterdir())) == 1
        for nonsense in (b"", b"\n", b"[1]\n", b'{"do": "start"}\n', b"\xff\n", b'{"run": "r"}\n'):
            with socket.socket(socket.AF_UNIX) as connection:
                connection.connect(address)
                connection.sendall(nonsense)
        assert reachable(address)
        assert it.poll() is None


@pytest.mark.parametrize("name", [*PRELOADED, *internals.PRELOADED])
def test_what_is_imported_in_advance_is_there(name: str) -> None:
    assert importlib.import_module(name)


def test_who_gives_up_before_the_parent_listens_has_asked_for_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("paimon_maintenance.run_launcher.workers._ANSWER_SECONDS", 0.1)
    with listening(tmp_path / "socket") as listener:
        with pytest.raises(PaimonError, match="does not answer") as caught:
            ask(str(tmp_path / "socket"), {"do": "start", "run": "r", "instance": "{}"})
        assert not isinstance(caught.value, UnansweredError), "the launcher goes another way"
        connection, _ = listener.accept()
        with connection:
            assert connection.recv(1) == b"", "nothing was asked, so the run is not started twice"


def test_a_parent_that_ends_before_it_answers_is_told_apart(tmp_path: Path) -> None:
    def end_after_asking(listener: socket.socket) -> None:
        connection, _ = listener.accept()
        with connection:
            connection.sendall(b'{"state": "listening"}\n')
            connection.recv(1000)

    with listening(tmp_path / "socket") as listener:
        thread = threading.Thread(target=end_after_asking, args=(listener,))
        thread.start()
        with pytest.raises(UnansweredError, match="did not answer"):
            ask(str(tmp_path / "socket"), {"do": "start", "run": "r", "instance": "{}"})
        thread.join()


def test_nobody_there_is_an_error_that_names_the_place(tmp_path: Path) -> None:
    with pytest.raises(PaimonError, match=str(tmp_path)):
        ask(str(tmp_path / "none"), {"do": "state", "run": "r"})
