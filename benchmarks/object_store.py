"""Requests and seconds on an S3 server that takes 20 ms longer for every answer: this project, pypaimon, the Java core.

    python -m benchmarks.object_store [--delay 0.02] [--tables 100]

moto's server in a process of its own, behind a relay that counts. This project writes all tables; each of the others
gets tables of its own for what changes them. What they take is also printed as a multiple of what this project takes.
pypaimon neither compacts nor expires.
"""

import argparse
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from benchmarks.results import tell
from benchmarks.store_peers import PEERS, ROWS, Java, Pypaimon
from maintenance.catalog import CatalogTable, Schema, open_catalog
from maintenance.operations.compaction.compact import compact
from maintenance.operations.expiry.expire_snapshots import expire_snapshots
from maintenance.project.config import TableConfig
from paimon_maintenance.assets.resources.catalog import PaimonCatalog
from paimon_maintenance.sensors.latest import look
from tests.servers.relay import Relay, relaying
from tests.servers.s3 import S3, running_apart

_FIELDS = [("id", "BIGINT NOT NULL"), ("v", "STRING")]
_OURS = "ours"


@dataclass(frozen=True)
class Taken:
    """What an action took."""

    requests: int
    seconds: float


class Bench:
    """Tables on the server, and what is asked of them. `peers`: those that take part."""

    def __init__(self, relay: Relay, url: str, delay: float) -> None:
        self.relay, self.delay = relay, delay
        s3 = S3(relay.url, url)
        self.options = s3.options(s3.new_bucket())
        self.catalog = open_catalog(self.options)
        self.catalog.create_database("db")
        self.peers: list[Pypaimon | Java] = []
        for peer in PEERS:
            if (reason := peer.missing()) is None:
                self.peers.append(peer(self.options))
            else:
                print(f"without {peer.name}: {reason}")

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
        ids = pa.array(range(ROWS), pa.int64())
        rows = pa.table({"id": ids, "v": [str(number)] * ROWS})
        table.write_arrow(rows, commit_user="bench", commit_identifier=number)

    def measure(self, what: str, who: str, action: Callable[[], object], ours: Taken | None = None) -> Taken:
        """Print what an action takes. One that returns seconds has measured itself."""
        self.relay.faults.delay = self.delay
        self.relay.reset()
        started = time.perf_counter()
        found = action()
        seconds = found if isinstance(found, float) else time.perf_counter() - started
        self.relay.faults.delay = 0
        taken = Taken(self.relay.total, seconds)
        tell(what, who, [seconds], requests=taken.requests)
        kinds = ", ".join(f"{count} {kind}" for kind, count in sorted(self.relay.counts.items()))
        times = f"{taken.requests / ours.requests:4.1f}x {seconds / ours.seconds:5.1f}x" if ours else " " * 12
        print(f"{what:<28} {who:<9} {taken.requests:>5} requests {seconds:7.2f} s  {times}  {kinds}", flush=True)
        return taken

    def compare(
        self, what: str, action: str, ours: Callable[[], object], tables: Callable[[str], Sequence[str]]
    ) -> None:
        """An action of this project, and of those who can do it. `tables`: that a peer does it on, by its name."""
        taken = self.measure(what, _OURS, ours)
        for peer in self.peers:
            if action in peer.actions:
                peer.prepare(action, tables(peer.name.lower()))
                self.measure(what, peer.name, peer.go, taken)

    def warm_up(self) -> None:
        """Let everybody do everything once, on small tables."""
        for peer in self.peers:
            name = f"db.warm_{peer.name.lower()}"
            self.create(name, 2, 3)
            for action in ("write", "read", "compact", "expire", "tick"):
                if action in peer.actions:
                    peer.prepare(action, [name])
                    peer.go()
        table = self.create("db.warm", 2, 3)
        table.to_arrow()
        compact(None, table, full=True)
        expire_snapshots(table, retain_max=1, retain_min=1)

    def close(self) -> None:
        for peer in self.peers:
            peer.close()


def small_table(bench: Bench) -> None:
    """A read, a commit and a compaction of a table of 20 files; of those that change, everybody has one."""
    table = bench.create("db.small", 2, 10)
    for peer in bench.peers:
        bench.create(f"db.small_{peer.name.lower()}", 2, 10)
    fresh = bench.catalog.get_table("db.small")
    bench.compare("read of 20 files, again", "read", fresh.to_arrow, lambda _: ["db.small"])
    bench.compare("commit of 2 files", "write", lambda: bench.write(table, 10), lambda name: [f"db.small_{name}"])
    bench.compare(
        "compaction of 22 files",
        "compact",
        lambda: compact(None, table, full=True),
        lambda name: [f"db.small_{name}"],
    )


def expiry(bench: Bench) -> None:
    """An expiry that deletes 1,000 files of 50 buckets."""
    tables = [bench.create("db.many", 50, 20)]
    tables += [bench.create(f"db.many_{peer.name.lower()}", 50, 20) for peer in bench.peers if "expire" in peer.actions]
    for table in tables:
        compact(None, table, full=True)
    bench.compare(
        "expiry of 1,000 files",
        "expire",
        lambda: expire_snapshots(tables[0], retain_max=1, retain_min=1) and None,
        lambda name: [f"db.many_{name}"],
    )


def sensor(bench: Bench, count: int) -> None:
    """Ticks over tables: none is known, then none has a new commit. The others ask for the latest snapshot."""
    names = [f"db.s{number}" for number in range(count)]
    for name in names:
        bench.create(name, 1, 1)
    options: dict[str, Any] = dict(bench.options)
    catalog = PaimonCatalog(warehouse=options.pop("warehouse"), options=options)
    tables = [TableConfig(identifier=name) for name in names]

    last = {name: str(catalog.get_table(name).snapshots.latest_identity()) for name in names}

    def tick(judged: Mapping[str, str]) -> None:
        for table in tables:
            look(catalog, table, judged.get(table.identifier))

    tick({})
    bench.measure(f"tick over {count} tables, first", _OURS, lambda: tick(last))
    bench.compare(f"tick over {count} tables", "tick", lambda: tick(last), lambda _: names)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--delay", type=float, default=0.02, help="seconds that every answer takes longer")
    parser.add_argument("--tables", type=int, default=100, help="that the sensor looks at")
    given = parser.parse_args()
    with running_apart() as server, relaying(server.url) as relay:
        bench = Bench(relay, server.url, given.delay)
        try:
            bench.warm_up()
            small_table(bench)
            expiry(bench)
            sensor(bench, given.tables)
        finally:
            bench.close()


if __name__ == "__main__":
    main()
