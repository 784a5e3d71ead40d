"""All tables on one page: which ones need attention, and where space can be freed.

A sensor makes it from what it has read, the job `fleet_summary` from what it reads itself.
"""

from collections.abc import Sequence
from dataclasses import astuple, dataclass, fields
from datetime import UTC, datetime
from typing import Any, Self
from zoneinfo import ZoneInfo

import dagster as dg

from maintenance.amounts import part_of, size_text
from maintenance.monitor.readable import READABLE
from maintenance.operations.expiry.expire_partitions import DuePartitions
from maintenance.operations.expiry.kept_snapshots import KeptSnapshots
from maintenance.operations.retention.forecast import Forecast
from maintenance.project.config import Project, TableConfig
from maintenance.threads import map_in_threads
from paimon_maintenance.assets import keys
from paimon_maintenance.assets.checks.due import Automation, automation_of, location_of
from paimon_maintenance.assets.checks.judgements import check_result
from paimon_maintenance.assets.checks.judging import TableHealth, see
from paimon_maintenance.assets.pages.freeable import (
    NOTHING_KNOWN,
    AskBeside,
    Beside,
    beside_of,
    forecast_of,
    nothing_known,
)
from paimon_maintenance.assets.pages.table_page import due_of, text_table
from paimon_maintenance.assets.project.console_links import console_link
from paimon_maintenance.assets.resources.catalog import PaimonCatalog
from paimon_maintenance.assets.warehouse.bins import due_in_bin
from paimon_maintenance.assets.warehouse.configuration import check_spec, configuration

ALL_HEALTHY = "all_tables_healthy"
UNREADABLE, UNHEALTHY, DUE = "cannot be read", "unhealthy", "compaction due"
ABSENT, HEALTHY = "not created yet", "healthy"
ORDER = (UNREADABLE, UNHEALTHY, DUE, ABSENT, HEALTHY)
ILL = (UNREADABLE, UNHEALTHY)
_READERS = 8
_SHOWN = 200
_FREEABLE_SHOWN = 20
_LINKED = 10
_PROBLEM_LENGTH = 300


@dataclass(frozen=True, slots=True)
class FleetRow:
    """A table on the page.

    Attributes:
        old_bytes: of data files that only old snapshots and tags need.
        due_snapshots: that the next expiry deletes.
        waiting_rows: in files that no compaction has merged yet.
        freed: bytes that the next expiry frees; None where they are not added up.
        mergeable: bytes that a merge of all levels frees at most.
        partitions: that are past their retention: how many, their files and bytes.
        score: of its health, from 0 to 100; None: it has none yet.
    """

    table: str
    state: str
    files: int = 0
    bytes: int = 0
    old_bytes: int = 0
    due_snapshots: int = 0
    sorted_runs: int = 0
    snapshots: int = 0
    problems: str = ""
    waiting_rows: int = 0
    freed: int | None = 0
    mergeable: int = 0
    partitions: Sequence[int] = ()
    score: int | None = None

    @classmethod
    def of(cls, identifier: str, health: TableHealth, kept: KeptSnapshots | None) -> Self:
        """The row of a table that was looked at."""
        failed = [judgement for judgement in health.judgements if not judgement.passed]
        if not health.judgements:
            return cls(identifier, ABSENT)
        shape, broken = health.shape, next((judgement for judgement in failed if judgement.check == READABLE), None)
        if broken is not None or shape is None:
            return cls(identifier, UNREADABLE, problems=(broken.summary if broken else "")[:_PROBLEM_LENGTH])
        due = due_of(health.judgements)
        held = () if kept is None else (kept.by_snapshots, kept.by_tags)
        return cls(
            identifier,
            UNHEALTHY if failed else DUE if due else HEALTHY,
            shape.files,
            shape.bytes,
            sum(part.bytes for part in held if part is not None),
            0 if kept is None else kept.due,
            shape.sorted_runs_max,
            shape.snapshots,
            (", ".join(judgement.check for judgement in failed) or due)[:_PROBLEM_LENGTH],
            shape.level0_rows,
            health.freed,
            shape.mergeable_bytes,
            () if health.partitions is None else astuple(health.partitions),
            None if health.record is None else health.record.score,
        )

    @classmethod
    def parse(cls, values: Sequence[Any]) -> Self:
        """The row that `serialize` gave, maybe in another version of the project."""
        return cls(*values[: len(fields(cls))])

    def serialize(self) -> list[Any]:
        """The row as JSON can hold it, in little space."""
        return list(astuple(self))

    @property
    def rank(self) -> tuple[int, int, str]:
        """The most urgent first; of equally urgent ones that whose old states hold most."""
        return ORDER.index(self.state), -self.old_bytes, self.table

    def forecast(self, beside: Beside) -> Forecast:
        """What can be freed of the table."""
        return forecast_of(self.freed, DuePartitions(*self.partitions), self.mergeable, beside)


@dataclass(frozen=True, slots=True)
class FleetPage:
    """The page over `rows`, in any order. `beside`: what is known of orphans and the bin, of the tables asked for."""

    rows: Sequence[FleetRow]
    beside: AskBeside = nothing_known

    @property
    def ill(self) -> list[str]:
        return sorted(row.table for row in self.rows if row.state in ILL)

    @property
    def summary(self) -> str:
        if self.ill:
            return f"{part_of(len(self.ill), len(self.rows), 'table', ('is', 'are'))} unhealthy: {', '.join(self.ill)}"
        return "All tables are healthy."

    def metadata(self) -> dict[str, Any]:
        """The page: links to the tables that need attention, the tables by rank, and where most space can be freed."""
        ranked = sorted(self.rows, key=lambda row: row.rank)
        page: dict[str, Any] = {"urgent": dg.MetadataValue.md(_urgent(ranked)), **console_link("")}
        if ranked:
            page["fleet"] = text_table([_cells(row) for row in ranked[:_SHOWN]])
        freeable = sorted((row for row in ranked if row.freed or row.old_bytes), key=lambda row: -(row.freed or 0))
        if freeable:
            shown = freeable[:_FREEABLE_SHOWN]
            beside = self.beside([row.table for row in shown])
            page["space to free"] = text_table([_freeable(row, beside.get(row.table, NOTHING_KNOWN)) for row in shown])
        return {
            **page,
            "tables": len(ranked),
            "unhealthy tables": len(self.ill),
            "files": sum(row.files for row in ranked),
            "bytes": sum(row.bytes for row in ranked),
            "bytes that only old states need": sum(row.old_bytes for row in ranked),
        }

    def events(self) -> list[dg.AssetMaterialization | dg.AssetCheckEvaluation]:
        """The page and its check as events that need no run."""
        return [
            dg.AssetMaterialization(keys.FLEET, description=self.summary, metadata=self.metadata()),
            dg.AssetCheckEvaluation(
                asset_key=keys.FLEET, check_name=ALL_HEALTHY, passed=not self.ill, description=self.summary
            ),
        ]


def _urgent(ranked: Sequence[FleetRow]) -> str:
    urgent = [row for row in ranked if row.state in (*ILL, DUE)]
    if not urgent:
        return "**Nothing is urgent:** every table is healthy, and nothing is due."
    links = [f"[{row.table}](/assets/{row.table.replace('.', '/')}) {row.state}" for row in urgent[:_LINKED]]
    more = f" and {len(urgent) - _LINKED} more" if len(urgent) > _LINKED else ""
    return f"**{part_of(len(urgent), len(ranked), 'table', ('needs', 'need'))} attention:** {', '.join(links)}{more}."


def _cells(row: FleetRow) -> dict[str, str]:
    is_readable = row.state not in (UNREADABLE, ABSENT)
    return {
        "table": row.table,
        "state": row.state,
        "health": "" if row.score is None else str(row.score),
        "problems": row.problems,
        "live data": size_text(row.bytes) if is_readable else "",
        "old data": size_text(row.old_bytes) if row.old_bytes else "",
        "files": f"{row.files:,}" if is_readable else "",
        "sorted runs": str(row.sorted_runs) if is_readable else "",
        "snapshots": f"{row.snapshots:,}" if is_readable else "",
    }


def _freeable(row: FleetRow, beside: Beside) -> dict[str, str]:
    found = row.forecast(beside)
    return {
        "table": row.table,
        "can be freed": size_text(found.bytes),
        **{part.source: part.text for part in found.parts},
        "only old snapshots and tags need": size_text(row.old_bytes),
        "beside live data": size_text(row.bytes),
        "snapshots the next expiry deletes": f"{row.due_snapshots:,} of {row.snapshots:,}",
    }


def fleet_asset(project: Project, tables: Sequence[TableConfig]) -> dg.AssetsDefinition:
    """The health of all tables on one page; its check fails if one of them is not healthy, or cannot be read.

    Args: `project`: as tables.yaml describes it; `tables`: those that were found in the catalog, too.
    """
    zone = ZoneInfo(project.expiry.time_zone)

    @dg.asset(
        key=keys.FLEET,
        description="Health of all tables, worst first.",
        check_specs=[
            dg.AssetCheckSpec(ALL_HEALTHY, asset=keys.FLEET, description="Every table can be read and is healthy."),
            check_spec(),
        ],
        kinds={"paimon"},
        group_name="maintenance",
    )
    def fleet(context: dg.AssetExecutionContext, catalog: PaimonCatalog) -> dg.MaterializeResult:
        automation = automation_of(context.instance, location_of(context.run))
        rows = map_in_threads(lambda table: fleet_row(catalog, table, zone, automation=automation), tables, _READERS)
        page = FleetPage(rows, beside_of(context.instance, lambda: due_in_bin(catalog, tables, datetime.now(UTC))))
        return dg.MaterializeResult(
            metadata=page.metadata(),
            check_results=[
                dg.AssetCheckResult(passed=not page.ill, check_name=ALL_HEALTHY, description=page.summary),
                check_result(keys.Spot(keys.FLEET), configuration(project, catalog, project.patterns).judgement),
            ],
        )

    return fleet


def fleet_row(catalog: PaimonCatalog, config: TableConfig, zone: ZoneInfo, *, automation: Automation) -> FleetRow:
    """The row of a table as it is now. `zone`: where the days of its retention begin; `automation`: as for `see`."""
    now = datetime.now(UTC)
    health = see(catalog, config, now, automation=automation, zone=zone)
    return FleetRow.of(config.identifier, health, health.kept)
