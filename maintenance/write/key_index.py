"""Where the keys of a table are whose keys may change their partition: read from a snapshot, and continued by a writer.

No file holds this index. A writer reads the keys of the snapshot that it writes upon; if another writer adds or moves
keys meanwhile, a key could end up in two partitions, so the commit checks that there was none, and the work is redone
where there was. Source: data section 8.3, Java `IndexBootstrap`, `GlobalIndexAssigner`.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from maintenance.bucket.cross_partition import route
from maintenance.bucket.dynamic import ALONE, Assigner, BucketFilling, DynamicBucketOptions
from maintenance.format.metadata.snapshot import Snapshot
from maintenance.format.rows.binary_row import parse_row, row_array, row_hashes
from maintenance.format.rows.system_fields import VALUE_KIND
from maintenance.read.split_read import SplitRead
from maintenance.scan.split import Split
from maintenance.threads import map_in_threads
from maintenance.types.integer_order import are_among, distinct_integers
from maintenance.types.row_kind import RowKind
from maintenance.types.values import arrow_of_values
from maintenance.write.context import WriteContext
from maintenance.write.partitions import by_partition

_THREADS = 4


@dataclass(frozen=True, slots=True)
class KeyIndex:
    """The keys of a snapshot, to be read.

    Attributes:
        splits, read: files with their keys, and how to read the columns of the primary key.
        counts: rows in the files of each (partition, bucket): how full it is at most.
    """

    snapshot: Snapshot | None
    splits: tuple[Split, ...]
    read: SplitRead
    counts: Mapping[tuple[bytes, int], int]


@dataclass(frozen=True, slots=True)
class KeyRecords:
    """Keys in the index and records to write, n of both together; those of the index come before the records.

    Attributes:
        keys, partitions: serialized rows, binary, shape (n,).
        hashes: of the keys, int32, shape (n,).
        buckets: where a key of the index is, -1 for a record; int32, shape (n,).
    """

    keys: pa.Array
    partitions: pa.Array
    hashes: np.ndarray
    buckets: np.ndarray


@dataclass(frozen=True, slots=True)
class Placed:
    """m records to write, in order.

    Attributes:
        rows: the one of `KeyRecords` that each is made of, int64, shape (m,).
        partitions: where it goes, binary, shape (m,).
        retract: it deletes the key there, bool, shape (m,).
        buckets: int32, shape (m,).
    """

    rows: np.ndarray
    partitions: pa.Array
    retract: np.ndarray
    buckets: np.ndarray


class KeyPlacer:
    """Gives records of a table whose keys move their partitions and buckets."""

    def __init__(
        self, context: WriteContext, counts: Mapping[tuple[bytes, int], int], assigner: Assigner = ALONE
    ) -> None:
        self._engine = context.model.merge_engine
        self._options = DynamicBucketOptions.of(context.model)
        self._assigner = assigner
        self._counts = counts
        self._filling: dict[bytes, BucketFilling] = {}

    def place(self, records: KeyRecords) -> Placed:
        """Where records go. All that are of one key, and its entry in the index, come in one call."""
        keys = records.keys.dictionary_encode().indices.to_numpy().astype(np.int64)
        encoded = records.partitions.dictionary_encode()
        partitions = encoded.indices.to_numpy().astype(np.int64)
        has_bucket = records.buckets >= 0
        homes, home_buckets = (np.full(int(keys.max(initial=-1)) + 1, -1, np.int64) for _ in range(2))
        homes[keys[has_bucket]], home_buckets[keys[has_bucket]] = partitions[has_bucket], records.buckets[has_bucket]
        new = np.flatnonzero(~has_bucket)
        routing = route(keys[new], partitions[new], homes, self._engine)
        rows = new[routing.rows]
        buckets = home_buckets[keys[rows]]
        elsewhere = np.flatnonzero(homes[keys[rows]] != routing.partitions)
        names = encoded.dictionary.to_pylist()
        buckets[elsewhere] = self._new(
            keys[rows[elsewhere]], routing.partitions[elsewhere], records.hashes[rows[elsewhere]], names
        )
        goes_to = encoded.dictionary.take(pa.array(routing.partitions))
        return Placed(rows, goes_to, routing.retract, buckets.astype(np.int32))

    def _new(self, keys: np.ndarray, partitions: np.ndarray, hashes: np.ndarray, names: list[bytes]) -> np.ndarray:
        """Buckets of keys in partitions that they come to. Each pair gets one, in the order in which they come."""
        pairs = keys * max(1, len(names)) + partitions
        _, first, inverse = np.unique(pairs, return_index=True, return_inverse=True)
        assigned = np.empty(len(first), np.int64)
        for partition in np.unique(partitions).tolist():
            chosen = np.flatnonzero(partitions[first] == partition)
            chosen = chosen[np.argsort(first[chosen], kind="stable")]
            assigned[chosen] = self._of(names[partition]).take(hashes[first[chosen]])
        return assigned[inverse]

    def _of(self, partition: bytes) -> BucketFilling:
        if partition not in self._filling:
            counts = {bucket: count for (p, bucket), count in self._counts.items() if p == partition}
            self._filling[partition] = BucketFilling(counts, self._options, self._assigner)
        return self._filling[partition]


def records_of(rows: pa.Table, context: WriteContext) -> KeyRecords:
    """Records to write. `rows`: as `conform` returns them."""
    keys, hashes = _keys_of(rows, context)
    names: list[bytes] = []
    numbers = np.empty(rows.num_rows, np.int32)
    for partition, chosen in by_partition(rows, context):
        numbers[chosen] = len(names)
        names.append(partition)
    partitions = pa.array(names, pa.binary()).take(pa.array(numbers))
    return KeyRecords(keys, partitions, hashes, np.full(rows.num_rows, -1, np.int32))


def indexed(index: KeyIndex, split: Split, context: WriteContext) -> Iterator[KeyRecords]:
    """The keys in the files of a split."""
    for rows in index.read.tables(split):
        keys, hashes = _keys_of(rows, context)
        partitions = pa.array([split.partition], pa.binary()).take(pa.array(np.zeros(rows.num_rows, np.int32)))
        yield KeyRecords(keys, partitions, hashes, np.full(rows.num_rows, split.bucket, np.int32))


def with_known(records: KeyRecords, index: KeyIndex, context: WriteContext) -> KeyRecords:
    """Records with the index's entries for their keys. All keys of the table are read, those of the records kept."""
    hashes = distinct_integers(records.hashes)

    def entries(split: Split) -> list[KeyRecords]:
        return [_chosen(part, are_among(part.hashes, hashes)) for part in indexed(index, split, context)]

    indexed_records = [record for part in map_in_threads(entries, index.splits, _THREADS) for record in part]
    return together([*indexed_records, records])


def together(parts: list[KeyRecords]) -> KeyRecords:
    """One after the other."""
    return KeyRecords(
        pa.concat_arrays([part.keys for part in parts]),
        pa.concat_arrays([part.partitions for part in parts]),
        np.concatenate([part.hashes for part in parts]),
        np.concatenate([part.buckets for part in parts]),
    )


def moved(rows: pa.Table, placed: Placed, context: WriteContext) -> pa.Table:
    """The records to write: of their partition, and deletions where keys leave. `rows`: what each is made of."""
    fields = context.schema.partition_fields
    encoded = placed.partitions.dictionary_encode()
    values = [parse_row(partition, [field.type for field in fields]) for partition in encoded.dictionary.to_pylist()]
    for place, field in enumerate(fields):
        column = arrow_of_values([each[place] for each in values], field.type).take(encoded.indices)
        at = rows.schema.get_field_index(field.name)
        rows = rows.set_column(at, rows.schema.field(at), column)
    kinds = np.where(placed.retract, np.int8(RowKind.DELETE), rows.column(VALUE_KIND.name).to_numpy())
    return rows.set_column(rows.schema.get_field_index(VALUE_KIND.name), VALUE_KIND.name, pa.array(kinds, pa.int8()))


def _keys_of(rows: pa.Table, context: WriteContext) -> tuple[pa.Array, np.ndarray]:
    fields = context.schema.fields_of(context.schema.primary_keys)
    columns, types = [rows.column(field.name) for field in fields], [field.type for field in fields]
    return row_array(columns, types), row_hashes(columns, types)


def _chosen(records: KeyRecords, mask: np.ndarray) -> KeyRecords:
    kept = pa.array(mask)
    return KeyRecords(
        records.keys.filter(kept), records.partitions.filter(kept), records.hashes[mask], records.buckets[mask]
    )
