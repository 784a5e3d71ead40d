"""Replay the snapshots of a table under other settings, by metadata alone.

    python -m benchmarks.simulation [--snapshots 10000] [--buckets 4] [--settings 1]

The metadata is made up (no data file exists): each commit brings a file for every bucket, and every fifth snapshot is a
compaction. What is told: seconds to read the snapshots, and to replay them under one setting after another.
"""

import argparse
import shutil
import time
from dataclasses import replace
from pathlib import Path

from maintenance.catalog import Schema, open_catalog
from maintenance.format.metadata.data_file import DataFileMeta, FileSource
from maintenance.format.metadata.manifest import FileKind, ManifestEntry
from maintenance.format.metadata.simple_stats import SimpleStats
from maintenance.format.metadata.snapshot import CommitKind, Snapshot
from maintenance.format.rows.binary_row import EMPTY_ROW, serialize_row
from maintenance.metadata.manifests import ManifestWriter
from maintenance.operations import simulate_settings
from maintenance.operations.tuning.arrivals import past_of
from maintenance.table.table import Table
from maintenance.types.data_type import parse_type

CACHE = Path(".cache/benchmarks/simulation")
ROWS = 1000
_BIGINT = parse_type("BIGINT")


def _file(number: int, level: int, rows: int, keys: tuple[int, int]) -> DataFileMeta:
    low, high = (serialize_row((key,), (_BIGINT,)) for key in keys)
    source = FileSource.COMPACT if level else FileSource.APPEND
    stats = SimpleStats(low, high, (0,))
    return DataFileMeta(
        f"data-{number}.parquet", 2000 + rows * 40, rows, low, high, stats, stats, number, number, 0, level,
        creation_time=1_700_000_000_000 + number * 1000, delete_row_count=0, file_source=source,
    )  # fmt: skip


def build(warehouse: Path, snapshots: int, buckets: int) -> Table:
    """A table with so many snapshots."""
    shutil.rmtree(warehouse, ignore_errors=True)
    catalog = open_catalog({"warehouse": str(warehouse)})
    catalog.create_database("bench")
    options = {"bucket": str(buckets), "write-only": "false", "snapshot.num-retained.max": "100"}
    catalog.create_table("bench.t", Schema([("k", "BIGINT NOT NULL")], ["k"], options=options))
    table = catalog.get_table("bench.t")
    live: list[list[DataFileMeta]] = [[] for _ in range(buckets)]
    made = 0
    empty = ManifestWriter(table.file_io, table.paths, []).write_list([])
    for number in range(1, snapshots + 1):
        compacts = number % 5 == 0
        entries = []
        for bucket in range(buckets):
            made += 1
            if compacts:
                rows = min(1_000_000, sum(file.row_count for file in live[bucket]))
                entries += [ManifestEntry(FileKind.DELETE, EMPTY_ROW, bucket, buckets, f) for f in live[bucket]]
                live[bucket] = [_file(made, 5, rows, (0, 1_000_000))]
            else:
                live[bucket].append(_file(made, 0, ROWS, (made % 1000, 1_000_000 - made % 1000)))
            entries.append(ManifestEntry(FileKind.ADD, EMPTY_ROW, bucket, buckets, live[bucket][-1]))
        writer = ManifestWriter(table.file_io, table.paths, [])
        delta = writer.write_list(writer.write(entries, 0))
        kind = CommitKind.COMPACT if compacts else CommitKind.APPEND
        snapshot = Snapshot(
            id=number, schema_id=0, base_manifest_list=empty[0], base_manifest_list_size=empty[1],
            delta_manifest_list=delta[0], delta_manifest_list_size=delta[1], commit_user="benchmark",
            commit_identifier=number - compacts, commit_kind=kind, time_millis=1_700_000_000_000 + number * 60_000,
            total_record_count=0, delta_record_count=0,
        )  # fmt: skip
        table.snapshots.publish(snapshot)
    return catalog.get_table("bench.t")


def main() -> None:
    """Run it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--snapshots", type=int, default=10_000)
    parser.add_argument("--buckets", type=int, default=4)
    parser.add_argument("--settings", type=int, default=1)
    asked = parser.parse_args()
    table = build(CACHE, asked.snapshots, asked.buckets)
    started, used = time.perf_counter(), time.process_time()
    past_of(table, asked.snapshots)
    read, read_used = time.perf_counter() - started, time.process_time() - used
    table = replace(open_catalog({"warehouse": str(CACHE)}).get_table("bench.t"))
    started, used = time.perf_counter(), time.process_time()
    tries = ",".join(str(6 + n) for n in range(asked.settings))
    report = simulate_settings(table, {"num-sorted-run.compaction-trigger": tries}, snapshots=asked.snapshots)
    both, both_used = time.perf_counter() - started, time.process_time() - used
    print(f"{asked.snapshots:,} snapshots, {asked.buckets} buckets: read in {read:.1f} s; read and replayed under")
    print(f"{len(report.settings)} settings in {both:.1f} s, {(both - read) / len(report.settings):.1f} s for each")
    print(f"seconds of processors: {read_used:.1f} to read, {both_used:.1f} in all")
    shutil.rmtree(CACHE)


if __name__ == "__main__":
    main()
