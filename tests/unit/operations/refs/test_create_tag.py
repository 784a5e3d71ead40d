"""Creation of tags."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from maintenance.errors import AlreadyExistsError, NotFoundError, OptionError
from maintenance.format.metadata.snapshot import serialize_snapshot
from maintenance.operations.expiry.expire_snapshots import expire_snapshots
from maintenance.operations.refs.create_tag import create_tag
from tests.small_tables import put, rows_of_tag, set_commit_time, set_watermark, small_table

NOW = datetime(2024, 5, 14, 10, 20)


def test_tags_the_latest_snapshot_as_it_is(tmp_path: Path) -> None:
    table = small_table(tmp_path)
    put(table, {1: "a"})
    latest = put(table, {2: "b"})
    report = create_tag(table, "here")
    assert (report.snapshot_id, report.created) == (latest, True)
    # Without a life time the file is the snapshot's, byte for byte.
    assert Path(table.paths.tag("here")).read_bytes() == serialize_snapshot(table.snapshots.get(latest))
    put(table, {1: "z"})
    assert rows_of_tag(table, "here") == [(1, "a"), (2, "b")]


def test_a_life_time_is_stored_with_the_local_time(tmp_path: Path) -> None:
    table = small_table(tmp_path, {"tag.default-time-retained": "3 d"})
    put(table, {1: "a"})
    create_tag(table, "default", now=NOW)
    create_tag(table, "given", time_retained=timedelta(hours=1), now=NOW.astimezone(UTC))
    tags = table.tags.all()
    assert (tags["default"].create_time, tags["default"].time_retained) == (NOW, timedelta(days=3))
    assert (tags["given"].create_time, tags["given"].time_retained) == (NOW, timedelta(hours=1))


def test_an_existing_tag_stays(tmp_path: Path) -> None:
    table = small_table(tmp_path)
    first = put(table, {1: "a"})
    create_tag(table, "x")
    put(table, {1: "b"})
    with pytest.raises(AlreadyExistsError, match="holds snapshot 1"):
        create_tag(table, "x")
    report = create_tag(table, "x", ignore_if_exists=True)
    assert (report.snapshot_id, report.created) == (first, False)
    assert rows_of_tag(table, "x") == [(1, "a")]


def test_an_expired_snapshot_can_be_tagged_through_another_tag_only(tmp_path: Path) -> None:
    table = small_table(tmp_path)
    for value in "abc":
        put(table, {1: value})
    create_tag(table, "old", snapshot_id=1)
    expire_snapshots(table, retain_min=1, retain_max=1)
    create_tag(table, "again", snapshot_id=1)
    assert rows_of_tag(table, "again") == [(1, "a")]
    with pytest.raises(NotFoundError, match="snapshot 2 does not exist"):
        create_tag(table, "gone", snapshot_id=2)


def test_a_snapshot_that_an_expiry_gave_up_is_not_tagged(tmp_path: Path) -> None:
    table = small_table(tmp_path)
    put(table, {1: "a"})
    put(table, {1: "b"})
    table.snapshots.write_hint("EARLIEST", 2)
    with pytest.raises(NotFoundError, match="snapshot 1 does not exist"):
        create_tag(table, "x", snapshot_id=1)


def test_a_table_without_snapshots_cannot_be_tagged(tmp_path: Path) -> None:
    with pytest.raises(NotFoundError, match="no snapshot yet"):
        create_tag(small_table(tmp_path), "x")


def test_by_time_and_by_watermark(tmp_path: Path) -> None:
    table = small_table(tmp_path)
    for number, (millis, mark) in enumerate([(1000, None), (2000, 50), (3000, 70), (4000, None)], start=1):
        put(table, {1: str(number)})
        set_commit_time(table, number, millis)
        set_watermark(table, number, mark)
    assert create_tag(table, "a", timestamp_millis=2000).snapshot_id == 2
    assert create_tag(table, "b", timestamp_millis=2001).snapshot_id == 3
    assert create_tag(table, "c", timestamp_millis=0).snapshot_id == 1
    assert create_tag(table, "d", watermark=50).snapshot_id == 2
    assert create_tag(table, "e", watermark=51).snapshot_id == 3
    with pytest.raises(NotFoundError, match="no snapshot was committed at 4001 or later"):
        create_tag(table, "x", timestamp_millis=4001)
    with pytest.raises(NotFoundError, match="watermark of 71 or later"):
        create_tag(table, "x", watermark=71)
    with pytest.raises(OptionError, match="holds one snapshot"):
        create_tag(table, "x", watermark=1, snapshot_id=1)
    expire_snapshots(table, retain_min=1, retain_max=1)
    assert create_tag(table, "f", timestamp_millis=1500).snapshot_id == 2
    assert create_tag(table, "g", watermark=60).snapshot_id == 3


@pytest.mark.parametrize("name", ["", "  ", "a/b", "/", "../../x", "a\0b", "a:b", "x" * 220, "\ud800"])
def test_names_that_cannot_be(tmp_path: Path, name: str) -> None:
    table = small_table(tmp_path)
    put(table, {1: "a"})
    with pytest.raises(OptionError, match="cannot be a tag"):
        create_tag(table, name)
    assert table.tags.names() == []
