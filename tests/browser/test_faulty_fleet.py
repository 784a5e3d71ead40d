"""Ten tables with one fault each, as an engineer on call meets them: an alert, the page it leads to, and the repair.

`tests/dagster/test_faulty_fleet.py` ticks the same sensors by hand; here the daemon does, by the clock.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from email.message import EmailMessage
from typing import Any

import pytest
from playwright.sync_api import Browser

from paimon_maintenance.assets import keys
from tests.browser import ui
from tests.browser.faulty_fleet import FAULTS, HEALTHY, MISSPELT, PROOF, Fault, Fleet
from tests.browser.servers import Dagster, receiving, receiving_mail, wait_for
from tests.browser.ui import Ui

pytestmark = pytest.mark.slow

FULL = "ops: {compact: {config: {full: true}}}"


@dataclass(frozen=True)
class Told:
    """What a message says of one problem: a message of its own, or a line of one that names several.

    `link`: to Dagster; `step`: the next step, empty when it is over.
    """

    subject: str
    state: str
    step: str
    link: str

    @classmethod
    def of(cls, alert: dict[str, Any]) -> list["Told"]:
        if not re.fullmatch(r"\d+ problems", alert["subject"]):
            return [cls(alert["subject"], alert["state"], alert["fix"], alert["link"])]
        lines = alert["summary"].splitlines()
        assert len(lines) == int(alert["subject"].split()[0])
        return [cls._of_line(line, alert["state"]) for line in lines]

    @classmethod
    def _of_line(cls, line: str, state: str) -> "Told":
        found = re.fullmatch(r"- ([^:]+): .+?(?: Next step: (.+))? (http\S+)", line)
        assert found is not None, line
        return cls(found[1], state, found[2] or "", found[3])

    def is_about(self, fault: Fault) -> bool:
        named = keys.job("compact", fault.table) if fault.needs_run else f"Check {fault.check} of {fault.table}"
        return self.subject.endswith(named)


@dataclass(frozen=True)
class OnCall:
    """What an engineer on call has: the fleet, the alerts that have come in, and a tab on Dagster.

    `slack`, `mails`: the same alerts, as a channel and a mailbox have got them.
    """

    fleet: Fleet
    dagster: Dagster
    alerts: list[dict[str, Any]]
    slack: list[dict[str, Any]]
    mails: list[EmailMessage]
    page: Ui

    def about(self, fault: Fault) -> list[Told]:
        return [told for alert in self.alerts for told in Told.of(alert) if told.is_about(fault)]

    def states(self) -> dict[str, list[str]]:
        """Table -> what was told of it: that it has failed, that it has recovered."""
        return {fault.table: [told.state for told in self.about(fault)] for fault in FAULTS}

    def open_check(self, fault: Fault) -> None:
        asset = "/".join(keys.asset_key(fault.table).path)
        self.page.open(f"/assets/{asset}?view=checks&checkDetail={fault.check}")

    def compact(self, table: str, outcome: str) -> None:
        """Launch the full compaction of a table, and wait for the event that ends it."""
        self.page.launch(keys.job("compact", table), FULL)
        self.page.run_ends(outcome)


@pytest.fixture
def on_call(tmp_path_factory: pytest.TempPathFactory, chromium: Browser) -> Iterator[OnCall]:
    """Web server and daemon over the fleet."""
    folder, shots = tmp_path_factory.mktemp("fleet"), ui.artifacts() / "faulty_fleet"
    shots.mkdir(exist_ok=True)
    with receiving() as (url, alerts), receiving() as (channel, slack), receiving_mail() as (port, mails):
        others = (
            f'{{kind: webhook, url: "{channel}", format: slack}}',
            f"{{kind: email, host: 127.0.0.1, port: {port}, sender: paimon@example.com, to: [oncall@example.com]}}",
        )
        fleet = Fleet(folder, url, others)
        fleet.build()
        dagster = Dagster(folder / "dagster", fleet.yaml, {}, logs=shots)
        try:
            dagster.wait_until_ready()
            with ui.tab(chromium, dagster.url, shots) as page:
                page.is_not_greeted()
                yield OnCall(fleet, dagster, alerts, slack, mails, page)
                page.shoot("end")
        finally:
            dagster.stop()


def test_ten_faults_are_told_once_with_red_checks_and_so_are_ten_recoveries(on_call: OnCall) -> None:
    page = on_call.page
    on_call.compact(PROOF, "RUN_FAILURE")
    page.shoot("failed_run")
    wait_for("an alert about each table", lambda: all(on_call.states().values()))
    for fault in FAULTS:
        sees_alert(on_call, fault)
    wait_for("every target", lambda: len(on_call.slack) == len(on_call.mails) == len(on_call.alerts))
    for alert in on_call.alerts:
        sees_it_everywhere(on_call, alert)
    for fault in FAULTS:
        on_call.open_check(fault)
        page.comes_to_show(fault.check, fault.cause, fault.step)
        page.sees(re.compile("^Failed"))
        page.is_well()
        page.shoot(f"red_{fault.table}")
    page.open("/assets")
    page.lists("fleet/broken_snapshot", "fleet/two_writers")
    page.shoot("catalogue_red")
    assert on_call.states() == {fault.table: ["failed"] for fault in FAULTS}, "each is told once"

    for fault in FAULTS:
        on_call.fleet.repair(fault)
    page.open("/locations")
    page.button(re.compile("Reload all"))
    wait_for("the corrected tables.yaml", lambda: on_call.dagster.asset_keys().isdisjoint({MISSPELT}))
    on_call.compact(PROOF, "RUN_SUCCESS")
    both = {fault.table: ["failed", "recovered"] for fault in FAULTS}
    wait_for("each recovery", lambda: on_call.states() == both)
    for fault in FAULTS:
        if fault.table != MISSPELT:
            on_call.open_check(fault)
            page.comes_to_show(fault.check, "Passed")
            page.is_well()
            page.shoot(f"green_{fault.table}")
    page.open("/assets")
    page.lists("fleet/orders")
    page.shoot("catalogue_green")
    assert on_call.states() == both, "nothing turns red again"
    assert not [alert for alert in on_call.alerts if HEALTHY in alert["tables"]]
    assert sum(len(Told.of(alert)) for alert in on_call.alerts) == 2 * len(FAULTS), "nothing else is told"


def sees_it_everywhere(on_call: OnCall, alert: dict[str, Any]) -> None:
    """Slack and e-mail say the same, with the next step and the link."""
    title = f"{alert['subject']} {alert['state']}"
    (blocks,) = [message["blocks"] for message in on_call.slack if message["blocks"][0]["text"]["text"] == title]
    text = "\n".join(block["text"]["text"] for block in blocks if block["type"] == "section")
    assert alert["summary"] in text
    assert alert["state"] == "recovered" or f"*Next step:* {alert['fix']}" in text
    (link,) = [block["elements"][0]["text"] for block in blocks if block["type"] == "context"]
    assert link == f"<{alert['link']}|Open in Dagster>"
    (mail,) = [mail for mail in on_call.mails if mail["Subject"] == f"[paimon] {title}"]
    body = " ".join(mail.get_content().split())
    step = f"Next step: {alert['fix']}" if alert["fix"] else ""
    assert " ".join(f"{alert['summary']} {step} {alert['link']}".split()) in body


def sees_alert(on_call: OnCall, fault: Fault) -> None:
    """What is told says what to do, and its link leads to a page that says the same."""
    (told,) = on_call.about(fault)
    assert told.state == "failed"
    assert told.step
    on_call.page.open(told.link.removeprefix("http://dagster.example"))
    on_call.page.sees(fault.check if fault.table != PROOF else "RUN_FAILURE")
