"""The jobs for any table of the databases whose tables are partitions: one for each operation.

Where each table is an asset, `jobs.py` makes the same jobs for each.
"""

from collections.abc import Sequence

import dagster as dg

from paimon_maintenance.assets import keys
from paimon_maintenance.assets.checks.long_checks import LONG_CHECKS
from paimon_maintenance.assets.project.console_links import console_link
from paimon_maintenance.assets.steps.any_table import AnyTable
from paimon_maintenance.assets.steps.chain import COMPACTION, EXPIRY, NamedOp, chain
from paimon_maintenance.assets.steps.ingestion import INGEST
from paimon_maintenance.assets.steps.ops import RECORD, job_of, job_of_op
from paimon_maintenance.jobs.jobs import EXPIRE, TEXTS


def any_table_jobs(steps: AnyTable) -> dict[str, dg.JobDefinition]:
    """The jobs by their actions."""
    ingestion, record = steps.step(INGEST), steps.op(RECORD)
    compaction = [steps.step(step) for step in COMPACTION]
    expiry = [steps.step(step) for step in EXPIRY]
    parts: dict[str, Sequence[NamedOp]] = {
        "compact": [*compaction, record],
        "expire": [*expiry, record],
        **{check.action: steps.checks(check.action) for check in LONG_CHECKS},
    }
    if any(table.landing is not None for table in steps.tables):
        parts["ingest"] = [ingestion, record]
    first = [ingestion] if "ingest" in parts else []
    parts["maintain"] = [*first, *compaction, *expiry, record]
    jobs = {action: those for action, those in parts.items() if those}
    return {action: _job(steps, action, TEXTS[action].format("a table"), those) for action, those in jobs.items()}


def expire_tables_job(steps: AnyTable) -> dg.JobDefinition:
    """Expire all tables, or those that its config names, in one run."""
    return job_of_op(EXPIRE, steps.expire_tables())


def _job(steps: AnyTable, action: str, text: str, parts: Sequence[NamedOp]) -> dg.JobDefinition:
    @dg.graph(name=keys.EXPIRE_TABLE if action == "expire" else action)
    def steps_of_any_table() -> None:
        chain([steps.choose(), *parts])

    text = f"{text} Which one the config of the step {keys.CHOOSE} says."
    return job_of(steps_of_any_table, text, {"paimon/action": action}, console_link(""))
