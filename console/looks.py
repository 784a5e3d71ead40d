"""Looks at tables of which Dagster knows nothing new: its sensor is off, or has not come round to them yet.

They are looked at in the background, a few at a time. A page waits a moment for them, and shows the others as not read.
"""

import threading
import time
from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait

from maintenance.project.config import TableConfig
from paimon_maintenance.assets.pages.fleet import UNREADABLE, FleetRow, fleet_row
from paimon_maintenance.console.lake import Known

_READERS = 8
_QUEUED = 200
_PROBLEM_LENGTH = 300


class Looks:
    """The rows of tables as they were last looked at from here.

    Args: `seconds`: after which a table is looked at again; `patience`: seconds that a page waits for the looks.
    """

    def __init__(self, seconds: float = 60.0, patience: float = 0.6) -> None:
        self._seconds = seconds
        self._patience = patience
        self._pool = ThreadPoolExecutor(_READERS, thread_name_prefix="look")
        self._rows: dict[str, tuple[FleetRow, float]] = {}
        self._under_way: dict[str, Future[None]] = {}
        self._lock = threading.Lock()

    def rows(self, known: Known, tables: Sequence[TableConfig]) -> dict[str, tuple[FleetRow, float]]:
        """Rows and when they were read, seconds since 1970, of those tables that could be looked at in time.

        Args: `tables`: those that matter most first.
        """
        oldest, names = time.time() - self._seconds, [config.identifier for config in tables]
        with self._lock:
            for config in tables:
                row = self._rows.get(config.identifier)
                if (row is None or row[1] < oldest) and len(self._under_way) < _QUEUED:
                    self._ask(known, config)
            awaited = [self._under_way[name] for name in names if name in self._under_way]
        wait(awaited, self._patience)
        with self._lock:
            return {name: self._rows[name] for name in names if name in self._rows}

    def _ask(self, known: Known, config: TableConfig) -> None:
        name = config.identifier
        if name not in self._under_way:
            self._under_way[name] = self._pool.submit(self._look, known, config)

    def _look(self, known: Known, config: TableConfig) -> None:
        try:
            row = fleet_row(known.catalog, config, known.zone, automation=known.automation)
        except Exception as error:  # noqa: BLE001 - one table that cannot be judged must not hide the others
            row = FleetRow(config.identifier, UNREADABLE, problems=str(error)[:_PROBLEM_LENGTH])
        with self._lock:
            self._rows[config.identifier] = row, time.time()
            self._under_way.pop(config.identifier, None)
