"""Who is told of what: each table's own targets, the test command, sensors that have died, targets that are down."""

import json
import time
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any, get_args

import dagster as dg
import pyarrow as pa
import pytest
import yaml
from dagster._core.scheduler.instigation import InstigatorStatus

from maintenance.project.config import Project, load_project
from maintenance.project.policies import Alerts
from maintenance.project.targets.alert import Alert, Kind
from maintenance.project.targets.email import Email
from maintenance.project.targets.webhook import Webhook, teams_card
from paimon_maintenance.assets import keys
from paimon_maintenance.assets.resources.catalog import PaimonCatalog
from paimon_maintenance.definitions import build_definitions
from paimon_maintenance.sensors.alerts import check_faults, run_faults, sensor_faults
from paimon_maintenance.sensors.recoveries import what_was_done
from paimon_maintenance.sensors.routes import Reported, Routes, parse_reported, reported_text
from paimon_maintenance.sensors.targets.__main__ import main
from paimon_maintenance.sensors.telling import tell
from tests.dagster.conftest import Receiver, checks_of, definitions_of, evaluate, state_of
from tests.tables import create_table

Sink = tuple[str, type[Receiver]]


def written(folder: Path, **settings: Any) -> Project:
    path = folder / "alerts.yaml"
    path.write_text(yaml.safe_dump({"warehouse": "lake", **settings}))
    return load_project(path, folder)


def hook(sink: Sink, **more: Any) -> dict[str, Any]:
    return {"kind": "webhook", "url": sink[0], **more}


def subjects(sink: Sink) -> list[tuple[str, str]]:
    return [(alert["subject"], alert["state"]) for alert in sink[1].received]


def fault(name: str, *tables: str) -> dict[str, Alert]:
    return {name: Alert(name, "failed", name, "It is broken.", "Mend it.", "http://dagster", tables)}


def test_a_table_has_targets_of_its_own(tmp_path: Path, receiver: Sink, second: Sink) -> None:
    project = written(
        tmp_path,
        alerts={"targets": [hook(receiver)]},
        patterns=[
            {"pattern": "sales.*", "alerts": {"targets": [hook(second)]}},
            {"pattern": "*.secret_*", "alerts": {"instead": True}},
        ],
        tables=[{"identifier": name} for name in ("sales.orders", "sales.secret_pay", "hr.people")],
    )
    routes = Routes.of(project.with_patterns([]))
    faults = {**fault("orders", "sales.orders"), **fault("pay", "sales.secret_pay"), **fault("hr", "hr.people")}
    reported, _, troubles = tell(routes, {}, {**faults, **fault("sensor")}, "")
    assert not troubles
    assert [subject for subject, _ in subjects(receiver)] == ["orders", "hr", "sensor"]
    assert [subject for subject, _ in subjects(second)] == ["orders", "pay"]
    assert parse_reported(reported_text(reported)) == reported
    assert tell(routes, reported, {}, "")[0] == {}
    assert subjects(second)[2:] == [("2 problems", "recovered")]
    assert subjects(receiver)[3:] == [("3 problems", "recovered")]


def test_the_first_start_sends_one_digest(tmp_path: Path, receiver: Sink) -> None:
    routes = Routes.of(written(tmp_path, alerts={"targets": [hook(receiver)]}, tables=[{"identifier": "a.b"}]))
    faults = {name: alert for number in range(20) for name, alert in fault(f"x{number}", "a.b").items()}
    faults["x7"] = replace(faults["x7"], kind="damage")
    reported, _, _ = tell(routes, {}, faults, "http://dagster", first=True)
    (digest,) = receiver[1].received
    assert (digest["subject"], digest["state"]) == ("20 problems", "failed")
    assert digest["summary"].count("Next step: Mend it. http://dagster") == 20
    assert digest["kind"] == "damage", "the most severe of them"
    assert tell(routes, reported, faults, "")[0] == reported
    assert len(receiver[1].received) == 1
    tell(routes, reported, {}, "", over=lambda name, _: f"{name} was mended.")
    recovered = receiver[1].received[1]
    assert (recovered["subject"], recovered["state"]) == ("20 problems", "recovered")
    assert "- x7: This problem is over. x7 was mended. http://dagster" in recovered["summary"]


def test_a_target_takes_the_kinds_that_it_asks_for(tmp_path: Path, receiver: Sink, second: Sink) -> None:
    alerts = [{"to": receiver[0], "for": ["damage", "conflict"]}, hook(second)]
    routes = Routes.of(written(tmp_path, alerts=alerts, tables=[{"identifier": "a.b"}]))
    faults = {kind: replace(fault(kind, "a.b")[kind], kind=kind) for kind in ("damage", "backlog")}
    reported, _, _ = tell(routes, {}, faults, "")
    assert subjects(receiver) == [("damage", "failed")]
    assert subjects(second) == [("damage", "failed"), ("backlog", "failed")]
    tell(routes, reported, {}, "")
    assert subjects(receiver)[1:] == [("damage", "recovered")]


def test_pagerduty_gets_an_incident_for_each_fault_and_resolves_it(
    tmp_path: Path, receiver: Sink, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PAGER_KEY", "k" * 32)
    pager = {"kind": "pagerduty", "routing_key": "${PAGER_KEY}", "url": receiver[0], "for": ["error", "report"]}
    routes = Routes.of(written(tmp_path, alerts={"targets": [pager]}, tables=[{"identifier": "a.b"}]))
    long = "x" * 300
    faults = {**fault("one", "a.b"), **fault(long, "a.b")}
    faults["less"] = replace(fault("less", "a.b")["less"], kind="backlog")
    reported, _, troubles = tell(routes, {}, faults, "http://dagster", first=True)
    assert not troubles
    first, second = receiver[1].received
    assert (first["event_action"], first["routing_key"], first["dedup_key"]) == ("trigger", "k" * 32, "one")
    assert first["payload"]["severity"] == "error"
    assert first["payload"]["source"] == "a.b"
    assert first["payload"]["custom_details"]["next step"] == "Mend it."
    assert len(second["dedup_key"]) <= 255
    tell(routes, reported, {}, "")
    over = receiver[1].received[2:]
    assert [(event["event_action"], event["dedup_key"]) for event in over] == [
        ("resolve", "one"),
        ("resolve", second["dedup_key"]),
    ]
    (target,) = routes.project
    assert not target.takes("report"), "it is about no fault"


def test_teams_gets_a_card_that_it_can_hold() -> None:
    alert = replace(fault("one", "a.b")["one"], link="http://dagster/runs/1", console="http://console/tables/a.b")
    (attached,) = teams_card(alert)["attachments"]
    card = attached["content"]
    assert attached["contentType"] == "application/vnd.microsoft.card.adaptive"
    assert [block["text"] for block in card["body"]][-1] == "**Next step:** Mend it."
    assert [action["url"] for action in card["actions"]] == [alert.link, alert.console]
    many = teams_card(replace(alert, summary="\n".join(f"- problem {number}: {'x' * 700}" for number in range(60))))
    assert len(json.dumps(many)) < 28_000
    assert [block["text"] for block in many["attachments"][0]["content"]["body"]][-2].endswith("more lines")


def test_a_list_of_alerts_names_people_as_well_and_severities(tmp_path: Path) -> None:
    alerts = [
        {"to": "oncall@example.com", "for": ["damage", "conflict"]},
        {"to": ["a@example.com", "b@example.com"], "host": "smtp.example", "for": ["error"]},
        {"to": "https://hooks.slack.com/services/x", "for": ["warning"]},
        {"to": "${PAGER_URL}"},
    ]
    first, second, slack, pager = written(tmp_path, alerts=alerts, tables=[{"identifier": "a.b"}]).alerts.targets
    assert isinstance(first, Email)
    assert (first.to, first.host, first.only) == (("oncall@example.com",), "localhost", ("damage", "conflict"))
    assert isinstance(second, Email)
    assert [kind for kind in get_args(Kind) if second.takes(kind)] == ["damage", "conflict", "invisible", "run"]
    assert isinstance(slack, Webhook)
    assert slack.format == "slack"
    assert slack.takes("space")
    assert not slack.takes("damage")
    assert pager == Webhook(kind="webhook", url="${PAGER_URL}")
    assert Alert("x", "failed", "x", "It is broken.", kind="damage").severity == "error"


def test_a_recovery_that_no_run_has_brought_about_says_so(project: Project, instance: dg.DagsterInstance) -> None:
    before = Reported("Check freshness of shop.visits", ("shop.visits",), at=time.time())
    text = what_was_done(instance, "check:shop.visits:freshness", before, "")
    assert text.startswith("The check passes again. No run of Dagster on it has succeeded since")
    text = what_was_done(instance, "run:compact_shop_visits", replace(before, subject="Run"), "")
    assert text.startswith("No run of the job has succeeded since")


def test_checks_and_jobs_link_to_the_console(
    project: Project, instance: dg.DagsterInstance, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PAIMON_CONSOLE_URL", "http://console")
    table = PaimonCatalog(warehouse=project.warehouse).get_or_create(project.tables[1])
    table.write_arrow(pa.table({"page": ["a"], "seconds": pa.array([1], pa.int32())}))
    checks = checks_of(evaluate(project, instance, "check_radar"))
    of_table = [event for event in checks if event.asset_key == keys.asset_key("shop.visits")]
    assert of_table
    assert {event.metadata["console"].value for event in of_table} == {"http://console/tables/shop.visits"}
    definitions = build_definitions(project)
    for name in ("compact_shop_visits", "expire_shop_visits", "maintain_shop_visits", "fsck_shop_visits"):
        assert definitions.resolve_job_def(name).metadata["console"].value == "http://console/tables/shop.visits"
    assert definitions.resolve_job_def("expire_all").metadata["console"].value == "http://console/"
    fsck = definitions.resolve_job_def("fsck_shop_visits").execute_in_process(instance=instance)
    for event in fsck.get_asset_check_evaluations():
        assert event.metadata["console"].value == "http://console/tables/shop.visits"


def test_a_muted_table_is_told_of_afterwards(tmp_path: Path, receiver: Sink) -> None:
    def of(until: date) -> Routes:
        tables = [{"identifier": "a.b", "alerts": {"muted_until": until}}, {"identifier": "a.c"}]
        return Routes.of(written(tmp_path, alerts={"targets": [hook(receiver)]}, tables=tables))

    today = datetime.now(UTC).date()
    faults = {**fault("x", "a.b"), **fault("y", "a.c")}
    reported, _, _ = tell(of(today + timedelta(days=2)), {}, faults, "")
    assert subjects(receiver) == [("y", "failed")]
    tell(of(today), reported, faults, "")
    assert subjects(receiver) == [("y", "failed"), ("x", "failed")]


@pytest.mark.slow
def test_a_recovery_has_its_link_and_says_what_was_done(
    project: Project, instance: dg.DagsterInstance, receiver: Sink, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PAIMON_CONSOLE_URL", "http://console")
    visits = project.tables[1]
    alerts = Alerts(url="http://d", targets=(Webhook(kind="webhook", url=receiver[0]),))
    project = project.model_copy(update={"alerts": alerts})
    table = PaimonCatalog(warehouse=project.warehouse).get_or_create(visits)
    for number in range(5):
        table.write_arrow(pa.table({"page": ["a"], "seconds": pa.array([number], pa.int32())}))
    evaluate(project, instance, "check_radar")
    cursor = evaluate(project, instance, "alerts").cursor
    (told,) = receiver[1].received
    assert told["kind"] == "backlog"
    assert told["console"] == "http://console/tables/shop.visits"
    done = definitions_of(project).resolve_job_def("compact_shop_visits").execute_in_process(instance=instance)
    evaluate(project, instance, "alerts", cursor)
    over = receiver[1].received[1]
    assert (over["subject"], over["state"], over["link"]) == (told["subject"], "recovered", told["link"])
    assert "compact_shop_visits at " in over["summary"]
    assert f"http://d/runs/{done.run_id}" in over["summary"]
    assert "The check says now: nothing is due" in over["summary"]


def test_a_target_that_is_down_makes_no_other_hear_twice(tmp_path: Path, receiver: Sink, second: Sink) -> None:
    targets = [hook(receiver), hook(second)]
    routes = Routes.of(written(tmp_path, alerts={"targets": targets}, tables=[{"identifier": "a.b"}]))
    second[1].down = True
    reported, _, troubles = tell(routes, {}, fault("x"), "")
    assert len(troubles) == 1
    second[1].down = False
    reported, _, _ = tell(routes, reported, fault("x"), "")
    assert subjects(receiver) == subjects(second) == [("x", "failed")]
    receiver[1].down = True
    reported, _, _ = tell(routes, reported, {}, "")
    assert reported["x"].heard
    receiver[1].down = False
    assert tell(routes, reported, {}, "")[0] == {}
    assert subjects(receiver) == subjects(second) == [("x", "failed"), ("x", "recovered")]


@pytest.mark.parametrize("text", ["", "no json", "[]", '{"x": "a subject"}', '{"x": {"subject": "a"}}'])
def test_a_torn_cursor_counts_as_none(text: str) -> None:
    assert parse_reported(text) == {}


def test_a_stale_table_is_told_to_those_who_asked_for_it(
    project: Project, instance: dg.DagsterInstance, receiver: Sink, second: Sink
) -> None:
    table = project.tables[0].model_copy(
        update={
            "checks": project.tables[0].checks.model_copy(update={"max_age": "1 ms"}),
            "alerts": project.tables[0].alerts.model_copy(
                update={"targets": (Webhook(kind="webhook", url=second[0]),)}
            ),
        }
    )
    alerts = Alerts(targets=(Webhook(kind="webhook", url=receiver[0]),))
    project = project.model_copy(update={"tables": (table,), "alerts": alerts})
    opened = PaimonCatalog(warehouse=project.warehouse).get_or_create(table)
    opened.write_arrow(pa.table({"id": pa.array([1], pa.int64()), "status": ["new"]}), commit_user="feed")
    time.sleep(0.01)
    evaluate(project, instance, "check_radar")
    evaluate(project, instance, "alerts")
    assert subjects(receiver) == subjects(second) == [("Check freshness of shop.orders", "failed")]
    (alert,) = second[1].received
    assert "by 'feed'" in alert["summary"]
    assert alert["tables"] == ["shop.orders"]


def test_the_expiry_of_all_tables_is_told_to_those_whose_steps_failed(
    project: Project, instance: dg.DagsterInstance, receiver: Sink, second: Sink
) -> None:
    own = project.tables[1].alerts.model_copy(
        update={"targets": (Webhook(kind="webhook", url=second[0]),), "instead": True}
    )
    tables = (project.tables[0], project.tables[1].model_copy(update={"alerts": own}))
    alerts = Alerts(targets=(Webhook(kind="webhook", url=receiver[0]),))
    project = project.model_copy(update={"tables": tables, "alerts": alerts})
    created = PaimonCatalog(warehouse=project.warehouse).get_or_create(project.tables[0])
    created.write_arrow(pa.table({"id": pa.array([1], pa.int64()), "status": ["new"]}))
    job = definitions_of(project).resolve_job_def("expire_all")
    assert not job.execute_in_process(instance=instance, raise_on_error=False).success  # shop.visits is not there
    evaluate(project, instance, "alerts")
    assert subjects(second) == [("Run of expire_all", "failed")]
    assert second[1].received[0]["tables"] == ["shop.visits"]
    assert subjects(receiver) == []


def test_a_sensor_that_has_died_is_told(instance: dg.DagsterInstance) -> None:
    now = time.time()
    for name, ticked in (("alerts", now - 20), ("check_radar", now - 7200), ("latest_snapshots", now - 20)):
        instance.add_instigator_state(state_of(name, ticked))
    (actual,) = sensor_faults(instance, "http://dagster", now).values()
    assert actual.subject == "Sensor check_radar"
    assert "has not ticked for 120 minutes" in actual.summary
    assert "daemon" in actual.fix
    (state,) = [state for state in instance.all_instigator_state() if state.name == "check_radar"]
    instance.update_instigator_state(state.with_status(InstigatorStatus.STOPPED))
    assert not sensor_faults(instance, "", now), "a person switched it off"


def test_a_daemon_that_was_down_itself_raises_no_alarm_at_its_first_tick(instance: dg.DagsterInstance) -> None:
    now = time.time()
    for name in ("alerts", "check_radar"):
        instance.add_instigator_state(state_of(name, now - 7200))
    assert not sensor_faults(instance, "", now)


def test_the_test_command_reaches_every_target(
    tmp_path: Path,
    receiver: Sink,
    second: Sink,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    written(
        tmp_path,
        alerts={"targets": [hook(receiver)]},
        patterns=[{"pattern": "sales.*", "alerts": {"targets": [hook(second, format="slack")]}}],
    )
    monkeypatch.setenv("PAIMON_TABLES", str(tmp_path / "alerts.yaml"))
    assert main([]) == 0
    assert (len(receiver[1].received), len(second[1].received)) == (1, 1)
    assert receiver[1].received[0]["subject"] == "Test alert"
    assert main(["hr.people"]) == 0
    assert (len(receiver[1].received), len(second[1].received)) == (2, 1)
    second[1].down = True
    assert main(["sales.orders"]) == 1
    assert "webhook: HTTP Error 503" in capsys.readouterr().out


def test_links_start_where_dagster_is(monkeypatch: pytest.MonkeyPatch, receiver: Sink, second: Sink) -> None:
    monkeypatch.delenv("PAIMON_DAGSTER_URL", raising=False)
    assert Alerts().address == "", "no address is better than a wrong one"
    monkeypatch.setenv("PAIMON_DAGSTER_URL", "http://127.0.0.1:3100/")
    assert Alerts().address == "http://127.0.0.1:3100"
    assert Alerts(url="https://dagster.example/").address == "https://dagster.example", "tables.yaml goes first"
    for link, shown in (("http://d/runs/1", "<http://d/runs/1|Open in Dagster>"), ("/runs/1", "In Dagster: /runs/1")):
        alert = Alert("x", "failed", "x", "It is broken.", "Mend it.", link)
        Webhook(kind="webhook", url=receiver[0], format="slack").send(alert)
        assert receiver[1].received[-1]["blocks"][-1]["elements"][0]["text"] == shown


def test_every_fault_has_a_next_step(project: Project, instance: dg.DagsterInstance) -> None:
    @dg.job
    def broken() -> None:
        @dg.op
        def fails() -> None:
            raise dg.Failure("The disk is full.")

        fails()

    assert not broken.execute_in_process(instance=instance, raise_on_error=False).success
    (alert,) = run_faults(instance, project.tables, "http://d").values()
    assert alert.summary.endswith("The disk is full.")
    assert alert.fix
    for check, said in (("changelog_holds", "Two keys differ."), ("fsck", "A file is gone. Next step: Restore it.")):
        key = dg.AssetKey(["shop", "orders"])
        instance.report_runless_asset_event(
            dg.AssetCheckEvaluation(asset_key=key, check_name=check, passed=False, description=said)
        )
    holds, fsck = check_faults(instance, project.tables, "http://d").values()
    assert (holds.summary, bool(holds.fix)) == ("Two keys differ.", True)
    assert (fsck.summary, fsck.fix) == ("A file is gone.", "Restore it.")


def test_the_jobs_behind_commit_users_are_named(tmp_path: Path, instance: dg.DagsterInstance, receiver: Sink) -> None:
    project = written(
        tmp_path,
        history=None,
        alerts={"targets": [hook(receiver)]},
        patterns=[{"pattern": "db.*", "writers": {"etl-orders_*": "Flink job orders, team A", "spark-*": "unused"}}],
        tables=[{"identifier": "db.t", "writers": {"spark-batch": "Spark job prices, http://jobs.example/7"}}],
    ).with_patterns([])
    table = create_table(tmp_path / "lake", options={"bucket": "1", "write-only": "true"})
    for number, user in enumerate(("etl-orders_8c1f", "spark-batch", "etl-orders_8c1f")):
        table.write_arrow(
            pa.table({"id": pa.array([1], pa.int32()), "v": ["x"]}), commit_user=user, commit_identifier=number
        )
    evaluate(project, instance, "check_radar")
    evaluate(project, instance, "alerts")
    (alert,) = [one for one in receiver[1].received if one["subject"] == "Check no_bucket_overlap of db.t"]
    assert "'etl-orders_8c1f' (Flink job orders, team A)" in alert["summary"]
    assert "'spark-batch' (Spark job prices, http://jobs.example/7)" in alert["summary"]
