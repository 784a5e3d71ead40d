"""Conditions on `_ROW_ID` as sets of ids, against asking each row."""

from hypothesis import given, settings
from hypothesis import strategies as st

from maintenance.predicate.tree import Compare, In, IsNull, Like, Not, Predicate
from maintenance.scan.row_ids import all_rows, rows_with_ids
from tests.examples import examples

RANGES = (range(3, 9), range(8, 12), range(1 << 40, (1 << 40) + 5))
NUMBERS = st.integers(-2, 14) | st.integers((1 << 40) - 2, (1 << 40) + 7) | st.sampled_from([-(2**63), 2**63 - 1])
COMPARE = {
    "=": int.__eq__, "!=": int.__ne__, "<": int.__lt__, "<=": int.__le__, ">": int.__gt__, ">=": int.__ge__,
}  # fmt: skip
LEAVES: st.SearchStrategy[Predicate] = st.one_of(
    st.builds(lambda op, value: Compare(op, "_ROW_ID", value), st.sampled_from(sorted(COMPARE)), NUMBERS),
    st.builds(lambda values: In("_ROW_ID", tuple(values)), st.lists(NUMBERS, max_size=4)),
    st.just(IsNull("_ROW_ID")),
)


def holds(leaf: Predicate, row: int) -> bool:
    match leaf:
        case Compare(op, _, int(value)):
            return bool(COMPARE[op](row, value))
        case In(_, values):
            return row in values
        case Not(child):
            return not holds(child, row)
    return False


@given(LEAVES, st.booleans())
@settings(max_examples=examples(200))
def test_ids_that_match_are_those_that_hold_one_by_one(leaf: Predicate, negated: bool) -> None:
    asked = Not(leaf) if negated else leaf
    rows = {row for part in RANGES for row in part}
    assert set(rows_with_ids(asked, RANGES) or ()) == {row for row in rows if holds(asked, row)}
    assert set(all_rows(RANGES)) == rows


def test_a_pattern_of_ids_rules_nothing_out() -> None:
    assert rows_with_ids(Like("_ROW_ID", "1%"), RANGES) is None
    assert rows_with_ids(Not(Like("_ROW_ID", "1%")), RANGES) is None
