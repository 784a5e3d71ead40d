"""In which order the processes of a test run take up its work: what takes longest first, so that none ends alone.

Of `FOLDERS`, whose tests share a JVM that is quicker the longer it runs, the process that has begun with one goes on
with it, and the others leave it alone as long as there is something else to do.
The tests of a file run in one process, because they share what a fixture of the file or a server has prepared. Those of
the files in `APART` share nothing that is worth it, and run wherever there is time. How long each takes is in
`seconds.json`, by what ``-m`` selects; ``--note-seconds`` writes there what a run has found. What is not in there
counts as short.
"""

import json
from collections import defaultdict
from collections.abc import Collection, Mapping
from pathlib import Path

import pytest
from xdist.remote import Producer
from xdist.scheduler import LoadScopeScheduling
from xdist.workermanage import WorkerController

APART = frozenset(
    {
        "tests/chaos/test_chaos.py",
        "tests/crash/test_crash.py",
        "tests/crash/test_full_disk.py",
        "tests/crash/test_on_store.py",
        "tests/crash/test_power_cut.py",
        "tests/damage/test_changes.py",
        "tests/damage/test_swaps.py",
    }
)
FOLDERS = ("tests/spark/", "tests/java/")
NOTED = Path(__file__).with_name("seconds.json")
_SHORT = 5.0

Seconds = Mapping[str, float]


def work_of(nodeid: str) -> str:
    """What a test is taken up with: its file, or itself."""
    file = nodeid.partition("::")[0]
    return nodeid if file in APART else file


def noted_seconds(noted: Path, selected: str) -> dict[str, float]:
    """How long each piece of work takes. `selected`: by ``-m``; without it, what all selections take together."""
    document: dict[str, dict[str, float]] = json.loads(noted.read_text())
    if selected:
        return document.get(selected, {})
    together: defaultdict[str, float] = defaultdict(float)
    for of_selection in document.values():
        for work, seconds in of_selection.items():
            together[work] += seconds
    return together


def note_seconds(noted: Path, selected: str, seconds: Seconds) -> None:
    """Note how long each piece of work took. What was not run stays as it was; what is short is left out.

    Raises: ValueError: nothing was selected: what is slow would be noted with what is not.
    """
    if not selected:
        raise ValueError("--note-seconds needs -m slow or -m 'not slow'.")
    known = noted_seconds(noted, selected) | {work: round(actual, 1) for work, actual in seconds.items()}
    long = {work: actual for work, actual in sorted(known.items()) if actual >= _SHORT}
    everything = json.loads(noted.read_text()) | {selected: long}
    noted.write_text(json.dumps(everything, indent=2, ensure_ascii=False) + "\n")


def longest(sizes: Mapping[str, int], seconds: Seconds, own: Collection[str] = (), others: Collection[str] = ()) -> str:
    """The work to take up next.

    Args: `sizes`: numbers of tests, which tell among those that are short; `own`, `others`: folders that this process
        and others have begun.
    """
    folders = {work: folder_of(work) for work in sizes}
    mine = [work for work in sizes if folders[work] in own]
    free = [work for work in sizes if folders[work] not in others]
    return max(mine or free or sizes, key=lambda work: (seconds.get(work, 0.0), sizes[work]))


def folder_of(work: str) -> str | None:
    """The one of `FOLDERS` that a piece of work is in."""
    return next((folder for folder in FOLDERS if work.startswith(folder)), None)


class LongestFirst(LoadScopeScheduling):  # type: ignore[misc]
    """Gives each process that has time the longest work that is left."""

    def __init__(self, config: pytest.Config, log: Producer) -> None:
        super().__init__(config, log)
        self._seconds = noted_seconds(NOTED, config.option.markexpr)
        # Who has begun with which folder.
        self._begun: dict[str, WorkerController] = {}

    def _split_scope(self, nodeid: str) -> str:
        return work_of(nodeid)

    def _assign_work_unit(self, node: WorkerController) -> None:
        sizes = {work: len(tests) for work, tests in self.workqueue.items()}
        own = [folder for folder, begun in self._begun.items() if begun is node]
        work = longest(sizes, self._seconds, own, self._begun.keys() - own)
        folder = folder_of(work)
        if folder is not None:
            self._begun.setdefault(folder, node)
        self.workqueue.move_to_end(work, last=False)
        super()._assign_work_unit(node)
