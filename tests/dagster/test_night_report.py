"""The report of a day: one message to the alert targets that ask for it."""

import dagster as dg
import pyarrow as pa
import pytest

from maintenance.project.config import Project
from maintenance.project.policies import Alerts
from maintenance.project.targets.webhook import Webhook
from paimon_maintenance.assets import keys
from paimon_maintenance.assets.resources.catalog import PaimonCatalog
from paimon_maintenance.definitions import build_definitions
from tests.dagster.test_alerts import Sink


def test_one_message_says_what_was_done_and_what_is_open(
    project: Project,
    instance: dg.DagsterInstance,
    receiver: Sink,
    second: Sink,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("PAIMON_CONSOLE_URL", "http://console")
    targets = (
        Webhook(kind="webhook", url=receiver[0]),
        Webhook(kind="webhook", url=second[0], only=("damage",)),
    )
    project = project.model_copy(update={"alerts": Alerts(targets=targets, daily="0 8 * * *")})
    table = PaimonCatalog(warehouse=project.warehouse).get_or_create(project.tables[1])
    for number in range(5):
        table.write_arrow(pa.table({"page": ["a"], "seconds": pa.array([number], pa.int32())}))
    definitions = build_definitions(project)
    schedule = definitions.resolve_schedule_def("daily_night_report")
    assert schedule.default_status == dg.DefaultScheduleStatus.RUNNING
    assert definitions.resolve_job_def("expire_shop_visits").execute_in_process(instance=instance).success
    assert definitions.resolve_job_def(keys.NIGHT_REPORT).execute_in_process(instance=instance).success
    (message,) = receiver[1].received
    assert (message["subject"], message["state"], message["link"]) == ("Night report", "report", "http://console/night")
    assert "shop.visits: expire snapshots" in message["summary"]
    assert "Open now:" in message["summary"]
    assert "nothing_due: a compaction is due" in message["summary"]
    assert not second[1].received


def test_nobody_gets_it_unasked(project: Project) -> None:
    names = [schedule.name for schedule in build_definitions(project).schedules or ()]
    assert "daily_night_report" not in names
