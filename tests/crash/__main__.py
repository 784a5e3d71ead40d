"""`python -m tests.crash <scenario> <folder>`: kill the scenario's operation at each of its steps on storage.

Each attempt works on a fresh copy of the prepared table, in a child made by fork, so that starting up costs nothing.
This runs in a process of its own, apart from whatever else the tests have loaded. It ends with an error at the first
attempt after which something is wrong, and else prints how many attempts were killed.
"""

import os
import shutil
import signal
import sys
from pathlib import Path

from tests.crash.faults import kill_at
from tests.crash.scenarios import SCENARIOS, Reading, Scenario
from tests.flushing import without_flushing
from tests.small_tables import table_in


def killed(scenario: Scenario, folder: Path, step: int, *, torn: bool) -> bool:
    """Operate in a child that dies at that step. False if it ended before."""
    sys.stdout.flush()
    child = os.fork()
    if child == 0:
        try:
            kill_at(step, folder, torn=torn)
            scenario.operate(table_in(folder))
        except BaseException:  # noqa: BLE001 - the child must not go on as a second parent
            sys.excepthook(*sys.exc_info())
            os._exit(1)
        os._exit(0)
    _, status = os.waitpid(child, 0)
    if os.WIFSIGNALED(status):
        assert os.WTERMSIG(status) == signal.SIGKILL
        return True
    assert os.WEXITSTATUS(status) == 0, f"step {step}: the operation failed, see above"
    return False


def kill_each_step(scenario: Scenario, folder: Path, *, torn: bool) -> int:
    """Returns how many attempts were killed."""
    prepared = folder / "prepared"
    if not prepared.exists():
        scenario.prepare(prepared)
    whole = folder / "whole"
    shutil.rmtree(whole, ignore_errors=True)
    shutil.copytree(prepared, whole)
    scenario.operate(table_in(whole))
    scenario.check_whole(table_in(whole))
    before = Reading.of(table_in(prepared))
    step = 0
    while True:
        step += 1
        attempt = folder / f"{'torn' if torn else 'killed'}-{step}"
        shutil.copytree(prepared, attempt)
        died = killed(scenario, attempt, step, torn=torn)
        try:
            scenario.check_between(before, table_in(attempt))
            for again in scenario.again:
                again(table_in(attempt))
            scenario.check_after(table_in(whole), table_in(attempt))
        except BaseException as error:
            error.add_note(f"{scenario.name}, killed at step {step}, torn: {torn}; see {attempt}")
            raise
        shutil.rmtree(attempt)
        if not died:
            return step - 1


if __name__ == "__main__":
    without_flushing()
    name, where = sys.argv[1:]
    counts = [kill_each_step(SCENARIOS[name], Path(where), torn=torn) for torn in (False, True)]
    print(*counts)
