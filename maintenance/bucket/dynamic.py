"""Mode HASH_DYNAMIC: a key stays in the bucket it was first given; new keys fill buckets up to a number of rows.

Keys are known by their hash alone. Several assigners may work side by side: each sees the keys whose hash falls to it,
and opens new buckets only with ids that are its own. Keys go to buckets in the order they come, so the same keys in the
same order always get the same buckets. Source: data section 8.2, Java `HashBucketAssigner`, `PartitionIndex`.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from maintenance.errors import OptionError
from maintenance.options.model import TableModel
from maintenance.types.integer_order import ascending_order, first_of_each

_LAST_BUCKET = 32767
_LEAST_HASH = np.int64(-(2**31))


@dataclass(frozen=True, slots=True)
class DynamicBucketOptions:
    """`target_rows`: keys of a bucket before another one is opened; `max_buckets`: of a partition, -1 = any number."""

    target_rows: int = 2_000_000
    max_buckets: int = -1

    @classmethod
    def of(cls, options: TableModel) -> "DynamicBucketOptions":
        return cls(
            options.dynamic_bucket_target_row_num,
            options.dynamic_bucket_max_buckets,
        )


@dataclass(frozen=True, slots=True)
class Assigner:
    """One of `count` assigners, number `number` from 0."""

    number: int = 0
    count: int = 1

    def owns(self, bucket: int) -> bool:
        return bucket % self.count == self.number


ALONE = Assigner()


def assigner_of(hashes: np.ndarray, count: int) -> np.ndarray:
    """The assigner of each key hash, int32: Java's remainder, made positive."""
    return (np.abs(hashes.astype(np.int64)) % count).astype(np.int32)


class PartitionBuckets:
    """The buckets of one partition, as one assigner sees and fills them."""

    def __init__(
        self, buckets: Mapping[int, np.ndarray], options: DynamicBucketOptions, assigner: Assigner = ALONE
    ) -> None:
        """`buckets`: the hashes that each bucket of the partition holds, int32."""
        counts = {bucket: len(hashes) for bucket, hashes in buckets.items()}
        self._filling = BucketFilling(counts, options, assigner)
        hashes = np.concatenate([np.empty(0, np.int32), *buckets.values()])
        owners = np.concatenate([np.empty(0, np.int32), *(np.full(len(h), b, np.int32) for b, h in buckets.items())])
        mine = assigner_of(hashes, assigner.count) == assigner.number
        hashes, owners = hashes[mine], owners[mine]
        order = _order(hashes)
        first = order[first_of_each(hashes[order])]
        self._held = np.append(_entries(hashes[first], owners[first]), _END)

    def assign(self, hashes: np.ndarray) -> np.ndarray:
        """The bucket of each key, int32, shape (n,). `hashes`: of keys, int32, shape (n,), repeated ones allowed.

        Raises: OptionError: no bucket id is left.
        """
        order = _order(hashes)
        ordered = hashes[order]
        is_first = first_of_each(ordered)
        distinct = ordered[is_first]
        keys = _entries(distinct, np.int64(0))
        # What is held for a key is its bucket behind it; without sign, for the way to the end may be that long.
        behind = (self._held[np.searchsorted(self._held, keys)] - keys).view(np.uint64)
        owners = behind.astype(np.int32)
        new = np.flatnonzero(behind > _LAST_BUCKET)
        if len(new):
            owners[new] = self._given(distinct[new], order[is_first][new])
            # Two ascending runs, which a stable sort merges.
            self._held = np.sort(np.append(_entries(distinct[new], owners[new]), self._held), kind="stable")
        result = np.empty(len(order), np.int32)
        result[order] = owners[np.cumsum(is_first) - 1]
        return result

    def _given(self, hashes: np.ndarray, places: np.ndarray) -> np.ndarray | int:
        """The buckets of new keys, or the one of all. `places`: in what order they came, shape (n,)."""
        bucket = self._filling.take_one(len(hashes))
        if bucket is not None:
            return bucket
        as_they_came = ascending_order(places.view(np.uint64))
        buckets = np.empty(len(hashes), np.int32)
        buckets[as_they_came] = self._filling.take(hashes[as_they_came])
        return buckets


# Behind all that is held. No bucket is so far behind a hash.
_END = np.int64(2**63 - 1)


def _entries(hashes: np.ndarray, buckets: np.ndarray | np.int64) -> np.ndarray:
    """What is held of keys: hash and bucket in one number, int64, shape (n,)."""
    return (hashes.astype(np.int64) << np.int64(32)) + buckets


def _order(hashes: np.ndarray) -> np.ndarray:
    """Places of hashes in ascending order; equal ones stay in order."""
    return ascending_order((hashes.astype(np.int64) - _LEAST_HASH).view(np.uint64))


class BucketFilling:
    """How full the buckets of one partition are, and where further keys go. `counts`: keys of each bucket."""

    def __init__(self, counts: Mapping[int, int], options: DynamicBucketOptions, assigner: Assigner = ALONE) -> None:
        self._counts = dict(counts)
        self._options = options
        self._assigner = assigner
        self._opening = self._with_room()
        self._current: int | None = None

    def take_one(self, count: int) -> int | None:
        """The bucket that has room for so many new keys, which are counted; None: all have to be taken one by one."""
        bucket = self._open_bucket()
        if bucket is None or self._counts.setdefault(bucket, 0) + count > self._options.target_rows:
            return None
        self._counts[bucket] += count
        return bucket

    def take(self, hashes: np.ndarray) -> np.ndarray:
        """Buckets for new keys, which are counted, int32, shape (n,). `hashes`: of the keys.

        Raises: OptionError: no bucket id is left.
        """
        result = np.empty(len(hashes), np.int32)
        done = 0
        while done < len(hashes):
            bucket = self._open_bucket()
            if bucket is None:
                # As many as there may be, and all full: keys are spread over them.
                existing = np.array(sorted(self._counts), np.int32)
                result[done:] = existing[np.abs(hashes[done:].astype(np.int64)) % len(existing)]
                break
            room = self._options.target_rows - self._counts.setdefault(bucket, 0)
            count = min(len(hashes) - done, max(1, room))
            result[done : done + count] = bucket
            self._counts[bucket] += count
            done += count
        return result

    def _open_bucket(self) -> int | None:
        """A bucket of this assigner with room, or a new one; None where no more may be opened."""
        # A full one stays full, so that none is looked at twice.
        if self._current is None or self._counts.get(self._current, 0) >= max(1, self._options.target_rows):
            self._current = next(self._opening, None)
        if self._current is not None:
            return self._current
        if self._options.max_buckets < 0 or not self._counts:
            raise OptionError(
                f"no free bucket id is left with {self._options.target_rows} keys per bucket",
                "option dynamic-bucket.target-row-num",
                "Raise it, and overwrite the partition.",
            )
        return None

    def _with_room(self) -> Iterator[int]:
        """Buckets of this assigner with room, then new ones."""
        for bucket in sorted(filter(self._assigner.owns, self._counts)):
            if self._counts[bucket] < self._options.target_rows:
                yield bucket
        most = self._options.max_buckets
        last = _LAST_BUCKET if most < 0 else min(_LAST_BUCKET, most - 1)
        for bucket in range(self._assigner.number, last + 1, self._assigner.count):
            if bucket not in self._counts:
                yield bucket
