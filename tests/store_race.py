"""Processes commit to one table on a store's server while requests fail: then every commit is there, and none twice.

python -m tests.store_race [--store s3|gcs|azure|hdfs] [--commits 200]
"""

import argparse
import json
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, nullcontext
from pathlib import Path
from tempfile import TemporaryDirectory

import pyarrow as pa

from maintenance.catalog import CatalogTable, Schema, open_catalog
from maintenance.operations.checks.fsck import fsck
from tests.servers import azure as azure_server
from tests.servers import gcs as gcs_server
from tests.servers import hdfs as hdfs_server
from tests.servers import s3 as s3_server
from tests.servers.azure import Azure
from tests.servers.gcs import GCS
from tests.servers.hdfs import Hdfs
from tests.servers.relay import Relay, relaying
from tests.servers.s3 import S3
from tests.tables import table_of

FAULTS = {"slow_down": 0.05, "cut_before": 0.005, "cut_after": 0.005}
_OPTIONS = {"bucket": "-1", "write-only": "true", "commit.max-retries": "100", "commit.timeout": "10 min"}


def run(
    options: Mapping[str, str], relay: Relay, commits: int, faults: Mapping[str, float], writers: int = 2
) -> list[str]:
    """Let processes commit to a new table through the relay. Returns what is wrong afterwards.

    `options`: of a catalog that is reached through the relay.
    """
    catalog = open_catalog(options)
    catalog.create_database("db")
    catalog.create_table("db.t", Schema([("writer", "INT"), ("number", "INT")], options=_OPTIONS))
    command = [sys.executable, "-m", "tests.store_race", "--options", json.dumps(options), "--commits", str(commits)]
    with relay.failing(**faults):
        root = Path(__file__).parents[1]
        processes = [
            subprocess.Popen([*command, "--writer", str(number)], stderr=subprocess.PIPE, text=True, cwd=root)
            for number in range(writers)
        ]
        errors = [process.communicate(timeout=900)[1] for process in processes]
    actual = [f"writer {n} ended: {error[-2000:]}" for n, error in enumerate(errors) if processes[n].returncode]
    return actual + _wrong(table_of(catalog), commits, writers)


def _wrong(table: CatalogTable, commits: int, writers: int) -> list[str]:
    rows = sorted((row["writer"], row["number"]) for row in table.to_arrow().to_pylist())
    expected = [(writer, number) for writer in range(writers) for number in range(commits)]
    collected = []
    if rows != expected:
        missing, twice = set(expected) - set(rows), {row for row in rows if rows.count(row) > 1}
        collected.append(f"{len(missing)} commits are missing: {sorted(missing)[:5]}, twice: {sorted(twice)[:5]}")
    if len(table.snapshots.list_ids()) != len(expected):
        collected.append(f"{len(table.snapshots.list_ids())} snapshots for {len(expected)} commits")
    return collected + [str(fault) for fault in fsck(table.file_io, table.location).faults]


def _write(options: Mapping[str, str], writer: int, commits: int) -> None:
    """One writer. A commit whose outcome is not known is tried again under its number, as a pipeline does."""
    table = table_of(open_catalog(options))
    for number in range(commits):
        rows = pa.table({"writer": pa.array([writer], pa.int32()), "number": pa.array([number], pa.int32())})
        for attempt in range(5):
            try:
                table.write_arrow(rows, commit_user=f"writer-{writer}", commit_identifier=number)
                break
            except OSError:
                if attempt == 4:
                    raise


@contextmanager
def on_s3() -> Iterator[tuple[Mapping[str, str], Relay]]:
    """Options of an empty warehouse on a new server, and the relay in front of it."""
    with s3_server.running_apart() as server, relaying(server.url) as relay:
        s3 = S3(relay.url, server.url)
        yield s3.options(s3.new_bucket()), relay


@contextmanager
def on_azure() -> Iterator[tuple[Mapping[str, str], Relay]]:
    with azure_server.running() as server, on_azure_server(server) as actual:
        yield actual


@contextmanager
def on_azure_server(server: Azure) -> Iterator[tuple[Mapping[str, str], Relay]]:
    with relaying(server.own_url) as relay:
        behind = Azure(relay.url, server.own_url)
        yield behind.options(behind.new_container()), relay


@contextmanager
def on_gcs() -> Iterator[tuple[Mapping[str, str], Relay]]:
    with TemporaryDirectory() as folder, gcs_server.running(Path(folder)) as server, on_gcs_server(server) as actual:
        yield actual


@contextmanager
def on_gcs_server(server: GCS) -> Iterator[tuple[Mapping[str, str], Relay]]:
    with relaying(server.url) as relay:
        # The server itself carries out one conditional put at a time.
        relay.creating = nullcontext()
        behind = server.behind(relay.url)
        yield behind.options(behind.new_bucket()), relay


@contextmanager
def on_hdfs() -> Iterator[tuple[Mapping[str, str], Relay]]:
    with TemporaryDirectory() as folder, hdfs_server.running(Path(folder)) as server, on_hdfs_cluster(server) as actual:
        yield actual


@contextmanager
def on_hdfs_cluster(server: Hdfs) -> Iterator[tuple[Mapping[str, str], Relay]]:
    """The relay stands in front of the namenode alone: what is read and written goes to the datanode."""
    with relaying(server.url) as relay:
        yield server.behind(relay.url).options(server.new_folder()), relay


STORES = {"s3": on_s3, "azure": on_azure, "gcs": on_gcs, "hdfs": on_hdfs}


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--commits", type=int, default=200, help="of each of two processes")
    parser.add_argument("--store", choices=STORES, default="s3")
    parser.add_argument("--options", help=argparse.SUPPRESS)
    parser.add_argument("--writer", type=int, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.options:
        _write(json.loads(given.options), given.writer, given.commits)
        return
    with STORES[given.store]() as (options, relay):
        wrong = run(options, relay, given.commits, FAULTS)
        print(f"requests: {dict(relay.counts)}, failed: {dict(relay.failed)}")
    print("\n".join(wrong) or f"all {2 * given.commits} commits are there, none twice")
    sys.exit(bool(wrong))


if __name__ == "__main__":
    main()
