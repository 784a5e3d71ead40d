"""Proved deletion vectors: those that a compaction leaves are right, or nothing of their bucket is committed."""

import json
import shutil
import tempfile
from collections.abc import Callable, Collection, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pyroaring import BitMap, FrozenBitMap

import maintenance.write.deletion_vectors as deletion_vectors
from maintenance.catalog import CatalogTable
from maintenance.format.metadata.deletion_vector import DeletionVector, serialize_index_file
from maintenance.format.metadata.index_manifest import IndexManifestEntry
from maintenance.operations.checks.fsck import fsck
from maintenance.operations.compaction.compact import compact
from maintenance.operations.rows.delete import delete
from maintenance.write.deletion_vectors import BucketVectors
from maintenance.write.message import VectorsChange
from tests.examples import examples
from tests.tables import create_table, data_files, files_on_disk, live

VECTORS = {"deletion-vectors.enabled": "true"}
FIELDS = (("id", "INT NOT NULL"), ("a", "INT"))
Vectors = dict[str, DeletionVector]


def rows(keys: range, salt: int) -> pa.Table:
    return pa.table({"id": pa.array(keys, pa.int32()), "a": pa.array(np.array(keys) + salt, pa.int32())})


def marking(folder: Path, options: Mapping[str, str] | None = None) -> CatalogTable:
    """A table of two buckets whose next compaction marks rows of files that it does not read."""
    table = create_table(folder, FIELDS, ("id",), {**VECTORS, "bucket": "2", **(options or {})})
    table.write_arrow(rows(range(1000), 0))
    compact(None, table, full=True)
    table.write_arrow(rows(range(100), 7))
    compact(None, table)
    assert vectors_of(table), "rows are marked"
    table.write_arrow(rows(range(50, 150), 9))
    return table


def vectors_of(table: CatalogTable) -> dict[str, list[int]]:
    snapshot = table.latest_snapshot()
    assert snapshot is not None
    index = table.manifests.read_index(snapshot)
    groups = {(entry.partition, entry.bucket) for entry in index}
    actual = [BucketVectors.of(table.write_context(), *group, index).vectors() for group in groups]
    return {name: list(vector.positions) for vectors in actual for name, vector in vectors.items()}


def index_files(table: CatalogTable) -> set[str]:
    return {path.name for path in Path(table.location).glob("index/*")}


def refused(table: CatalogTable, said: str, bucket: int = 0, **how: Any) -> dict[str, Any]:
    """Compact, which must fail for one bucket, leave it as it was, and put away what was written."""
    before = [entry for entry in live(table) if entry.bucket == bucket]
    vectors, content = vectors_of(table), table.to_arrow().sort_by("id")
    report = compact(None, table, **how)
    (group,) = report.failed
    assert group.bucket == bucket
    assert said in group.message
    assert [entry for entry in live(table) if entry.bucket == bucket] == before
    names = {entry.file.file_name for entry in before}
    assert {n: v for n, v in vectors_of(table).items() if n in names} == {
        n: v for n, v in vectors.items() if n in names
    }
    assert table.to_arrow().sort_by("id").select(["id"]) == content.select(["id"])
    (reported,) = Path(table.location).glob("_quarantine/*/proof.json")
    document: dict[str, Any] = json.loads(reported.read_text())
    for side in ("expected", "given"):
        assert document[side]["digest"] in group.message
    moved = {str(path.relative_to(reported.parent)) for path in reported.parent.rglob("*") if path.is_file()}
    assert moved - {"proof.json"} == set(document["files"])
    assert any(path.startswith("index/") for path in document["files"])
    assert {path for path in files_on_disk(table) if "_quarantine" not in path} == data_files(table)
    assert fsck(table.file_io, table.location, deep=True).healthy
    return document


def vectors_changed(change: Callable[[Vectors], Vectors], monkeypatch: pytest.MonkeyPatch, bucket: int = 0) -> None:
    """What is written of the vectors of a bucket is something else."""
    right = BucketVectors._written

    def wrong(self: BucketVectors, vectors: Mapping[str, DeletionVector]) -> tuple[IndexManifestEntry, ...]:
        return right(self, change(dict(vectors)) if self.bucket == bucket else vectors)

    monkeypatch.setattr(BucketVectors, "_written", wrong)


def first_as(change: Callable[[BitMap], BitMap]) -> Callable[[Vectors], Vectors]:
    """The first vector with other rows."""

    def changed(vectors: Vectors) -> Vectors:
        name = next(iter(vectors))
        return {**vectors, name: DeletionVector(FrozenBitMap(change(BitMap(vectors[name].positions))))}

    return changed


WRONG: dict[str, tuple[Callable[[Vectors], Vectors], str]] = {
    "a row is alive again": (first_as(lambda held: held - BitMap([held.min()])), "are deleted, expected"),
    "another row is deleted": (first_as(lambda held: held | BitMap([450])), "are deleted, expected"),
    "a row beyond the end": (first_as(lambda held: held | BitMap([100_000])), "row 100000 of"),
    "no vector": (lambda _: {}, "has no vector, and must have one"),
    "a vector of another file": (
        lambda held: {**held, "data-x-0.parquet": next(iter(held.values()))},
        "data-x-0.parquet has a vector, and must not have one",
    ),
    "a vector of its own": (
        lambda held: dict(zip(["data-x-0.parquet"], held.values(), strict=True)),
        "has no vector, and must have one",
    ),
}


@pytest.mark.parametrize("wrong", WRONG)
@pytest.mark.parametrize("mode", ["auto", "full", "sampled"])
def test_wrong_vectors_are_found(wrong: str, mode: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    table = marking(tmp_path)
    change, said = WRONG[wrong]
    vectors_changed(change, monkeypatch)
    reported = refused(table, said, proof=mode)
    assert reported["expected"]["digest"] != reported["given"]["digest"]
    monkeypatch.undo()
    assert not compact(None, table).failed


def test_a_vector_that_outlives_its_file_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    table = marking(tmp_path)
    right = BucketVectors.change

    def wrong(self: BucketVectors, deleted: Mapping[str, BitMap], gone: Collection[str] = ()) -> VectorsChange:
        # As right, but for the vectors of files that go.
        actual = right(self, deleted, gone)
        if self.bucket or not any(name in self.holders for name in gone):
            return actual
        return replace(actual, added=self._written(self.vectors()))

    monkeypatch.setattr(BucketVectors, "change", wrong)
    refused(table, "has a vector, and must not have one", full=True)


def test_damaged_bytes_are_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    table = marking(tmp_path)

    def wrong(vectors: Mapping[str, DeletionVector]) -> Any:
        data, ranges = serialize_index_file(vectors)
        return data[:-1] + bytes([data[-1] ^ 1]), ranges

    monkeypatch.setattr(deletion_vectors, "serialize_index_file", wrong)
    before, snapshot = vectors_of(table), table.snapshots.latest_id()
    failed = compact(None, table).failed
    assert [group.bucket for group in failed] == [0, 1]
    assert all("cannot be read again" in group.message for group in failed)
    assert (vectors_of(table), table.snapshots.latest_id()) == (before, snapshot)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda found: replace(found, seen=dict.fromkeys(found.seen, "index-x")), "and the commit looks in index-x"),
        (lambda found: replace(found, seen={}), "and the commit looks in None"),
        (lambda found: replace(found, removed=(*found.removed, "index-x")), "index file index-x is removed"),
        (lambda found: replace(found, removed=()), "stays, but the vector of"),
        (lambda found: replace(found, added=(replace(found.added[0], row_count=7),)), "unlike its entry"),
        (lambda found: replace(found, added=(replace(found.added[0], file_size=7),)), "unlike its entry"),
        (lambda found: replace(found, added=found.added * 2), "has a vector of a file that has another one"),
    ],
)
def test_a_change_that_says_something_else_is_found(
    change: Callable[[VectorsChange], VectorsChange], said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = marking(tmp_path)
    right = BucketVectors.change

    def wrong(self: BucketVectors, *given: Any) -> VectorsChange:
        return right(self, *given) if self.bucket else change(right(self, *given))

    monkeypatch.setattr(BucketVectors, "change", wrong)
    refused(table, said)


def test_the_other_buckets_are_committed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    table = marking(tmp_path)
    vectors_changed(lambda _: {}, monkeypatch, bucket=1)
    snapshot = table.snapshots.latest_id() or 0
    refused(table, "has no vector", bucket=1)
    assert table.snapshots.latest_id() == snapshot + 1
    assert [entry.file.level for entry in live(table) if entry.bucket == 0].count(0) == 0


def test_vectors_that_outlive_files_of_an_append_table_are_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = create_table(tmp_path, FIELDS, (), {**VECTORS, "bucket": "-1"})
    for salt in range(4):
        table.write_arrow(rows(range(salt * 100, salt * 100 + 100), salt))
    delete(None, table, "id < 17")
    right = BucketVectors.change

    def wrong(self: BucketVectors, deleted: Mapping[str, BitMap], gone: Collection[str] = ()) -> VectorsChange:
        # The vectors of the files that go stay.
        return replace(right(self, deleted, gone), removed=(), added=())

    monkeypatch.setattr(BucketVectors, "change", wrong)
    before = vectors_of(table)
    (group,) = compact(None, table, full=True).failed
    assert "stays, but the vector of" in group.message
    assert vectors_of(table) == before
    monkeypatch.undo()
    assert not compact(None, table, full=True).failed
    assert vectors_of(table) == {}


def test_with_the_proof_off_wrong_vectors_are_not_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    table = marking(tmp_path)
    vectors_changed(WRONG["another row is deleted"][0], monkeypatch)
    assert not compact(None, table, proof="off").failed


# Options, and the primary key.
TABLES: tuple[tuple[dict[str, str], tuple[str, ...]], ...] = (
    ({"bucket": "1"}, ("id",)),
    ({"bucket": "2", "deletion-vectors.bitmap64": "true"}, ("id",)),
    ({"bucket": "1", "changelog-producer": "lookup"}, ("id",)),
    ({"bucket": "1", "merge-engine": "partial-update"}, ("id",)),
    ({"bucket": "-1", "deletion-vector.index-file.target-size": "1 b"}, ()),
    ({"bucket": "2", "bucket-key": "id"}, ()),
)
STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("write"), st.integers(0, 20), st.integers(1, 20)),
        st.tuples(st.just("delete"), st.integers(0, 20), st.integers(0, 5)),
        st.tuples(st.just("compact"), st.booleans(), st.just(0)),
    ),
    min_size=3,
    max_size=9,
)


@settings(max_examples=examples(40), suppress_health_check=[HealthCheck.too_slow])
@given(options=st.sampled_from(TABLES), steps=STEPS, mode=st.sampled_from(["auto", "full", "sampled"]))
def test_nothing_right_is_refused(options: Any, steps: list[tuple[str, int, int]], mode: str) -> None:
    folder = tempfile.mkdtemp()
    try:
        few = {"num-sorted-run.compaction-trigger": "2", "compaction.min.file-num": "2"}
        table = create_table(folder, FIELDS, options[1], {**VECTORS, **few, **options[0]})
        written = 0
        for number, (step, one, other) in enumerate([("write", 0, 20), *steps, ("compact", True, 0)]):
            if step == "write":
                table.write_arrow(rows(range(one, one + other), number))
                written += 1
            elif step == "delete" and not options[1]:
                delete(None, table, f"id BETWEEN {one} AND {one + other}")
            elif step == "compact":
                before = table.to_arrow().num_rows
                assert not compact(None, table, full=bool(one), proof=mode).failed
                assert options[1] or table.to_arrow().num_rows == before
        assert written
        assert not list(Path(table.location).glob("_quarantine"))
    finally:
        shutil.rmtree(folder)
