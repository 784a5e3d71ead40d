"""Prove the compactions of others: Flink's, Spark's, pypaimon's, which nothing has compared with what they replaced.

A COMPACT snapshot may change where rows are, and never which rows there are. So the rows of each bucket that one has
changed are merged twice, from the files of the snapshot before and from its own, and have to be the same; what readers
see without a merge has to be what a merge gives; the files written have to be what their manifest entries say; and its
part of the changelog has to turn the one state into the other. What came in until the snapshot before is in that
state, so what a compaction loses of it is found as well. Source: data sections 5 and 6.
"""

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Annotated

from maintenance.amounts import number_of, size_text
from maintenance.commit.identity import is_ours
from maintenance.errors import ExpiredError, NotFoundError, OptionError
from maintenance.format.metadata.snapshot import CommitKind, Snapshot
from maintenance.format.metadata.snapshot_identity import SnapshotIdentity
from maintenance.merge.aggregated import configured_function
from maintenance.metadata.partition_value import PartitionValue
from maintenance.metadata.paths import bucket_text
from maintenance.operations.checks.audit_bucket import AuditTask
from maintenance.operations.checks.audit_changelog import compaction_audit, wrong_changes
from maintenance.operations.checks.compacted_buckets import compacted_buckets
from maintenance.operations.checks.proved_bucket import BucketProof, CompactedBucket, prove_bucket
from maintenance.operations.operation import Operation, Plan, Run, Shown, as_asked
from maintenance.operations.parameters import Param
from maintenance.options import table as table_options
from maintenance.spark.tasks import TaskError, run_tasks
from maintenance.table.chain import chain_of
from maintenance.table.table import Table

_UNCERTAIN = frozenset({"hll_sketch", "theta_sketch", "rbm32", "rbm64"})
"""Functions whose results have several forms that mean the same."""


@dataclass(frozen=True, slots=True)
class WrongBucket:
    """What is wrong with one bucket. `found`: sentences; `examples`: rows that differ, as texts."""

    partition: PartitionValue
    bucket: int
    found: tuple[str, ...]
    examples: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class CompactionProof:
    """The verdict over one compaction.

    Attributes:
        snapshot_id, commit_user: of the compaction.
        buckets: how many it changed. rows: compared, as they were before.
        keys_left_out: that retractions took part in, where the engine does not take one record whole.
        bytes: of the files that were read, for its changelog, too.
        wrong: buckets that are not what they were; `changelog`: what is wrong with its changes, empty = nothing.
        not_proved: why it could not be judged; empty: it was.
        fix: how to go back; empty: nothing is wrong.
    """

    snapshot_id: int
    commit_user: str
    buckets: int = 0
    rows: int = 0
    keys_left_out: int = 0
    bytes: int = 0
    wrong: tuple[WrongBucket, ...] = ()
    changelog: str = ""
    not_proved: str = ""
    fix: str = ""

    @property
    def holds(self) -> bool:
        """Whether it was judged and nothing is wrong."""
        return not (self.wrong or self.changelog or self.not_proved)


@dataclass(frozen=True, slots=True)
class ProveCompactionsReport:
    """The verdicts, oldest first.

    Attributes:
        until: the newest snapshot that was looked at; 0 = there is none. A later proof may begin behind it.
        left_out: columns whose values are not compared, since a merge in other steps may give other bytes.
    """

    table: str
    until: int
    proofs: tuple[CompactionProof, ...] = ()
    left_out: tuple[str, ...] = ()
    seconds: float = 0.0

    @property
    def failed(self) -> tuple[CompactionProof, ...]:
        return tuple(proof for proof in self.proofs if proof.wrong or proof.changelog)

    @property
    def not_proved(self) -> tuple[CompactionProof, ...]:
        return tuple(proof for proof in self.proofs if proof.not_proved)


@dataclass(frozen=True, slots=True)
class ProveCompactions:
    """Which compactions to prove."""

    since: Annotated[
        int | None,
        Param("Prove the compactions after this snapshot; empty: after the earliest one.", least=0),
    ] = None
    until: Annotated[int | None, Param("The last snapshot to look at; empty: the newest.", least=1)] = None
    own: Annotated[
        bool, Param("Also prove this project's own compactions, which it proved before committing them.")
    ] = False
    max_bytes: Annotated[
        int | None,
        Param("Stop after reading this many bytes, the newest compactions first; empty: read all.", least=0),
    ] = None
    percent: Annotated[
        int, Param("The percentage of compactions to prove; the sample is always the same.", least=1)
    ] = 100


def apply(run: Run, table: Table, planned: Plan[ProveCompactions, None]) -> ProveCompactionsReport:
    """Judge the compactions asked for, the newest first."""
    asked, started = planned.request, time.monotonic()
    table_options.check_readable(table.options, table.identifier)
    chosen = _compactions(table, asked)
    budget, proofs = asked.max_bytes, []
    for number, snapshot in enumerate(reversed(chosen), 1):
        run.progress(f"snapshot {snapshot.id} of {snapshot.commit_user} ({number} of {len(chosen)})")
        proof = _proved(run, table, snapshot, budget)
        budget = None if budget is None else budget - proof.bytes
        proofs.append(proof)
    latest = table.snapshots.latest_id() or 0
    until = latest if asked.until is None else min(asked.until, latest)
    seconds = time.monotonic() - started
    report = ProveCompactionsReport(table.identifier, until, tuple(reversed(proofs)), _left_out(table), seconds)
    for line in _said(report):
        run.progress(line)
    return report


def _compactions(table: Table, asked: ProveCompactions) -> list[Snapshot]:
    """Those to prove, oldest first. Raises: OptionError: the range is the wrong way round."""
    if asked.since is not None and asked.until is not None and asked.until < asked.since:
        problem = f"compactions behind snapshot {asked.since} up to {asked.until}"
        raise OptionError(problem, table.identifier, "Set since to an earlier snapshot than until.")
    ids = [
        number
        for number in table.snapshots.list_ids()
        if number > (asked.since or 0) and (asked.until is None or number <= asked.until)
    ]
    found = (table.snapshots.find(number) for number in ids)
    return [
        snapshot
        for snapshot in found
        if snapshot is not None
        and (asked.own or is_of_others(snapshot))
        and snapshot.commit_kind == CommitKind.COMPACT
        and _drawn(snapshot, asked.percent)
    ]


def is_of_others(snapshot: Snapshot) -> bool:
    """Whether another engine has committed this compaction."""
    return snapshot.commit_kind == CommitKind.COMPACT and not is_ours(snapshot)


def _drawn(snapshot: Snapshot, percent: int) -> bool:
    """Whether a sample of so many of 100 has the snapshot."""
    return percent >= 100 or int(SnapshotIdentity.of(snapshot).digest, 16) % 100 < percent


def _proved(run: Run, table: Table, snapshot: Snapshot, budget: int | None) -> CompactionProof:
    proof = CompactionProof(snapshot.id, snapshot.commit_user)
    before = table.snapshots.find(snapshot.id - 1)
    reason = _unprovable(table)
    if before is None:
        reason = reason or f"snapshot {snapshot.id - 1}, whose rows it has to have, has expired"
    if reason or before is None:
        return replace(proof, not_proved=reason)
    seen = table.with_schema(snapshot.schema_id)
    try:
        tasks = compacted_buckets(seen, before, snapshot, _left_out(seen))
        changes = compaction_audit(table, before.id, snapshot.id) if _makes_changelog(table) else []
        sizes = [task.bytes for task in tasks]
        total = sum(sizes) + sum(task.bytes for task in changes)
        proof = replace(proof, buckets=len(tasks))
        if budget is not None and total > budget:
            return replace(proof, not_proved=f"max_bytes has too little left for its {size_text(total)}")
        verdicts = _judged(run, tasks, sizes)
        proof = replace(
            proof,
            rows=sum(verdict.rows for verdict in verdicts),
            keys_left_out=sum(verdict.keys_left_out for verdict in verdicts),
            bytes=total,
            wrong=tuple(_wrong(table, verdict) for verdict in verdicts if verdict.wrong),
            changelog=_wrong_changelog(run, table, changes),
        )
    except (ExpiredError, NotFoundError) as error:
        return replace(proof, not_proved=f"what it replaced is gone: {error.found}")
    return replace(proof, fix=_way_back(table, snapshot)) if proof.wrong or proof.changelog else proof


def _unprovable(table: Table) -> str:
    """Why no compaction of a table can be proved; empty: they can be."""
    if table.model.record_level_expire_time is not None:
        return "rows past 'record-level.expire-time' leave the table when it is compacted"
    if table.model.is_postponed:
        return "its compactions give waiting rows their buckets"
    return "a chain table's rows are those of several branches" if chain_of(table) is not None else ""


def _left_out(table: Table) -> tuple[str, ...]:
    """Columns of which a merge in other steps may give other bytes: sums of fractions, and sketches."""
    if table.model.merge_engine not in ("aggregation", "partial-update"):
        return ()
    functions = {field: configured_function(field, table.options) for field in table.schema.fields}
    return tuple(
        field.name
        for field, function in functions.items()
        if function in _UNCERTAIN or (function in ("sum", "product") and field.type.root in ("FLOAT", "DOUBLE"))
    )


def _judged(run: Run, tasks: Sequence[CompactedBucket], sizes: Sequence[int]) -> list[BucketProof]:
    verdicts: list[BucketProof] = []
    for outcome in run_tasks(run.session(), prove_bucket, tasks, sizes=sizes):
        if isinstance(outcome, TaskError):
            raise outcome.error
        verdicts.append(outcome)
    return verdicts


def _wrong(table: Table, verdict: BucketProof) -> WrongBucket:
    return WrongBucket(table.paths.partition(verdict.partition), verdict.bucket, verdict.wrong, verdict.examples)


def _makes_changelog(table: Table) -> bool:
    """Whether compactions make the changelog."""
    return table.model.changelog_producer in ("lookup", "full-compaction")


def _wrong_changelog(run: Run, table: Table, tasks: Sequence[AuditTask]) -> str:
    """What is wrong with the changes that a compaction made; empty: nothing."""
    if not tasks:
        return ""
    return "; ".join(
        f"the changelog of {bucket_text(table.paths.partition(wrong.partition), wrong.bucket)} does not explain"
        f" {number_of(wrong.keys, 'key')}: {', '.join(wrong.examples)}"
        for wrong in wrong_changes(run.session(), tasks)
    )


def _way_back(table: Table, snapshot: Snapshot) -> str:
    call = f"rollback_to_as_latest('{table.identifier}', {snapshot.id - 1})"
    return (
        f"Stop the writer '{snapshot.commit_user}'. Snapshot {snapshot.id - 1} has the rows as they were: read it with"
        f" VERSION AS OF {snapshot.id - 1}, or make it the newest state with CALL sys.{call} and write again what came"
        " later."
    )


_COLUMNS = ("snapshot_id", "commit_user", "partition", "bucket", "found", "examples", "fix")


def _rows(report: ProveCompactionsReport) -> Iterator[tuple[str | None, ...]]:
    for proof in report.failed:
        start = (str(proof.snapshot_id), proof.commit_user)
        for wrong in proof.wrong:
            shown = (str(wrong.partition), str(wrong.bucket), "; ".join(wrong.found), "; ".join(wrong.examples))
            yield (*start, *shown, proof.fix)
        if proof.changelog:
            yield (*start, None, None, proof.changelog, "", proof.fix)


def _said(report: ProveCompactionsReport) -> Iterator[str]:
    proved = [proof for proof in report.proofs if proof.holds]
    rows, size = sum(proof.rows for proof in report.proofs), sum(proof.bytes for proof in report.proofs)
    yield (
        f"{number_of(len(proved), 'compaction')} of {len(report.proofs):,} proved, {len(report.failed):,} failed:"
        f" {number_of(rows, 'row')} compared, {size_text(size)} read."
    )
    yield from (f"Snapshot {proof.snapshot_id} was not proved: {proof.not_proved}." for proof in report.not_proved)
    keys = sum(proof.keys_left_out for proof in report.proofs)
    if keys:
        yield f"Left out: {number_of(keys, 'key')} with retractions, which merged in other steps may have other values."
    if report.left_out:
        yield f"Values of {', '.join(report.left_out)} were not compared: a merge in other steps may give other bytes."


OPERATION = Operation(
    "prove_compactions",
    "Prove that compactions of other engines left every row as it was.",
    ProveCompactions,
    as_asked,
    apply,
    shown=lambda report: Shown.findings(_COLUMNS, _rows(report)),
    uses_spark=True,
    looks_only=True,
)


prove_compactions = OPERATION.function(
    """Prove, bucket by bucket, that compactions committed by other engines kept every row.

    Args:
        spark: its tasks compare, one bucket each; None = this process does.
        progress: called with a line for each compaction.
    Raises: OptionError: the range is the wrong way round; CorruptFileError: metadata cannot be read. What is wrong
        with a compaction is in the report.

    >>> report = prove_compactions(None, table)
    >>> [proof.snapshot_id for proof in report.failed]
    []
    """,
    takes=("progress",),
    spark_first=True,
)
