"""Global indexes in a commit: which come and go, and whether what an index says of its rows still holds.

An index says which rows have a value, by their row ids. So its rows must still be there when it is published, and their
column must have the values that were indexed; and who gives rows new values in an indexed column must drop the index,
or not do it. Source: Java `IndexManifestFileHandler`, `ConflictDetection`, `MergeIntoUpdateChecker`.
"""

from collections.abc import Callable, Collection, Iterable, Sequence

from pyroaring import BitMap64

from maintenance.commit.conflicts import Conflict
from maintenance.format.metadata.data_file import DataFileMeta, written_fields
from maintenance.format.metadata.index_manifest import GlobalIndexMeta, IndexManifestEntry
from maintenance.format.metadata.manifest import EntrySelection
from maintenance.format.metadata.schema import TableSchema
from maintenance.format.metadata.snapshot import Snapshot
from maintenance.metadata.manifests import Manifests
from maintenance.scan.global_index import covered_rows


def indexed_fields(meta: GlobalIndexMeta) -> tuple[int, ...]:
    """The ids of the columns of an index."""
    return (meta.index_field_id, *(meta.extra_field_ids or ()))


def indexes_of(
    index: Iterable[IndexManifestEntry], partitions: Collection[bytes], fields: Collection[int]
) -> list[IndexManifestEntry]:
    """The files of global indexes on one of the columns in one of the partitions. `fields`: ids."""
    return [
        entry
        for entry in index
        if entry.global_index is not None
        and entry.partition in partitions
        and not set(indexed_fields(entry.global_index)).isdisjoint(fields)
    ]


def ids_of(files: Iterable[DataFileMeta]) -> BitMap64:
    """The row ids of data files."""
    rows = BitMap64()
    for file in files:
        if file.first_row_id is not None:
            rows.add_range(file.first_row_id, file.first_row_id + file.row_count)
    return rows


def check_added(
    manifests: Manifests,
    schemas: Callable[[Sequence[int]], dict[int, TableSchema]],
    added: Sequence[IndexManifestEntry],
    latest: Snapshot | None,
    seen: int,
) -> Conflict | None:
    """What new index files contradict.

    Args: `schemas`: loads schemas by id; `seen`: the snapshot whose rows were indexed.
    """
    partitions = {entry.partition for entry in added}
    live = [] if latest is None else manifests.live_entries(latest, EntrySelection(partitions.__contains__))
    index = [] if latest is None else manifests.read_index(latest)
    loaded = schemas(sorted({entry.file.schema_id for entry in live}))
    wrong = set()
    for entry in added:
        assert entry.global_index is not None
        covered, field = covered_rows([entry.global_index]), entry.global_index.index_field_id
        own = [part.file for part in live if part.partition == entry.partition]
        newer = [
            file
            for file in own
            if file.max_sequence_number > seen
            and field in {column.id for column in written_fields(file, loaded[file.schema_id])}
        ]
        same = [old for old in index if old.index_type == entry.index_type]
        others = covered_rows(old.global_index for old in indexes_of(same, {entry.partition}, {field}))
        if covered - ids_of(own) or covered & ids_of(newer) or covered & others:
            wrong.add((entry.partition, entry.bucket))
    return Conflict("other rows, values or indexes are there meanwhile", frozenset(wrong)) if wrong else None
