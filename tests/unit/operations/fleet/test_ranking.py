"""A budget is spent on the best gain per second, and nothing starves: against the best of all choices, and a bound."""

from dataclasses import replace
from itertools import combinations

from hypothesis import given
from hypothesis import strategies as st

from maintenance.operations.fleet.ranking import Allowance, Candidate, Spent, owed, spend, turns, twentieths

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
    assert 2 * total(chosen) >= best * (1 - 1e-9)


@given(candidates(8), st.floats(0.1, 300), st.integers(1, 300))
def test_each_fits_or_is_large_and_half_of_it_fits_and_nothing_more_would(
    found: list[Candidate], seconds: float, size: int
) -> None:
    def begins(one: Candidate, left_seconds: float, left_size: int) -> bool:
        if left_seconds <= 0 or left_size <= 0:
            return False
        is_large = one.seconds > seconds / 2 or one.bytes > size / 2
        room = 2 if is_large else 1
        return one.seconds <= room * left_seconds and one.bytes <= room * left_size

    left_seconds, left_size = seconds, size
    chosen = spend(found, Allowance(seconds, size), PATIENCE, number=1)
    for one in chosen:
        assert begins(one, left_seconds, left_size)
        left_seconds, left_size = max(0.0, left_seconds - one.seconds), max(0, left_size - one.bytes)
    assert not any(begins(one, left_seconds, left_size) for one in found if one not in chosen)


@given(candidates(8, st.floats(0, 3 * PATIENCE)), st.floats(20, 300), st.integers(50, 300))
def test_what_a_period_takes_beyond_its_budget_is_taken_off_the_following_ones(
    found: list[Candidate], seconds: float, size: int
) -> None:
    full = Allowance(seconds, size)
    turn = turns(found, full, full, patience=PATIENCE, period=DAY)
    largest = max((one.seconds for one in found), default=0.0), max((one.bytes for one in found), default=0)
    for number in range(max(turn.values(), default=-1) + 1):
        done = Spent.of([one for one in found if turn.get(one.key, number + 1) <= number])
        assert done.seconds <= (seconds * (number + 1) + largest[0]) * (1 + 1e-9)
        assert done.bytes <= size * (number + 1) + largest[1]


def test_what_others_work_leaves_less_and_is_not_owed() -> None:
    full = Allowance(100)
    assert owed([(Spent(0), Spent(500))], full) == Spent(0)
    assert owed([(Spent(60), Spent(80))], full) == Spent(40)
    assert owed([(Spent(350), Spent(0))], full) == Spent(250)
    assert owed([(Spent(350), Spent(0)), (Spent(0), Spent(20)), (Spent(0), Spent(500))], full) == Spent(170)
    assert (
        owed([(Spent(350), Spent(0)), (Spent(0), Spent(0)), (Spent(0), Spent(0)), (Spent(10), Spent(0))], full)
        == Spent()
    )


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


@given(candidates(4, st.floats(0, 3 * PATIENCE)), candidates(2), st.floats(20, 50), st.integers(25, 50), st.integers(0))
def test_nothing_starves_beside_better_actions_that_keep_coming(
    found: list[Candidate], better: list[Candidate], seconds: float, size: int, first: int
) -> None:
    """Every period brings better actions, and little of its budget is left."""
    waiting = list(found)
    limits: dict[str, int] = {}
    allowed = Allowance(seconds, size)
    for number in range(8 + 4 * 100):
        for one in waiting:
            if one.waited >= PATIENCE:
                before = [other for other in waiting if other.waited >= one.waited]
                limits.setdefault(one.key, number + sum(twentieths(allowed.times(other)) for other in before))
        coming = [replace(one, key=f"new {number} {one.key}", gain=1e6 * one.gain) for one in better]
        chosen = {one.key for one in spend([*waiting, *coming], allowed, PATIENCE, number=first + number)}
        waiting = [replace(one, waited=one.waited + DAY) for one in waiting if one.key not in chosen]
        assert all(number < limits[one.key] for one in waiting if one.key in limits)
    assert not waiting


def test_a_budget_for_three_of_ten_takes_the_three_best() -> None:
    found = [Candidate(f"t{number}", gain=10.0 * number, seconds=10) for number in range(1, 11)]
    assert [one.key for one in spend(found, Allowance(30), PATIENCE)] == ["t10", "t9", "t8"]
    waits = turns(found, Allowance(30), Allowance(30), patience=PATIENCE, period=DAY)
    assert waits == {"t10": 0, "t9": 0, "t8": 0, "t7": 1, "t6": 1, "t5": 1, "t4": 2, "t3": 2, "t2": 2, "t1": 3}


def test_a_budget_for_three_and_a_half_of_ten_takes_three() -> None:
    found = [Candidate(f"t{number}", gain=10.0 * number, seconds=10) for number in range(1, 11)]
    assert [one.key for one in spend(found, Allowance(35), PATIENCE)] == ["t10", "t9", "t8"]


def test_one_that_starved_comes_first() -> None:
    found = [Candidate(f"t{number}", gain=10.0 * number, seconds=10) for number in range(1, 11)]
    overdue = replace(found[0], waited=PATIENCE)
    for day in range(1, 8):
        chosen = spend([overdue, *found[1:]], Allowance(30), PATIENCE, number=day)
        assert [one.key for one in chosen] == ["t1", "t10", "t9"]


def test_where_much_is_overdue_a_twentieth_of_the_time_is_for_it() -> None:
    found = [Candidate(f"t{number:02}", gain=10.0 * number, seconds=10) for number in range(1, 41)]
    late = [replace(one, waited=PATIENCE + 40 - number) for number, one in enumerate(found)]
    taken = [[one.key for one in spend(late, Allowance(30), PATIENCE, number=day)] for day in range(1, 8)]
    assert taken[:6] == [["t40", "t39", "t38"]] * 6, "it takes seven twentieths of a day's budget"
    assert taken[6] == ["t01", "t40", "t39"]


def test_one_that_is_larger_than_the_budget_has_its_turn_more_rarely_in_proportion() -> None:
    large = [
        Candidate(f"large {number}", gain=1, seconds=21, waited=PATIENCE - 3 * DAY - number) for number in range(5)
    ]
    small = [Candidate(f"t{number}", gain=10, seconds=1) for number in range(5)]
    late = [replace(one, waited=PATIENCE + 3 * DAY) for one in large]
    assert spend([*late, *small], Allowance(10), PATIENCE, number=42) == [late[0]]
    chosen = spend([*late, *small], Allowance(10), PATIENCE, number=43)
    assert not [one for one in chosen if one.seconds == 21]
    assert spend([late[0], *small], Allowance(10), PATIENCE, number=43) == [late[0]], "alone it waits for nothing"
    found = turns([*large, *small], Allowance(10), Allowance(10), patience=PATIENCE, period=DAY, first=40)
    assert (found["large 0"], found["large 1"]) == (3, 5), "the first takes the budget of two periods"


def test_one_of_which_less_than_half_fits_waits_for_the_next_period() -> None:
    large, small = Candidate("large", gain=40, seconds=20), Candidate("small", gain=10, seconds=1)
    assert spend([large, small], Allowance(11), PATIENCE) == [small, large]
    assert spend([large, small], Allowance(10), PATIENCE) == [small]
    found = turns(
        [large, small, replace(small, key="z", gain=0.1)], Allowance(10), Allowance(10), patience=9e9, period=1
    )
    assert found == {"small": 0, "z": 0, "large": 1}


def test_a_spent_budget_takes_nothing() -> None:
    assert spend([Candidate("t", 1, 1)], Allowance(0), PATIENCE) == []
    assert spend([Candidate("t", 1, 1, 5)], Allowance(None, 0), PATIENCE) == []
    assert len(spend([Candidate("t", 1, 1, 5)], Allowance(), PATIENCE)) == 1
