"""Alerts as HTTP POST, in a JSON of their own, in Slack's block format or as a card of Teams."""

import json
import urllib.request
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any, Literal

from pydantic import Field

from maintenance.amounts import number_of
from maintenance.options.environment import from_environment
from maintenance.project.targets.alert import Alert
from maintenance.project.targets.target import Target

_TIMEOUT_SECONDS = 10
# What Slack takes: characters of one text, and sections of one message beside the header and the links.
_SLACK_TEXT, _SLACK_SECTIONS = 3000, 40
# What Teams takes: 28 KB a message.
_TEAMS_TEXT = 16000
_COLORS = {"failed": "Attention", "recovered": "Good", "report": "Accent"}
_SIGNS = {"failed": ":red_circle:", "recovered": ":large_green_circle:", "report": ":large_blue_circle:"}


class Webhook(Target):
    """Alerts as an HTTP POST. A text of the form ${NAME} is read from the environment when it is needed."""

    kind: Literal["webhook"]
    url: str
    format: Literal["json", "slack", "teams"] = Field(
        default="json", description="Generic JSON, Slack's blocks, or a card of Teams."
    )

    def send(self, alert: Alert) -> None:
        """Send one alert. Raises: OSError: the receiver cannot be reached or does not answer with success."""
        match self.format:
            case "slack":
                body = slack_blocks(alert)
            case "teams":
                body = teams_card(alert)
            case _:
                body = {"source": "paimon-maintenance", **asdict(alert)}
        post(from_environment(self.url, "alert targets"), body)


def post(url: str, body: Mapping[str, Any]) -> None:
    """Send JSON. Raises: OSError: the receiver cannot be reached or does not answer with success."""
    headers = {"Content-Type": "application/json", "User-Agent": "paimon-maintenance"}
    request = urllib.request.Request(url, json.dumps(body).encode(), headers)
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
        place = f"<{alert.link}|Open in {alert.opened_in}>" if alert.is_linked else alert.place
        blocks.append({"type": "context", "elements": [{"type": "mrkdwn", "text": place}]})
    if alert.console:
        text = f"<{alert.console}|Open in the console>"
        blocks.append({"type": "context", "elements": [{"type": "mrkdwn", "text": text}]})
    return {"text": f"{alert.title}: {alert.summary}"[:_SLACK_TEXT], "blocks": blocks}


def teams_card(alert: Alert) -> dict[str, Any]:
    """The alert as the webhooks of Teams' workflows take it: an adaptive card."""
    lines = _cut(alert.summary.splitlines(), _TEAMS_TEXT)
    if alert.fix:
        lines.append(f"**Next step:** {alert.fix}")
    if alert.place and not alert.is_linked:
        lines.append(alert.place)
    title = {"type": "TextBlock", "text": alert.title, "weight": "Bolder", "size": "Medium", "wrap": True}
    links = {f"Open in {alert.opened_in}": alert.link if alert.is_linked else "", "Open in the console": alert.console}
    card = {
        "$schema": "http://adaptivecards.io/schemas/adaptive-card.json",
        "type": "AdaptiveCard",
        "version": "1.4",
        "body": [
            {**title, "color": _COLORS[alert.state]},
            *({"type": "TextBlock", "text": line, "wrap": True} for line in lines),
        ],
        "actions": [{"type": "Action.OpenUrl", "title": text, "url": url} for text, url in links.items() if url],
    }
    attached = {"contentType": "application/vnd.microsoft.card.adaptive", "contentUrl": None, "content": card}
    return {"type": "message", "attachments": [attached]}


def _cut(lines: list[str], most: int) -> list[str]:
    """As many of the lines as have so many characters together, and how many do not."""
    kept: list[str] = []
    for number, line in enumerate(line[:most] for line in lines):
        if sum(map(len, kept)) + len(line) > most:
            return [*kept, f"and {number_of(len(lines) - number, 'more line')}"]
        kept.append(line)
    return kept


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
