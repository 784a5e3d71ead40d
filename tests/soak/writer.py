"""The soak's writer: ``python -m tests.soak.writer WAREHOUSE SECONDS`` commits a batch every second.

It prints a JSON line at the end: commits, failures with their texts, and the seconds of the slowest commit. A commit
that fails is counted and tried again, as a real writer would; a batch is in the table once all the same.
"""

import json
import sys
import time

from paimon_maintenance.assets.resources.catalog import PaimonCatalog
from tests.soak.workload import TABLE, batch


def main(warehouse: str, seconds: int) -> None:
    table = PaimonCatalog(warehouse=warehouse).get_table(TABLE)
    failures: list[str] = []
    slowest = 0.0
    started = time.monotonic()
    for number in range(1, seconds + 1):
        time.sleep(max(0.0, started + number - time.monotonic()))
        rows, kinds = batch(number)
        begun = time.monotonic()
        while len(failures) < seconds:
            try:
                table.write_arrow(rows, kinds, commit_user="soak-writer", commit_identifier=number)
                break
            except Exception as error:  # noqa: BLE001 - every failure is what the soak looks for
                failures.append(f"batch {number}: {type(error).__name__}: {error}")
        slowest = max(slowest, time.monotonic() - begun)
    reported = {"commits": seconds, "failures": failures, "slowest": slowest, "seconds": time.monotonic() - started}
    print(json.dumps(reported), flush=True)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
