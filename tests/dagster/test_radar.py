"""Checks and alerts: writers that fight are named within a tick; people are told once, and again when it is over."""

import socket
from collections.abc import Iterator
from email import message_from_bytes
from pathlib import Path
from typing import Any

import dagster as dg
import pyarrow as pa
import pytest
from aiosmtpd.controller import Controller

from assets import keys
from assets.checks.judgements import DESCRIPTIONS
from assets.project.config import Project
from assets.project.policies import Alerts
from assets.resources.catalog import PaimonCatalog
from assets.targets.alert import Alert, from_environment
from assets.targets.email import Email
from assets.targets.webhook import Webhook, slack_blocks
from assets.warehouse.configuration import CONFIGURATION
from definitions import build_definitions
from maintenance.errors import OptionError
from maintenance.table.table import Table
from sensors.cursor import Cursor, Trouble
from sensors.radar import Judged, cursor_of
from tests.dagster.conftest import Receiver, evaluate, switch_on


class Mailbox:
    def __init__(self) -> None:
        self.messages: list[Any] = []

    async def handle_DATA(self, server: Any, session: Any, envelope: Any) -> str:  # noqa: N802 - the library's name
        self.messages.append((envelope.rcpt_tos, message_from_bytes(envelope.content)))
        return "250 OK"


@pytest.fixture
def mailbox() -> Iterator[tuple[Controller, Mailbox]]:
    box = Mailbox()
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    controller = Controller(box, hostname="127.0.0.1", port=port)
    controller.start()
    yield controller, box
    controller.stop()


@pytest.fixture
def orders(project: Project) -> Table:
    return PaimonCatalog(warehouse=project.warehouse).get_or_create(project.tables[0])


def write(table: Table, writer: str, number: int) -> None:
    rows = pa.table({"id": pa.array([1], pa.int64()), "status": [writer]})
    table.write_arrow(rows, commit_user=writer, commit_identifier=number)


def reported(data: Any, identifier: str) -> dict[str, dg.AssetCheckEvaluation]:
    return {event.check_name: event for event in data.asset_events if event.asset_key == keys.asset_key(identifier)}


def test_fighting_writers_are_named_within_a_tick(
    project: Project, instance: dg.DagsterInstance, orders: Table
) -> None:
    write(orders, "flink-job", 1)
    first = evaluate(project, instance, "check_radar")
    assert set(reported(first, "shop.orders")) == set(DESCRIPTIONS)
    assert all(event.passed for event in first.asset_events)
    assert keys.FLEET in {event.asset_key for event in first.asset_events}
    write(orders, "spark-job", 1)
    write(orders, "flink-job", 2)
    data = evaluate(project, instance, "check_radar", first.cursor)
    found = reported(data, "shop.orders")
    failed = {name for name, event in found.items() if not event.passed}
    assert failed == {"no_bucket_overlap", "nothing_due"}
    told = found["no_bucket_overlap"].description or ""
    assert "'flink-job' (snapshots 1 and 3)" in told
    assert "'spark-job' (snapshot 2)" in told
    assert "sequence.field" in told
    assert "no_bucket_overlap" in (data.skip_message or "")
    again = evaluate(project, instance, "check_radar", data.cursor)
    assert not again.asset_events, "nothing new was committed"
    assert not Path(project.warehouse, "shop.db", "visits").exists(), "a table that is not there is no fault"


@pytest.mark.parametrize("text", ["", "no json", "[]", '{"tables": {"a": {}}}', '{"tables": 3}'])
def test_a_torn_cursor_counts_as_none(text: str) -> None:
    assert cursor_of(text) == Cursor()
    judged = Judged("3 x", 1.5, ("freshness",))
    cursor = Cursor("db.b", {"db.b": judged, CONFIGURATION: judged}, {"db.b": Trouble(2, 10.5)})
    assert cursor_of(cursor.serialize()) == cursor


def test_checks_run_from_the_assets_page(project: Project, instance: dg.DagsterInstance, orders: Table) -> None:
    for number, writer in enumerate(["a", "b", "a"]):
        write(orders, writer, number)
    checks = build_definitions(project).resolve_implicit_global_asset_job_def()
    selected = [dg.AssetCheckKey(keys.asset_key("shop.orders"), name) for name in ("no_bucket_overlap", "freshness")]
    result = checks.get_subset(asset_check_selection=set(selected)).execute_in_process(
        instance=instance, resources={"catalog": PaimonCatalog(warehouse=project.warehouse)}
    )
    outcomes = {e.check_name: e.passed for e in result.get_asset_check_evaluations()}
    assert outcomes == {"no_bucket_overlap": False, "freshness": True}


def test_people_are_told_once_and_when_it_is_over(
    project: Project, instance: dg.DagsterInstance, orders: Table, receiver: tuple[str, type[Receiver]]
) -> None:
    url, handler = receiver
    alerts = Alerts(url="http://dagster:3000", targets=(Webhook(kind="webhook", url=url),))
    project = project.model_copy(update={"alerts": alerts})
    switch_on(instance, keys.LATEST_SENSOR)
    for number, writer in enumerate(["a", "b", "a"]):
        write(orders, writer, number)
    radar = evaluate(project, instance, "check_radar")
    handler.down = True
    unheard = evaluate(project, instance, "alerts")
    assert handler.received == []
    handler.down = False
    told = evaluate(project, instance, "alerts", unheard.cursor)
    assert [alert["subject"] for alert in handler.received] == ["Check no_bucket_overlap of shop.orders"]
    (alert,) = handler.received
    assert alert["state"] == "failed"
    assert alert["subject"] == "Check no_bucket_overlap of shop.orders"
    assert "'b' (snapshot 2)" in alert["summary"]
    assert alert["link"].startswith("http://dagster:3000/assets/shop/orders")
    silent = evaluate(project, instance, "alerts", told.cursor)
    assert len(handler.received) == 1, "once"
    for number in range(3, 110):
        write(orders, "a", number)
    evaluate(project, instance, "check_radar", radar.cursor)
    evaluate(project, instance, "alerts", silent.cursor)
    overlap = [alert for alert in handler.received if "no_bucket_overlap" in alert["fault"]]
    assert [alert["state"] for alert in overlap] == ["failed", "recovered"]
    assert len({(alert["fault"], alert["state"]) for alert in handler.received}) == len(handler.received)


def test_a_failed_run_is_told_with_its_next_step(
    project: Project, instance: dg.DagsterInstance, receiver: tuple[str, type[Receiver]]
) -> None:
    url, handler = receiver
    project = project.model_copy(update={"alerts": Alerts(targets=(Webhook(kind="webhook", url=url),))})
    job = build_definitions(project).resolve_job_def("compact_shop_orders")
    assert not job.execute_in_process(instance=instance, raise_on_error=False).success
    data = evaluate(project, instance, "alerts")
    (alert,) = handler.received
    assert alert["subject"] == "Run of compact_shop_orders"
    assert "does not exist" in alert["summary"]
    assert alert["fix"]
    assert "/runs/" in alert["link"]
    run = instance.get_runs()[0]
    instance.add_run_tags(run.run_id, {"dagster/will_retry": "true"})
    evaluate(project, instance, "alerts", data.cursor)
    assert handler.received[-1]["state"] == "recovered"
    assert not evaluate(project, instance, "alerts").skip_message.startswith("Run"), "a retry is coming"


def test_mail_and_slack(mailbox: tuple[Controller, Mailbox], monkeypatch: pytest.MonkeyPatch) -> None:
    controller, box = mailbox
    port = controller.port
    monkeypatch.setenv("MAIL_HOST", "127.0.0.1")
    alert = Alert("x", "failed", "Check a of db.t", "It is broken", "Mend it.", "http://dagster/assets/db/t")
    target = Email(kind="email", host="${MAIL_HOST}", port=port, sender="paimon@example.com", to=("ops@example.com",))
    target.send(alert)
    ((recipients, message),) = box.messages
    assert recipients == ["ops@example.com"]
    assert message["Subject"] == "[paimon] Check a of db.t failed"
    assert "Next step: Mend it." in message.get_payload()
    blocks = slack_blocks(alert)["blocks"]
    assert [block["type"] for block in blocks] == ["header", "section", "context"]
    assert "Mend it." in blocks[1]["text"]["text"]
    with pytest.raises(OptionError, match="NO_SUCH_NAME"):
        from_environment("${NO_SUCH_NAME}")
