"""Real tables in a temporary warehouse, for tests of what works on tables."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa

from maintenance.catalog import Catalog, CatalogTable, Schema, open_catalog
from maintenance.commit.commit import commit_compact
from maintenance.commit.identity import CommitIdentity
from maintenance.format.metadata.data_file import DataFileMeta
from maintenance.format.metadata.manifest import ManifestEntry
from maintenance.format.metadata.simple_stats import EMPTY_STATS
from maintenance.scan.plan import ScanPlan
from maintenance.scan.split import Split
from maintenance.write.message import CommitMessage

KEYED = (("id", "INT NOT NULL"), ("v", "STRING"))


def open_warehouse(warehouse: Path | str) -> Catalog:
    """A catalog with the database `db`."""
    catalog = open_catalog({"warehouse": str(warehouse), "fs.auto_mkdir": "true"})
    catalog.create_database("db", ignore_if_exists=True)
    return catalog


def create_table(
    warehouse: Path | str,
    fields: Sequence[tuple[str, str]] = KEYED,
    primary_keys: Sequence[str] = ("id",),
    options: Mapping[str, str] | None = None,
    *,
    partition_keys: Sequence[str] = (),
    name: str = "db.t",
) -> CatalogTable:
    """A new table; one bucket unless the options say otherwise (`bucket` = -1 without a primary key).

    It is `write-only` unless they say otherwise: tests count the runs that writers leave, and compact them themselves.
    """
    defaults = {"bucket": "1" if primary_keys else "-1", "write-only": "true"}
    catalog = open_warehouse(warehouse)
    catalog.create_table(name, Schema(fields, primary_keys, partition_keys, {**defaults, **(options or {})}))
    return get_table(warehouse, name)


def get_table(warehouse: Path | str, name: str = "db.t") -> CatalogTable:
    """The table as it is now."""
    return table_of(open_warehouse(warehouse), name)


def table_of(catalog: Catalog, name: str = "db.t") -> CatalogTable:
    """A table of a catalog as it is now."""
    table = catalog.get_table(name)
    assert isinstance(table, CatalogTable)
    return table


def keyed(rows: Mapping[int, str | None] | Sequence[tuple[int, str | None]]) -> pa.Table:
    """Rows of a `KEYED` table."""
    pairs = list(rows.items()) if isinstance(rows, Mapping) else list(rows)
    ids, texts = [pair[0] for pair in pairs], [pair[1] for pair in pairs]
    return pa.table({"id": pa.array(ids, pa.int32()), "v": pa.array(texts, pa.string())})


def state(table: CatalogTable, **how: Any) -> dict[int, str | None]:
    """The rows of a `KEYED` table; each key once."""
    rows = table.to_arrow(**how).to_pylist()
    actual = {row["id"]: row["v"] for row in rows}
    assert len(actual) == len(rows), f"a key is there twice: {rows}"
    return actual


def live(table: CatalogTable) -> list[ManifestEntry]:
    """Live entries of the latest snapshot."""
    snapshot = table.latest_snapshot()
    return [] if snapshot is None else table.manifests.live_entries(snapshot)


def live_files(table: CatalogTable) -> list[DataFileMeta]:
    """Live files of the latest snapshot."""
    return [entry.file for entry in live(table)]


def splits_of(plan: ScanPlan) -> list[Split]:
    """The splits of a plan, none of which compares two snapshots."""
    splits = [split for split in plan.splits if isinstance(split, Split)]
    assert len(splits) == len(plan.splits)
    return splits


def texts_of(partitions: Iterable[Mapping[str, str]]) -> tuple[dict[str, str], ...]:
    """Partitions as people read them."""
    return tuple(map(dict, partitions))


def files_on_disk(table: CatalogTable) -> set[str]:
    """Paths of everything below a local table that is not metadata, relative to it."""
    root = Path(table.location)
    known = ("schema", "snapshot", "manifest", "tag", "index", "consumer", "commit-records")
    return {
        str(path.relative_to(root))
        for path in root.rglob("*")
        if path.is_file() and path.relative_to(root).parts[0] not in known
    }


def data_files(table: CatalogTable) -> set[str]:
    """What `files_on_disk` must be when nothing is left over: the files of all snapshots and tags, and those beside."""
    root = table.location + "/"
    actual: set[str] = set()
    held = [tag.snapshot for tag in table.tags.all().values()]
    snapshots = [table.snapshots.get(snapshot_id) for snapshot_id in table.snapshots.list_ids()]
    states = [table.manifests.live_entries(snapshot) for snapshot in [*snapshots, *held]]
    for entries in [*states, *(table.manifests.changelog_entries(snapshot) for snapshot in snapshots)]:
        for entry in entries:
            paths = table.paths.all_files_of(entry.partition, entry.bucket, entry.file)
            actual.update(path.removeprefix(root) for path in paths)
    return actual


def without_statistics(warehouse: Path) -> CatalogTable:
    """A table with one file of two rows, whose statistics are rows of no fields, without names of columns."""
    table = create_table(warehouse)
    table.write_arrow(keyed({1: "a", 2: "b"}))
    (entry,) = live(table)
    bare = replace(entry.file, file_name=f"bare-{entry.file.file_name}", value_stats=EMPTY_STATS, value_stats_cols=None)
    folder = Path(table.paths.bucket_folder(entry.partition, entry.bucket))
    (folder / entry.file.file_name).rename(folder / bare.file_name)
    message = CommitMessage(
        entry.partition, entry.bucket, entry.total_buckets, compact_before=(entry.file,), compact_after=(bare,)
    )
    commit_compact(table.commit_target(), [message], CommitIdentity("test", 1))
    return table
