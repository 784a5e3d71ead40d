"""What a tick of a sensor costs, with many tables of which none, some or all have a new commit.

    python -m benchmarks.sensor [--tables 1000] [--sensor check_radar] [--store s3] [--delay 0.02]
    python -m benchmarks.sensor [--tables 100] --catalog jdbc
    python -m benchmarks.sensor --tables 10000 --per database [--changes 0 10]

Small real tables, a real Dagster instance, the sensor as the daemon calls it. `first`: nothing is known yet, so every
table is judged. Then a tick after 0, 10 and all tables got another commit. With a store the requests are counted, too:
moto's server in a process of its own, behind a relay that may take longer for every answer. `late` is a tick without
news after the time for which the hints are trusted. With a kind of catalog its calls are counted, and those for
files.
"""

import argparse
import logging
import shutil
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import dagster as dg
import pyarrow as pa

from benchmarks.results import tell
from maintenance.catalog import CatalogTable, Schema
from maintenance.project.config import Project
from paimon_maintenance.assets.resources.catalog import PaimonCatalog
from paimon_maintenance.definitions import build_definitions
from paimon_maintenance.sensors.hints import HINTS
from tests import catalog_calls
from tests.java import rest_server
from tests.servers import hive
from tests.servers.relay import Relay, relaying
from tests.servers.s3 import S3, running_apart

_COLUMNS = [("id", "INT NOT NULL"), ("name", "STRING")]
_WRITERS = 4
_ROW = pa.table({"id": pa.array([1], pa.int32()), "name": ["a"]})


@dataclass(frozen=True)
class Place:
    """Where the warehouse is. `relay`: what counts the requests to its store, and takes `delay` seconds longer.

    `calls`: what has been asked of the catalog and of storage.
    """

    catalog: PaimonCatalog
    relay: Relay | None = None
    delay: float = 0.0
    calls: Counter[str] | None = None

    def slow(self) -> None:
        """From now on requests are counted, and take longer."""
        if self.calls is not None:
            self.calls.clear()
        if self.relay is not None:
            self.relay.faults.delay = self.delay
            self.relay.reset()

    def counted(self) -> str:
        if self.calls is not None:
            return "".join(f"\n{'':>12}{count:>6} {what}" for what, count in sorted(self.calls.items()))
        if self.relay is None:
            return ""
        self.relay.faults.delay = 0
        kinds = ", ".join(f"{count} {kind}" for kind, count in sorted(self.relay.counts.items()))
        return f" {self.relay.total:>6} requests ({kinds})"


def create(place: Place, tables: int) -> list[CatalogTable]:
    """Tables with one commit each. On a local disk all but the first are copies of it."""
    catalog = place.catalog.open()
    catalog.create_database("bench")

    def one(number: int) -> CatalogTable:
        name = f"bench.t{number:05d}"
        options = {"bucket": "1", "write-only": "true"}
        catalog.create_table(name, Schema(_COLUMNS, primary_keys=["id"], options=options))
        table = catalog.get_table(name)
        assert isinstance(table, CatalogTable)
        table.write_arrow(_ROW)
        return table

    if place.relay is None and place.calls is None:
        first = Path(one(0).location)
        for number in range(1, tables):
            shutil.copytree(first, first.with_name(f"t{number:05d}"))
        return [place.catalog.get_table(f"bench.t{number:05d}") for number in range(tables)]
    with ThreadPoolExecutor(1 if place.relay is None else _WRITERS) as pool:
        return list(pool.map(one, range(tables)))


def tick(
    definitions: dg.Definitions, instance: dg.DagsterInstance, case: tuple[str, str], place: Place, cursor: str | None
) -> str:
    """One tick; prints its cost. `case`: the sensor, and what changed since the one before."""
    name, change = case
    resources = {"catalog": place.catalog}
    sensor = definitions.resolve_sensor_def(name)
    with dg.build_sensor_context(instance, cursor, definitions=definitions, resources=resources) as context:
        place.slow()
        started, used = time.perf_counter(), time.process_time()
        data = sensor.evaluate_tick(context)
        wall, cpu = time.perf_counter() - started, time.process_time() - used
    reported = f"{len(data.asset_events):>5} events reported, cursor {len(data.cursor or '') / 1000:.0f} kB"
    print(f"{wall:8.2f} s wall {cpu:8.2f} s CPU {reported}{place.counted()}", flush=True)
    tell(f"tick of {name}", change, [wall], processor_seconds=round(cpu, 2))
    return str(data.cursor)


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tables", type=int, default=1000)
    parser.add_argument("--sensor", default="latest_snapshots")
    parser.add_argument("--store", choices=("s3",), help="put the warehouse there; else it is on the local disk")
    parser.add_argument("--delay", type=float, default=0.02, help="seconds that every answer of the store takes longer")
    parser.add_argument("--catalog", choices=("filesystem", "jdbc", "hive", "rest"), help="count what is asked of it")
    parser.add_argument("--per", choices=("table", "database"), default="table", help="what is an asset")
    parser.add_argument("--changes", type=int, nargs="*", help="how many tables get a commit before a tick")
    chosen = parser.parse_args(arguments)
    logging.disable(logging.INFO)
    opened = _place(chosen.store, chosen.delay) if chosen.catalog is None else _catalog(chosen.catalog)
    with opened as place, dg.instance_for_test() as instance:
        run(place, instance, chosen)


def run(place: Place, instance: dg.DagsterInstance, chosen: argparse.Namespace) -> None:
    count, sensor = chosen.tables, chosen.sensor
    started = time.perf_counter()
    tables = create(place, count)
    print(f"{count} tables made in {time.perf_counter() - started:.1f} s")
    started = time.perf_counter()
    catalog = place.catalog
    settings = {"warehouse": catalog.warehouse, "catalog": catalog.options}
    project = Project.model_validate({**settings, "patterns": [{"pattern": "bench.*"}], "assets": {"per": chosen.per}})
    definitions = build_definitions(project)
    definitions.get_repository_def().load_all_definitions()  # as a code server does
    print(f"definitions loaded in {time.perf_counter() - started:.1f} s")
    print(f"{'first':>10}", end="")
    cursor = tick(definitions, instance, (sensor, f"first, {count} tables"), place, None)
    if place.relay is not None:
        HINTS.forget()
        print(f"{'late':>10}", end="")
        cursor = tick(definitions, instance, (sensor, "late"), place, cursor)
    for changed in (0, 10, count) if chosen.changes is None else chosen.changes:
        for table in tables[:changed]:
            table.write_arrow(_ROW)
        print(f"{f'{changed} new':>10}", end="")
        cursor = tick(definitions, instance, (sensor, f"{changed} of {count} tables changed"), place, cursor)


@contextmanager
def _catalog(kind: str) -> Iterator[Place]:
    """A warehouse on the local disk, in a catalog of a kind whose calls are counted."""
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        warehouse, options = str(folder / "warehouse"), {"metastore": kind}
        if kind == "jdbc":
            options["uri"] = f"jdbc:sqlite:{folder}/catalog.db"
        elif kind == "hive":
            options["uri"] = stack.enter_context(hive.running(folder / "hive")).uri
        elif kind == "rest":
            address = stack.enter_context(rest_server.running()).start(warehouse)
            options |= {"uri": address, "token.provider": "bear", "token": rest_server.TOKEN}
            warehouse = rest_server.WAREHOUSE
        calls = stack.enter_context(catalog_calls.counted())
        yield Place(PaimonCatalog(warehouse=warehouse, options=options), calls=calls)


@contextmanager
def _place(store: str | None, delay: float) -> Iterator[Place]:
    if store is None:
        with tempfile.TemporaryDirectory() as folder:
            yield Place(PaimonCatalog(warehouse=str(Path(folder) / "warehouse")))
        return
    with running_apart() as server, relaying(server.url) as relay:
        s3 = S3(relay.url, server.url)
        options: dict[str, Any] = dict(s3.options(s3.new_bucket()))
        yield Place(PaimonCatalog(warehouse=options.pop("warehouse"), options=options), relay, delay)


if __name__ == "__main__":
    main()
