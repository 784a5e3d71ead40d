"""Checks and alerts: writers that fight are named within a tick; people are told once, and again when it is over."""

import socket
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from email import message_from_bytes
from pathlib import Path
from typing import Any, Literal

import dagster as dg
import pyarrow as pa
import pytest
from aiosmtpd.controller import Controller

from maintenance.catalog import CatalogTable
from maintenance.errors import OptionError
from maintenance.operations.refs.create_tag import create_tag
from maintenance.options.environment import from_environment
from maintenance.project.config import Assets, Project, Radar
from maintenance.project.policies import Alerts, CompactionPolicy
from maintenance.project.targets.alert import Alert
from maintenance.project.targets.email import Email
from maintenance.project.targets.webhook import Webhook, slack_blocks
from paimon_maintenance.assets import keys
from paimon_maintenance.assets.checks.judgements import DESCRIPTIONS
from paimon_maintenance.assets.checks.orphan_check import ORPHAN_BYTES
from paimon_maintenance.assets.resources.catalog import PaimonCatalog
from paimon_maintenance.assets.warehouse.configuration import CONFIGURATION
from paimon_maintenance.sensors import radar
from paimon_maintenance.sensors.cursor import Cursor, Trouble
from paimon_maintenance.sensors.publishing import Judged
from paimon_maintenance.sensors.radar import Examiner, cursor_of
from paimon_maintenance.sensors.turns import Turn
from tests.dagster.conftest import Receiver, checks_of, definitions_of, evaluate, switch_on


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
def orders(project: Project) -> CatalogTable:
    return PaimonCatalog(warehouse=project.warehouse).get_or_create(project.tables[0])


def write(table: CatalogTable, writer: str, number: int) -> None:
    rows = pa.table({"id": pa.array([1], pa.int64()), "status": [writer]})
    table.write_arrow(rows, commit_user=writer, commit_identifier=number)


def reported(data: Any, identifier: str) -> dict[str, dg.AssetCheckEvaluation]:
    return {event.check_name: event for event in checks_of(data) if event.asset_key == keys.asset_key(identifier)}


def test_fighting_writers_are_named_within_a_tick(
    project: Project, instance: dg.DagsterInstance, orders: CatalogTable
) -> None:
    switch_on(instance, keys.EXPIRY_SCHEDULE)
    write(orders, "flink-job", 1)
    first = evaluate(project, instance, "check_radar")
    assert set(reported(first, "shop.orders")) == set(DESCRIPTIONS)
    assert all(event.passed for event in checks_of(first))
    assert keys.FLEET in {event.asset_key for event in checks_of(first)}
    write(orders, "spark-job", 1)
    write(orders, "flink-job", 2)
    data = evaluate(project, instance, "check_radar", first.cursor)
    actual = reported(data, "shop.orders")
    failed = {name for name, event in actual.items() if not event.passed}
    assert failed == {"no_bucket_overlap", "nothing_due"}
    shown = actual["no_bucket_overlap"].description or ""
    assert "'flink-job' (snapshots 1 and 3)" in shown
    assert "'spark-job' (snapshot 2)" in shown
    assert "sequence.field" in shown
    assert "no_bucket_overlap" in (data.skip_message or "")
    again = evaluate(project, instance, "check_radar", data.cursor)
    assert not again.asset_events, "nothing new was committed"
    assert not Path(project.warehouse, "shop.db", "visits").exists(), "a table that is not there is no fault"


def test_a_check_that_goes_on_failing_is_reported_every_five_minutes(
    project: Project, instance: dg.DagsterInstance, orders: CatalogTable
) -> None:
    switch_on(instance, keys.EXPIRY_SCHEDULE)
    for key, user in enumerate(("flink-job", "spark-job", "flink-job", "spark-job")):
        write(orders, user, key)
    first = evaluate(project, instance, "check_radar")
    write(orders, "spark-job", 4)
    soon = evaluate(project, instance, "check_radar", first.cursor)
    assert not reported(soon, "shop.orders"), "the page alone has the new numbers"
    assert observed(soon, "shop.orders")
    cursor = cursor_of(soon.cursor)
    told = {name: replace(judged, told=judged.told - 301) for name, judged in cursor.tables.items()}
    write(orders, "spark-job", 5)
    after = evaluate(project, instance, "check_radar", replace(cursor, tables=told).serialize())
    actual = reported(after, "shop.orders")
    assert {"no_bucket_overlap", "nothing_due"} <= {name for name, event in actual.items() if not event.passed}
    assert "'spark-job' (snapshots 2 and 4)" in (actual["no_bucket_overlap"].description or "")


def test_a_table_at_rest_is_judged_again_as_often_as_the_settings_say(
    project: Project, instance: dg.DagsterInstance, orders: CatalogTable
) -> None:
    write(orders, "flink-job", 1)
    at_once = project.model_copy(update={"radar": Radar(judge_again="0 s")})
    first = evaluate(at_once, instance, "check_radar")
    again = evaluate(at_once, instance, "check_radar", first.cursor)
    rested = evaluate(project, instance, "check_radar", again.cursor)
    judged = [cursor_of(data.cursor).tables["shop.orders"].at for data in (first, again, rested)]
    assert judged[0] < judged[1] == judged[2]
    assert not reported(again, "shop.orders"), "nothing has turned"


@pytest.mark.parametrize("per", ["table", "database"])
def test_what_a_tick_has_no_time_to_publish_the_next_one_looks_at_first(
    per: Literal["table", "database"], project: Project, instance: dg.DagsterInstance, monkeypatch: pytest.MonkeyPatch
) -> None:
    tables = [project.tables[0].model_copy(update={"identifier": f"shop.t{number}"}) for number in range(3)]
    for table in tables:
        write(PaimonCatalog(warehouse=project.warehouse).get_or_create(table), "flink-job", 1)
    (Path(project.warehouse) / "shop.db" / "t2" / "schema" / "schema-0").write_text("torn")
    project = project.model_copy(update={"tables": tuple(tables), "assets": Assets(per=per)})
    monkeypatch.setattr(radar, "_PUBLISHED_AFTER_SECONDS", 0.0)
    cursor, published = None, []
    for _ in tables:
        data = evaluate(project, instance, "check_radar", cursor)
        known = {name for name in cursor_of(data.cursor).tables if name.startswith("shop.")}
        published.append(sorted(known))
        cursor = data.cursor
    assert published == [["shop.t0"], ["shop.t0", "shop.t1"], ["shop.t0", "shop.t1", "shop.t2"]]
    assert set(cursor_of(cursor).troubles) == {"shop.t2"}
    assert "shop.t2: readable" in str(data.skip_message), "its trouble did not count before it was told"


def test_a_table_at_rest_that_is_not_published_does_not_come_before_those_with_news() -> None:
    news = Turn({"shop.a": 1, "shop.b": 2}, {}, {}, "shop.c", 2)
    turn = news.and_then(Turn({"shop.z": 3}, {}, {}, "shop.y", 1))
    assert turn.only(["shop.a", "shop.b"], {}).first == "shop.c"
    assert turn.only(["shop.a"], {}).first == "shop.b"


@pytest.mark.parametrize("per", ["table", "database"])
def test_a_tick_asks_once_which_tables_have_counted_orphans(
    per: Literal["table", "database"], project: Project, instance: dg.DagsterInstance, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = []
    for name in ("get_latest_asset_check_execution_by_key", "get_asset_check_partition_info"):
        original = getattr(type(instance.event_log_storage), name)

        def counting(self: Any, checks: Any, *args: Any, _original: Any = original, **given: Any) -> Any:
            asked.extend([checks] * any(check.name == ORPHAN_BYTES for check in checks))
            return _original(self, checks, *args, **given)

        monkeypatch.setattr(type(instance.event_log_storage), name, counting)
    tables = [project.tables[0].model_copy(update={"identifier": f"shop.t{number}"}) for number in range(4)]
    for table in tables:
        write(PaimonCatalog(warehouse=project.warehouse).get_or_create(table), "flink-job", 1)
    evaluate(project.model_copy(update={"tables": tuple(tables), "assets": Assets(per=per)}), instance, "check_radar")
    assert len(asked) <= 2, "once for the tables and once for the page of all"


def test_tables_at_rest_are_judged_in_the_order_in_which_they_were_judged_last(project: Project) -> None:
    now = datetime.now(UTC)
    nothing: Any = None
    examiner = Examiner(nothing, now, nothing, 300.0, nothing, nothing)
    tables = [project.tables[0].model_copy(update={"identifier": f"shop.t{number}"}) for number in range(5)]
    ages: list[float | None] = [400, 200, 900, None, 300]
    known = {
        table.identifier: None if age is None else Judged(at=now.timestamp() - age)
        for table, age in zip(tables, ages, strict=True)
    }
    due = [table.identifier for table in examiner.at_rest(tables, known)]
    assert due == ["shop.t2", "shop.t0", "shop.t4"], "one was judged a while ago, and one never"


def test_a_table_whose_settings_have_changed_is_judged_at_the_next_tick(
    project: Project, instance: dg.DagsterInstance, orders: CatalogTable
) -> None:
    for number in range(2):
        write(orders, "till", number)
    cursor = evaluate(project, instance, "check_radar").cursor
    changed = project.tables[0].model_copy(update={"compaction": CompactionPolicy(trigger=2, automatic=False)})
    stricter = project.model_copy(update={"tables": (changed, *project.tables[1:])})
    actual = reported(evaluate(stricter, instance, "check_radar", cursor), "shop.orders")
    assert [name for name, event in actual.items() if not event.passed] == ["nothing_due"]


def test_checks_and_page_are_reported_again_after_a_materialisation(
    project: Project, instance: dg.DagsterInstance, orders: CatalogTable
) -> None:
    """Dagster shows a check as not evaluated if its last result is older than the newest materialisation."""
    write(orders, "till", 1)
    key, at_once = keys.asset_key("shop.orders"), project.model_copy(update={"radar": Radar(judge_again="0 s")})
    first = evaluate(at_once, instance, "check_radar")
    instance.report_runless_asset_event(dg.AssetMaterialization(key, description="as a run ends with"))
    after = evaluate(at_once, instance, "check_radar", first.cursor)
    assert set(reported(after, "shop.orders")) == set(DESCRIPTIONS)
    assert len(observed(after, "shop.orders")) == 1, "what the run said would stand in place of the page"
    rested = evaluate(at_once, instance, "check_radar", after.cursor)
    assert not reported(rested, "shop.orders"), "there was no other materialisation"
    assert not observed(rested, "shop.orders")
    instance.report_runless_asset_event(dg.AssetMaterialization(key))
    soon = evaluate(project, instance, "check_radar", rested.cursor)
    assert not reported(soon, "shop.orders"), "a table that is materialised all the time would fill the event log"


def test_what_is_reported_with_a_commit_of_others_comes_after_its_materialisation(
    project: Project, instance: dg.DagsterInstance
) -> None:
    visits = PaimonCatalog(warehouse=project.warehouse).get_or_create(project.tables[1])
    rows = pa.table({"page": ["a"], "seconds": pa.array([1], pa.int32())})
    visits.write_arrow(rows)
    at_once = project.model_copy(update={"radar": Radar(judge_again="0 s")})
    cursor = evaluate(at_once, instance, "check_radar").cursor
    visits.write_arrow(rows)
    key = keys.asset_key("shop.visits")
    data = evaluate(at_once, instance, "check_radar", cursor)
    events = [event for event in data.asset_events if event.asset_key == key]
    assert is_materialization(events[0], key)
    assert {event.check_name for event in events[1:]} == set(DESCRIPTIONS)


def observed(data: Any, identifier: str) -> list[dg.AssetObservation]:
    key = keys.asset_key(identifier)
    return [event for event in data.asset_events if isinstance(event, dg.AssetObservation) and event.asset_key == key]


def is_materialization(event: Any, key: dg.AssetKey) -> bool:
    return isinstance(event, dg.AssetMaterialization) and event.asset_key == key


def later(cursor: str | None) -> str:
    """The cursor a good while later."""
    actual = cursor_of(cursor)
    return replace(
        actual, tables={name: replace(of, at=of.at - 3600) for name, of in actual.tables.items()}
    ).serialize()


def cells(event: Any, table: str) -> list[Any]:
    actual = event.metadata[table]
    assert isinstance(actual, dg.TableMetadataValue)
    return [record.data for record in actual.records]


def test_a_page_has_its_numbers_before_any_run_and_is_published_when_they_change(
    project: Project, instance: dg.DagsterInstance, orders: CatalogTable
) -> None:
    visits = PaimonCatalog(warehouse=project.warehouse).get_or_create(project.tables[1])
    rows = pa.table({"page": ["a", "b"], "seconds": pa.array([1, 2], pa.int32())})
    visits.write_arrow(rows, commit_user="crawler")
    data = evaluate(project, instance, "check_radar")
    (first,) = observed(data, "shop.visits")
    glance = {row["measure"]: row["now"] for row in cells(first, "at a glance")}
    assert (glance["rows"], glance["snapshots"], glance["newest snapshot"]) == ("2", "1", "1")
    assert glance["live data"].endswith(" in 1 file")
    assert "tags" not in glance, "what is zero is left out"
    (snapshot,) = cells(first, "kept snapshots")
    assert (snapshot["writer"], snapshot["rows"], snapshot["change"]) == ("crawler", "2", "+2")
    assert first.metadata["dagster/row_count"].value == 2
    again = evaluate(project, instance, "check_radar", later(data.cursor))
    assert {event.asset_key for event in again.asset_events} == {keys.FLEET}, "nothing has changed"
    create_tag(visits, "month-end")
    tagged = evaluate(project, instance, "check_radar", later(data.cursor))
    (event,) = observed(tagged, "shop.visits")
    assert cells(event, "kept snapshots")[0]["kept by"] == "the current state; tag month-end"


def test_what_others_commit_is_reported_to_the_asset_without_a_run(
    project: Project, instance: dg.DagsterInstance
) -> None:
    visits = PaimonCatalog(warehouse=project.warehouse).get_or_create(project.tables[1])
    rows = pa.table({"page": ["a"], "seconds": pa.array([1], pa.int32())})
    visits.write_arrow(rows)
    cursor = evaluate(project, instance, "check_radar").cursor
    visits.write_arrow(rows)
    data = evaluate(project, instance, "check_radar", cursor)
    key = keys.asset_key("shop.visits")
    (event,) = [event for event in data.asset_events if is_materialization(event, key)]
    assert event.tags is not None
    assert event.tags["dagster/data_version"] == str(visits.snapshots.latest_identity())
    assert event.metadata["records"].value == 2
    assert cells(event, "at a glance")
    visits.of_run("some-run").truncate()
    ours = evaluate(project, instance, "check_radar", data.cursor)
    assert not [event for event in ours.asset_events if is_materialization(event, key)]


def test_the_page_over_all_tables_needs_no_run(
    project: Project, instance: dg.DagsterInstance, orders: CatalogTable
) -> None:
    write(orders, "till", 1)
    first = evaluate(project, instance, "check_radar")
    event = instance.get_latest_materialization_event(keys.FLEET)
    assert event is not None
    assert event.asset_materialization is not None
    assert [row["state"] for row in cells(event.asset_materialization, "fleet")] == ["healthy"]
    Path(orders.paths.snapshot(1)).write_text("{")
    evaluate(project, instance, "check_radar", later(first.cursor))
    event = instance.get_latest_materialization_event(keys.FLEET)
    assert event is not None
    assert event.asset_materialization is not None
    assert [row["state"] for row in cells(event.asset_materialization, "fleet")] == ["cannot be read"]
    page = instance.fetch_observations(keys.asset_key("shop.orders"), limit=1).records[0].asset_observation
    assert page is not None
    assert "[readable](/assets/shop/orders?view=checks&checkDetail=readable)" in str(page.metadata["health"].value)
    assert "at a glance" not in page.metadata


@pytest.mark.parametrize("text", ["", "no json", "[]", '{"tables": {"a": {}}}', '{"tables": 3}'])
def test_a_torn_cursor_counts_as_none(text: str) -> None:
    assert cursor_of(text) == Cursor()
    judged = Judged("3 x", 1.5, ("freshness",), 2.5, "abc", "3@5-0123456789abcdef", 4.5, ("db.b", "healthy", 1), 3.5)
    cursor = Cursor("db.b", {"db.b": judged, CONFIGURATION: judged}, {"db.b": Trouble(2, 10.5)})
    assert cursor_of(cursor.serialize()) == cursor


def test_checks_run_from_the_assets_page(project: Project, instance: dg.DagsterInstance, orders: CatalogTable) -> None:
    for number, writer in enumerate(["a", "b", "a"]):
        write(orders, writer, number)
    checks = definitions_of(project).resolve_implicit_global_asset_job_def()
    selected = [dg.AssetCheckKey(keys.asset_key("shop.orders"), name) for name in ("no_bucket_overlap", "freshness")]
    result = checks.get_subset(asset_check_selection=set(selected)).execute_in_process(
        instance=instance, resources={"catalog": PaimonCatalog(warehouse=project.warehouse)}
    )
    outcomes = {e.check_name: e.passed for e in result.get_asset_check_evaluations()}
    assert outcomes == {"no_bucket_overlap": False, "freshness": True}


def test_people_are_told_once_and_when_it_is_over(
    project: Project, instance: dg.DagsterInstance, orders: CatalogTable, receiver: tuple[str, type[Receiver]]
) -> None:
    url, handler = receiver
    alerts = Alerts(url="http://dagster:3000", targets=(Webhook(kind="webhook", url=url),))
    project = project.model_copy(update={"alerts": alerts})
    for automatic in (keys.LATEST_SENSOR, keys.EXPIRY_SCHEDULE):
        switch_on(instance, automatic)
    for number, writer in enumerate(["a", "b", "a"]):
        write(orders, writer, number)
    radar = evaluate(project, instance, "check_radar")
    handler.down = True
    unheard = evaluate(project, instance, "alerts")
    assert handler.received == []
    handler.down = False
    shown = evaluate(project, instance, "alerts", unheard.cursor)
    assert [alert["subject"] for alert in handler.received] == ["Check no_bucket_overlap of shop.orders"]
    (alert,) = handler.received
    assert alert["state"] == "failed"
    assert alert["subject"] == "Check no_bucket_overlap of shop.orders"
    assert "'b' (snapshot 2)" in alert["summary"]
    assert alert["link"].startswith("http://dagster:3000/assets/shop/orders")
    silent = evaluate(project, instance, "alerts", shown.cursor)
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
    job = definitions_of(project).resolve_job_def("compact_shop_orders")
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


def test_mail_and_slack_tell_the_problem_and_the_next_step_whole(
    mailbox: tuple[Controller, Mailbox], monkeypatch: pytest.MonkeyPatch
) -> None:
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
    lines = [f"- problem {number}: {'x' * 700}" for number in range(30)]
    long = slack_blocks(replace(alert, summary="\n".join(["y" * 4000, *lines])))["blocks"]
    texts = [block["text"]["text"] for block in long if block["type"] == "section"]
    assert all(0 < len(text) <= 3000 for text in texts)
    assert "\n".join(texts).splitlines()[-31:] == [*lines, "*Next step:* Mend it."], (
        "nothing of many problems is cut off"
    )
    with pytest.raises(OptionError, match="NO_SUCH_NAME"):
        from_environment("${NO_SUCH_NAME}", "a test")
