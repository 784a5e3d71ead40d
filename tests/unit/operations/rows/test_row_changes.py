"""DELETE and UPDATE in this process: what is refused, what is committed, and other writers in the way."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

import pyarrow as pa
import pytest

from maintenance.catalog import CatalogTable
from maintenance.commit.commit import commit_rows
from maintenance.commit.identity import CommitIdentity
from maintenance.errors import ConflictError, DataError, OptionError, PredicateError, UnsupportedError
from maintenance.format.metadata.snapshot import CommitKind
from maintenance.fs.file_io import FileIO
from maintenance.operations.compaction.compact import compact
from maintenance.operations.rows.merge_clauses import Clause
from maintenance.operations.rows.row_changes import TargetState, deleted_rows, find_positions
from maintenance.table.shape import table_shape
from maintenance.table.system.audit_log import AuditLogView
from maintenance.write.message import CommitMessage
from tests.tables import create_table, files_on_disk, get_table, keyed, live_files, state

VECTORS = {"deletion-vectors.enabled": "true"}
BUCKETS = {"bucket": "1", "bucket-key": "id"}
TABLES: Mapping[str, Mapping[str, str]] = {"vectors": VECTORS, "buckets": {**VECTORS, **BUCKETS}, "rewritten": {}}


def filled(folder: Path, options: Mapping[str, str], keys: tuple[str, ...] = ()) -> CatalogTable:
    table = create_table(folder, primary_keys=keys, options=options)
    for start in (0, 10):
        table.write_arrow(keyed({number: f"v{number}" for number in range(start, start + 10)}))
    return table


def prepared(table: CatalogTable, where: str) -> list[CommitMessage]:
    """A deletion that is not committed yet."""
    actual = TargetState.of(table, table.predicate(where), ())
    return deleted_rows(None, actual, find_positions(None, actual))


def commit(table: CatalogTable, messages: list[CommitMessage]) -> int:
    return commit_rows(table.commit_target(), messages, CommitIdentity("someone"))


@pytest.mark.parametrize("how", TABLES)
def test_of_two_deletions_from_one_file_the_second_finds_out(tmp_path: Path, how: str) -> None:
    table = filled(tmp_path, TABLES[how])
    late = prepared(table, "id = 3")
    assert table.delete("id IN (4, 14)").deleted_rows == 2
    written = {path.name for path in (tmp_path / "db.db" / "t").rglob("*") if path.is_file()}
    with pytest.raises(ConflictError):
        commit(table, late)
    assert set(state(table)) == set(range(20)) - {4, 14}
    # What the loser wrote is gone.
    gone = written - {path.name for path in (tmp_path / "db.db" / "t").rglob("*") if path.is_file()}
    assert gone


@pytest.mark.parametrize("how", ["vectors", "rewritten"])
def test_deletions_from_different_files_do_not_disturb_each_other(tmp_path: Path, how: str) -> None:
    table = filled(tmp_path, TABLES[how])
    late = prepared(table, "id = 3")
    assert table.delete("id = 14").deleted_rows == 1
    commit(table, late)
    assert set(state(table)) == set(range(20)) - {3, 14}


@pytest.mark.parametrize("how", TABLES)
def test_a_deletion_does_not_outlive_a_compaction(tmp_path: Path, how: str) -> None:
    table = filled(tmp_path, {**TABLES[how], "compaction.min.file-num": "2"})
    late = prepared(table, "id = 3")
    assert compact(None, table, full=how != "buckets").snapshot_ids
    with pytest.raises(ConflictError):
        commit(table, late)
    assert set(state(table)) == set(range(20))


@pytest.mark.parametrize("how", ["vectors", "rewritten"])
def test_a_compaction_does_not_lose_deletions(tmp_path: Path, how: str) -> None:
    table = filled(tmp_path, TABLES[how])
    done: list[int] = []

    def race(line: str) -> None:
        if "rewritten" in line and not done:
            done.append(get_table(tmp_path).delete("id IN (3, 13)").deleted_rows)

    report = compact(None, table, full=True, progress=race)
    assert done == [2]
    # The second time there is only one file, where the deletion put what is left together.
    assert [group.outcome for group in report.groups] == ["conflict_retried" if how == "vectors" else "nothing_to_do"]
    assert set(state(table)) == set(range(20)) - {3, 13}


@dataclass(frozen=True, slots=True)
class Racing(FileIO):
    """Storage where another writer is quicker, before the first index file is written. `rival`: says what it did."""

    rival: Callable[[], int] = int
    done: list[int] = field(default_factory=list)

    def write_bytes(self, path: str, data: bytes) -> None:
        if "/index/" in path and not self.done:
            self.done.append(self.rival())
        FileIO.write_bytes(self, path, data)


def test_a_deletion_that_loses_is_done_again(tmp_path: Path) -> None:
    table = filled(tmp_path, VECTORS)
    racing = Racing(rival=lambda: get_table(tmp_path).delete("id = 5").deleted_rows)
    report = replace(table, file_io=racing).update({"v": "'new'"}, "id IN (5, 6)")
    assert (report.attempts, report.updated_rows, racing.done) == (2, 1, [1])
    assert state(table) == {n: "new" if n == 6 else f"v{n}" for n in range(20) if n != 5}


def test_vectors_leave_data_files_alone(tmp_path: Path) -> None:
    table = filled(tmp_path, VECTORS)
    before = files_on_disk(table)
    assert table.delete("id < 5").method == "deletion_vectors"
    assert files_on_disk(table) == before
    snapshot = table.latest_snapshot()
    assert snapshot is not None
    assert snapshot.commit_kind == CommitKind.OVERWRITE
    assert (snapshot.delta_record_count, snapshot.total_record_count) == (0, 20)
    assert table.delete("id < 5").snapshot_ids == ()


def test_files_without_deleted_rows_are_not_rewritten(tmp_path: Path) -> None:
    table = filled(tmp_path, {})
    before = {file.file_name for file in live_files(table)}
    report = table.delete("id = 3")
    assert (report.method, report.touched_files) == ("copy_on_write", 1)
    assert len(before & {file.file_name for file in live_files(table)}) == 1
    assert table.delete("id < 10").deleted_rows == 9
    assert len(live_files(table)) == 1


def test_rows_for_which_the_condition_is_null_stay(tmp_path: Path) -> None:
    for number, options in enumerate(TABLES.values()):
        table = create_table(tmp_path / str(number), primary_keys=(), options=options)
        table.write_arrow(keyed({1: "a", 2: None, 3: "b"}))
        assert table.delete("v <> 'b'").deleted_rows == 1
        assert state(table) == {2: None, 3: "b"}
        assert table.update({"v": "'c'"}, "NOT v = 'a'").updated_rows == 1
        assert state(table) == {2: None, 3: "c"}


def test_whole_partitions_go_by_metadata(tmp_path: Path) -> None:
    fields = (("id", "INT NOT NULL"), ("v", "STRING"))
    table = create_table(tmp_path, fields, (), VECTORS, partition_keys=("v",))
    table.write_arrow(keyed({1: "a", 2: "b", 3: None, 4: "a"}))
    assert table.delete("id = 4").method == "deletion_vectors"
    report = table.delete("v IN ('a', 'z')")
    assert (report.method, report.touched_files) == ("truncate", 1)
    assert state(table) == {2: "b", 3: None}
    snapshot = table.latest_snapshot()
    assert snapshot is not None
    assert table.manifests.deletion_vectors(snapshot) == {}
    assert table.delete("v = 'z'").snapshot_ids == ()
    assert table.delete("v IS NULL").method == "truncate"
    assert table.delete().method == "truncate"
    assert state(table) == {}


def test_new_values_are_literals_or_columns_that_fit(tmp_path: Path) -> None:
    fields = (("id", "INT NOT NULL"), ("a", "BIGINT"), ("b", "BIGINT"), ("v", "STRING"))
    table = create_table(tmp_path, fields, (), VECTORS)
    table.write_arrow(keyed({1: "x", 2: "y"}))
    assert table.update({"a": 7, "V": "'it''s'", "b": "5 "}, "id = 1").updated_rows == 1
    assert table.update({"a": "b", "b": "a", "v": "NULL"}, "id = 1").updated_rows == 1
    assert table.to_arrow(where="id = 1").to_pylist() == [{"id": 1, "a": 5, "b": 7, "v": None}]
    with pytest.raises(PredicateError, match="Without a Spark session"):
        table.update({"a": "b + 1"})
    with pytest.raises(PredicateError, match="does not fit INT"):
        table.update({"id": "1.5"})
    with pytest.raises(DataError, match="does not fit column 'id'"):
        table.update({"id": 2**40})
    with pytest.raises(DataError, match="null in column 'id'"):
        table.update({"id": "NULL"})
    with pytest.raises(DataError, match="column 'z' does not exist"):
        table.update({"z": "1"})
    with pytest.raises(DataError, match="no assignment"):
        table.update({})
    with pytest.raises(PredicateError):
        table.delete("a + b = 1")
    assert table.to_arrow().num_rows == 2


def test_rows_move_to_another_partition(tmp_path: Path) -> None:
    table = create_table(tmp_path, primary_keys=(), options=VECTORS, partition_keys=("v",))
    table.write_arrow(keyed({1: "a", 2: "a", 3: "b"}))
    assert table.update({"v": "'b'"}, "id = 1").updated_rows == 1
    assert state(table) == {1: "b", 2: "a", 3: "b"}
    assert state(table, where="v = 'a'") == {2: "a"}


def test_deletions_as_records_where_changelog_is_wanted(tmp_path: Path) -> None:
    fields = (("p", "INT NOT NULL"), ("id", "INT NOT NULL"), ("v", "STRING"))
    options = {"delete.force-produce-changelog": "true", "changelog-producer": "input"}
    table = create_table(tmp_path, fields, ("p", "id"), options, partition_keys=("p",))
    rows = keyed(dict.fromkeys(range(20), "v"))
    table.write_arrow(rows.append_column("p", pa.array([0, 1] * 10, pa.int32())))
    report = table.delete("p = 1")
    assert (report.method, report.deleted_rows) == ("records", 10)
    snapshot = table.latest_snapshot()
    assert snapshot is not None
    assert snapshot.changelog_record_count == 10
    # Without a condition it stays a truncation, in Paimon too.
    assert table.delete().method == "truncate"
    assert table.to_arrow().num_rows == 0


def test_only_the_newest_state_is_changed(tmp_path: Path) -> None:
    table = filled(tmp_path, VECTORS)
    with pytest.raises(OptionError, match="an earlier state"):
        table.copy({"scan.snapshot-id": "1"}).delete("id = 1")


UPSERT = (Clause("matched", "update"), Clause("not_matched", "insert"))


@pytest.mark.parametrize("how", [*TABLES, "keyed"])
def test_a_merge_updates_inserts_and_deletes_by_its_clauses(tmp_path: Path, how: str) -> None:
    table = filled(tmp_path, TABLES[how]) if how != "keyed" else filled(tmp_path, {}, ("id",))
    report = table.merge(keyed({5: "five", 15: None, 25: "new"}), "t.id = s.id", UPSERT)
    assert (report.updated_rows, report.inserted_rows, report.deleted_rows) == (2, 1, 0)
    expected: dict[int, str | None] = {**{n: f"v{n}" for n in range(20)}, 5: "five", 15: None, 25: "new"}
    assert state(table) == expected
    # A source may name a row to delete twice, but not to update.
    twice = pa.concat_tables([keyed({1: "a"}), keyed({1: "b", 2: "b", 99: "b"})])
    with pytest.raises(DataError, match="several rows of the source"):
        table.merge(twice, "t.id = s.id", [Clause("matched", "update", {"v": "s.v"})])
    report = table.merge(twice, "t.id = s.id", [Clause("matched", "delete")])
    assert report.deleted_rows == 2
    expected = {n: v for n, v in expected.items() if n not in (1, 2)}
    assert state(table) == expected
    report = table.merge(
        keyed(dict.fromkeys(range(10, 30), "kept")),
        "s.id = t.id",
        [
            Clause("matched", "update", {"v": "'kept'"}),
            Clause("not_matched", "insert", {"id": "s.id"}),
            Clause("not_matched_by_source", "delete"),
        ],
    )
    assert (report.updated_rows, report.inserted_rows, report.deleted_rows) == (11, 9, 8)
    assert state(table) == {n: "kept" if n in expected else None for n in range(10, 30)}
    assert table.merge(keyed({}), "t.id = s.id", UPSERT).snapshot_ids == ()


def test_merges_that_make_no_sense(tmp_path: Path) -> None:
    table = filled(tmp_path, {}, ("id",))
    source = keyed({1: "a"})
    with pytest.raises(DataError, match="without clauses"):
        table.merge(source, "t.id = s.id", [])
    with pytest.raises(DataError, match="'insert' of rows that are matched"):
        table.merge(source, "t.id = s.id", [Clause("matched", "insert")])
    with pytest.raises(UnsupportedError, match="'id' belongs to the primary key"):
        table.merge(source, "t.id = s.id", [Clause("matched", "update", {"id": "s.id"})])
    with pytest.raises(UnsupportedError, match="the condition does not keep the key"):
        table.merge(source, "t.v = s.v", [Clause("matched", "update")])
    with pytest.raises(PredicateError, match="more than equal columns"):
        table.merge(source, "t.id = s.id OR t.v = s.v", [Clause("matched", "delete")])
    with pytest.raises(PredicateError, match="a clause has a condition"):
        table.merge(source, "t.id = s.id", [Clause("matched", "delete", condition="s.v = 'a'")])
    with pytest.raises(PredicateError, match="'v' is ambiguous"):
        table.merge(source, "t.id = s.id", [Clause("matched", "update", {"v": "v"})])
    with pytest.raises(DataError, match="the source has no column 'v'"):
        table.merge(source.drop_columns(["v"]), "t.id = s.id", UPSERT)
    with pytest.raises(DataError, match="column 'z' cannot be assigned"):
        table.merge(source, "t.id = s.id", [Clause("matched", "update", {"z": "1"})])
    other = filled(tmp_path / "other", {"merge-engine": "aggregation"}, ("id",))
    with pytest.raises(UnsupportedError, match="aggregation does not support MERGE INTO"):
        other.merge(source, "t.id = s.id", UPSERT)


def test_changelog_of_a_table_that_is_merged_on_write(tmp_path: Path) -> None:
    table = create_table(tmp_path, options={**VECTORS, "changelog-producer": "lookup"})
    table.write_arrow(keyed({number: f"a text that makes the file large {number * 7919}" for number in range(2000)}))
    assert not compact(None, table, full=True).failed
    table.write_arrow(keyed({5: "new", 9000: "first"}))
    table.write_arrow(keyed({5: "newer", 6: "-", 9001: "-"}), ["+I", "-D", "-D"])
    assert not compact(None, table).failed
    snapshot = table.latest_snapshot()
    assert snapshot is not None
    (vectors,) = table.manifests.deletion_vectors(snapshot).values()
    assert [deletion.range.cardinality for deletion in vectors.values()] == [2]
    between = {"incremental-between": f"{snapshot.id - 1},{snapshot.id}", "incremental-between-scan-mode": "changelog"}
    changes = [
        (row["rowkind"], row["id"], row["v"]) for row in AuditLogView(table).to_arrow(options=between).to_pylist()
    ]
    old = {number: f"a text that makes the file large {number * 7919}" for number in (5, 6)}
    assert sorted(changes) == [("+I", 9000, "first"), ("+U", 5, "newer"), ("-D", 6, old[6]), ("-U", 5, old[5])]
    shape = table_shape(table)
    assert (shape.vectors, shape.deleted_rows) == (1, 2)
    # The rows are gone from the file once it is rewritten, and with them the vector.
    assert not compact(None, table, full=True).failed
    assert not compact(None, table, full=True).failed
    assert (table_shape(table).vectors, table_shape(table).rows) == (0, 2000)


def test_a_full_compaction_drops_deleted_rows_of_the_highest_level(tmp_path: Path) -> None:
    table = create_table(tmp_path, options=VECTORS)
    table.write_arrow(keyed({number: f"a text that makes the file large {number * 7919}" for number in range(2000)}))
    assert not compact(None, table, full=True).failed
    table.delete("id < 10")
    assert not compact(None, table).failed
    assert table_shape(table).deleted_rows == 10
    assert {file.level for file in live_files(table)} == {5}
    assert not compact(None, table, full=True).failed
    shape = table_shape(table)
    assert (shape.vectors, shape.deleted_rows, shape.rows) == (0, 0, 1990)
    assert compact(None, table, full=True).snapshot_ids == ()
    snapshot = table.latest_snapshot()
    assert snapshot is not None
    # As in Paimon an index file without vectors stands for the bucket that has none left.
    (entry,) = table.manifests.read_index(snapshot)
    assert (entry.file_size, entry.row_count) == (1, 0)


@pytest.mark.parametrize("how", ["vectors", "rewritten"])
def test_sorting_does_not_bring_rows_back(tmp_path: Path, how: str) -> None:
    table = filled(tmp_path, TABLES[how])
    assert table.delete("id IN (2, 12)").deleted_rows == 2
    done: list[int] = []

    def race(line: str) -> None:
        if "rewritten" in line and not done:
            done.append(get_table(tmp_path).delete("id IN (3, 13)").deleted_rows)

    report = compact(None, table, order_strategy="order", order_by=["v"], progress=race)
    assert done == [2]
    assert not report.failed
    assert set(state(table)) == set(range(20)) - {2, 3, 12, 13}
    assert [row["v"] for row in table.to_arrow().to_pylist()] == sorted(f"v{n}" for n in state(table))
    assert table_shape(table).vectors == 0
