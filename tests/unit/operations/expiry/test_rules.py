"""Which snapshots expire, against Paimon's rule walked step by step, and why the others stay."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from maintenance.errors import OptionError
from maintenance.operations.expiry.rules import Retention, RetentionChoice, plan_range
from maintenance.options.model import TableModel
from tests.models.snapshot_expiry import expired_until

NOW = datetime(2024, 5, 14, 10, tzinfo=UTC)


def retention(options: dict[str, str] | None = None, **arguments: Any) -> Retention:
    return Retention.of(TableModel(options or {}), {}, NOW, RetentionChoice(**arguments))


@given(st.data())
def test_expires_what_paimon_expires(data: st.DataObject) -> None:
    earliest = data.draw(st.integers(1, 5))
    times = data.draw(st.lists(st.integers(0, 100), min_size=1, max_size=30))
    if data.draw(st.booleans()):
        times.sort()
    time_of = dict(enumerate(times, earliest))
    retain_min = data.draw(st.integers(1, 12))
    retain_max = data.draw(st.integers(retain_min, 40))
    older_than = data.draw(st.integers(0, 101))
    consumers = {str(i): n for i, n in enumerate(data.draw(st.lists(st.integers(1, 40), max_size=3)))}
    until = expired_until(
        time_of,
        retain_min=retain_min,
        retain_max=retain_max,
        older_than=older_than,
        next_of_consumers=list(consumers.values()),
        limit=data.draw(st.integers(1, 60)),
    )
    plan = plan_range(list(time_of), time_of.get, Retention(retain_min, retain_max, older_than, "age", consumers))
    assert plan.expired == tuple(range(earliest, until))
    assert plan.kept == tuple(range(until, earliest + len(times)))
    assert plan.remaining == 0


def test_a_limit_is_a_prefix_and_says_what_remains() -> None:
    rules = Retention(2, 100, 50, "age", {})
    plan = plan_range(range(1, 11), lambda i: i, rules, max_deletes=3)
    assert (plan.expired, plan.remaining) == ((1, 2, 3), 5)
    assert plan.kept_by == {"4 to 8": "left for the next run: max_deletes", "9 to 10": "snapshot.num-retained.min = 2"}


def test_reasons_name_the_age_the_consumer_and_the_minimum() -> None:
    rules = Retention(1, 100, 5, "young", {"slow": 7, "fast": 9})
    assert plan_range(range(1, 11), lambda i: i, rules).kept_by == {
        "4 to 6": "young",
        "7 to 9": "consumer slow has yet to read snapshot 7",
        "10": "snapshot.num-retained.min = 1",
    }


def test_a_gap_neither_stops_expiry_nor_leaves_fewer_than_the_minimum() -> None:
    rules = Retention(3, 100, 1000, "age", {})
    assert plan_range([1, 2, 8, 9, 20], lambda i: i, rules).expired == (1, 2)


def test_a_snapshot_is_as_old_as_its_successor() -> None:
    ages = {1: 10, 2: 99, 3: 100}
    assert plan_range([1, 2, 3], ages.get, Retention(1, 9, 99, "age", {})).expired == ()
    assert plan_range([1, 2, 3], ages.get, Retention(1, 9, 100, "age", {})).expired == (1,)


def test_options_give_the_rules_and_arguments_win() -> None:
    options = {
        "snapshot.num-retained.min": "3",
        "snapshot.num-retained.max": "7",
        "snapshot.time-retained": "2 h",
    }
    actual = retention(options)
    assert (actual.min_count, actual.max_count) == (3, 7)
    assert actual.older_than == int((NOW - timedelta(hours=2)).timestamp() * 1000)
    actual = retention(options, retain_min=1, retain_max=4, older_than=NOW)
    assert (actual.min_count, actual.max_count, actual.older_than) == (1, 4, int(NOW.timestamp() * 1000))


@pytest.mark.parametrize("arguments", [{"retain_min": 0}, {"retain_max": 9}, {"retain_min": 5, "retain_max": 4}])
def test_a_table_without_snapshots_cannot_be_asked_for(arguments: dict[str, Any]) -> None:
    with pytest.raises(OptionError, match="to be retained"):
        retention(**arguments)
