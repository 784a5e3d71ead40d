"""Health in words: a page for each table, and one asset over all of them."""

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from typing import Any

import dagster as dg

from assets import keys
from assets.config import TableConfig
from assets.judgements import judge
from assets.resources import PaimonCatalog
from maintenance.errors import NotFoundError
from maintenance.monitor.judgement import Judgement
from maintenance.operations.history import read_history
from maintenance.table.shape import TableShape, table_shape
from maintenance.table.table import Table

FLEET = dg.AssetKey(["maintenance", "fleet"])
ALL_WELL = "all_tables_are_well"
_READERS = 8
_RUNS_SHOWN = 10


def health_page(
    context: dg.OpExecutionContext, catalog: PaimonCatalog, config: TableConfig, table: Table, shape: TableShape
) -> dict[str, Any]:
    """The page as metadata; nothing, and a warning, if it cannot be made: the run's work is done all the same."""
    try:
        history = catalog.history_of(config.identifier)
        past = [] if history is None else read_history(catalog.open(), history, config.identifier)
        found = judge(config, table, datetime.now(UTC))
        return {"health": dg.MetadataValue.md(page(config.identifier, shape, found, past))}
    except Exception as error:  # noqa: BLE001 - a page must not fail the run that it describes
        context.log.warning(f"The health of {config.identifier} could not be told: {error}")
        return {}


def page(identifier: str, shape: TableShape, judgements: Sequence[Judgement], past: Sequence[dict[str, Any]]) -> str:
    """A table's health as Markdown. `past`: rows of the history, newest first."""
    lines = [f"# {identifier}", "", _verdict(judgements), "", "| check | state | what was found |", "|---|---|---|"]
    for judgement in sorted(judgements, key=lambda judgement: judgement.passed):
        state = "well" if judgement.passed else "**failed**"
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
    return f"**{len(failed)} of {len(judgements)} checks fail:** {', '.join(failed)}." if failed else "All is well."


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ")


def fleet_asset(tables: Sequence[TableConfig]) -> dg.AssetsDefinition:
    """How all tables stand, on one page; its check fails if one of them is not well, or cannot be read."""

    @dg.asset(
        key=FLEET,
        description="How all tables stand, the worst first.",
        deps=[keys.asset_key(table.identifier) for table in tables],
        check_specs=[dg.AssetCheckSpec(ALL_WELL, asset=FLEET, description="Every table can be read and is well.")],
        kinds={"paimon"},
        group_name="maintenance",
    )
    def fleet(context: dg.AssetExecutionContext, catalog: PaimonCatalog) -> dg.MaterializeResult:
        with ThreadPoolExecutor(_READERS) as pool:
            rows = list(pool.map(lambda table: _row(catalog, table), tables))
        rows.sort(key=lambda row: (row["state"] == "well", row["table"]))
        ill = [row["table"] for row in rows if row["state"] not in ("well", "not there yet")]
        heading = ("table", "state", "files", "MiB", "sorted runs", "snapshots", "what fails")
        lines = ["| " + " | ".join(heading) + " |", "|" + "---|" * len(heading)]
        lines += ["| " + " | ".join(_cell(str(row.get(name, ""))) for name in heading) + " |" for row in rows]
        metadata = {
            "fleet": dg.MetadataValue.md("\n".join(lines)),
            "tables": len(rows),
            "tables that are not well": len(ill),
            "files": sum(row.get("files", 0) for row in rows),
            "bytes": sum(row.get("bytes", 0) for row in rows),
        }
        told = f"{len(ill)} of {len(rows)} tables are not well: {', '.join(ill)}" if ill else "All tables are well."
        return dg.MaterializeResult(
            metadata=metadata,
            check_results=[dg.AssetCheckResult(passed=not ill, check_name=ALL_WELL, description=told)],
        )

    return fleet


def _row(catalog: PaimonCatalog, config: TableConfig) -> dict[str, Any]:
    try:
        table = catalog.get_table(config.identifier)
        shape = table_shape(table)
        failed = [found.check for found in judge(config, table, datetime.now(UTC)) if not found.passed]
    except NotFoundError:
        return {"table": config.identifier, "state": "not there yet"}
    except Exception as error:  # noqa: BLE001 - one broken table must not hide the others
        return {"table": config.identifier, "state": "cannot be read", "what fails": str(error)}
    return {
        "table": config.identifier,
        "state": "not well" if failed else "well",
        "files": shape.files,
        "bytes": shape.bytes,
        "MiB": round(shape.bytes / 2**20, 1),
        "sorted runs": shape.sorted_runs_max,
        "snapshots": shape.snapshots,
        "what fails": ", ".join(failed),
    }
