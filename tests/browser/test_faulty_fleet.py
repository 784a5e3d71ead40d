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

    def about(self, fault: Fault) -> list[dict[str, Any]]:
        return [alert for alert in self.alerts if alert["tables"] == [fault.table]]

    def states(self) -> dict[str, list[str]]:
        """Table -> the states of the alerts about it."""
        return {fault.table: [alert["state"] for alert in self.about(fault)] for fault in FAULTS}

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


def test_ten_faults_are_ten_alerts_ten_red_checks_and_ten_recoveries(on_call: OnCall) -> None:
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
    assert on_call.states() == {fault.table: ["failed"] for fault in FAULTS}, "one alert each"

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


def sees_it_everywhere(on_call: OnCall, alert: dict[str, Any]) -> None:
    """Slack and e-mail say the same, with the next step and the link."""
    title = f"{alert['subject']} {alert['state']}"
    (blocks,) = [message["blocks"] for message in on_call.slack if message["blocks"][0]["text"]["text"] == title]
    assert f"*Next step:* {alert['fix']}"[:200] in blocks[1]["text"]["text"]
    assert blocks[2]["elements"][0]["text"] == f"<{alert['link']}|Open in Dagster>"
    (mail,) = [mail for mail in on_call.mails if mail["Subject"] == f"[paimon] {title}"]
    body = " ".join(mail.get_content().split())
    assert " ".join(f"Next step: {alert['fix']} {alert['link']}".split()) in body


def sees_alert(on_call: OnCall, fault: Fault) -> None:
    """The alert says what to do, and its link leads to a page that says the same."""
    (alert,) = on_call.about(fault)
    assert alert["state"] == "failed"
    assert alert["fix"]
    on_call.page.open(alert["link"].removeprefix("http://dagster.example"))
    on_call.page.sees(fault.check if fault.table != PROOF else "RUN_FAILURE")
