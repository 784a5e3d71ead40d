"""Index manifests that may hold each other's content: an expiry leaves them and their index files alone.

A snapshot names its index manifest without its size or content. But deleted rows stay deleted: from one snapshot to the
next, the vector of a live data file never loses rows. If one does, two index manifests were exchanged, or a writer has
dropped vectors; then an index manifest that seems to belong to an expired snapshot may still be needed.
"""

from collections.abc import Sequence

from maintenance.errors import CorruptFileError, UnsupportedError
from maintenance.format.metadata.manifest import FileKind
from maintenance.format.metadata.snapshot import Snapshot
from maintenance.metadata.manifests import Manifests

# Partition, bucket and name of a data file.
_File = tuple[bytes, int, str]


def doubtful_index_manifests(pairs: Sequence[tuple[Snapshot, Snapshot]], manifests: Manifests) -> set[str]:
    """Names of index manifests of snapshots between which vectors lose rows. `pairs`: a snapshot and the next one."""
    doubtful: set[str] = set()
    for before, after in pairs:
        if before.index_manifest != after.index_manifest and _loses_rows(before, after, manifests):
            doubtful.update(name for name in (before.index_manifest, after.index_manifest) if name is not None)
    return doubtful


def _loses_rows(before: Snapshot, after: Snapshot, manifests: Manifests) -> bool:
    then, now = _deleted_rows(before, manifests), _deleted_rows(after, manifests)
    fewer = {file for file, rows in then.items() if rows > now.get(file, 0)}
    if not fewer:
        return False
    try:
        metas = manifests.read_list(after.delta_manifest_list, after.delta_manifest_list_size)
        delta = [entry for meta in metas for entry in manifests.read_manifest(meta)]
    except (CorruptFileError, UnsupportedError):
        return True
    gone = {(e.partition, e.bucket, e.file.file_name) for e in delta if e.kind == FileKind.DELETE}
    return not fewer <= gone


def _deleted_rows(snapshot: Snapshot, manifests: Manifests) -> dict[_File, int]:
    """The number of deleted rows of each data file; at least one where the metadata of old versions does not say."""
    if snapshot.index_manifest is None:
        return {}
    try:
        index = manifests.read_index_manifest(snapshot.index_manifest)
    except (CorruptFileError, UnsupportedError):
        return {}
    return {
        (entry.partition, entry.bucket, part.data_file_name): part.cardinality or 1
        for entry in index
        for part in entry.dv_ranges or ()
    }
