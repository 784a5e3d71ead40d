"""How long the console takes for its page of all tables, with many of them.

    python -m benchmarks.console [--tables 1000 10000]

Real tables in a folder, which all hold the same files; what the sensor `check_radar` remembers of them lies in a
Dagster instance, as it does once the sensor has come round. `first`: the console has just been started and knows
nothing. `again`: the same page when it is warm. `page 2` and `filtered` are what a person asks for next. `unknown`:
the first page where the sensor has never run, so that the console looks at tables itself: it waits a moment at most.
"""

import argparse
import shutil
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

import dagster as dg
import pyarrow as pa

from maintenance.catalog import Schema, open_catalog
from paimon_maintenance.assets.pages.fleet import DUE, HEALTHY, UNHEALTHY, FleetRow
from paimon_maintenance.console.app import application
from paimon_maintenance.console.lake import RADAR, Lake
from paimon_maintenance.console.looks import Looks
from paimon_maintenance.sensors.cursor import Cursor
from paimon_maintenance.sensors.publishing import Judged
from tests.console_site import Site
from tests.dagster.conftest import remembering

_STATES = (HEALTHY, HEALTHY, HEALTHY, DUE, UNHEALTHY)


def create(folder: Path, count: int) -> tuple[Path, list[str]]:
    """The tables; returns the path of tables.yaml and their names."""
    lake = folder / "lake"
    catalog = open_catalog({"warehouse": str(lake)})
    catalog.create_database("bench")
    catalog.create_table("bench.t00000", Schema([("id", "INT NOT NULL")], ["id"], options={"bucket": "1"}))
    catalog.get_table("bench.t00000").write_arrow(pa.table({"id": pa.array([1], pa.int32())}))
    first = lake / "bench.db" / "t00000"
    names = [f"t{number:05d}" for number in range(count)]
    for name in names[1:]:
        shutil.copytree(first, first.with_name(name))
    path = folder / "tables.yaml"
    owners = "".join(f"  - {{pattern: 'bench.t*{digit}', owners: ['team:{digit}']}}\n" for digit in range(10))
    path.write_text(f"warehouse: {lake}\npatterns:\n{owners}")
    return path, [f"bench.{name}" for name in names]


def remember(instance: dg.DagsterInstance, names: Sequence[str]) -> None:
    """What the sensor has found of them."""
    now = time.time()
    tables = {
        name: Judged(
            at=now,
            row=tuple(FleetRow(name, _STATES[n % 5], 12, n << 20, n << 18, n % 3, 4, 20, "", n).serialize()),
        )
        for n, name in enumerate(names)
    }
    remembering(instance, RADAR, Cursor(tables=tables).serialize())


def measure(path: Path, instance: dg.DagsterInstance, pages: Sequence[tuple[str, str]]) -> str:
    """The seconds of pages, asked for in this order of a console that has just been started."""
    site = Site(path, instance)
    site.app = application(Lake(path, instance), (), Looks())
    said = []
    for name, address in pages:
        begin = time.perf_counter()
        answer = site.get(address)
        seconds = time.perf_counter() - begin
        assert answer.status == 200, answer.text
        said.append(f"{name} {seconds:.2f} s")
    return ", ".join(said)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tables", type=int, nargs="+", default=[1000, 10_000])
    for count in parser.parse_args().tables:
        with tempfile.TemporaryDirectory() as folder, dg.instance_for_test() as instance:
            path, names = create(Path(folder), count)
            unknown = measure(path, instance, [("unknown", "/")])
            remember(instance, names)
            known = [
                ("first", "/"),
                ("again", "/"),
                ("page 2", "/?page=2"),
                ("filtered", "/?owner=team:3&state=healthy"),
            ]
            print(f"{count:>6} tables: {measure(path, instance, known)}, {unknown}")


if __name__ == "__main__":
    main()
