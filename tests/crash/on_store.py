"""Kill the scenarios' operations at each of their changes to a store's server.

    python -m tests.crash.on_store [--store s3|gcs|azure|hdfs] [--every 1] [scenario ...]

The relay in front of the server kills the process right before it would carry out a change, and lets none through after
it, so a kill falls between any two requests that change something. Afterwards the table reads as before or as after.
The operation is run again; then rows, tags and snapshots are those of a run that nobody killed, and once orphans are
removed, nothing is there that nothing names. Ends with an error at the first attempt after which something is wrong,
and else prints for each scenario how many attempts were killed.

On a store of this machine an attempt takes about a second, all scenarios more than half an hour: `--every 7` tries each
seventh change.
"""

import argparse
import multiprocessing
import os
import signal
import sys
import threading
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from itertools import chain, count
from multiprocessing.connection import Connection

from maintenance.catalog import CatalogTable
from maintenance.fs.file_io import FileIO
from maintenance.operations.orphans.remove_orphan_files import remove_orphan_files
from tests.crash.scenarios import SCENARIOS, Reading, Scenario
from tests.models.reachable import unreachable_files
from tests.servers.relay import Relay
from tests.small_tables import Place, table_in
from tests.store_race import STORES

Options = Mapping[str, str]
OF_LOCAL_DISKS = ("migrate", "migrate_into_bin")
"""The source of their catalog is a local folder."""


class Operators:
    """Runs operations, each in a process of its own, forked from one that has imported everything.

    That one never uses a store itself, for the driver does not survive a fork: make this before any is used.
    """

    def __init__(self) -> None:
        self._connection, theirs = multiprocessing.Pipe()
        if os.fork() == 0:
            self._connection.close()
            _serve(theirs)
            os._exit(0)
        theirs.close()

    def start(self, scenario: str, options: Options) -> int:
        """Start an operation. Returns the process's id."""
        self._connection.send((scenario, options))
        pid: int = self._connection.recv()
        return pid

    def go(self) -> int:
        """Let the process that was started operate until its end. Returns how it ended, as of `os.wait`."""
        self._connection.send(None)
        status: int = self._connection.recv()
        return status


def _serve(connection: Connection) -> None:
    while True:
        try:
            scenario, options = connection.recv()
        except EOFError:
            return
        waiting, go = os.pipe()
        child = os.fork()
        if child == 0:
            try:
                os.read(waiting, 1)
                SCENARIOS[scenario].operate(table_in(options))
            except BaseException:  # noqa: BLE001 - the child must not go on as a second parent
                sys.excepthook(*sys.exc_info())
                os._exit(1)
            os._exit(0)
        connection.send(child)
        connection.recv()
        os.write(go, b"!")
        _, status = os.waitpid(child, 0)
        os.close(waiting)
        os.close(go)
        connection.send(status)


class Killer:
    """Kills a process right before its change number `step`, counted from 1; what it asks for afterwards is dropped."""

    def __init__(self, pid: int, step: int) -> None:
        self._pid, self._step = pid, step
        self._begun = self._ended = 0
        self._changed = threading.Condition()

    @contextmanager
    def around(self, _request: str) -> Iterator[None]:
        with self._changed:
            self._begun += 1
            if self._begun >= self._step:
                if self._begun == self._step:
                    os.kill(self._pid, signal.SIGKILL)
                raise ConnectionAbortedError
        try:
            yield
        finally:
            with self._changed:
                self._ended += 1
                self._changed.notify_all()

    def wait_for_changes(self) -> None:
        """Wait until the server has carried out what came before the kill."""
        with self._changed:
            assert self._changed.wait_for(lambda: self._ended >= min(self._begun, self._step - 1), 60)


def killed(operators: Operators, scenario: Scenario, relay: Relay, options: Options, step: int) -> bool:
    """Operate in a process that dies at that change. False if it ended before."""
    killer = Killer(operators.start(scenario.name, options), step)
    relay.around = killer.around
    try:
        status = operators.go()
        killer.wait_for_changes()
    finally:
        relay.around = None
    if os.WIFSIGNALED(status):
        assert os.WTERMSIG(status) == signal.SIGKILL
        return True
    assert os.WEXITSTATUS(status) == 0, f"change {step}: the operation failed, see above"
    return False


def kill_each_change(operators: Operators, scenario: Scenario, relay: Relay, options: Options, every: int) -> int:
    """Returns how many attempts were killed."""

    def place(name: str) -> dict[str, str]:
        return {**options, "warehouse": f"{options['warehouse']}/{scenario.name}/{name}"}

    prepared, whole = place("prepared"), place("whole")
    scenario.prepare(prepared)
    copy(prepared, whole)
    scenario.operate(table_in(whole))
    scenario.check_whole(table_in(whole))
    before = Reading.of(table_in(prepared))
    attempts = 0
    # The first and the second change are always among them: nothing of the operation is there, then one thing.
    for step in chain([1], count(2, every)):
        attempt = place(f"killed-{step}")
        copy(prepared, attempt)
        died = killed(operators, scenario, relay, attempt, step)
        try:
            scenario.check_between(before, table_in(attempt))
            for again in scenario.again:
                again(table_in(attempt))
            scenario.check_after(table_in(whole), table_in(attempt))
            check_nothing_is_left(attempt)
        except BaseException as error:
            error.add_note(f"{scenario.name}, killed at change {step}")
            raise
        FileIO.of(options).delete_folder(attempt["warehouse"])
        if not died:
            break
        attempts += 1
    return attempts


def check_nothing_is_left(place: Place) -> None:
    """Once orphans are removed, whatever their age, nothing is there that nothing names, and the rest reads as before.

    Data files that were written when a process died stay until then: those of writers that still run look like them.
    """
    before = Reading.of(table_in(place))
    remove_orphan_files(None, table_in(place), now=datetime.now(UTC) + timedelta(days=2))
    table = table_in(place)
    left = hidden_files(table) | {path for path in unreachable_files(table) if not path.endswith("_SUCCESS")}
    assert not left, f"nothing names {sorted(left)}"
    assert Reading.of(table) == before


def hidden_files(table: CatalogTable) -> set[str]:
    """What is left of writing, but for the empty objects that stand for folders."""
    tree = table.file_io.list_tree(table.location)
    return {file.path for file in tree if file.name.startswith(".") and file.name != ".folder"}


def copy(source: Options, target: Options) -> None:
    """Copy a warehouse within the store."""
    file_io, root = FileIO.of(source), source["warehouse"]
    paths = [file.path for file in file_io.list_tree(root)]
    contents = file_io.read_many([f"{root}/{path}" for path in paths])
    with ThreadPoolExecutor(4) as pool:
        targets = (f"{target['warehouse']}/{path}" for path in paths)
        list(pool.map(file_io.write_bytes, targets, contents))


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("scenarios", nargs="*", default=[], metavar="scenario", help=f"of {', '.join(SCENARIOS)}")
    parser.add_argument("--store", choices=STORES, default="s3")
    parser.add_argument("--every", type=int, default=1, help="kill at each n-th change only")
    given = parser.parse_args()
    operators = Operators()
    with STORES[given.store]() as (options, relay):
        for name in given.scenarios or [name for name in SCENARIOS if name not in OF_LOCAL_DISKS]:
            print(name, kill_each_change(operators, SCENARIOS[name], relay, options, given.every), flush=True)


if __name__ == "__main__":
    main()
