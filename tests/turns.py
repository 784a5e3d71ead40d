"""Of long parametrised tests a run tries a part of the cases, and the other parts on the following days.

So every case has its turn within a few days, and a run stays short. ``HYPOTHESIS_PROFILE=thorough`` runs them all, and
so does ``PAIMON_TEST_DAY=all``.
"""

import os
from collections.abc import Iterable, Mapping
from datetime import date

from tests.examples import PROFILE

# How many days it takes until every case of a test had its turn, by the beginning of the test's path.
DAYS: Mapping[str, int] = {
    "tests/chaos/test_chaos.py": 2,
    "tests/crash/test_crash.py": 2,
    "tests/crash/test_full_disk.py": 2,
    "tests/crash/test_power_cut.py": 2,
    "tests/damage/": 3,
    "tests/java/": 3,
    "tests/spark/": 3,
    "tests/unit/compaction/test_proof": 3,
    "tests/unit/operations/test_row_change_matrix.py": 3,
    "tests/unit/operations/test_row_changes_concurrent.py": 2,
}
# Set by the first process of a run, so that those that it starts see the same day after midnight.
_DAY = "PAIMON_TEST_DAY"
EVERY_DAY = "all"


def today() -> int | None:
    """The number of the day of this run; None = every day's cases run."""
    day = os.environ.setdefault(_DAY, str(date.today().toordinal()))
    return None if day == EVERY_DAY else int(day)


def others_turn(nodeids: Iterable[str], day: int | None, days: Mapping[str, int] = DAYS) -> set[str]:
    """The cases whose turn is on another day. Each test has at least one case on every day."""
    if day is None or PROFILE == "thorough":
        return set()
    cases: dict[str, list[str]] = {}
    for nodeid in nodeids:
        test, bracket, _ = nodeid.partition("[")
        if bracket:
            cases.setdefault(test, []).append(nodeid)
    left: set[str] = set()
    for test, of_test in cases.items():
        period = min(len(of_test), next((n for start, n in days.items() if test.startswith(start)), 1))
        left.update(nodeid for index, nodeid in enumerate(of_test) if index % period != day % period)
    return left
