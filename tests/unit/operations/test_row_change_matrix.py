"""DELETE, UPDATE and MERGE for every merge engine and bucket mode: carried out, or refused by name."""

from collections.abc import Mapping
from pathlib import Path

import pyarrow as pa
import pytest

from maintenance.catalog import CatalogTable, SetOption
from maintenance.errors import DataError, UnsupportedError
from maintenance.format.metadata.snapshot import CommitKind
from maintenance.operations.checks.fsck import fsck
from maintenance.operations.compaction.compact import compact
from maintenance.operations.refs.create_branch import create_branch
from maintenance.operations.rows.merge_clauses import Clause
from maintenance.sql import Session
from tests.models.reachable import unreachable_files
from tests.tables import create_table, keyed, live_files, open_warehouse, state

VECTORS = {"deletion-vectors.enabled": "true"}
PARTIAL = {"merge-engine": "partial-update"}
AGGREGATION = {"merge-engine": "aggregation", "fields.v.aggregate-function": "max"}

# How each engine deletes, and whether it takes updates.
ENGINES: Mapping[str, tuple[Mapping[str, str], str, bool]] = {
    "deduplicate": ({}, "records", True),
    "deduplicate, ignore-delete": ({"ignore-delete": "true"}, "copy_on_write", True),
    "deduplicate, vectors": (VECTORS, "records", True),
    "deduplicate, vectors, ignore-delete": ({**VECTORS, "ignore-delete": "true"}, "deletion_vectors", True),
    "partial-update": (PARTIAL, "copy_on_write", True),
    "partial-update, ignore-delete": ({**PARTIAL, "ignore-delete": "true"}, "copy_on_write", True),
    "partial-update, vectors": ({**PARTIAL, **VECTORS}, "deletion_vectors", True),
    "partial-update, removing": ({**PARTIAL, "partial-update.remove-record-on-delete": "true"}, "records", True),
    "aggregation": (AGGREGATION, "copy_on_write", False),
    "aggregation, vectors": ({**AGGREGATION, **VECTORS}, "deletion_vectors", False),
    "aggregation, removing": ({**AGGREGATION, "aggregation.remove-record-on-delete": "true"}, "records", False),
    "first-row": ({"merge-engine": "first-row"}, "copy_on_write", False),
}
# Options, partition columns, and whether rows wait for a bucket.
BUCKETS: Mapping[str, tuple[Mapping[str, str], tuple[str, ...]]] = {
    "fixed": ({"bucket": "2"}, ()),
    "dynamic": ({"bucket": "-1", "dynamic-bucket.target-row-num": "7"}, ()),
    "cross-partition": ({"bucket": "-1", "dynamic-bucket.target-row-num": "7"}, ("v",)),
    "postpone": ({"bucket": "-2"}, ()),
    "postpone, waiting": ({"bucket": "-2", "postpone.batch-write-fixed-bucket": "false"}, ()),
}
UPSERT = (Clause("matched", "update"), Clause("not_matched", "insert"))


def settle(table: CatalogTable) -> None:
    assert not compact(None, table, full=True).failed


def kind_of_last(table: CatalogTable) -> CommitKind:
    snapshot = table.latest_snapshot()
    assert snapshot is not None
    return snapshot.commit_kind


def filled(folder: Path, engine: str, buckets: str) -> CatalogTable:
    places, partitions = BUCKETS[buckets]
    options = {**ENGINES[engine][0], **places}
    if "v" in partitions:
        # A column of the partition has no aggregate function of its own.
        options.pop("fields.v.aggregate-function", None)
    table = create_table(folder, (("id", "INT NOT NULL"), ("v", "STRING")), ("id",), options, partition_keys=partitions)
    for start in (0, 10):
        table.write_arrow(keyed({n: f"v{n % 3}" for n in range(start, start + 10)}))
    settle(table)
    return table


@pytest.mark.parametrize("buckets", BUCKETS)
@pytest.mark.parametrize("engine", ENGINES)
def test_each_engine_in_each_bucket_mode_changes_rows_or_refuses(tmp_path: Path, engine: str, buckets: str) -> None:
    _, method, updates = ENGINES[engine]
    moves = buckets == "cross-partition"
    if moves and "ignore-delete" in engine and "deduplicate" in engine:
        with pytest.raises(UnsupportedError, match="'ignore-delete' where keys move"):
            filled(tmp_path, engine, buckets)
        return
    table = filled(tmp_path, engine, buckets)
    expected: dict[int, str | None] = {n: f"v{n % 3}" for n in range(20)}
    assert state(table) == expected
    report = table.delete("id IN (3, 4, 15, 99)")
    assert (report.method, report.deleted_rows) == (method, 3)
    assert kind_of_last(table) == (CommitKind.APPEND if method == "records" else CommitKind.OVERWRITE)
    if method == "records":
        settle(table)
    expected = {n: v for n, v in expected.items() if n not in (3, 4, 15)}
    assert state(table) == expected
    report = table.delete("v = 'v1' AND id > 9")
    assert report.deleted_rows == 4
    settle(table)
    expected = {n: v for n, v in expected.items() if n <= 9 or v != "v1"}
    assert state(table) == expected
    if updates and moves and "partial" in engine:
        with pytest.raises(UnsupportedError, match="leaves rows in their partitions"):
            table.update({"v": "'v2'"}, "id = 0")
    elif updates:
        assert table.update({"v": "'v2'"}, "id IN (0, 1, 99)").updated_rows == 2
        settle(table)
        expected |= {0: "v2", 1: "v2"}
        merged = table.merge(keyed({1: "v0", 5: "v0", 15: "back"}), "t.id = s.id", UPSERT)
        assert (merged.updated_rows, merged.inserted_rows) == (2, 1)
        settle(table)
        expected |= {1: "v0", 5: "v0", 15: "back"}
    else:
        with pytest.raises(UnsupportedError, match="does not support UPDATE"):
            table.update({"v": "'v2'"}, "id = 0")
        with pytest.raises(UnsupportedError, match="does not support MERGE INTO"):
            table.merge(keyed({1: "v0"}), "t.id = s.id", UPSERT)
        table.write_arrow(keyed({15: "v9", 40: "v9"}))
        settle(table)
        expected |= {15: "v9", 40: "v9"}
    assert state(table) == expected
    with pytest.raises(UnsupportedError, match="'id' belongs to the primary key"):
        table.update({"id": "5"})
    assert fsck(table.file_io, table.location, deep=True).faults == ()
    assert unreachable_files(table) == set()
    # Without a condition no merge engine is asked.
    assert table.delete().method == "truncate"
    assert state(table) == {}


@pytest.mark.parametrize("engine", [name for name, (_, method, _) in ENGINES.items() if method != "records"])
def test_rows_that_are_not_merged_yet_are_not_deleted_in_files(tmp_path: Path, engine: str) -> None:
    table = filled(tmp_path, engine, "fixed")
    table.write_arrow(keyed({3: "v7", 50: "v7"}))
    before = state(table)
    with pytest.raises(UnsupportedError, match="not merged yet"):
        table.delete("id = 3")
    with pytest.raises(UnsupportedError, match="not merged yet"):
        table.delete("id = 3 OR v = 'v7'")
    assert state(table) == before
    settle(table)
    assert table.delete("id = 3 OR v = 'v7'").deleted_rows >= 2
    assert not {3, 50} & set(state(table))


@pytest.mark.parametrize("engine", ["partial-update", "aggregation", "first-row"])
def test_rows_that_wait_for_a_bucket_are_not_forgotten(tmp_path: Path, engine: str) -> None:
    table = filled(tmp_path, engine, "postpone, waiting")
    table.write_arrow(keyed({50: "v7"}))
    with pytest.raises(UnsupportedError, match="not merged yet"):
        table.delete("id = 50")
    settle(table)
    assert table.delete("id = 50").deleted_rows == 1


def test_files_written_anew_keep_their_level_and_sequence_numbers(tmp_path: Path) -> None:
    table = filled(tmp_path, "first-row", "fixed")
    before = {(file.level, file.min_sequence_number) for file in live_files(table)}
    assert table.delete("id = 7").touched_files == 1
    after = {(file.level, file.min_sequence_number) for file in live_files(table)}
    assert {level for level, _ in after} == {level for level, _ in before} != {0}
    assert sum(file.row_count for file in live_files(table)) == 19
    assert table.delete("id = 7").snapshot_ids == ()
    # The first row of a key that was deleted is the next one that comes.
    table.write_arrow(keyed({7: "second", 8: "second"}))
    settle(table)
    assert (state(table)[7], state(table)[8]) == ("second", "v2")


def test_level_0_of_a_table_that_is_merged_on_write(tmp_path: Path) -> None:
    """What is not compacted yet is deleted and updated with the rest."""
    fields = (("id", "INT NOT NULL"), ("n", "INT"), ("v", "STRING"))
    table = create_table(tmp_path, fields, options={**VECTORS, "bucket": "1"})
    table.write_arrow(keyed({1: "a", 2: "b", 3: "c"}))
    assert table.to_arrow().num_rows == 0
    assert table.delete("v = 'b'").deleted_rows == 1
    assert table.update({"n": 7}, "id = 1").updated_rows == 1
    # Of the value before, though no compaction has seen it.
    assert table.update({"v": "'new'"}, "n = 7").updated_rows == 1
    merged = table.merge(keyed({3: "merged", 4: "new"}), "t.id = s.id", [Clause("matched", "update", {"v": "s.v"})])
    assert merged.updated_rows == 1
    settle(table)
    rows = sorted(table.to_arrow().to_pylist(), key=lambda row: row["id"])
    assert rows == [{"id": 1, "n": 7, "v": "new"}, {"id": 3, "n": None, "v": "merged"}]


def test_kinds_that_a_column_says(tmp_path: Path) -> None:
    fields = (("id", "INT NOT NULL"), ("v", "STRING"), ("op", "STRING"))
    table = create_table(tmp_path, fields, options={"rowkind.field": "op"})
    rows = keyed({1: "a", 2: "b", 3: "c"})
    table.write_arrow(rows.append_column("op", [["+I", "+I", "+U"]]))
    assert table.delete("id = 1").deleted_rows == 1
    assert table.update({"v": "'new'"}, "id = 3").updated_rows == 1
    source = keyed({2: "x", 9: "y"}).append_column("op", [["+I", "+I"]])
    table.merge(source, "t.id = s.id", [Clause("matched", "delete"), Clause("not_matched", "insert")])
    actual = sorted(table.to_arrow().to_pylist(), key=lambda row: row["id"])
    assert actual == [{"id": 3, "v": "new", "op": "+U"}, {"id": 9, "v": "y", "op": "+I"}]


@pytest.mark.parametrize("keys", [("p", "id"), ()])
def test_rows_of_a_fallback_branch_are_not_changed_through_the_table(tmp_path: Path, keys: tuple[str, ...]) -> None:
    fields = (("p", "STRING NOT NULL"), ("id", "INT NOT NULL"), ("v", "STRING"))
    table = create_table(tmp_path, fields, keys, partition_keys=("p",))

    def put(into: CatalogTable, partition: str, ids: list[int]) -> None:
        into.write_arrow(
            pa.table({"p": [partition] * len(ids), "id": pa.array(ids, pa.int32()), "v": ["a"] * len(ids)})
        )

    def found() -> list[tuple[str, int, str]]:
        return sorted((row["p"], row["id"], row["v"]) for row in both.to_arrow().to_pylist())

    put(table, "x", [1, 2, 3])
    create_branch(table, "old")
    put(table.on_branch("old"), "y", [1, 2])
    both = table.copy({"scan.fallback-branch": "old"})
    assert isinstance(both, CatalogTable)
    for where in ("id = 1", "p = 'y'", "p <> 'x' AND v = 'a'", None):
        with pytest.raises(UnsupportedError, match="selects rows of branch 'old'"):
            both.delete(where)
        with pytest.raises(UnsupportedError, match="selects rows of branch 'old'"):
            both.update({"v": "'b'"}, where)
    assert both.delete("p = 'x' AND id = 1").deleted_rows == 1
    assert both.delete("id = 3").deleted_rows == 1
    assert both.update({"v": "'b'"}, "p = 'x'").updated_rows == 1
    assert found() == [("x", 2, "b"), ("y", 1, "a"), ("y", 2, "a")]
    assert both.delete("p = 'z'").deleted_rows == 0
    with pytest.raises(UnsupportedError, match="changes rows of branch 'old'"):
        both.merge(table.to_arrow(), "t.id = s.id", [Clause("matched", "delete")])
    with pytest.raises(UnsupportedError, match="fallback or primary branch"):
        table.copy({"scan.primary-branch": "old"}).delete("p = 'x'")
    if not keys:
        with pytest.raises(UnsupportedError, match="fallback or primary branch"):
            both.update({"p": "'y'"}, "p = 'x'")
    _merge_beside_a_branch(tmp_path, both)
    assert table.on_branch("main").delete("id = 2").deleted_rows == 1


def _merge_beside_a_branch(tmp_path: Path, both: CatalogTable) -> None:
    """`both`: has ("x", 2, "b"), and its fallback branch ("y", 1, "a") and ("y", 2, "a")."""

    def source(*rows: tuple[str, int, str]) -> pa.Table:
        columns = [pa.array([row[at] for row in rows], kind) for at, kind in enumerate((None, pa.int32(), None))]
        return pa.table(columns, ["p", "id", "v"])

    def found() -> list[tuple[str, int, str]]:
        return sorted((row["p"], row["id"], row["v"]) for row in both.to_arrow().to_pylist())

    on = "t.p = s.p AND t.id = s.id"
    clauses = [Clause("matched", "update", {"v": "s.v"}), Clause("not_matched", "insert")]
    report = both.merge(source(("x", 2, "c"), ("z", 9, "new")), on, clauses)
    assert (report.updated_rows, report.inserted_rows) == (1, 1)
    expected = [("x", 2, "c"), ("y", 1, "a"), ("y", 2, "a"), ("z", 9, "new")]
    assert found() == expected
    with pytest.raises(DataError, match="fallback branch stands in for"):
        both.merge(source(("y", 3, "hides")), on, clauses)
    with pytest.raises(UnsupportedError, match="changes rows of branch 'old'"):
        both.merge(source(("y", 2, "c")), on, clauses)
    with pytest.raises(UnsupportedError, match="changes rows of branch 'old'"):
        both.merge(source(("x", 2, "c")), on, [Clause("not_matched_by_source", "delete")])
    open_warehouse(tmp_path).alter_table("db.t", [SetOption("scan.fallback-branch", "old")])
    session = Session({"warehouse": str(tmp_path)})
    merge = "MERGE INTO db.t USING (SELECT {}) s ON t.p = s.p AND t.id = s.id WHEN MATCHED AND LENGTH(s.v) > 0"
    merge += " THEN UPDATE SET v = UPPER(s.v) WHEN NOT MATCHED THEN INSERT (p, id, v) VALUES (s.p, s.id, s.v)"
    session.sql(merge.format("'x' AS p, 2 AS id, 'd' AS v"))
    assert found() == [("x", 2, "D"), *expected[1:]]
    with pytest.raises(UnsupportedError, match="changes rows of branch 'old'"):
        session.sql(merge.format("'y' AS p, 2 AS id, 'd' AS v"))
    with pytest.raises(DataError, match="fallback branch stands in for"):
        session.sql(merge.format("'y' AS p, 8 AS id, 'd' AS v"))
    assert found() == [("x", 2, "D"), *expected[1:]]
