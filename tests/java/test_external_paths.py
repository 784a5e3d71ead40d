"""Tables whose data no longer in itside their folder: the Java core and this engine write, compact and expire them."""

import random
from collections.abc import Mapping
from pathlib import Path

import pyarrow as pa
import pytest

from maintenance.catalog import CatalogTable
from maintenance.metadata.external_paths import entropy_folders
from maintenance.operations import compact, expire_snapshots, fsck, rewrite_file_index
from tests.java.process import JavaProcess
from tests.java.samples import table_of
from tests.tables import live

COLUMNS = (("k", "INT NOT NULL"), ("p", "INT NOT NULL"), ("v", "STRING"))
PATHS = "data-file.external-paths"
INDEXED = {"file-index.bloom-filter.columns": "v", "file-index.in-manifest-threshold": "1 b"}
DELETING = {"deletion-vectors.enabled": "true", "index-file-in-data-file-dir": "true"}
# By name: primary key, options beside those of the paths.
TABLES: Mapping[str, tuple[list[str], dict[str, str]]] = {
    "round-robin": (["p", "k"], {"bucket": "1", "changelog-producer": "lookup", **INDEXED}),
    "entropy-inject": (["p", "k"], {"bucket": "1", **DELETING}),
    "specific-fs": ([], {"bucket": "-1", f"{PATHS}.specific-fs": "FILE", "data-file.path-directory": "data"}),
    "dynamic": (["p", "k"], {"bucket": "-1", "index-file-in-data-file-dir": "true"}),
}


def created(java: JavaProcess, folder: Path, name: str) -> CatalogTable:
    keys, options = TABLES[name]
    strategy = "round-robin" if name == "dynamic" else name
    paths = {PATHS: f"file://{folder}/a, file:{folder}/b/", f"{PATHS}.strategy": strategy}
    java.create_table(str(folder), "db.t", COLUMNS, (keys, ["p"]), {**options, **paths, "write-only": "true"})
    return table_of(str(folder))


def rows(table: CatalogTable) -> list[tuple[object, ...]]:
    actual = table.to_arrow()
    return sorted(zip(*(column.to_pylist() for column in actual.columns), strict=True), key=str)


def files_below(folder: Path) -> set[str]:
    return {str(path) for path in folder.rglob("*") if path.is_file() and not path.name.startswith(".")}


@pytest.mark.parametrize("name", TABLES)
def test_both_write_compact_and_expire(java: JavaProcess, tmp_path: Path, name: str) -> None:
    table = created(java, tmp_path, name)
    warehouse, drawn = str(tmp_path), random.Random(name)
    for number in range(6):
        values = [(k, k % 2, f"{number}-{k}") for k in drawn.sample(range(24), 10)]
        if number % 2:
            records = [dict(zip("kpv", row, strict=True)) for row in values]
            table.write_arrow(pa.Table.from_pylist(records, table.to_arrow().schema))
        elif name == "dynamic":
            java.write_dynamic(warehouse, "db.t", values, ["+I"] * len(values))
        else:
            java.write(warehouse, "db.t", values, ["+I"] * len(values))
        if name == "entropy-inject":
            files = [entry.file for entry in live(table)]
            assert all(f"{f.external_path}".endswith(f"/{entropy_folders(f.file_name)}/{f.file_name}") for f in files)
        if number in (3, 5):
            compact(None, table, full=True)
        if number == 4 and name not in ("dynamic",):
            java.compact(warehouse, "db.t")
        if "deletion-vectors.enabled" not in table.options or number in (3, 5):
            assert rows(table) == sorted(java.rows(warehouse, "db.t"), key=str)
    paths = {entry.file.external_path for entry in live(table)}
    assert None not in paths
    assert {str(path).removeprefix("file:").removeprefix(f"{tmp_path}/")[0] for path in paths} <= {"a", "b"}
    assert fsck(table.file_io, table.location).healthy
    if name == "round-robin":
        rewrite_file_index(None, table, rebuild=True)
        assert rows(table) == sorted(java.rows(warehouse, "db.t"), key=str)
    expire_snapshots(table, retain_min=1, retain_max=1)
    java.expire(warehouse, "db.t", 1)
    assert rows(table) == sorted(java.rows(warehouse, "db.t"), key=str)
    assert files_of(table) == files_below(tmp_path / "a") | files_below(tmp_path / "b")


def files_of(table: CatalogTable) -> set[str]:
    """The external files that the newest snapshot and its changelog name."""
    snapshot = table.latest_snapshot()
    assert snapshot is not None
    entries = [*table.manifests.live_entries(snapshot), *table.manifests.changelog_entries(snapshot)]
    data = {p for e in entries for p in table.paths.all_files_of(e.partition, e.bucket, e.file)}
    index = {part.external_path for part in table.manifests.read_index(snapshot) if part.external_path}
    return {path.removeprefix("file:") for path in data | index}
