"""Commits: what a snapshot says, replays, lost races, groups that lose to another writer."""

import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path

import pyarrow as pa
import pytest

from maintenance.catalog import CatalogTable, RemoveOption, SetOption
from maintenance.commit import commit as module
from maintenance.commit.commit import abort, append_or_abort, commit_compact
from maintenance.commit.identity import CommitIdentity
from maintenance.commit.replays import already_committed
from maintenance.compaction.plan import BucketCompaction
from maintenance.compaction.rewrite import rewrite_bucket
from maintenance.compaction.rewriting import CompactionResult, CompactionTask
from maintenance.errors import CommitError, ConflictError
from maintenance.format.metadata.snapshot import BATCH_IDENTIFIER, CommitKind, Snapshot
from maintenance.format.rows.binary_row import EMPTY_ROW
from maintenance.fs.file_io import FileIO
from maintenance.fs.staged import StagedFile
from maintenance.operations.compaction.compact import compact
from maintenance.operations.compaction.plan import CompactionScope, plan_compaction
from maintenance.operations.expiry.expire_snapshots import expire_snapshots
from maintenance.operations.indexes.rewrite_file_index import rewrite_file_index
from maintenance.operations.refs.rollback_to import rollback_to
from maintenance.read.data_file import ReadContext
from maintenance.write.message import CommitMessage
from maintenance.write.rows import conform
from maintenance.write.table_write import TableWrite
from tests.tables import (
    create_table,
    data_files,
    files_on_disk,
    get_table,
    keyed,
    live,
    live_files,
    open_warehouse,
    state,
)
from tests.unit.commit.entries import add
from tests.unit.metadata.states import HandMade

ME = CommitIdentity("me")


def latest(table: CatalogTable) -> Snapshot:
    snapshot = table.latest_snapshot()
    assert snapshot is not None
    return snapshot


def written(table: CatalogTable, rows: dict[int, str | None]) -> list[CommitMessage]:
    context = table.write_context()
    writer = TableWrite(context, table.write_state("u"))
    writer.write(conform(keyed(rows), None, context))
    return writer.finish()


def compacted(table: CatalogTable) -> list[CompactionResult]:
    """Every bucket compacted in full and not committed yet."""
    plan = plan_compaction(table, CompactionScope(full=True), now_millis=0)
    write = table.write_context()
    read = ReadContext(table.file_io, {table.schema.id: table.schema}, write.row_fields)
    units = [unit for unit in plan.units if isinstance(unit, BucketCompaction)]
    assert len(units) == len(plan.units)
    return [rewrite_bucket(CompactionTask(write, read, unit)) for unit in units]


def test_what_a_snapshot_says(tmp_path: Path) -> None:
    table = create_table(tmp_path)
    table.write_arrow(keyed({1: "a", 2: "b"}), commit_user="me", commit_identifier=7)
    snapshot = latest(table)
    assert (snapshot.id, snapshot.schema_id, snapshot.version) == (1, 0, 3)
    assert (snapshot.commit_user, snapshot.commit_identifier, snapshot.commit_kind) == ("me", 7, CommitKind.APPEND)
    assert (snapshot.total_record_count, snapshot.delta_record_count) == (2, 2)
    table.write_arrow(keyed({1: "c"}))
    assert latest(table).commit_identifier == BATCH_IDENTIFIER
    assert (latest(table).total_record_count, latest(table).delta_record_count) == (3, 1)
    compact(None, table, full=True)
    assert latest(table).commit_kind == CommitKind.COMPACT
    assert (latest(table).total_record_count, latest(table).delta_record_count) == (2, -1)
    for name, size in (
        (latest(table).base_manifest_list, latest(table).base_manifest_list_size),
        (latest(table).delta_manifest_list, latest(table).delta_manifest_list_size),
    ):
        assert len(table.file_io.read_bytes(table.paths.manifest(name))) == size


def test_the_watermark_never_falls(tmp_path: Path) -> None:
    table = create_table(tmp_path)
    seen = []
    for i, watermark in enumerate([None, 100, 50, None, 200]):
        messages = written(table, {i: "x"})
        append_or_abort(table.commit_target(), messages, CommitIdentity("me", i, watermark))
        seen.append(latest(table).watermark)
    assert seen == [None, 100, 100, 100, 200]


def test_a_replay_commits_nothing(tmp_path: Path) -> None:
    table = create_table(tmp_path)
    assert table.write_arrow(keyed({1: "a"}), commit_user="me", commit_identifier=5) == (1,)
    before = files_on_disk(table)
    assert table.write_arrow(keyed({1: "x"}), commit_user="me", commit_identifier=5) == ()
    assert table.write_arrow(keyed({1: "x"}), commit_user="me", commit_identifier=4) == ()
    assert files_on_disk(table) == before
    assert table.write_arrow(keyed({1: "b"}), commit_user="you", commit_identifier=5) == (2,)
    assert table.write_arrow(keyed({1: "c"}), commit_user="me", commit_identifier=6) == (3,)
    assert state(table) == {1: "c"}
    compact(None, table, full=True)
    assert table.write_arrow(keyed({1: "x"}), commit_user="me", commit_identifier=6) == ()


def test_commits_without_identifier_are_never_replays(tmp_path: Path) -> None:
    table = create_table(tmp_path)
    table.write_arrow(keyed({1: "a"}), commit_user="me", commit_identifier=1)
    assert table.write_arrow(keyed({1: "b"}), commit_user="me") == (2,)
    assert table.write_arrow(keyed({1: "c"}), commit_user="me") == (3,)
    assert already_committed(table.commit_target(), CommitIdentity("me", 1))
    assert not already_committed(table.commit_target(), CommitIdentity("me", 2)), "a batch commit counts for no number"


def test_with_nothing_to_commit_no_snapshot_is_made(tmp_path: Path) -> None:
    table = create_table(tmp_path)
    assert table.write_arrow(keyed({})) == ()
    assert append_or_abort(table.commit_target(), [], ME) == ((), [])
    assert table.latest_snapshot() is None
    assert commit_compact(table.commit_target(), [], ME).snapshot_id is None


def test_two_compactions_of_one_snapshot(tmp_path: Path) -> None:
    """The one that comes second loses the buckets that the first replaced; its files go, and it says so."""
    table = create_table(tmp_path, options={"bucket": "2"})
    for v in "ab":
        table.write_arrow(keyed(dict.fromkeys(range(10), v)))
    first, second = compacted(table), compacted(table)
    done = commit_compact(table.commit_target(), [first[0].message], ME)
    assert (done.snapshot_id, done.lost) == (3, {})
    late = commit_compact(table.commit_target(), [result.message for result in second], CommitIdentity("other"))
    group = (first[0].message.partition, first[0].message.bucket)
    assert late.snapshot_id == 4, "the other bucket is committed"
    assert set(late.lost) == {group}
    assert "already replaced" in late.lost[group]
    abort(table.commit_target(), [first[1].message])
    assert files_on_disk(table) == data_files(table)
    assert state(table) == dict.fromkeys(range(10), "b")
    assert {file.level for file in live_files(table)} == {5}


def test_an_operation_that_loses_plans_its_groups_anew(tmp_path: Path) -> None:
    table = create_table(tmp_path, options={"bucket": "2"})
    for v in "ab":
        table.write_arrow(keyed(dict.fromkeys(range(10), v)))
    rival = compacted(table)

    def interfere(line: str) -> None:
        # Told after planning: another compaction of bucket 0 and a write come first.
        if " to compact: " in line and table.snapshots.latest_id() == 2:
            commit_compact(table.commit_target(), [rival[0].message], CommitIdentity("rival"))
            table.write_arrow(keyed(dict.fromkeys(range(10), "c")))

    report = compact(None, table, full=True, progress=interfere)
    abort(table.commit_target(), [rival[1].message])
    assert [group.outcome for group in report.groups] == ["conflict_retried", "committed"]
    assert len(report.snapshot_ids) == 2
    assert state(table) == dict.fromkeys(range(10), "c")
    assert files_on_disk(table) == data_files(table)


def test_a_write_during_a_compaction_survives(tmp_path: Path) -> None:
    table = create_table(tmp_path)
    for v in "ab":
        table.write_arrow(keyed({1: v, 2: v}))
    results = compacted(table)
    table.write_arrow(keyed({2: "new"}))
    table.write_arrow(keyed({1: None}), ["-D"])
    done = commit_compact(table.commit_target(), [result.message for result in results], ME)
    assert (done.snapshot_id, done.lost) == (5, {})
    assert state(table) == {2: "new"}
    assert sorted(file.level for file in live_files(table)) == [0, 0, 5]
    compact(None, table, full=True)
    assert state(table) == {2: "new"}


@dataclass(frozen=True, slots=True)
class Outrun(FileIO):
    """Storage where another writer publishes first, every time."""

    rival: Callable[[], object] = object

    def stage(self, path: str, data: bytes) -> StagedFile:
        self.rival()
        return FileIO.stage(self, path, data)


@dataclass(frozen=True, slots=True)
class Slow(FileIO):
    """Storage on which others are busy while a commit writes its manifests."""

    meanwhile: list[Callable[[], object]] = field(default_factory=list)

    def write_bytes(self, path: str, data: bytes) -> None:
        FileIO.write_bytes(self, path, data)
        if self.meanwhile and "/manifest/manifest-list-" in path:
            self.meanwhile.pop()()


@pytest.mark.parametrize("how", ["expired", "rolled back"])
def test_a_snapshot_follows_the_latest_one_even_if_its_number_is_free(tmp_path: Path, how: str) -> None:
    """Its base has expired, and the snapshot that took its number too: there it would never be seen."""
    table = create_table(tmp_path)
    table.write_arrow(keyed({1: "a"}))
    table.write_arrow(keyed({2: "b"}))

    def meanwhile() -> None:
        if how == "rolled back":
            rollback_to(table, snapshot_id=1)
            return
        for _ in range(3):
            table.write_arrow(keyed({1: "rival"}))
        expire_snapshots(table.copy({"snapshot.time-retained": "0 s"}), retain_min=1, retain_max=1)

    slow = replace(table, file_io=Slow(meanwhile=[meanwhile]))
    (made,) = slow.write_arrow(keyed({2: "mine"}))
    assert made == table.snapshots.latest_id() == (2 if how == "rolled back" else 6)
    assert state(table) == {1: "a" if how == "rolled back" else "rival", 2: "mine"}


def outrun(table: CatalogTable, rival: Callable[[], object]) -> CatalogTable:
    options = {"commit.max-retries": "2", "commit.min-retry-wait": "1 ms"}
    return replace(table, file_io=Outrun(rival=rival), dynamic_options=options)


def manifests_of(table: CatalogTable) -> tuple[int, int]:
    """Manifest files on storage, and those that some snapshot names."""
    named: set[str] = set()
    for snapshot_id in table.snapshots.list_ids():
        snapshot = table.snapshots.get(snapshot_id)
        for name in (snapshot.base_manifest_list, snapshot.delta_manifest_list):
            named |= {name, *(manifest.file_name for manifest in table.manifests.read_list(name))}
    return len(list(Path(table.location, "manifest").iterdir())), len(named)


def test_a_writer_that_always_comes_second_gives_up_and_cleans_up(tmp_path: Path) -> None:
    table = create_table(tmp_path)
    loser = outrun(table, lambda: table.write_arrow(keyed({1: "rival"})))
    with pytest.raises(CommitError, match="3 attempts"):
        loser.write_arrow(keyed({2: "b"}))
    assert table.snapshots.list_ids() == [1, 2, 3]
    assert state(table) == {1: "rival"}
    assert files_on_disk(table) == data_files(table)
    on_storage, named = manifests_of(table)
    assert on_storage == named


def test_a_compaction_that_always_comes_second_gives_up_and_cleans_up(tmp_path: Path) -> None:
    table = create_table(tmp_path)
    for v in "ab":
        table.write_arrow(keyed({1: v}))
    loser = outrun(table, lambda: table.write_arrow(keyed({2: "rival"})))
    report = compact(None, loser, full=True, max_retries=1)
    assert [group.outcome for group in report.groups] == ["failed"]
    assert report.snapshot_ids == ()
    assert state(table) == {1: "b", 2: "rival"}
    assert files_on_disk(table) == data_files(table)


def test_a_lost_race_is_tried_again(tmp_path: Path) -> None:
    table = create_table(tmp_path)
    turns = iter(range(2))
    winner = outrun(table, lambda: next(turns, None) is not None and table.write_arrow(keyed({1: "rival"})))
    assert winner.write_arrow(keyed({2: "b"})) == (3,)
    assert state(table) == {1: "rival", 2: "b"}
    on_storage, named = manifests_of(table)
    assert on_storage == named


def test_a_partition_keeps_its_number_of_buckets(tmp_path: Path) -> None:
    """Keys would go to other buckets than their older records: a key would be there twice."""
    fields = [("p", "INT NOT NULL"), ("id", "INT NOT NULL"), ("v", "STRING")]
    table = create_table(tmp_path, fields, ("p", "id"), {"bucket": "2"}, partition_keys=["p"])
    rows = keyed(dict.fromkeys(range(10), "a"))
    table.write_arrow(rows.append_column("p", [[1] * 10]))
    open_warehouse(tmp_path).alter_table("db.t", [SetOption("bucket", "4")])
    altered = get_table(tmp_path)
    before = files_on_disk(table)
    with pytest.raises(ConflictError, match="buckets, and is written with"):
        altered.write_arrow(rows.append_column("p", [[1] * 10]))
    assert files_on_disk(table) == before
    altered.write_arrow(rows.append_column("p", [[2] * 10]))
    assert altered.to_arrow().num_rows == 20
    with pytest.raises(ConflictError, match="buckets, and is written with"):
        table.write_arrow(rows.append_column("p", [[2] * 10]))
    table.write_arrow(rows.append_column("p", [[1] * 10]))
    compact(None, altered, full=True)
    assert altered.to_arrow(where="p = 1 and id = 3").num_rows == 1
    assert altered.to_arrow().num_rows == 20


def test_a_snapshot_has_the_time_of_its_commit(tmp_path: Path) -> None:
    table = create_table(tmp_path)
    before = time.time_ns() // 1_000_000
    table.write_arrow(keyed({1: "a"}))
    assert before <= table.snapshots.get(1).time_millis <= time.time_ns() // 1_000_000


def test_buckets_are_counted_again_when_files_are_committed(tmp_path: Path) -> None:
    """Another writer may have been the first in a partition since these files were written."""
    table = create_table(tmp_path, [("p", "INT NOT NULL"), ("id", "INT NOT NULL")], ("p", "id"), partition_keys=["p"])
    for partition in (1, 2):
        table.write_arrow(pa.table({"p": pa.array([partition], pa.int32()), "id": pa.array([7], pa.int32())}))
    open_warehouse(tmp_path).alter_table("db.t", [SetOption("bucket", "4")])
    altered = get_table(tmp_path)
    entries = sorted(live(altered), key=lambda entry: altered.paths.spec_of(entry.partition)["p"])
    messages = [
        CommitMessage(entry.partition, 0, total, new_files=(replace(entry.file, file_name=f"new-{total}.parquet"),))
        for entry, total in zip(entries, (1, 4), strict=True)
    ]
    with pytest.raises(ConflictError, match="partition p=2 has 1 buckets, and is written with 4"):
        append_or_abort(altered.commit_target(), messages, CommitIdentity("me"))
    assert altered.snapshots.list_ids() == [1, 2]


def test_a_file_index_that_comes_and_goes(tmp_path: Path) -> None:
    """Each turn brings back the file as it was before: it must stay live."""
    table = create_table(tmp_path)
    table.write_arrow(keyed({1: "a", 2: "b"}))
    catalog = open_warehouse(tmp_path)
    key = "file-index.bloom-filter.columns"
    for _ in range(2):
        for change in (SetOption(key, "v"), RemoveOption(key)):
            catalog.alter_table("db.t", [change])
            assert rewrite_file_index(None, get_table(tmp_path)).written_files == 1
            assert state(get_table(tmp_path)) == {1: "a", 2: "b"}
    assert len(live_files(table)) == 1


@pytest.mark.parametrize(("highest", "moved"), [(None, False), (9, False), (8, True)])
def test_rows_that_leave_their_waiting_are_older_than_what_came_since(
    tmp_path: Path, highest: int | None, moved: bool
) -> None:
    """The largest number in the bucket is 9; other buckets and partitions do not count."""
    made = HandMade(tmp_path / "made")
    latest = made.state(1, base=[add("a"), add("b", bucket=1), add("c", partition=b"elsewhere")])
    target = replace(create_table(tmp_path).commit_target(), paths=made.paths)
    actual = module._check_moved(target, [CommitMessage(EMPTY_ROW, 0, 1, highest=highest)], latest)
    assert (actual is not None) == moved
    assert actual is None or actual.groups == {(EMPTY_ROW, 0)}
    assert module._check_moved(target, [CommitMessage(EMPTY_ROW, 2, 1, highest=0)], latest) is None
    assert module._check_moved(target, [CommitMessage(EMPTY_ROW, 0, 1, highest=0)], None) is None
