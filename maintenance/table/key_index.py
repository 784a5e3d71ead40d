"""The keys of a table whose keys may change their partition, as of one snapshot."""

import datetime as dt
from dataclasses import replace

from maintenance.format.metadata.snapshot import Snapshot
from maintenance.options import table as table_options
from maintenance.read.split_read import SplitRead
from maintenance.scan.plan import plan_scan
from maintenance.scan.split import Split
from maintenance.table.handle import TableHandle
from maintenance.write.context import wall_clock_millis
from maintenance.write.key_index import KeyIndex


def key_index(table: TableHandle, snapshot: Snapshot | None) -> KeyIndex:
    """The index, to be read from the files of the snapshot: level 0 too, where batch reads leave it out.

    With `cross-partition-upsert.index-ttl` files none of whose neighbours is younger are left out: their keys count as
    new, and may then be in two partitions. Source: Java `IndexBootstrap`.
    """
    every_level = {**table.options, table_options.BATCH_SCAN_MODE.key: "compact"}
    source = replace(table.scan_source(), options=every_level)
    plan = plan_scan(source, snapshot, None)
    lifetime = table_options.CROSS_PARTITION_UPSERT_INDEX_TTL.of(table.options)
    splits = [split for split in plan.splits if isinstance(split, Split)]
    if lifetime is not None:
        oldest = wall_clock_millis() - lifetime // dt.timedelta(milliseconds=1)
        splits = [split for split in splits if any((file.creation_time or 0) >= oldest for file in split.files)]
    counts: dict[tuple[bytes, int], int] = {}
    for entry in () if snapshot is None else table.manifests.live_entries(snapshot):
        place = (entry.partition, entry.bucket)
        counts[place] = counts.get(place, 0) + entry.file.row_count
    columns = tuple(table.schema.fields_of(table.schema.primary_keys))
    read = SplitRead(table.file_io, table.paths, table.schema, plan.schemas, every_level, columns)
    return KeyIndex(snapshot, tuple(splits), read, counts)
