"""A budget is spent on the best gain per second, and nothing starves: against the best of all choices, and a bound."""

from dataclasses import replace
from itertools import combinations

from hypothesis import given
from hypothesis import strategies as st

from maintenance.operations.fleet.ranking import Allowance, Candidate, spend, turns

DAY = 86_400.0
PATIENCE = 7 * DAY
_gains = st.floats(0.1, 1000)
_seconds = st.floats(0.1, 100)
_NEVER = st.just(0.0)


def candidates(most: int, waited: st.SearchStrategy[float] = _NEVER) -> st.SearchStrategy[list[Candidate]]:
    made = st.builds(Candidate, st.just(""), _gains, _seconds, st.integers(0, 100), waited)
    return st.lists(made, max_size=most).map(
        lambda found: [replace(one, key=f"t{number}") for number, one in enumerate(found)]
    )


def total(chosen: list[Candidate]) -> float:
    return sum(one.worth for one in chosen)


@given(candidates(6), st.floats(0.1, 300))
def test_it_is_worth_at_least_half_of_the_best_choice(found: list[Candidate], seconds: float) -> None:
    choices = (part for size in range(len(found) + 1) for part in combinations(found, size))
    best = max(total(list(part)) for part in choices if sum(one.seconds for one in part) <= seconds)
    chosen = spend(found, Allowance(seconds), PATIENCE)
    assert sum(one.seconds for one in chosen) <= seconds * (1 + 1e-9)
    assert 2 * total(chosen) >= best * (1 - 1e-9)


@given(candidates(8, st.floats(0, 1.9 * PATIENCE)), st.floats(0.1, 300), st.integers(1, 300))
def test_what_is_chosen_fits_the_budget_and_nothing_that_fits_is_left(
    found: list[Candidate], seconds: float, size: int
) -> None:
    allowed = Allowance(seconds, size)
    chosen = spend(found, allowed, PATIENCE)
    left = allowed
    for one in chosen:
        assert left.holds(one)
        left = left.less(one.seconds, one.bytes)
    alone = len(chosen) == 1
    assert alone or left.is_spent or not any(left.holds(one) for one in found if one not in chosen)


@given(candidates(8, st.floats(0, 3 * PATIENCE)), st.floats(0.1, 300), st.data())
def test_what_is_chosen_is_chosen_when_it_has_waited_longer(
    found: list[Candidate], seconds: float, data: st.DataObject
) -> None:
    """Of those that are overdue; younger ones are equal in this."""
    chosen = [one for one in spend(found, Allowance(seconds), PATIENCE) if one.waited >= PATIENCE]
    if not chosen or chosen[0].waited < max(one.waited for one in found):
        return
    older = data.draw(st.floats(0, 3 * PATIENCE))
    grown = replace(chosen[0], waited=chosen[0].waited + older)
    others = [grown if one is chosen[0] else one for one in found]
    assert spend(others, Allowance(seconds), PATIENCE)[0] == grown


@given(candidates(4, st.floats(0, 3 * PATIENCE)), candidates(2), st.floats(20, 50), st.integers(25, 50))
def test_nothing_starves_beside_better_actions_that_keep_coming(
    found: list[Candidate], better: list[Candidate], seconds: float, size: int
) -> None:
    """Every period brings better actions, and little of its budget is left."""
    waiting = list(found)
    limits: dict[str, int] = {}
    allowed = Allowance(seconds, size)
    for number in range(50):
        for one in waiting:
            if one.waited >= (1 + allowed.times(one)) * PATIENCE:
                beside = sum(other.waited >= one.waited for other in waiting if other is not one)
                limits.setdefault(one.key, number + beside)
        coming = [replace(one, key=f"new {number} {one.key}", gain=1e6 * one.gain) for one in better]
        chosen = {one.key for one in spend([*waiting, *coming], allowed, PATIENCE)}
        waiting = [replace(one, waited=one.waited + DAY) for one in waiting if one.key not in chosen]
        assert all(number < limits[one.key] for one in waiting if one.key in limits)
    assert not waiting


def test_a_budget_for_three_of_ten_takes_the_three_best() -> None:
    found = [Candidate(f"t{number}", gain=10.0 * number, seconds=10) for number in range(1, 11)]
    assert [one.key for one in spend(found, Allowance(30), PATIENCE)] == ["t10", "t9", "t8"]
    waits = turns(found, Allowance(30), Allowance(30), patience=PATIENCE, period=DAY)
    assert waits == {"t10": 0, "t9": 0, "t8": 0, "t7": 1, "t6": 1, "t5": 1, "t4": 2, "t3": 2, "t2": 2, "t1": 3}


def test_one_that_starved_comes_first() -> None:
    found = [Candidate(f"t{number}", gain=10.0 * number, seconds=10) for number in range(1, 11)]
    overdue, starved = (replace(found[0], waited=times * PATIENCE) for times in (1, 4 / 3))
    assert "t1" not in {one.key for one in spend([overdue, *found[1:]], Allowance(30), PATIENCE)}, "more than a tenth"
    assert [one.key for one in spend([starved, *found[1:]], Allowance(30), PATIENCE)] == ["t1", "t10", "t9"]


def test_one_that_is_larger_than_the_budget_waits_longer_in_proportion() -> None:
    large = Candidate("large", gain=1, seconds=20)
    small = [Candidate(f"t{number}", gain=10, seconds=1) for number in range(5)]
    late = replace(large, waited=3 * PATIENCE - DAY)
    assert "large" not in {one.key for one in spend([late, *small], Allowance(10), PATIENCE)}
    starved = replace(large, waited=3 * PATIENCE)
    assert spend([starved, *small], Allowance(10), PATIENCE) == [starved]
    assert turns([late, *small], Allowance(10), Allowance(10), patience=PATIENCE, period=DAY)["large"] == 1


def test_a_spent_budget_takes_nothing() -> None:
    assert spend([Candidate("t", 1, 1)], Allowance(0), PATIENCE) == []
    assert spend([Candidate("t", 1, 1, 5)], Allowance(None, 0), PATIENCE) == []
    assert len(spend([Candidate("t", 1, 1, 5)], Allowance(), PATIENCE)) == 1
