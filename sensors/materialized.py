"""A sensor for each materialized table: it asks the condition of the table's asset, and requests a refresh.

One for each table, so that each refresh is a run of its own, and a table that cannot be read does not block the others.
They are on from the start: SQL decides what happens to a table, by CREATE, SUSPEND and RESUME.
"""

from collections.abc import Sequence
from typing import Any

import dagster as dg

from maintenance.project.config import TableConfig
from paimon_maintenance.assets import keys
from paimon_maintenance.assets.automation import reasons, seconds_between_ticks

INTERVAL_SECONDS = 30


class RefreshSensor(dg.AutomationConditionSensorDefinition):
    """Dagster adds every check of an asset to the runs that a condition asks for; a refresh is to check no files."""

    def evaluate_tick(self, context: dg.SensorEvaluationContext) -> Any:
        """The tick, its runs without checks: `check_radar` judges the refreshed table."""
        with reasons() as given:
            tick = super().evaluate_tick(context)
        requests = [request.with_replaced_attrs(asset_check_keys=[]) for request in tick.run_requests or ()]
        why = None if requests else "; ".join(given) or "A run is at work on it."
        return _with(tick, run_requests=requests, skip_message=why)

    def with_attributes(self, *, jobs: Any = None, metadata: Any = None) -> "RefreshSensor":
        """A copy; Dagster's own would be of the class above."""
        return RefreshSensor(
            self.name,
            target=self.asset_selection,
            run_tags=self.run_tags,
            minimum_interval_seconds=self.minimum_interval_seconds,
            default_status=self.default_status,
            description=self.description,
            metadata=self.metadata if metadata is None else metadata,
            use_user_code_server=True,
        )


def _with(tick: Any, **changes: object) -> Any:
    """The result of a tick with some fields changed. Dagster has no public name for its class."""
    fields = {name: getattr(tick, name) for name in type(tick).__annotations__}
    return type(tick)(**fields | changes)


def refresh_sensors(tables: Sequence[TableConfig]) -> list[RefreshSensor]:
    """The sensors of the materialized tables among these."""
    return [
        RefreshSensor(
            keys.refresh_sensor(table.identifier),
            target=dg.AssetSelection.assets(keys.asset_key(table.identifier)).without_checks(),
            run_tags=keys.refresh_tags(table.identifier),
            minimum_interval_seconds=seconds_between_ticks(definition.freshness, INTERVAL_SECONDS),
            default_status=dg.DefaultSensorStatus.RUNNING,
            description=f"Refreshes {table.identifier} within {definition.freshness.words} of a change of its sources.",
            use_user_code_server=True,
        )
        for table in tables
        if (definition := table.materialized) is not None
    ]
