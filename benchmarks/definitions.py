"""How long a code server and a run take for the definitions of many tables, and how much memory they need.

    python -m benchmarks.definitions [--tables 100 1000 10000] [--per table database] [--limit 600]

Real tables in a folder, which all hold the same files. Each line is a process of its own: `build` makes the
definitions of tables.yaml, the look for its tables included; `jobs` resolves every job and asset, and `snapshot` makes
what the code server hands to the web server, as both do when a code location is loaded; `run` is what a run's own
process makes before its first step: with the tables of its run alone, as under `make ui`. A line that takes longer than
the limit says so.
"""

import argparse
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import dagster as dg
from dagster._core.remote_representation.external_data import RepositorySnap
from dagster._serdes import serialize_value

from benchmarks.console import create
from maintenance.project.config import load_project
from paimon_maintenance.assets.project.scope import scoped, within_run
from paimon_maintenance.definitions import build_definitions


def measure(path: Path, table: str) -> None:
    """Print the seconds of each part of one load."""
    said = []

    def timed(name: str, work: Callable[[], object]) -> object:
        begin = time.perf_counter()
        made = work()
        said.append(f"{name} {time.perf_counter() - begin:.2f} s")
        return made

    definitions = timed("build", lambda: build_definitions(load_project(path, path.parent)))
    assert isinstance(definitions, dg.Definitions)
    repository = definitions.get_repository_def()
    timed("jobs", repository.load_all_definitions)
    snapshot = timed("snapshot", lambda: serialize_value(RepositorySnap.from_def(repository, defer_snapshots=True)))
    assert isinstance(snapshot, str)
    grouped = "compact" in repository.job_names
    job = "compact" if grouped else f"compact_{table.replace('.', '_')}"
    run = dg.DagsterRun(job, tags={"paimon/table": table})

    def of_run() -> object:
        with within_run(run):
            return build_definitions(scoped(load_project(path, path.parent))).resolve_job_def(job)

    timed("run", of_run)
    megabytes = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    names = len(repository.job_names)
    print(f"{', '.join(said)}; {names} jobs, snapshot {len(snapshot) / 1e6:.1f} MB, {megabytes:.0f} MB of memory")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tables", type=int, nargs="+", default=[100, 1000, 10_000])
    parser.add_argument("--per", nargs="+", default=["table", "database"])
    parser.add_argument("--limit", type=float, default=600.0, help="seconds")
    parser.add_argument("--of", type=Path, help=argparse.SUPPRESS)
    chosen = parser.parse_args()
    if chosen.of is not None:
        measure(chosen.of, "bench.t00000")
        return
    print(f"load of the machine: {os.getloadavg()[0]:.1f}")
    for count in chosen.tables:
        with tempfile.TemporaryDirectory() as folder:
            path, _ = create(Path(folder), count)
            text = path.read_text()
            for per in chosen.per:
                path.write_text(f"{text}assets: {{per: {per}}}\n")
                print(f"{count:>6} tables, an asset per {per}: ", end="", flush=True)
                command = [sys.executable, "-m", "benchmarks.definitions", "--of", str(path)]
                try:
                    subprocess.run(command, check=True, timeout=chosen.limit)
                except subprocess.TimeoutExpired:
                    print(f"not within {chosen.limit:.0f} s", flush=True)


if __name__ == "__main__":
    main()
