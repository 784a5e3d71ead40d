"""Keeps up the indexes of buckets: options `pk-btree.index.columns`, `pk-bitmap.index.columns`.

Such an index is of one column and of all compacted files of one level of a bucket. Readers of Paimon pass by one that
is not of just the files that are there, so it is built after the compaction that changed them, in a snapshot of its
own.
Source: Java `BucketedSortedIndexMaintainer`, `PkSortedIndexBuilder`.
"""

import logging
import uuid
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from maintenance.amounts import number_of
from maintenance.commit.key_indexes import commit_key_indexes
from maintenance.errors import CorruptFileError, PaimonError
from maintenance.format.global_index import bitmap, btree
from maintenance.format.global_index.bitmap import bitmap_file
from maintenance.format.global_index.btree import btree_file
from maintenance.format.global_index.source_meta import SourceMeta, parse_source_meta
from maintenance.format.metadata.data_file import FileSource
from maintenance.format.metadata.index_manifest import GlobalIndexMeta, IndexManifestEntry
from maintenance.format.metadata.manifest import FileKind, ManifestEntry
from maintenance.metadata.paths import TablePaths
from maintenance.options.global_index import PK_BITMAP_INDEX_COLUMNS, PK_BTREE_INDEX_COLUMNS
from maintenance.read.data_file import DataFileReader, ReadContext
from maintenance.read.split_read import partition_values
from maintenance.scan.split import by_bucket
from maintenance.spark.tasks import all_done, run_tasks
from maintenance.table.table import Table, identity_of
from maintenance.types.arrow import arrow_type
from maintenance.types.data_type import DataField

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_LOG = logging.getLogger(__name__)
_TYPES = {PK_BTREE_INDEX_COLUMNS.key: btree.NAME, PK_BITMAP_INDEX_COLUMNS.key: bitmap.NAME}
_BUILDERS = {btree.NAME: btree_file, bitmap.NAME: bitmap_file}
_BATCH_ROWS = 1 << 16

Group = tuple[bytes, int]


@dataclass(frozen=True, slots=True)
class KeyIndexTask:
    """One index file to build. `members`: the data files, by name."""

    context: ReadContext
    paths: TablePaths
    members: tuple[ManifestEntry, ...]
    field: DataField
    index_type: str

    @property
    def sources(self) -> SourceMeta:
        files = tuple((member.file.file_name, member.file.row_count) for member in self.members)
        return SourceMeta(self.members[0].file.level, files)


def definitions(table: Table) -> list[tuple[DataField, str]]:
    """The columns with such an index, and its type."""
    return [(table.schema.field(name), _TYPES[option.key]) for option, name in table.model.key_indexed]


def refresh_key_indexes(
    spark: "SparkSession | None", table: Table, groups: frozenset[Group] | None, progress: Callable[[str], None]
) -> int | None:
    """Build the indexes that are not of the files that are there, and leave out those. Never fails.

    Args: `groups`: buckets to look at, None = all. Returns: the snapshot's id, None if nothing was to be done.
    """
    if not definitions(table):
        return None
    try:
        return _refreshed(spark, table, groups, progress)
    except PaimonError as error:
        # The rows are safe, and readers do without: the next compaction tries again.
        _LOG.warning("table %s: indexes of buckets were not built: %s", table.identifier, error)
        progress(f"indexes of buckets were not built, the next compaction tries again: {error}")
        return None


def _refreshed(
    spark: "SparkSession | None", table: Table, groups: frozenset[Group] | None, progress: Callable[[str], None]
) -> int | None:
    snapshot = table.latest_snapshot()
    if snapshot is None:
        return None
    tasks, removed = _plan(table, table.manifests.live_entries(snapshot), table.manifests.read_index(snapshot), groups)
    if not tasks and not removed:
        return None
    progress(f"{number_of(len(tasks), 'index', 'indexes')} of buckets to build, {len(removed)} are outdated")
    added = all_done(run_tasks(spark, build_key_index, tasks), table.identifier)
    identity = identity_of(table, "index_buckets")
    return commit_key_indexes(table.commit_target(), added, removed, identity)


def _plan(
    table: Table,
    live: Sequence[ManifestEntry],
    index: Sequence[IndexManifestEntry],
    groups: frozenset[Group] | None,
) -> tuple[list[KeyIndexTask], set[str]]:
    """What to build, and the names of the index files that are of no use any more."""
    wanted = {
        (*group, level, field.id, kind): (members, field)
        for group, entries in by_bucket(live).items()
        if groups is None or group in groups
        for level, members in _by_level(entries)
        for field, kind in definitions(table)
    }
    there: dict[tuple[bytes, int, int, int, str], list[str]] = {}
    removed = set[str]()
    kinds = {(field.id, kind) for field, kind in definitions(table)}
    for entry in index:
        meta = entry.global_index
        if meta is None or (meta.index_field_id, entry.index_type) not in kinds:
            continue
        if groups is not None and (entry.partition, entry.bucket) not in groups:
            continue
        sources = _sources(entry, meta.source_meta)
        place = (entry.partition, entry.bucket, sources.level, meta.index_field_id, entry.index_type)
        members, _ = wanted.get(place, ((), None))
        if not members or sources.files != tuple((member.file.file_name, member.file.row_count) for member in members):
            removed.add(entry.file_name)
        else:
            there.setdefault(place, []).append(entry.file_name)
    for names in there.values():
        removed.update(names if len(names) > 1 else ())
    current = {place for place, names in there.items() if len(names) == 1}
    schemas = {i: table.schemas.get(i) for i in {member.file.schema_id for member in live}} | {
        table.schema.id: table.schema
    }
    return [
        KeyIndexTask(
            ReadContext(table.file_io, schemas, (field,), table.schema.partition_keys),
            table.paths,
            tuple(members),
            field,
            place[-1],
        )
        for place, (members, field) in wanted.items()
        if place not in current
    ], removed


def _sources(entry: IndexManifestEntry, meta: bytes | None) -> SourceMeta:
    """What an index is built of; nothing where that was lost, as Paimon 1.4 leaves it out of what it writes again."""
    try:
        return parse_source_meta(meta or b"", entry.file_name)
    except CorruptFileError:
        return SourceMeta(0, ())


def _by_level(entries: Sequence[ManifestEntry]) -> Iterator[tuple[int, list[ManifestEntry]]]:
    """The files of a bucket that are indexed: those that compactions wrote. Source: `PrimaryKeyIndexSourcePolicy`."""
    chosen = [entry for entry in entries if entry.file.level > 0 and entry.file.file_source == FileSource.COMPACT]
    for level in sorted({entry.file.level for entry in chosen}):
        yield level, sorted((e for e in chosen if e.file.level == level), key=lambda entry: entry.file.file_name)


def build_key_index(task: KeyIndexTask) -> IndexManifestEntry:
    """Build one index file, of all rows of its data files, deleted ones included. On an error nothing of it stays."""
    values = list[pa.Array]()
    for member in task.members:
        path = task.paths.data_file(member.partition, member.bucket, member.file)
        constants = partition_values(task.context.schemas[max(task.context.schemas)], member.partition)
        reader = DataFileReader(task.context, path, member.file, constants)
        for rows in reader.batches(_BATCH_ROWS):
            values += rows.column(0).chunks
    column = pa.concat_arrays(values) if values else pa.nulls(0, arrow_type(task.field.type))
    content, meta = _BUILDERS[task.index_type](column, np.arange(len(column)), task.field.type)
    first = task.members[0]
    entry = IndexManifestEntry(
        FileKind.ADD,
        first.partition,
        first.bucket,
        task.index_type,
        f"index-{uuid.uuid4()}-0",
        len(content),
        len(column),
        global_index=GlobalIndexMeta(
            0,
            len(column) - 1,
            task.field.id,
            index_meta=meta.serialize(),
            source_meta=task.sources.serialize(),
        ),
    )
    path = task.paths.index_file(entry)
    try:
        task.context.file_io.write_bytes(path, content)
    except BaseException:
        task.context.file_io.delete_quietly([path])
        raise
    return entry
