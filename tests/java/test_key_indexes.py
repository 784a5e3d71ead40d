"""Indexes of the buckets of a table with a primary key, which compactions build; Paimon 1.4 knows nothing of them."""

from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from maintenance.catalog import CatalogTable, RenameColumn
from maintenance.commit.identity import CommitIdentity
from maintenance.commit.key_indexes import commit_key_indexes
from maintenance.errors import ConflictError, CorruptFileError, OptionError
from maintenance.format.global_index.bitmap import BitmapIndex
from maintenance.format.global_index.btree import BTreeIndex
from maintenance.format.global_index.source_meta import SourceMeta, parse_source_meta
from maintenance.format.metadata.index_manifest import IndexManifestEntry
from maintenance.operations.checks.fsck import fsck
from maintenance.operations.compaction import key_indexes
from maintenance.operations.compaction.compact import compact
from maintenance.operations.expiry.expire_snapshots import expire_snapshots
from maintenance.operations.orphans.remove_orphan_files import remove_orphan_files
from tests.java.process import JavaProcess
from tests.tables import create_table, get_table, open_warehouse

FIELDS = [("id", "INT NOT NULL"), ("v", "STRING"), ("n", "INT")]
VECTORS = {"deletion-vectors.enabled": "true", "paimon-maintenance.compaction.beside-other-compactors": "true"}
INDEXED = {**VECTORS, "write-only": "false", "pk-btree.index.columns": "v", "pk-bitmap.index.columns": "n"}
Row = tuple[int, str | None, int | None]


def row(key: int, version: int = 0) -> Row:
    return key, None if key % 7 == 3 else f"v{version}-{key % 5}", None if key % 4 == 1 else key % 3


def write(table: CatalogTable, rows: list[Row]) -> None:
    ids, texts, numbers = zip(*rows, strict=True)
    table.write_arrow(pa.table({"id": pa.array(ids, pa.int32()), "v": texts, "n": pa.array(numbers, pa.int32())}))


def indexes(table: CatalogTable) -> list[IndexManifestEntry]:
    snapshot = table.latest_snapshot()
    assert snapshot is not None
    return [entry for entry in table.manifests.read_index(snapshot) if entry.global_index is not None]


def check(folder: Path, expected: Mapping[int, Row]) -> None:
    """The rows are there, and each level of each bucket has one index for each column, which finds its rows."""
    table = get_table(folder)
    assert sorted(tuple(collected.values()) for collected in table.to_arrow().to_pylist()) == sorted(expected.values())
    assert fsck(table.file_io, table.location, deep=True).faults == ()
    snapshot = table.latest_snapshot()
    assert snapshot is not None
    live = [entry for entry in table.manifests.live_entries(snapshot) if entry.file.level > 0]
    levels = {(entry.bucket, entry.file.level) for entry in live}
    collected = {}
    for entry in indexes(table):
        meta = entry.global_index
        assert meta is not None
        assert meta.source_meta is not None
        sources = parse_source_meta(meta.source_meta, entry.file_name)
        members = sorted(
            (e for e in live if (e.bucket, e.file.level) == (entry.bucket, sources.level)),
            key=lambda e: e.file.file_name,
        )
        assert sources.files == tuple((member.file.file_name, member.file.row_count) for member in members)
        assert (meta.row_range_start, meta.row_range_end + 1) == (0, entry.row_count)
        assert (entry.bucket, sources.level, entry.index_type) not in collected
        collected[entry.bucket, sources.level, entry.index_type] = entry
        assert_finds(table, entry, [member.file.file_name for member in members])
    assert set(collected) == {(*place, kind) for place in levels for kind in ("btree", "bitmap")}


def assert_finds(table: CatalogTable, entry: IndexManifestEntry, names: list[str]) -> None:
    """An index finds each value where it stands in the data files, one after the other."""
    assert entry.global_index is not None
    assert entry.global_index.index_meta is not None
    field = table.schema.field("v" if entry.index_type == "btree" else "n")
    assert entry.global_index.index_field_id == field.id
    paths = {path.rsplit("/", 1)[-1]: path for path in map(str, Path(table.location).rglob("*.parquet"))}
    stored = [value for name in names for value in pq.read_table(paths[name]).column(field.name).to_pylist()]
    path = table.paths.index_file(entry)
    content = pa.BufferReader(Path(path).read_bytes())
    for wanted in {*stored}:

        def matches(values: pa.Array, wanted: Any = wanted) -> np.ndarray:
            return np.array([value == wanted for value in values.to_pylist()], bool)

        if entry.index_type == "btree":
            rows = BTreeIndex(content, path, field.type).rows(matches, lambda last: np.ones(len(last), bool))
        else:
            rows = BitmapIndex(content, path, field.type).rows(matches)
        assert list(rows) == [number for number, value in enumerate(stored) if value == wanted]


@pytest.mark.parametrize("place", ["index", "bucket-[01]"])
def test_compactions_keep_indexes_complete_though_java_builds_none(
    java: JavaProcess, tmp_path: Path, place: str
) -> None:
    beside = {"index-file-in-data-file-dir": "true"} if place != "index" else {}
    table = create_table(tmp_path, FIELDS, ("id",), {**INDEXED, "bucket": "2", **beside})
    expected = {key: row(key) for key in range(60)}
    write(table, list(expected.values()))
    check(tmp_path, expected)
    assert len(indexes(table)) == 4
    expected |= {key: row(key, 1) for key in range(40, 80)}
    write(table, [expected[key] for key in range(40, 80)])
    check(tmp_path, expected)
    # What Java 1.4 compacts it does not index: the old ones are passed by, and the next compaction of ours builds them.
    java.write(str(tmp_path), "db.t", [row(key, 2) for key in range(70, 90)])
    java.compact(str(tmp_path), "db.t")
    expected |= {key: row(key, 2) for key in range(70, 90)}
    report = compact(None, get_table(tmp_path))
    assert report.snapshot_ids
    check(tmp_path, expected)
    assert not compact(None, get_table(tmp_path)).snapshot_ids
    get_table(tmp_path).delete("id < 10")
    expected = {key: value for key, value in expected.items() if key >= 10}
    compact(None, get_table(tmp_path), full=True)
    check(tmp_path, expected)
    assert sorted(java.rows(str(tmp_path), "db.t")) == sorted(expected.values(), key=lambda found: found[0])
    future = datetime(2099, 1, 1, tzinfo=UTC)
    expire_snapshots(get_table(tmp_path), retain_max=1, retain_min=1, older_than=future)
    remove_orphan_files(None, get_table(tmp_path), minimum_age=timedelta(0))
    check(tmp_path, expected)
    files = {path.name for path in Path(table.location).glob(f"{place}/index-*")}
    assert {entry.file_name for entry in indexes(get_table(tmp_path))} <= files
    assert len(files) <= 6


def test_buckets_without_rows_lose_their_indexes(tmp_path: Path) -> None:
    table = create_table(tmp_path, FIELDS, ("id",), {**INDEXED, "bucket": "1"})
    write(table, [row(key) for key in range(5)])
    assert len(indexes(table)) == 2
    table.truncate()
    compact(None, get_table(tmp_path))
    assert indexes(get_table(tmp_path)) == []


def test_a_column_with_another_name(tmp_path: Path) -> None:
    table = create_table(tmp_path, FIELDS, ("id",), {**INDEXED, "bucket": "1"})
    write(table, [row(key) for key in range(5)])
    before = {entry.file_name for entry in indexes(table)}
    open_warehouse(tmp_path).alter_table("db.t", [RenameColumn("v", "w")])
    assert get_table(tmp_path).options["pk-btree.index.columns"] == "w"
    compact(None, get_table(tmp_path))
    assert {entry.file_name for entry in indexes(get_table(tmp_path))} == before


def test_a_failure_leaves_the_rows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Files that are replaced while they are indexed: nothing of the indexes stays, the next compaction builds them."""

    def lose(*_: object) -> int:
        raise ConflictError("lost", "here", "Run again.")

    table = create_table(tmp_path, FIELDS, ("id",), {**INDEXED, "bucket": "1"})
    with monkeypatch.context() as patch:
        patch.setattr(key_indexes, "commit_key_indexes", lose)
        write(table, [row(key) for key in range(5)])
    assert "indexes of buckets were not built" in caplog.text
    assert indexes(table) == []
    compact(None, get_table(tmp_path))
    check(tmp_path, {key: row(key) for key in range(5)})


def test_files_that_are_gone_are_not_indexed(tmp_path: Path) -> None:
    table = create_table(tmp_path, FIELDS, ("id",), {**INDEXED, "bucket": "1"})
    write(table, [row(key) for key in range(5)])
    (entry, *_) = indexes(table)
    assert entry.global_index is not None
    sources = SourceMeta(5, (("gone.parquet", 5),)).serialize()
    late = replace(entry, file_name="late", global_index=replace(entry.global_index, source_meta=sources))
    with pytest.raises(ConflictError, match="indexed are gone"):
        commit_key_indexes(table.commit_target(), [late], (), CommitIdentity("u"))


@pytest.mark.parametrize(
    ("options", "match"),
    [
        ({"pk-btree.index.columns": "x"}, "names 'x'"),
        ({"pk-btree.index.columns": "a"}, "which is ARRAY<INT>"),
        ({"pk-btree.index.columns": "n"}, "column 'n' is indexed twice"),
        ({"deletion-vectors.enabled": "false"}, "without deletion vectors"),
        ({"bucket": "-1"}, "dynamic buckets"),
    ],
)
def test_columns_and_tables_that_cannot_be_indexed_are_refused(
    tmp_path: Path, options: dict[str, str], match: str
) -> None:
    with pytest.raises(OptionError, match=match):
        create_table(tmp_path, [*FIELDS, ("a", "ARRAY<INT>")], ("id",), {**INDEXED, "bucket": "1", **options})


def test_what_they_are_built_of() -> None:
    meta = SourceMeta(3, (("a.parquet", 5), ("é", 1 << 40)))
    assert parse_source_meta(meta.serialize(), "f") == meta
    expected = bytes.fromhex("00000001 00000002 00000001 0001 61 0000000000000007")
    assert SourceMeta(2, (("a", 7),)).serialize() == expected
    for damaged in (b"", meta.serialize()[:-1], meta.serialize() + b"x", b"\0" * 12):
        with pytest.raises(CorruptFileError):
            parse_source_meta(damaged, "f")
