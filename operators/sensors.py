"""Sensors of a table that wait without a worker: for a new snapshot, and for a compaction that is due."""

from collections.abc import Sequence
from typing import Any

from maintenance.errors import OptionError
from paimon_maintenance.operators.airflow_release import BaseOperatorLink, BaseSensorOperator
from paimon_maintenance.operators.failures import as_airflow_failure
from paimon_maintenance.operators.lake import OfLake
from paimon_maintenance.operators.links import TableLink
from paimon_maintenance.operators.triggers import CompactionDueTrigger, NewSnapshotTrigger, TableTrigger


class TableSensor(OfLake, BaseSensorOperator):
    """What the sensors of tables share.

    Args:
        table: database.table. It need not exist yet.
        deferrable: whether the triggerer waits; else a worker does.
        all others: as of `OfLake`.
    """

    template_fields: Sequence[str] = ("table",)
    operator_extra_links: Sequence[BaseOperatorLink] = (TableLink(),)
    ui_color = "#fef3c7"

    def __init__(
        self,
        *,
        table: str,
        deferrable: bool = True,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self.table = table
        self.deferrable = deferrable

    @property
    def arguments(self) -> dict[str, Any]:
        """As of `PaimonOperator`: for links."""
        return {"table": self.table}

    def trigger(self, context: Any) -> TableTrigger:
        """What waits."""
        raise NotImplementedError

    def execute(self, context: Any) -> Any:
        """Called by Airflow."""
        if not self.deferrable:
            return super().execute(context)
        with as_airflow_failure(f"sensor of {self.table}"):
            trigger = self.trigger(context)
        return self.defer(trigger=trigger, method_name="execute_complete", timeout=self.wait)

    @property
    def wait(self) -> Any:
        """How long it waits at most; None: for ever."""
        from datetime import timedelta

        return timedelta(seconds=self.timeout) if self.timeout else None

    def poke(self, context: Any) -> bool:
        """Whether it has come. Called by Airflow where a worker waits."""
        with as_airflow_failure(f"sensor of {self.table}"):
            found = self.trigger(context).look()
            if found is not None:
                context["ti"].xcom_push(key="found", value=found)
            return found is not None

    def execute_complete(self, context: Any, event: dict[str, Any]) -> dict[str, Any]:
        """What has come, as the XCom. Called by Airflow."""
        self.log.info("%s: %s", self.table, event)
        return event


class NewSnapshotSensor(TableSensor):
    """Waits until the newest snapshot of a table is not what it was.

    Args: `since`: that it was, an id; a text is a template. None: that when the sensor begins, 0 if there is none.
    Raises: OptionError: without `since` in the mode `reschedule`, which begins anew with each look.
    """

    template_fields: Sequence[str] = ("table", "since")

    def __init__(self, *, since: int | str | None = None, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.since = since
        self._began_at: int | None = None
        if since is None and not self.deferrable and self.reschedule:
            fix = "Give 'since', or wait with deferrable=True or mode='poke'."
            raise OptionError(
                "in the mode 'reschedule' a sensor forgets which snapshot was the newest", self.table, fix
            )

    def trigger(self, context: Any) -> NewSnapshotTrigger:
        lake = self.lake.as_json()
        if self._began_at is None:
            # A worker asks again and again: what it waits for is said once.
            newest = NewSnapshotTrigger(self.table, lake, self.poke_interval, 0)
            self._began_at = newest.newest() if self.since in (None, "", "None") else int(str(self.since))
        return NewSnapshotTrigger(self.table, lake, self.poke_interval, self._began_at)


class CompactionDueSensor(TableSensor):
    """Waits until a compaction of a table is due, by the judgement of its own options and of tables.yaml."""

    def trigger(self, context: Any) -> CompactionDueTrigger:
        return CompactionDueTrigger(self.table, self.lake.as_json(), self.poke_interval)
