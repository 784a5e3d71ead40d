"""The judgements over a table as Dagster's asset checks: run from the UI, or reported by a sensor without a run."""

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import dagster as dg

from assets import keys
from assets.config import TableConfig
from assets.failures import told_as_failure
from assets.resources import PaimonCatalog
from maintenance.monitor.backlog import CHANGELOG_LAG, LEVEL0_BACKLOG, SMALL_FILES, judge_backlog
from maintenance.monitor.census import take_census
from maintenance.monitor.chain import SNAPSHOT_CHAIN_INTACT, snapshot_chain_intact
from maintenance.monitor.freshness import FRESHNESS
from maintenance.monitor.judgement import Judgement
from maintenance.monitor.retention import RETENTION_BLOCKERS, retention_blockers
from maintenance.monitor.second_compactor import COMPACTS_ALONE, compacts_alone
from maintenance.monitor.vectors import DELETION_VECTORS_INTACT, deletion_vectors_intact
from maintenance.monitor.visibility import ROWS_VISIBLE
from maintenance.monitor.writers import NO_BUCKET_OVERLAP, SINGLE_COMPACTOR, WRITERS_ARE_WRITE_ONLY, judge_writers
from maintenance.options.option import duration
from maintenance.table.table import Table

COMMITS_LOOKED_AT = 100

DESCRIPTIONS = {
    SINGLE_COMPACTOR: "No two jobs compact the same buckets by turns.",
    NO_BUCKET_OVERLAP: "No two writers write the same buckets by turns.",
    WRITERS_ARE_WRITE_ONLY: "No writer compacts what it writes while others commit, too.",
    COMPACTS_ALONE: "Nobody else compacts the table that we compact.",
    DELETION_VECTORS_INTACT: "No deleted rows have come back.",
    SNAPSHOT_CHAIN_INTACT: "No snapshot is missing, miscounted or committed twice.",
    FRESHNESS: "A writer brought rows lately.",
    ROWS_VISIBLE: "Batch reads see every committed row, or will soon.",
    LEVEL0_BACKLOG: "No bucket has too many files that only a merge makes readable.",
    SMALL_FILES: "Most files have a decent size.",
    CHANGELOG_LAG: "Changes come into the changelog soon.",
    RETENTION_BLOCKERS: "No consumer or tag holds snapshots back for too long.",
}
# What endangers the table, or makes reads of it wrong; the rest costs time or space.
_SEVERE = (
    SINGLE_COMPACTOR,
    NO_BUCKET_OVERLAP,
    WRITERS_ARE_WRITE_ONLY,
    DELETION_VECTORS_INTACT,
    SNAPSHOT_CHAIN_INTACT,
    ROWS_VISIBLE,
)


def judge(config: TableConfig, table: Table, now: datetime) -> tuple[Judgement, ...]:
    """Every judgement over a table, from its metadata alone. `now`: with a time zone."""
    held = duration(config.checks.max_held) if config.checks.max_held else None
    census = take_census(table, limit=COMMITS_LOOKED_AT)
    return (
        *judge_writers(table, census),
        compacts_alone(table.copy(config.compaction.conduct), census, automatic=config.compaction.automatic),
        deletion_vectors_intact(table),
        snapshot_chain_intact(table),
        *judge_backlog(table, config.checks.limits, now),
        retention_blockers(table, now, max_age=held),
    )


def evaluation(identifier: str, judgement: Judgement) -> dg.AssetCheckEvaluation:
    """A judgement as an event that needs no run."""
    return dg.AssetCheckEvaluation(
        asset_key=keys.asset_key(identifier),
        check_name=judgement.check,
        passed=judgement.passed,
        severity=_severity(judgement),
        description=_told(judgement),
        metadata=_metadata(judgement),
    )


def table_checks(config: TableConfig) -> dg.AssetChecksDefinition:
    """The checks of a table, to be run from its page or by a job."""
    key = keys.asset_key(config.identifier)

    @dg.multi_asset_check(
        name=keys.node(config.identifier, "checks"),
        specs=[dg.AssetCheckSpec(name, asset=key, description=text) for name, text in DESCRIPTIONS.items()],
        can_subset=True,
    )
    def checks(context: dg.AssetCheckExecutionContext, catalog: PaimonCatalog) -> Iterator[dg.AssetCheckResult]:
        with told_as_failure(context, lambda: catalog.place_of(config.identifier)):
            table = catalog.get_table(config.identifier)
            wanted = {check.name for check in context.selected_asset_check_keys}
            for judgement in judge(config, table, datetime.now(UTC)):
                if judgement.check in wanted:
                    yield dg.AssetCheckResult(
                        asset_key=key,
                        check_name=judgement.check,
                        passed=judgement.passed,
                        severity=_severity(judgement),
                        description=_told(judgement),
                        metadata=_metadata(judgement),
                    )

    return checks


def _severity(judgement: Judgement) -> dg.AssetCheckSeverity:
    severe = judgement.severe or judgement.check in _SEVERE
    return dg.AssetCheckSeverity.ERROR if severe else dg.AssetCheckSeverity.WARN


def _told(judgement: Judgement) -> str:
    return f"{judgement.summary}. {judgement.fix}" if judgement.fix else judgement.summary


def _metadata(judgement: Judgement) -> dict[str, Any]:
    metadata: dict[str, Any] = {"next step": judgement.fix} if judgement.fix else {}
    for name, value in judgement.details.items():
        if isinstance(value, (int, float, str)):
            metadata[name.replace("_", " ")] = value
        elif value and all(isinstance(row, dict) for row in value):
            metadata[name.replace("_", " ")] = dg.MetadataValue.table([dg.TableRecord(row) for row in value])
        else:
            metadata[name.replace("_", " ")] = dg.MetadataValue.json(list(value))
    return metadata
