"""`python -m tests.crash.full_disk <scenario> <folder>`: the disk is full from each step of the operation on.

What the operation says must be true: it ends with an error or with its work done, never with a part of it acknowledged.
Nothing half-written stays, and running again with room on the disk finishes the work. Prints how many attempts failed
and how many succeeded in spite of the disk.
"""

import os
import shutil
import sys
from collections.abc import Callable
from itertools import count
from pathlib import Path

from maintenance.catalog import CatalogTable
from maintenance.errors import PaimonError
from tests.crash.faults import fill_disk_at
from tests.crash.scenarios import SCENARIOS, Reading, Scenario
from tests.flushing import without_flushing
from tests.models.reachable import unreachable_files
from tests.small_tables import table_in

# What these leave for the next run is named by a record, as after a kill.
_ON_RECORD = ("fast_forward", "replace_tag", "expire_changelogs", "expire_both")
# Where one bucket fails and the other is done, they stand between the states that are compared.
_BY_BUCKET = ("compact", "mark", "inline")
_HINTS = ("snapshot/EARLIEST", "snapshot/LATEST", "changelog/EARLIEST", "changelog/LATEST")

_DONE, _REFUSED, _BROKEN, _UNTOUCHED = 0, 1, 2, 3
# These report what failed instead of raising: their scenarios assert it.
_REPORTING = (AssertionError,)


def _outcome(operate: Callable[[CatalogTable], None], folder: Path, step: int, *, once: bool) -> int:
    """How the operation ends in a child whose disk is full from that step on."""
    sys.stdout.flush()
    child = os.fork()
    if child == 0:
        outcome = _BROKEN
        try:
            disk = fill_disk_at(step, folder, once=once)
            operate(table_in(folder))
            outcome = _DONE if disk.refused else _UNTOUCHED
        except (OSError, PaimonError, *_REPORTING):
            outcome = _REFUSED
        except BaseException:  # noqa: BLE001 - the child must not go on as a second parent
            sys.excepthook(*sys.exc_info())
        os._exit(outcome)
    _, status = os.waitpid(child, 0)
    return os.WEXITSTATUS(status)


def _temporaries(folder: Path) -> list[Path]:
    return [path for path in folder.rglob(".*") if path.name not in (".", "..")]


def _complete_hints(whole: Path, attempt: Path) -> None:
    """Hints that could not be written are missing, which is not a fault."""
    for hint in _HINTS:
        expected, actual = whole / "db.db/t" / hint, attempt / "db.db/t" / hint
        if expected.exists() and not actual.exists():
            shutil.copy(expected, actual)


def fill_at_each_step(scenario: Scenario, folder: Path, *, once: bool) -> tuple[int, int]:
    """Returns how many attempts failed, and how many did their work although a write failed."""
    prepared, whole = folder / "prepared", folder / "whole"
    if not prepared.exists():
        scenario.prepare(prepared)
        shutil.copytree(prepared, whole)
        scenario.operate(table_in(whole))
    before = Reading.of(table_in(prepared))
    outcomes = []
    for step in count(1):
        attempt = folder / f"full-{once}-{step}"
        shutil.copytree(prepared, attempt)
        outcome = _outcome(scenario.operate, attempt, step, once=once)
        try:
            assert outcome != _BROKEN, "an error of another kind, see above"
            assert _temporaries(attempt) == []
            scenario.check_between(before, table_in(attempt))
            if outcome != _REFUSED and scenario.name != "inline":  # where the rows alone are what is acknowledged
                scenario.check_whole(table_in(attempt))
            elif scenario.name not in _ON_RECORD:
                assert unreachable_files(table_in(attempt)) <= unreachable_files(table_in(prepared))
            for again in scenario.again:
                again(table_in(attempt))
            _complete_hints(whole, attempt)
            scenario.check_after(table_in(whole), table_in(attempt))
        except BaseException as error:
            error.add_note(f"{scenario.name}, disk full at step {step}, once: {once}, outcome {outcome}; see {attempt}")
            raise
        shutil.rmtree(attempt)
        if outcome == _UNTOUCHED:
            break
        outcomes.append(outcome)
    return outcomes.count(_REFUSED), outcomes.count(_DONE)


if __name__ == "__main__":
    without_flushing()
    name, where = sys.argv[1:]
    modes = (False,) if name in _BY_BUCKET else (False, True)
    counts = [fill_at_each_step(SCENARIOS[name], Path(where), once=once) for once in modes]
    print(*(number for pair in counts for number in pair))
