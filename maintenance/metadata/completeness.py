"""Whether all files of a state exist: checked before other states are given up for it.

Looks at every list, manifest, index manifest and schema of the state, and at the size of each index and data file, by
listing their folders. The content of the files is not read.
"""

from collections.abc import Iterator, Sequence

from maintenance.errors import RESTORE, CorruptFileError, ExpiredError, MissingFileError
from maintenance.format.metadata.index_manifest import IndexManifestEntry
from maintenance.format.metadata.manifest import FileKind, ManifestEntry
from maintenance.format.metadata.snapshot import Snapshot
from maintenance.metadata.dead_vectors import DeadVector, unspent
from maintenance.metadata.identity import check_size, unexpected
from maintenance.metadata.manifests import Manifests
from maintenance.metadata.schemas import Schemas
from maintenance.threads import map_in_threads

_THREADS = 8
# Path and bytes; None where nothing says how many.
_File = tuple[str, int | None]


def check_complete(manifests: Manifests, snapshot: Snapshot) -> None:
    """Check that a state can be read: all its files are there, with the sizes that name them.

    Raises: CorruptFileError: a file is missing, damaged, or holds another one's content; MissingFileError: a schema is
        missing; ExpiredError: the snapshot is gone by now.
    """
    live = manifests.live_entries(snapshot)
    index = manifests.read_index(snapshot)
    check_vectors(manifests, snapshot, index, live)
    schemas = Schemas.of(manifests.file_io, manifests.paths)
    for schema_id in {snapshot.schema_id, *(entry.file.schema_id for entry in live)}:
        schemas.get(schema_id)
    _check_stored(manifests, [*_data_files(manifests, live), *_index_files(manifests, snapshot, index)])


def is_untouched(manifests: Manifests, snapshot: Snapshot) -> bool:
    """Whether nothing is gone of a snapshot: neither of its state nor of its changelog."""
    try:
        check_complete(manifests, snapshot)
        added = (entry for entry in manifests.changelog_entries(snapshot) if entry.kind == FileKind.ADD)
        _check_stored(manifests, list(_data_files(manifests, added)))
    except (CorruptFileError, MissingFileError, ExpiredError):
        return False
    return True


def check_vectors(
    manifests: Manifests,
    snapshot: Snapshot,
    index: Sequence[IndexManifestEntry],
    live: Sequence[ManifestEntry],
    *,
    untold: bool = False,
) -> None:
    """Check that each deletion vector is of a file that lives, or spent: else the index manifest is another state's.

    Args: `live`: at least the files that have vectors; `untold`: also refuse a dead vector of which nothing is
        known. Raises: CorruptFileError.
    """
    if snapshot.index_manifest is None:
        return
    rows = {(entry.partition, entry.bucket, entry.file.file_name): entry.file.row_count for entry in live}
    path = manifests.paths.manifest(snapshot.index_manifest)
    dead: list[DeadVector] = []
    for entry in index:
        for part in entry.dv_ranges or ():
            count = rows.get((entry.partition, entry.bucket, part.data_file_name))
            if count is None:
                dead.append(DeadVector(entry.partition, entry.bucket, part.data_file_name, path))
            elif (part.cardinality or 0) > count:
                why = f"one of {part.data_file_name}, which has {count} rows"
                raise unexpected("deletion vectors of live files", why, path)
    for vector in unspent(manifests, snapshot, dead, untold=untold):
        raise unexpected("deletion vectors of live files", f"one of {vector.file_name}, which does not live", path)


def _data_files(manifests: Manifests, entries: Sequence[ManifestEntry] | Iterator[ManifestEntry]) -> Iterator[_File]:
    for entry in entries:
        path, *extras = manifests.paths.all_files_of(entry.partition, entry.bucket, entry.file)
        yield path, entry.file.file_size
        yield from ((other, None) for other in extras)


def _index_files(manifests: Manifests, snapshot: Snapshot, index: Sequence[IndexManifestEntry]) -> Iterator[_File]:
    yield from ((manifests.paths.index_file(entry), entry.file_size) for entry in index)
    if snapshot.statistics is not None:
        yield manifests.paths.statistics_file(snapshot.statistics), None


def _check_stored(manifests: Manifests, files: Sequence[_File]) -> None:
    """Raises: CorruptFileError: a file is missing, or has another size."""
    folders = list(dict.fromkeys(path.rpartition("/")[0] for path, _ in files))
    listed = map_in_threads(manifests.file_io.list_files, folders, _THREADS)
    stored = {
        f"{folder}/{file.name}": file.size
        for folder, in_folder in zip(folders, listed, strict=True)
        for file in in_folder
    }
    for path, size in files:
        if path not in stored:
            raise CorruptFileError("a file that the state needs is missing", path, RESTORE)
        check_size(size, stored[path], path)
