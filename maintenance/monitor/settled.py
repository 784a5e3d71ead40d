"""A conflict of writers that is over: the last commits, or the last hours, show only one of the two."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from maintenance.amounts import number_of
from maintenance.monitor.census import Census, Commit
from maintenance.monitor.judgement import Judgement


@dataclass(frozen=True, slots=True)
class SettledBy:
    """When a conflict counts as over: after so many commits, or so much time, that show only one of the writers."""

    commits: int = 20
    time: timedelta = timedelta(hours=24)


def unless_settled(judge: Callable[[Census], Judgement], census: Census, by: SettledBy, now: datetime) -> Judgement:
    """What `judge` says of the census; passed where what it found is over by now. `now`: with a time zone."""
    found = judge(census)
    if found.passed:
        return found
    limit = (now - by.time).timestamp() * 1000
    lately = tuple(commit for commit in census.commits if commit.time_millis >= limit)
    last = census.commits[-by.commits :]
    for commits, what in (
        (last, f"the last {number_of(by.commits, 'commit')}"),
        (lately, f"the last {_hours(by.time)}"),
    ):
        is_whole = commits is lately or len(last) == by.commits
        if is_whole and len(commits) < len(census.commits) and _shows_one(judge, found, commits):
            summary = f"{what} show no two writers at it any more. Before that: {found.summary}"
            return replace(found, passed=True, summary=summary, fix="")
    return found


def _shows_one(judge: Callable[[Census], Judgement], found: Judgement, commits: tuple[Commit, ...]) -> bool:
    both = {found.details.get("first"), found.details.get("second")} <= {commit.writer for commit in commits}
    return not both and judge(Census(commits)).passed


def _hours(time: timedelta) -> str:
    hours = time / timedelta(hours=1)
    return f"{hours:g} hours" if hours != 1 else "hour"
