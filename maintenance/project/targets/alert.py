"""What an alert says, whatever it is sent by."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

Kind = Literal["damage", "conflict", "invisible", "backlog", "space", "stale", "run", "sensor", "settings", "report"]
"""What an alert is about, the most severe first: a target may take some kinds alone."""


Severity = Literal["error", "warning", "info"]
"""How urgent an alert is: rows are wrong or in danger, or work has failed; something piles up; nothing is wrong."""
SEVERITIES: Mapping[Kind, Severity] = {
    "damage": "error",
    "conflict": "error",
    "invisible": "error",
    "run": "error",
    "backlog": "warning",
    "space": "warning",
    "stale": "warning",
    "sensor": "warning",
    "settings": "warning",
    "report": "info",
}


@dataclass(frozen=True, slots=True)
class Alert:
    """One message.

    Attributes:
        fault: identifies what is wrong: the same for its beginning and its end.
        state: whether it begins or is over; or a report, which is about no fault.
        subject: what it is about: a check of a table, a job, a sensor.
        summary: what was found; `fix`: the next step, empty when it is over.
        link: to the run or the asset in Dagster; only a path where the server's address is not known.
        tables: whose fault it is; none where it is not a table's.
        kind: of what it is about.
        console: the table's page in the console; empty where nobody has said where that is.
        severity: of its kind.
        opened_in: what the link leads to.
    """

    fault: str
    state: Literal["failed", "recovered", "report"]
    subject: str
    summary: str
    fix: str = ""
    link: str = ""
    tables: tuple[str, ...] = ()
    kind: Kind = "run"
    console: str = ""
    severity: Severity = field(init=False)
    opened_in: str = "Dagster"

    def __post_init__(self) -> None:
        object.__setattr__(self, "severity", SEVERITIES[self.kind])

    @property
    def title(self) -> str:
        return self.subject if self.state == "report" else f"{self.subject} {self.state}"

    @property
    def is_linked(self) -> bool:
        """Whether the link can be opened."""
        return "://" in self.link

    @property
    def place(self) -> str:
        """Where to look, for people."""
        return self.link if self.is_linked or not self.link else f"In {self.opened_in}: {self.link}"
