"""Metadata of tables with millions of files: planning, commit, conflict check, manifest merge and expiry.

    python -m benchmarks.metadata [--files 1000000 3000000] [--only plan commit …] [--rounds 3]

The metadata is made up, no data file exists. `keyed`: a table with a primary key, 100 files in a partition (so 100,000
partitions of 10 million files), their manifests in the order of the partitions. `append`: a table without partitions,
where every check sees all files. `snapshots`: a table of 50,000 snapshots over a tenth of the files, of which a
thousand expire. Each action is a process of its own: seconds of each round, and the peak of its memory (VmHWM). With
more than one size the growth of the seconds is told beside that of the files: 1.0 is linear.
"""

import argparse
import json
import os
import shutil
import struct
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import median

import numpy as np
import numpy.typing as npt

from benchmarks.results import tell
from maintenance.catalog import CatalogTable, Schema, open_catalog
from maintenance.commit.changes import Changes
from maintenance.commit.commit import check_replaced, manifests_met
from maintenance.commit.manifest_merge import ManifestMergeOptions, merge_manifests
from maintenance.format.avro.codec import AVRO_CODECS
from maintenance.format.avro.container import container_block
from maintenance.format.bytes.varint import varint
from maintenance.format.metadata.data_file import DataFileMeta, FileSource
from maintenance.format.metadata.manifest import FileKind, ManifestEntry, serialize_manifest
from maintenance.format.metadata.manifest_list import ManifestFileMeta
from maintenance.format.metadata.partition_stats import partition_stats_of
from maintenance.format.metadata.simple_stats import SimpleStats
from maintenance.format.metadata.snapshot import CommitKind, Snapshot
from maintenance.format.rows.binary_row import EMPTY_ROW, serialize_row
from maintenance.metadata.manifests import ManifestWriter
from maintenance.operations import expire_snapshots
from maintenance.scan.split import Split
from maintenance.types.data_type import DataType, parse_type

CACHE = Path(".cache/benchmarks/metadata")
NAME = "bench.t"
FILES_OF_PARTITION = 100
SNAPSHOTS, EXPIRED = 50_000, 1000
_BIGINT, _STRING = parse_type("BIGINT"), parse_type("STRING")
_OF_MANIFEST, _OF_BLOCK = 120_000, 200
# Of a manifest of so many entries, which are more alike than those of real tables.
_TARGET = "2 mb"
# Numbers from here on have varints of six bytes, as many as there are files.
_SEQUENCE = 1 << 34
_ROWS = 1000
Digits = npt.NDArray[np.uint8]


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of table. `level`: of its files."""

    keyed: bool

    @property
    def schema(self) -> Schema:
        if not self.keyed:
            return Schema(
                [("id", "BIGINT"), ("day", "STRING")], options={"bucket": "-1", "manifest.target-file-size": _TARGET}
            )
        fields = [("id", "BIGINT NOT NULL"), ("day", "STRING NOT NULL")]
        options = {"bucket": "1", "write-only": "true", "manifest.target-file-size": _TARGET}
        return Schema(fields, primary_keys=["day", "id"], partition_keys=["day"], options=options)

    def partition(self, number: int) -> bytes:
        """The partition of a file."""
        return serialize_row((_day(number // FILES_OF_PARTITION),), (_STRING,)) if self.keyed else EMPTY_ROW

    def entry(self, number: int, kind: FileKind = FileKind.ADD) -> ManifestEntry:
        return self._entry(f"{number:012d}", _ids(number), _SEQUENCE + number, self.partition(number), kind)

    def _entry(
        self, name: str, ids: tuple[int, int], sequence: int, partition: bytes, kind: FileKind = FileKind.ADD
    ) -> ManifestEntry:
        keys = [serialize_row((each,), (_BIGINT,)) for each in ids]
        low, high = keys if self.keyed else (EMPTY_ROW, EMPTY_ROW)
        key_stats = SimpleStats(low, high, (0,) if self.keyed else ())
        values = SimpleStats(keys[0], keys[1], (0,))
        file = DataFileMeta(
            f"data-{name}-0.parquet", 1 << 20, _ROWS, low, high, key_stats, values, sequence, sequence, 0,
            5 if self.keyed else 0, creation_time=1_700_000_000_000, delete_row_count=0,
            file_source=FileSource.COMPACT if self.keyed else FileSource.APPEND, value_stats_cols=("id",),
        )  # fmt: skip
        return ManifestEntry(kind, partition, 0, 1 if self.keyed else -1, file)

    def template(self) -> "Template":
        """An entry whose numbers can be filled in, a column at a time."""
        name, sequence, day = "123456789012", _SEQUENCE + 0x2BCDEF98, "day-654321"
        ids = (0x1122334455667788, 0x1122334455667799)
        partition = serialize_row((day,), (_STRING,)) if self.keyed else EMPTY_ROW
        made = serialize_manifest([self._entry(name, ids, sequence, partition)], "null")
        header = serialize_manifest([], "null")
        # Behind the header: count and size of the block; behind the record: the marker.
        record = made[len(header) :]
        for _ in range(2):
            while record[0] & 0x80:
                record = record[1:]
            record = record[1:]
        marks = {"name": name.encode(), "low": struct.pack("<q", ids[0]), "high": struct.pack("<q", ids[1])}
        marks |= {"sequence": varint(sequence << 1)} | ({"day": day[4:].encode()} if self.keyed else {})
        return Template(serialize_manifest([], "zstandard"), record[:-16], marks)


def _ids(number: int) -> tuple[int, int]:
    return number * _ROWS, number * _ROWS + _ROWS - 1


def _day(partition: int) -> str:
    return f"day-{partition:06d}"


@dataclass(frozen=True, slots=True)
class Template:
    """Bytes of a record. `marks`: what stands in it for each number."""

    header: bytes
    record: bytes
    marks: Mapping[str, bytes]

    def manifest(self, numbers: npt.NDArray[np.int64]) -> bytes:
        """A manifest with the entries of these files."""
        rows = np.tile(np.frombuffer(self.record, np.uint8), (len(numbers), 1))
        columns = {"name": _digits(numbers, 12), "day": _digits(numbers // FILES_OF_PARTITION, 6)}
        columns |= {"low": _longs(numbers * _ROWS), "high": _longs(numbers * _ROWS + _ROWS - 1)}
        columns |= {"sequence": _varints((numbers + _SEQUENCE) << 1, 6)}
        for name, mark in self.marks.items():
            assert len(mark) == columns[name].shape[1]
            at = self.record.find(mark)
            assert at >= 0, name
            while at >= 0:
                rows[:, at : at + len(mark)] = columns[name]
                at = self.record.find(mark, at + 1)
        compress = AVRO_CODECS["zstandard"].compress
        parts = [self.header]
        for start in range(0, len(rows), _OF_BLOCK):
            block = rows[start : start + _OF_BLOCK]
            parts.append(container_block(len(block), compress(block.tobytes(), 1)))
        return b"".join(parts)


def _digits(numbers: npt.NDArray[np.int64], width: int) -> Digits:
    places = 10 ** np.arange(width - 1, -1, -1)
    return (numbers[:, None] // places % 10 + ord("0")).astype(np.uint8)


def _longs(numbers: npt.NDArray[np.int64]) -> Digits:
    return np.ascontiguousarray(numbers.astype("<i8")).view(np.uint8).reshape(-1, 8)


def _varints(numbers: npt.NDArray[np.int64], width: int) -> Digits:
    parts = numbers[:, None] >> (7 * np.arange(width)) & 0x7F
    parts[:, :-1] |= 0x80
    return parts.astype(np.uint8)


def build(warehouse: Path, files: int, kind: Kind, snapshots: int = 1) -> None:
    """A table whose first snapshot names that many files. `snapshots`: each later one replaces one of the files."""
    shutil.rmtree(warehouse, ignore_errors=True)
    unfinished = warehouse.with_name(f"{warehouse.name}-unfinished")
    shutil.rmtree(unfinished, ignore_errors=True)
    catalog = open_catalog({"warehouse": str(unfinished)})
    catalog.create_database("bench")
    catalog.create_table(NAME, kind.schema)
    table = catalog.get_table(NAME)
    types = [field.type for field in table.schema.partition_fields]
    writer, template = ManifestWriter(table.file_io, table.paths, types), kind.template()
    base = [_manifest(table, kind, template, types, range(s, min(s + _OF_MANIFEST, files)))
            for s in range(0, files, _OF_MANIFEST)]  # fmt: skip
    before, delta = writer.write_list(base), writer.write_list([])
    for number in range(1, snapshots + 1):
        if number > 1:
            changes = [kind.entry(number, FileKind.DELETE), kind.entry(files + number)]
            metas = writer.write(changes, 0)
            base += metas
            delta = writer.write_list(metas)
        _publish(table, number, before, delta, files)
        if number % 100 == 0:
            # What came since the last merge is one manifest.
            base = base[: -(-files // _OF_MANIFEST)]
            before = writer.write_list(base)
    unfinished.rename(warehouse)


def many_buckets(warehouse: Path, buckets: int, runs: int) -> CatalogTable:
    """A table with a primary key and so many buckets of a partition, each with files of so many overlapping runs."""
    shutil.rmtree(warehouse, ignore_errors=True)
    catalog = open_catalog({"warehouse": str(warehouse)})
    catalog.create_database("bench")
    schema = Schema([("id", "BIGINT NOT NULL"), ("v", "STRING")], primary_keys=["id"],
                    options={"bucket": str(buckets), "write-only": "true"})  # fmt: skip
    catalog.create_table(NAME, schema)
    table = catalog.get_table(NAME)
    assert isinstance(table, CatalogTable)
    writer, keyed = ManifestWriter(table.file_io, table.paths, []), Kind(True)
    entries = []
    for number in range(buckets * runs):
        made = keyed.entry(number // runs)
        name, sequence = f"data-{number}-0.parquet", _SEQUENCE + number
        file = replace(made.file, file_name=name, level=0, max_sequence_number=sequence, min_sequence_number=sequence)
        entries.append(ManifestEntry(FileKind.ADD, EMPTY_ROW, number // runs, buckets, file))
    _publish(table, 1, writer.write_list(writer.write(entries, 0)), writer.write_list([]), len(entries))
    return table


def _manifest(
    table: CatalogTable,
    kind: Kind,
    template: Template,
    types: Sequence[DataType],
    numbers: range,
) -> ManifestFileMeta:
    data = template.manifest(np.arange(numbers.start, numbers.stop))
    name = f"manifest-{numbers.start:032d}-0"
    table.file_io.write_bytes(table.paths.manifest(name), data)
    ends = [kind.partition(numbers[0]), kind.partition(numbers[-1])]
    stats = replace(partition_stats_of(dict.fromkeys(ends, 1), types), null_counts=(0,) * len(types))
    level = 5 if kind.keyed else 0
    return ManifestFileMeta(name, len(data), len(numbers), 0, stats, 0, 0, 0, level, level)


def _publish(table: CatalogTable, number: int, base: tuple[str, int], delta: tuple[str, int], files: int) -> None:
    snapshot = Snapshot(
        id=number, schema_id=0, base_manifest_list=base[0], base_manifest_list_size=base[1],
        delta_manifest_list=delta[0], delta_manifest_list_size=delta[1], commit_user="benchmark",
        commit_identifier=number, commit_kind=CommitKind.APPEND, time_millis=1_700_000_000_000 + number,
        total_record_count=files * _ROWS, delta_record_count=0,
    )  # fmt: skip
    assert table.snapshots.publish(snapshot)


# The actions. Each gets a table that it may change, and the number of its files.


def plan(table: CatalogTable, files: int) -> str:
    """A read of one partition, or of the files that statistics leave of all."""
    chosen = files // 2
    condition = (
        f"day = '{_day(chosen // FILES_OF_PARTITION)}'" if table.schema.partition_keys else f"id = {chosen * _ROWS}"
    )
    found, _ = table.plan(None, table.predicate(condition))
    count = sum(len(split.files) for split in found.splits if isinstance(split, Split))
    assert count == (FILES_OF_PARTITION if table.schema.partition_keys else 1), count
    return f"{count} files"


def commit(table: CatalogTable, files: int) -> str:
    """A few rows written and committed: the state that a writer starts from, and the commit."""
    import pyarrow as pa

    table.write_arrow(pa.table({"id": [1, 2, 3], "day": [_day(0)] * 3}))
    return "3 rows"


def conflict(table: CatalogTable, files: int) -> str:
    """The check of a compaction that replaces ten files by one, on the newest snapshot."""
    changes, wrong = _compaction(table, files)
    assert check_replaced(table.commit_target(), changes, table.latest_snapshot()) is None
    again = check_replaced(table.commit_target(), wrong, table.latest_snapshot())
    assert again is not None, "a file that is there was added"
    return "2 checks"


def race(table: CatalogTable, files: int) -> str:
    """The check of a compaction that lost four races one after the other, against commits of a few rows."""
    import pyarrow as pa

    target, (changes, _) = table.commit_target(), _compaction(table, files)
    met = manifests_met(target, changes)
    for _ in range(4):
        assert check_replaced(target, changes, table.latest_snapshot(), met) is None
        table.write_arrow(pa.table({"id": [1, 2, 3], "day": [_day(0)] * 3}))
    assert check_replaced(target, changes, table.latest_snapshot(), met) is None
    return f"5 checks, 4 commits, {len(met.by_manifest)} manifests opened for the checks"


def _compaction(table: CatalogTable, files: int) -> tuple[Changes, Changes]:
    """Ten files replaced by one, and by one that is there."""
    kind = Kind(bool(table.schema.partition_keys))
    first = files // 2 // FILES_OF_PARTITION * FILES_OF_PARTITION
    gone = [kind.entry(number, FileKind.DELETE) for number in range(first, first + 10)]
    new = kind.entry(first)
    low, high = gone[0].file.min_key, gone[-1].file.max_key
    added = replace(new, file=replace(new.file, file_name="data-new-0.parquet", min_key=low, max_key=high))
    there = kind.entry(first + 50)
    return Changes(CommitKind.COMPACT, (*gone, added)), Changes(CommitKind.COMPACT, (*gone, there))


def merge(table: CatalogTable, files: int) -> str:
    """A full merge in which one file of each hundredth manifest was deleted, at least of one."""
    kind, snapshot = Kind(bool(table.schema.partition_keys)), table.latest_snapshot()
    assert snapshot is not None
    types = [field.type for field in table.schema.partition_fields]
    writer = ManifestWriter(table.file_io, table.paths, types)
    gone = [kind.entry(number, FileKind.DELETE) for number in range(0, files, 100 * _OF_MANIFEST)]
    manifests = [*table.manifests.data_manifests(snapshot), *writer.write(gone, 0)]
    options = replace(ManifestMergeOptions.of(table.options, table.schema.partition_keys), full_threshold=0)
    merged = merge_manifests(manifests, options, table.manifests.columns_of_one, writer, 0)
    assert sum(meta.num_added_files for meta in merged) == files - len(gone)
    assert not any(meta.num_deleted_files for meta in merged)
    return f"{len(writer.written) - 1} manifests written"


def expire(table: CatalogTable, files: int) -> str:
    """An expiry of a thousand of the snapshots."""
    report = expire_snapshots(table, retain_max=1, retain_min=1, max_deletes=EXPIRED)
    assert len(report.expired) == EXPIRED
    return f"{len(report.expired)} snapshots, {len(report.deleted_files)} files"


ACTIONS: Mapping[str, Callable[[CatalogTable, int], str]] = {
    "plan": plan, "commit": commit, "conflict": conflict, "race": race, "merge": merge, "expire": expire,
}  # fmt: skip
TABLES = {"keyed": Kind(True), "append": Kind(False), "snapshots": Kind(True)}
_OF_TABLE = {"keyed": ("plan", "commit", "conflict", "race", "merge"),
             "append": ("plan", "commit", "conflict", "race", "merge"), "snapshots": ("expire",)}  # fmt: skip


def _peak() -> float:
    """MiB that this process had at most."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) / 1024 for line in lines if line.startswith("VmHWM"))


def contend(action: str, warehouse: Path, files: int) -> dict[str, float | str]:
    """An action in a process of its own, on a table whose files are links to those of `warehouse`."""
    copy = CACHE / "copy"
    shutil.rmtree(copy, ignore_errors=True)
    shutil.copytree(warehouse, copy, copy_function=os.link)
    command = [sys.executable, "-m", "benchmarks.metadata", "--contender", action, str(copy), str(files)]
    done = subprocess.run(command, capture_output=True, text=True, env={**os.environ, "PYTHONPATH": "."}, check=False)
    if done.returncode:
        raise SystemExit(f"{action} failed:\n{done.stderr[-4000:]}")
    found: dict[str, float | str] = json.loads(done.stdout.splitlines()[-1])
    return found


def one(action: str, warehouse: str, files: int) -> None:
    """What a process of its own does."""
    table = open_catalog({"warehouse": warehouse}).get_table(NAME)
    assert isinstance(table, CatalogTable)
    started, used = time.perf_counter(), time.process_time()
    done = ACTIONS[action](table, files)
    seconds, cpu = time.perf_counter() - started, time.process_time() - used
    print(json.dumps({"seconds": seconds, "cpu": cpu, "peak": _peak(), "done": done}))


def compare(sizes: Sequence[int], actions: Sequence[str], rounds: int) -> None:
    before: dict[tuple[str, str], tuple[int, float]] = {}
    for files in sizes:
        for name, kind in TABLES.items():
            chosen = [action for action in _OF_TABLE[name] if action in actions]
            if not chosen:
                continue
            warehouse = CACHE / name
            started = time.perf_counter()
            count, snapshots = (files // 10, SNAPSHOTS) if name == "snapshots" else (files, 1)
            build(warehouse, count, kind, snapshots)
            print(f"\n{name}: {count:,} files, {snapshots:,} snapshots, made in {time.perf_counter() - started:.0f} s",
                  flush=True)  # fmt: skip
            for action in chosen:
                found = [contend(action, warehouse, count) for _ in range(rounds)]
                taken = [float(each["seconds"]) for each in found]
                cpu, peak = min(float(each["cpu"]) for each in found), max(float(each["peak"]) for each in found)
                line = f"  {action:<9} {min(taken):8.2f} s  median {median(taken):8.2f}  {cpu:8.2f} s CPU"
                line += f"  peak {peak:6,.0f} MiB  {found[0]['done']}"
                more: dict[str, float | str] = {"processor s": round(cpu, 2), "peak MiB": round(peak)}
                if (name, action) in before:
                    fewer, quicker = before[name, action]
                    more["growth"] = f"{cpu / quicker / (count / fewer):.2f}"
                    line += f"  {more['growth']} of linear growth"
                before[name, action] = count, cpu
                print(line, flush=True)
                tell(f"{name}, {count:,} files: {action}", "ours", taken, **more)
            shutil.rmtree(warehouse)
    shutil.rmtree(CACHE)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--files", type=int, nargs="+", default=[1_000_000, 3_000_000])
    parser.add_argument("--only", nargs="+", choices=list(ACTIONS), default=list(ACTIONS))
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--contender", nargs=3, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.contender:
        action, warehouse, files = given.contender
        one(action, warehouse, int(files))
        return
    CACHE.mkdir(parents=True, exist_ok=True)
    compare(given.files, given.only, given.rounds)


if __name__ == "__main__":
    main()
