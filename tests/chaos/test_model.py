"""The model: what commits leave, in which order, and what of them nobody sees yet."""

from typing import Any

from tests.chaos.model import Applied, Model, Skipped, State, apply
from tests.chaos.workload import DELETE, OVERWRITE, UPDATE, Commit, Row, Workload

ONE, TWO = ("a", 1), ("a", 2)


def commit(*rows: Row, kinds: str = "+", **facts: Any) -> Commit:
    """A commit of w1. `kinds`: ``+`` or ``-`` of each row, the last one for all that follow."""
    signs = kinds.ljust(len(rows), kinds[-1])
    return Commit("w1", 1, rows=rows, kinds=tuple("+I" if sign == "+" else "-D" for sign in signs), **facts)


def folded(*commits: Commit, partial: bool = False) -> State:
    state: State = {}
    for each in commits:
        apply(state, each, Skipped(), partial=partial)
    return state


def test_the_last_row_of_a_key_counts_and_a_deletion_takes_it_away() -> None:
    first = commit(("a", 1, "x"), ("a", 2, "x"))
    assert folded(first, commit(("a", 1, "y"))) == {ONE: ("a", 1, "y"), TWO: ("a", 2, "x")}
    assert folded(first, commit(("a", 1, None), ("a", 1, "z"), ("a", 2, None), kinds="-+-")) == {ONE: ("a", 1, "z")}


def test_columns_of_partial_updates_are_merged() -> None:
    first, second = commit(("a", 1, "x", None)), commit(("a", 1, None, "y"))
    assert folded(first, second, partial=True) == {ONE: ("a", 1, "x", "y")}
    assert folded(first, second, commit(("a", 1, None, None), kinds="-"), partial=True) == {}
    # A writer merges its records first, and an insert takes a deletion before it along: Paimon's rule.
    both = commit(("a", 1, None, None), ("a", 1, None, "z"), kinds="-+")
    assert folded(first, both, partial=True) == {ONE: ("a", 1, "x", "z")}


def test_overwrites_deletions_and_updates() -> None:
    first = commit(("a", 1, "x"), ("b", 1, "x"), ("b", 2, "x"))
    over = commit(("b", 3, "y"), action=OVERWRITE, partition="b")
    assert folded(first, over) == {ONE: ("a", 1, "x"), ("b", 3): ("b", 3, "y")}
    assert folded(first, commit(action=DELETE, ids=(1, 7))) == {("b", 2): ("b", 2, "x")}
    assert folded(first, commit(action=UPDATE, ids=(2, 7), value="u"))[("b", 2)] == ("b", 2, "u")


def test_what_is_hidden_counts_at_the_place_of_its_commit() -> None:
    model = Model()
    model.append(Applied(1, commit(("a", 1, "waits"), ("b", 1, "waits")), {"f": ("a", -2), "g": ("b", -2)}))
    model.append(Applied(2, commit(("a", 1, "later"))))
    model.append(Applied(3, None, removes=frozenset({"f", "g"})))
    assert model.rows(1) == []
    assert model.rows(1, complete=True) == [("a", 1, "waits"), ("b", 1, "waits")]
    assert model.rows(2) == [("a", 1, "later")]
    assert model.rows(3) == [("a", 1, "later"), ("b", 1, "waits")]


def test_buckets_are_hidden_one_by_one() -> None:
    model = Model(buckets={ONE: 0, TWO: 1})
    model.append(Applied(1, commit(("a", 1, "x"), ("a", 2, "x")), {"f": ("a", 0), "g": ("a", 1)}))
    model.append(Applied(2, None, removes=frozenset({"g"})))
    assert [model.rows(i) for i in (1, 2)] == [[], [("a", 2, "x")]]


def test_many_snapshots_are_folded_alike_in_any_order() -> None:
    workload = Workload(5, ("v",), overwrites=0.1)
    model = Model()
    for number in range(1, 121):
        hides = {f"f{number}": ("a", -2)} if number % 7 == 0 else {}
        model.append(Applied(number, workload.commit("w1", number), hides, frozenset({f"f{number - 10}"})))
    upwards = [model.rows(number) for number in range(1, 121)]
    fresh = Model(applied=model.applied)
    assert [fresh.rows(number) for number in range(120, 0, -1)] == upwards[::-1]
    assert upwards[59] != model.rows(60, complete=True)


def test_commits_are_the_same_each_time_and_name_themselves() -> None:
    workload = Workload(3, ("v", "w"), waiting=0.5)
    assert workload.commit("w1", 4) == workload.commit("w1", 4)
    assert workload.commit("w1", 4) != workload.commit("w2", 4)
    for number in range(1, 60):
        made = workload.commit("w2", number)
        assert len(made.rows) == len(made.kinds) > 0
        for row, kind in zip(made.rows, made.kinds, strict=True):
            assert all(value is None if kind == "-D" else value.startswith(f"w2-{number}-") for value in row[2:])
    assert {workload.commit("w1", number).waits for number in range(40)} == {True, False}
