"""What a table holds at the moment rows are written upon it: numbers and buckets of new rows follow from that."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from maintenance.format.metadata.snapshot import Snapshot
from maintenance.write.hash_index import HashFiles
from maintenance.write.key_index import KeyIndex

Sequences = Mapping[tuple[bytes, int], int]
BucketNumbers = Mapping[bytes, int]


@dataclass(frozen=True, slots=True)
class WriteState:
    """The state that a write starts from; an empty one for what replaces everything that is there.

    Attributes:
        sequences: largest sequence number of the live files of each (partition, bucket); numbering goes on from there.
        hash_files: HASH index files by (partition, bucket) of a table with dynamic buckets, None for any other.
        bucket_numbers: how many buckets the partitions of a table with postponed buckets have.
        key_index: where the keys are of a table whose keys may change their partition, None for any other.
        runs: sorted runs of each (partition, bucket) of a table with a primary key.
        lane: of a writer among others that write the same buckets at the same time, None = they have others each.
        user: who will commit; part of the names of files that wait in the postpone bucket.
        snapshot: whose state this is, None for an empty table.
        created: newest creation time of a file in each partition of a table with postponed buckets.
    """

    sequences: Sequences = field(default_factory=dict)
    hash_files: HashFiles | None = None
    bucket_numbers: BucketNumbers = field(default_factory=dict)
    user: str = ""
    key_index: KeyIndex | None = None
    runs: Mapping[tuple[bytes, int], int] = field(default_factory=dict)
    lane: int | None = None
    snapshot: Snapshot | None = None
    created: Mapping[bytes, int] = field(default_factory=dict)

    @property
    def gives_places(self) -> bool:
        """Whether the buckets or partitions of rows follow from the keys that are there."""
        return self.hash_files is not None or self.key_index is not None
