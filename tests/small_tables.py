"""Small tables in a folder or a store, and reading them as plain values."""

import shutil
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import pyarrow as pa

from maintenance.catalog import Catalog, CatalogTable, Schema, open_catalog
from maintenance.format.metadata.snapshot import serialize_snapshot
from maintenance.table.table import Table

Place = Path | Mapping[str, str]
"""Where a warehouse is: its folder, or the options of its catalog."""


def small_table(
    place: Place,
    options: Mapping[str, str] | None = None,
    *,
    primary_key: bool = True,
    partition_keys: Sequence[str] = (),
) -> CatalogTable:
    """`db.t` with columns k and v: two buckets by key, or an append table without buckets.

    Its writers leave compaction to others unless the options say otherwise.
    """
    catalog = _catalog(place)
    catalog.create_database("db", ignore_if_exists=True)
    keys, buckets = (["k"], {"bucket": "2"}) if primary_key else ([], {"bucket": "-1"})
    fields = [("k", "BIGINT NOT NULL"), ("v", "STRING")]
    given = {**buckets, "write-only": "true", **(options or {})}
    catalog.create_table("db.t", Schema(fields, keys, partition_keys, given))
    return table_in(place)


def table_in(place: Place) -> CatalogTable:
    """The table that is there already."""
    return _catalog(place).get_table("db.t")


def _catalog(place: Place) -> Catalog:
    return open_catalog({"warehouse": str(place)} if isinstance(place, Path) else place)


def batch(values: Mapping[int, str], deleted: Sequence[int] = ()) -> pa.Table:
    """Rows to write, then the keys to delete."""
    texts = pa.array([*values.values(), *("-" for _ in deleted)], pa.string())
    return pa.table({"k": pa.array([*values, *deleted], pa.int64()), "v": texts})


def put(table: CatalogTable, values: Mapping[int, str], deleted: Iterable[int] = ()) -> int:
    """Commit rows and deletions. Returns the new snapshot's id."""
    gone = list(deleted)
    kinds = ["+I"] * len(values) + ["-D"] * len(gone)
    (snapshot_id,) = table.write_arrow(batch(values, gone), row_kinds=kinds if gone else None)
    return snapshot_id


def rows(table: Table, options: Mapping[str, str] | None = None) -> list[tuple[int, str]]:
    """All rows, in order."""
    actual = table.to_arrow(options=options).to_pylist()
    return sorted((row["k"], row["v"]) for row in actual)


def rows_at(table: Table, snapshot_id: int) -> list[tuple[int, str]]:
    return rows(table, {"scan.snapshot-id": str(snapshot_id)})


def rows_of_tag(table: Table, name: str) -> list[tuple[int, str]]:
    return rows(table, {"scan.tag-name": name})


def set_commit_time(table: Table, snapshot_id: int, millis: int) -> None:
    """Date a snapshot, so that nothing need wait for it to grow old."""
    snapshot = replace(table.snapshots.get(snapshot_id), time_millis=millis)
    table.file_io.overwrite(table.paths.snapshot(snapshot_id), serialize_snapshot(snapshot))


def set_watermark(table: Table, snapshot_id: int, watermark: int | None) -> None:
    """Give a snapshot a watermark, as streaming writers do."""
    snapshot = replace(table.snapshots.get(snapshot_id), watermark=watermark)
    table.file_io.overwrite(table.paths.snapshot(snapshot_id), serialize_snapshot(snapshot))


def branch_from_tag(table: CatalogTable, branch: str, tag: str) -> CatalogTable:
    """A branch as Paimon makes it from a tag: schemas, the tag and its snapshot are copied, data is shared."""
    held = table.tags.get(tag).snapshot
    branched = replace(table, identifier=f"{table.identifier}$branch_{branch}", branch=branch)
    shutil.copytree(table.paths.schema_folder(), branched.paths.schema_folder())
    branched.tags.publish(tag, table.tags.get(tag))
    table.file_io.make_folder(branched.paths.snapshot_folder())
    assert branched.snapshots.publish(held)
    return branched
