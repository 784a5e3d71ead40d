"""Write deletion vectors: those of the files of one bucket, with more rows deleted, or without files that go.

A bucket of a table with buckets has one index file, which is rewritten with all vectors that the bucket has; when
none is left, an index file without vectors stands for that. Where there are no buckets only the index files that hold a
vector that changes are rewritten, and new ones are closed at `deletion-vector.index-file.target-size`.
Source: data section 7, Java `BucketedDvMaintainer`, `AppendDeleteFileMaintainer`.
"""

import uuid
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass

from pyroaring import BitMap, FrozenBitMap, FrozenBitMap64

from maintenance.errors import ROLL_BACK, CorruptFileError
from maintenance.format.metadata.deletion_vector import DeletionVector, parse_index_file, serialize_index_file
from maintenance.format.metadata.index_manifest import DELETION_VECTORS_INDEX, IndexManifestEntry
from maintenance.format.metadata.manifest import FileKind
from maintenance.metadata.identity import check_size
from maintenance.options import table as table_options
from maintenance.write.context import WriteContext
from maintenance.write.message import VectorsChange
from maintenance.write.placement import FilePlacement

Deleted = Mapping[str, BitMap]  # row numbers by name of the data file


@dataclass(frozen=True, slots=True)
class BucketVectors:
    """The deletion vectors of one bucket at one snapshot.

    Attributes: `entries`: its index files; vectors that these do not name are left out when they are written again.
    """

    context: WriteContext
    partition: bytes
    bucket: int
    entries: tuple[IndexManifestEntry, ...]

    @classmethod
    def of(
        cls, context: WriteContext, partition: bytes, bucket: int, index: Sequence[IndexManifestEntry]
    ) -> "BucketVectors":
        """`index`: the whole index state of a snapshot."""
        place = (partition, bucket, DELETION_VECTORS_INDEX)
        return cls(
            context,
            partition,
            bucket,
            tuple(entry for entry in index if (entry.partition, entry.bucket, entry.index_type) == place),
        )

    @property
    def holders(self) -> dict[str, str]:
        """The index file of each data file that has a vector."""
        return {part.data_file_name: entry.file_name for entry in self.entries for part in entry.dv_ranges or ()}

    @property
    def has_one_file(self) -> bool:
        return self.context.has_primary_key or self.context.total_buckets != -1

    @property
    def _has_spent(self) -> bool:
        """Whether an index file holds vectors that are left out here."""
        return self.has_one_file and any(len(entry.dv_ranges or ()) < entry.row_count for entry in self.entries)

    def change(self, deleted: Deleted, gone: Collection[str] = ()) -> VectorsChange:
        """Write what follows when rows are deleted, in addition to those that are, and files go.

        On an error nothing of what was written stays. Raises: CorruptFileError: an index file is missing or damaged.
        """
        holders = self.holders
        touched = set(deleted) | set(gone)
        seen = {name: holders.get(name) for name in touched}
        if not any(deleted.values()) and not any(seen.values()) and not self._has_spent:
            return VectorsChange(seen, only=self.has_one_file)
        changed = {holder for holder in seen.values() if holder is not None}
        replaced = [entry for entry in self.entries if self.has_one_file or entry.file_name in changed]
        vectors = {name: vector for entry in replaced for name, vector in self._read(entry).items() if name not in gone}
        for name, rows in deleted.items():
            if rows and name not in gone:
                vectors[name] = self._with(vectors.get(name), rows)
        removed = tuple(entry.file_name for entry in replaced)
        return VectorsChange(seen, removed, self._written(vectors), self.has_one_file)

    def vectors(self) -> dict[str, DeletionVector]:
        """All vectors by name of the data file. Raises: CorruptFileError."""
        return {name: vector for entry in self.entries for name, vector in self._read(entry).items()}

    def _with(self, before: DeletionVector | None, rows: BitMap) -> DeletionVector:
        # A file's vector takes the form that the table has now.
        if self.context.model.deletion_vectors_bitmap64:
            wide = FrozenBitMap64(rows)
            return DeletionVector(wide if before is None else FrozenBitMap64(before.positions) | wide)
        narrow = FrozenBitMap(rows)
        return DeletionVector(narrow if before is None else FrozenBitMap(before.positions) | narrow)

    def _read(self, entry: IndexManifestEntry) -> dict[str, DeletionVector]:
        path = self.context.paths.index_file(entry)
        try:
            data = self.context.file_io.read_bytes(path)
        except FileNotFoundError as error:
            raise CorruptFileError("an index file with deletion vectors is missing", path, ROLL_BACK) from error
        check_size(entry.file_size, len(data), path)
        return parse_index_file(data, entry.dv_ranges or (), path)

    def _written(self, vectors: Mapping[str, DeletionVector]) -> tuple[IndexManifestEntry, ...]:
        written: list[IndexManifestEntry] = []
        user = uuid.uuid4()
        placement = FilePlacement(self.context.paths, self.partition, self.bucket)
        try:
            for number, part in enumerate([vectors] if self.has_one_file else self._rolled(vectors)):
                data, ranges = serialize_index_file(part)
                name = f"index-{user}-{number}"
                entry = IndexManifestEntry(
                    FileKind.ADD,
                    self.partition,
                    self.bucket,
                    DELETION_VECTORS_INDEX,
                    name,
                    len(data),
                    len(part),
                    ranges,
                    placement.place_index(name),
                )
                written.append(entry)
                self.context.file_io.write_bytes(self.context.paths.index_file(entry), data)
        except BaseException:
            self.context.file_io.delete_quietly(map(self.context.paths.index_file, written))
            raise
        return tuple(written)

    def _rolled(self, vectors: Mapping[str, DeletionVector]) -> Iterator[dict[str, DeletionVector]]:
        """The vectors in parts, each closed when it is as large as wanted."""
        limit = table_options.DELETION_VECTOR_INDEX_FILE_TARGET_SIZE.of(self.context.options)
        part: dict[str, DeletionVector] = {}
        size = 0
        for name, vector in vectors.items():
            part[name] = vector
            size += len(vector.serialize())
            if size > limit:
                yield part
                part, size = {}, 0
        if part:
            yield part
