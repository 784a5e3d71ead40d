"""`t$buckets` and `t$partitions`: sums over live files, the latter without those that wait for their buckets."""

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

import pyarrow as pa

from maintenance.format.metadata.manifest import ManifestEntry
from maintenance.table.other_branches import seen_branches
from maintenance.table.partitions import entries_in_buckets
from maintenance.table.system.system_table import LOCAL_TIMESTAMP, SystemTable, required
from maintenance.table.system.text import braces
from maintenance.table.table import Table

K = TypeVar("K", bound=Hashable)


@dataclass(frozen=True, slots=True)
class _Sums:
    rows: int
    size: int
    files: int
    last_update: int | None


def _grouped(entries: Sequence[ManifestEntry], key: Callable[[ManifestEntry], K]) -> dict[K, list[ManifestEntry]]:
    groups: dict[K, list[ManifestEntry]] = {}
    for entry in entries:
        groups.setdefault(key(entry), []).append(entry)
    return groups


def _sums(entries: Sequence[ManifestEntry]) -> _Sums:
    return _Sums(
        sum(entry.file.row_count for entry in entries),
        sum(entry.file.file_size for entry in entries),
        len(entries),
        max((entry.file.creation_time for entry in entries if entry.file.creation_time is not None), default=None),
    )


def _bucket_rows(table: Table) -> list[tuple[object, ...]]:
    fields = table.schema.partition_fields
    _, snapshot = table.travelled()
    entries = [] if snapshot is None else table.manifests.live_entries(snapshot)
    groups = _grouped(entries, lambda entry: (entry.partition, entry.bucket))
    summed = {key: _sums(entries) for key, entries in groups.items()}
    return [(braces(p, fields), b, s.rows, s.size, s.files, s.last_update) for (p, b), s in summed.items()]


def _partition_rows(table: Table) -> list[tuple[object, ...]]:
    rows: dict[bytes, tuple[object, ...]] = {}
    for side in seen_branches(table):
        rows |= {partition: row for partition, row in _partitions_of_branch(side).items() if partition not in rows}
    return list(rows.values())


def _partitions_of_branch(table: Table) -> dict[bytes, tuple[object, ...]]:
    rows: dict[bytes, tuple[object, ...]] = {}
    paths = replace(table.paths, legacy_partition_name=False)
    deleted = _deleted_rows(table)
    seen = entries_in_buckets(table, table.travelled()[1])
    for partition, entries in _grouped(seen, lambda entry: entry.partition).items():
        s = _sums(entries)
        # Unlike directories, this table always shows values cast to text: dates as dates.
        spec = "/".join(f"{name}={text}" for name, text in paths.spec_of(partition).items())
        buckets = max(entry.total_buckets for entry in entries)
        gone = deleted.get(partition, 0)
        rows[partition] = (spec, s.rows, s.size, s.files, s.last_update, None, None, None, None, buckets, False, gone)
    return rows


def _deleted_rows(table: Table) -> dict[bytes, int | None]:
    """Rows that deletion vectors delete in each partition that has some; None where an old file does not say."""
    _, snapshot = table.travelled()
    cardinalities: dict[bytes, list[int | None]] = {}
    for entry in [] if snapshot is None else table.manifests.read_index(snapshot):
        cardinalities.setdefault(entry.partition, []).extend(range_.cardinality for range_ in entry.dv_ranges or ())
    return {
        partition: None if None in counts else sum(filter(None, counts)) for partition, counts in cardinalities.items()
    }


_COUNTS = [
    required("record_count", pa.int64()),
    required("file_size_in_bytes", pa.int64()),
    required("file_count", pa.int64()),
]

BUCKETS = SystemTable(
    "buckets",
    pa.schema(
        [("partition", pa.string()), required("bucket", pa.int32()), *_COUNTS, ("last_update_time", LOCAL_TIMESTAMP)]
    ),
    _bucket_rows,
)
PARTITIONS = SystemTable(
    "partitions",
    pa.schema(
        [
            ("partition", pa.string()),
            *_COUNTS,
            ("last_update_time", LOCAL_TIMESTAMP),
            ("created_at", LOCAL_TIMESTAMP),
            ("created_by", pa.string()),
            ("updated_by", pa.string()),
            ("options", pa.string()),
            required("total_buckets", pa.int32()),
            required("done", pa.bool_()),
            ("deleted_record_count", pa.int64()),
        ]
    ),
    _partition_rows,
)
