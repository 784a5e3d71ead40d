"""What decodes no rows takes a table of any file format: nothing of it looks into data files."""

import os
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pyarrow as pa
import pytest

from maintenance.catalog import CatalogTable, SetOption
from maintenance.commit.attempts import CommitAttempts
from maintenance.commit.changes import Changes
from maintenance.commit.commit import commit_compact
from maintenance.commit.identity import CommitIdentity
from maintenance.errors import UnsupportedError
from maintenance.format.metadata.index_manifest import GlobalIndexMeta, IndexManifestEntry
from maintenance.format.metadata.manifest import FileKind
from maintenance.format.metadata.snapshot import CommitKind
from maintenance.operations.checks.fsck import fsck
from maintenance.operations.databases.clone import clone
from maintenance.operations.expiry.expire_partitions import expire_partitions
from maintenance.operations.expiry.expire_snapshots import expire_snapshots
from maintenance.operations.expiry.expire_tags import expire_tags
from maintenance.operations.orphans.remove_orphan_files import remove_orphan_files
from maintenance.operations.refs.create_branch import create_branch
from maintenance.operations.refs.create_tag import create_tag
from maintenance.operations.refs.delete_tag import delete_tag
from maintenance.operations.refs.fast_forward import fast_forward
from maintenance.operations.refs.rollback_to import rollback_to
from maintenance.operations.repairs.compact_manifest import compact_manifest
from maintenance.operations.repairs.remove_unexisting_files import remove_unexisting_files
from maintenance.write.message import CommitMessage
from tests.tables import create_table, get_table, keyed, live, open_warehouse

# None of them is one that this engine writes; nobody has the last.
CONTENT = b"no bytes that anybody decodes"
FORMATS = ("vortex-of-tomorrow", "mosaic-9", "unheard-of")
FIELDS = (("p", "INT NOT NULL"), ("id", "INT NOT NULL"), ("v", "STRING"))


def row(number: int) -> pa.Table:
    return keyed({number: "a"}).append_column("p", pa.array([20200101], pa.int32()))


def of_format(warehouse: Path, name: str) -> CatalogTable:
    """Three snapshots, the last of them with a file of the format in place of each, and a tag."""
    table = create_table(warehouse, FIELDS, ("p", "id"), partition_keys=("p",))
    for number in range(2):
        table.write_arrow(row(number))
    create_tag(table, "early", snapshot_id=1)
    for entry in live(table):
        old = Path(table.paths.data_file(entry.partition, entry.bucket, entry.file))
        renamed = replace(entry.file, file_name=f"{old.stem}.{name}", file_size=len(CONTENT))
        old.with_name(renamed.file_name).write_bytes(CONTENT)
        message = CommitMessage(
            entry.partition, entry.bucket, 1, compact_before=(entry.file,), compact_after=(renamed,)
        )
        commit_compact(table.commit_target(), [message], CommitIdentity("other"))
    path = Path(table.paths.schema(0))
    options = f'"file.format" : "{name}", "file.format.per.level" : "5:{name}", "write-only"'
    path.write_text(path.read_text().replace('"write-only"', options))
    return get_table(warehouse)


def clone_it(table: CatalogTable, warehouse: Path) -> None:
    report = clone(table, open_warehouse(warehouse), "db.copy")
    snapshot = table.latest_snapshot()
    assert snapshot is not None
    assert len(live(table)) == 2
    assert report.new_files == len(live(table)) + len(table.manifests.read_index(snapshot))
    copies = {entry.file.file_name for entry in live(get_table(warehouse, "db.copy"))}
    assert copies == {entry.file.file_name for entry in live(table)}


def expire_all(table: CatalogTable, warehouse: Path) -> None:
    del warehouse
    assert expire_snapshots(table, retain_max=1, retain_min=1).expired


def remove_orphans(table: CatalogTable, warehouse: Path) -> None:
    del warehouse
    (entry, *_) = live(table)
    stray = Path(table.paths.data_file(entry.partition, 0, entry.file)).with_name("data-stray.unheard-of")
    stray.write_bytes(b"nobody's")
    os.utime(stray, (0, 0))
    remove_orphan_files(None, table)
    assert not stray.exists()


ACTIONS: dict[str, Callable[[CatalogTable, Path], object]] = {
    "expire_snapshots": expire_all,
    "expire_tags": lambda table, _: expire_tags(table),
    "expire_partitions": lambda table, _: expire_partitions(
        table, expiration_time=timedelta(days=1), timestamp_formatter="yyyyMMdd", timestamp_pattern="$p"
    ),
    "create_tag": lambda table, _: create_tag(table, "now"),
    "delete_tag": lambda table, _: delete_tag(table, "early"),
    "create_branch": lambda table, _: create_branch(table, "b", tag="early"),
    "fast_forward": lambda table, _: (create_branch(table, "b", tag="early"), fast_forward(table, "b")),
    "rollback to a snapshot": lambda table, _: rollback_to(table, snapshot_id=2),
    "rollback to a tag": lambda table, _: rollback_to(table, tag="early"),
    "remove_orphan_files": remove_orphans,
    "clone": clone_it,
    "fsck": lambda table, _: fsck(table.file_io, table.location),
    "compact_manifest": lambda table, _: compact_manifest(table),
    "remove_unexisting_files": lambda table, _: remove_unexisting_files(table),
    "drop_partitions": lambda table, _: table.drop_partitions([{"p": "20200101"}]),
    "truncate": lambda table, _: table.truncate(),
    "ALTER": lambda _, warehouse: open_warehouse(warehouse).alter_table("db.t", [SetOption("write-only", "false")]),
    "system tables": lambda _, warehouse: [
        open_warehouse(warehouse).get_table(f"db.t${name}").to_arrow()
        for name in ("files", "snapshots", "partitions", "buckets", "manifests", "tags")
    ],
}


@pytest.mark.parametrize("action", ACTIONS)
@pytest.mark.parametrize("name", FORMATS)
def test_it_works_and_decodes_nothing(tmp_path: Path, name: str, action: str) -> None:
    table = of_format(tmp_path, name)
    ACTIONS[action](table, tmp_path)


# Their files are listed like other index files, whatever is in them.
INDEXES = {"pk-vector.index.columns": "e", "pk-full-text.index.columns": "v", "pk-multivalue.index.columns": "v"}


@pytest.mark.parametrize("action", ACTIONS)
def test_nor_does_it_build_indexes(tmp_path: Path, action: str) -> None:
    table = create_table(tmp_path, FIELDS, ("p", "id"), partition_keys=("p",))
    for number in range(2):
        table.write_arrow(row(number))
    create_tag(table, "early", snapshot_id=1)
    (entry, *_) = live(table)
    meta = GlobalIndexMeta(0, 0, 2, source_meta=b"files")
    index = IndexManifestEntry(
        FileKind.ADD, entry.partition, 0, "of-tomorrow", "index-x", len(CONTENT), 1, global_index=meta
    )
    path = Path(table.paths.index_file(index))
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(CONTENT)
    for attempt in CommitAttempts(table.commit_target(), CommitIdentity("x")):
        with attempt:
            attempt.commit(Changes(CommitKind.COMPACT, (), index=lambda old: [*old, index]))
    schema = Path(table.paths.schema(0))
    given = ", ".join(f'"{key}" : "{value}"' for key, value in INDEXES.items())
    schema.write_text(schema.read_text().replace('"write-only"', f'{given}, "write-only"'))
    table = get_table(tmp_path)
    ACTIONS[action](table, tmp_path)
    states = map(table.snapshots.get, table.snapshots.list_ids())
    is_used = any(entry.file_name == "index-x" for state in states for entry in table.manifests.read_index(state))
    assert path.exists() or not is_used


@pytest.mark.parametrize("name", FORMATS)
def test_rows_of_such_a_table_are_refused_by_name(tmp_path: Path, name: str) -> None:
    table = of_format(tmp_path, name)
    with pytest.raises(UnsupportedError, match=name):
        table.to_arrow()
    with pytest.raises(UnsupportedError, match=f"'file.format' = '{name}'"):
        table.write_arrow(row(3))
