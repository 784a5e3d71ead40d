"""The health of a table as its page leads with it: the score, its parts over a week, what comes next and why."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

import dagster as dg

from maintenance.monitor.judgement import Judgement
from maintenance.monitor.score import GOOD, HealthRecord, Part
from maintenance.monitor.triggers import NOTHING_DUE
from paimon_maintenance.assets.checks.health_past import SCORE, past_of
from paimon_maintenance.assets.pages.table_page import due_of
from paimon_maintenance.console.pictures.trend import Trend


@dataclass(frozen=True, slots=True)
class HealthLine:
    """A part of the health. `week`: a line through its values; `at_target`: when it is there, if it rises so on."""

    part: Part
    week: Trend | None
    at_target: datetime | None

    @property
    def limit(self) -> str:
        """The target: ``30 sorted runs``, ``10 files (small files)``."""
        text, name = self.part.text(self.part.target), self.part.name.replace("_", " ")
        return text if name in text else f"{text} ({name})"


@dataclass(frozen=True, slots=True)
class HealthView:
    """The health of a table. `week`: of the score; `lines`: those first that cost the score most."""

    record: HealthRecord
    week: Trend | None
    lines: Sequence[HealthLine]

    @property
    def over(self) -> Sequence[HealthLine]:
        """The parts beyond their targets."""
        return [line for line in self.lines if line.part.state != GOOD]

    @property
    def rising(self) -> HealthLine | None:
        """The part that is at its target first."""
        dated = [line for line in self.lines if line.at_target is not None]
        return min(dated, key=lambda line: line.at_target or self.record.at, default=None)


def health_view(instance: dg.DagsterInstance, table: str, record: HealthRecord) -> HealthView:
    """The health of a table, with what ticks of the sensor have kept of it."""
    past, now = past_of(instance, [table])[table], record.at
    parts = [*record.worst, *(part for part in record.parts if part.state == GOOD)]
    return HealthView(
        record,
        Trend.through(past.series(SCORE, now), now, lambda value: f"{value:.0f}", "health", full=100),
        [
            HealthLine(
                part,
                Trend.through(past.series(part.name, now), now, part.text, part.name.replace("_", " ")),
                past.reaches(part, now),
            )
            for part in parts
        ],
    )


def reason(judgements: Sequence[Judgement]) -> str:
    """Why something is planned, or has to be: what is due, else what is wrong first; empty: nothing is."""
    failed = [judgement for judgement in judgements if not judgement.passed and judgement.check != NOTHING_DUE]
    return due_of(judgements) or (failed[0].summary if failed else "")
