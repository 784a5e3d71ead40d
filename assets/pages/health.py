"""Health in words: a page for each table, and one asset over all of them."""

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from typing import Any

import dagster as dg

from assets import keys
from assets.checks.due import NOTHING_DUE, is_watched, location_of
from assets.checks.judgements import check_result
from assets.checks.judging import look_at
from assets.project.config import Project, TableConfig
from assets.resources.catalog import PaimonCatalog
from assets.warehouse.configuration import check_spec, configuration
from maintenance.monitor.judgement import Judgement
from maintenance.monitor.readable import READABLE
from maintenance.operations.history import read_history
from maintenance.table.shape import TableShape, table_shape

ALL_HEALTHY = "all_tables_healthy"
_READERS = 8
_RUNS_SHOWN = 10


def health_page(
    context: dg.OpExecutionContext, catalog: PaimonCatalog, config: TableConfig, shape: TableShape
) -> dict[str, Any]:
    """The page as metadata; nothing, and a warning, if it cannot be made: the run's work is done all the same."""
    try:
        history = catalog.history_of(config.identifier)
        past = [] if history is None else read_history(catalog.open(), history, config.identifier)
        watched = is_watched(context.instance, location_of(context.run))
        found = look_at(catalog, config, datetime.now(UTC), watched=watched)
        return {"health": dg.MetadataValue.md(page(config.identifier, shape, found, past))}
    except Exception as error:  # noqa: BLE001 - a page must not fail the run that it describes
        context.log.warning(f"The health of {config.identifier} could not be determined: {error}")
        return {}


def page(identifier: str, shape: TableShape, judgements: Sequence[Judgement], past: Sequence[dict[str, Any]]) -> str:
    """A table's health as Markdown. `past`: rows of the history, newest first."""
    lines = [f"# {identifier}", "", _verdict(judgements), "", "| check | state | what was found |", "|---|---|---|"]
    for judgement in sorted(judgements, key=lambda judgement: judgement.passed):
        state = "passed" if judgement.passed else "**failed**"
        told = f"{judgement.summary}. {judgement.fix}" if judgement.fix else judgement.summary
        lines.append(f"| {judgement.check} | {state} | {_cell(told)} |")
    lines += [
        "",
        (
            f"Snapshot {shape.snapshot_id or 0}: {shape.files:,} files, {shape.bytes / 2**20:,.1f} MiB, at most"
            f" {shape.sorted_runs_max} sorted runs in a bucket, {shape.snapshots:,} snapshots, {shape.tags:,} tags."
        ),
    ]
    if past:
        lines += ["", "| when | operation | outcome | seconds | files | run |", "|---|---|---|---|---|---|"]
        for row in past[:_RUNS_SHOWN]:
            files = "" if row["files_before"] is None else f"{row['files_before']:,} → {row['files_after']:,}"
            seconds = "" if row["seconds"] is None else f"{row['seconds']:.1f}"
            lines.append(
                f"| {row['finished_at']:%Y-%m-%d %H:%M} UTC | {row['operation']} | {row['outcome']} | {seconds}"
                f" | {files} | {row['run_id'] or ''} |"
            )
    return "\n".join(lines)


def _verdict(judgements: Sequence[Judgement]) -> str:
    failed = [judgement.check for judgement in judgements if not judgement.passed]
    if failed:
        return f"**{len(failed)} of {len(judgements)} checks fail:** {', '.join(failed)}."
    due = next((judgement for judgement in judgements if _is_due(judgement)), None)
    return f"**Every check passes;** {due.summary}." if due else "Healthy: every check passes, and nothing is due."


def _is_due(judgement: Judgement) -> bool:
    return judgement.check == NOTHING_DUE and bool(judgement.details["due"])


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ")


def fleet_asset(project: Project, tables: Sequence[TableConfig]) -> dg.AssetsDefinition:
    """The health of all tables on one page; its check fails if one of them is not healthy, or cannot be read.

    Args: `project`: as tables.yaml describes it; `tables`: those that were found in the catalog, too.
    """

    @dg.asset(
        key=keys.FLEET,
        description="Health of all tables, worst first.",
        deps=[keys.asset_key(table.identifier) for table in tables],
        check_specs=[
            dg.AssetCheckSpec(ALL_HEALTHY, asset=keys.FLEET, description="Every table can be read and is healthy."),
            check_spec(),
        ],
        kinds={"paimon"},
        group_name="maintenance",
    )
    def fleet(context: dg.AssetExecutionContext, catalog: PaimonCatalog) -> dg.MaterializeResult:
        watched = is_watched(context.instance, location_of(context.run))
        with ThreadPoolExecutor(_READERS) as pool:
            rows = list(pool.map(lambda table: _row(catalog, table, watched=watched), tables))
        rows.sort(key=lambda row: (_ORDER.index(row["state"]), row["table"]))
        ill = [row["table"] for row in rows if row["state"] in (_UNREADABLE, _UNHEALTHY)]
        heading = ("table", "state", "files", "MiB", "sorted runs", "snapshots", "problems")
        lines = ["| " + " | ".join(heading) + " |", "|" + "---|" * len(heading)]
        lines += ["| " + " | ".join(_cell(str(row.get(name, ""))) for name in heading) + " |" for row in rows]
        metadata = {
            "fleet": dg.MetadataValue.md("\n".join(lines)),
            "tables": len(rows),
            "unhealthy tables": len(ill),
            "files": sum(row.get("files", 0) for row in rows),
            "bytes": sum(row.get("bytes", 0) for row in rows),
        }
        said = f"{len(ill)} of {len(rows)} tables are unhealthy: {', '.join(ill)}" if ill else "All tables are healthy."
        return dg.MaterializeResult(
            metadata=metadata,
            check_results=[
                dg.AssetCheckResult(passed=not ill, check_name=ALL_HEALTHY, description=said),
                check_result(keys.FLEET, configuration(project, catalog, project.patterns).judgement),
            ],
        )

    return fleet


_UNREADABLE, _UNHEALTHY, _DUE, _HEALTHY = "cannot be read", "unhealthy", "compaction due", "healthy"
_ABSENT = "not created yet"
_ORDER = (_UNREADABLE, _UNHEALTHY, _DUE, _ABSENT, _HEALTHY)


def _row(catalog: PaimonCatalog, config: TableConfig, *, watched: bool) -> dict[str, Any]:
    """A table on the page over all of them."""
    found = look_at(catalog, config, datetime.now(UTC), watched=watched)
    if not found:
        return {"table": config.identifier, "state": _ABSENT}
    failed = [judgement for judgement in found if not judgement.passed]
    broken = next((judgement for judgement in failed if judgement.check == READABLE), None)
    if broken is not None:
        return {"table": config.identifier, "state": _UNREADABLE, "problems": broken.summary}
    try:
        shape = table_shape(catalog.get_table(config.identifier))
    except Exception as error:  # noqa: BLE001 - it could be read a moment ago; the others must be shown all the same
        return {"table": config.identifier, "state": _UNREADABLE, "problems": str(error)}
    due = [judgement.summary for judgement in found if judgement.passed and _is_due(judgement)]
    return {
        "table": config.identifier,
        "state": _UNHEALTHY if failed else _DUE if due else _HEALTHY,
        "files": shape.files,
        "bytes": shape.bytes,
        "MiB": round(shape.bytes / 2**20, 1),
        "sorted runs": shape.sorted_runs_max,
        "snapshots": shape.snapshots,
        "problems": ", ".join(judgement.check for judgement in failed) or "; ".join(due),
    }
