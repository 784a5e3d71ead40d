"""Mode POSTPONE: rows wait in a bucket of their own, or partitions get a number of buckets each when they come to be.

Partitions of such a table may have different numbers of buckets; a partition keeps its number until it is overwritten.
Source: data section 8.4, Java `PostponeUtils`.
"""

from dataclasses import dataclass

from maintenance.options import table as table_options
from maintenance.options.model import TableModel


@dataclass(frozen=True, slots=True)
class PostponeOptions:
    """What the number of buckets of a new partition follows from.

    Attributes:
        default_buckets: this many if `target_rows` is None, or the writers do not know how much is written.
        target_rows: of a bucket; None = `default_buckets` or `target_bytes` counts.
        target_bytes: of a bucket.
        most: no more buckets than that by the amount of data.
    """

    default_buckets: int | None = None
    target_rows: int | None = None
    target_bytes: int = 1 << 30
    most: int = 2048

    @classmethod
    def of(cls, options: TableModel) -> "PostponeOptions":
        return cls(
            table_options.POSTPONE_DEFAULT_BUCKET_NUM.of(options),
            table_options.POSTPONE_TARGET_ROW_NUM_PER_BUCKET.of(options),
            table_options.POSTPONE_TARGET_SIZE_PER_BUCKET.of(options),
            table_options.POSTPONE_BATCH_WRITE_FIXED_BUCKET_MAX_PARALLELISM.of(options),
        )

    @property
    def settled(self) -> int | None:
        """The number of buckets of every new partition; None = it follows from the amount of data."""
        return self.default_buckets if self.target_rows is None else None

    def buckets_for(self, rows: int, size: int) -> int:
        """The number of buckets of a new partition. `size`: bytes."""
        if self.settled is not None:
            return self.settled
        value, target = (size, self.target_bytes) if self.target_rows is None else (rows, self.target_rows)
        return min(self.most, max(1, -(-value // max(1, target))))


def waits(options: TableModel) -> bool:
    """Whether rows that are written wait in the postpone bucket for a compaction to give them real ones."""
    return options.is_postponed and not table_options.POSTPONE_BATCH_WRITE_FIXED_BUCKET.of(options)


def writer_of(file_name: str) -> str:
    """The part of a waiting file's name that all files of its writer share; their rows must stay in order."""
    return file_name.rpartition("-w-")[0]
