"""Of long parametrised tests `make test` runs a part of the cases, the same one every time; a nightly run has them all.

So what a change breaks does not depend on the day. The part has as many different values of each parameter as it can.
``PAIMON_TEST_CASES=all`` runs every case, and so does ``HYPOTHESIS_PROFILE=thorough``, with which `make test-nightly`
runs.
"""

import os
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from math import ceil
from pathlib import Path
from zlib import crc32

from tests.examples import SEARCHES

# One of how many cases of a test runs, by the beginning of the test's path.
ONE_OF: Mapping[str, int] = {
    "tests/chaos/test_chaos.py": 3,
    "tests/crash/test_crash.py": 3,
    "tests/crash/test_full_disk.py": 3,
    "tests/crash/test_on_store.py": 4,
    "tests/crash/test_power_cut.py": 3,
    "tests/browser/test_console.py": 2,
    "tests/dagster/test_plans_told.py": 3,
    "tests/damage/": 8,
    "tests/flink/": 2,
    "tests/golden/test_on_store.py": 6,
    "tests/java/": 4,
    "tests/pypaimon/": 2,
    "tests/spark/": 4,
    "tests/unit/compaction/test_proof": 3,
    "tests/unit/fs/test_store_faults.py": 2,
    "tests/unit/operations/test_row_change_matrix.py": 3,
    "tests/unit/operations/test_row_changes_concurrent.py": 2,
}
# How the kind of a test's Spark session stands in its name.
_SESSIONS = [re.compile(rf"\[{kind}\]$|(?<=\[){kind}-|-{kind}(?=\])") for kind in ("classic", "connect", "sail")]
# The values are those of the other kinds: what a server may change is how a session is used. One of so many cases of a
# test, and one of so many tests of a file, but where sessions are what the file is about.
_SERVER, _OF_SERVER, _TESTS_OF_SERVER = _SESSIONS[1], 8, 3
_ABOUT_SESSIONS = ("test_sessions", "test_operations", "test_tasks", "test_clusters", "test_engines")
CASES, ALL = "PAIMON_TEST_CASES", "all"


def wants_all() -> bool:
    """Whether this run is to have every case."""
    return SEARCHES or os.environ.get(CASES) == ALL


def may_be_slow(file: Path) -> bool:
    """Whether tests of a file can be marked slow: it says so itself, or the `conftest.py` beside it, which marks some.

    A run of slow tests loads no other file. That nothing is missed is looked at by each run that loads all of them.
    """
    return _says_slow(file) or _says_slow(file.with_name("conftest.py"))


@cache
def _says_slow(file: Path) -> bool:
    return file.exists() and "slow" in file.read_text().lower()


def left_out(nodeids: Iterable[str], one_of: Mapping[str, int] = ONE_OF) -> set[str]:
    """The cases that only a run of all has. Each test keeps at least one; of those on a server each file does."""
    cases: dict[tuple[str, re.Pattern[str] | None], list[str]] = {}
    for nodeid in nodeids:
        # With another kind of session it is another test.
        kind = next((kind for kind in _SESSIONS if kind.search(nodeid)), None)
        test, bracket, _ = (nodeid if kind is None else kind.sub("", nodeid)).partition("[")
        if bracket or kind is _SERVER:
            cases.setdefault((test, kind), []).append(nodeid)
    left: set[str] = set()
    on_server: defaultdict[str, list[str]] = defaultdict(list)
    for (test, kind), of_test in cases.items():
        divisor = next((n for start, n in one_of.items() if test.startswith(start)), 1)
        divisor *= _OF_SERVER if kind is _SERVER else 1
        kept = spread(of_test, max(1, round(len(of_test) / divisor)))
        left.update({*of_test} - {*kept})
        file = test.partition("::")[0]
        if kind is _SERVER and Path(file).stem not in _ABOUT_SESSIONS:
            on_server[file] += kept
    for of_file in on_server.values():
        left.update({*of_file} - {*spread(of_file, ceil(len(of_file) / _TESTS_OF_SERVER))})
    return left


def spread(cases: Sequence[str], count: int) -> list[str]:
    """So many of the cases, those next whose values were chosen least; which, does not depend on the order given."""
    if count >= len(cases):
        return list(cases)
    remaining = {case: case.partition("[")[2].rstrip("]").split("-") for case in sorted(cases, key=_place)}
    chosen: list[str] = []
    often: Counter[tuple[int, str]] = Counter()
    while len(chosen) < count:
        case = min(remaining, key=lambda one: sum(often[value] for value in enumerate(remaining[one])))
        often.update(enumerate(remaining.pop(case)))
        chosen.append(case)
    return chosen


def _place(case: str) -> tuple[int, str]:
    """An order that has nothing to do with that of the parameters."""
    return crc32(case.encode()), case
