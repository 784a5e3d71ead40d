"""A conflict is over once the last commits, or the last hours, show one of its two writers at most."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

from maintenance.monitor.acknowledged import with_acknowledged
from maintenance.monitor.census import Census
from maintenance.monitor.settled import SettledBy, unless_settled
from maintenance.monitor.writers import single_compactor
from maintenance.table.acknowledged import Acknowledged
from tests.unit.monitor.test_writers import COMPACT, commit

NOW = datetime(2026, 1, 2, tzinfo=UTC)
BY = SettledBy(4, timedelta(hours=24))


def compactions(writers: str, hours_ago: float = 1.0) -> Census:
    millis = int((NOW - timedelta(hours=hours_ago)).timestamp() * 1000)
    return Census(tuple(replace(commit(i, writer, COMPACT), time_millis=millis) for i, writer in enumerate(writers, 1)))


def passes(census: Census) -> bool:
    return unless_settled(single_compactor, census, BY, NOW).passed


def test_commits_of_one_writer_end_it() -> None:
    assert not passes(compactions("abaaa"))
    assert passes(compactions("abaaaa"))
    assert passes(compactions("abacccc")), "writers of batch jobs come with new names"


def test_two_who_take_turns_rarely_do_not_end_it() -> None:
    assert not passes(compactions("abaaab"))
    assert not passes(compactions("aaabbba"))


def test_conflicts_of_more_than_a_day_ago_are_over() -> None:
    assert not passes(compactions("aba", 23))
    assert passes(compactions("aba", 25))


def test_fewer_commits_than_asked_for_end_nothing() -> None:
    assert not passes(compactions("aba"))


def test_an_acknowledgement_is_of_what_had_happened() -> None:
    found = single_compactor(compactions("aba"))
    made = {found.check: Acknowledged(found.check, "Ada", "known", NOW, 3)}
    assert with_acknowledged(found, made).passed
    assert not with_acknowledged(found, {found.check: replace(made[found.check], snapshot_id=2)}).passed
    assert not with_acknowledged(found, {}).passed
