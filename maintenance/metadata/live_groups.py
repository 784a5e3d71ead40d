"""The live files of a snapshot, added up by bucket and level: what writers and checks ask of tables of millions of
files, without an object for each of them."""

from collections.abc import Hashable, Iterable, Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from maintenance.format.metadata.manifest import EVERY_ENTRY, EntrySelection, FileKind, ManifestColumns
from maintenance.format.metadata.snapshot import Snapshot
from maintenance.metadata.cache import metadata_cache
from maintenance.metadata.manifests import ManifestFilter, Manifests, keep_all

_KEYS = ["_PARTITION", "_BUCKET", "_TOTAL_BUCKETS", "_LEVEL"]
_SUMMED = {"files": "sum", "_MAX_SEQUENCE_NUMBER": "max", "_CREATION_TIME": "max"}
_KEYS_OF_SIZES = ["_PARTITION", "_BUCKET", "_LEVEL"]
_SIZES = {"files": "sum", "_FILE_SIZE": "sum", "largest": "max", "_ROW_COUNT": "sum", "retracted": "sum"}
# So many files, and groups of those before them, wait to be added up: each sum takes as long as hundreds of files.
_AT_ONCE = 200_000
_DELETIONS = EntrySelection(kind=FileKind.DELETE)
# Where the groups of all files are in the cache; those of manifests with more bytes are not kept, and what a manifest
# or a deleted file takes there.
_PLACE, _KEPT_BYTES, _KEPT_EACH = "#groups", 4 << 20, 256


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
    """The groups of the live files that are wanted, in no order.

    Of all files together they are kept in memory: of a later snapshot, only manifests that are new are looked at.
    """
    if selection is EVERY_ENTRY and keep_manifest is keep_all:
        summed = _all_summed(manifests, snapshot)
    else:
        live = manifests.live_columns(snapshot, selection, keep_manifest)
        summed = _added_up(map(_countable, live), _KEYS, _SUMMED)
    return [LiveGroup(*row) for row in _rows(summed)]


class _Sum(NamedTuple):
    """The groups of all files of a snapshot.

    Attributes: `versions`: of its manifests, by name; `dead`: identities of files that these delete, and their names.
    """

    groups: pa.Table
    versions: Mapping[str, Hashable]
    dead: Mapping[Hashable, str]


def _all_summed(manifests: Manifests, snapshot: Snapshot) -> pa.Table:
    """The groups of all files, from those of an earlier snapshot where manifests that only add files came since."""
    settings = manifests.file_io.cache
    # Without a cache the lists are not read twice.
    metas = manifests.data_manifests(snapshot) if settings.manifest_bytes else []
    if not settings.manifest_bytes or sum(meta.file_size for meta in metas) > _KEPT_BYTES:
        return _added_up(map(_countable, manifests.live_columns(snapshot)), _KEYS, _SUMMED)
    kept, place = metadata_cache(settings).manifests, manifests.paths.manifest(_PLACE)
    versions = {meta.file_name: manifests.version(meta.file_name) for meta in metas}
    known: _Sum | None = kept.get(place, None)
    new = [] if known is None else [meta for meta in metas if meta.file_name not in known.versions]
    if known is not None and known.versions.items() <= versions.items() and not any(m.num_deleted_files for m in new):
        names = pa.array(known.dead.values(), pa.string())
        with manifests.reading(snapshot):
            parts = [_countable(part.without(known.dead, names)) for part in manifests.columns_of(new)]
        found = _Sum(_added_up([known.groups, *parts], _KEYS, _SUMMED), versions, known.dead)
    else:
        groups = _added_up(map(_countable, manifests.live_columns(snapshot)), _KEYS, _SUMMED)
        with manifests.reading(snapshot):
            deleting = manifests.entries_of([meta for meta in metas if meta.num_deleted_files], _DELETIONS)
            found = _Sum(groups, versions, {entry.identity: entry.file.file_name for entry in deleting})
    if metas and None not in versions.values():
        kept.put(place, None, found, found.groups.nbytes + _KEPT_EACH * (len(versions) + len(found.dead)))
    return found.groups


def live_sizes(entries: Iterable[ManifestColumns]) -> list[LiveSizes]:
    """The sizes of live files, by level and bucket, in no order. `entries`: those of `Manifests.live_columns`."""

    def tables() -> Iterator[pa.Table]:
        for part in entries:
            table = _counted(part.table(*_KEYS_OF_SIZES, "_FILE_SIZE", "_ROW_COUNT", "_DELETE_ROW_COUNT"))
            table = table.append_column("largest", table.column("_FILE_SIZE"))
            yield table.append_column("retracted", pc.fill_null(table.column("_DELETE_ROW_COUNT"), 0))

    return [LiveSizes(*row) for row in _rows(_added_up(tables(), _KEYS_OF_SIZES, _SIZES))]


def _countable(part: ManifestColumns) -> pa.Table:
    return _counted(part.table(*_KEYS, "_MAX_SEQUENCE_NUMBER", "_CREATION_TIME"))


def _counted(table: pa.Table) -> pa.Table:
    return table.append_column("files", pa.array(np.ones(table.num_rows, np.int64)))


def _added_up(tables: Iterable[pa.Table], keys: list[str], how: Mapping[str, str]) -> pa.Table:
    """A row for each group: its keys and its sums."""
    parts: list[pa.Table] = []
    waiting = 0
    for table in tables:
        parts.append(table.select([*keys, *how]))
        waiting += table.num_rows
        if waiting > _AT_ONCE:
            parts, waiting = [_summed(pa.concat_tables(parts), keys, how)], 0
    return _summed(pa.concat_tables(parts), keys, how) if parts else pa.table({name: [] for name in (*keys, *how)})


def _rows(table: pa.Table) -> Iterator[tuple[Any, ...]]:
    return zip(*(column.to_pylist() for column in table.columns), strict=True)


def _summed(rows: pa.Table, keys: list[str], how: Mapping[str, str]) -> pa.Table:
    # In one thread: groups of a manifest are few, and this may be a forked process.
    grouped = rows.group_by(keys, use_threads=False).aggregate(list(how.items()))
    sums = grouped.rename_columns([name.removesuffix("_sum").removesuffix("_max") for name in grouped.column_names])
    return sums.select([*keys, *how])
