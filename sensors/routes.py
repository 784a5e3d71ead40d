"""Who is notified of what, and who has been notified already."""

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass

from maintenance.project.config import Project
from maintenance.project.policies import TableAlerts
from maintenance.project.targets.alert import Alert, Kind
from maintenance.project.targets.target import Target


def id_of(target: Target) -> str:
    """A target's identity in the cursor: of its settings, which may hold secrets."""
    # A target that gets everything is known as it was before there was a choice.
    left_out = None if target.only else {"only"}
    return hashlib.sha256(target.model_dump_json(exclude=left_out).encode()).hexdigest()[:12]


@dataclass(frozen=True, slots=True)
class Routes:
    """`project`: who is notified where no table says otherwise; `tables`: what the tables say."""

    project: tuple[Target, ...]
    tables: Mapping[str, TableAlerts]

    @classmethod
    def of(cls, project: Project) -> "Routes":
        return cls(project.alerts.targets, {table.identifier: table.alerts for table in project.tables})

    def of_tables(self, tables: Iterable[str]) -> dict[str, Target]:
        """The targets of a fault of these tables, by id; of no table: the project's."""
        own_alerts = [self.tables[table] for table in tables if table in self.tables]
        chosen: list[Target] = [target for alerts in own_alerts for target in alerts.targets]
        if not own_alerts or not all(alerts.instead for alerts in own_alerts):
            chosen = [*self.project, *chosen]
        return {id_of(target): target for target in chosen}

    def of_fault(self, alert: Alert) -> dict[str, Target]:
        """The targets of a fault, by id: those of its tables that take its kind; none while all its tables are muted.

        A fault whose tables are muted is told once they no longer are, if it is still open then.
        """
        muted = [table in self.tables and self.tables[table].is_muted() for table in alert.tables]
        if muted and all(muted):
            return {}
        return {number: target for number, target in self.of_tables(alert.tables).items() if target.takes(alert.kind)}

    def all(self) -> dict[str, Target]:
        """Every target, by id."""
        return {**{id_of(target): target for target in self.project}, **self.of_tables(self.tables)}


@dataclass(frozen=True, slots=True)
class Reported:
    """A fault that people know of.

    Attributes:
        heard: ids of the targets that took it, and do not know yet that it is over.
        link, kind: as they were told. at: when, seconds since 1970.
    """

    subject: str
    tables: tuple[str, ...] = ()
    heard: tuple[str, ...] = ()
    link: str = ""
    kind: Kind = "run"
    at: float = 0.0


def parse_reported(text: str | None) -> dict[str, Reported]:
    """The cursor: fault -> who knows of it. One that makes no sense counts as none."""
    try:
        stored = json.loads(text or "{}")
        return {str(fault): Reported(str(entry["subject"]), tuple(entry["tables"]), tuple(entry["heard"]),
                                     str(entry.get("link", "")), entry.get("kind", "run"), float(entry.get("at", 0.0)))
                for fault, entry in stored.items()}  # fmt: skip
    except (ValueError, TypeError, KeyError, AttributeError):
        return {}


def reported_text(reported: Mapping[str, Reported]) -> str:
    """The text of a cursor."""
    return json.dumps({fault: asdict(entry) for fault, entry in reported.items()}, sort_keys=True)
