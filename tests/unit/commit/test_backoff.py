"""How often a commit is tried, and what it says when it gives up."""

from dataclasses import dataclass, field, replace
from datetime import timedelta
from pathlib import Path

import pytest

from maintenance.commit.backoff import Backoff
from maintenance.errors import CommitError
from tests.tables import create_table, keyed
from tests.unit.commit.test_commit import Outrun

MS = timedelta(milliseconds=1)


@dataclass
class Clock:
    """A clock that only moves when somebody sleeps. `pauses`: how long, seconds."""

    pauses: list[float] = field(default_factory=list)

    def now(self) -> float:
        return sum(self.pauses)

    def waits(self, retries: int, longest: timedelta, timeout: timedelta | None = None) -> Backoff:
        return Backoff(retries, 10 * MS, longest, timeout, self.now, self.pauses.append)


def test_there_is_a_pause_between_attempts_and_none_after_the_last() -> None:
    clock = Clock()
    assert list(clock.waits(3, timedelta(seconds=10)).attempts()) == [1, 2, 3, 4]
    assert len(clock.pauses) == 3


def test_pauses_double_up_to_the_longest() -> None:
    clock = Clock()
    list(clock.waits(4, 50 * MS).attempts())
    for pause, least in zip(clock.pauses, (0.01, 0.02, 0.04, 0.05), strict=True):
        assert least <= pause <= 1.2 * least


def test_very_many_attempts_are_made_with_short_pauses() -> None:
    clock = Clock()
    assert sum(1 for _ in clock.waits(5_000, timedelta(seconds=1)).attempts()) == 5_001
    assert max(clock.pauses) <= 1.2


def test_no_retries_at_all() -> None:
    clock = Clock()
    for retries in (0, -1):
        assert list(clock.waits(retries, timedelta(seconds=1)).attempts()) == [1]
    assert clock.pauses == []


def test_attempts_end_with_the_timeout_and_it_is_named() -> None:
    clock = Clock()
    waits = clock.waits(1_000, timedelta(seconds=1), timeout=timedelta(seconds=5))
    made = list(waits.attempts())
    assert 5 < len(made) < 20
    assert len(clock.pauses) == len(made) - 1
    error = waits.gave_up("table db.t")
    assert f"{len(made)} attempts, for" in error.found
    assert "'commit.timeout'" in error.fix
    assert "max-retries" not in str(error)


def test_the_number_of_attempts_is_named_where_that_was_the_limit() -> None:
    waits = Clock().waits(2, timedelta(seconds=1), timeout=timedelta(hours=1))
    list(waits.attempts())
    error = waits.gave_up("table db.t")
    assert error.found == "other writers published first in 3 attempts"
    assert "'commit.max-retries' (now 2)" in error.fix
    assert "timeout" not in str(error)


@pytest.mark.parametrize(
    ("options", "named"),
    [
        ({"commit.max-retries": "1"}, "commit.max-retries"),
        ({"commit.max-retries": "1000", "commit.timeout": "1 ms"}, "commit.timeout"),
    ],
)
def test_a_commit_that_gives_up_names_the_option_that_ended_it(
    tmp_path: Path, options: dict[str, str], named: str
) -> None:
    table = create_table(tmp_path, options={**options, "commit.min-retry-wait": "2 ms"})
    patient = table.copy({"commit.max-retries": "9", "commit.timeout": "1 h"})
    loser = replace(table, file_io=Outrun(rival=lambda: patient.write_arrow(keyed({1: "rival"}))))
    with pytest.raises(CommitError) as caught:
        loser.write_arrow(keyed({2: "b"}))
    assert f"'{named}'" in caught.value.fix
