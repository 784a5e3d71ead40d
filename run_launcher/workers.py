"""The parent of the runs of `make ui`: it has imported what a run needs, so that each run it forks starts at once.

``python -m paimon_maintenance.run_launcher.workers <socket>`` listens on a Unix socket; a launcher asks it to
start or interrupt a run, or how a run is. As the parent of the runs it alone decides what a process id means: it never
signals a process that is no longer its own, leaves no zombie, and sees how each run ends. A run whose process died is
reported as failed.

Forking is safe because this process has one thread, has opened no database and no channel; if that ever were not so, it
refuses, and the launcher goes another way. It has imported code, not read tables.yaml: each run does that again.
On SIGTERM it interrupts its runs, which clean up, and kills those that do not end in time.
"""

import json
import os
import select
import signal
import socket
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from maintenance.errors import PaimonError
from maintenance.spark.parent import end_with_parent

# Where a launcher finds the socket; set by `make ui`.
SOCKET_VARIABLE = "PAIMON_RUN_WORKERS"
# Libraries that would start a thread of their own as soon as they are imported: not in this process. What it forks
# has the variables it would have had without it.
ONE_THREAD = {
    "OPENBLAS_NUM_THREADS": "1",
    "JE_ARROW_MALLOC_CONF": "background_thread:false",
    "_RJEM_MALLOC_CONF": "background_thread:false",
}
_ANSWER_SECONDS = 30.0
_REQUEST_SECONDS = 5.0
# Within 20 s all of make ui has ended.
GRACE_SECONDS = 12.0
_REMEMBERED = 1000
# Runs leave the processors to the pages, the daemon, and programs that write to the tables here.
_NICENESS = 5
_LONGEST = 1 << 20
_GREETING = {"state": "listening"}
_SIGNALS = (signal.SIGCHLD, signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
# What a run imports once it has begun, besides what Dagster imports then.
PRELOADED = (
    "definitions",
    "paimon_maintenance.run_launcher.worker",
    "maintenance.spark.application",
    "maintenance.spark.connect_server",
    "pyspark.sql.connect.session",
    "upath.implementations.local",
)
Task = Callable[[], int]


class UnansweredError(PaimonError):
    """The parent of the runs was asked, and ended or hung before it answered."""


@dataclass(slots=True)
class _Worker:
    """A run at work. `instance`: reference to Dagster's instance, serialized."""

    run_id: str
    instance: str
    interrupted: bool = False


class RunWorkers:
    """The runs of this process. `listener`: where it is asked."""

    def __init__(self, listener: socket.socket) -> None:
        self._listener = listener
        self._workers: dict[int, _Worker] = {}
        self._reporters: set[int] = set()
        self._ended: dict[str, int] = {}
        self._ends_at: float | None = None
        self._wake, self._waker = os.pipe()

    def serve(self) -> Task | None:
        """Answer until asked to end. Returns: in a process that was forked what it is to do, None in this one."""
        self._catch_signals()
        while self._ends_at is None or self._workers or self._reporters:
            ready = self._ready(None if self._ends_at is None else 0.2)
            if self._wake in ready:
                os.read(self._wake, 4096)
            task = self._answer() if self._listener in ready else None
            task = task or self._bury()
            if task is not None:
                return task
            if self._ends_at is not None:
                self._end_workers(self._ends_at)
        return None

    def _ready(self, seconds: float | None) -> Sequence[Any]:
        waited: list[Any] = [self._listener, self._wake]
        return select.select(waited, [], [], seconds)[0]

    def _catch_signals(self) -> None:
        os.set_blocking(self._waker, False)
        signal.set_wakeup_fd(self._waker, warn_on_full_buffer=False)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, self._end_requested)

    def _end_requested(self, *_: Any) -> None:
        if self._ends_at is None:
            self._ends_at = time.monotonic() + GRACE_SECONDS

    def _end_workers(self, deadline: float) -> None:
        for pid, worker in self._workers.items():
            self._interrupt(pid, worker)
            if time.monotonic() > deadline:
                os.kill(pid, signal.SIGKILL)

    def _interrupt(self, pid: int, worker: _Worker) -> None:
        # Once: a second signal would interrupt the tidying up.
        if not worker.interrupted:
            worker.interrupted = True
            os.kill(pid, signal.SIGINT)

    def _answer(self) -> Task | None:
        connection, _ = self._listener.accept()
        with closing(connection):
            try:
                connection.settimeout(_REQUEST_SECONDS)
                _send(connection, _GREETING)  # who has given up waiting for it asks for nothing any more
                request = _receive(connection)
                answer, task = self._do(request)
                if task is None:
                    _send(connection, answer)
                return task
            except (OSError, ValueError, KeyError):
                return None  # whoever asked has gone, or is none of ours

    def _do(self, request: Mapping[str, str]) -> tuple[dict[str, Any], Task | None]:
        run_id, pid = request["run"], self._pid_of(request["run"])
        if request["do"] == "start" and pid is None:
            return self._start(run_id, request["instance"])
        if pid is None:
            code = self._ended.get(run_id)
            return ({"state": "unknown"} if code is None else {"state": "ended", "code": code}), None
        if request["do"] == "interrupt":
            self._interrupt(pid, self._workers[pid])
        return {"state": "running", "pid": pid}, None

    def _pid_of(self, run_id: str) -> int | None:
        return next((pid for pid, worker in self._workers.items() if worker.run_id == run_id), None)

    def _start(self, run_id: str, instance: str) -> tuple[dict[str, Any], Task | None]:
        from paimon_maintenance.run_launcher.worker import execute

        reason = "it is ending" if self._ends_at is not None else _unfit()
        if reason:
            return {"state": "refused", "reason": reason}, None
        pid = self._fork()
        if pid == 0:
            return {}, lambda: execute(run_id, instance)
        self._workers[pid] = _Worker(run_id, instance)
        return {"state": "running", "pid": pid}, None

    def _bury(self) -> Task | None:
        """Learn which children have ended. A run that died gets a process that says so: this one has no database."""
        from paimon_maintenance.run_launcher.worker import report_death

        while self._workers or self._reporters:
            pid, status = os.waitpid(-1, os.WNOHANG)
            if pid == 0:
                return None
            self._reporters.discard(pid)
            worker = self._workers.pop(pid, None)
            if worker is None:
                continue
            code = os.waitstatus_to_exitcode(status)
            self._ended[worker.run_id] = code
            while len(self._ended) > _REMEMBERED:
                del self._ended[next(iter(self._ended))]
            if code != 0:
                reporter = self._fork()
                if reporter == 0:
                    return _reporting(report_death, worker, code)
                self._reporters.add(reporter)
        return None

    def _fork(self) -> int:
        """As os.fork; the child has nothing of this process but what it has imported."""
        parent = os.getpid()
        signal.pthread_sigmask(signal.SIG_BLOCK, _SIGNALS)
        pid = os.fork()
        if pid == 0:
            signal.set_wakeup_fd(-1)
            for number in _SIGNALS:
                signal.signal(number, signal.SIG_DFL)
            for number in (signal.SIGINT, signal.SIGTERM):
                signal.signal(number, signal.default_int_handler)
            os.nice(_NICENESS)
            os.setpgid(0, 0)  # Ctrl-C in a terminal is for the parent, which interrupts each run once
            end_with_parent()
            if os.getppid() != parent:
                os._exit(1)
            self._listener.close()
            os.close(self._wake)
            os.close(self._waker)
            self._workers.clear()
            self._reporters.clear()
        signal.pthread_sigmask(signal.SIG_UNBLOCK, _SIGNALS)
        return pid


def _reporting(report: Callable[[str, str, int], int], worker: _Worker, code: int) -> Task:
    return lambda: report(worker.run_id, worker.instance, code)


def ask(address: str, request: Mapping[str, str]) -> dict[str, Any]:
    """What the parent of the runs answers.

    `request`: ``do`` is start, interrupt or state; ``run`` a run's id; to start, ``instance`` a serialized reference.
    Returns: ``state`` is running (with ``pid``), ended (with ``code``), unknown or refused (with ``reason``).
    Raises: PaimonError: nobody listens, and nothing was asked; UnansweredError: it may or may not have been done.
    """
    with closing(socket.socket(socket.AF_UNIX)) as connection:
        try:
            connection.settimeout(_ANSWER_SECONDS)
            connection.connect(address)
            _receive(connection)
        except (OSError, ValueError) as error:
            problem = f"the parent of the runs does not answer: {error}"
            raise PaimonError(problem, address, "Restart `make ui` to have it back.") from error
        try:
            _send(connection, request)
            return _receive(connection)
        except (OSError, ValueError) as error:
            problem = f"the parent of the runs did not answer: {error}"
            raise UnansweredError(problem, address, "Restart `make ui`, then launch the run again.") from error


def unsupported() -> str | None:
    """Why this system has no parent of runs; None if it can have one."""
    # Elsewhere a fork is not safe (macOS) or there is none (Windows), and nothing ends it with its parent.
    return None if sys.platform == "linux" else "it needs Linux"


@contextmanager
def listening(address: Path) -> Iterator[socket.socket]:
    """A socket at a path that nothing is at. Raises: OSError: the path is too long, or taken."""
    with closing(socket.socket(socket.AF_UNIX)) as listener:
        listener.bind(str(address))
        listener.listen(64)
        yield listener


def _send(connection: socket.socket, message: Mapping[str, Any]) -> None:
    connection.sendall(json.dumps(dict(message)).encode() + b"\n")


def _receive(connection: socket.socket) -> dict[str, Any]:
    with connection.makefile("rb") as lines:
        message = json.loads(lines.readline(_LONGEST) or b"null")
    if not isinstance(message, dict):
        raise ValueError("this is not a message")
    return message


def _unfit() -> str | None:
    """Why this process must not fork."""
    names = [path.read_text().strip() for path in Path("/proc/self/task").glob("*/comm")]
    return None if len(names) == 1 else f"it has more than one thread: {', '.join(sorted(names))}"


def _preload() -> None:
    import atexit
    import gc
    import importlib

    before = {name: os.environ.get(name) for name in ONE_THREAD}
    os.environ.update(ONE_THREAD)
    from paimon_maintenance.run_launcher import internals  # after the variables are set: it imports Dagster

    for name in (*PRELOADED, *internals.PRELOADED):
        with suppress(ImportError):  # it is imported when it is needed, and fails then
            importlib.import_module(name)
    for name, value in before.items():
        os.environ.pop(name) if value is None else os.environ.update({name: value})
    # What is there stays: a run that looks for garbage would copy all of it.
    gc.collect()
    gc.freeze()
    atexit.register(gc.unfreeze)  # else DuckDB tells of its types, which nobody could clear, as leaks


def main(arguments: Sequence[str]) -> int:
    """Run until asked to end, or, in a process that was forked, until the run is over; returns the exit code."""
    with listening(Path(arguments[0])) as listener:
        try:
            _preload()
        except KeyboardInterrupt:  # ended while it started: there is no run to end
            return 130
        task = RunWorkers(listener).serve()
    return 0 if task is None else task()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
