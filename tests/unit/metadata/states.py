"""States made by hand: snapshots that name manifests of small files, without a writer of tables."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from maintenance.format.metadata.index_manifest import (
    DELETION_VECTORS_INDEX,
    DeletionVectorRange,
    IndexManifestEntry,
)
from maintenance.format.metadata.manifest import FileKind, ManifestEntry
from maintenance.format.metadata.schema import TableSchema
from maintenance.format.metadata.snapshot import CommitKind, Snapshot, serialize_snapshot
from maintenance.format.rows.binary_row import EMPTY_ROW
from maintenance.fs.file_io import FileIO
from maintenance.metadata.branches import Branches
from maintenance.metadata.manifests import Manifests, ManifestWriter
from maintenance.metadata.paths import TablePaths
from maintenance.metadata.schemas import Schemas
from maintenance.metadata.snapshots import Snapshots
from maintenance.types.data_type import DataField, parse_type
from tests.unit.commit.entries import add

FILE_IO = FileIO()


def snapshot_of(snapshot_id: int, **parts: Any) -> Snapshot:
    """A snapshot whose files do not exist unless `parts` name some."""
    named: dict[str, Any] = {
        "schema_id": 0,
        "base_manifest_list": f"base-{snapshot_id}",
        "delta_manifest_list": f"delta-{snapshot_id}",
        "commit_user": "user",
        "commit_identifier": snapshot_id,
        "commit_kind": CommitKind.APPEND,
        "time_millis": 1000 * snapshot_id,
        "total_record_count": 0,
        "delta_record_count": 0,
    }
    return Snapshot(id=snapshot_id, **{**named, **parts})


def schema_of(schema_id: int = 0, **options: str) -> TableSchema:
    return TableSchema(schema_id, (DataField(0, "k", parse_type("INT")),), 0, options=options)


def vectors_of(*ranges: DeletionVectorRange, name: str = "index-0", bucket: int = 0) -> IndexManifestEntry:
    return IndexManifestEntry(
        FileKind.ADD, EMPTY_ROW, bucket, DELETION_VECTORS_INDEX, name, 5, len(ranges), dv_ranges=ranges
    )


@dataclass(frozen=True)
class HandMade:
    """A table below `folder`, with schema 0."""

    folder: Path
    branch: str = "main"

    def __post_init__(self) -> None:
        Schemas(FILE_IO, self.paths.schema_folder()).publish(schema_of())

    @property
    def paths(self) -> TablePaths:
        return TablePaths(str(self.folder), self.branch)

    @property
    def snapshots(self) -> Snapshots:
        return Snapshots(FILE_IO, self.paths)

    @property
    def branches(self) -> Branches:
        return Branches(FILE_IO, self.paths)

    @property
    def manifests(self) -> Manifests:
        return Manifests(FILE_IO, self.paths)

    def branched(self, branch: str) -> "HandMade":
        FILE_IO.make_folder(f"{self.folder}/branch/branch-{branch}")
        return replace(self, branch=branch)

    def writer(self, **settings: Any) -> ManifestWriter:
        return ManifestWriter(FILE_IO, self.paths, (), **settings)

    def list_of(self, *groups: Sequence[ManifestEntry]) -> tuple[str, int]:
        """A manifest list of one manifest for each group of entries; its name and bytes."""
        writer = self.writer()
        return writer.write_list([meta for entries in groups for meta in writer.write(entries, 0)])

    def state(
        self,
        snapshot_id: int,
        base: Sequence[ManifestEntry] = (),
        delta: Sequence[ManifestEntry] = (),
        *,
        changelog: Sequence[ManifestEntry] | None = None,
        index: Sequence[IndexManifestEntry] | None = None,
        **parts: Any,
    ) -> Snapshot:
        """A snapshot whose lists and manifests exist; it is not published."""
        (base_list, base_size), (delta_list, delta_size) = self.list_of(base), self.list_of(delta)
        named: dict[str, Any] = {
            "base_manifest_list": base_list,
            "base_manifest_list_size": base_size,
            "delta_manifest_list": delta_list,
            "delta_manifest_list_size": delta_size,
        }
        if changelog is not None:
            name, size = self.list_of(changelog)
            named |= {"changelog_manifest_list": name, "changelog_manifest_list_size": size}
        if index is not None:
            named["index_manifest"] = self.writer().write_index(index)
        return snapshot_of(snapshot_id, **{**named, **parts})

    def published(self, snapshot: Snapshot) -> Snapshot:
        """The snapshot, with its file, and no hint."""
        FILE_IO.overwrite(self.paths.snapshot(snapshot.id), serialize_snapshot(snapshot))
        return snapshot

    def store(self, entries: Iterable[ManifestEntry]) -> None:
        """Write the data files of entries, with the sizes these say, and what is beside them."""
        for entry in entries:
            path, *beside = self.paths.all_files_of(entry.partition, entry.bucket, entry.file)
            FILE_IO.overwrite(path, bytes(entry.file.file_size))
            for other in beside:
                FILE_IO.overwrite(other, b"x")


def file(name: str, **parts: Any) -> ManifestEntry:
    """An entry that adds a file. `parts`: of its `DataFileMeta`."""
    entry = add(name)
    return replace(entry, file=replace(entry.file, **parts))
