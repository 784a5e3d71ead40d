"""Plan a read of a table of many data files, of which a partition filter keeps a thousandth, against pypaimon and Java.

    python -m benchmarks.planning [--files 1000000] [--rounds 3]

The metadata is made up (no data file exists) and written as this project's commits write it: 1,000 partitions, by two
histories. `in order`: partitions came one after the other, so that the statistics of manifests rule nearly all of them
out. `spread`: every manifest holds files of every partition, so that each entry has to be decoded. Each contender plans
the same filter in a process of its own, cold caches first, then warm: files planned per second are entries decoded per
second where they are spread. Peak memory is that of the whole process.
"""

import argparse
import json
import os
import shutil
import subprocess
import sys
import time
import uuid
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks import java_core
from benchmarks.results import tell
from maintenance.catalog import Schema, open_catalog
from maintenance.format.metadata.data_file import DataFileMeta, FileSource
from maintenance.format.metadata.manifest import FileKind, ManifestEntry
from maintenance.format.metadata.simple_stats import SimpleStats
from maintenance.format.metadata.snapshot import CommitKind, Snapshot
from maintenance.format.rows.binary_row import serialize_row
from maintenance.metadata.manifests import ManifestWriter
from maintenance.types.data_type import DataType, parse_type

CACHE = Path(".cache/benchmarks")
NAME = "bench.planning"
PARTITIONS = 1000
WANTED = "day-0500"
_BIGINT, _STRING, _DOUBLE = parse_type("BIGINT"), parse_type("STRING"), parse_type("DOUBLE")
_FIELDS = (("id", "BIGINT"), ("name", "STRING"), ("price", "DOUBLE"), ("day", "STRING"))


def _row(values: Sequence[int | str | float], types: Sequence[DataType]) -> bytes:
    return serialize_row(values, types)


def _entry(number: int, partition: int) -> ManifestEntry:
    types = (_BIGINT, _STRING, _DOUBLE, _STRING)
    day = f"day-{partition:04d}"
    low = _row((number * 1000, f"name-{number:09d}", number / 7, day), types)
    high = _row((number * 1000 + 999, f"name-{number:09d}~", number / 7 + 1, day), types)
    empty = _row((), ())
    file = DataFileMeta(
        f"data-{uuid.UUID(int=number)}-0.parquet", 1 << 20, 1000, empty, empty, SimpleStats(empty, empty, ()),
        SimpleStats(low, high, (0, 0, 0, 0)), number * 1000, number * 1000 + 999, 0, 0,
        creation_time=1_700_000_000_000 + number, delete_row_count=0, file_source=FileSource.APPEND,
    )  # fmt: skip
    return ManifestEntry(FileKind.ADD, _row((day,), (_STRING,)), 0, -1, file)


def build(warehouse: Path, files: int, *, in_order: bool) -> None:
    """A table whose one snapshot names that many files."""
    unfinished = warehouse.with_name(f"{warehouse.name}-unfinished")
    shutil.rmtree(unfinished, ignore_errors=True)
    catalog = open_catalog({"warehouse": str(unfinished)})
    catalog.create_database("bench")
    catalog.create_table(NAME, Schema(_FIELDS, partition_keys=["day"], options={"bucket": "-1"}))
    table = catalog.get_table(NAME)
    writer = ManifestWriter(table.file_io, table.paths, [_STRING])
    metas = []
    for start in range(0, files, 200_000):
        numbers = range(start, min(start + 200_000, files))
        entries = [_entry(n, n * PARTITIONS // files if in_order else n % PARTITIONS) for n in numbers]
        metas += writer.write(entries, 0)
    base, base_size = writer.write_list(metas)
    delta, delta_size = writer.write_list([])
    snapshot = Snapshot(
        id=1, schema_id=0, base_manifest_list=base, base_manifest_list_size=base_size, delta_manifest_list=delta,
        delta_manifest_list_size=delta_size, commit_user="benchmark", commit_identifier=1,
        commit_kind=CommitKind.APPEND, time_millis=1_700_000_000_000, total_record_count=files * 1000,
        delta_record_count=files * 1000,
    )  # fmt: skip
    assert table.snapshots.publish(snapshot)
    unfinished.rename(warehouse)


_PEAK = """
def peak():
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) / 1024 for line in status if line.startswith("VmHWM"))
"""
_OURS = """
from maintenance.catalog import open_catalog
def plan():
    table = open_catalog({"warehouse": WAREHOUSE}).get_table(NAME)
    found, _ = table.plan(None, table.predicate(f"day = '{WANTED}'"))
    return sum(len(split.files) for split in found.splits)
"""
_PYPAIMON = """
from pypaimon import CatalogFactory
def plan():
    table = CatalogFactory.create({"warehouse": WAREHOUSE}).get_table(NAME)
    builder = table.new_read_builder()
    builder = builder.with_filter(builder.new_predicate_builder().equal("day", WANTED))
    return sum(len(split.files) for split in builder.new_scan().plan().splits())
"""
_JAVA = """
from benchmarks import java_core
from benchmarks.results import tell
paimon = java_core.start()
def plan():
    import jpype
    table = java_core.get_table(paimon, WAREHOUSE, NAME)
    wanted = jpype.JClass("java.util.HashMap")()
    wanted.put("day", WANTED)
    builder = table.newReadBuilder().withPartitionFilter(wanted)
    return sum(split.dataFiles().size() for split in builder.newScan().plan().splits())
"""
_MEASURE = """
import json, time
seconds = []
for _ in range(ROUNDS + 1):
    started = time.perf_counter()
    files = plan()
    seconds.append(time.perf_counter() - started)
rounds = seconds[1:] or seconds
found = {"rounds": rounds, "first": seconds[0], "best": min(rounds), "files": files, "peak": peak()}
print(json.dumps(found))
"""


def contend(python: str, code: str, warehouse: Path, rounds: int) -> dict[str, Any] | None:
    """Run a contender in a process of its own; None where it fails, with the reason printed."""
    settings = f"WAREHOUSE, NAME, WANTED, ROUNDS = {str(warehouse.absolute())!r}, {NAME!r}, {WANTED!r}, {rounds}\n"
    program = settings + _PEAK + code + _MEASURE
    done = subprocess.run(
        [python, "-c", program], capture_output=True, text=True, env={**os.environ, "PYTHONPATH": "."}, check=False
    )
    if done.returncode:
        print(f"    failed: {done.stderr.strip().splitlines()[-1]}", flush=True)
        return None
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


def compare(files: int, rounds: int) -> None:
    for history in ("in order", "spread"):
        warehouse = CACHE / f"planning-{files}-{history.replace(' ', '-')}"
        if not warehouse.exists():
            print(f"building metadata of {files:,} files, {history}", flush=True)
            build(warehouse, files, in_order=history == "in order")
        size = sum(path.stat().st_size for path in warehouse.rglob("manifest-*")) / 2**20
        print(f"\n{files:,} live files, {PARTITIONS:,} partitions, {history}: {size:.0f} MiB of manifests", flush=True)
        own = contend(sys.executable, _OURS, warehouse, rounds)
        if own is None or own["files"] != files // PARTITIONS:
            raise SystemExit(f"planned {own}, expected {files // PARTITIONS} files")
        contenders = [("ours", own)]
        if java_core.JAR.exists():
            contenders.append(("Java core, warm", contend(sys.executable, _JAVA, warehouse, rounds) or {}))
        if Path(".venv-pypaimon/bin/python").exists():
            contenders.append(("pypaimon", contend(".venv-pypaimon/bin/python", _PYPAIMON, warehouse, 0) or {}))
        for name, found in contenders:
            if not found:
                continue
            ratio = "" if found is own else f"   ours is {found['best'] / own['best']:.1f} x faster"
            print(
                f"  {name:<16} first {found['first']:7.2f} s   again {found['best']:7.2f} s   "
                f"{files / found['best']:12,.0f} files/s   peak {found['peak']:6,.0f} MiB{ratio}",
                flush=True,
            )
            tell(f"{files:,} files, {history}", name, found["rounds"], peak_MiB=round(found["peak"]))
            assert found["files"] == own["files"], f"{name} plans {found['files']} files"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--files", type=int, default=1_000_000)
    parser.add_argument("--rounds", type=int, default=3)
    given = parser.parse_args()
    started = time.perf_counter()
    CACHE.mkdir(parents=True, exist_ok=True)
    compare(given.files, given.rounds)
    print(f"\n{time.perf_counter() - started:.0f} s in all")


if __name__ == "__main__":
    main()
