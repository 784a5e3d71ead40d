"""HASH index files at work: which bucket a row of a dynamic-bucket table goes to, and the index of what was written.

Buckets are given by what the index files of one snapshot hold. If another writer gives buckets in the same partition
meanwhile, a key could end up in two of them, so the commit checks that these files are still the partition's, and the
work is redone on the new ones where they are not.
"""

import uuid
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from functools import partial

import numpy as np
import pyarrow as pa

from maintenance.bucket.dynamic import ALONE, Assigner, DynamicBucketOptions, PartitionBuckets, assigner_of
from maintenance.errors import ROLL_BACK, CorruptFileError
from maintenance.format.metadata.hash_index import parse_hash_index, serialize_hash_index
from maintenance.format.metadata.index_manifest import HASH_INDEX, IndexManifestEntry
from maintenance.format.metadata.manifest import FileKind
from maintenance.format.rows.binary_row import row_hashes
from maintenance.metadata.identity import check_size
from maintenance.threads import map_in_threads
from maintenance.types.integer_order import distinct_integers, sorted_integers
from maintenance.write.context import WriteContext
from maintenance.write.partitions import by_partition
from maintenance.write.placement import FilePlacement

# On a store, each read waits for its answer.
_READERS = 16

HashFiles = Mapping[tuple[bytes, int], IndexManifestEntry]


def key_hashes(rows: pa.Table, context: WriteContext) -> np.ndarray:
    """The hash of each row's trimmed primary key, int32, shape (n,)."""
    fields = context.schema.key_fields
    return row_hashes([rows.column(field.name) for field in fields], [field.type for field in fields])


def read_hashes(context: WriteContext, entry: IndexManifestEntry) -> np.ndarray:
    """The hashes of an index file. Raises: CorruptFileError: it is missing or damaged."""
    path = context.paths.index_file(entry)
    try:
        data = context.file_io.read_bytes(path)
    except FileNotFoundError as error:
        raise CorruptFileError("a HASH index file is missing", path, ROLL_BACK) from error
    check_size(entry.file_size, len(data), path)
    return parse_hash_index(data, path)


def _read_all(context: WriteContext, entries: Collection[IndexManifestEntry]) -> list[np.ndarray]:
    """The hashes of each of some index files."""
    return map_in_threads(partial(read_hashes, context), entries, _READERS)


class BucketAssigner:
    """Gives rows of a dynamic-bucket table their buckets. `files`: the HASH files of the snapshot written upon."""

    def __init__(self, context: WriteContext, files: HashFiles, assigner: Assigner = ALONE) -> None:
        self._context = context
        self._files = files
        self._assigner = assigner
        self._options = DynamicBucketOptions.of(context.model)
        self._partitions: dict[bytes, PartitionBuckets] = {}

    def assign(self, rows: pa.Table) -> np.ndarray:
        """The bucket of each row, int32, shape (n,)."""
        hashes = key_hashes(rows, self._context)
        buckets = np.empty(rows.num_rows, np.int32)
        for partition, chosen in by_partition(rows, self._context):
            buckets[chosen] = self._of(partition).assign(hashes[chosen])
        return buckets

    def _of(self, partition: bytes) -> PartitionBuckets:
        if partition not in self._partitions:
            files = {bucket: entry for (p, bucket), entry in self._files.items() if p == partition}
            held = zip(files, _read_all(self._context, files.values()), strict=True)
            self._partitions[partition] = PartitionBuckets(dict(held), self._options, self._assigner)
        return self._partitions[partition]


# So much is read before a write to save it an exchange of all its rows.
_CHECKED_FILES = 64
_CHECKED_BYTES = 16 << 20


def owns_buckets_alone(context: WriteContext, files: HashFiles, count: int) -> bool:
    """Whether no two of `count` assigners can give keys the same bucket, so that each may write what it assigns.

    `files`: as of `BucketAssigner`. False as well where it would take long to find out, or a file cannot be read: the
    assigner that needs it says why.
    """
    if not files:
        return True
    if DynamicBucketOptions.of(context.model).max_buckets >= 0:
        # Keys without a free bucket go to any of those that are there.
        return False
    if len(files) > _CHECKED_FILES or sum(entry.file_size for entry in files.values()) > _CHECKED_BYTES:
        return False
    try:
        held = zip(files, _read_all(context, files.values()), strict=True)
        return all((assigner_of(hashes, count) == bucket % count).all() for (_, bucket), hashes in held)
    except CorruptFileError:
        return False


@dataclass(slots=True)
class HashIndexWriter:
    """Gathers the key hashes of one bucket's rows. `before`: the bucket's index file so far."""

    context: WriteContext
    partition: bytes
    bucket: int
    before: IndexManifestEntry | None
    _seen: list[np.ndarray] = field(default_factory=list)

    def add(self, rows: pa.Table) -> None:
        self._seen.append(distinct_integers(key_hashes(rows, self.context)))

    def finish(self) -> IndexManifestEntry | None:
        """Write the whole index if a hash is new; None if the file so far still is the bucket's."""
        old = np.empty(0, np.int32) if self.before is None else read_hashes(self.context, self.before)
        new = _without(distinct_integers(np.concatenate([np.empty(0, np.int32), *self._seen])), old)
        if not len(new):
            return None
        hashes = np.concatenate([old, new])
        data = serialize_hash_index(hashes)
        name = f"index-{uuid.uuid4()}-0"
        entry = IndexManifestEntry(
            FileKind.ADD,
            self.partition,
            self.bucket,
            HASH_INDEX,
            name,
            len(data),
            len(hashes),
            external_path=FilePlacement(self.context.paths, self.partition, self.bucket).place_index(name),
        )
        self.context.file_io.write_bytes(self.context.paths.index_file(entry), data)
        return entry


def _without(hashes: np.ndarray, others: np.ndarray) -> np.ndarray:
    """The hashes that are not among the others."""
    if not len(others):
        return hashes
    known = sorted_integers(others)
    places = np.minimum(np.searchsorted(known, hashes), len(known) - 1)
    return np.asarray(hashes[known[places] != hashes])
