"""Tables with a long history: what looks at one, or maintains it, reads of 50,000 snapshots and 20,000 tags.

    python -m benchmarks.history [--snapshots 50000] [--tags 20000] [--only health forecast …]

The metadata is made up, no data file exists. A table with a primary key gets a file with each commit; each fiftieth
snapshot is a compaction, which leaves one file. No commit has its changelog, although a compaction should make it.
`tags`: of the oldest snapshots. Each action is a process of its own: seconds, processor seconds, the files that it
opened by what they are, and the peak of its memory (VmHWM). `again`: the same once more in that process.
"""

import argparse
import json
import os
import shutil
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks.results import tell
from maintenance.catalog import CatalogTable, Schema, open_catalog
from maintenance.commit.identity import CommitIdentity
from maintenance.commit.replays import already_committed
from maintenance.format.metadata.data_file import DataFileMeta, FileSource
from maintenance.format.metadata.manifest import FileKind, ManifestEntry
from maintenance.format.metadata.manifest_list import ManifestFileMeta
from maintenance.format.metadata.simple_stats import SimpleStats
from maintenance.format.metadata.snapshot import CommitKind, Snapshot, serialize_snapshot
from maintenance.format.metadata.tag import Tag, serialize_tag
from maintenance.format.rows.binary_row import EMPTY_ROW, serialize_row
from maintenance.metadata.hints import EARLIEST, LATEST
from maintenance.metadata.manifests import ManifestWriter
from maintenance.monitor.backlog import commits_without_changelog
from maintenance.monitor.health import Judging, Rules
from maintenance.monitor.score import health_record
from maintenance.monitor.triggers import Triggers, judge
from maintenance.operations import create_tag, expire_snapshots, expire_tags, explain, forecast, held_bytes, what_if
from maintenance.operations.checks.fsck import fsck
from maintenance.operations.expiry.kept_snapshots import kept_snapshots
from maintenance.table.shape import table_shape
from maintenance.types.data_type import parse_type

CACHE = Path(".cache/benchmarks/history")
NAME = "bench.t"
COMPACTED_EVERY, EXPIRED = 50, 1000
_BIGINT, _INT = parse_type("BIGINT"), parse_type("INT")
_MINUTE = 60_000


def _entry(number: int, kind: FileKind = FileKind.ADD, level: int = 0) -> ManifestEntry:
    low, high = (serialize_row((each,), (_BIGINT,)) for each in (number, number + 999))
    name = f"data-{number:012d}-{level}.parquet"
    source = FileSource.COMPACT if level else FileSource.APPEND
    file = DataFileMeta(
        name, 1 << 20, 1000, low, high, SimpleStats(low, high, (0,)), SimpleStats(EMPTY_ROW, EMPTY_ROW, ()),
        number, number, 0, level, creation_time=1_700_000_000_000, delete_row_count=0, file_source=source,
        value_stats_cols=(),
    )  # fmt: skip
    return ManifestEntry(kind, EMPTY_ROW, 0, 1, file)


def build(warehouse: Path, snapshots: int, tags: int) -> None:
    """The table."""
    unfinished = warehouse.with_name(f"{warehouse.name}-unfinished")
    shutil.rmtree(unfinished, ignore_errors=True)
    catalog = open_catalog({"warehouse": str(unfinished)})
    catalog.create_database("bench")
    options = {"bucket": "1", "write-only": "true", "changelog-producer": "lookup", "deletion-vectors.enabled": "true"}
    catalog.create_table(
        NAME, Schema([("id", "BIGINT NOT NULL"), ("v", "STRING")], primary_keys=["id"], options=options)
    )
    table = catalog.get_table(NAME)
    writer = ManifestWriter(table.file_io, table.paths, [])
    # The newest commit is an hour old.
    start = round(time.time() * 1000) - (snapshots + 60) * _MINUTE
    base: list[ManifestFileMeta] = []
    waiting = [_entry(0, level=5)]
    empty = writer.write_list([])
    for number in range(1, snapshots + 1):
        before = writer.write_list(base) if base else empty
        if number % COMPACTED_EVERY:
            kind, changes = CommitKind.APPEND, [_entry(number)]
            waiting += changes
        else:
            kind, added = CommitKind.COMPACT, _entry(number, level=5)
            old = [entry for entry in waiting if number > COMPACTED_EVERY or entry.file.level == 0]
            changes = [*(replace(entry, kind=FileKind.DELETE) for entry in old), added]
            waiting = [added]
        metas = writer.write(changes, 0)
        delta = writer.write_list(metas)
        base = writer.write(waiting, 0) if kind == CommitKind.COMPACT else [*base, *metas]
        snapshot = Snapshot(
            id=number, schema_id=0, base_manifest_list=before[0], base_manifest_list_size=before[1],
            delta_manifest_list=delta[0], delta_manifest_list_size=delta[1],
            commit_user="writer" if kind == CommitKind.APPEND else "compactor", commit_identifier=number,
            commit_kind=kind, time_millis=start + number * _MINUTE, total_record_count=len(waiting) * 1000,
            delta_record_count=1000 if kind == CommitKind.APPEND else 1000 * (1 - len(changes) + 1),
        )  # fmt: skip
        table.file_io.write_bytes(table.paths.snapshot(number), serialize_snapshot(snapshot))
        if number <= tags:
            table.file_io.write_bytes(table.paths.tag(f"t{number}"), serialize_tag(Tag(snapshot)))
    table.snapshots.write_hint(EARLIEST, 1)
    table.snapshots.write_hint(LATEST, snapshots)
    # What a look at the newest state asks for.
    for entry in waiting:
        folder = Path(table.location, "bucket-0")
        folder.mkdir(exist_ok=True)
        with (folder / entry.file.file_name).open("wb") as file:
            file.truncate(entry.file.file_size)
    unfinished.rename(warehouse)


# The actions: what each finds, in a word or two.


def _judge(part: str) -> Callable[[CatalogTable], str]:
    """All judgements of a tick over this table."""

    def judged(table: CatalogTable) -> str:
        judging = Judging()
        judging.look(table, Rules(triggers=Triggers(changelog_lag=100)), datetime.now(UTC), dict)
        assert not judging.faults, judging.faults
        return f"{len(judging.judgements)} {part}"

    return judged


def tick(table: CatalogTable) -> str:
    """What the sensor asks of a table that has changed."""
    need = judge(table, table_shape(table), Triggers(sorted_runs=1000, changelog_lag=100))
    return "due" if need.due else "not due"


def replay(table: CatalogTable) -> str:
    """Whether a new user has committed already, which each of its writers asks once."""
    return str(already_committed(table.commit_target(), CommitIdentity("new", 1)))


def commit(table: CatalogTable) -> str:
    """A numbered commit of a user that has committed before the others."""
    import pyarrow as pa

    table.write_arrow(pa.table({"id": [1], "v": ["a"]}))
    return "1 row"


def tag(table: CatalogTable) -> str:
    """A tag, which the second time is another one."""
    name = f"new{len(table.tags.names())}"
    create_tag(table, name)
    return name


def expire(table: CatalogTable, *, dry_run: bool) -> str:
    """A thousand of the snapshots."""
    if dry_run:
        from maintenance.operations.expiry.expire_snapshots import OPERATION, ExpireSnapshots
        from maintenance.operations.operation import Run

        planned = OPERATION.plan(Run(), table, ExpireSnapshots(max_deletes=EXPIRED))
        return f"{len(planned.report.expired)} would go"
    report = expire_snapshots(table, max_deletes=EXPIRED)
    return f"{len(report.expired)} snapshots, {len(report.deleted_files)} files"


def system(name: str, table: CatalogTable) -> str:
    """A system table."""
    catalog = open_catalog({"warehouse": str(Path(table.location).parent.parent)})
    return f"{catalog.get_table(f'{NAME}${name}').to_arrow().num_rows} rows"


def _forecast(table: CatalogTable) -> str:
    return forecast(table, minimum_age=timedelta(0)).forecast.text


ACTIONS: Mapping[str, Callable[[CatalogTable], str]] = {
    "judgements": _judge("judgements"),
    "health": lambda table: str(health_record(table, datetime.now(UTC)).score),
    "tick": tick,
    "changelog lag": lambda table: f"{len(commits_without_changelog(table).waiting)} commits",
    "kept": lambda table: f"{kept_snapshots(table, datetime.now(UTC)).due} due",
    "replay": replay,
    "commit": commit,
    "tag": tag,
    "snapshots": partial(system, "snapshots"),
    "tags": partial(system, "tags"),
    "expiry plan": partial(expire, dry_run=True),
    "expiry": partial(expire, dry_run=False),
    "tags due": lambda table: str(len(expire_tags(table).expired)),
    "forecast": _forecast,
    "what_if": lambda table: str(len(what_if(table).losses)),
    "held_bytes": lambda table: f"{len(held_bytes(table))} holders",
    "explain": lambda table: explain(table, snapshot_id=100).subject,
    "fsck": lambda table: f"{len(fsck(table.file_io, table.location).faults)} faults",
}
_KINDS = ("snapshot-", "tag-", "manifest-list-", "manifest-")


def _peak() -> float:
    """MiB that this process had at most."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) / 1024 for line in lines if line.startswith("VmHWM"))


def one(action: str, warehouse: str) -> None:
    """What a process of its own does."""
    table = open_catalog({"warehouse": warehouse}).get_table(NAME)
    assert isinstance(table, CatalogTable)
    opened: Counter[str] = Counter()
    root = os.path.abspath(warehouse)

    def see(event: str, arguments: tuple[object, ...]) -> None:
        if event == "open" and isinstance(arguments[0], str) and os.path.abspath(arguments[0]).startswith(root):
            name = os.path.basename(arguments[0])
            opened[next((kind.strip("-") for kind in _KINDS if name.startswith(kind)), "other")] += 1

    sys.addaudithook(see)
    rounds = []
    for _ in range(2):
        opened.clear()
        started, used = time.perf_counter(), time.process_time()
        done = ACTIONS[action](table)
        seconds, cpu = time.perf_counter() - started, time.process_time() - used
        rounds.append({"seconds": seconds, "cpu": cpu, "peak": _peak(), "done": done, "opened": dict(opened)})
    print(json.dumps(rounds))


def contend(action: str, warehouse: Path) -> list[dict[str, Any]]:
    """An action in a process of its own, on a table whose files are links to those of `warehouse`."""
    copy = CACHE / "copy"
    if action in ("commit", "tag", "expiry", "tags due"):
        shutil.rmtree(copy, ignore_errors=True)
        shutil.copytree(warehouse, copy, copy_function=os.link)
        warehouse = copy
    command = [sys.executable, "-m", "benchmarks.history", "--contender", action, str(warehouse)]
    done = subprocess.run(command, capture_output=True, text=True, env={**os.environ, "PYTHONPATH": "."}, check=False)
    if done.returncode:
        print(f"{action} failed:\n{done.stderr[-1500:]}")
        return []
    found: list[dict[str, Any]] = json.loads(done.stdout.splitlines()[-1])
    return found


def compare(snapshots: int, tags: int, actions: Sequence[str]) -> None:
    warehouse = CACHE / f"{snapshots}-{tags}"
    if not warehouse.exists():
        started = time.perf_counter()
        build(warehouse, snapshots, tags)
        print(f"{snapshots:,} snapshots, {tags:,} tags, made in {time.perf_counter() - started:.0f} s", flush=True)
    for action in actions:
        for name, found in zip((action, "  again"), contend(action, warehouse), strict=False):
            opened = ", ".join(f"{count:,} {kind}" for kind, count in sorted(found["opened"].items()))
            line = f"{name:<14} {found['seconds']:8.2f} s  {found['cpu']:8.2f} s CPU  peak {found['peak']:6,.0f} MiB"
            print(f"{line}  {found['done']}; opened {opened or 'nothing'}", flush=True)
            if name == action:
                more = {"processor s": round(found["cpu"], 2), "peak MiB": round(found["peak"]), "opened": opened}
                tell(f"{snapshots:,} snapshots: {action}", "ours", [found["seconds"]], **more)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--snapshots", type=int, default=50_000)
    parser.add_argument("--tags", type=int, default=20_000)
    parser.add_argument("--only", nargs="+", choices=list(ACTIONS), default=list(ACTIONS))
    parser.add_argument("--contender", nargs=2, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.contender:
        one(*given.contender)
        return
    CACHE.mkdir(parents=True, exist_ok=True)
    compare(given.snapshots, given.tags, given.only)


if __name__ == "__main__":
    main()
