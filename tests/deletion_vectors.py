"""Delete rows of a table's files the way Paimon does, without writing data: by an index file of deletion vectors."""

import uuid
from collections.abc import Iterable, Mapping
from dataclasses import replace

from pyroaring import FrozenBitMap, FrozenBitMap64

from maintenance.catalog import CatalogTable
from maintenance.format.metadata.deletion_vector import DeletionVector, serialize_index_file
from maintenance.format.metadata.index_manifest import (
    DELETION_VECTORS_INDEX,
    IndexManifestEntry,
    serialize_index_manifest,
)
from maintenance.format.metadata.manifest import FileKind
from maintenance.format.metadata.snapshot import Snapshot, serialize_snapshot
from tests.tables import live

ENABLED = {"deletion-vectors.enabled": "true"}
# Of a table whose reads may say whether there are deletion vectors.
MODIFIABLE = {"deletion-vectors.modifiable": "true"}


def delete_rows(table: CatalogTable, positions: Mapping[str, Iterable[int]], *, wide: bool = False) -> list[str]:
    """Put deletion vectors into the latest snapshot. Returns the paths of the index files, one for each bucket.

    Args: `positions`: by name of the data file; `wide`: vectors of 64 bits.
    """
    kind = FrozenBitMap64 if wide else FrozenBitMap
    entries: list[IndexManifestEntry] = []
    for partition, bucket in dict.fromkeys((entry.partition, entry.bucket) for entry in live(table)):
        names = [e.file.file_name for e in live(table) if (e.partition, e.bucket) == (partition, bucket)]
        vectors = {name: DeletionVector(kind(positions[name])) for name in names if name in positions}
        data, ranges = serialize_index_file(vectors)
        name = f"index-{uuid.uuid4()}-0"
        entry = IndexManifestEntry(
            FileKind.ADD, partition, bucket, DELETION_VECTORS_INDEX, name, len(data), len(vectors), ranges
        )
        table.file_io.write_bytes(table.paths.index_file(entry), data)
        entries.append(entry)
    set_index(table, entries)
    return [table.paths.index_file(entry) for entry in entries]


def copied(table: CatalogTable, entry: IndexManifestEntry) -> IndexManifestEntry:
    """An index file with the same vectors under a new name, as another writer would write it."""
    copy = replace(entry, file_name=f"index-{uuid.uuid4()}-0")
    content = table.file_io.read_bytes(table.paths.index_file(entry))
    table.file_io.write_bytes(table.paths.index_file(copy), content)
    return copy


def set_index(table: CatalogTable, entries: Iterable[IndexManifestEntry], snapshot: Snapshot | None = None) -> None:
    """Make these the index state of a snapshot, by default the latest."""
    snapshot = snapshot or table.latest_snapshot()
    assert snapshot is not None
    manifest = f"index-manifest-{uuid.uuid4()}-0"
    table.file_io.write_bytes(table.paths.manifest(manifest), serialize_index_manifest(list(entries)))
    changed = serialize_snapshot(replace(snapshot, index_manifest=manifest))
    table.file_io.overwrite(table.paths.snapshot(snapshot.id), changed)
