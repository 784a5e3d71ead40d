"""What waits in Airflow's triggerer: one process for thousands of tables, which looks at each from time to time."""

import asyncio
import logging
from collections.abc import AsyncIterator, Mapping
from typing import Any

from asgiref.sync import sync_to_async

from maintenance.errors import ErrorClass, NotFoundError, class_of
from paimon_maintenance.operators.airflow_release import BaseTrigger, TriggerEvent
from paimon_maintenance.operators.lake import Lake

_LOG = logging.getLogger(__name__)
_MODULE = "paimon_maintenance.operators.triggers"


class TableTrigger(BaseTrigger):
    """Looks at a table until `look` finds something.

    A table that is not there yet is waited for, and a store that does not answer is asked again. Anything else, such as
    a wrong option, ends the trigger, and with it the task.

    Args: `lake`: see `Lake.as_json`; `interval`: seconds between two looks.
    """

    def __init__(self, table: str, lake: Mapping[str, str], interval: float) -> None:
        super().__init__()
        self.table = table
        self.lake = dict(lake)
        self.interval = float(interval)

    def serialize(self) -> tuple[str, dict[str, Any]]:
        """How Airflow keeps it. Called by Airflow."""
        return f"{_MODULE}.{type(self).__name__}", {"table": self.table, "lake": self.lake, "interval": self.interval}

    def look(self) -> dict[str, Any] | None:
        """What has come; None: nothing yet. Raises: PaimonError."""
        try:
            return self.found(Lake(**self.lake).catalog().get_table(self.table))
        except NotFoundError as error:
            if error.error_class != ErrorClass.USER:
                raise
            return None

    def found(self, table: Any) -> dict[str, Any] | None:
        """The same, of the table as it is now."""
        raise NotImplementedError

    async def run(self) -> AsyncIterator[TriggerEvent]:
        """Called by Airflow."""
        while True:
            event = None
            try:
                # Reading metadata would hold up all other triggers of the process.
                event = await sync_to_async(self.look, thread_sensitive=False)()
            except Exception as error:
                if class_of(error) not in (ErrorClass.INFRASTRUCTURE, ErrorClass.CONFLICT):
                    raise
                _LOG.warning("%s cannot be looked at, it is tried again: %s", self.table, error)
            if event is not None:
                yield TriggerEvent(event)
                return
            await asyncio.sleep(self.interval)


class NewSnapshotTrigger(TableTrigger):
    """Fires once the newest snapshot is not `since`: an id, 0 where there was none."""

    def __init__(self, table: str, lake: Mapping[str, str], interval: float, since: int) -> None:
        super().__init__(table, lake, interval)
        self.since = since

    def serialize(self) -> tuple[str, dict[str, Any]]:
        path, arguments = super().serialize()
        return path, {**arguments, "since": self.since}

    def newest(self) -> int:
        """The id of the newest snapshot, `since` where it is that or where there is none."""
        found = self.look()
        return self.since if found is None else int(found["snapshot_id"])

    def found(self, table: Any) -> dict[str, Any] | None:
        newest = table.snapshots.latest_id() or 0
        return None if newest == self.since else {"table": self.table, "snapshot_id": newest, "since": self.since}


class CompactionDueTrigger(TableTrigger):
    """Fires once a compaction is due."""

    def found(self, table: Any) -> dict[str, Any] | None:
        from maintenance.monitor.triggers import judge
        from maintenance.table.shape import table_shape

        need = judge(table, table_shape(table), self._triggers())
        if not need.due:
            return None
        return {"table": self.table, "snapshot_id": need.snapshot_id, "reason": need.reason, "full": need.full}

    def _triggers(self) -> Any:
        from maintenance.monitor.triggers import Triggers
        from paimon_maintenance.operators.described import entry_of, project_of

        if "tables" not in self.lake:
            return Triggers()
        return entry_of(project_of(self.lake["tables"]), self.table).compaction.triggers
