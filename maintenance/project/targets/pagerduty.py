"""Alerts as incidents of PagerDuty: triggered when a fault begins, resolved when it is over."""

import hashlib
from typing import Any, ClassVar, Literal

from pydantic import Field

from maintenance.options.environment import from_environment
from maintenance.project.targets.alert import Alert, Kind
from maintenance.project.targets.target import Target
from maintenance.project.targets.webhook import post

# What PagerDuty takes: characters of a summary, and of the key of a fault.
_SUMMARY, _KEY = 1024, 255
_EVENTS = "https://events.pagerduty.com/v2/enqueue"


class PagerDuty(Target):
    """A service of PagerDuty. A text of the form ${NAME} is read from the environment when it is needed.

    It gets no reports: they are about no fault.
    """

    takes_bundles: ClassVar[bool] = False

    kind: Literal["pagerduty"]
    routing_key: str = Field(description="The integration key of the service, for Events API v2.")
    url: str = Field(default=_EVENTS, description="Where events go.")

    def takes(self, kind: Kind) -> bool:
        """Whether alerts of a kind go here."""
        return kind != "report" and super().takes(kind)

    def send(self, alert: Alert) -> None:
        """Send one alert. Raises: OSError: PagerDuty cannot be reached, or refuses the event."""
        key, url = (from_environment(text, "alert targets") for text in (self.routing_key, self.url))
        post(url, event_of(alert, key))


def event_of(alert: Alert, routing_key: str) -> dict[str, Any]:
    """The alert as an event: the incident that it opens or closes has the fault as its key."""
    fault = alert.fault if len(alert.fault) <= _KEY else hashlib.sha256(alert.fault.encode()).hexdigest()
    event = {"routing_key": routing_key, "dedup_key": fault}
    if alert.state == "recovered":
        return {**event, "event_action": "resolve"}
    links = {alert.opened_in: alert.link if alert.is_linked else "", "The table in the console": alert.console}
    return {
        **event,
        "event_action": "trigger",
        "client": "paimon-maintenance",
        "payload": {
            "summary": f"{alert.title}: {alert.summary}"[:_SUMMARY],
            "source": ", ".join(alert.tables) or alert.subject,
            "severity": alert.severity,
            "component": alert.subject,
            "class": alert.kind,
            "custom_details": {"found": alert.summary, "next step": alert.fix, "where": alert.place},
        },
        "links": [{"href": href, "text": text} for text, href in links.items() if href],
    }
