"""When automatic tags are due and how they are called: the rules alone."""

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta

import pytest

from maintenance.errors import OptionError
from maintenance.format.metadata.snapshot import CommitKind, Snapshot
from maintenance.operations.refs.tag_schedule import TagSchedule, batch_tag
from maintenance.options.model import TableModel

START = datetime(2024, 5, 14, 10, 20, tzinfo=UTC)
ZONE = {"sink.process-time-zone": "UTC", "tag.automatic-creation": "process-time"}


def snapshot(number: int, hours: float, watermark: int | None = None) -> Snapshot:
    millis = int((START + timedelta(hours=hours)).timestamp() * 1000)
    return Snapshot(
        id=number, schema_id=0, base_manifest_list="b", delta_manifest_list="d", commit_user="u",
        commit_identifier=1, commit_kind=CommitKind.APPEND, time_millis=millis, watermark=watermark,
        total_record_count=1, delta_record_count=1,
    )  # fmt: skip


def tags(options: Mapping[str, str], *hours: float, last: str | None = None) -> list[tuple[str, int]]:
    schedule = TagSchedule.of(TableModel({**ZONE, **options}), "db.t")
    assert schedule is not None
    snapshots = [snapshot(number, each) for number, each in enumerate(hours, start=1)]
    return [(name, each.id) for name, each in schedule.tags(snapshots, last)]


def test_the_first_snapshot_of_all_and_the_first_after_each_period_are_tagged() -> None:
    assert tags({}, 0, 1, 13, 14, 15, 62) == [("2024-05-13", 1), ("2024-05-14", 4), ("2024-05-16", 6)]
    assert tags({}, 1, 14, last="2024-05-13") == [("2024-05-14", 2)]


@pytest.mark.parametrize(
    ("options", "name"),
    [
        ({"tag.creation-period": "hourly"}, "2024-05-14 09"),
        ({"tag.creation-period": "hourly", "tag.period-formatter": "without_dashes"}, "20240514 09"),
        ({"tag.creation-period": "hourly", "tag.period-formatter": "without_dashes_and_spaces"}, "2024051409"),
        ({"tag.creation-period": "two-hours", "tag.period-formatter": "without_dashes"}, "2024-05-14 08"),
        ({"tag.creation-period-duration": "15 min"}, "202405141000"),
        ({"tag.period-formatter": "without_dashes"}, "20240513"),
        ({"sink.process-time-zone": "GMT-11:00"}, "2024-05-12"),
        ({"sink.process-time-zone": "Pacific/Kiritimati"}, "2024-05-14"),
    ],
)
def test_names_of_tags_follow_the_period_format_and_zone(options: Mapping[str, str], name: str) -> None:
    assert tags(options, 0) == [(name, 1)]


def test_a_delay_keeps_a_period_open() -> None:
    delayed = {"tag.creation-period": "hourly", "tag.creation-delay": "10 min"}
    assert tags(delayed, 0, 0.75, 0.9) == [("2024-05-14 09", 1), ("2024-05-14 10", 3)]
    with pytest.raises(OptionError, match="creation-delay"):
        tags({"tag.creation-period": "hourly", "tag.creation-delay": "1 h"}, 0)


def test_missing_periods_are_completed_one_for_each_snapshot() -> None:
    hourly = {"tag.creation-period": "hourly"}
    assert tags(hourly, 0, 5, 5.1) == [("2024-05-14 09", 1), ("2024-05-14 14", 2)]
    completed = tags({**hourly, "tag.automatic-completion": "true"}, 0, 5, 5.1)
    assert completed == [("2024-05-14 09", 1), ("2024-05-14 10", 2), ("2024-05-14 11", 3)]


def test_by_watermark_a_snapshot_without_one_is_never_due() -> None:
    schedule = TagSchedule.of(
        TableModel({"tag.automatic-creation": "watermark", "tag.creation-period": "hourly"}), "db.t"
    )
    assert schedule is not None
    marks = (None, -(2**63), int(START.timestamp() * 1000))
    snapshots = [snapshot(number, 0, mark) for number, mark in enumerate(marks, start=1)]
    assert [(name, each.id) for name, each in schedule.tags(snapshots, None)] == [("2024-05-14 09", 3)]


def test_tables_without_automatic_tags_by_time() -> None:
    assert TagSchedule.of(TableModel(), "db.t") is None
    assert TagSchedule.of(TableModel({"tag.automatic-creation": "batch"}), "db.t") is None
    assert batch_tag(TableModel({"sink.process-time-zone": "GMT+14"}), snapshot(1, 0)) == "batch-write-2024-05-15"
    assert batch_tag(TableModel({"tag.batch.customized-name": "mine"}), snapshot(1, 0)) == "mine"
