"""The live files of a snapshot, added up by bucket and level: what writers and checks ask of tables of millions of
files, without an object for each of them."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from maintenance.format.metadata.manifest import EVERY_ENTRY, EntrySelection, ManifestColumns
from maintenance.format.metadata.snapshot import Snapshot
from maintenance.metadata.manifests import ManifestFilter, Manifests, keep_all

_KEYS = ["_PARTITION", "_BUCKET", "_TOTAL_BUCKETS", "_LEVEL"]
_SUMMED = {"files": "sum", "_MAX_SEQUENCE_NUMBER": "max", "_CREATION_TIME": "max"}
_KEYS_OF_SIZES = ["_PARTITION", "_BUCKET", "_LEVEL"]
_SIZES = {"files": "sum", "_FILE_SIZE": "sum", "largest": "max", "_ROW_COUNT": "sum", "retracted": "sum"}
# So many files, and groups of those before them, wait to be added up: each sum takes as long as hundreds of files.
_AT_ONCE = 200_000


class LiveGroup(NamedTuple):
    """Files of one level of a bucket. `created`: creation time of the newest, None where none of them says it."""

    partition: bytes
    bucket: int
    total_buckets: int
    level: int
    files: int
    max_sequence_number: int
    created: int | None


class LiveSizes(NamedTuple):
    """Files of one level of a bucket. `largest`: bytes of the largest; `retracted`: rows that are retractions."""

    partition: bytes
    bucket: int
    level: int
    files: int
    bytes: int
    largest: int
    rows: int
    retracted: int

    @property
    def runs(self) -> int:
        """How many sorted runs they are."""
        return 1 if self.level else self.files


def live_groups(
    manifests: Manifests,
    snapshot: Snapshot,
    selection: EntrySelection = EVERY_ENTRY,
    keep_manifest: ManifestFilter = keep_all,
) -> list[LiveGroup]:
    """The groups of the live files that are wanted, in no order."""
    columns = [*_KEYS, "_MAX_SEQUENCE_NUMBER", "_CREATION_TIME"]
    parts = (_counted(part.table(*columns)) for part in manifests.live_columns(snapshot, selection, keep_manifest))
    return [LiveGroup(*row) for row in _added_up(parts, _KEYS, _SUMMED)]


def live_sizes(entries: Iterable[ManifestColumns]) -> list[LiveSizes]:
    """The sizes of live files, by level and bucket, in no order. `entries`: those of `Manifests.live_columns`."""

    def tables() -> Iterator[pa.Table]:
        for part in entries:
            table = _counted(part.table(*_KEYS_OF_SIZES, "_FILE_SIZE", "_ROW_COUNT", "_DELETE_ROW_COUNT"))
            table = table.append_column("largest", table.column("_FILE_SIZE"))
            yield table.append_column("retracted", pc.fill_null(table.column("_DELETE_ROW_COUNT"), 0))

    return [LiveSizes(*row) for row in _added_up(tables(), _KEYS_OF_SIZES, _SIZES)]


def _counted(table: pa.Table) -> pa.Table:
    return table.append_column("files", pa.array(np.ones(table.num_rows, np.int64)))


def _added_up(tables: Iterable[pa.Table], keys: list[str], how: Mapping[str, str]) -> Iterator[tuple[Any, ...]]:
    """The keys of each group, and its sums."""
    parts: list[pa.Table] = []
    waiting = 0
    for table in tables:
        parts.append(table.select([*keys, *how]))
        waiting += table.num_rows
        if waiting > _AT_ONCE:
            parts, waiting = [_summed(pa.concat_tables(parts), keys, how)], 0
    if parts:
        found = _summed(pa.concat_tables(parts), keys, how)
        yield from zip(*(column.to_pylist() for column in found.columns), strict=True)


def _summed(rows: pa.Table, keys: list[str], how: Mapping[str, str]) -> pa.Table:
    # In one thread: groups of a manifest are few, and this may be a forked process.
    grouped = rows.group_by(keys, use_threads=False).aggregate(list(how.items()))
    sums = grouped.rename_columns([name.removesuffix("_sum").removesuffix("_max") for name in grouped.column_names])
    return sums.select([*keys, *how])
