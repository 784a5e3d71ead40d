"""Following a table: every start joins the changes without gap or overlap, whatever the size of the steps."""

import tempfile
from collections.abc import Mapping
from functools import partial
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from maintenance.catalog import CatalogTable
from maintenance.errors import NotFoundError, OptionError
from maintenance.operations.compaction.compact import compact
from maintenance.operations.compaction.produce_changelog import produce_changelog
from maintenance.operations.expiry.expire_snapshots import expire_snapshots
from maintenance.operations.refs.rollback_to import rollback_to
from maintenance.options.model import TableModel
from maintenance.scan.stream_position import Limits, StreamPosition
from maintenance.table.stream import TableStream
from maintenance.types.row_kind import RowKind
from tests.examples import examples
from tests.small_tables import put, rows, set_commit_time, small_table

Row = tuple[str, int, str]
ALL = Limits()


def taken(stream: TableStream, start: StreamPosition, end: StreamPosition) -> list[Row]:
    read = stream.read(start, end, with_kind=True)
    actual = [table for split in stream.between(start, end) for table in read.tables(split)]
    listed = pa.concat_tables(actual).to_pylist() if actual else []
    return [(RowKind(row["_VALUE_KIND"]).text, row["k"], row["v"]) for row in listed]


def follow(table: CatalogTable, start: StreamPosition, limits: Limits = ALL) -> tuple[list[Row], StreamPosition]:
    """Everything from a position to what is there now, step by step; each step by a stream that knows nothing else."""
    collected: list[Row] = []
    at = start
    for _ in range(1000):
        stream = TableStream(table)
        following, _ = stream.advance(at, stream.end(), limits)
        if following == at:
            return collected, at
        restored = StreamPosition.of_json(following.to_json())
        collected += taken(TableStream(table), at, restored)
        at = restored
    raise AssertionError("the stream does not end")


def applied(changes: list[Row]) -> list[tuple[int, str]]:
    state: dict[int, str] = {}
    for kind, key, value in changes:
        if kind in ("+I", "+U"):
            state[key] = value
        else:
            state.pop(key, None)
    return sorted(state.items())


STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("put"), st.dictionaries(st.integers(0, 4), st.text("ab", max_size=1), min_size=1)),
        st.tuples(st.just("delete"), st.just({}) | st.dictionaries(st.integers(0, 4), st.just(""), min_size=1)),
        st.tuples(st.just("compact"), st.just({})),
        st.tuples(st.just("produce"), st.just({})),
    ),
    min_size=1,
    max_size=6,
)


def step(table: CatalogTable, what: str, values: Mapping[int, str]) -> None:
    if what == "put":
        put(table, values)
    elif what == "delete" and values:
        put(table, {}, values)
    elif what == "compact":
        compact(None, table, full=True)
    elif table.options.get("changelog-producer") in ("lookup", "full-compaction"):
        produce_changelog(None, table)


@settings(max_examples=examples(20))
@given(
    STEPS,
    STEPS,
    st.sampled_from(["none", "input", "lookup", "full-compaction"]),
    st.sampled_from([Limits(), Limits(max_files=1), Limits(max_rows=2)]),
)
def test_a_stream_that_starts_with_the_state_ends_with_the_state(
    before: list[tuple[str, dict[int, str]]],
    after: list[tuple[str, dict[int, str]]],
    producer: str,
    limits: Limits,
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        table = small_table(Path(folder), {"changelog-producer": producer})
        for what, values in before:
            step(table, what, values)
        changes, at = follow(table, TableStream(table).start(), limits)
        for what, values in after:
            step(table, what, values)
            more, at = follow(table, at, limits)
            changes += more
        step(table, "produce", {})
        more, _ = follow(table, at, limits)
        assert applied([*changes, *more]) == rows(table)
        if producer in ("lookup", "full-compaction"):
            # Nothing twice: each addition meets no row, each retraction the row that is there.
            state: dict[int, str] = {}
            for kind, key, value in [*changes, *more]:
                if kind in ("+I", "+U"):
                    assert key not in state
                    state[key] = value
                else:
                    assert state.pop(key) == value


def filled(folder: Path, options: Mapping[str, str] | None = None) -> CatalogTable:
    """Snapshots 1 to 5, of which 4 is a compaction."""
    table = small_table(folder, {"bucket": "1", **(options or {})})
    for i in range(3):
        put(table, {i: "x", 9: f"{i}"})
    compact(None, table, full=True)
    put(table, {}, [9])
    for snapshot_id in range(1, 6):
        set_commit_time(table, snapshot_id, 1000 * snapshot_id)
    return table


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({}, StreamPosition(5, full=True)),
        ({"scan.mode": "latest-full"}, StreamPosition(5, full=True)),
        ({"scan.mode": "latest"}, StreamPosition(6)),
        ({"scan.mode": "compacted-full"}, StreamPosition(4, full=True)),
        ({"scan.snapshot-id": "2"}, StreamPosition(2)),
        ({"scan.version": "2"}, StreamPosition(2)),
        ({"scan.mode": "from-snapshot", "scan.snapshot-id": "3"}, StreamPosition(3)),
        ({"scan.mode": "from-snapshot-full", "scan.snapshot-id": "3"}, StreamPosition(3, full=True)),
        ({"scan.timestamp-millis": "2000"}, StreamPosition(2)),
        ({"scan.timestamp-millis": "2001"}, StreamPosition(3)),
        ({"scan.timestamp-millis": "1"}, StreamPosition(1)),
        ({"scan.timestamp-millis": "99000"}, StreamPosition(6)),
    ],
)
def test_where_a_stream_starts(tmp_path: Path, options: dict[str, str], expected: StreamPosition) -> None:
    assert TableStream(filled(tmp_path).copy(options)).start() == expected


def test_changes_without_a_producer_are_upserts(tmp_path: Path) -> None:
    table = filled(tmp_path)
    changes, end = follow(table, StreamPosition(2))
    assert sorted(changes) == [("+I", 1, "x"), ("+I", 2, "x"), ("+I", 9, "1"), ("+I", 9, "2"), ("-D", 9, "-")]
    assert end == StreamPosition(6)


def test_a_stream_starts_before_the_first_commit(tmp_path: Path) -> None:
    for options in ({}, {"scan.mode": "latest"}, {"scan.snapshot-id": "1"}):
        table = small_table(tmp_path / str(len(options)) / "".join(options), {"bucket": "1"})
        start = TableStream(table.copy(options)).start()
        assert follow(table, start) == ([], start)
        put(table, {1: "a"})
        changes, at = follow(table, start)
        put(table, {2: "b"})
        more, _ = follow(table, at)
        assert [*changes, *more] == [("+I", 1, "a"), ("+I", 2, "b")]


def test_a_consumer_holds_expiry_back_and_goes_on_where_it_was(tmp_path: Path) -> None:
    table = filled(tmp_path).copy({"consumer-id": "c"})
    stream = TableStream(table)
    start = stream.start()
    stream.progress(StreamPosition(5, 0, full=True))
    assert table.consumers.next_snapshots() == {}
    end, _ = stream.advance(start, stream.end(), Limits())
    stream.progress(end)
    assert table.consumers.next_snapshots() == {"c": 6}
    for i in range(3):
        put(table, {i: "later"})
    assert expire_snapshots(table, retain_max=1, retain_min=1).expired == (1, 2, 3, 4, 5)
    assert TableStream(table).start() == StreamPosition(6)
    assert TableStream(table.copy({"consumer.ignore-progress": "true"})).start() == StreamPosition(8, full=True)
    changes, _ = follow(table, TableStream(table).start())
    assert changes == [("+I", i, "later") for i in range(3)]


def test_expired_changes_are_read_from_long_lived_changelogs(tmp_path: Path) -> None:
    retention = {"changelog.num-retained.max": "100", "changelog.num-retained.min": "100"}
    for producer in ("none", "input"):
        table = filled(tmp_path / producer, {"changelog-producer": producer, **retention})
        wanted, _ = follow(table, StreamPosition(1))
        expire_snapshots(table, retain_max=1, retain_min=1)
        assert table.snapshots.list_ids() == [5]
        actual, end = follow(table, TableStream(table.copy({"scan.snapshot-id": "1"})).start())
        assert (actual, end) == (wanted, StreamPosition(6))


def test_a_gap_stops_the_stream(tmp_path: Path) -> None:
    table = filled(tmp_path)
    expire_snapshots(table, retain_max=1, retain_min=1)
    assert TableStream(table.copy({"scan.snapshot-id": "1"})).start() == StreamPosition(5)
    with pytest.raises(NotFoundError, match="snapshot 3, the next one of the stream, does not exist"):
        follow(table, StreamPosition(3))
    with pytest.raises(NotFoundError, match="this is another table"):
        follow(table, StreamPosition(7))


@pytest.mark.parametrize(
    "options",
    [
        {"scan.tag-name": "a"},
        {"scan.version": "a"},
        {"scan.mode": "incremental", "incremental-between": "1,2"},
        {"scan.watermark": "1"},
    ],
)
def test_what_a_stream_cannot_start_with(tmp_path: Path, options: dict[str, str]) -> None:
    with pytest.raises(OptionError, match="a stream cannot start"):
        TableStream(filled(tmp_path).copy(options)).start()


def test_engines_whose_records_are_parts_need_a_producer(tmp_path: Path) -> None:
    for engine in ("partial-update", "aggregation", "first-row"):
        table = small_table(tmp_path / engine, {"merge-engine": engine})
        with pytest.raises(OptionError, match=f"merge engine {engine} without a changelog producer"):
            TableStream(table)
        TableStream(table.copy({"changelog-producer": "lookup"}))


def test_overwritten_rows_are_taken_back_first(tmp_path: Path) -> None:
    table = small_table(tmp_path, {"bucket": "1", "deletion-vectors.enabled": "true"})
    put(table, {1: "a", 2: "a"})
    compact(None, table, full=True)
    put(table, {1: "b"})
    compact(None, table)
    put(table, {3: "c"})
    table.overwrite_arrow(pa.table({"k": pa.array([2], pa.int64()), "v": ["d"]}))
    latest = table.snapshots.latest_id()
    assert latest is not None
    assert follow(table, StreamPosition(latest))[0] == []
    asked = table.copy({"streaming-read-overwrite": "true"})
    actual, _ = follow(asked, StreamPosition(latest))
    assert actual == [("-D", 1, "b"), ("-D", 2, "a"), ("-D", 3, "c"), ("+I", 2, "d")]
    split, _ = follow(asked, StreamPosition(latest), Limits(max_files=1))
    assert split == actual
    everything, _ = follow(asked, StreamPosition(1))
    assert applied(everything) == rows(table)
    expire_snapshots(table, retain_max=1, retain_min=1)
    with pytest.raises(NotFoundError, match="the rows that snapshot"):
        follow(asked, StreamPosition(latest))


def test_appended_by_an_overwrite(tmp_path: Path) -> None:
    table = small_table(tmp_path, primary_key=False)
    put(table, {1: "a"})
    table.overwrite_arrow(pa.table({"k": pa.array([2], pa.int64()), "v": ["d"]}))
    assert follow(table, StreamPosition(2))[0] == []
    asked = table.copy({"streaming-read-append-overwrite": "true"})
    assert follow(asked, StreamPosition(1))[0] == [("+I", 1, "a"), ("+I", 2, "d")]


def test_starts_with_files_made_since(tmp_path: Path) -> None:
    assert TableStream(small_table(tmp_path / "none").copy({"scan.file-creation-time-millis": "1"})).start() == (
        StreamPosition(1, full=True)
    )
    table = small_table(tmp_path, {"bucket": "1"})
    for number in range(4):
        put(table, {number: "x"})
        set_commit_time(table, number + 1, 1000 * (number + 1))
    after_all = str(2**42)
    for key in ("scan.file-creation-time-millis", "scan.creation-time-millis"):
        late = table.copy({key: after_all})
        assert TableStream(late).start() == StreamPosition(4, full=True)
        assert follow(late, StreamPosition(4, full=True))[0] == []
    assert len(follow(table.copy({"scan.file-creation-time-millis": "0"}), StreamPosition(4, full=True))[0]) == 4
    assert TableStream(table.copy({"scan.creation-time-millis": "2500"})).start() == StreamPosition(3)
    assert TableStream(table.copy({"scan.creation-time-millis": "1000"})).start() == StreamPosition(4, full=True)


def test_limits_are_those_of_options_and_a_step_ends_with_a_split(tmp_path: Path) -> None:
    with pytest.raises(OptionError, match=r"Set .*, or neither"):
        Limits.of(TableModel({"read.stream.minRowsPerTrigger": "3"}))
    limits = Limits.of(TableModel({"read.stream.maxfilespertrigger": "3", "read.stream.maxBytesPerTrigger": "1 kb"}))
    assert limits == Limits(max_files=3, max_bytes=1024)
    table = filled(tmp_path)
    stream = TableStream(table)
    ends = []
    at = StreamPosition(1)
    while at < stream.end():
        at, admission = stream.advance(at, stream.end(), Limits(max_rows=3))
        ends.append((at, admission.rows))
    # Rows that a batch begins with may be more than the limit; it ends with the split that reaches it.
    assert ends == [(StreamPosition(3), 4), (StreamPosition(6), 3)]


@pytest.mark.parametrize("later", [1, 2, 3])
def test_a_stream_stops_where_what_it_has_read_was_rolled_back(later: int, tmp_path: Path) -> None:
    table = small_table(tmp_path, {"bucket": "1"})
    for number in range(3):
        put(table, {number: "x"})
    limits = Limits(max_files=1)
    _, whole = follow(table, StreamPosition(1))
    partly, _ = TableStream(table).advance(StreamPosition(1), TableStream(table).end(), limits)
    assert (whole.snapshot_id, partly.snapshot_id) == (4, 2)
    rollback_to(table, snapshot_id=1)
    for number in range(later):
        put(table, {number + 10: "y"})
    for restored in (whole, StreamPosition.of_json(whole.to_json())):
        with pytest.raises(NotFoundError, match=r"snapshot (3|4)"):
            follow(table, restored)
        with pytest.raises(NotFoundError, match="snapshot 3, which the stream has read, was rolled back"):
            TableStream(table).between(StreamPosition(1), restored)
    changes, _ = follow(table, StreamPosition.of_json(partly.to_json()))
    assert changes == [("+I", number + 10, "y") for number in range(later)], "snapshot 1 is still what it was"


def test_a_stream_keeps_no_plan_of_a_snapshot_that_was_rolled_back(tmp_path: Path) -> None:
    table = small_table(tmp_path, {"bucket": "1"})
    put(table, {1: "x"})
    stream = TableStream(table)
    at, _ = stream.advance(StreamPosition(1), stream.end(), Limits())
    put(table, {2: "x"})
    stream.advance(at, stream.end(), Limits())
    rollback_to(table, snapshot_id=1)
    put(table, {3: "y"})
    following, _ = stream.advance(at, stream.end(), Limits())
    assert taken(stream, at, following) == [("+I", 3, "y")]


def test_a_position_without_what_was_seen_is_read_as_before(tmp_path: Path) -> None:
    table = small_table(tmp_path, {"bucket": "1"})
    put(table, {1: "x"})
    put(table, {2: "y"})
    earlier = StreamPosition.of_json({"snapshot": 2, "splits": 0, "full": False})
    assert follow(table, earlier)[0] == [("+I", 2, "y")]


def watermarked(folder: Path) -> CatalogTable:
    """Snapshots 1 to 4, with the watermarks none, 10, 20 and 30."""
    table = small_table(folder, {"bucket": "1"})
    put(table, {0: "x"})
    for watermark in (10, 20, 30):
        put(table.copy({"end-input.watermark": str(watermark)}), {watermark: "x"})
    return table


@pytest.mark.parametrize(("bound", "last"), [(5, 1), (10, 2), (19, 2), (20, 3), (29, 3), (30, 4), (99, 4)])
def test_a_stream_ends_behind_its_watermark(tmp_path: Path, bound: int, last: int) -> None:
    table = watermarked(tmp_path).copy({"scan.bounded.watermark": str(bound), "scan.snapshot-id": "1"})
    stream = TableStream(table)
    assert stream.end().snapshot_id == last + 1
    changes, at = follow(table, stream.start(), Limits())
    assert sorted(key for _, key, _ in changes) == [0, 10, 20, 30][:last]
    assert follow(table, at, Limits())[0] == []


def test_the_state_that_a_stream_begins_with_is_read_behind_its_watermark_too(tmp_path: Path) -> None:
    table = watermarked(tmp_path).copy({"scan.bounded.watermark": "10"})
    changes, at = follow(table, TableStream(table).start(), Limits())
    assert sorted(key for _, key, _ in changes) == [0, 10, 20, 30]
    put(table, {40: "x"})
    assert follow(table, at, Limits())[0] == []


def test_a_stream_stays_behind_by_its_delay(tmp_path: Path) -> None:
    table = small_table(tmp_path, {"bucket": "1", "streaming.read.snapshot.delay": "10 s"})
    for key in range(3):
        put(table, {key: "x"})
    times = [table.snapshots.get(number).time_millis for number in (1, 2, 3)]
    for now, end in ((times[0], 1), (times[0] + 9_999, 1), (times[2] + 10_000, 4)):
        assert TableStream(table, clock=partial(int, now)).end().snapshot_id == end
