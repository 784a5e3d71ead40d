"""What calls of operations get from a tables.yaml, in `paimonctl` and in Airflow alike."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import partial
from typing import Any

from maintenance.monitor.health import Rules
from maintenance.operations.expiry.rules import RetentionChoice
from maintenance.operations.fleet.health import JudgedBy
from maintenance.operations.history import HISTORY_DATABASE
from maintenance.operations.operation import BY_FLEET, BY_HEALTH, BY_RETENTION
from maintenance.project.chain import retention
from maintenance.project.config import Project
from maintenance.project.effective import said_of


@dataclass(frozen=True, slots=True)
class Given:
    """Arguments of a call, and fields of its request that no argument names. `said`: where the file says it."""

    arguments: Mapping[str, Any] = field(default_factory=dict)
    beside: Mapping[str, Any] = field(default_factory=dict)
    said: str = ""


def given_by(project: Project, kind: str, table: str) -> Given:
    """What a call gets. `kind`: as `Operation.by_tables_yaml`; `table`: that the call is about."""
    described = project.table(table)
    if kind == BY_RETENTION and described is not None:
        arguments = {name: value for name, value in retention(described, described.zone).items() if value is not None}
        return Given(arguments, said=said_of(described, "retention"))
    if kind == BY_FLEET:
        return Given(beside={"settings": project.fleet_settings(partial(_kept, project, datetime.now(UTC)))})
    return Given(beside={"settings": judged_by(project)}) if kind == BY_HEALTH else Given()


def judged_by(project: Project) -> JudgedBy:
    """By what the tables of a project are judged."""

    def rules(identifier: str) -> Rules:
        table = project.table(identifier)
        return Rules() if table is None else table.rules

    def writers(identifier: str) -> Mapping[str, str]:
        table = project.table(identifier)
        return {} if table is None else table.writers

    def owners(identifier: str) -> str:
        table = project.table(identifier)
        return "" if table is None else ", ".join(table.owners)

    # The others are created by a first run.
    expected = [table.identifier for table in project.tables if not table.columns]
    return JudgedBy(rules, writers, project.history or HISTORY_DATABASE, owners, expected)


def _kept(project: Project, now: datetime, identifier: str) -> RetentionChoice:
    """What the expiry of a table keeps."""
    table = project.table(identifier)
    return RetentionChoice() if table is None else table.kept(now)
