"""What a compaction did, group by group, and the summary that a running one keeps.

The summary keeps an outcome for each unit of work. A group is as bad as its worst unit, however many others succeeded.
When a group is planned again, what it failed at before no longer counts; what was committed does.
"""

import time
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from maintenance.amounts import number_of, size_text
from maintenance.compaction.proof.settings import ProofResult, together
from maintenance.compaction.rewriting import CompactionResult
from maintenance.errors import ConflictError, PaimonError, worst_of
from maintenance.format.metadata.data_file import DataFileMeta
from maintenance.format.metadata.snapshot import Snapshot
from maintenance.operations.compaction.plan import Group, Unit, reason_of
from maintenance.operations.operation import OperationReport
from maintenance.table.compactors import warnings_of
from maintenance.table.shape import TableShape
from maintenance.table.table import Table
from maintenance.types.row_kind import KIND_TEXTS

PLANNED = "planned"
COMMITTED = "committed"
NOTHING_TO_DO = "nothing_to_do"
CONFLICT_RETRIED = "conflict_retried"
FAILED = "failed"
SKIPPED = "skipped"
# From the worst to the best: what several units of one group make of it.
_WORST_FIRST = (FAILED, SKIPPED, CONFLICT_RETRIED, COMMITTED, PLANNED, NOTHING_TO_DO)
_DONE = (COMMITTED, CONFLICT_RETRIED)
_MESSAGES_SHOWN = 5
_PLAN_AGAIN = "Run it again when its writers are quiet: it plans the rest on the new state."


@dataclass(frozen=True, slots=True)
class GroupResult:
    """What became of one (partition, bucket).

    Attributes:
        bucket: -2 for the rows that wait in the postpone bucket.
        outcome: ``planned`` (dry run), ``committed``, ``conflict_retried`` (committed after another writer won once or
            more), ``nothing_to_do``, ``skipped`` (in the scope, but left alone) or ``failed``; the worst of its units.
        input_files, input_bytes: what was committed replaced; where nothing was, what was chosen for compaction.
        output_files, output_bytes: written or kept. Sizes in bytes.
        message: why it was chosen, or what went wrong.
        error: the worst of what went wrong, by its class; None where nothing did.
        proof: the digest of the rows that were proved; empty where there was no proof.
        units: how many units of work ended with each outcome.
        tasks: that did the work; more than units where a large bucket was cut by its keys.
    """

    partition: str
    bucket: int
    outcome: str
    input_files: int = 0
    output_files: int = 0
    input_bytes: int = 0
    output_bytes: int = 0
    input_rows: int = 0
    output_rows: int = 0
    message: str = ""
    proof: str = ""
    units: Mapping[str, int] = field(default_factory=dict)
    tasks: int = 1
    error: PaimonError | None = None

    @property
    def changed(self) -> bool:
        """Whether something of the group was committed, even if other units of it failed."""
        return any(self.units.get(outcome) for outcome in _DONE)


@dataclass(frozen=True, slots=True)
class CompactReport(OperationReport):
    """What a compaction did.

    Attributes:
        snapshot_ids: the COMPACT snapshots it made.
        changelog_rows: rows of changelog produced, by kind text.
        compacted_through: the newest snapshot whose changes in the scope were all looked at; None before the first
            commit, after a dry run, and when a group failed or was skipped.
        proof: how the rewrites that were committed were proved, and what that took.
        finding: that the scope's condition matches no partition; None if it does.
        warnings: what is to be known about compacting this table.
    """

    table: str
    base_snapshot_id: int | None
    snapshot_ids: tuple[int, ...]
    groups: tuple[GroupResult, ...]
    before: TableShape
    after: TableShape
    changelog_rows: Mapping[str, int] = field(default_factory=dict)
    compacted_through: int | None = None
    seconds: float = 0.0
    proof: Mapping[str, object] = field(default_factory=dict)
    finding: str | None = None
    warnings: tuple[str, ...] = ()

    def count(self, outcome: str) -> int:
        """Groups with that outcome."""
        return sum(group.outcome == outcome for group in self.groups)

    @property
    def failed(self) -> tuple[GroupResult, ...]:
        return tuple(group for group in self.groups if group.outcome == FAILED)


def said(report: CompactReport) -> Iterator[str]:
    """What became smaller by a compaction, and by how much."""
    if report.dry_run:
        return
    changed = [group for group in report.groups if group.changed]
    if not changed:
        yield f"{report.table}: there was nothing to do."
        return
    before = number_of(sum(group.input_files for group in changed), "file")
    after = number_of(sum(group.output_files for group in changed), "file")
    sizes = size_text(sum(group.input_bytes for group in changed)), size_text(sum(g.output_bytes for g in changed))
    groups = number_of(len(changed), "bucket")
    yield f"{report.table}: {before} of {sizes[0]} in {groups} became {after} of {sizes[1]}."
    yield f"The table had {number_of(report.before.files, 'file')} before and has {report.after.files:,} now."


class CompactionSummary:
    """Gathers what becomes of each group while a compaction runs."""

    def __init__(self, table: Table) -> None:
        self._table = table
        self._started = time.monotonic()
        self._units: dict[Group, list[GroupResult]] = {}
        self._changelog = [0] * len(KIND_TEXTS)
        self._proofs: dict[Group, list[ProofResult]] = {}
        self.snapshot_ids: list[int] = []

    @property
    def groups(self) -> tuple[GroupResult, ...]:
        """What became of each group so far."""
        results = [_together(units, together(self._proofs.get(group, ()))) for group, units in self._units.items()]
        return tuple(sorted(results, key=lambda group: (group.partition, group.bucket)))

    @property
    def changelog_rows(self) -> Mapping[str, int]:
        """Rows of changelog that were committed, by kind text."""
        return dict(zip(KIND_TEXTS, self._changelog, strict=True))

    def finish(self, result: CompactionResult, outcome: str) -> None:
        """A unit was committed."""
        message = result.message
        before, after = message.compact_before, message.compact_after
        group = (message.partition, message.bucket)
        entry = self._result(
            group,
            outcome,
            input_files=len(before),
            output_files=len(after),
            input_bytes=sum(f.file_size for f in before),
            output_bytes=sum(f.file_size for f in after),
            input_rows=sum(f.row_count for f in before),
            output_rows=sum(f.row_count for f in after),
            tasks=result.tasks,
        )
        self._add(group, entry)
        self._proofs.setdefault(group, []).append(result.proof)
        self._changelog = [a + b for a, b in zip(self._changelog, result.changelog_rows, strict=True)]

    def plan(self, unit: Unit) -> None:
        """A unit is planned."""
        self.plan_files((unit.partition, unit.bucket), unit.input_files, reason_of(unit))

    def plan_files(self, group: Group, files: Sequence[DataFileMeta], reason: str) -> None:
        """The same for files of a group."""
        self._add(group, self._result(group, PLANNED, message=reason, **_chosen(files)))

    def fail_unit(self, unit: Unit, error: PaimonError) -> None:
        """A unit failed before its commit."""
        self.fail_files((unit.partition, unit.bucket), unit.input_files, [error])

    def fail_files(self, group: Group, files: Sequence[DataFileMeta], errors: Sequence[PaimonError]) -> None:
        """The same for files of a group. `errors`: one or more."""
        message = "; ".join(dict.fromkeys(map(str, errors)))
        self._add(group, self._result(group, FAILED, message=message, error=worst_of(errors), **_chosen(files)))

    def idle(self, group: Group, message: str = "", *, files: int = 0) -> None:
        """A group needs nothing."""
        self._add(group, self._result(group, NOTHING_TO_DO, input_files=files, message=message))

    def skip(self, group: Group, reason: str) -> None:
        """A group is left alone."""
        self._add(group, self._result(group, SKIPPED, message=reason))

    def fail(self, groups: Iterable[Group], error: PaimonError) -> None:
        """Groups that came to nothing."""
        for group in groups:
            self._add(group, self._result(group, FAILED, message=str(error), error=error))

    def plan_again(self, groups: Iterable[Group]) -> None:
        """All work that is left in these groups is planned again: only what was committed in them still counts."""
        for group in groups:
            self._units[group] = [unit for unit in self._units.pop(group, ()) if unit.outcome in _DONE]
            if not self._units[group]:
                del self._units[group]

    def knows(self, group: Group) -> bool:
        return group in self._units

    def give_up(self, lost: Mapping[Group, str]) -> None:
        """Groups that other writers kept changing."""
        for group, reason in lost.items():
            problem = f"{reason}; other writers kept winning"
            self.fail([group], ConflictError(problem, f"table {self._table.identifier}", _PLAN_AGAIN))

    def report(
        self, base: Snapshot | None, before: TableShape, after: TableShape, *, is_done: bool = True
    ) -> CompactReport:
        """The report. `base`: the snapshot first planned on."""
        base_id = None if base is None else base.id
        # What was skipped was not looked at either.
        complete = is_done and all(group.outcome not in (FAILED, SKIPPED) for group in self.groups)
        proofs = [proof for of_group in self._proofs.values() for proof in of_group]
        return CompactReport(
            table=self._table.identifier,
            base_snapshot_id=base_id,
            snapshot_ids=tuple(self.snapshot_ids),
            groups=self.groups,
            before=before,
            after=after,
            changelog_rows=self.changelog_rows,
            compacted_through=base_id if complete else None,
            seconds=time.monotonic() - self._started,
            proof=together(proofs).summary if proofs else {},
            warnings=warnings_of(self._table),
        )

    def _add(self, group: Group, unit: GroupResult) -> None:
        self._units.setdefault(group, []).append(unit)

    def _result(self, group: Group, outcome: str, *, message: str = "", **numbers: Any) -> GroupResult:
        partition = str(self._table.paths.partition(group[0]))
        return GroupResult(partition, group[1], outcome, message=message, **numbers)


def _together(units: Sequence[GroupResult], proof: ProofResult) -> GroupResult:
    """The units of one group as the result of the group."""
    counts = Counter(unit.outcome for unit in units)
    worst = next(outcome for outcome in _WORST_FIRST if counts[outcome])
    counted = [unit for unit in units if unit.outcome in _DONE] or units
    errors = [unit.error for unit in units if unit.error is not None]
    return replace(
        units[0],
        outcome=worst,
        input_files=sum(unit.input_files for unit in counted),
        output_files=sum(unit.output_files for unit in counted),
        input_bytes=sum(unit.input_bytes for unit in counted),
        output_bytes=sum(unit.output_bytes for unit in counted),
        input_rows=sum(unit.input_rows for unit in counted),
        output_rows=sum(unit.output_rows for unit in counted),
        message=_messages(units, worst),
        proof=proof.text,
        units=dict(counts),
        tasks=sum(unit.tasks for unit in counted),
        error=worst_of(errors) if errors else None,
    )


def _chosen(files: Sequence[DataFileMeta]) -> dict[str, int]:
    """The numbers of files that were chosen and not rewritten."""
    size = rows = 0
    for file in files:
        size, rows = size + file.file_size, rows + file.row_count
    return {"input_files": len(files), "input_bytes": size, "input_rows": rows}


def _messages(units: Sequence[GroupResult], outcome: str) -> str:
    """What the units with that outcome say, each thing once; where only some units failed, how many of them."""
    messages = list(dict.fromkeys(unit.message for unit in units if unit.outcome == outcome and unit.message))
    text = "; ".join(messages[:_MESSAGES_SHOWN])
    text += f"; and {len(messages) - _MESSAGES_SHOWN} more" if len(messages) > _MESSAGES_SHOWN else ""
    failed = sum(unit.outcome == FAILED for unit in units)
    return f"{failed} of {number_of(len(units), 'unit')} failed: {text}" if 0 < failed < len(units) else text
