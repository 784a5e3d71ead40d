"""The live files of a snapshot, added up by bucket and level: what writers and checks ask of tables of millions of
files, without an object for each of them."""

from typing import NamedTuple

import numpy as np
import pyarrow as pa

from maintenance.format.metadata.manifest import EVERY_ENTRY, EntrySelection
from maintenance.format.metadata.snapshot import Snapshot
from maintenance.metadata.manifests import ManifestFilter, Manifests, keep_all

_KEYS = ["_PARTITION", "_BUCKET", "_TOTAL_BUCKETS", "_LEVEL"]
_SUMMED = {"files": "sum", "_MAX_SEQUENCE_NUMBER": "max", "_CREATION_TIME": "max"}
# So many groups of single manifests wait to be added up.
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


def live_groups(
    manifests: Manifests,
    snapshot: Snapshot,
    selection: EntrySelection = EVERY_ENTRY,
    keep_manifest: ManifestFilter = keep_all,
) -> list[LiveGroup]:
    """The groups of the live files that are wanted, in no order."""
    columns = [*_KEYS, "_MAX_SEQUENCE_NUMBER", "_CREATION_TIME"]
    parts, waiting = [], 0
    for entries in manifests.live_columns(snapshot, selection, keep_manifest):
        table = entries.table(*columns)
        part = _summed(table.append_column("files", pa.array(np.ones(table.num_rows, np.int64))))
        parts.append(part)
        waiting += part.num_rows
        if waiting > _AT_ONCE:
            parts, waiting = [_summed(pa.concat_tables(parts))], 0
    if not parts:
        return []
    found = _summed(pa.concat_tables(parts)).select([*_KEYS, *_SUMMED])
    return [LiveGroup(*row) for row in zip(*(column.to_pylist() for column in found.columns), strict=True)]


def _summed(rows: pa.Table) -> pa.Table:
    # In one thread: groups of a manifest are few, and this may be a forked process.
    grouped = rows.group_by(_KEYS, use_threads=False).aggregate(list(_SUMMED.items()))
    return grouped.rename_columns([name.removesuffix("_sum").removesuffix("_max") for name in grouped.column_names])
