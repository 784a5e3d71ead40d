"""The asset check of compactions that other engines have made: each is proved once, or a sample is.

What was proved is remembered in the metadata of the check's own results, so it survives restarts: the newest snapshots
up to which was looked, and the compactions that failed. These keep the check red until the table was rolled back
behind them, or somebody has acknowledged them.
"""

import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import dagster as dg
from dagster import AssetCheckKey, DagsterInstance
from pydantic import Field

from maintenance.amounts import number_of, size_text
from maintenance.commit.identity import OPERATION_PROPERTY
from maintenance.format.metadata.manifest import FileKind
from maintenance.format.metadata.snapshot_identity import SnapshotIdentity
from maintenance.metadata.paths import bucket_text
from maintenance.monitor.acknowledged import but_acknowledged
from maintenance.monitor.judgement import Judgement
from maintenance.operations.acknowledgements.acknowledged import acknowledged
from maintenance.operations.checks.prove_compactions import (
    CompactionProof,
    ProveCompactionsReport,
    prove_compactions,
)
from maintenance.operations.refs.rollback_to_as_latest import OPERATION as ROLLBACK
from maintenance.project.config import TableConfig
from maintenance.project.policies import ProofsPolicy
from maintenance.table.acknowledged import COMPACTIONS_PROVED
from maintenance.table.table import Table
from paimon_maintenance.assets import keys
from paimon_maintenance.assets.checks.closing import EXAMINED, last_settled, latest_results, settled_history
from paimon_maintenance.assets.checks.judgements import check_result
from paimon_maintenance.assets.resources.catalog import PaimonCatalog
from paimon_maintenance.assets.resources.spark import Spark
from paimon_maintenance.assets.runs.failures import as_dagster_failure

_MEMORY, _READ = "remembered", "bytes read"
_DAY_SECONDS = 86_400.0
_RESULTS_LOOKED_AT = 200
_TRAIL, _SHOWN = 50, 10


class ProofConfig(dg.Config):
    """Which compactions to prove."""

    since: int | None = Field(
        default=None, ge=0, description="The snapshot behind which; empty: behind what was proved before."
    )
    until: int | None = Field(default=None, ge=1, description="The last snapshot to look at; empty: the newest.")
    max_bytes: int | None = Field(
        default=None, ge=0, description="How much to read; empty: what the policy 'proofs' leaves of the day."
    )


@dataclass(frozen=True, slots=True)
class FailedProof:
    """A compaction that is wrong. `snapshot`: what it is; `rows`: of the check's table: bucket, what is wrong, rows."""

    snapshot: str
    commit_user: str
    rows: Sequence[Mapping[str, str]]
    fix: str

    @property
    def snapshot_id(self) -> int:
        found = SnapshotIdentity.parse(self.snapshot)
        return 0 if found is None else found.id

    @classmethod
    def of(cls, table: Table, proof: CompactionProof) -> "FailedProof":
        snapshot = table.snapshots.get(proof.snapshot_id)
        rows = [
            _row(bucket_text(wrong.partition, wrong.bucket), "; ".join(wrong.found), wrong.examples)
            for wrong in proof.wrong
        ]
        rows += [_row("changelog", proof.changelog, ())] if proof.changelog else []
        return cls(str(SnapshotIdentity.of(snapshot)), proof.commit_user, rows, proof.fix)

    @property
    def text(self) -> str:
        """A sentence about it."""
        first = self.rows[0]
        shown = f": {first['rows that differ']}" if first["rows that differ"] else ""
        more = f", and {len(self.rows) - 1} more" if len(self.rows) > 1 else ""
        return (
            f"snapshot {self.snapshot_id} by '{self.commit_user}' is wrong in {first['bucket']}{more}:"
            f" {first['what is wrong']}{shown}"
        )


def _row(bucket: str, found: str, examples: Iterable[str]) -> Mapping[str, str]:
    return {"bucket": bucket, "what is wrong": found, "rows that differ": "; ".join(examples)}


@dataclass(frozen=True, slots=True)
class Proved:
    """What is remembered of the compactions of a table. `trail`: what the snapshots were up to which was looked, the
    newest last; `failed`: those that are wrong.
    """

    trail: tuple[str, ...] = ()
    failed: tuple[FailedProof, ...] = ()

    @classmethod
    def of(cls, instance: DagsterInstance, spot: keys.Spot) -> "Proved":
        """As the newest result of the check says it."""
        key = check_key(spot)
        newest = latest_results(instance, [spot], [key.name]).get((spot, key.name))
        settled = None if newest is None else last_settled(instance, key, newest)
        found = None if settled is None or settled.evaluation is None else settled.evaluation.metadata.get(_MEMORY)
        stored: Any = found.value if found is not None else {}
        return cls(tuple(stored.get("trail", ())), tuple(FailedProof(**failed) for failed in stored.get("failed", ())))

    @property
    def metadata(self) -> Mapping[str, Any]:
        stored = {
            "trail": list(self.trail[-_TRAIL:]),
            "failed": [
                {"snapshot": f.snapshot, "commit_user": f.commit_user, "rows": list(f.rows), "fix": f.fix}
                for f in self.failed
            ],
        }
        return {_MEMORY: dg.MetadataValue.json(stored)}

    def up_to(self, table: Table) -> int | None:
        """The newest snapshot of the table up to which was looked; None: there is none, as after a rollback."""
        earliest = table.snapshots.earliest_id() or 1
        for text in reversed(self.trail):
            identity = SnapshotIdentity.parse(text)
            if identity is not None and (identity.id < earliest or _is_there(table, identity)):
                return identity.id
        return None

    def after(self, table: Table, report: ProveCompactionsReport) -> "Proved":
        """With what a report says, and without what the table no longer has."""
        known = {failed.snapshot: failed for failed in self.failed if not _is_undone(table, failed)}
        known |= {failed.snapshot: failed for proof in report.failed for failed in (FailedProof.of(table, proof),)}
        until = table.snapshots.find(report.until) if report.until else None
        trail = self.trail if until is None else (*self.trail, str(SnapshotIdentity.of(until)))
        return Proved(tuple(dict.fromkeys(trail)), tuple(sorted(known.values(), key=lambda f: f.snapshot_id)))


def _is_there(table: Table, identity: SnapshotIdentity) -> bool:
    snapshot = table.snapshots.find(identity.id)
    return snapshot is not None and SnapshotIdentity.of(snapshot) == identity


def _is_undone(table: Table, failed: FailedProof) -> bool:
    """Whether the table was rolled back behind a compaction."""
    identity = SnapshotIdentity.parse(failed.snapshot)
    if identity is None or identity.id < (table.snapshots.earliest_id() or 1):
        return False
    snapshot = table.snapshots.find(identity.id)
    if snapshot is None or SnapshotIdentity.of(snapshot) != identity:
        return True
    added = {e.file.file_name for e in table.manifests.delta_entries(snapshot) if e.kind == FileKind.ADD}
    for later in table.snapshots.newest_first():
        if later.id <= identity.id:
            return False
        if (later.properties or {}).get(OPERATION_PROPERTY) == ROLLBACK.name:
            return bool(added) and added.isdisjoint(e.file.file_name for e in table.manifests.live_entries(later))
    return False


def check_key(spot: keys.Spot) -> AssetCheckKey:
    """The check of a table's compactions."""
    return AssetCheckKey(spot.asset, COMPACTIONS_PROVED)


def read_today(instance: DagsterInstance, spot: keys.Spot, now: float) -> int:
    """The bytes that proofs of a table have read in the last 24 hours. `now`: seconds since 1970."""
    total = 0
    for record in settled_history(instance, check_key(spot), _RESULTS_LOOKED_AT, spot.partition):
        if record.create_timestamp < now - _DAY_SECONDS:
            break
        metadata = {} if record.evaluation is None else record.evaluation.metadata
        if EXAMINED not in metadata and _READ in metadata:  # what is only repeated has read nothing
            total += int(metadata[_READ].value)
    return total


def proved_now(
    context: Any, config: ProofConfig, catalog: PaimonCatalog, spark: Spark, of: TableConfig
) -> dg.AssetCheckResult:
    """The result of `compactions_proved`. `context`: of a check or an op."""
    policy = of.proofs or ProofsPolicy()
    with as_dagster_failure(context, lambda: catalog.place_of(of.identifier)):
        table = catalog.get_table(of.identifier)
        proved = Proved.of(context.instance, keys.spot_of(of))
        since = proved.up_to(table) if config.since is None else config.since
        budget = config.max_bytes
        if budget is None and policy.max_bytes_per_day is not None:
            budget = max(0, policy.max_bytes_per_day - read_today(context.instance, keys.spot_of(of), time.time()))
        latest = table.snapshots.latest_id() or 0
        report = ProveCompactionsReport(of.identifier, min(since or 0, latest))
        until = config.until
        if (since or 0) < min(until or latest, latest):
            report = prove_compactions(
                spark.session(), table, since=since, until=until, max_bytes=budget, percent=policy.percent,
                progress=context.log.info,
            )  # fmt: skip
        proved = proved.after(table, report)
        (judgement,) = _but_acknowledged(catalog, of.identifier, _judged(report, proved))
        more = {**proved.metadata, **spark.metadata(), "seconds": round(report.seconds, 3)}
        return check_result(keys.spot_of(of), judgement, more)


def _but_acknowledged(catalog: PaimonCatalog, identifier: str, judgement: Judgement) -> Sequence[Judgement]:
    history = catalog.history_of(identifier)
    if history is None:
        return (judgement,)
    return but_acknowledged((judgement,), lambda: acknowledged(catalog.open(), history, identifier))


def _judged(report: ProveCompactionsReport, proved: Proved) -> Judgement:
    read = sum(proof.bytes for proof in report.proofs)
    sound = [proof for proof in report.proofs if proof.holds]
    details: dict[str, Any] = {
        "up to snapshot": report.until,
        "compactions proved": len(sound),
        "not proved": [{"snapshot": p.snapshot_id, "why": p.not_proved} for p in report.not_proved[-_SHOWN:]],
        "rows compared": sum(proof.rows for proof in report.proofs),
        _READ: read,
    }
    details = {name: value for name, value in details.items() if value != []}
    if not proved.failed:
        return Judgement(COMPACTIONS_PROVED, True, _sound(report, sound, read), details=details)
    last = proved.failed[-1]
    more = f"; {number_of(len(proved.failed) - 1, 'earlier compaction is', 'earlier compactions are')} wrong, too"
    fix = (
        f"{last.fix} In Dagster launch the job {ROLLBACK.name} with snapshot_id {last.snapshot_id - 1}. Where it is in"
        f" order, launch the job {keys.ACKNOWLEDGE}."
    )
    details["snapshots"] = [failed.snapshot_id for failed in proved.failed]
    details["wrong buckets"] = [
        {"snapshot": failed.snapshot_id, "commit user": failed.commit_user, **row}
        for failed in proved.failed
        for row in failed.rows[:_SHOWN]
    ]
    summary = f"a compaction changed rows: {last.text}{more * (len(proved.failed) > 1)}"
    return Judgement(COMPACTIONS_PROVED, False, summary, fix, details, severe=True)


def _sound(report: ProveCompactionsReport, sound: Sequence[CompactionProof], read: int) -> str:
    if not report.proofs:
        return f"no new compactions of others up to snapshot {report.until}"
    rows = sum(proof.rows for proof in sound)
    left = f"; {number_of(len(report.not_proved), 'was', 'were')} not proved" if report.not_proved else ""
    return (
        f"{number_of(len(sound), 'compaction')} of others proved up to snapshot {report.until}:"
        f" {number_of(rows, 'row')} compared, {size_text(read)} read{left}"
    )
