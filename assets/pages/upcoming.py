"""What is next for a table and why, what it has cost, and the jobs that do it."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from maintenance.amounts import number_of, size_text
from maintenance.errors import PaimonError
from maintenance.operations.fleet.actions import EXPIRE
from maintenance.operations.fleet.fleet_costs import Work
from maintenance.operations.fleet.plan_fleet import FleetLine, next_of_table, not_measured
from maintenance.operations.fleet.settings import Prices
from maintenance.project.config import TableConfig
from paimon_maintenance.assets import keys
from paimon_maintenance.assets.checks.judging import TableHealth

_DAYS = 7
_SHOWN = 10
# Actions that a job of each table does, and its first step.
_OF_TABLES = {"compact": ("compact", "compact"), "expire_snapshots": ("expire", "tag")}


def job_of_action(line: FleetLine, *, dry_run: bool) -> tuple[str, str]:
    """What does an action, limited to its partitions: ``compact``, ``expire`` or the job of statements; its config."""
    if line.operation in _OF_TABLES:
        action, step = _OF_TABLES[line.operation]
        chosen = json.dumps(list(line.partitions), ensure_ascii=False)
        said = [*([f"partitions: {chosen}"] if line.partitions else []), *(["dry_run: true"] if dry_run else [])]
        return action, f"ops: {{{step}: {{config: {{{', '.join(said)}}}}}}}" if said else ""
    call = json.dumps(f"CALL sys.{line.operation}(table => '{line.table}')", ensure_ascii=False)
    config = f"{{statement: {call}, dry_run: {str(dry_run).lower()}}}"
    return keys.STATEMENT, f"ops: {{{keys.STATEMENT_OP}: {{config: {config}}}}}"


@dataclass(frozen=True, slots=True)
class Upcoming:
    """What is next for a table, the best first; what was done in a week; prices: None: there are none."""

    lines: Sequence[FleetLine]
    work: Work
    prices: Prices | None

    @classmethod
    def of(
        cls, config: TableConfig, health: TableHealth, past: Sequence[Mapping[str, Any]], now: datetime
    ) -> "Upcoming | None":
        """None where it cannot be planned; its checks say why.

        Args: `health`: what was found of the table; `past`: rows of its history, newest first.
        """
        if health.table is None:
            return None
        settings, since, work = config.fleet_settings(now), now - timedelta(days=_DAYS), Work()
        for row in past:
            if row["finished_at"] >= since:
                work = work.and_row(row)
        try:
            compacted = health.table.copy(config.compaction.options(health.table.is_primary_key_table))
            lines = next_of_table(compacted, past, settings, now, lambda *_: health.expiry)
        except PaimonError:
            return None
        if health.expiry is None and health.kept is not None and health.kept.due:
            why = f"{number_of(health.kept.due, 'snapshot')} can expire; its plan adds up what that frees"
            lines = (*lines, not_measured(health.table.identifier, EXPIRE, why))
        return cls(lines, work, settings.prices)

    def rows(self) -> list[dict[str, str]]:
        """A row for each action; none where nothing is worth doing."""
        return [self._row(line) for line in self.lines[:_SHOWN]]

    def _row(self, line: FleetLine) -> dict[str, str]:
        row = {
            "what": what_of(line),
            "why": line.reason,
            "files less": f"{line.gain.files:,}" if line.gain.files else "",
            "frees": size_text(line.gain.bytes) if line.gain.bytes else "",
            "seconds": f"{line.expected.seconds:,.1f}" if line.expected.seconds else "",
        }
        if self.prices is None:
            return row
        cost = self.prices.of_work(line.expected.seconds, 0)
        return {**row, f"costs, {self.prices.currency}": f"{cost:,.4f}" if line.expected.seconds else ""}

    def links(self, to: Callable[[str, str], str], room: int) -> str:
        """Markdown with what plans and applies each action, as many as there is room for. `to`: a job with a config."""
        found = ""
        for line in self.lines:
            if not line.is_action:
                continue
            plan, apply = (to(*job_of_action(line, dry_run=dry)) for dry in (True, False))
            more = f"{' · ' if found else ''}{what_of(line)}: [plan]({plan}), [apply]({apply})"
            if len(found) + len(more) > room:
                break
            found += more
        return found

    def costs(self, stored: int) -> dict[str, str]:
        """What the work of a week was, and what it cost. `stored`: bytes that the table takes now."""
        work, prices = self.work, self.prices
        row = {
            "runs in 7 days": f"{work.runs:,}",
            "seconds": f"{work.seconds:,.1f}",
            "of processors": f"{work.core_seconds:,.1f}",
            "read": size_text(work.read_bytes),
            "written": size_text(work.written_bytes),
            "freed": size_text(work.freed),
            "files less": f"{work.files_less:,}",
            "stored": size_text(stored),
        }
        if prices is None:
            return row
        spent = prices.of_work(work.core_seconds, work.requests or 0)
        money = {
            "spent": spent,
            "storage a month": prices.of_month(stored),
            "saved a month": prices.of_month(work.freed),
        }
        return {**row, **{f"{name}, {prices.currency}": f"{value:,.4f}" for name, value in money.items()}}


def what_of(line: FleetLine) -> str:
    """``compact month=2``."""
    return f"{line.operation.replace('_', ' ')} {line.scope}".strip()
