"""Which times the values of partitions name."""

import datetime as dt

import pytest

from maintenance.errors import OptionError
from maintenance.format.rows.binary_row import serialize_row
from maintenance.metadata.partition_times import PartitionTimes
from maintenance.options.model import TableModel
from maintenance.types.data_type import DataField, parse_type

FIELDS = [DataField(0, "day", parse_type("STRING")), DataField(1, "daytime", parse_type("STRING"))]


def time_of(day: str | None, daytime: str | None, pattern: str | None = None, formatter: str | None = None) -> object:
    given = {"partition.timestamp-pattern": pattern, "partition.timestamp-formatter": formatter}
    options = {key: text for key, text in given.items() if text is not None}
    row = serialize_row([day, daytime], [field.type for field in FIELDS])
    nanos = PartitionTimes.of(FIELDS, TableModel(options), "here").time_of(row)
    return None if nanos is None else dt.datetime(1970, 1, 1) + dt.timedelta(microseconds=nanos // 1000)


NOON, MIDNIGHT = dt.datetime(2024, 5, 14, 12), dt.datetime(2024, 5, 14)


def test_without_a_pattern_the_first_column_counts() -> None:
    assert time_of("2024-05-14", "x") == MIDNIGHT
    assert time_of("2024-05-14", None) == MIDNIGHT, "the second may be null"
    assert time_of("2024-05-14 12:00:00", None) == NOON


def test_a_pattern_joins_columns_by_the_longest_name() -> None:
    assert time_of("2024-05-14", "12:00:00", "$day $daytime") == NOON
    assert time_of("x", "2024-05-14", "$daytime") == MIDNIGHT
    assert time_of("2024-05-14", "x", "$day $unknown") is None


@pytest.mark.parametrize("pattern", [None, "$day $daytime", "$day"])
def test_null_is_no_time(pattern: str | None) -> None:
    assert time_of(None, "12:00:00", pattern) is None


def test_null_in_any_column_is_none_where_there_is_a_pattern() -> None:
    assert time_of("2024-05-14", None, "$day") is None


def test_a_formatter_reads_the_text() -> None:
    assert time_of("20240514", "x", None, "yyyyMMdd") == MIDNIGHT
    assert time_of("20240514", "12", "$day$daytime", "yyyyMMddHH") == NOON
    assert time_of("2024-05-14", "x", None, "yyyyMMdd") is None
    assert time_of("someday", "x") is None


def test_a_formatter_that_cannot_be_read() -> None:
    with pytest.raises(OptionError, match=r"partition.timestamp-formatter' = '\{'"):
        time_of("x", "x", None, "{")


def test_dates_are_their_legacy_text() -> None:
    """As Java reads them: a DATE column prints its day number, which is not a time."""
    field = DataField(0, "day", parse_type("DATE"))
    times = PartitionTimes.of([field], TableModel(), "here")
    assert times.time_of(serialize_row([19857], [field.type])) is None
