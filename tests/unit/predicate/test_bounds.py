"""The bound above all texts with a prefix."""

import pytest
from hypothesis import given, settings

from maintenance.predicate.bounds import successor
from tests.unit.predicate.strategies import texts


@pytest.mark.parametrize(
    ("prefix", "expected"),
    [
        ("a", "b"),
        ("ab", "ac"),
        ("a\ud7ff", "a\ue000"),
        ("a\U0010ffff", "b"),
        ("\U0010ffff\U0010ffff", None),
        ("", None),
    ],
)
def test_the_successor_of_a_prefix_ends_in_the_next_character_or_is_none(prefix: str, expected: str | None) -> None:
    assert successor(prefix) == expected


@settings(deadline=None)
@given(texts, texts)
def test_is_above_every_text_with_the_prefix_and_no_other_is_between(prefix: str, text: str) -> None:
    bound = successor(prefix)
    between = text.encode() >= prefix.encode() and (bound is None or text.encode() < bound.encode())
    assert between == text.startswith(prefix)
