"""Indexes never leave out a row that matches, leave out those they can, and are ignored where they are damaged."""

import logging
from collections.abc import Mapping, Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyroaring import BitMap

from maintenance.errors import DataError
from maintenance.format.file_index.kinds import KINDS
from maintenance.format.file_index.selection import FileIndexes, Selection, select
from maintenance.predicate.sql import parse
from maintenance.predicate.tree import Compare, IsNull, Operator, Predicate, columns_of
from maintenance.types.values import Value, arrow_of_values
from tests.examples import examples
from tests.models.predicates import truth
from tests.unit.predicate.strategies import BY_NAME, FIELDS, predicates, rows, values

Indexes = Mapping[str, Mapping[str, bytes | None]]
OPERATORS: tuple[Operator, ...] = ("=", "!=", "<", "<=", ">", ">=")
SETTINGS: Mapping[str, list[dict[str, str]]] = {
    "bloom-filter": [{"items": "10", "fpp": "0.01"}],
    "bitmap": [{"version": "1"}, {}, {"index-block-size": "40 b"}],
    "bsi": [{}],
    "range-bitmap": [{}, {"chunk-size": "0 b"}, {"chunk-size": "12 b"}],
}


def index_of(kind: str, name: str, column: Sequence[Value], options: Mapping[str, str] | None = None) -> bytes | None:
    """The body of an index of a column; None if it has none, or cannot hold the values."""
    builder = KINDS[kind].builder(BY_NAME[name].type, options or {})
    builder.add(arrow_of_values(column, BY_NAME[name].type))
    try:
        return builder.finish()
    except DataError:
        return None


def selected(predicate: Predicate, indexes: Indexes, row_count: int) -> Selection:
    names = {column: tuple(kinds) for column, kinds in indexes.items()}
    return select(predicate, FileIndexes(names, lambda c, k: indexes[c][k], BY_NAME, row_count, "the file"))


@settings(max_examples=examples(100))
@given(predicates(), st.data())
def test_never_leaves_out_a_row_that_matches(predicate: Predicate, data: st.DataObject) -> None:
    actual = data.draw(rows(columns_of(predicate), max_size=6))
    indexes: dict[str, dict[str, bytes | None]] = {}
    for name in sorted(columns_of(predicate)):
        for kind in KINDS.values():
            if kind.supports(BY_NAME[name].type) and data.draw(st.booleans()):
                options = data.draw(st.sampled_from(SETTINGS[kind.name]))
                body = index_of(kind.name, name, [row[name] for row in actual], options)
                if body is not None:
                    indexes.setdefault(name, {})[kind.name] = body
    matching = BitMap(number for number, row in enumerate(actual) if truth(predicate, row))
    selection = selected(predicate, indexes, len(actual)).rows
    assert selection is None or matching <= selection


NUMBERS = [1, 2, None, 2, -3, 7]
TEXTS = ["a", "b", "a", None, "bc", "c"]
TEXT_KINDS = ("bitmap", "range-bitmap")


@pytest.mark.parametrize("kind", ["bitmap", "bsi", "range-bitmap"])
@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("number = 2", {1, 3}),
        ("number = 4", set()),
        ("number IN (1, 7, 9)", {0, 5}),
        ("number <> 2", {0, 4, 5}),
        ("number NOT IN (1, 2)", {4, 5}),
        ("number IS NULL", {2}),
        ("number IS NOT NULL", {0, 1, 3, 4, 5}),
        ("number > 1", {1, 3, 5}),
        ("number >= 1", {0, 1, 3, 5}),
        ("number < 1", {4}),
        ("number <= -3", {4}),
        ("number < -3", set()),
        ("number BETWEEN 0 AND 2", {0, 1, 3}),
        ("number = 2 OR number IS NULL", {1, 2, 3}),
        ("number > 0 AND number <> 2", {0, 5}),
        ("NOT (number > 1)", {0, 4}),
        ("number > 1 AND big = 5", {1, 3, 5}),
    ],
)
def test_exact_rows_of_numbers(kind: str, text: str, expected: set[int]) -> None:
    indexes = {"number": {kind: index_of(kind, "number", NUMBERS)}}
    assert selected(parse(text, FIELDS), indexes, len(NUMBERS)).rows == BitMap(expected)


@pytest.mark.parametrize("kind", TEXT_KINDS)
@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("name = 'a'", {0, 2}),
        ("name > 'b'", {4, 5}),
        ("name < 'b'", {0, 2}),
        ("startswith(name, 'b')", {1, 4}),
        ("NOT startswith(name, 'b')", {0, 2, 5}),
        ("name LIKE 'b%c'", {1, 4}),
        ("name LIKE '%c'", {0, 1, 2, 4, 5}),
        ("name IS NULL", {3}),
    ],
)
def test_each_index_of_texts_selects_the_rows_that_may_match(kind: str, text: str, expected: set[int]) -> None:
    indexes = {"name": {kind: index_of(kind, "name", TEXTS)}}
    assert selected(parse(text, FIELDS), indexes, len(TEXTS)).rows == BitMap(expected)


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
        ("NOT tiny IN (1)", False),
        ("small = 1", True),
    ],
)
def test_decisions_by_bloom_filters(text: str, expected: bool) -> None:
    bloom = {"items": "10", "fpp": "0.01"}
    indexes: Indexes = {
        "number": {"bloom-filter": index_of("bloom-filter", "number", [1, 2, None], bloom)},
        "name": {"bloom-filter": index_of("bloom-filter", "name", ["a", "b", "b"], bloom)},
        "tiny": {"bloom-filter": None},  # was given no rows
        "small": {"a kind of tomorrow": b"?"},
    }
    assert selected(parse(text, FIELDS), indexes, 3).is_empty is not expected


def test_indexes_of_one_column_must_all_agree() -> None:
    indexes = {"number": {"a kind of tomorrow": b"?", "bsi": index_of("bsi", "number", [1])}}
    actual = selected(parse("number = 7", FIELDS), indexes, 1)
    assert actual.is_empty
    assert actual.used == ("bsi of number",)


def test_a_column_that_the_file_has_not_is_kept() -> None:
    indexes = {"number": {"bitmap": index_of("bitmap", "number", [1])}}
    names = {"number": ("bitmap",)}
    actual = select(parse("number = 7", FIELDS), FileIndexes(names, lambda c, k: indexes[c][k], {}, 1, "the file"))
    assert actual.rows is None


def test_a_selection_of_every_row_is_none() -> None:
    indexes = {"number": {"bitmap": index_of("bitmap", "number", [1, 2])}}
    assert selected(parse("number > 0", FIELDS), indexes, 2) == Selection()


@pytest.mark.parametrize("kind", KINDS)
def test_damage_is_ignored_with_a_warning(kind: str, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING):
        assert selected(parse("number = 7", FIELDS), {"number": {kind: b"?"}}, 1) == Selection()
    assert f"index '{kind}' of column 'number' is ignored" in caplog.text
    assert "the file" in caplog.text


@pytest.mark.parametrize("kind", ["bitmap", "bsi", "range-bitmap"])
def test_an_index_of_another_file_is_ignored(kind: str) -> None:
    indexes = {"number": {kind: index_of(kind, "number", [1, 2])}}
    assert selected(parse("number = 7", FIELDS), indexes, 3) == Selection()


@settings(max_examples=examples(100))
@given(st.sampled_from(sorted(set(KINDS) - {"bloom-filter"})), st.data())
def test_damaged_bodies_never_fail(kind: str, data: st.DataObject) -> None:
    """Whatever the bytes are, an answer has rows of the file, or there is none."""
    name = data.draw(st.sampled_from([f.name for f in FIELDS if KINDS[kind].supports(f.type)]))
    actual = [row[name] for row in data.draw(rows(frozenset((name,)), max_size=6))]
    body = bytearray(index_of(kind, name, actual, data.draw(st.sampled_from(SETTINGS[kind]))) or b"")
    if data.draw(st.booleans()):
        del body[data.draw(st.integers(0, len(body))) :]
    elif body:
        body[data.draw(st.integers(0, len(body) - 1))] = data.draw(st.integers(0, 255))
    conditions = st.builds(Compare, st.sampled_from(OPERATORS), st.just(name), values(BY_NAME[name]))
    predicate = data.draw(st.just(IsNull(name)) | conditions)
    answer = selected(predicate, {name: {kind: bytes(body)}}, len(actual)).rows
    assert answer is None or not answer or answer.max() < len(actual)
