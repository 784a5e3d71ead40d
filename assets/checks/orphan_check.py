"""The asset check of files that nothing names. It lists every folder of a table, so it runs beside `fsck`."""

from collections.abc import Callable
from typing import Any

import dagster as dg

from maintenance.amounts import size_text, time_text
from maintenance.errors import CorruptFileError
from maintenance.monitor.judgement import Judgement
from maintenance.operations.orphans.orphan_bytes import OrphanBytes, orphan_bytes
from maintenance.operations.orphans.remove_orphan_files import MINIMUM_AGE
from maintenance.operations.orphans.remove_orphan_files import OPERATION as ORPHANS
from maintenance.options.option import duration
from maintenance.project.config import TableConfig
from maintenance.project.policies import ChecksPolicy
from paimon_maintenance.assets import keys
from paimon_maintenance.assets.checks.judgements import check_result
from paimon_maintenance.assets.resources.catalog import PaimonCatalog
from paimon_maintenance.assets.resources.spark import Spark
from paimon_maintenance.assets.runs.failures import as_dagster_failure
from paimon_maintenance.assets.units import files_text

ORPHAN_BYTES = "orphan_bytes"


def counted(context: Any, _: None, catalog: PaimonCatalog, __: Spark, table: TableConfig) -> dg.AssetCheckResult:
    """The result of `orphan_bytes`. `context`: of a check or an op."""
    with as_dagster_failure(context, lambda: catalog.place_of(table.identifier)):
        try:
            judgement = _look(catalog, table, context.log.info)
        except CorruptFileError as error:
            judgement = _unknown(error)
        return check_result(keys.spot_of(table), judgement)


def _look(catalog: PaimonCatalog, config: TableConfig, progress: Callable[[str], None]) -> Judgement:
    table = catalog.get_table(config.identifier)
    if table.latest_snapshot() is None:
        return Judgement(ORPHAN_BYTES, True, "nothing was ever committed to the table")
    age = MINIMUM_AGE if config.orphans is None else duration(config.orphans.minimum_age)
    return judge_orphans(orphan_bytes(table, minimum_age=age, progress=progress), config)


def _unknown(error: CorruptFileError) -> Judgement:
    summary = f"the table is damaged, so orphan files cannot be told from others: {error.found} ({error.where})"
    return Judgement(ORPHAN_BYTES, False, summary, f"{error.fix} The check fsck lists all that is damaged.")


def judge_orphans(found: OrphanBytes, table: TableConfig) -> Judgement:
    """Whether there is more than the limits of the table's `checks` allow."""
    details = {
        "files": found.files,
        "bytes": found.bytes,
        "share": round(found.share, 4),
        "files looked at": found.scanned_files,
        "bytes looked at": found.scanned_bytes,
        "older than": found.older_than.isoformat(timespec="seconds"),
        "kinds": [{"kind": of.kind, "files": of.files, "size": size_text(of.bytes)} for of in found.kinds],
        "largest": [
            {"path": one.path, "size": size_text(one.bytes), "changed": time_text(one.changed), "kind": one.kind}
            for one in found.largest
        ],
        "seconds": round(found.seconds, 3),
    }
    share = f"{found.share:.1%} of {size_text(found.scanned_bytes)}"
    held = f"{files_text(found.files, found.bytes)} that nothing names, {share}" if found.files else "no orphan files"
    summary = f"{held}; files count that are unchanged since {found.older_than.isoformat(timespec='seconds')}"
    limit = _exceeded(found, table.checks)
    if limit is None:
        return Judgement(ORPHAN_BYTES, True, summary, details=details)
    return Judgement(ORPHAN_BYTES, False, f"{summary}; more than {limit}", _fix(table), details)


def _exceeded(found: OrphanBytes, limits: ChecksPolicy) -> str | None:
    """The limit that the orphans exceed."""
    if limits.max_orphan_bytes is not None and found.bytes > limits.max_orphan_bytes:
        return f"max_orphan_bytes, {size_text(limits.max_orphan_bytes)}"
    if found.share > limits.max_orphan_share:
        return f"max_orphan_share, {limits.max_orphan_share:.0%}"
    return None


def _fix(table: TableConfig) -> str:
    job = keys.job_of(table, "expire")
    if table.orphans is None:
        return f"Set the policy 'orphans' of the table in tables.yaml; {job} then has the step {ORPHANS.key}."
    return f"Launch the job {job}, whose step {ORPHANS.key} removes them; with dry_run it only lists them."
