"""Sends each target what it does not know yet: new faults, and faults that are over.

What comes at the first start, or at once in numbers, is one message that names all of it; so are several recoveries.
"""

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Literal, get_args

from maintenance.amounts import number_of
from maintenance.project.targets.alert import Alert, Kind
from maintenance.project.targets.target import Target
from paimon_maintenance.assets.project.console_address import console_address
from paimon_maintenance.sensors.routes import Reported, Routes

# So many new faults at once are posted one by one, unless nobody was told anything before.
_SINGLE = 20
_LISTED = 30
Over = Callable[[str, Reported], str]


def tell(
    routes: Routes,
    reported: Mapping[str, Reported],
    now: Mapping[str, Alert],
    url: str,
    *,
    first: bool = False,
    over: Over = lambda _, __: "",
) -> tuple[dict[str, Reported], list[str], list[str]]:
    """Send to each target what it does not know yet.

    Args:
        reported: the faults reported so far. now: those that are open.
        first: nothing was ever reported; all that is open is one message.
        over: what was done about a fault that is gone, given its name and what was reported.

    Returns: the faults and who knows of them; the titles of what was sent; what went wrong.
    """
    sending = _Sending({}, [])
    after: dict[str, Reported] = {}
    heard = {fault: reported[fault].heard if fault in reported else () for fault in now}
    news: dict[str, list[Alert]] = {}
    known: dict[str, Target] = {}
    for fault, alert in now.items():
        for number, target in routes.of_fault(alert).items():
            known[number] = target
            if number not in heard[fault]:
                news.setdefault(number, []).append(alert)
    for number, alerts in news.items():
        bundled = known[number].takes_bundles and len(alerts) > (1 if first else _SINGLE)
        for part in [alerts] if bundled else [[alert] for alert in alerts]:
            if sending.took(_bundle(part, url), known[number]):
                for alert in part:
                    heard[alert.fault] += (number,)
    for fault, alert in now.items():
        if heard[fault]:
            at = reported[fault].at if fault in reported else time.time()
            after[fault] = Reported(alert.subject, alert.tables, heard[fault], alert.link, alert.kind, at)
    return after | _recovered(sending, routes, reported, now, url, over), list(sending.titles), sending.troubles


def _recovered(
    sending: "_Sending",
    routes: Routes,
    reported: Mapping[str, Reported],
    now: Mapping[str, Alert],
    url: str,
    over: Over,
) -> dict[str, Reported]:
    """Tell those who know of them which faults are gone; returns those of which somebody could not be told."""
    targets, news = routes.all(), dict[str, list[Alert]]()
    for fault, before in reported.items():
        reached = [number for number in before.heard if number in targets] if fault not in now else []
        if reached:
            text = " ".join(part for part in (_left(before, now.values()), over(fault, before)) if part)
            link = before.link or url
            page = console_address("tables", before.tables[0]) if len(before.tables) == 1 else ""
            alert = Alert(fault, "recovered", before.subject, text, "", link, before.tables, before.kind, page)
            for number in reached:
                news.setdefault(number, []).append(alert)
    unreached: dict[str, Reported] = {}
    for number, alerts in news.items():
        for part in [alerts] if targets[number].takes_bundles else [[alert] for alert in alerts]:
            if sending.took(_bundle(part, url), targets[number]):
                continue
            for alert in part:
                left = unreached.get(alert.fault, replace(reported[alert.fault], heard=()))
                unreached[alert.fault] = replace(left, heard=(*left.heard, number))
    return unreached


class _Sending:
    """What was sent. `titles`: in order, each once; `troubles`: what went wrong."""

    def __init__(self, titles: dict[str, None], troubles: list[str]) -> None:
        self.titles, self.troubles = titles, troubles

    def took(self, alert: Alert, target: Target) -> bool:
        """Whether the target took an alert."""
        try:
            target.send(alert)
        except Exception as error:  # noqa: BLE001 - a target that is down must not silence the others
            self.troubles.append(f"{target.kind}: {error}")
            return False
        self.titles[alert.title] = None
        return True


def _bundle(alerts: Sequence[Alert], url: str) -> Alert:
    """Several alerts of one state as one message of their most severe kind, each a line; a single one as it is."""
    if len(alerts) == 1:
        return alerts[0]
    lines = [_line(alert) for alert in alerts[:_LISTED]]
    lines += [f"and {len(alerts) - _LISTED} more"] if len(alerts) > _LISTED else []
    tables = tuple(dict.fromkeys(table for alert in alerts for table in alert.tables))
    state: Literal["failed", "recovered", "report"] = alerts[0].state
    fix = "Begin with the first one." if state == "failed" else ""
    fault = ",".join(alert.fault for alert in alerts)
    kind = min((alert.kind for alert in alerts), key=get_args(Kind).index)
    text = "\n".join(lines)
    return Alert(fault, state, number_of(len(alerts), "problem"), text, fix, url, tables, kind, console_address(""))


def _line(alert: Alert) -> str:
    step = f" Next step: {alert.fix}" if alert.fix else ""
    place = f" {alert.place}" if alert.place else ""
    return f"- {alert.subject}: {alert.summary}{step}{place}"


def _left(before: Reported, open_faults: Iterable[Alert]) -> str:
    """What is said of a fault that is gone: that it is, and not that everything is, where something is left."""
    still_open = [alert.subject for alert in open_faults if set(alert.tables) & set(before.tables)]
    return f"This problem is over. Still open: {', '.join(still_open)}." if still_open else "This problem is over."
