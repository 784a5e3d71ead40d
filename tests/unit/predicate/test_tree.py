"""Rewritings of a predicate keep its meaning, or weaken it where that is the point."""

from hypothesis import given, settings
from hypothesis import strategies as st

from maintenance.predicate.tree import (
    TRUE,
    UNKNOWN,
    And,
    Compare,
    Constant,
    In,
    IsNull,
    Not,
    Or,
    Predicate,
    always,
    columns_of,
    conjuncts,
    never,
    push_down_not,
    restrict,
)
from tests.examples import examples
from tests.models.predicates import truth
from tests.unit.predicate.strategies import TYPES, predicates, rows

A, B, C = Compare("=", "a", 1), Compare("<", "b", 2), IsNull("c")


@settings(max_examples=examples(100))
@given(predicates(), st.data())
def test_rewritings_mean_the_same_or_less(predicate: Predicate, data: st.DataObject) -> None:
    kept = data.draw(st.frozensets(st.sampled_from(sorted(TYPES))))
    weaker = restrict(predicate, kept)
    assert columns_of(weaker) <= kept & columns_of(predicate)
    for row in data.draw(rows(columns_of(predicate))):
        expected = truth(predicate, row)
        assert truth(push_down_not(predicate), row) is expected
        assert truth(And(conjuncts(predicate)), row) is expected
        assert truth(weaker, row) is True or expected is not True


@settings(deadline=None)
@given(predicates())
def test_not_stands_before_leaves_only(predicate: Predicate) -> None:
    def check(pushed: Predicate) -> None:
        assert not isinstance(pushed, Not) or not isinstance(pushed.child, And | Or | Not | Constant | Compare)
        for child in pushed.children if isinstance(pushed, And | Or) else ():
            check(child)

    check(push_down_not(predicate))


def test_conjuncts_are_flat_and_see_through_not() -> None:
    assert conjuncts(And((A, And((B, C))))) == (A, B, C)
    assert conjuncts(Not(Or((A, C)))) == (Compare("!=", "a", 1), Not(C))
    assert conjuncts(Or((A, B))) == (Or((A, B)),)
    assert conjuncts(TRUE) == ()


def test_restrict_drops_what_it_cannot_keep() -> None:
    assert restrict(And((A, B)), {"a"}) == A
    assert restrict(Or((A, B)), {"a"}) == TRUE
    assert restrict(Or((A, And((A, B)))), {"a"}) == Or((A, A))
    assert restrict(Not(Or((A, B))), {"b"}) == Compare(">=", "b", 2)


def test_columns_are_found_in_every_part_of_a_predicate() -> None:
    assert columns_of(And((A, Not(Or((B, C))), UNKNOWN, In("d", ())))) == {"a", "b", "c", "d"}


def test_never_and_always_are_null_for_null() -> None:
    assert [truth(never("a"), {"a": value}) for value in (1, None)] == [False, None]
    assert [truth(always("a"), {"a": value}) for value in (1, None)] == [True, None]
    assert [truth(Not(never("a")), {"a": value}) for value in (1, None)] == [True, None]
