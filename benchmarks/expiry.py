"""Expire many snapshots with many files: in this process, in tasks of a local Spark, on two executors of a cluster.

    python -m benchmarks.expiry [--snapshots 1000] [--files 200] [--rounds 2]

The table is synthetic: each snapshot replaces all files of the one before, and all of them exist on the local disk. All
snapshots but the newest expire; each contender has a copy of its own, of hard links, and a process of its own.
`session` is how long Spark took to start and to run a first task, which is not part of the seconds.
"""

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import uuid
from pathlib import Path

from benchmarks.contest import CACHE
from benchmarks.results import tell
from maintenance.catalog import Schema, open_catalog
from maintenance.format.metadata.data_file import DataFileMeta, FileSource
from maintenance.format.metadata.manifest import FileKind, ManifestEntry
from maintenance.format.metadata.simple_stats import SimpleStats
from maintenance.format.metadata.snapshot import CommitKind, Snapshot
from maintenance.format.rows.binary_row import serialize_row
from maintenance.metadata.manifests import ManifestWriter
from maintenance.types.data_type import parse_type
from tests.servers.spark_cluster import cluster_settings, standalone_cluster

NAME = "bench.expiry"
_BIGINT = parse_type("BIGINT")
_NOTHING = serialize_row((), ())
_NO_STATS = SimpleStats(_NOTHING, _NOTHING, ())
_CONTENT = b"PAR1"


def _entry(kind: FileKind, number: int) -> ManifestEntry:
    low = serialize_row((number,), (_BIGINT,))
    file = DataFileMeta(
        f"data-{uuid.UUID(int=number)}-0.parquet", len(_CONTENT), 10, _NOTHING, _NOTHING, _NO_STATS,
        SimpleStats(low, low, (0,)), number, number, 0, 0, creation_time=1_700_000_000_000, delete_row_count=0,
        file_source=FileSource.APPEND,
    )  # fmt: skip
    return ManifestEntry(kind, _NOTHING, 0, -1, file)


def build(warehouse: Path, snapshots: int, files: int) -> None:
    """A table with that many snapshots and one more, each with so many files of its own."""
    catalog = open_catalog({"warehouse": str(warehouse)})
    catalog.create_database("bench")
    options = {"bucket": "-1", "snapshot.expire.limit": str(snapshots)}
    catalog.create_table(NAME, Schema([("id", "BIGINT")], options=options))
    table = catalog.get_table(NAME)
    writer = ManifestWriter(table.file_io, table.paths, [])
    folder = Path(table.paths.bucket_folder(_NOTHING, 0))
    folder.mkdir(parents=True)
    before: range = range(0)
    for snapshot_id in range(1, snapshots + 2):
        new = range(snapshot_id * files, (snapshot_id + 1) * files)
        added = [_entry(FileKind.ADD, number) for number in new]
        for entry in added:
            (folder / entry.file.file_name).write_bytes(_CONTENT)
        changes = [*(_entry(FileKind.DELETE, number) for number in before), *added]
        base, base_size = writer.write_list(writer.write([_entry(FileKind.ADD, number) for number in before], 0))
        delta, delta_size = writer.write_list(writer.write(changes, 0))
        published = table.snapshots.publish(
            Snapshot(
                id=snapshot_id, schema_id=0, base_manifest_list=base, base_manifest_list_size=base_size,
                delta_manifest_list=delta, delta_manifest_list_size=delta_size, commit_user="benchmark",
                commit_identifier=snapshot_id, commit_kind=CommitKind.OVERWRITE,
                time_millis=1_700_000_000_000 + snapshot_id, total_record_count=files * 10, delta_record_count=0,
            )
        )  # fmt: skip
        assert published
        before = new


_EXPIRE = """
import json, sys, time
from maintenance.catalog import open_catalog
from maintenance.operations import expire_snapshots

warehouse, master, settings = sys.argv[1], sys.argv[2], json.loads(sys.argv[3])
started = time.perf_counter()
spark = None
if master:
    from maintenance.spark.session import get_session
    from maintenance.spark.tasks import run_tasks
    spark = get_session(master=master, config=settings)
    run_tasks(spark, abs, [1, 2])
session = time.perf_counter() - started
table = open_catalog({"warehouse": warehouse}).get_table("NAME")
started = time.perf_counter()
report = expire_snapshots(table, retain_min=1, retain_max=1, spark=spark)
print(json.dumps({"session": session, "seconds": time.perf_counter() - started, "tasks": report.spark_tasks,
                  "snapshots": len(report.expired), "files": len(report.deleted_files)}))
""".replace("NAME", NAME)  # fmt: skip


def expire(warehouse: Path, master: str, settings: dict[str, str]) -> dict[str, float]:
    """Expire a copy of the table in a process of its own."""
    with tempfile.TemporaryDirectory(dir=warehouse.parent) as folder:
        copy = Path(folder) / "copy"
        shutil.copytree(warehouse, copy, copy_function=os.link)
        done = subprocess.run(
            [sys.executable, "-c", _EXPIRE, str(copy), master, json.dumps(settings)],
            capture_output=True, text=True, check=False, env={**os.environ, "PYTHONPATH": os.getcwd()},
        )  # fmt: skip
        if done.returncode:
            raise SystemExit(done.stderr)
    found: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--snapshots", type=int, default=1000)
    parser.add_argument("--files", type=int, default=200, help="of each snapshot")
    parser.add_argument("--rounds", type=int, default=3)
    asked = parser.parse_args()
    folder = CACHE.absolute() / "expiry"
    shutil.rmtree(folder, ignore_errors=True)
    warehouse = folder / "warehouse"
    build(warehouse, asked.snapshots, asked.files)
    print(
        f"{asked.snapshots} snapshots with {asked.files} files each expire; the best of {asked.rounds} rounds",
        flush=True,
    )
    alone = 0.0
    with tempfile.TemporaryDirectory() as daemons, standalone_cluster(Path(daemons), memory="1g") as cluster:
        contenders = {
            "this process": ("", {}),
            "local Spark, two tasks at once": ("local[2]", {}),
            "cluster, two executors": (cluster, cluster_settings(memory="900m")),
        }
        for name, (master, settings) in contenders.items():
            rounds = [expire(warehouse, master, settings) for _ in range(asked.rounds)]
            best = min(rounds, key=lambda found: found["seconds"])
            case = f"{asked.snapshots} snapshots with {asked.files} files each"
            tell(case, f"ours, {name}", [found["seconds"] for found in rounds])
            alone = alone or best["seconds"]
            print(
                f"  {name:32} {best['seconds']:6.1f} s  {best['seconds'] / alone:4.2f} of one process"
                f"  {best['tasks']:4.0f} Spark tasks  {best['files']:.0f} files  session {best['session']:.1f} s",
                flush=True,
            )
    shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main()
