"""The jobs for any table of the databases whose tables are partitions: one for each operation.

Where each table is an asset, `jobs.py` makes the same jobs for each.
"""

from collections.abc import Sequence

import dagster as dg

from paimon_maintenance.assets import keys
from paimon_maintenance.assets.project.console_links import console_link
from paimon_maintenance.assets.steps.any_table import AnyTable
from paimon_maintenance.assets.steps.chain import COMPACTION, EXPIRY, NamedOp, chain
from paimon_maintenance.assets.steps.ingestion import INGEST
from paimon_maintenance.assets.steps.ops import job_of, job_of_op
from paimon_maintenance.jobs.jobs import EXPIRE


def any_table_jobs(steps: AnyTable) -> dict[str, dg.JobDefinition]:
    """The jobs by their actions."""
    ingestion, record = steps.step(INGEST), steps.record()
    compaction = [steps.step(step) for step in COMPACTION]
    expiry = [steps.step(step) for step in EXPIRY]
    has_landing = any(table.landing is not None for table in steps.tables)
    audited = any(table.has_changelog for table in steps.tables)
    first = [ingestion] if has_landing else []
    checks = steps.checks()
    jobs = {
        "maintain": _job(
            steps, "maintain", "Compact, index and expire a table.", [*first, *compaction, *expiry, record]
        ),
        "compact": _job(
            steps, "compact", "Compact a table, with its changelog and file index.", [*compaction, record]
        ),
        "expire": _job(steps, "expire", "Expire partitions, snapshots and tags of a table.", [*expiry, record]),
        "fsck": _job(steps, "fsck", "Examine all that a table is made of, and count its orphan files.", checks["fsck"]),
        keys.PROVE: _job(
            steps, keys.PROVE, "Prove that compactions of a table by other engines left every row as it was.",
            checks[keys.PROVE],
        ),
    }  # fmt: skip
    if has_landing:
        text = "Commit what landed for a table, without maintenance."
        jobs["ingest"] = _job(steps, "ingest", text, [ingestion, record])
    if audited:
        text = "Prove that the changelog of a table turns one state into the next."
        jobs["audit"] = _job(steps, "audit", text, checks["audit"])
    return jobs


def expire_tables_job(steps: AnyTable) -> dg.JobDefinition:
    """Expire all tables, or those that its config names, in one run."""
    text = "Expire partitions, snapshots and tags of every table."
    return job_of_op(EXPIRE, steps.expire_tables(), text)


def _job(steps: AnyTable, action: str, text: str, parts: Sequence[NamedOp]) -> dg.JobDefinition:
    @dg.graph(name=keys.EXPIRE_TABLE if action == "expire" else action)
    def steps_of_any_table() -> None:
        chain([steps.choose(), *parts])

    text = f"{text} Which one the config of the step {keys.CHOOSE} says."
    return job_of(steps_of_any_table, text, {"paimon/action": action}, console_link(""))
