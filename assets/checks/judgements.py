"""The judgements over a table as Dagster's asset checks: run from the UI, or reported by a sensor without a run."""

import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

import dagster as dg

from maintenance.monitor.backlog import CHANGELOG_LAG, LEVEL0_BACKLOG, SMALL_FILES
from maintenance.monitor.chain import SNAPSHOT_CHAIN_INTACT
from maintenance.monitor.freshness import FRESHNESS
from maintenance.monitor.judgement import Judgement
from maintenance.monitor.quarantine import NOTHING_QUARANTINED
from maintenance.monitor.readable import READABLE
from maintenance.monitor.retention import RETENTION_BLOCKERS
from maintenance.monitor.score import HEALTH_TARGETS
from maintenance.monitor.second_compactor import COMPACTS_ALONE
from maintenance.monitor.triggers import NOTHING_DUE
from maintenance.monitor.vectors import DELETION_VECTORS_INTACT
from maintenance.monitor.visibility import ROWS_VISIBLE
from maintenance.monitor.writers import NO_BUCKET_OVERLAP, SINGLE_COMPACTOR, WRITERS_ARE_WRITE_ONLY
from maintenance.project.config import TableConfig
from paimon_maintenance.assets import keys
from paimon_maintenance.assets.checks.due import automation_of, location_of
from paimon_maintenance.assets.checks.expiring import EXPIRY_DUE
from paimon_maintenance.assets.checks.judging import look_at
from paimon_maintenance.assets.dagster_release import of_partition
from paimon_maintenance.assets.project.console_links import console_link
from paimon_maintenance.assets.resources.catalog import PaimonCatalog
from paimon_maintenance.assets.runs.failures import as_dagster_failure
from paimon_maintenance.assets.warehouse.configuration import CONFIGURATION

DESCRIPTIONS = {
    READABLE: "Metadata can be read, and the files that it names are there.",
    SINGLE_COMPACTOR: "No two jobs compact the same buckets alternately.",
    NO_BUCKET_OVERLAP: "No two writers write the same buckets alternately.",
    WRITERS_ARE_WRITE_ONLY: "No writer compacts its own files while others commit.",
    COMPACTS_ALONE: "Nobody else compacts the table that we compact.",
    DELETION_VECTORS_INTACT: "No deleted rows have come back.",
    SNAPSHOT_CHAIN_INTACT: "No snapshot is missing, miscounted or committed twice.",
    FRESHNESS: "A writer has committed rows recently.",
    NOTHING_QUARANTINED: "No rewrite of the table has failed its verification.",
    ROWS_VISIBLE: "Batch reads see every committed row, or will soon.",
    LEVEL0_BACKLOG: "No bucket has too many files that only a merge makes readable.",
    SMALL_FILES: "Most files are large enough.",
    CHANGELOG_LAG: "Few commits wait for the changelog that shows their changes.",
    RETENTION_BLOCKERS: "No consumer or tag holds snapshots back for too long.",
    HEALTH_TARGETS: "Every part of the health keeps to the target that tables.yaml sets.",
    EXPIRY_DUE: "Old snapshots expire, or the schedule that starts it is on.",
    NOTHING_DUE: "No compaction, expiry, file index or tag is due, or the sensor or schedule that does it is on.",
}
# What endangers the table, or makes reads of it wrong; the rest costs time or space.
_SEVERE = (
    READABLE,
    CONFIGURATION,
    SINGLE_COMPACTOR,
    NO_BUCKET_OVERLAP,
    WRITERS_ARE_WRITE_ONLY,
    DELETION_VECTORS_INTACT,
    SNAPSHOT_CHAIN_INTACT,
    NOTHING_QUARANTINED,
    ROWS_VISIBLE,
)
# How a next step names a job.
_JOB = re.compile(r"\bthe job (?!that\b)(\w+)")


def evaluation(spot: keys.Spot, judgement: Judgement) -> dg.AssetCheckEvaluation:
    """A judgement as an event that needs no run."""
    outcome: dict[str, Any] = {**of_partition(spot.partition), **_outcome(spot, judgement)}
    return dg.AssetCheckEvaluation(asset_key=spot.asset, **outcome)


def check_result(spot: keys.Spot, judgement: Judgement, more: Mapping[str, Any] | None = None) -> dg.AssetCheckResult:
    """A judgement as the result of a check in a run. `more`: metadata of the run."""
    outcome = _outcome(spot, judgement)
    return dg.AssetCheckResult(asset_key=spot.asset, **{**outcome, "metadata": {**outcome["metadata"], **(more or {})}})


def console_of(spot: keys.Spot) -> Mapping[str, dg.MetadataValue[Any]]:
    """The page of the console about what is shown there: of its table, or of all tables."""
    return (
        console_link("")
        if spot.asset == keys.FLEET
        else console_link("tables", spot.partition or ".".join(spot.asset.path))
    )


def _outcome(spot: keys.Spot, judgement: Judgement) -> dict[str, Any]:
    """What Dagster records of a judgement."""
    return {
        "check_name": judgement.check,
        "passed": judgement.passed,
        "severity": _severity(judgement),
        "description": _description(judgement),
        "metadata": {**_metadata(judgement), **console_of(spot)},
    }


def table_checks(config: TableConfig) -> dg.AssetChecksDefinition:
    """The checks of a table, to be run from its page or by a job."""

    @dg.multi_asset_check(
        name=keys.node(config.identifier, "checks"),
        specs=[
            dg.AssetCheckSpec(name, asset=keys.spot_of(config).asset, description=text)
            for name, text in DESCRIPTIONS.items()
        ],
        can_subset=True,
    )
    def checks(context: dg.AssetCheckExecutionContext, catalog: PaimonCatalog) -> Iterator[dg.AssetCheckResult]:
        yield from _judged_now(context, catalog, config, {check.name for check in context.selected_asset_check_keys})

    return checks


def _judged_now(
    context: dg.AssetCheckExecutionContext, catalog: PaimonCatalog, config: TableConfig, selected: set[str]
) -> Iterator[dg.AssetCheckResult]:
    """The results of those checks of a table. Raises: dg.Failure: some cannot be judged."""
    with as_dagster_failure(context, lambda: catalog.place_of(config.identifier)):
        automation = automation_of(context.instance, location_of(context.run))
        judgements = look_at(catalog, config, datetime.now(UTC), automation=automation)
        if not judgements:
            catalog.get_table(config.identifier)  # which says that it does not exist
        for judgement in judgements:
            if judgement.check in selected:
                yield check_result(keys.spot_of(config), judgement)
        missing = sorted(selected - {judgement.check for judgement in judgements})
        if missing:
            raise _not_judged(missing, judgements)


def _not_judged(checks: Sequence[str], judgements: Sequence[Judgement]) -> dg.Failure:
    """The failure of a run that could not judge these checks, since the table cannot be read."""
    reason = next(judgement for judgement in judgements if judgement.check == READABLE)
    description = f"{', '.join(checks)} cannot be judged: {reason.summary}. Next step: {reason.fix}"
    return dg.Failure(description, metadata={"next step": reason.fix}, allow_retries=False)


def is_severe(judgement: Judgement) -> bool:
    """Whether what was found endangers the table, or makes reads of it wrong."""
    return judgement.severe or judgement.check in _SEVERE


def _severity(judgement: Judgement) -> dg.AssetCheckSeverity:
    return dg.AssetCheckSeverity.ERROR if is_severe(judgement) else dg.AssetCheckSeverity.WARN


def _description(judgement: Judgement) -> str:
    end = "" if judgement.summary.endswith((".", "?")) else "."
    return f"{judgement.summary}{end} {judgement.fix}" if judgement.fix else judgement.summary


def _metadata(judgement: Judgement) -> dict[str, Any]:
    metadata: dict[str, Any] = {"next step": judgement.fix} if judgement.fix else {}
    jobs = dict.fromkeys(_JOB.findall(judgement.fix or ""))
    if jobs:
        metadata["launch"] = dg.MetadataValue.md(", ".join(f"[{job}](/guess/{job})" for job in jobs))
    for name, value in judgement.details.items():
        if isinstance(value, (int, float, str)):
            metadata[name.replace("_", " ")] = value
        elif value and all(isinstance(row, dict) for row in value):
            metadata[name.replace("_", " ")] = dg.MetadataValue.table([dg.TableRecord(row) for row in value])
        else:
            metadata[name.replace("_", " ")] = ", ".join(str(part) for part in value)
    return metadata
