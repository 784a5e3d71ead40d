"""Requests and seconds on an S3 server that takes 20 ms longer for every answer: this project and pypaimon.

    python -m benchmarks.object_store [--delay 0.02] [--tables 100]

moto's server in a process of its own, behind a relay that counts. Both read the same tables, which this project writes.
"""

import argparse
import json
import os
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa

from assets.project.config import TableConfig
from assets.resources.catalog import PaimonCatalog
from maintenance.catalog import CatalogTable, Schema, open_catalog
from maintenance.operations.compaction.compact import compact
from maintenance.operations.expiry.expire_snapshots import expire_snapshots
from sensors.latest import look
from tests.servers.relay import Relay, relaying
from tests.servers.s3 import S3, running_apart

PYPAIMON = Path(".venv-pypaimon/bin/python")
_FIELDS = [("id", "BIGINT NOT NULL"), ("v", "STRING")]
_PYPAIMON = """
import json, sys, time
import pyarrow as pa
from pypaimon import CatalogFactory
options, action = json.loads(sys.argv[1]), sys.argv[2]
table = CatalogFactory.create({**options, "s3.region": "us-east-1"}).get_table("db.t")

def read():
    builder = table.new_read_builder()
    splits = builder.new_scan().plan().splits()
    return builder.new_read().to_arrow(splits).num_rows

def write():
    builder = table.new_batch_write_builder()
    writer, commit = builder.new_write(), builder.new_commit()
    ids = pa.array(range(100), pa.int64())
    schema = pa.schema([pa.field("id", pa.int64(), False), ("v", pa.string())])
    writer.write_arrow(pa.table({"id": ids, "v": ["x"] * 100}, schema))
    commit.commit(writer.prepare_commit())
    writer.close(); commit.close()

run = {"read": read, "write": write}[action]
run()  # to warm up
print("ready", flush=True); sys.stdin.readline()
started = time.perf_counter(); run()
print(time.perf_counter() - started, flush=True)
"""


class Bench:
    """Tables on the server, and what is asked of them."""

    def __init__(self, relay: Relay, url: str, delay: float) -> None:
        self.relay, self.delay = relay, delay
        s3 = S3(relay.url, url)
        self.options = s3.options(s3.new_bucket())
        self.catalog = open_catalog(self.options)
        self.catalog.create_database("db")

    def create(self, name: str, buckets: int, commits: int) -> CatalogTable:
        """A table with a file in each bucket for each commit."""
        options = {"bucket": str(buckets), "write-only": "true"}
        self.catalog.create_table(name, Schema(_FIELDS, ["id"], options=options))
        table = self.catalog.get_table(name)
        assert isinstance(table, CatalogTable)
        for number in range(commits):
            self.write(table, number)
        return table

    def write(self, table: CatalogTable, number: int) -> None:
        ids = pa.array(range(1000), pa.int64())
        rows = pa.table({"id": ids, "v": [str(number)] * 1000})
        table.write_arrow(rows, commit_user="bench", commit_identifier=number)

    def measure(self, what: str, who: str, action: Callable[[], object]) -> None:
        """Print what an action takes. One that returns seconds has measured itself."""
        self.relay.faults.delay = self.delay
        self.relay.reset()
        started = time.perf_counter()
        found = action()
        seconds = found if isinstance(found, float) else time.perf_counter() - started
        self.relay.faults.delay = 0
        kinds = ", ".join(f"{count} {kind}" for kind, count in sorted(self.relay.counts.items()))
        print(f"{what:<32} {who:<9} {self.relay.total:>5} requests {seconds:7.2f} s   {kinds}", flush=True)

    def pypaimon(self, what: str, action: str) -> None:
        """The same by pypaimon, whose second time counts."""
        if not PYPAIMON.exists():
            print(f"{what:<32} pypaimon  is not installed: scripts/install pypaimon")
            return
        command = [str(PYPAIMON), "-c", _PYPAIMON, json.dumps(self.options), action]
        environment = {**os.environ, "AWS_DEFAULT_REGION": "us-east-1"}
        with subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment
        ) as process:
            assert process.stdout is not None
            assert process.stdin is not None
            if process.stdout.readline().strip() != "ready":
                assert process.stderr is not None
                print(f"{what:<32} pypaimon  failed: {process.stderr.read().splitlines()[-1:]}")
                return
            stdin, stdout = process.stdin, process.stdout

            def go() -> float:
                stdin.write("\n")
                stdin.flush()
                return float(stdout.readline())

            self.measure(what, "pypaimon", go)


def sensor(bench: Bench, count: int) -> None:
    """Ticks over tables: none is known, then none has a new commit."""
    for number in range(count):
        bench.create(f"db.s{number}", 1, 1)
    options: dict[str, Any] = dict(bench.options)
    catalog = PaimonCatalog(warehouse=options.pop("warehouse"), options=options)
    tables = [TableConfig(identifier=f"db.s{number}") for number in range(count)]

    def tick(judged: int | None) -> None:
        for table in tables:
            look(catalog, table, judged)

    tick(None)
    bench.measure(f"tick over {count} tables, first", "ours", lambda: tick(1))
    bench.measure(f"tick over {count} tables", "ours", lambda: tick(1))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--delay", type=float, default=0.02, help="seconds that every answer takes longer")
    parser.add_argument("--tables", type=int, default=100, help="that the sensor looks at")
    given = parser.parse_args()
    with running_apart() as server, relaying(server.url) as relay:
        bench = Bench(relay, server.url, given.delay)
        table = bench.create("db.t", 2, 10)
        fresh = bench.catalog.get_table("db.t")
        bench.measure("read of 20 files, again", "ours", fresh.to_arrow)
        bench.pypaimon("read of 20 files, again", "read")
        bench.measure("commit of 2 files", "ours", lambda: bench.write(table, 10))
        bench.measure("compaction of 22 files", "ours", lambda: compact(None, table, full=True))
        bench.pypaimon("commit of 2 files", "write")
        many = bench.create("db.many", 50, 20)
        compact(None, many, full=True)
        bench.measure(
            "expiry of 1,000 files", "ours", lambda: expire_snapshots(many, retain_max=1, retain_min=1) and None
        )
        sensor(bench, given.tables)


if __name__ == "__main__":
    main()
