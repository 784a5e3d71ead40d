"""How long Dagster's pages take in Chromium with many tables, and how much memory all processes of `make ui` have.

    python -m benchmarks.pages [--tables 10000] [--rounds 3]

Real tables in a folder, which all hold the same files, as partitions of one asset (`assets: {per: database}`), under
what `make ui` starts: first while the sensor `check_radar` still judges all tables for the first time, then when it has
only what is new to judge. A page is there once its text can be read and nothing on it says that it is loading. Each is
opened in a tab of its own: the first time, and the minimum and median of the rounds after that. Memory is what the
processes have for themselves and their share of what they have together (Pss), before and after.
"""

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections import Counter
from pathlib import Path

import dagster as dg
from dagster._core.definitions.run_request import InstigatorType
from playwright.sync_api import Browser

from benchmarks.console import create
from paimon_maintenance.console.lake import RADAR
from tests.browser.servers import free_port, wait_for
from tests.browser.ui import JOBS, launched, tab
from tests.family import family

_ROOT = Path(__file__).parents[1]
_PAGES = (
    ("assets", "/assets", "bench"),
    ("asset", "/assets/bench", "bench"),
    ("its partitions", "/assets/bench?view=partitions", "bench.t00000"),
    ("its lineage", "/assets/bench?view=lineage", "bench"),
    ("lineage of all", "/asset-groups", "bench"),
    ("jobs", JOBS, "compact_database"),
    ("automation", "/automation", "check_radar"),
)
_FIRST_LOOK_SECONDS = 1800.0
_KINDS = {
    "connect_server": "Spark",
    "java": "Spark",
    "pyspark.daemon": "Spark",
    "run_launcher": "parent of runs",
    "paimon_maintenance.console": "console",
    "api grpc": "code servers",
    "webserver": "web server",
    "dagster-daemon": "daemon",
    "dagster._daemon": "daemon",
    "execute_run": "runs",
}


def memory() -> str:
    """MB of this process' descendants but the browser, by what they do."""
    found: Counter[str] = Counter()
    for pid in family() - {os.getpid()}:
        try:
            words = Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
            lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
        except OSError:  # it has ended
            continue
        if "chromium" in words or "playwright" in words:
            continue
        kind = next((kind for word, kind in _KINDS.items() if word in words), "others")
        found[kind] += next((int(line.split()[1]) for line in lines if line.startswith("Pss:")), 0) // 1024
    return f"{sum(found.values()):,} MB: {', '.join(f'{kind} {size:,}' for kind, size in found.most_common())}"


def opened(browser: Browser, url: str, path: str, text: str) -> float:
    """The seconds until a page is there."""
    with tab(browser, url, Path(tempfile.gettempdir())) as ui:
        begin = time.perf_counter()
        ui.open(path)
        ui.sees(text)
        ui.is_well()
        return time.perf_counter() - begin


def is_loaded(url: str) -> bool:
    """Whether the web server knows the assets."""
    body = json.dumps({"query": "{ assetNodes { assetKey { path } } }"}).encode()
    request = urllib.request.Request(f"{url}/graphql", body, {"Content-Type": "application/json"})
    try:
        with urllib.request.urlopen(request, timeout=60) as answer:
            return bool(json.load(answer)["data"]["assetNodes"])
    except (OSError, KeyError, TypeError):
        return False


def are_mirrored(url: str, count: int) -> bool:
    """Whether the sensor has made the tables the partitions of their database."""
    query = '{ assetNodeOrError(assetKey: {path: ["bench"]}) { ... on AssetNode { partitionKeys } } }'
    body = json.dumps({"query": query}).encode()
    request = urllib.request.Request(f"{url}/graphql", body, {"Content-Type": "application/json"})
    with urllib.request.urlopen(request, timeout=60) as answer:
        return len(json.load(answer)["data"]["assetNodeOrError"]["partitionKeys"]) == count


def judged(folder: Path) -> int:
    """Of how many tables the sensor `check_radar` has seen the newest snapshot."""
    with dg.DagsterInstance.from_config(str(folder)) as instance:
        states = instance.all_instigator_state(instigator_type=InstigatorType.SENSOR)
    cursors = [getattr(state.instigator_data, "cursor", None) for state in states if state.name == RADAR]
    return sum("." in name for cursor in cursors if cursor for name in json.loads(cursor)["tables"])


def measure(url: str, rounds: int) -> None:
    with launched() as browser:
        for name, path, text in _PAGES:
            first, *others = [opened(browser, url, path, text) for _ in range(rounds + 1)]
            least, median = min(others), statistics.median(others)
            print(f"{name}: first {first:.2f} s, then {least:.2f} s at least, median {median:.2f} s", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tables", type=int, default=10_000)
    parser.add_argument("--rounds", type=int, default=3)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="paimon-pages-") as name:
        folder = Path(name)
        path, _ = create(folder, given.tables)
        path.write_text(f"{path.read_text()}assets: {{per: database}}\n")
        for each in ("dagster.yaml", "workspace.yaml", "definitions.py"):
            shutil.copy(_ROOT / each, folder / each)
        port = free_port()
        variables = {"DAGSTER_HOME": name, "PAIMON_TABLES": str(path), "PYTHONPATH": str(_ROOT)}
        command = [sys.executable, "-m", "paimon_maintenance.assets.ui", "-p", str(port)]
        print(f"load of the machine: {os.getloadavg()[0]:.1f}", flush=True)
        begin = time.perf_counter()
        with (folder / "ui.log").open("wb") as log:
            server = subprocess.Popen(command, cwd=name, env={**os.environ, **variables}, stdout=log, stderr=log)
        try:
            url = f"http://127.0.0.1:{port}"
            wait_for("the code location", lambda: is_loaded(url))
            print(f"loaded {time.perf_counter() - begin:.1f} s after the start; memory {memory()}", flush=True)
            wait_for("the tables as partitions", lambda: are_mirrored(url, given.tables))
            print(f"all tables there as partitions {time.perf_counter() - begin:.1f} s after the start", flush=True)
            print("While the tables are judged for the first time:", flush=True)
            measure(url, given.rounds)
            wait_for("the first judgement of all tables", lambda: judged(folder) == given.tables, _FIRST_LOOK_SECONDS)
            print(f"All tables judged {time.perf_counter() - begin:.1f} s after the start:", flush=True)
            measure(url, given.rounds)
            print(f"memory {memory()}; load of the machine: {os.getloadavg()[0]:.1f}", flush=True)
        finally:
            server.terminate()
            server.wait(60)


if __name__ == "__main__":
    main()
