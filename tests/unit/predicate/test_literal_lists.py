"""Long lists in filter texts: cut out where that is certain to mean the same."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from maintenance.predicate.literal_lists import lifted

NUMBERS = ", ".join(map(str, range(40)))


def test_a_long_list_is_not_parsed() -> None:
    text = f"a IN ({NUMBERS}) AND b in( {NUMBERS} ) AND c IN (1, 2)"
    actual = lifted(text)
    assert actual.text == "a IN (`literals0`) AND b in(`literals1`) AND c IN (1, 2)"
    assert actual.literals("literals0") == actual.literals("literals1") == list(range(40))
    assert actual.literals("c") is None
    assert actual.shown(actual.text) == "a IN (…) AND b in(…) AND c IN (1, 2)"


def test_a_column_of_that_name() -> None:
    assert lifted(f"literals0 = 1 AND a IN ({NUMBERS})").text == "literals0 = 1 AND a IN (`literals_0`)"


@pytest.mark.parametrize(
    "text",
    [
        f"a = 'x IN ({NUMBERS})'",
        f"a = 'it''s IN ({NUMBERS})'",
        f"a = `x IN ({NUMBERS})`",
        f"a = 'x\\' AND b IN ({NUMBERS})",
        f'a = "it\'s" AND b IN ({NUMBERS})',
        f"a = 1 /* ' */ AND b IN ({NUMBERS})",
        f"a = 1 AND b IN ({NUMBERS}, 1 + 1)",
        f"a = 1 AND b IN ({NUMBERS}, 'it''s')",
        f"a = 1 AND b IN ({NUMBERS}, 5L)",
        f"a = 1 AND begin ({NUMBERS})",
        f"a = 1 AND b IN ({NUMBERS}",
        "",
    ],
)
def test_what_is_left_to_the_parser(text: str) -> None:
    assert lifted(text).text == text


@given(st.lists(st.text(st.characters(codec="utf-8", exclude_characters="\\'")), min_size=32, max_size=60))
def test_long_lists_of_texts_are_cut_out_as_they_are(values: list[str]) -> None:
    listed = ",".join(f"'{value}'" for value in values)
    actual = lifted(f"a IN ({listed})")
    assert actual.literals("literals0") == values
    assert actual.text == "a IN (`literals0`)"
