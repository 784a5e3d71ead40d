"""Parts of rows that a task puts together before it gives them buckets."""

import pyarrow as pa
import pytest

from maintenance.spark import packed_rows
from maintenance.write.buckets import BucketRows


def part(bucket: int, ids: list[int], size: int) -> BucketRows:
    return BucketRows(b"", bucket, pa.table({"id": ids}), size)


def test_parts_of_a_bucket_are_joined_up_to_a_size(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(packed_rows, "_GATHERED_BYTES", 10)
    parts = [part(0, [1, 2], 4), part(0, [3], 4), part(0, [4], 4), part(0, [5], 1), part(1, [6], 1), part(0, [7], 1)]
    found = [(each.bucket, each.rows["id"].to_pylist(), each.bytes) for each in packed_rows.larger_parts(iter(parts))]
    assert found == [(0, [1, 2, 3, 4], 12), (0, [5], 1), (1, [6], 1), (0, [7], 1)]


def test_nothing_is_gathered_of_no_parts() -> None:
    assert not list(packed_rows.larger_parts(iter(())))
