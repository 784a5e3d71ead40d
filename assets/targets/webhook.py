"""Alerts as HTTP POST, in a JSON of their own or in Slack's block format."""

import json
import urllib.request
from dataclasses import asdict
from typing import Any, Literal

from pydantic import Field

from maintenance.options.environment import from_environment
from paimon_maintenance.assets.targets.alert import Alert
from paimon_maintenance.assets.targets.target import Target

_TIMEOUT_SECONDS = 10
# What Slack takes: characters of one text, and sections of one message beside the header and the links.
_SLACK_TEXT, _SLACK_SECTIONS = 3000, 40
_SIGNS = {"failed": ":red_circle:", "recovered": ":large_green_circle:", "report": ":large_blue_circle:"}


class Webhook(Target):
    """Alerts as an HTTP POST. A text of the form ${NAME} is read from the environment when it is needed."""

    kind: Literal["webhook"]
    url: str
    format: Literal["json", "slack"] = Field(default="json", description="Generic JSON, or Slack's blocks.")

    def send(self, alert: Alert) -> None:
        """Send one alert. Raises: OSError: the receiver cannot be reached or does not answer with success."""
        body = slack_blocks(alert) if self.format == "slack" else {"source": "paimon-maintenance", **asdict(alert)}
        request = urllib.request.Request(
            from_environment(self.url, "alert targets"),
            json.dumps(body).encode(),
            {"Content-Type": "application/json", "User-Agent": "paimon-maintenance"},
        )
        with urllib.request.urlopen(request, timeout=_TIMEOUT_SECONDS) as answer:
            answer.read()


def slack_blocks(alert: Alert) -> dict[str, Any]:
    """The alert as Slack's incoming webhooks take it."""
    sign = _SIGNS[alert.state]
    text = alert.summary + (f"\n*Next step:* {alert.fix}" if alert.fix else "")
    blocks: list[dict[str, Any]] = [
        {"type": "header", "text": {"type": "plain_text", "text": alert.title[:150]}},
        *({"type": "section", "text": {"type": "mrkdwn", "text": part}} for part in _parts(f"{sign} {text}")),
    ]
    if alert.place:
        place = f"<{alert.link}|Open in Dagster>" if alert.is_linked else alert.place
        blocks.append({"type": "context", "elements": [{"type": "mrkdwn", "text": place}]})
    if alert.console:
        text = f"<{alert.console}|Open in the console>"
        blocks.append({"type": "context", "elements": [{"type": "mrkdwn", "text": text}]})
    return {"text": f"{alert.title}: {alert.summary}"[:_SLACK_TEXT], "blocks": blocks}


def _parts(text: str) -> list[str]:
    """The text, cut between lines, in parts that Slack takes: a message about many problems has many lines."""
    parts = [""]
    for line in text.splitlines():
        joined = f"{parts[-1]}\n{line}".strip()
        if len(joined) <= _SLACK_TEXT:
            parts[-1] = joined
        else:
            parts.append(line[:_SLACK_TEXT])
    return [part for part in parts if part][:_SLACK_SECTIONS]
