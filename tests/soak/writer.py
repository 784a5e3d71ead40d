"""The soak's writer: ``python -m tests.soak.writer WAREHOUSE COMMITS TABLES RATE LOG``.

It makes so many commits to each of the tables, at a rate of commits per second over all of them, a thread for each
table. Each commit is a JSON line of the log: when it began, and how long it took. At the end it prints a JSON line:
commits, failures with their texts, and the seconds of the slowest commit. A commit that fails is counted and tried
again, as a real writer would; a batch is in the table once all the same.
"""

import json
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from paimon_maintenance.assets.resources.catalog import PaimonCatalog
from tests.soak.workload import batch, names


class Writer:
    """Commits to the tables. `failures`: texts of what failed."""

    def __init__(self, warehouse: str, log: Path) -> None:
        self.failures: list[str] = []
        self._catalog = PaimonCatalog(warehouse=warehouse)
        self._log = log.open("a", buffering=1)
        self._lock = threading.Lock()

    def write(self, name: str, commits: int, interval: float, first: float) -> float:
        """Commit a batch every so many seconds. Returns the seconds of the slowest one."""
        table = self._catalog.get_table(name)
        slowest = 0.0
        for number in range(1, commits + 1):
            time.sleep(max(0.0, first + (number - 1) * interval - time.monotonic()))
            rows, kinds = batch(number)
            begun, started = time.time(), time.monotonic()
            while len(self.failures) < commits:
                try:
                    table.write_arrow(rows, kinds, commit_user="soak-writer", commit_identifier=number)
                    break
                except Exception as error:  # noqa: BLE001 - every failure is what the soak looks for
                    self.failures.append(f"{name}, batch {number}: {type(error).__name__}: {error}")
            seconds = time.monotonic() - started
            slowest = max(slowest, seconds)
            with self._lock:
                line = {"table": name, "number": number, "begun": begun, "seconds": round(seconds, 4)}
                self._log.write(json.dumps(line) + "\n")
        return slowest


def main(warehouse: str, commits: int, tables: int, rate: float, log: str) -> None:
    writer = Writer(warehouse, Path(log))
    started, interval = time.monotonic(), tables / rate
    with ThreadPoolExecutor(tables) as pool:
        # Their first commits are spread over the interval, as those of different programs are.
        working = [
            pool.submit(writer.write, name, commits, interval, started + place / rate)
            for place, name in enumerate(names(tables))
        ]
        slowest = max(each.result() for each in working)
    reported = {"commits": commits * tables, "failures": writer.failures, "slowest": slowest,
                "seconds": time.monotonic() - started}  # fmt: skip
    print(json.dumps(reported), flush=True)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), float(sys.argv[4]), sys.argv[5])
