"""What scan options ask for, and what of the history that is, against a model that looks at every snapshot."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from maintenance.errors import NotFoundError, OptionError, PaimonError, UnsupportedError
from maintenance.format.metadata.snapshot import CommitKind, Snapshot
from maintenance.format.metadata.tag import Tag
from maintenance.options.model import TableModel
from maintenance.scan.auto_tag import AutoTagNames
from maintenance.scan.history import History
from maintenance.scan.startup import (
    AtSnapshot,
    AtTag,
    AtTime,
    AtVersion,
    AtWatermark,
    Between,
    BetweenTimes,
    CommittedSince,
    Compacted,
    FilesSince,
    Latest,
    Startup,
    ToAutoTag,
    checked_startup,
    startup_of,
)
from maintenance.scan.target import Difference, FullState, RecordChanges, ScanTarget
from maintenance.scan.time_travel import scan_target


@dataclass(frozen=True)
class Remembered:
    """A history in memory."""

    snapshots: Sequence[Snapshot]
    tags: dict[str, Snapshot]

    def latest(self) -> Snapshot | None:
        return self.snapshots[-1] if self.snapshots else None

    def latest_id(self) -> int | None:
        return self.snapshots[-1].id if self.snapshots else None

    def earliest_id(self) -> int | None:
        return self.snapshots[0].id if self.snapshots else None

    def find(self, snapshot_id: int) -> Snapshot | None:
        return next((s for s in self.snapshots if s.id == snapshot_id), None)


@dataclass(frozen=True)
class RememberedTags:
    tags: dict[str, Snapshot]

    def names(self) -> list[str]:
        return sorted(self.tags)

    def find(self, name: str) -> Tag | None:
        return Tag(self.tags[name]) if name in self.tags else None


def snapshot(number: int, time: int = 0, kind: str = "APPEND", watermark: int | None = None) -> Snapshot:
    return Snapshot(
        id=number,
        schema_id=0,
        base_manifest_list="b",
        delta_manifest_list="d",
        commit_user="u",
        commit_identifier=number,
        commit_kind=CommitKind(kind),
        time_millis=time,
        total_record_count=0,
        delta_record_count=0,
        watermark=watermark,
    )


def history_of(snapshots: Sequence[Snapshot], tags: dict[str, Snapshot] | None = None) -> History:
    actual = tags or {}
    return History("db.t", Remembered(snapshots, actual), RememberedTags(actual), AutoTagNames.of(TableModel()))


def target(startup: Startup, snapshots: Sequence[Snapshot], tags: dict[str, Snapshot] | None = None) -> ScanTarget:
    return scan_target(history_of(snapshots, tags), startup)


@pytest.mark.parametrize(
    ("options", "startup"),
    [
        ({}, Latest()),
        ({"scan.mode": "latest"}, Latest()),
        ({"scan.mode": "latest-full"}, Latest()),
        ({"scan.mode": "FULL"}, Latest()),
        ({"scan.mode": "compacted-full"}, Compacted(None)),
        ({"scan.mode": "compacted-full", "changelog-producer": "full-compaction"}, Compacted(1)),
        ({"scan.mode": "compacted-full", "full-compaction.delta-commits": "3"}, Compacted(3)),
        ({"scan.snapshot-id": "3"}, AtSnapshot(3)),
        ({"scan.mode": "from-snapshot", "scan.snapshot-id": "3"}, AtSnapshot(3)),
        ({"scan.mode": "from-snapshot-full", "scan.snapshot-id": "3"}, AtSnapshot(3)),
        ({"scan.mode": "from_snapshot", "scan.tag-name": "a"}, AtTag("a")),
        ({"scan.version": "a"}, AtVersion("a")),
        ({"scan.watermark": "-5"}, AtWatermark(-5)),
        ({"scan.timestamp-millis": "12"}, AtTime(12)),
        ({"scan.mode": "from-timestamp", "scan.timestamp-millis": "12"}, AtTime(12)),
        ({"scan.file-creation-time-millis": "12"}, FilesSince(12)),
        ({"scan.mode": "from-creation-timestamp", "scan.creation-time-millis": "12"}, CommittedSince(12)),
        ({"incremental-between": "1,2"}, Between("1", "2", "delta")),
        ({"incremental-between": "1,2", "changelog-producer": "input"}, Between("1", "2", "changelog")),
        ({"incremental-between": "a,b", "incremental-between-scan-mode": "diff"}, Between("a", "b", "diff")),
        (
            {"incremental-between": "a,b", "incremental-between-tag-to-snapshot": "true"},
            Between("a", "b", "delta", tags_are_snapshots=True),
        ),
        ({"incremental-between-timestamp": "5,7"}, BetweenTimes(5, 7, "delta")),
        ({"incremental-to-auto-tag": "2024-05-14"}, ToAutoTag("2024-05-14")),
        ({"scan.mode": "incremental", "incremental-to-auto-tag": "2024-05-14"}, ToAutoTag("2024-05-14")),
    ],
)
def test_what_options_ask_for(options: dict[str, str], startup: Startup) -> None:
    assert startup_of(TableModel(options)) == startup


def test_texts_of_times_are_read_to_the_millisecond() -> None:
    two = startup_of(TableModel({"incremental-between-timestamp": "2024-05-14 10:20:30,2024-05-14 10:20:30.250"}))
    assert isinstance(two, BetweenTimes)
    assert two.end - two.start == 250
    assert startup_of(TableModel({"scan.timestamp": "2024-05-14 10:20:30"})) == AtTime(two.start)


@pytest.mark.parametrize(
    ("options", "named"),
    [
        ({"scan.snapshot-id": "1", "scan.tag-name": "a"}, r"scan\.snapshot-id and scan\.tag-name"),
        ({"scan.timestamp": "2024-01-01", "scan.watermark": "1"}, "are both set"),
        ({"scan.snapshot-id": "1", "incremental-between": "1,2"}, "are both set"),
        ({"scan.mode": "latest", "scan.snapshot-id": "1"}, r"'scan\.snapshot-id' is set and 'scan\.mode' is 'latest'"),
        ({"scan.mode": "from-timestamp", "scan.snapshot-id": "1"}, "is 'from-timestamp'"),
        ({"scan.mode": "from-timestamp"}, r"Set one of scan\.timestamp-millis, scan\.timestamp"),
        ({"scan.mode": "incremental"}, "Set one of incremental-between"),
        ({"scan.mode": "yesterday"}, "expected one of default"),
        ({"incremental-between": "1"}, "Give start and end"),
        ({"incremental-between-timestamp": "9,3"}, "ends before it starts"),
        ({"incremental-between-timestamp": "noon,3"}, "2024-05-14 10:20:30"),
        ({"incremental-between": "1,2", "incremental-between-scan-mode": "guess"}, "expected one of auto"),
        ({"scan.snapshot-id": "one"}, "expected an integer"),
    ],
)
def test_options_that_contradict_each_other_or_are_no_values_are_refused(options: dict[str, str], named: str) -> None:
    with pytest.raises(OptionError, match=named):
        startup_of(TableModel(options))


@pytest.mark.parametrize("option", ["scan.unheard-of", "incremental-unheard-of", "scan.ignore-lost-files"])
def test_scan_options_that_reads_do_not_honour(option: str) -> None:
    with pytest.raises(UnsupportedError, match=f"option '{option}' = 'true' is not supported"):
        startup_of(TableModel({option: "true"}))
    checked_startup(TableModel({option: "true"}))


def test_options_that_change_no_row() -> None:
    harmless = {"scan.parallelism": "3", "scan.ignore-corrupt-files": " False ", "bucket": "2", "scan.mode": "default"}
    assert startup_of(TableModel(harmless)) == Latest()


@st.composite
def histories(draw: st.DrawFn) -> list[Snapshot]:
    """Snapshots from some id on, times and watermarks strictly ascending, some without a watermark."""
    first = draw(st.integers(1, 4))
    count = draw(st.integers(1, 7))
    times = sorted(draw(st.lists(st.integers(0, 40), min_size=count, max_size=count, unique=True)))
    marks = sorted(draw(st.lists(st.integers(0, 40), min_size=count, max_size=count, unique=True)))
    collected = []
    for i in range(count):
        mark = marks[i] if draw(st.booleans()) else None
        collected.append(snapshot(first + i, times[i], draw(st.sampled_from([str(k) for k in CommitKind])), mark))
    return collected


@given(histories(), st.integers(-1, 42))
def test_one_snapshot_by_time_watermark_or_id(snapshots: list[Snapshot], value: int) -> None:
    def first_or_none(found: list[Snapshot]) -> Snapshot | None:
        return found[0] if found else None

    expected: dict[Startup, Snapshot | None] = {
        AtTime(value): first_or_none([s for s in reversed(snapshots) if s.time_millis <= value]),
        AtWatermark(value): first_or_none([s for s in snapshots if s.watermark is not None and s.watermark >= value]),
        AtSnapshot(value): first_or_none([s for s in snapshots if s.id == value]),
        AtVersion(str(value)): first_or_none([s for s in snapshots if s.id == value]),
    }
    for startup, actual in expected.items():
        if actual is None:
            with pytest.raises(NotFoundError, match=r"db\.t"):
                target(startup, snapshots)
        else:
            assert target(startup, snapshots) == FullState(actual, travelled=True)


@given(histories(), st.integers(-1, 42))
def test_neighbours_of_a_time_and_a_watermark(snapshots: list[Snapshot], value: int) -> None:
    history = history_of(snapshots)
    after = [s for s in snapshots if s.time_millis >= value]
    assert history.at_or_after(value) == (after[0] if after else None)
    marked = [s for s in snapshots if s.watermark is not None and s.watermark <= value]
    if marked:
        assert history.before_watermark(value) == marked[-1]
    else:
        with pytest.raises(NotFoundError, match=f"watermark of {value} or earlier"):
            history.before_watermark(value)


def test_many_tags_are_not_all_named() -> None:
    tags = {f"t{i:02}": snapshot(1) for i in range(22)}
    assert history_of([snapshot(1)], tags).tag_names().endswith("t18, t19 and 2 more")
    assert history_of([], dict(list(tags.items())[:20])).tag_names().endswith("t18, t19")
    assert history_of([]).tag_names() == "none"


def test_a_table_without_snapshots_has_none_to_name() -> None:
    with pytest.raises(NotFoundError, match="snapshot 3 does not exist: the table has none"):
        target(AtSnapshot(3), [])
    with pytest.raises(NotFoundError, match="at or before 3: the table has none"):
        target(AtTime(3), [])


def test_the_least_number_is_no_watermark() -> None:
    history = [snapshot(1, 1, watermark=5), snapshot(2, 2, watermark=-(2**63))]
    assert target(AtWatermark(5), history) == FullState(history[0], travelled=True)
    with pytest.raises(NotFoundError):
        target(AtWatermark(-(2**63)), history[1:])


def test_versions_that_are_not_numbers_of_snapshots() -> None:
    with pytest.raises(NotFoundError, match="is not a tag, a watermark-<number> or the id of a snapshot"):
        target(AtVersion("9" * 20), [snapshot(1)])
    with pytest.raises(NotFoundError, match=f"snapshot {'9' * 19} does not exist"):
        target(AtVersion("9" * 19), [snapshot(1)])
    with pytest.raises(NotFoundError, match="Use one of 1 to 1"):
        target(AtVersion(" "), [snapshot(1)])


@given(histories(), st.integers(-1, 42))
def test_each_mode_without_travel_gives_its_state(snapshots: list[Snapshot], millis: int) -> None:
    compactions = [s for s in snapshots if s.commit_kind == "COMPACT"]
    latest = snapshots[-1]
    assert target(Latest(), snapshots) == FullState(latest)
    assert target(Compacted(None), snapshots) == FullState((compactions or [latest])[-1])
    even = [s for s in compactions if s.commit_identifier % 2 == 0]
    assert target(Compacted(2), snapshots) == FullState((even or [latest])[-1])
    assert target(FilesSince(millis), snapshots) == FullState(latest, files_since=millis)
    later = [s for s in snapshots if s.time_millis >= millis]
    known = 0 < len(later) < len(snapshots)
    expected = FullState(later[0]) if known else FullState(latest, files_since=millis)
    assert target(CommittedSince(millis), snapshots) == expected


@given(histories(), st.integers(0, 12), st.integers(0, 12), st.sampled_from(["delta", "changelog", "diff"]))
def test_changes_between_ids_are_those_after_the_first(
    snapshots: list[Snapshot], start: int, end: int, mode: str
) -> None:
    startup = Between(str(start), str(end), mode)
    ids = [s.id for s in snapshots]
    if end < start:
        with pytest.raises(OptionError, match="ends before it starts"):
            target(startup, snapshots)
    elif start == end:
        assert target(startup, snapshots) == FullState(None)
    elif mode == "diff" and {start, end} <= set(ids):
        assert target(startup, snapshots) == Difference(snapshots[ids.index(start)], snapshots[ids.index(end)])
    elif mode != "diff" and start >= ids[0] - 1 and end <= ids[-1]:
        kinds = ("APPEND",) if mode == "delta" else ("APPEND", "COMPACT", "ANALYZE")
        chosen = tuple(s for s in snapshots if start < s.id <= end and s.commit_kind in kinds)
        assert target(startup, snapshots) == RecordChanges(chosen, mode == "changelog")
    else:
        with pytest.raises(NotFoundError):
            target(startup, snapshots)


@given(histories(), st.integers(0, 41), st.integers(0, 41), st.sampled_from(["delta", "diff"]))
def test_changes_between_times_are_those_after_the_first(
    snapshots: list[Snapshot], one: int, two: int, mode: str
) -> None:
    start, end = sorted((one, two))
    actual = target(BetweenTimes(start, end, mode), snapshots)
    within = [s for s in snapshots if start < s.time_millis <= end]
    before = [s for s in snapshots if s.time_millis <= start]
    if start == end or start > snapshots[-1].time_millis or end < snapshots[0].time_millis:
        assert actual == FullState(None)
    elif mode == "delta":
        assert actual == RecordChanges(tuple(s for s in within if s.commit_kind == "APPEND"), False)
    else:
        assert actual == Difference((before or snapshots)[-1 if before else 0], (within or before)[-1])


def test_tags_give_states_and_changes_between_them() -> None:
    one, two, three = (snapshot(i, i) for i in (1, 2, 3))
    tags = {"a": one, "b": two, "7": three, "2024-05-13": one, "2024-05-14": two}
    assert target(AtTag("a"), [three], tags) == FullState(one, travelled=True)
    assert target(AtVersion("7"), [three], tags) == FullState(three, travelled=True)
    assert target(Between("a", "b", "delta"), [three], tags) == Difference(one, two)
    assert target(Between("a", "a", "delta"), [three], tags) == FullState(None)
    by_id = Between("a", "b", "delta", tags_are_snapshots=True)
    assert target(by_id, [one, two, three], tags) == RecordChanges((two,), False)
    assert target(ToAutoTag("2024-05-14"), [three], tags) == Difference(one, two)
    assert target(ToAutoTag("2024-05-13"), [three], tags) == FullState(None)
    assert target(ToAutoTag("2024-05-15"), [three], tags) == FullState(None)
    for wrong in (Between("b", "a", "delta"), Between("a", "x", "delta"), ToAutoTag("a"), replace(by_id, mode="diff")):
        with pytest.raises(OptionError):
            target(wrong, [three], tags)


def test_what_changes_there_are() -> None:
    with pytest.raises(NotFoundError, match=r"snapshots 7 to 8 are there \(db\.t\)\. Use 6 to 8\."):
        target(Between("5", "8", "delta"), [snapshot(7), snapshot(8)])


def test_watermarks_as_a_version() -> None:
    history = [snapshot(i, i, watermark=10 * i) for i in (1, 2, 3)]
    assert target(AtVersion("watermark-11"), history) == FullState(history[1], travelled=True)


@pytest.mark.parametrize("startup", [AtSnapshot(3), AtTag("c"), AtVersion("c"), AtTime(0), AtWatermark(99)])
def test_errors_name_what_there_is(startup: Startup) -> None:
    history = [snapshot(i, i) for i in (7, 8)]
    with pytest.raises(PaimonError) as raised:
        target(startup, history, {"a": history[0], "b": history[0]})
    assert "a, b" in str(raised.value)
    if startup == AtSnapshot(3):
        assert str(raised.value) == "snapshot 3 is gone (db.t). Use one of 7 to 8, or a tag: a, b."


@pytest.mark.parametrize(
    "startup", [Latest(), Compacted(None), FilesSince(1), CommittedSince(1), BetweenTimes(1, 2, "delta")]
)
def test_a_table_without_snapshots_has_no_rows(startup: Startup) -> None:
    actual = target(startup, [])
    assert isinstance(actual, FullState)
    assert actual.snapshot is None


@pytest.mark.parametrize(
    ("options", "name", "day"),
    [
        ({}, "2024-05-14", 14),
        ({}, "2024-05-14 rest", 14),
        ({}, "20240514", None),
        ({}, "2024-02-30", None),
        ({"tag.period-formatter": "without_dashes"}, "20240514", 14),
        ({"tag.creation-period": "hourly"}, "2024-05-14 10", 14),
        ({"tag.creation-period": "hourly", "tag.period-formatter": "without_dashes"}, "20240514 10", 14),
        ({"tag.creation-period": "hourly", "tag.period-formatter": "without_dashes_and_spaces"}, "2024051410", 14),
        ({"tag.creation-period": "two-hours"}, "2024-05-14 10", 14),
        ({"tag.creation-period-duration": "15 min"}, "202405141015", 14),
        ({"tag.creation-period": "hourly"}, "2024-05-14 25", None),
    ],
)
def test_names_of_automatic_tags(options: dict[str, str], name: str, day: int | None) -> None:
    time = AutoTagNames.of(TableModel(options)).time_of(name)
    assert (None if time is None else time.day) == day
