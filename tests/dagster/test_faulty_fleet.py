"""Ten tables with one fault each: ten red checks with cause and next step, one alert each, one more after a repair."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import dagster as dg
import pytest

from maintenance.project.config import load_project
from paimon_maintenance.assets import keys
from paimon_maintenance.definitions import build_definitions
from paimon_maintenance.sensors.radar import cursor_of
from tests.browser.faulty_fleet import FAULTS, HEALTHY, PROOF, Fault, Fleet
from tests.dagster.conftest import Receiver, checks_of, evaluate

Sink = tuple[str, type[Receiver]]


class Watch:
    """Ticks the sensors as the daemon does, as time goes by."""

    def __init__(self, fleet: Fleet, instance: dg.DagsterInstance) -> None:
        self.fleet, self.instance = fleet, instance
        self.radar: str | None = None
        self.alerts: str | None = None
        self.reload()
        # What is wrong at the first start is one message; what begins later is one for each.
        self.alerts = evaluate(self.project, self.instance, "alerts", None, self.definitions).cursor

    def reload(self) -> None:
        """Load the definitions of tables.yaml as it is now."""
        self.project = load_project(self.fleet.yaml, self.fleet.folder)
        self.definitions = build_definitions(self.project)

    def tick(self) -> list[dg.AssetCheckEvaluation]:
        """One tick of each, a good while later. Returns the checks that are red."""
        data = evaluate(self.project, self.instance, "check_radar", _later(self.radar), self.definitions)
        self.radar = data.cursor
        self.alerts = evaluate(self.project, self.instance, "alerts", self.alerts, self.definitions).cursor
        return [event for event in checks_of(data) if not event.passed and event.asset_key != keys.FLEET]

    def compact(self, table: str) -> bool:
        job = self.definitions.resolve_job_def(keys.job("compact", table))
        config = {"ops": {"compact": {"config": {"full": True}}}}
        return job.execute_in_process(instance=self.instance, run_config=config, raise_on_error=False).success


def _later(cursor: str | None) -> str | None:
    if cursor is None:
        return None
    actual = cursor_of(cursor)
    tables = {name: replace(judged, at=judged.at - 3600) for name, judged in actual.tables.items()}
    troubles = {name: replace(of, again=of.again - 3600) for name, of in actual.troubles.items()}
    return replace(actual, tables=tables, troubles=troubles).serialize()


def about(alerts: Sequence[dict[str, Any]], fault: Fault) -> list[dict[str, Any]]:
    return [alert for alert in alerts if alert["tables"] == [fault.table]]


@pytest.mark.slow
def test_each_fault_is_one_red_check_one_alert_and_one_recovery(
    tmp_path: Path, instance: dg.DagsterInstance, receiver: Sink
) -> None:
    fleet = Fleet(tmp_path, receiver[0])
    fleet.build()
    watch, alerts = Watch(fleet, instance), receiver[1].received
    assert not watch.compact(PROOF)

    red = {(".".join(event.asset_key.path), event.check_name): event for event in watch.tick()}
    assert red.keys() == {(fault.table, fault.check) for fault in FAULTS}
    for fault in FAULTS:
        event = red[fault.table, fault.check]
        assert fault.cause in str(event.description), fault.table
        assert fault.step in str(event.metadata["next step"].value), fault.table
    assert len(alerts) == len(FAULTS) == 10
    for fault in FAULTS:
        (alert,) = about(alerts, fault)
        assert alert["state"] == "failed"
        assert alert["summary"]
        assert alert["fix"]
    watch.tick()
    assert len(alerts) == 10, "each is told once"
    assert not [alert for alert in alerts if HEALTHY in alert["tables"]]

    for fault in FAULTS:
        fleet.repair(fault)
        if fault.make is None:
            watch.reload()
        if fault.needs_run:
            assert watch.compact(fault.table)
        left = {".".join(event.asset_key.path) for event in watch.tick()}
        assert fault.table not in left
        assert [alert["state"] for alert in about(alerts, fault)] == ["failed", "recovered"]
    assert not watch.tick()
    assert len(alerts) == 20
