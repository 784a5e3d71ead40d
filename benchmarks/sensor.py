"""What a tick of a sensor costs, with many tables of which none, some or all have a new commit.

    python -m benchmarks.sensor [--tables 1000] [--sensor check_radar]

Small real tables, a real Dagster instance, the sensor as the daemon calls it. `first`: nothing is known yet, so every
table is judged. Then a tick after 0, 10 and all tables got another commit.
"""

import argparse
import logging
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

import dagster as dg
import pyarrow as pa

from assets.project.config import Project
from assets.resources.catalog import PaimonCatalog
from definitions import build_definitions
from maintenance.catalog import Schema
from maintenance.table.table import Table

_COLUMNS = [("id", "INT NOT NULL"), ("name", "STRING")]
_ROW = pa.table({"id": pa.array([1], pa.int32()), "name": ["a"]})


def create(warehouse: str, tables: int) -> list[Table]:
    """Tables with one commit each."""
    catalog = PaimonCatalog(warehouse=warehouse).open()
    catalog.create_database("bench")
    found = []
    for number in range(tables):
        name = f"bench.t{number:05d}"
        options = {"bucket": "1", "write-only": "true"}
        catalog.create_table(name, Schema(_COLUMNS, primary_keys=["id"], options=options))
        table = catalog.get_table(name)
        assert isinstance(table, Table)
        table.write_arrow(_ROW)
        found.append(table)
    return found


def tick(
    definitions: dg.Definitions, instance: dg.DagsterInstance, name: str, warehouse: str, cursor: str | None
) -> str:
    """One tick; prints its cost."""
    resources = {"catalog": PaimonCatalog(warehouse=warehouse)}
    sensor = definitions.resolve_sensor_def(name)
    with dg.build_sensor_context(instance, cursor, definitions=definitions, resources=resources) as context:
        started, used = time.perf_counter(), time.process_time()
        data = sensor.evaluate_tick(context)
        wall, cpu = time.perf_counter() - started, time.process_time() - used
    told = f"{len(data.asset_events):>5} events reported, cursor {len(data.cursor or '') / 1000:.0f} kB"
    print(f"{wall:8.2f} s wall {cpu:8.2f} s CPU {told}", flush=True)
    return str(data.cursor)


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tables", type=int, default=1000)
    parser.add_argument("--sensor", default="latest_snapshots")
    chosen = parser.parse_args(arguments)
    count, sensor = chosen.tables, chosen.sensor
    logging.disable(logging.INFO)
    with tempfile.TemporaryDirectory() as folder, dg.instance_for_test() as instance:
        warehouse = str(Path(folder) / "warehouse")
        started = time.perf_counter()
        tables = create(warehouse, count)
        print(f"{count} tables made in {time.perf_counter() - started:.1f} s")
        started = time.perf_counter()
        project = Project.model_validate({"warehouse": warehouse, "patterns": [{"pattern": "bench.*"}]})
        definitions = build_definitions(project)
        definitions.get_repository_def().load_all_definitions()  # as a code server does
        print(f"definitions loaded in {time.perf_counter() - started:.1f} s")
        print(f"{'first':>10}", end="")
        cursor = tick(definitions, instance, sensor, warehouse, None)
        for changed in (0, 10, count):
            for table in tables[:changed]:
                table.write_arrow(_ROW)
            print(f"{f'{changed} new':>10}", end="")
            cursor = tick(definitions, instance, sensor, warehouse, cursor)


if __name__ == "__main__":
    main()
