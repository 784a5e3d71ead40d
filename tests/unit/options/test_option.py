"""Texts of options: durations, sizes, words, names, and older spellings of a key."""

from collections.abc import Callable
from datetime import timedelta

import pytest

from maintenance.errors import OptionError
from maintenance.options.option import (
    Option,
    at_least,
    boolean,
    duration,
    integer,
    long_integer,
    memory_size,
    names,
    number,
    one_of,
    positive,
    string,
)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("1 h", timedelta(hours=1)),
        ("30min", timedelta(minutes=30)),
        ("500", timedelta(milliseconds=500)),
        ("2 d", timedelta(days=2)),
        ("10 s", timedelta(seconds=10)),
        ("7us", timedelta(microseconds=7)),
        ("PT24H", timedelta(hours=24)),
        ("P1DT2H3M4.5S", timedelta(days=1, hours=2, minutes=3, seconds=4.5)),
    ],
)
def test_durations_are_read_in_units_and_as_iso_texts(text: str, expected: timedelta) -> None:
    assert duration(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [("512", 512), ("4kb", 4096), ("128 mb", 128 << 20), ("1G", 1 << 30), ("2 tebibytes", 2 << 40), ("3 bytes", 3)],
)
def test_sizes_are_read_in_bytes_and_units(text: str, expected: int) -> None:
    assert memory_size(text) == expected


@pytest.mark.parametrize(
    ("parse", "text"),
    [
        (duration, "1 year"),
        (duration, ""),
        (duration, "PT"),
        (duration, "-1 s"),
        (memory_size, "1.5 mb"),
        (memory_size, "lots"),
        (integer, "1.0"),
        (integer, str(2**31)),
        (integer, "9" * 5000),
        (long_integer, str(-(2**63) - 1)),
        (positive, "0"),
        (positive, str(2**63)),
        (at_least(2), "1"),
        (duration, "9" * 25),
        (duration, "9" * 5000 + " s"),
        (duration, "1000000000 d"),
        (duration, "PT9999999999999H"),
        (memory_size, "99999999999 g"),
        (memory_size, "9" * 5000),
        (number, "nan"),
        (number, "1e400"),
        (number, "x"),
        (boolean, "yes"),
        (one_of("a-b"), "c"),
    ],
)
def test_texts_that_are_no_value_are_refused(parse: Callable[[str], object], text: str) -> None:
    with pytest.raises(ValueError, match="expected"):
        parse(text)


def test_the_largest_values_are_taken() -> None:
    assert (integer(str(2**31 - 1)), long_integer(str(-(2**63)))) == (2**31 - 1, -(2**63))
    assert duration("999999999 d") == timedelta(days=999_999_999)
    assert memory_size(str(2**63 - 1)) == 2**63 - 1


def test_words_are_read_in_any_case_and_texts_are_left_as_they_are() -> None:
    assert one_of("full-compaction")(" FULL_COMPACTION ") == "full-compaction"
    assert names(" a, b,,c ") == ("a", "b", "c")
    assert (boolean("TRUE"), boolean("false")) == (True, False)
    assert (integer(" 7 "), number("0.5"), string(" x ")) == (7, 0.5, " x ")


def test_older_spellings_count_where_the_newest_is_not_set() -> None:
    option = Option("new", integer, 1, ("old", "older"))
    assert option.of({}) == 1
    assert option.of({"older": "3", "old": "2"}) == 2
    assert option.of({"new": "9", "old": "2"}) == 9
    with pytest.raises(OptionError, match="'old' = 'x': expected an integer"):
        option.of({"old": "x"})
