"""Indexes never exclude a file in which a row matches, and do exclude those they can."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from maintenance.errors import CorruptFileError
from maintenance.format.file_index.bloom_filter import BLOOM_FILTER, BloomBuilder, supports
from maintenance.format.file_index.pruning import may_match
from maintenance.predicate.sql import parse
from maintenance.predicate.tree import Predicate, columns_of
from maintenance.types.values import Value, arrow_of_values
from tests.models.predicates import truth
from tests.unit.predicate.strategies import BY_NAME, FIELDS, predicates, rows


def index_of(name: str, column: list[Value]) -> dict[str, bytes | None]:
    builder = BloomBuilder(BY_NAME[name].type, items=10, fpp=0.01)
    builder.add(arrow_of_values(column, BY_NAME[name].type))
    return {BLOOM_FILTER: builder.finish()}


@settings(max_examples=120, deadline=None)
@given(predicates(), st.data())
def test_never_excludes_a_row_that_matches(predicate: Predicate, data: st.DataObject) -> None:
    found = data.draw(rows(columns_of(predicate), max_size=4))
    indexes = {
        name: index_of(name, [row[name] for row in found])
        for name in sorted(columns_of(predicate))
        if supports(BY_NAME[name].type) and data.draw(st.booleans())
    }
    if any(truth(predicate, row) for row in found):
        assert may_match(predicate, indexes, BY_NAME)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("number = 1", True),
        ("number = 7", False),
        ("number IN (7, 8)", False),
        ("number IN (7, 2)", True),
        ("number IN (7, NULL)", False),
        ("NOT number <> 7", False),
        ("number <=> 7", False),
        ("number = 1 AND name = 'absent'", False),
        ("number = 7 OR name = 'a'", True),
        ("number = 7 OR name = 'absent'", False),
        ("number = 7 OR big = 1", True),
        ("number > 7", True),
        ("number <> 1", True),
        ("number IS NULL", True),
        ("startswith(name, 'x')", True),
        ("name LIKE 'absent'", False),
        ("number = NULL", False),
        ("tiny = 1", False),
        ("tiny IS NULL", True),
        ("NOT tiny IN (1)", True),
        ("small = 1", True),
    ],
)
def test_decisions(text: str, expected: bool) -> None:
    indexes = {
        "number": index_of("number", [1, 2, None]),
        "name": index_of("name", ["a", "b"]),
        "tiny": {BLOOM_FILTER: None},
        "small": {"a kind of tomorrow": b"?"},
    }
    assert may_match(parse(text, FIELDS), indexes, BY_NAME) is expected


def test_indexes_of_one_column_must_all_agree() -> None:
    indexes = {"number": {"a kind of tomorrow": b"?", **index_of("number", [1])}}
    assert not may_match(parse("number = 7", FIELDS), indexes, BY_NAME)


def test_a_column_that_the_file_has_not_is_kept() -> None:
    assert may_match(parse("number = 7", FIELDS), {"number": index_of("number", [1])}, {})


def test_damage_is_reported() -> None:
    with pytest.raises(CorruptFileError, match="bloom filter"):
        may_match(parse("number = 7", FIELDS), {"number": {BLOOM_FILTER: b"?"}}, BY_NAME)
