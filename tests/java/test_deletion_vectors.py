"""Deletion vectors of both engines: each reads, continues and compacts what the other wrote, and neither loses rows."""

import operator
from collections.abc import Mapping
from functools import reduce
from pathlib import Path

import numpy as np
import pytest
from pyroaring import BitMap, BitMap64, FrozenBitMap, FrozenBitMap64

from maintenance.catalog import CatalogTable
from maintenance.format.metadata.deletion_vector import DeletionVector
from maintenance.monitor.vectors import deletion_vectors_intact
from maintenance.operations.compaction.compact import compact
from maintenance.operations.expiry.expire_snapshots import expire_snapshots
from maintenance.scan.vectors import dead_vectors
from tests.java.process import JavaError, JavaProcess
from tests.tables import create_table, get_table, keyed, live_files, state

VECTORS = {"deletion-vectors.enabled": "true"}
APPEND: Mapping[str, Mapping[str, str]] = {
    "unaware": {"bucket": "-1"},
    "small index files": {"bucket": "-1", "deletion-vector.index-file.target-size": "10 b"},
    "64 bits": {"bucket": "-1", "deletion-vectors.bitmap64": "true"},
    "buckets": {"bucket": "2", "bucket-key": "id"},
}
KEYED: Mapping[str, Mapping[str, str]] = {
    "deduplicate": {},
    "sequence": {"sequence.field": "v"},
    "changelog": {"changelog-producer": "lookup"},
    "partial-update": {"merge-engine": "partial-update", "partial-update.remove-record-on-delete": "true"},
    "64 bits": {"deletion-vectors.bitmap64": "true"},
    "aggregation": {"merge-engine": "aggregation", "fields.v.aggregate-function": "max"},
}


# Start, stop and step of deleted rows: what becomes an array, a bitmap or runs, and where two of them are as long.
PATTERNS: Mapping[str, list[tuple[int, int, int]]] = {
    "none": [],
    "one": [(7, 8, 1)],
    "three in a row": [(0, 3, 1)],
    "four in a row": [(0, 4, 1)],
    "two runs of two": [(0, 2, 1), (5, 7, 1)],
    "three runs of three": [(0, 3, 1), (10, 13, 1), (20, 23, 1)],
    "many runs of two": [(start, start + 2, 1) for start in range(0, 3000, 7)],
    "many runs of three": [(start, start + 3, 1) for start in range(0, 3000, 7)],
    "an array": [(0, 8192, 3)],
    "the longest array": [(0, 8192, 2)],
    "the shortest bitmap": [(0, 8194, 2)],
    "a bitmap": [(0, 65536, 3)],
    "a bitmap of runs": [(start, start + 20, 1) for start in range(0, 65536, 40)],
    "as many runs as are shorter than a bitmap": [(start, start + 5, 1) for start in range(0, 2047 * 32, 32)],
    "one more": [(start, start + 5, 1) for start in range(0, 2048 * 32, 32)],
    "all of a block": [(0, 65536, 1)],
    "over the end of a block": [(65530, 65545, 1)],
    "several blocks": [(0, 200_000, 1), (300_000, 400_000, 9), (1_000_000, 1_000_003, 1)],
    "more blocks than have no offsets": [(block << 16, (block << 16) + 5, 1) for block in range(4)],
    "fewer blocks than have offsets": [(block << 16, (block << 16) + 5, 1) for block in range(3)],
    "mixed blocks": [(0, 10, 1), (70_000, 70_020, 2), (140_000, 180_000, 3)],
    "high rows": [((1 << 31) - 5, (1 << 31) - 1, 1)],
}
WIDE = {**PATTERNS, "beyond 32 bits": [(5, 9, 1), ((3 << 32) + 5, (3 << 32) + 500, 1)]}


@pytest.mark.parametrize(("wide", "name"), [*((False, name) for name in PATTERNS), *((True, name) for name in WIDE)])
def test_bytes_are_those_of_javas_writer(java: JavaProcess, wide: bool, name: str) -> None:
    ranges = WIDE[name]
    positions = np.concatenate([np.arange(*part, dtype=np.uint64) for part in ranges] or [np.zeros(0, np.uint64)])
    expected = java.vector_bytes(ranges, wide)
    kind, other = (FrozenBitMap64, BitMap64) if wide else (FrozenBitMap, BitMap)
    assert DeletionVector(kind(positions.tolist())).serialize() == expected
    # Whatever way the bitmap came about.
    grown = reduce(operator.ior, (other(range(*part)) for part in ranges), other())
    vector = DeletionVector(kind(grown))
    assert vector.serialize() == expected
    assert DeletionVector.parse(expected, name) == vector
    assert DeletionVector.parse(expected, name).serialize() == expected


def rows_here(table: CatalogTable) -> dict[int, str | None]:
    actual = table.to_arrow().to_pylist()
    rows = {row["id"]: row["v"] for row in actual}
    assert len(rows) == len(actual)
    return rows


def check(java: JavaProcess, folder: Path, expected: Mapping[int, str | None]) -> None:
    """Both engines see these rows and the same vectors."""
    table = get_table(folder)
    assert rows_here(table) == expected
    assert sorted(java.rows(str(folder), "db.t")) == sorted(expected.items())
    snapshot = table.latest_snapshot()
    assert snapshot is not None
    counts = {
        name: deletion.range.cardinality
        for files in table.manifests.deletion_vectors(snapshot).values()
        for name, deletion in files.items()
    }
    assert {name: len(rows) for name, rows in java.vectors(str(folder), "db.t").items()} == counts


@pytest.mark.parametrize("how", APPEND)
def test_append_tables_change_hands(java: JavaProcess, tmp_path: Path, how: str) -> None:
    table = create_table(tmp_path, primary_keys=(), options={**VECTORS, **APPEND[how]})
    expected: dict[int, str | None] = {number: f"v{number}" for number in range(20)}
    table.write_arrow(keyed({n: v for n, v in expected.items() if n < 10}))
    java.write(str(tmp_path), "db.t", [(n, v) for n, v in expected.items() if n >= 10])
    assert table.delete("id IN (1, 3, 5, 11)").deleted_rows == 4
    expected = {n: v for n, v in expected.items() if n not in (1, 3, 5, 11)}
    check(java, tmp_path, expected)
    # Java goes on deleting: the first row of each file that is still there.
    files = [file.file_name for file in live_files(table)]
    java.commit_prepared(java.prepare_deletion(str(tmp_path), "db.t", {name: [0] for name in files}))
    after = rows_here(get_table(tmp_path))
    assert set(after) < set(expected)
    check(java, tmp_path, after)
    report = table.update({"v": "'changed'"}, "id >= 15")
    assert report.updated_rows == sum(n >= 15 for n in after)
    after = {n: "changed" if n >= 15 else v for n, v in after.items()}
    check(java, tmp_path, after)
    java.compact(str(tmp_path), "db.t")
    check(java, tmp_path, after)
    table.delete("id IN (0, 2, 4, 6, 8)")
    after = {n: v for n, v in after.items() if n not in (0, 2, 4, 6, 8)}
    check(java, tmp_path, after)
    assert not compact(None, table, full=True).failed
    check(java, tmp_path, after)
    if how != "buckets":
        assert java.vectors(str(tmp_path), "db.t") == {}
    java.write(str(tmp_path), "db.t", [(100, "late")])
    check(java, tmp_path, {**after, 100: "late"})
    assert java.orphans(str(tmp_path), "db.t") == []


@pytest.mark.parametrize("how", ["unaware", "buckets"])
def test_who_deletes_second_finds_out(java: JavaProcess, tmp_path: Path, how: str) -> None:
    table = create_table(tmp_path, primary_keys=(), options={**VECTORS, **APPEND[how]})
    table.write_arrow(keyed({number: f"v{number}" for number in range(20)}))
    names = [file.file_name for file in live_files(table)]
    prepared = java.prepare_deletion(str(tmp_path), "db.t", {name: [0, 1] for name in names})
    assert table.delete("id IN (4, 5, 6, 7)").deleted_rows == 4
    if how == "unaware":
        with pytest.raises(JavaError, match="onflict"):
            java.commit_prepared(prepared)
    compaction = java.prepare_compaction(str(tmp_path), "db.t") if how == "unaware" else None
    assert table.delete("id IN (8, 9)").deleted_rows == 2
    if compaction is not None:
        with pytest.raises(JavaError, match="onflict"):
            java.commit_prepared(compaction)
    check(java, tmp_path, {n: f"v{n}" for n in range(20) if not 4 <= n <= 9})


@pytest.mark.parametrize("how", KEYED)
def test_tables_with_a_key_change_hands(java: JavaProcess, tmp_path: Path, how: str) -> None:
    """Rounds of writes and deletions, compacted in turn by either engine."""
    options = {"bucket": "2", "num-sorted-run.compaction-trigger": "3", **VECTORS, **KEYED[how]}
    table = create_table(tmp_path, options=options)
    marked: set[str] = set()
    expected: dict[int, str | None] = {}
    for turn in range(8):
        new = dict.fromkeys(range(turn, 40, 1 + turn % 3), f"v{turn}")
        gone = [] if how == "aggregation" else [turn, turn + 7, turn + 20]
        rows = {**{n: v for n, v in new.items() if n not in gone}, **dict.fromkeys(gone, f"v{turn}")}
        kinds = ["-D" if n in gone else "+I" for n in rows]
        if turn % 4 < 2:
            table.write_arrow(keyed(rows), kinds)
        else:
            java.write(str(tmp_path), "db.t", list(rows.items()), kinds)
        expected = {**expected, **rows}
        expected = {n: v for n, v in expected.items() if n not in gone}
        if turn % 2:
            java.compact(str(tmp_path), "db.t")
        else:
            assert not compact(None, get_table(tmp_path), full=turn == 6).failed
        check(java, tmp_path, expected)
        if java.vectors(str(tmp_path), "db.t"):
            marked.add("java" if turn % 2 else "here")
    assert "here" in marked, "no compaction of ours marked anything"
    assert java.orphans(str(tmp_path), "db.t") == []


def test_where_java_does_not_look(java: JavaProcess, tmp_path: Path) -> None:
    """In a table with fixed buckets Java writes over a deletion that came before it; documented, and out of reach."""
    table = create_table(tmp_path, primary_keys=(), options={**VECTORS, **APPEND["buckets"]})
    table.write_arrow(keyed({number: f"v{number}" for number in range(20)}))
    prepared = java.prepare_deletion(str(tmp_path), "db.t", {file.file_name: [0] for file in live_files(table)})
    assert table.delete("id IN (4, 5, 6, 7)").deleted_rows == 4
    java.commit_prepared(prepared)
    actual = rows_here(get_table(tmp_path))
    assert len(actual) == 18
    assert {4, 5, 6, 7} & set(actual)
    check(java, tmp_path, actual)


def test_a_vector_that_java_forgets_to_take_away_is_no_damage(java: JavaProcess, tmp_path: Path) -> None:
    """A full compaction of its that rewrites one file leaves the file's vector in the index."""
    table = create_table(tmp_path, options={**VECTORS, "bucket": "1", "write-only": "false"})
    warehouse = str(tmp_path)
    java.write(warehouse, "db.t", [(key, "a") for key in range(20)], ["+I"] * 20)
    java.write(warehouse, "db.t", [(key, "a") for key in range(5)], ["-D"] * 5)
    java.compact(warehouse, "db.t")
    snapshot = table.latest_snapshot()
    assert snapshot is not None
    assert len(dead_vectors(table.manifests, snapshot, table.manifests.live_entries(snapshot))) == 1
    left = dict.fromkeys(range(5, 20), "a")
    assert state(table) == left == dict(java.rows(warehouse, "db.t"))
    assert deletion_vectors_intact(table).passed
    compact(None, table, full=True, beside_other_compactors=True)
    java.write(warehouse, "db.t", [(5, "b"), (6, "a")], ["+U", "-D"])
    assert state(table) == {**dict.fromkeys(range(7, 20), "a"), 5: "b"} == dict(java.rows(warehouse, "db.t"))
    expire_snapshots(table, retain_max=1, retain_min=1)
    assert len(state(table)) == 14
