"""Compactions of others are proved: sound ones hold, and what a faulty one did to rows is found and told."""

import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

from maintenance.catalog import CatalogTable
from maintenance.cli.main import run
from maintenance.commit.staging import manifest_writer
from maintenance.errors import OptionError
from maintenance.format.metadata.index_manifest import DELETION_VECTORS_INDEX
from maintenance.format.metadata.manifest import ManifestEntry
from maintenance.merge.engine import MergeEngine
from maintenance.operations.checks.audit_changelog import compaction_audit
from maintenance.operations.checks.prove_compactions import CompactionProof, prove_compactions
from maintenance.operations.compaction.compact import compact
from maintenance.operations.refs.rollback_to_as_latest import rollback_to_as_latest
from maintenance.sql.session import Session
from tests.deletion_vectors import delete_rows
from tests.foreign_commits import as_foreign, drop, foreign_compaction, store
from tests.small_tables import put, small_table
from tests.tables import live

KEYED: dict[str, Mapping[str, str]] = {
    "deduplicate": {},
    "deletion vectors": {"deletion-vectors.enabled": "true"},
    "first row": {"merge-engine": "first-row"},
    "partial update": {"merge-engine": "partial-update"},
    "aggregation": {"merge-engine": "aggregation", "fields.v.aggregate-function": "max"},
    "lookup": {"changelog-producer": "lookup"},
    "full compaction": {"changelog-producer": "full-compaction"},
}
Fault = Callable[[pa.Table], pa.Table]


def filled(folder: Path, options: Mapping[str, str] | None = None, *, primary_key: bool = True) -> CatalogTable:
    """One bucket of 20 keys, half of them written twice."""
    buckets = {"bucket": "1"} if primary_key else {}
    table = small_table(folder, {**buckets, **(options or {})}, primary_key=primary_key)
    put(table, dict.fromkeys(range(20), "a"))
    put(table, dict.fromkeys(range(10), "b"))
    return table


def judged(table: CatalogTable, **how: Any) -> CompactionProof:
    """The verdict over the only compaction of others."""
    (proof,) = prove_compactions(None, table, **how).proofs
    return proof


@pytest.mark.parametrize("name", KEYED)
def test_sound_compactions_of_keyed_tables_hold(tmp_path: Path, name: str) -> None:
    table = filled(tmp_path, {**KEYED[name], "num-sorted-run.compaction-trigger": "2"})
    foreign_compaction(table, "flink")
    put(table, dict.fromkeys(range(5, 25), "c"))
    as_foreign(table, compact(None, table, beside_other_compactors=True).snapshot_ids[0], "flink")
    report = prove_compactions(None, table)
    assert [(proof.snapshot_id, proof.holds, proof.commit_user) for proof in report.proofs] == [
        (3, True, "flink"),
        (5, True, "flink"),
    ]
    assert report.until == 5
    assert all(proof.rows >= 20 for proof in report.proofs)


def test_sound_compactions_of_append_tables_hold(tmp_path: Path) -> None:
    table = filled(tmp_path, {"deletion-vectors.enabled": "true"}, primary_key=False)
    table.delete("k = 3")
    foreign_compaction(table)
    proof = judged(table)
    assert proof.holds
    assert proof.rows == 28


def without_one(merged: pa.Table) -> pa.Table:
    return merged.filter(pc.field("k") != 0)


def doubled(merged: pa.Table) -> pa.Table:
    return pa.concat_tables([merged.filter(pc.field("k") == 0), merged])


def stale(merged: pa.Table) -> pa.Table:
    keys, place = merged.column("k"), merged.column_names.index("v")
    return merged.set_column(place, "v", pc.if_else(pc.equal(keys, 0), "a", merged.column("v")))


FAULTS: dict[str, tuple[Fault, str, str]] = {
    "a lost row": (without_one, "1 row is lost, 0 rows are new", "k=0, v='b'.* is lost"),
    "a doubled row": (doubled, "0 rows are lost, 1 row is new", "k=0, v='b'.* is new"),
    "a stale value": (stale, "1 row is lost, 1 row is new", "k=0, v='b'.* became k=0, v='a'"),
}


@pytest.mark.parametrize("name", ["deduplicate", "deletion vectors", "aggregation"])
@pytest.mark.parametrize("fault", FAULTS)
def test_faults_of_a_merge_are_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, fault: str) -> None:
    spoilt, found, example = FAULTS[fault]
    table = filled(tmp_path, KEYED[name])
    merge = MergeEngine.merge
    with monkeypatch.context() as patch:
        patch.setattr(MergeEngine, "merge", lambda *args, **named: spoilt(merge(*args, **named)))
        (snapshot_id,) = compact(None, table, full=True, proof="off").snapshot_ids
    as_foreign(table, snapshot_id, "flink")
    proof = judged(table)
    (wrong,) = proof.wrong
    assert wrong.bucket == 0
    assert any(f"the compaction changed rows: {found}" in text for text in wrong.found)
    assert any(re.match(example, text) for text in wrong.examples)
    assert f"Stop the writer 'flink'. Snapshot {snapshot_id - 1} has the rows as they were" in proof.fix
    rollback_to_as_latest(table, snapshot_id=snapshot_id - 1)


def test_a_wrong_deletion_vector_is_found(tmp_path: Path) -> None:
    table = filled(tmp_path, KEYED["deletion vectors"])
    foreign_compaction(table)
    delete_rows(table, {entry.file.file_name: [7] for entry in live(table)})
    (wrong,) = judged(table).wrong
    assert wrong.found == ("the compaction changed rows: 1 row is lost, 0 rows are new",)
    assert [text for text in wrong.examples if "k=7" in text and text.endswith("is lost")]


def test_a_missing_deletion_vector_is_found(tmp_path: Path) -> None:
    """Merged, the older row is hidden; readers, who do not merge, see it."""
    table = filled(tmp_path, {**KEYED["deletion vectors"], "num-sorted-run.compaction-trigger": "9"})
    compact(None, table, full=True)
    put(table, {1: "c"})
    (snapshot_id,) = compact(None, table).snapshot_ids
    snapshot = table.snapshots.get(snapshot_id)
    assert [e.row_count for e in table.manifests.read_index(snapshot) if e.index_type == DELETION_VECTORS_INDEX] == [1]
    store(table, replace(snapshot, index_manifest=None))
    as_foreign(table, snapshot_id, "flink")
    (wrong,) = judged(table).wrong
    (found,) = wrong.found
    assert found == (
        "readers, who do not merge these files, see other rows than a merge gives: 0 rows are lost, 1 row is new"
    )


def test_what_a_compaction_loses_of_others_is_found(tmp_path: Path) -> None:
    """It knows nothing of a commit that came in meanwhile: its manifests lack the file, its changes do not say so."""
    table = filled(tmp_path)
    (snapshot_id,) = foreign_compaction(table)
    put(table, {100: "late"})
    late = table.snapshots.get(snapshot_id + 1)
    (file,) = table.manifests.delta_entries(late)
    (last,) = foreign_compaction(table)
    snapshot = table.snapshots.get(last)
    kept = table.manifests.live_entries(table.snapshots.get(snapshot_id))
    writer = manifest_writer(table.commit_target())
    name, size = writer.write_list(writer.write(kept, 0))
    empty, empty_size = writer.write_list([])
    lost = replace(
        snapshot,
        base_manifest_list=name, base_manifest_list_size=size,
        delta_manifest_list=empty, delta_manifest_list_size=empty_size,
    )  # fmt: skip
    store(table, lost)
    assert file.file.file_name not in {entry.file.file_name for entry in live(table)}
    proof = prove_compactions(None, table, since=snapshot_id).proofs[0]
    (wrong,) = proof.wrong
    assert "1 row is lost" in wrong.found[0]
    assert "k=100, v='late'" in wrong.examples[0]


def test_a_lost_row_of_an_append_table_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    table = filled(tmp_path, primary_key=False)
    (snapshot_id,) = foreign_compaction(table)
    file = next(entry.file for entry in live(table))
    snapshot = table.snapshots.get(snapshot_id)
    table.overwrite_arrow(pa.table({"k": pa.array(range(19), pa.int64()), "v": pa.array(["a"] * 19)}))
    overwritten = table.snapshots.get(snapshot_id + 1)
    drop(table, [snapshot_id + 1])
    store(table, replace(overwritten, id=snapshot_id, commit_kind=snapshot.commit_kind, properties=None))
    assert file.file_name not in {entry.file.file_name for entry in live(table)}
    (wrong,) = judged(table).wrong
    assert wrong.found == ("the compaction changed rows: 11 rows are lost, 0 rows are new",)


def test_own_compactions_and_those_outside_the_range_are_left_alone(tmp_path: Path) -> None:
    table = filled(tmp_path)
    compact(None, table, full=True)
    put(table, {1: "c"})
    foreign_compaction(table)
    assert [proof.snapshot_id for proof in prove_compactions(None, table).proofs] == [5]
    assert [proof.snapshot_id for proof in prove_compactions(None, table, own=True).proofs] == [3, 5]
    assert [proof.snapshot_id for proof in prove_compactions(None, table, own=True, since=3).proofs] == [5]
    assert [proof.snapshot_id for proof in prove_compactions(None, table, own=True, until=4).proofs] == [3]
    with pytest.raises(OptionError, match="compactions behind snapshot 4 up to 3"):
        prove_compactions(None, table, since=4, until=3)


def test_what_cannot_be_proved_says_why(tmp_path: Path) -> None:
    table = filled(tmp_path)
    (first,) = foreign_compaction(table)
    put(table, {1: "c"})
    (second,) = foreign_compaction(table)
    proofs = prove_compactions(None, table, max_bytes=1).proofs
    assert all("max_bytes has too little left" in proof.not_proved for proof in proofs)
    enough = prove_compactions(None, table, since=first).proofs[0].bytes
    assert [proof.holds for proof in prove_compactions(None, table, max_bytes=enough).proofs] == [False, True]
    drop(table, range(1, second))
    assert judged(table).not_proved == f"snapshot {second - 1}, whose rows it has to have, has expired"


def test_the_changelog_is_audited_in_the_buckets_that_changed_and_counts_as_read(tmp_path: Path) -> None:
    table = filled(tmp_path, {"changelog-producer": "lookup", "bucket": "2"})
    foreign_compaction(table)
    key = next(row["k"] for entry in live(table) if entry.bucket == 1 for row in rows_of(table, entry))
    put(table, {key: "c"})
    (snapshot_id,) = compact(None, table).snapshot_ids
    as_foreign(table, snapshot_id, "flink")
    (task,) = compaction_audit(table, snapshot_id - 1, snapshot_id)
    assert task.before.bucket == 1
    proof = judged(table, since=snapshot_id - 1)
    assert proof.holds
    without = judged(table.copy({"changelog-producer": "none"}), since=snapshot_id - 1)
    assert proof.bytes == without.bytes + task.bytes
    snapshot = table.snapshots.get(snapshot_id)
    store(table, replace(snapshot, changelog_manifest_list=None, changelog_manifest_list_size=None))
    wrong = judged(table, since=snapshot_id - 1)
    assert re.match(f"the changelog of bucket 1 does not explain 1 key: k={key}: ", wrong.changelog)
    assert "rollback_to_as_latest" in wrong.fix


def rows_of(table: CatalogTable, entry: ManifestEntry) -> list[dict[str, Any]]:
    """The rows of a data file."""
    path = table.paths.data_file(entry.partition, entry.bucket, entry.file)
    return pq.read_table(path, columns=["k"]).to_pylist()


def test_a_sample_is_always_the_same(tmp_path: Path) -> None:
    table = filled(tmp_path)
    for number in range(8):
        foreign_compaction(table)
        put(table, {number: "c"})
    chosen = [proof.snapshot_id for proof in prove_compactions(None, table, percent=50).proofs]
    assert 0 < len(chosen) < 8
    assert [proof.snapshot_id for proof in prove_compactions(None, table, percent=50).proofs] == chosen


def test_sums_of_fractions_are_not_compared(tmp_path: Path) -> None:
    session = Session({"warehouse": str(tmp_path)})
    session.sql(
        "CREATE TABLE t (k INT PRIMARY KEY NOT ENFORCED, d DOUBLE) WITH ('bucket' = '1', 'write-only' = 'true',"
        " 'merge-engine' = 'aggregation', 'fields.d.aggregate-function' = 'sum')"
    )
    table = session.current().get_table("default.t")
    assert isinstance(table, CatalogTable)
    for value in (0.1, 0.2, 0.3):
        table.write_arrow(pa.table({"k": pa.array([1], pa.int32()), "d": [value]}))
    foreign_compaction(table)
    report = prove_compactions(None, table)
    assert report.left_out == ("d",)
    assert report.proofs[0].holds


def test_the_command_exits_with_1_and_the_procedure_lists_what_is_wrong(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    table = filled(tmp_path, KEYED["deletion vectors"])
    foreign_compaction(table)
    command = ["--warehouse", str(tmp_path), "--json", "prove-compactions", "db.t"]
    assert run(command) == 0
    assert "1 compaction of 1 proved, 0 failed: 20 rows compared" in capsys.readouterr().err
    delete_rows(table, {entry.file.file_name: [7] for entry in live(table)})
    assert run(command) == 1
    assert "1 row is lost" in capsys.readouterr().out
    (row,) = Session({"warehouse": str(tmp_path)}).sql("CALL sys.prove_compactions('db.t')").to_arrow().to_pylist()
    assert (row["snapshot_id"], row["commit_user"], row["bucket"]) == ("3", "flink", "0")
    assert "k=7" in row["examples"]
    assert "rollback_to_as_latest('db.t', 2)" in row["fix"]
