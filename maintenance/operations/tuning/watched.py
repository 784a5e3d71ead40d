"""Changes of settings that are watched, as the history has them: each step of each change is a row.

What is about to be done is written down before it is done: whoever finds a change that was begun looks at the table,
and knows what is missing. The schemas of the table say what was set since then, and by how many hands.
"""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import IntEnum
from typing import Any

from maintenance.operations.history import HistoryEntry
from maintenance.operations.tuning.measured import Measured
from maintenance.table.table import Table

TUNE_SETTINGS = "tune_settings"


class Step(IntEnum):
    """How far a change has come, in this order."""

    APPLYING = 0
    WATCHED = 1
    TAKING_BACK = 2
    KEPT = 3
    TAKEN_BACK = 4
    ENDED = 5

    @property
    def text(self) -> str:
        return self.name.lower().replace("_", " ")

    @property
    def is_last(self) -> bool:
        return self >= Step.KEPT


@dataclass(frozen=True, slots=True)
class Change:
    """A change of one option.

    Attributes:
        key: the option, which had the value `before`, None = unset, and gets `after`.
        step: the last one that is written down; `at`: when; `applied_at`: when the watch began.
        schema_id, snapshot_id: the newest of the table, when this step was written down.
        measured: before the change.
        by_others: it ended since somebody else set the option.
    """

    id: str
    key: str
    before: str | None
    after: str
    step: Step
    at: datetime
    schema_id: int
    snapshot_id: int
    measured: Measured
    begun_at: datetime
    applied_at: datetime | None = None
    by_others: bool = False

    @property
    def text(self) -> str:
        """What is changed: ``'option' = '5' to '8'``."""
        old = "unset" if self.before is None else f"'{self.before}'"
        return f"'{self.key}' from {old} to '{self.after}'"

    def entry(self, table: Table, step: Step, reason: str, now: datetime, **more: Any) -> HistoryEntry:
        """The row of the history that says so."""
        details = {
            "change": self.id,
            "step": step.text,
            "reason": reason,
            "option": self.key,
            "before": self.before,
            "after": self.after,
            "schema_id": table.schema.id,
            **more,
        }
        newest = table.snapshots.latest_id() or 0
        return HistoryEntry(now, table.identifier, TUNE_SETTINGS, snapshot_id=newest, details=details)

    def was_set(self, table: Table, value: str | None) -> bool:
        """Whether the option had this value in a schema since the last step was written down."""
        ids = [each for each in table.schemas.list_ids() if each > self.schema_id]
        return any(table.schemas.get(each).options.get(self.key) == value for each in ids)


def changes_of(rows: Iterable[Mapping[str, Any]]) -> list[Change]:
    """All changes of a table, the first that was begun first. `rows`: of the history."""
    told: dict[str, dict[Step, Mapping[str, Any]]] = {}
    steps = {step.text: step for step in Step}
    for row in rows:
        details = json.loads(row["details"] or "{}")
        if details.get("step") in steps:
            told.setdefault(details["change"], {})[steps[details["step"]]] = {**row, **details}
    found = []
    for name, by_step in told.items():
        first = by_step.get(Step.APPLYING)
        if first is None:
            continue
        step = max(by_step)
        newest, applied = by_step[step], by_step.get(Step.WATCHED)
        made = Change(
            name,
            first["option"],
            first["before"],
            first["after"],
            step,
            newest["finished_at"],
            newest["schema_id"],
            newest["snapshot_id"],
            Measured(**first["measured"]),
            first["finished_at"],
            None if applied is None else applied["finished_at"],
            bool(newest.get("by_others")),
        )
        found.append(made)
    return sorted(found, key=lambda each: (each.begun_at, each.id))
