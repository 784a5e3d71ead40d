"""Deletion vectors in the Java core: what an index says, and deleting rows as Paimon's Spark commands do."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import jpype


class JavaVectors:
    """Works on tables of the Java core. `paimon`: its package, the JVM running."""

    def __init__(self, paimon: Any) -> None:
        self._paimon = paimon

    def vectors(self, table: Any) -> dict[str, list[int]]:
        """Deleted row numbers by data file, in the latest snapshot."""
        handler = table.store().newIndexFileHandler()
        collected: dict[str, list[int]] = {}
        for entry in handler.scan("DELETION_VECTORS"):
            for name, vector in handler.readAllDeletionVectors(entry).items():
                rows = [number for number in range(10_000) if vector.isDeleted(number)]
                assert len(rows) == vector.getCardinality()
                collected[str(name)] = rows
        return collected

    def serialized(self, ranges: Sequence[tuple[int, int, int]], *, wide: bool) -> bytes:
        """The vector of these rows as the writer stores it. `ranges`: start, stop and step of each."""
        package = self._paimon.deletionvectors
        vector = package.Bitmap64DeletionVector() if wide else package.BitmapDeletionVector()
        for start, stop, step in ranges:
            for position in range(start, stop, step):
                vector.delete(position)
        return bytes(package.DeletionVector.serializeToBytes(vector))

    def deletion(self, table: Any, positions: Mapping[str, Sequence[int]]) -> Callable[[], None]:
        """Write index files in which rows are deleted too, of a table without partitions. Returns what commits them.

        `positions`: row numbers by data file.
        """
        package = self._paimon.deletionvectors
        store, snapshot = table.store(), table.snapshotManager().latestSnapshot()
        handler = store.newIndexFileHandler()
        wide = str(table.options().get("deletion-vectors.bitmap64")) == "true"
        kind = package.Bitmap64DeletionVector if wide else package.BitmapDeletionVector
        messages = jpype.java.util.ArrayList()
        for partition, bucket, names in _buckets(table, positions):
            maintainers = package.append.BaseAppendDeleteFileMaintainer
            if table.bucketMode().name() == "BUCKET_UNAWARE":
                maintainer = maintainers.forUnawareAppend(handler, snapshot, partition)
            else:
                maintainer = maintainers.forBucketedAppend(handler, snapshot, partition, bucket)
            for name in names:
                vector = kind()
                for position in positions[name]:
                    vector.delete(position)
                maintainer.notifyNewDeletionVector(name, vector)
            messages.add(self._message(table, partition, bucket, maintainer.persist()))
        return lambda: table.newBatchWriteBuilder().newCommit().commit(messages)

    def _message(self, table: Any, partition: Any, bucket: int, entries: Any) -> Any:
        empty, added, removed = (jpype.java.util.ArrayList() for _ in range(3))
        for entry in entries:
            (added if entry.kind().name() == "ADD" else removed).add(entry.indexFile())
        increment = self._paimon.io.DataIncrement(empty, empty, empty, added, removed)
        compact = self._paimon.io.CompactIncrement.emptyIncrement()
        total = jpype.java.lang.Integer(int(table.bucketSpec().getNumBuckets()))
        return self._paimon.table.sink.CommitMessageImpl(partition, bucket, total, increment, compact)


def _buckets(table: Any, names: Mapping[str, Any]) -> list[tuple[Any, int, list[str]]]:
    """(partition, bucket) groups and which of the data files are theirs."""
    groups: dict[int, tuple[Any, int, list[str]]] = {}
    for split in table.newSnapshotReader().read().dataSplits():
        group = groups.setdefault(int(split.bucket()), (split.partition().copy(), int(split.bucket()), []))
        group[2].extend(str(file.fileName()) for file in split.dataFiles() if str(file.fileName()) in names)
    return [group for group in groups.values() if group[2]]
