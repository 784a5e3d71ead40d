"""A key keeps its bucket, buckets fill up to the target, and assigners never take each other's buckets."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from maintenance.bucket.dynamic import Assigner, DynamicBucketOptions, PartitionBuckets, assigner_of
from maintenance.errors import OptionError

HASHES = st.lists(st.integers(-40, 40), max_size=60)


class SlowAssigner:
    """The rules, one key after the other."""

    def __init__(self, target: int, most: int, assigner: Assigner) -> None:
        self.target, self.most, self.assigner = target, most, assigner
        self.buckets: dict[int, int] = {}
        self.counts: dict[int, int] = {}

    def assign(self, key: int) -> int:
        if key not in self.buckets:
            self.buckets[key] = self.bucket_of_new(key)
        return self.buckets[key]

    def bucket_of_new(self, key: int) -> int:
        own = range(self.assigner.number, 32768, self.assigner.count)
        for bucket in own:
            if self.counts.get(bucket, 0) < self.target and (bucket in self.counts):
                self.counts[bucket] += 1
                return bucket
        for bucket in own:
            if bucket not in self.counts and (self.most < 0 or bucket < self.most):
                self.counts[bucket] = 1
                return bucket
        return sorted(self.counts)[abs(key) % len(self.counts)]


@given(st.lists(HASHES, max_size=4), st.integers(1, 5), st.sampled_from([-1, 1, 2, 7]), st.integers(1, 3))
def test_like_one_key_after_the_other(batches: list[list[int]], target: int, most: int, count: int) -> None:
    count = min(count, most) if most > 0 else count
    for number in range(count):
        assigner = Assigner(number, count)
        ours = PartitionBuckets({}, DynamicBucketOptions(target, most), assigner)
        slow = SlowAssigner(target, most, assigner)
        for batch in batches:
            mine = [key for key in batch if assigner_of(np.array([key], np.int32), count)[0] == number]
            assert ours.assign(np.array(mine, np.int32)).tolist() == [slow.assign(key) for key in mine]


@given(HASHES, HASHES, st.integers(1, 5))
def test_known_keys_stay_where_the_index_files_say(first: list[int], second: list[int], target: int) -> None:
    options = DynamicBucketOptions(target)
    given_first = PartitionBuckets({}, options).assign(np.array(first, np.int32))
    held: dict[int, set[int]] = {}
    for key, bucket in zip(first, given_first.tolist(), strict=True):
        held.setdefault(bucket, set()).add(key)
    again = PartitionBuckets({b: np.array(sorted(keys), np.int32) for b, keys in held.items()}, options)
    buckets = again.assign(np.array([*second, *first], np.int32)).tolist()
    assert buckets[len(second) :] == given_first.tolist()
    for key, bucket in zip(second, buckets, strict=False):
        held.setdefault(bucket, set()).add(key)
    assert all(len(keys) <= target for keys in held.values())


def test_extreme_hashes_get_their_assigners_and_buckets() -> None:
    extremes = np.array([-(2**31), 2**31 - 1, 0, -1], np.int32)
    assert assigner_of(extremes, 3).tolist() == [2**31 % 3, (2**31 - 1) % 3, 0, 1]
    assert PartitionBuckets({}, DynamicBucketOptions(1)).assign(extremes).tolist() == [0, 1, 2, 3]


def test_as_many_buckets_as_there_are_ids() -> None:
    buckets = PartitionBuckets({}, DynamicBucketOptions(1))
    assert buckets.assign(np.arange(32_768, dtype=np.int32)).tolist() == list(range(32_768))
    assert buckets.assign(np.array([5], np.int32)).tolist() == [5]


def test_no_id_is_left() -> None:
    full = {bucket: np.array([bucket], np.int32) for bucket in range(32768)}
    with pytest.raises(OptionError, match=r"target-row-num"):
        PartitionBuckets(full, DynamicBucketOptions(1)).assign(np.array([-7], np.int32))
