"""Random histories of a table against a plain model: writes, deletes, late rows, compactions, indexes, expiry."""

import shutil
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from maintenance.bucket.fixed import assign_buckets
from maintenance.catalog import CatalogTable, RemoveOption, SetOption
from maintenance.format.metadata.snapshot import CommitKind, Snapshot
from maintenance.operations.compaction.compact import compact
from maintenance.operations.expiry.expire_snapshots import expire_snapshots
from maintenance.operations.indexes.rewrite_file_index import rewrite_file_index
from maintenance.operations.refs.create_tag import create_tag
from maintenance.types.row_kind import KIND_TEXTS
from tests.examples import examples
from tests.models.table import Row, State, TableModel, applied
from tests.tables import create_table, data_files, files_on_disk, get_table, live, open_warehouse

FIELDS = (("id", "INT NOT NULL"), ("u", "INT"), ("v", "STRING"))
KEYS = st.integers(0, 11)
ROWS = st.tuples(KEYS, st.sampled_from([None, 1, 2, 3]), st.sampled_from([None, "a", "b"]))
RECORDS = st.lists(st.tuples(st.sampled_from(["+I", "+I", "+U", "-U", "-D"]), ROWS), min_size=1, max_size=8)
SEQUENCES: tuple[dict[str, str], ...] = (
    {},
    {"sequence.field": "u"},
    {"sequence.field": "u", "sequence.field.sort-order": "descending"},
)
WRITERS: tuple[dict[str, str], ...] = (
    {"write-only": "true"},
    {"write-only": "false"},
    {"write-only": "false", "compaction.force-up-level-0": "true"},
    {"write-only": "false", "full-compaction.delta-commits": "2"},
    {"write-only": "false", "compaction.total-size-threshold": "4 kb"},
)
CHANGES = (
    SetOption("file-index.bloom-filter.columns", "v"),
    SetOption("file-index.bloom-filter.columns", "id,v"),
    RemoveOption("file-index.bloom-filter.columns"),
    SetOption("file-index.in-manifest-threshold", "1 b"),
    RemoveOption("file-index.in-manifest-threshold"),
    SetOption("metadata.stats-mode", "none"),
    SetOption("metadata.stats-mode", "full"),
    SetOption("target-file-size", "1 b"),
    SetOption("target-file-size", "1 mb"),
    SetOption("source.split.target-size", "1 b"),
    SetOption("manifest.full-compaction-threshold-size", "1 b"),
    SetOption("write-buffer-size", "60 b"),
)


def rows_of(table: pa.Table) -> list[Row]:
    return [tuple(row[name] for name, _ in FIELDS) for row in table.to_pylist()]


def state_of(table: pa.Table) -> State:
    rows = rows_of(table)
    assert len({row[0] for row in rows}) == len(rows), f"a key is there twice: {rows}"
    return {row[0]: row for row in rows}


class TableMachine(RuleBasedStateMachine):
    """One table and its model. `recorded`: the state at each snapshot that is still there."""

    @initialize(
        sequence=st.sampled_from(SEQUENCES),
        changelog=st.booleans(),
        deduplicate=st.booleans(),
        trigger=st.sampled_from(["2", "3", "5"]),
        writers=st.sampled_from(WRITERS),
    )
    def create(
        self, sequence: dict[str, str], changelog: bool, deduplicate: bool, trigger: str, writers: dict[str, str]
    ) -> None:
        self.folder = tempfile.mkdtemp()
        options = {
            "bucket": "2",
            "num-sorted-run.compaction-trigger": trigger,
            "manifest.merge-min-count": "3",
            "snapshot.num-retained.min": "1",
            **sequence,
            **writers,
        }
        if changelog:
            options["changelog-producer"] = "full-compaction"
            options["changelog-producer.row-deduplicate"] = str(deduplicate).lower()
        self.table = create_table(self.folder, FIELDS, ("id",), options)
        self.changelog = changelog
        self.model = TableModel((1,) if sequence else (), "descending" in sequence.values())
        self.recorded: dict[int, State] = {}
        self.tagged: dict[str, State] = {}
        self.batch = 0
        # The newest snapshot and the options after the last write.
        self.finished: tuple[int | None, Any] = (None, None)

    def teardown(self) -> None:
        if hasattr(self, "folder"):
            try:
                self.check_history()
            finally:
                shutil.rmtree(self.folder)

    @rule(records=RECORDS)
    def write(self, records: list[tuple[str, Row]]) -> None:
        self._write_and_check(self.table, records)

    @rule(records=RECORDS, trigger=st.sampled_from(["2", "3", "5"]), stop=st.sampled_from(["2", "4"]))
    def write_with_other_triggers(self, records: list[tuple[str, Row]], trigger: str, stop: str) -> None:
        levels = {"num-levels": str(self.top + 1)}
        chosen = {"num-sorted-run.compaction-trigger": trigger, "num-sorted-run.stop-trigger": stop, **levels}
        self._write_and_check(self.table.copy({"write-only": "false", **chosen}), records)

    def _write_and_check(self, table: CatalogTable, records: list[tuple[str, Row]]) -> None:
        """Write, and see what the writer compacted before its rows and after them."""
        self.batch += 1
        before = self.top_state()
        made = [self.table.snapshots.get(i) for i in self._write(records, table)]
        assert [snapshot.commit_kind for snapshot in made].count(CommitKind.APPEND) == 1
        self._take(made, records, before)
        self.finished = (self.table.snapshots.latest_id(), table.options)

    def _take(self, made: list[Snapshot], records: list[tuple[str, Row]], before: State) -> None:
        """Let the model follow the snapshots of a writer. `before`: the state at the top level before them."""
        for snapshot in made:
            if snapshot.commit_kind == CommitKind.APPEND:
                self.model.write(records)
            else:
                self.forget(snapshot)
            self.recorded[snapshot.id] = self.model.state
        if self.changelog:
            changes = [change for snapshot in made for change in self.changes(snapshot)]
            assert applied(before, changes) == self.top_state()

    def _write(self, records: list[tuple[str, Row]], table: CatalogTable | None = None) -> tuple[int, ...]:
        columns = list(zip(*(row for _, row in records), strict=True))
        rows = pa.table(
            {
                "id": pa.array(columns[0], pa.int32()),
                "u": pa.array(columns[1], pa.int32()),
                "v": pa.array(columns[2], pa.string()),
            }
        )
        kinds = [kind for kind, _ in records]
        return (table or self.table).write_arrow(rows, kinds, commit_user="machine", commit_identifier=self.batch)

    @precondition(lambda self: self.batch > 0 and self.recorded)
    @rule(records=RECORDS)
    def replay(self, records: list[tuple[str, Row]]) -> None:
        """The last commit again: nothing of it is written, whatever its rows are now.

        What may come is the compaction of its buckets, by the rules of who repeats it, if none has followed the rows.
        It comes once, and not at all where the writer itself has just found nothing to do.
        """
        own = [snapshot for snapshot in self.snapshots() if snapshot.commit_user == "machine"]
        if not own:
            return
        before, latest = self.top_state(), self.table.snapshots.latest_id()
        made = [self.table.snapshots.get(i) for i in self._write(records)]
        assert {(s.commit_kind, s.commit_user, s.commit_identifier) for s in made} <= {
            (CommitKind.COMPACT, "machine", self.batch)
        }
        assert not made or own[-1].commit_kind == CommitKind.APPEND
        assert not made or self.finished != (latest, self.table.options)
        self._take(made, [], before)
        assert self._write(records) == ()

    @rule(full=st.booleans())
    def compact(self, full: bool) -> None:
        before = self.top_state()
        report = compact(None, self.table, full=full)
        assert report.failed == ()
        latest = self.table.latest_snapshot()
        if latest is not None:
            self.forget(latest)
        if full:
            assert {entry.file.level for entry in live(self.table)} <= {self.top}
        if self.changelog:
            changes = [change for i in report.snapshot_ids for change in self.changes(self.table.snapshots.get(i))]
            assert applied(before, changes) == self.top_state()
        self.record()

    @rule()
    def rewrite_index(self) -> None:
        rewrite_file_index(None, self.table)
        assert rewrite_file_index(None, self.table).snapshot_ids == ()
        self.record()

    @rule(change=st.sampled_from(CHANGES))
    def alter(self, change: Any) -> None:
        open_warehouse(self.folder).alter_table("db.t", [change])
        self.table = get_table(self.folder)

    @precondition(lambda self: self.recorded)
    @rule()
    def tag(self) -> None:
        name = f"tag{len(self.tagged)}"
        create_tag(self.table, name)
        self.tagged[name] = self.model.state

    @precondition(lambda self: len(self.recorded) > 2)
    @rule(keep=st.integers(1, 3))
    def expire(self, keep: int) -> None:
        expire_snapshots(self.table, retain_max=keep, retain_min=1)
        left = self.table.snapshots.list_ids()
        assert left == sorted(self.recorded)[-keep:]
        self.recorded = {snapshot_id: self.recorded[snapshot_id] for snapshot_id in left}
        self.check_history()

    @invariant()
    def reads_as_the_model(self) -> None:
        if not hasattr(self, "model"):
            return
        expected = self.model.state
        assert state_of(self.table.to_arrow()) == expected
        filtered = state_of(self.table.to_arrow(where="v = 'a' and id < 6"))
        assert filtered == {key: row for key, row in expected.items() if row[2] == "a" and key < 6}

    def forget(self, snapshot: Snapshot) -> None:
        """A compaction made this snapshot: of buckets that are at the top retractions are gone."""
        entries = self.table.manifests.live_entries(snapshot)
        for bucket in range(2):
            files = [entry.file for entry in entries if entry.bucket == bucket]
            if all(file.level == self.top for file in files):
                self.model.forget_retractions(in_bucket(bucket))
                assert all(file.delete_row_count == 0 for file in files)

    def record(self) -> None:
        """The state of every snapshot that was just made; operations make snapshots of one state."""
        for snapshot_id in self.table.snapshots.list_ids():
            self.recorded.setdefault(snapshot_id, self.model.state)

    def check_history(self) -> None:
        for snapshot_id, expected in self.recorded.items():
            assert state_of(self.table.to_arrow(options={"scan.snapshot-id": str(snapshot_id)})) == expected
        for name, expected in self.tagged.items():
            assert state_of(self.table.to_arrow(options={"scan.tag-name": name})) == expected
        assert files_on_disk(self.table) == data_files(self.table)

    def snapshots(self) -> list[Snapshot]:
        return [self.table.snapshots.get(i) for i in self.table.snapshots.list_ids()]

    @property
    def top(self) -> int:
        return self.table.model.num_levels - 1

    def top_state(self) -> State:
        return state_of(replace(self.table, read_optimized=True).to_arrow())

    def changes(self, snapshot: Snapshot) -> Iterator[tuple[str, Row]]:
        """The changelog of a snapshot, as its files hold it."""
        for entry in self.table.manifests.changelog_entries(snapshot):
            rows = pq.read_table(self.table.paths.data_file(entry.partition, entry.bucket, entry.file))
            kinds = [KIND_TEXTS[kind] for kind in rows.column("_VALUE_KIND").to_pylist()]
            yield from zip(kinds, rows_of(rows), strict=True)


def test_a_replay_finishes_by_the_rules_of_who_repeats_the_commit() -> None:
    machine = TableMachine()
    rows = [("+I", (key, 1, "a")) for key in range(12)]  # both buckets get some
    machine.create({}, False, False, "2", {"write-only": "false"})
    try:
        machine.write_with_other_triggers(rows, "2", "4")
        machine.replay(rows)
        assert machine.table.snapshots.list_ids() == [1]
        machine.write_with_other_triggers(rows, "3", "4")
        assert machine.table.snapshots.list_ids() == [1, 2], "two runs, and the writer waits for three"
        machine.replay(rows)
        kinds = [(snapshot.commit_kind, snapshot.commit_identifier) for snapshot in machine.snapshots()]
        assert kinds == [(CommitKind.APPEND, 1), (CommitKind.APPEND, 2), (CommitKind.COMPACT, 2)]
        machine.replay(rows)
        machine.reads_as_the_model()
    finally:
        machine.teardown()


def in_bucket(bucket: int) -> Callable[[int], bool]:
    return lambda key: bucket_of(key) == bucket


def bucket_of(key: int) -> int:
    return BUCKETS[key]


def _buckets() -> list[int]:
    with tempfile.TemporaryDirectory() as folder:
        table: CatalogTable = create_table(folder, FIELDS, ("id",), {"bucket": "2"})
        return assign_buckets(pa.table({"id": pa.array(range(12), pa.int32())}), table.schema.bucket_fields, 2).tolist()


BUCKETS = _buckets()
TestTable = TableMachine.TestCase
TestTable.settings = settings(max_examples=examples(12), stateful_step_count=14)
