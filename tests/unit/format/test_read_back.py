"""What is written can be read back: the bytes of a file are refused if reading them gives something else."""

from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from maintenance.errors import DataError, OptionError
from maintenance.format.json_object import MAX_MILLIS
from maintenance.format.metadata.schema import TableSchema, serialize_schema
from maintenance.format.metadata.snapshot import CommitKind, Snapshot, serialize_snapshot
from maintenance.format.metadata.tag import Tag, parse_tag, serialize_tag
from maintenance.operations.expiry.expire_tags import expire_tags
from maintenance.operations.refs.create_tag import create_tag
from maintenance.types.data_type import DataField, parse_type
from tests.small_tables import put, rows_of_tag, small_table

SNAPSHOT = Snapshot(
    id=1, schema_id=0, base_manifest_list="a", delta_manifest_list="b", commit_user="me", commit_identifier=1,
    commit_kind=CommitKind.APPEND, time_millis=1, total_record_count=0, delta_record_count=0,
)  # fmt: skip
SCHEMA = TableSchema(0, (DataField(0, "k", parse_type("INT")),), 0)


@pytest.mark.parametrize(
    "part",
    [
        {"commit_identifier": 2**63},
        {"watermark": -(2**63) - 1},
        {"watermark": True},
        {"time_millis": MAX_MILLIS + 1},
        {"id": 2**63},
        {"total_record_count": 2**63},
        {"commit_user": 7},
        {"properties": {1: "a"}},
        {"commit_identifier": 1.5},
    ],
)
def test_a_snapshot_that_could_not_be_read_back_is_refused(part: dict[str, Any]) -> None:
    serialize_snapshot(SNAPSHOT)
    with pytest.raises(DataError, match="could not be read back"):
        serialize_snapshot(replace(SNAPSHOT, **part))


@pytest.mark.parametrize(
    "part",
    [
        {"id": 2**63},
        {"time_millis": MAX_MILLIS + 1},
        {"fields": SCHEMA.fields * 2},
        {"primary_keys": (1,)},
        {"options": {"bucket": None}},
        {"options": {"bucket": 1}},
        {"version": 4},
    ],
)
def test_a_schema_that_could_not_be_read_back_is_refused(part: dict[str, Any]) -> None:
    serialize_schema(SCHEMA)
    with pytest.raises(DataError, match="could not be read back"):
        serialize_schema(replace(SCHEMA, **part))


def test_a_tag_that_could_not_be_read_back_is_refused() -> None:
    with pytest.raises(DataError, match="could not be read back"):
        serialize_tag(Tag(SNAPSHOT, datetime(2024, 5, 14), timedelta.max))
    with pytest.raises(DataError, match="could not be read back"):
        serialize_tag(Tag(replace(SNAPSHOT, watermark=2**63)))
    long = Tag(SNAPSHOT, datetime(2024, 5, 14), timedelta(days=200_000, microseconds=1))
    assert parse_tag(serialize_tag(long), "memory").snapshot == SNAPSHOT


def test_a_tag_that_lives_beyond_all_dates(tmp_path: Path) -> None:
    table = small_table(tmp_path)
    put(table, {1: "a"})
    create_tag(table, "long", time_retained=timedelta(days=99_999_999))
    assert expire_tags(table).expired == ()
    with pytest.raises(DataError):
        create_tag(table, "longer", time_retained=timedelta.max)
    assert table.tags.names() == ["long"]
    assert rows_of_tag(table, "long") == [(1, "a")]


@pytest.mark.parametrize("following", [0, -1, 2**63])
def test_a_consumer_that_could_not_be_read_back_is_refused(tmp_path: Path, following: int) -> None:
    table = small_table(tmp_path)
    with pytest.raises(OptionError):
        table.consumers.record("job", following)
    assert table.consumers.names() == []
