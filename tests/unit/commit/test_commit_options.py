"""Options of commits: empty ones, strict mode, statistics of deleted files, sequence numbers, callbacks."""

from importlib.metadata import EntryPoint, EntryPoints
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from maintenance.catalog import CatalogTable
from maintenance.commit.commit import append_or_abort
from maintenance.commit.identity import CommitIdentity
from maintenance.errors import ConflictError, DataError, InfrastructureError, OptionError, UnsupportedError
from maintenance.format.metadata.manifest import FileKind
from maintenance.format.metadata.simple_stats import EMPTY_STATS
from maintenance.format.metadata.snapshot import CommitKind
from maintenance.format.rows.binary_row import EMPTY_ROW
from maintenance.operations.checks.fsck import fsck
from maintenance.operations.compaction.compact import compact
from maintenance.operations.refs.create_tag import create_tag
from maintenance.operations.refs.delete_tag import delete_tag
from maintenance.options import callbacks
from maintenance.write.rows import conform
from maintenance.write.state import WriteState
from maintenance.write.table_write import write_rows
from tests.tables import create_table, get_table, keyed, live_files


def nothing() -> pa.Table:
    return keyed({})


def test_a_commit_without_rows_is_a_snapshot_where_the_options_say_so(tmp_path: Path) -> None:
    table = create_table(tmp_path)
    assert table.write_arrow(nothing()) == ()
    assert table.copy({"snapshot.ignore-empty-commit": "false"}).write_arrow(nothing()) == (1,)
    forced = table.copy({"commit.force-create-snapshot": "true"})
    assert forced.write_arrow(nothing()) == ()  # no stream
    assert forced.write_arrow(nothing(), commit_user="s", commit_identifier=1) == (2,)
    assert forced.write_arrow(nothing(), commit_user="s", commit_identifier=1) == ()
    snapshot = get_table(tmp_path).latest_snapshot()
    assert snapshot is not None
    assert (snapshot.commit_kind, snapshot.total_record_count) == (CommitKind.APPEND, 0)
    assert get_table(tmp_path).to_arrow().num_rows == 0


PARTS = (("p", "INT NOT NULL"), ("id", "INT NOT NULL"), ("v", "STRING"))


def of_partition(p: int, v: str) -> pa.Table:
    return pa.table({"p": pa.array([p], pa.int32()), "id": pa.array([1], pa.int32()), "v": [v]})


def test_strict_mode_gives_up_where_others_have_replaced_files_of_the_partition(tmp_path: Path) -> None:
    table = create_table(tmp_path, PARTS, ("p", "id"), partition_keys=("p",))
    for part in (1, 1, 2):
        table.write_arrow(of_partition(part, "a"), commit_user="w")
    assert compact(None, table, full=True, partitions=[{"p": "1"}]).snapshot_ids == (4,)
    strict = table.copy({"commit.strict-mode.last-safe-snapshot": "3"})
    with pytest.raises(ConflictError, match=r"snapshot 4 \(COMPACT\).*same partitions"):
        strict.write_arrow(of_partition(1, "b"), commit_user="w")
    assert strict.write_arrow(of_partition(2, "b"), commit_user="w") == (5,)
    assert table.copy({"commit.strict-mode.last-safe-snapshot": "4"}).write_arrow(of_partition(1, "b")) == (6,)
    assert table.copy({"commit.strict-mode.last-safe-snapshot": "-1"}).write_arrow(of_partition(1, "c")) == (7,)
    # Rows that another user added are lost to an overwrite alone.
    report = compact(None, strict.copy({"commit.strict-mode.last-safe-snapshot": "4"}), full=True)
    assert len(report.snapshot_ids) == 1


def test_entries_of_deleted_files_lose_their_statistics(tmp_path: Path) -> None:
    table = create_table(tmp_path, options={"manifest.delete-file-drop-stats": "true"})
    for text in ("a", "b"):
        table.write_arrow(keyed({1: text}))
    compact(None, table, full=True)
    snapshot = table.latest_snapshot()
    assert snapshot is not None
    delta = table.manifests.delta_entries(snapshot)
    deleted = [e.file for e in delta if e.kind == FileKind.DELETE]
    assert [(f.value_stats, f.value_stats_cols) for f in deleted] == [(EMPTY_STATS, ())] * 2
    assert all(e.file.value_stats != EMPTY_STATS for e in delta if e.kind == FileKind.ADD)
    assert table.to_arrow().to_pylist() == [{"id": 1, "v": "b"}]


def sequences(table: CatalogTable) -> list[str | None]:
    ids = range(1, (table.snapshots.latest_id() or 0) + 1)
    key = "sequence.generation.max-sequence-number"
    return [(table.snapshots.get(i).properties or {}).get(key) for i in ids]


def test_snapshots_say_the_largest_sequence_number(tmp_path: Path) -> None:
    table = create_table(tmp_path, options={"bucket": "2"})
    table.write_arrow(keyed({1: "a", 2: "b", 3: "c"}))
    numbered = table.copy({"write.sequence-number-init-mode": "snapshot"})
    numbered.write_arrow(keyed({1: "d"}))
    compact(None, numbered, full=True)
    numbered.write_arrow(keyed(dict.fromkeys(range(9), "e")))
    live = [e.file.max_sequence_number for e in table.manifests.live_entries(table.snapshots.get(4))]
    first, *later = sequences(table)
    assert first is None
    assert later[0] == later[1] is not None
    assert later[2] == str(max(live))


def test_partitions_must_be_times_where_the_option_is_strict(tmp_path: Path) -> None:
    options = {"partition.timestamp-formatter": "yyyyMMdd", "partition.timestamp-format.strict": "true"}
    fields = (("d", "STRING NOT NULL"), ("v", "STRING"))
    table = create_table(tmp_path, fields, (), options, partition_keys=("d",))
    table.write_arrow(pa.table({"d": ["20240131"], "v": ["a"]}))
    with pytest.raises(DataError, match=r"partition d=2024-01-31, whose values are not a time"):
        table.write_arrow(pa.table({"d": ["20240131", "2024-01-31"], "v": ["a", "b"]}))
    assert get_table(tmp_path).to_arrow().num_rows == 1
    # Without a pattern or formatter any text will do, as in Paimon.
    free = create_table(
        tmp_path, fields, (), {"partition.timestamp-format.strict": "true"}, partition_keys=("d",), name="db.u"
    )
    free.write_arrow(pa.table({"d": ["x"], "v": ["a"]}))


def test_records_are_as_new_as_their_snapshots(tmp_path: Path) -> None:
    table = create_table(tmp_path, options={"sequence.snapshot-ordering": "true"})
    context = table.write_context()
    state = WriteState(sequences={(EMPTY_ROW, 0): 500})
    # The second of two writers has counted from far behind the first.
    for rows, start in (({1: "first", 2: "first"}, state), ({1: "second"}, WriteState()), ({2: "third"}, WriteState())):
        messages = write_rows(context, start, conform(keyed(rows), None, context))
        append_or_abort(table.commit_target(), messages, CommitIdentity("u"), state=start)
    expected = {1: "second", 2: "third"}
    assert {row["id"]: row["v"] for row in table.to_arrow().to_pylist()} == expected
    bounds = [(f.min_sequence_number, f.max_sequence_number) for f in live_files(table)]
    assert sorted(bounds) == [(1, 1), (2, 2), (3, 3)]
    assert compact(None, table, full=True).failed == ()
    (file,) = live_files(table)
    assert (file.min_sequence_number, file.max_sequence_number) == (2, 3)
    assert {row["id"]: row["v"] for row in table.to_arrow().to_pylist()} == expected
    table.write_arrow(keyed({1: "fourth"}))
    assert {row["id"]: row["v"] for row in table.to_arrow().to_pylist()} == {1: "fourth", 2: "third"}
    compact(None, table, full=True)
    assert {row["id"]: row["v"] for row in table.to_arrow().to_pylist()} == {1: "fourth", 2: "third"}
    assert fsck(table.file_io, table.location, deep=True).faults == ()
    with pytest.raises(OptionError, match="without 'write-only'"):
        create_table(tmp_path, options={"sequence.snapshot-ordering": "true", "write-only": "false"}, name="db.u")


TOLD: list[tuple[Any, ...]] = []


def recorder(param: str | None) -> Any:
    return lambda *reported: TOLD.append((param, *reported))


def breaker(_param: str | None) -> Any:
    def fail(*_told: Any) -> None:
        raise ValueError("nobody listens")

    return fail


@pytest.fixture
def offered(monkeypatch: pytest.MonkeyPatch) -> None:
    TOLD.clear()
    points = [
        EntryPoint("com.Recorder", f"{__name__}:recorder", callbacks.COMMIT_GROUP),
        EntryPoint("com.Breaker", f"{__name__}:breaker", callbacks.COMMIT_GROUP),
        EntryPoint("com.Tags", f"{__name__}:recorder", callbacks.TAG_GROUP),
    ]
    monkeypatch.setattr(callbacks, "entry_points", lambda **chosen: EntryPoints(points).select(**chosen))


@pytest.mark.usefixtures("offered")
def test_callbacks_are_told_of_commits_and_tags(tmp_path: Path) -> None:
    options = {
        "commit.callbacks": "com.Recorder",
        "commit.callback.com.Recorder.param": "x",
        "tag.callbacks": "com.Tags",
    }
    table = create_table(tmp_path, options=options)
    table.write_arrow(keyed({1: "a"}))
    create_tag(table, "t")
    delete_tag(table, "t")
    (commit, *tags) = TOLD
    assert commit[:2] == ("x", "db.t")
    assert commit[2] == table.snapshots.get(1)
    assert tags == [(None, "db.t", "created", "t"), (None, "db.t", "deleted", "t")]


@pytest.mark.usefixtures("offered")
def test_a_callback_that_fails_leaves_the_commit(tmp_path: Path) -> None:
    table = create_table(tmp_path, options={"commit.callbacks": "com.Breaker"})
    with pytest.raises(InfrastructureError, match=r"callback 'com.Breaker'.*nobody listens"):
        table.write_arrow(keyed({1: "a"}))
    assert table.to_arrow().num_rows == 1


def test_a_callback_that_nobody_offers_is_refused_before_anything_is_written(tmp_path: Path) -> None:
    with pytest.raises(UnsupportedError, match=r"'commit.callbacks' names 'com.None'"):
        create_table(tmp_path, options={"commit.callbacks": "com.None"})
    table = create_table(tmp_path)
    with pytest.raises(UnsupportedError, match=r"'commit.callbacks' names 'com.None'"):
        table.copy({"commit.callbacks": "com.None"}).write_arrow(keyed({1: "a"}))
    assert table.latest_snapshot() is None
