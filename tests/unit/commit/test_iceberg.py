"""Iceberg metadata beside each commit: pyiceberg sees what the table holds, through every kind of change."""

import json
from collections.abc import Mapping
from datetime import timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyiceberg.table import StaticTable

from maintenance.catalog import CatalogTable, Schema, open_catalog
from maintenance.errors import UnsupportedError
from maintenance.metastore.schema_change import AddColumn, RenameColumn
from maintenance.operations import compact, create_tag, expire_snapshots, fsck, remove_orphan_files, rollback_to
from maintenance.types.arrow import arrow_type
from tests.small_tables import put, rows, small_table

BESIDE = {"metadata.iceberg.storage": "table-location"}


def iceberg_of(table: CatalogTable, folder: str | None = None) -> StaticTable:
    """The table as pyiceberg sees it: the newest version, to which the hint leads."""
    place = Path(folder or f"{table.location}/metadata")
    version = (place / "version-hint.text").read_text()
    assert int(version) == table.snapshots.latest_id()
    return StaticTable.from_metadata(str(place / f"v{version}.metadata.json"))


def seen(table: CatalogTable, **scan: Any) -> list[tuple[int, str]]:
    return sorted((row["k"], row["v"]) for row in iceberg_of(table).scan(**scan).to_arrow().to_pylist())


@pytest.mark.parametrize("version", ["2", "3"])
def test_an_append_table_shows_its_rows_through_every_change(tmp_path: Path, version: str) -> None:
    options = {**BESIDE, "metadata.iceberg.format-version": version, "compaction.min.file-num": "2"}
    table = small_table(tmp_path, options, primary_key=False)
    put(table, {1: "a"})
    put(table, {2: "b", 3: "c"})
    assert seen(table) == [(1, "a"), (2, "b"), (3, "c")]
    assert seen(table, row_filter="k > 1") == [(2, "b"), (3, "c")]
    assert seen(table, snapshot_id=1) == [(1, "a")]
    compact(None, table, full=True)
    assert seen(table) == rows(table) == [(1, "a"), (2, "b"), (3, "c")]
    current = iceberg_of(table).current_snapshot()
    assert current is not None
    summary = current.summary
    assert summary is not None
    assert (summary.operation.value, summary["total-data-files"], summary["total-records"]) == ("replace", "1", "3")
    table.overwrite_arrow(table.to_arrow(where="k = 2"))
    assert seen(table) == rows(table) == [(2, "b")]


def test_a_table_with_a_primary_key_shows_its_highest_level(tmp_path: Path) -> None:
    table = small_table(tmp_path, BESIDE)
    put(table, {1: "a", 2: "b"})
    assert seen(table) == []
    compact(None, table, full=True)
    assert seen(table) == [(1, "a"), (2, "b")]
    put(table, {1: "A"}, deleted=[2])
    assert seen(table) == [(1, "a"), (2, "b")]
    compact(None, table, full=True)
    assert seen(table) == rows(table) == [(1, "A")]


def test_partitions_and_columns_that_change(tmp_path: Path) -> None:
    catalog = open_catalog({"warehouse": str(tmp_path)})
    catalog.create_database("db")
    fields = [("k", "BIGINT NOT NULL"), ("v", "STRING"), ("p", "INT"), ("t", "TIMESTAMP(3)")]
    catalog.create_table("db.t", Schema(fields, [], ["p", "t"], {**BESIDE, "bucket": "-1"}))
    table = catalog.get_table("db.t")
    first = [{"k": 1, "v": "a", "p": 1, "t": None}, {"k": 2, "v": "b", "p": None, "t": 1_700_000_000_123}]
    table.write_arrow(_arrow(table, first))
    catalog.alter_table("db.t", [RenameColumn("v", "w"), AddColumn("n", "INT")])
    table = catalog.get_table("db.t")
    table.write_arrow(_arrow(table, [{"k": 3, "w": "c", "p": 1, "t": None, "n": 7}]))
    actual = iceberg_of(table)
    columns = ["k", "w", "p", "n"]
    assert _sorted(actual.scan().to_arrow().select(columns)) == _sorted(table.to_arrow(columns))
    assert _sorted(actual.scan(row_filter="p = 1").to_arrow().select(["k"])) == [(1,), (3,)]
    assert _sorted(actual.scan(row_filter="p is null").to_arrow().select(["k"])) == [(2,)]
    moment = "2023-11-14T22:13:20.123"
    assert _sorted(actual.scan(row_filter=f"t = '{moment}'").to_arrow().select(["k"])) == [(2,)]
    assert actual.scan(row_filter="t = '2024-11-14T22:13:20.123'").to_arrow().num_rows == 0


def _arrow(table: CatalogTable, values: list[dict[str, object]]) -> pa.Table:
    schema = pa.schema([(part.name, arrow_type(part.type)) for part in table.schema.fields])
    return pa.Table.from_pylist(values, schema)


def _sorted(found: pa.Table) -> list[tuple[Any, ...]]:
    return sorted(tuple(row.values()) for row in found.to_pylist())


def test_what_a_crash_left_out_is_made_up_for_by_the_next_commit(tmp_path: Path) -> None:
    table = small_table(tmp_path, BESIDE, primary_key=False)
    put(table, {1: "a"})
    identity = iceberg_of(table).metadata.table_uuid
    unseen = table.copy({"metadata.iceberg.storage": "disabled"})
    put(unseen, {2: "b"})
    put(table, {3: "c"})
    assert seen(table) == rows(table)
    assert iceberg_of(table).metadata.table_uuid == identity
    assert _files(table) == {"v3.metadata.json", "version-hint.text", "list", "manifest"}


def test_a_rollback_and_what_is_written_after_it(tmp_path: Path) -> None:
    table = small_table(tmp_path, BESIDE, primary_key=False)
    for number in range(3):
        put(table, {number: "a"})
    rollback_to(table, snapshot_id=1)
    assert seen(table) == rows(table) == [(0, "a")]
    put(table, {7: "b"})
    assert seen(table) == rows(table) == [(0, "a"), (7, "b")]


def test_maintenance_leaves_the_metadata_alone(tmp_path: Path) -> None:
    table = small_table(tmp_path, {**BESIDE, "snapshot.num-retained.min": "1"}, primary_key=False)
    for number in range(4):
        put(table, {number: "a"})
    create_tag(table, "kept", snapshot_id=2)
    expire_snapshots(table, retain_min=1, retain_max=1)
    assert [snapshot.snapshot_id for snapshot in iceberg_of(table).metadata.snapshots] == [2, 4]
    put(table, {9: "b"})
    actual = iceberg_of(table).metadata
    assert [snapshot.snapshot_id for snapshot in actual.snapshots] == [2, 4, 5]
    assert actual.refs["kept"].snapshot_id == 2
    before = _files(table)
    assert remove_orphan_files(None, table, minimum_age=timedelta(0)).deleted_files == 0
    assert fsck(table.file_io, table.location, deep=True).healthy
    assert _files(table) == before
    assert seen(table) == rows(table)


def test_an_iceberg_catalog_beside_the_databases(tmp_path: Path) -> None:
    table = small_table(tmp_path, {"metadata.iceberg.storage": "hadoop-catalog"}, primary_key=False)
    put(table, {1: "a"})
    actual = iceberg_of(table, f"{tmp_path}/iceberg/db/t/metadata").scan().to_arrow().to_pylist()
    assert actual == [{"k": 1, "v": "a"}]


def test_a_renamed_table_is_read_from_its_new_place(tmp_path: Path) -> None:
    put(small_table(tmp_path, BESIDE, primary_key=False), {1: "a"})
    catalog = open_catalog({"warehouse": str(tmp_path)})
    catalog.rename_table("db.t", "db.u")
    table = catalog.get_table("db.u")
    put(table, {2: "b"})
    assert seen(table) == rows(table) == [(1, "a"), (2, "b")]


def test_many_manifests_become_one(tmp_path: Path) -> None:
    few = {"metadata.iceberg.compaction.min.file-num": "2", "metadata.iceberg.compaction.max.file-num": "3"}
    options = {**BESIDE, **few, "metadata.iceberg.manifest-legacy-version": "true"}
    table = small_table(tmp_path, {**options, "metadata.iceberg.previous-versions-max": "1"}, primary_key=False)
    for number in range(4):
        put(table, {number: "a"})
    actual = iceberg_of(table)
    current = actual.current_snapshot()
    assert current is not None
    assert len(current.manifests(actual.io)) <= 2
    assert seen(table) == rows(table)
    names = [path.name for path in Path(f"{table.location}/metadata").glob("*.json")]
    assert sorted(names) == ["v3.metadata.json", "v4.metadata.json"]
    assert json.loads((Path(table.location) / "metadata" / "v4.metadata.json").read_text())["format-version"] == 2


@pytest.mark.parametrize(
    ("fields", "options", "found"),
    [
        ([("v", "VARIANT")], {}, "column 'v' is VARIANT"),
        ([("t", "TIMESTAMP(0)")], {}, "column 't' is TIMESTAMP\\(0\\)"),
        ([("t", "TIMESTAMP(9)")], {}, "format version 2 has no type"),
        ([("k", "INT")], {"deletion-vectors.enabled": "true"}, "would show deleted rows"),
        ([("k", "INT")], {"row-tracking.enabled": "true", "data-evolution.enabled": "true"}, "several files"),
    ],
)
def test_what_readers_would_see_wrong_is_refused(
    tmp_path: Path, fields: list[tuple[str, str]], options: Mapping[str, str], found: str
) -> None:
    catalog = open_catalog({"warehouse": str(tmp_path)})
    catalog.create_database("db")
    catalog.create_table("db.t", Schema(fields, [], [], {**BESIDE, **options, "bucket": "-1"}))
    table = catalog.get_table("db.t")
    with pytest.raises(UnsupportedError, match=found):
        table.commit_target()


def _files(table: CatalogTable) -> set[str]:
    """Names in the folder; those that are random become their kinds."""
    names = [path.name for path in Path(f"{table.location}/metadata").iterdir()]
    kinds = {"snap": "list", "avro": "manifest"}
    return {kinds["snap"] if n.startswith("snap-") else kinds["avro"] if n.endswith(".avro") else n for n in names}


@pytest.mark.parametrize("content", ["", "{}", '{"format-version": 2', "[]"])
def test_damaged_metadata_fails_no_commit_and_is_made_afresh(tmp_path: Path, content: str) -> None:
    table = small_table(tmp_path, BESIDE, primary_key=False)
    put(table, {1: "a"})
    (Path(table.location) / "metadata" / "v1.metadata.json").write_text(content)
    put(table, {2: "b"})
    assert seen(table) == rows(table) == [(1, "a"), (2, "b")]
    put(table, {3: "c"})
    assert seen(table) == [(1, "a"), (2, "b"), (3, "c")]


def test_whatever_happens_to_the_metadata_the_commit_stands(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    table = small_table(tmp_path, BESIDE, primary_key=False)
    put(table, {1: "a"})

    def failing(_: object) -> bytes:
        raise KeyError("none")

    with monkeypatch.context() as broken:
        broken.setattr("maintenance.commit.iceberg.follow.serialize_metadata", failing)
        put(table, {2: "b"})
    assert "the Iceberg metadata of db.t is behind until the next commit" in caplog.text
    put(table, {3: "c"})
    assert seen(table) == rows(table) == [(1, "a"), (2, "b"), (3, "c")]
