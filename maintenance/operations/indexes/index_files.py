"""Give data files the file indexes that a table declares: what a task of `rewrite_file_index` does.

An existing index with the declared options stays, and the data is not read. An index that is missing, was built with
other options, or cannot be read is built from the file's own columns, including deleted rows, so that positions stay
those of the file. A file that has exactly the declared indexes is not changed.
"""

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from maintenance.errors import CorruptFileError
from maintenance.format.file_index.builder import FileIndexBuilder
from maintenance.format.file_index.container import parse_container, serialize_container
from maintenance.format.file_index.kinds import ColumnIndex, column_indexes
from maintenance.format.metadata.data_file import DataFileMeta, written_fields
from maintenance.format.metadata.manifest import ManifestEntry
from maintenance.read.data_file import DataFileReader, ReadContext
from maintenance.scan.file_index import INDEX_SUFFIX, index_bytes
from maintenance.types.data_type import DataField
from maintenance.write.context import WriteContext
from maintenance.write.file_index import store_new_container

Bodies = dict[str, dict[str, bytes | None]]

_LOG = logging.getLogger(__name__)
_BATCH_ROWS = 1 << 17


@dataclass(frozen=True, slots=True)
class IndexTask:
    """Data files to index.

    Attributes:
        rebuild: rebuild all declared indexes.
        dry_run: build and compare, write nothing.
    """

    write: WriteContext
    read: ReadContext
    entries: tuple[ManifestEntry, ...]
    rebuild: bool
    dry_run: bool


@dataclass(frozen=True, slots=True)
class IndexResult:
    """What a task did.

    Attributes:
        changed: entries before and files after; those that stay as they are are left out.
        index_bytes: of the new containers; `built`: indexes built; `dropped`: indexes that are no longer declared.
        read_files: data files that were read.
    """

    changed: tuple[tuple[ManifestEntry, DataFileMeta], ...]
    index_bytes: int = 0
    built: int = 0
    dropped: int = 0
    read_files: int = 0


def index_files(task: IndexTask) -> IndexResult:
    """Index the files of a task. Runs in a task."""
    result = IndexResult(())
    for entry in task.entries:
        old = _bodies(task, entry)
        declared = _declared(task, entry)
        kept = {} if task.rebuild else _kept(old, declared)
        missing = [index for index in declared if index.kind.name not in kept.get(index.name, {})]
        built = _built(task, entry, missing)
        result = replace(result, read_files=result.read_files + bool(missing))
        bodies = _ordered(declared, kept, built)
        if bodies == old and _in_its_place(task, entry.file, bodies):
            continue
        container = serialize_container(bodies) if bodies else None
        file = entry.file if task.dry_run else _stored(task.write, entry, container)
        result = IndexResult(
            (*result.changed, (entry, file)),
            result.index_bytes + len(container or b""),
            result.built + sum(map(len, built.values())),
            result.dropped + sum(kind not in bodies.get(name, {}) for name, kinds in old.items() for kind in kinds),
            result.read_files,
        )
    return result


def stale_entries(task: IndexTask) -> tuple[ManifestEntry, ...]:
    """The entries of a task whose indexes are not all as declared; no data is read. Runs in a task."""
    return tuple(entry for entry in task.entries if _is_stale(task, entry))


def _is_stale(task: IndexTask, entry: ManifestEntry) -> bool:
    old, declared = _bodies(task, entry), _declared(task, entry)
    if task.rebuild and declared:
        return True
    kept = _kept(old, declared)
    if any(index.kind.name not in kept.get(index.name, {}) for index in declared):
        return True
    bodies = _ordered(declared, kept)
    return bodies != old or not _in_its_place(task, entry.file, bodies)


def _bodies(task: IndexTask, entry: ManifestEntry) -> Bodies:
    """The indexes that a file has; none if they cannot be read."""
    path = task.write.paths.data_file(entry.partition, entry.bucket, entry.file)
    try:
        container = index_bytes(task.write.file_io, path, entry.file)
        return {} if container is None else parse_container(container, path)
    except CorruptFileError as error:
        _LOG.warning("a file index is rebuilt: %s", error)
        return {}


def _declared(task: IndexTask, entry: ManifestEntry) -> list[ColumnIndex]:
    """The declared indexes over the file's own columns, which are found by field id: other names, other types."""
    own = {field.id: field for field in written_fields(entry.file, task.read.schemas[entry.file.schema_id])}
    declared = []
    for index in column_indexes(task.write.options, task.write.schema.fields):
        field = own.get(index.field.id)
        if field is None or (index.key is not None and field.type.root != "MAP"):
            continue
        over_own = replace(index, field=field)
        if index.kind.supports(over_own.type):
            declared.append(over_own)
    return declared


def _kept(old: Bodies, declared: Sequence[ColumnIndex]) -> Bodies:
    """Indexes that are there as they are declared."""
    kept: Bodies = {}
    for index in declared:
        body = old.get(index.name, {}).get(index.kind.name)
        if index.fits(body):
            kept.setdefault(index.name, {})[index.kind.name] = body
    return kept


def _built(task: IndexTask, entry: ManifestEntry, missing: Sequence[ColumnIndex]) -> Bodies:
    if not missing:
        return {}
    builder = FileIndexBuilder(missing)
    path = task.write.paths.data_file(entry.partition, entry.bucket, entry.file)
    fields: tuple[DataField, ...] = tuple({index.field.id: index.field for index in missing}.values())
    for rows in DataFileReader(replace(task.read, fields=fields), path, entry.file, {}).batches(_BATCH_ROWS):
        builder.add(rows)
    return builder.bodies()


def _ordered(declared: Sequence[ColumnIndex], *parts: Mapping[str, Mapping[str, bytes | None]]) -> Bodies:
    """The bodies in the order in which they are declared, so that equal indexes make equal containers."""
    bodies: Bodies = {}
    for index in declared:
        for part in parts:
            if index.kind.name in part.get(index.name, {}):
                bodies.setdefault(index.name, {})[index.kind.name] = part[index.name][index.kind.name]
    return bodies


def _in_its_place(task: IndexTask, file: DataFileMeta, bodies: Bodies) -> bool:
    """Whether only one place holds the indexes, and the one that they belong to."""
    separate = sum(name.endswith(INDEX_SUFFIX) for name in file.extra_files)
    if not bodies:
        return file.embedded_index is None and not separate
    threshold = task.write.model.file_index_in_manifest_threshold
    if file.embedded_index is not None:
        return not separate and len(file.embedded_index) <= threshold
    return separate == 1 and _size_of(bodies) > threshold


def _size_of(bodies: Bodies) -> int:
    return len(serialize_container(bodies))


def _stored(context: WriteContext, entry: ManifestEntry, container: bytes | None) -> DataFileMeta:
    """The file's new description; writes an index file if the container is large."""
    file = entry.file
    others = tuple(name for name in file.extra_files if not name.endswith(INDEX_SUFFIX))
    if container is None:
        return replace(file, embedded_index=None, extra_files=others)
    folder = context.paths.data_file(entry.partition, entry.bucket, file).rsplit("/", 1)[0]
    threshold = context.model.file_index_in_manifest_threshold
    embedded, extra = store_new_container(container, folder, file, context.file_io, threshold)
    return replace(file, embedded_index=embedded, extra_files=(*others, *extra))
