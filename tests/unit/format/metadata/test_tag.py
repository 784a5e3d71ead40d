"""Tag files: with and without their own times, in every form Paimon reads."""

import json
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from maintenance.errors import CorruptFileError
from maintenance.format.metadata.snapshot import parse_snapshot, serialize_snapshot
from maintenance.format.metadata.tag import Tag, parse_tag, serialize_tag

DATA = (Path(__file__).parent / "data" / "snapshot").read_bytes()
SNAPSHOT = parse_snapshot(DATA, "snapshot")


def parsed(**times: Any) -> Tag:
    return parse_tag(json.dumps(json.loads(DATA) | times).encode(), "tag-a")


def test_without_times_a_tag_is_its_snapshot() -> None:
    assert serialize_tag(Tag(SNAPSHOT)) == serialize_snapshot(SNAPSHOT)
    assert parse_tag(DATA, "tag-a") == Tag(SNAPSHOT)


@pytest.mark.parametrize(
    ("text", "time"),
    [
        ([2024, 5, 14, 10, 0], datetime(2024, 5, 14, 10)),
        ([2024, 5, 14, 10, 20, 30], datetime(2024, 5, 14, 10, 20, 30)),
        ([2024, 5, 14, 10, 20, 30, 123456789], datetime(2024, 5, 14, 10, 20, 30, 123456)),
        ([2024, 5, 14, 10, 20, 0, 1000], datetime(2024, 5, 14, 10, 20, 0, 1)),
        ("2024-05-14T10:20", datetime(2024, 5, 14, 10, 20)),
        ("2024-05-14T10:20:30.123456789", datetime(2024, 5, 14, 10, 20, 30, 123456)),
    ],
)
def test_times_of_creation_are_read_in_every_form(text: object, time: datetime) -> None:
    assert parsed(tagCreateTime=text).create_time == time


@pytest.mark.parametrize("text", [86400, 86400.0, "PT24H", "1 d"])
def test_a_retained_time_is_read_in_every_form(text: object) -> None:
    assert parsed(tagTimeRetained=text).time_retained == timedelta(days=1)


def test_times_are_written_as_java_writes_them() -> None:
    form = json.loads(serialize_tag(Tag(SNAPSHOT, datetime(2024, 5, 14, 10, 0), timedelta(days=1))))
    assert (form["tagCreateTime"], form["tagTimeRetained"]) == ([2024, 5, 14, 10, 0], 86400.0)
    form = json.loads(serialize_tag(Tag(SNAPSHOT, datetime(2024, 5, 14, 10, 0, 0, 7), timedelta(seconds=1))))
    assert form["tagCreateTime"] == [2024, 5, 14, 10, 0, 0, 7000]


@given(
    st.none() | st.datetimes(datetime(1970, 1, 1)),
    st.none() | st.timedeltas(timedelta(0), timedelta(days=100 * 365)),
)
def test_any_tag_reads_back_as_it_was(create_time: datetime | None, time_retained: timedelta | None) -> None:
    tag = Tag(SNAPSHOT, create_time, time_retained)
    assert parse_tag(serialize_tag(tag), "memory") == tag


@pytest.mark.parametrize(
    "times",
    [{"tagCreateTime": [2024]}, {"tagCreateTime": [2024, 13, 1, 0, 0]}, {"tagTimeRetained": "soon"}],
    ids=str,
)
def test_damaged_times_are_errors_that_name_the_tag(times: dict[str, object]) -> None:
    with pytest.raises(CorruptFileError, match="tag-a"):
        parsed(**times)
