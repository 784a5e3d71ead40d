"""Look for orphans among many files: seconds, peak memory and requests, beside the Java core.

    python -m benchmarks.orphans [--files 1000000] [--buckets 100] [--java] [--heap 1g]

The table is synthetic: one snapshot whose manifests name nine tenths of the files, all of them empty files on the local
disk, in so many buckets. A new process looks for orphans, which are the rest, and deletes nothing. Requests are what
the process asks of storage: files that it reads and folders that it lists. Both engines must find the same number.
"""

import argparse
import multiprocessing
import os
import resource
import shutil
import time
from collections import Counter
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa

from maintenance.catalog import CatalogTable, Schema, open_catalog
from maintenance.format.metadata.manifest import FileKind, ManifestEntry
from maintenance.format.metadata.snapshot import serialize_snapshot
from maintenance.metadata.manifests import ManifestWriter
from maintenance.operations.orphans.remove_orphan_files import remove_orphan_files

CACHE = Path(".cache/benchmarks/orphans")
IDENTIFIER = "db.t"
# Of the files, so many are named for each that is not.
NAMED = 9
_COUNTED = ("read_bytes", "read_part", "list_files", "list_names", "list_folders", "list_tree", "tree_pages", "size")


def make(folder: Path, files: int, buckets: int) -> int:
    """Make the table anew; returns how many of its files are orphans."""
    shutil.rmtree(folder, ignore_errors=True)
    catalog = open_catalog({"warehouse": str(folder)})
    catalog.create_database("db")
    fields = [("k", "BIGINT NOT NULL"), ("v", "STRING")]
    catalog.create_table(IDENTIFIER, Schema(fields, ["k"], [], {"bucket": str(buckets), "write-only": "true"}))
    table = opened(folder)
    table.write_arrow(pa.table({"k": pa.array([1], pa.int64()), "v": ["x"]}))
    snapshot = table.latest_snapshot()
    assert snapshot is not None
    (entry,) = table.manifests.live_entries(snapshot)
    named, orphans = [], 0
    for number in range(files):
        name, bucket = f"data-{number:08x}-5b1f-4d1e-9a55-0c6d2f7a81b3-0.parquet", number % buckets
        path = Path(table.paths.bucket_folder(entry.partition, bucket)) / name
        if number < buckets:
            path.parent.mkdir(exist_ok=True)
        path.touch()
        if number % (NAMED + 1) == NAMED:
            orphans += 1
        else:
            named.append(ManifestEntry(FileKind.ADD, b"\0" * 12, bucket, buckets, replace(entry.file, file_name=name)))
    _name_them(table, named)
    # The two lists that the snapshot named before are orphans, too.
    return orphans + 2


def opened(folder: Path) -> CatalogTable:
    return open_catalog({"warehouse": str(folder)}).get_table(IDENTIFIER)


def _name_them(table: CatalogTable, entries: list[ManifestEntry]) -> None:
    snapshot = table.latest_snapshot()
    assert snapshot is not None
    writer = ManifestWriter(table.file_io, table.paths, [])
    metas = table.manifests.data_manifests(snapshot)
    name, size = writer.write_list([*metas, *writer.write(entries, 0)])
    changed = replace(snapshot, base_manifest_list=name, base_manifest_list_size=size)
    delta, size = writer.write_list([])
    changed = replace(changed, delta_manifest_list=delta, delta_manifest_list_size=size)
    table.file_io.overwrite(table.paths.snapshot(snapshot.id), serialize_snapshot(changed))


def ours(folder: Path, results: Any) -> None:
    """Look for orphans, and send how many there are, the seconds, the peak of memory in bytes, and the requests."""
    from maintenance.fs.local_storage import LocalStorage

    requests: Counter[str] = Counter()
    for method in _COUNTED:
        setattr(LocalStorage, method, _counting(getattr(LocalStorage, method), method, requests))
    table, started = opened(folder), time.perf_counter()
    before = _peak()
    report = remove_orphan_files(None, table, dry_run=True, now=datetime.now(UTC) + timedelta(days=2))
    seconds = time.perf_counter() - started
    results.put((len(report.orphans), seconds, _peak(), before, dict(requests)))


def _counting(method: Any, name: str, requests: Counter[str]) -> Any:
    def counted(*arguments: Any, **options: Any) -> Any:
        requests[name] += 1
        return method(*arguments, **options)

    return counted


def java(folder: Path, heap: str, results: Any) -> None:
    """The same with the Java core, in one process with its heap."""
    import jpype

    from benchmarks.java_core import get_table, start

    paimon = start(heap)
    table, started = get_table(paimon, folder, IDENTIFIER), time.perf_counter()
    tomorrow = int(jpype.java.lang.System.currentTimeMillis()) + 86_400_000
    result = paimon.operation.LocalOrphanFilesClean(table, tomorrow, True).clean()
    results.put((int(result.getDeletedFileCount()), time.perf_counter() - started, _peak(), 0, {}))


def _peak() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss << 10


def measured(target: Any, *arguments: Any) -> Any:
    """The results of a process of its own."""
    context = multiprocessing.get_context("spawn")
    results = context.Queue()
    process = context.Process(target=target, args=(*arguments, results))
    process.start()
    found = results.get()
    process.join()
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--files", type=int, default=1_000_000)
    parser.add_argument("--buckets", type=int, default=100)
    parser.add_argument("--java", action="store_true", help="also with the Java core")
    parser.add_argument("--heap", default="1g", help="of Java")
    chosen = parser.parse_args()
    started = time.perf_counter()
    expected = make(CACHE, chosen.files, chosen.buckets)
    print(f"{chosen.files:,} files in {chosen.buckets} buckets, made in {time.perf_counter() - started:.0f} s")
    found, seconds, peak, before, requests = measured(ours, CACHE)
    assert found == expected, (found, expected)
    print(
        f"here  {seconds:7.1f} s  peak {peak >> 20:6} MiB, {before >> 20} of them before  {found:,} orphans  {requests}"
    )
    if chosen.java:
        found, seconds, peak, _, _ = measured(java, CACHE, chosen.heap)
        print(f"Java  {seconds:7.1f} s  peak {peak >> 20:6} MiB  {found:,} orphans")
        assert found == expected, (found, expected)
    shutil.rmtree(CACHE)


if __name__ == "__main__":
    os.environ.setdefault("POLARS_MAX_THREADS", "2")
    main()
