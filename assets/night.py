"""The report of a day, sent to the alert targets as one message: what was done, what failed and what is open."""

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from zoneinfo import ZoneInfo

import dagster as dg
from pydantic import Field

from maintenance.operations.history import history_table
from maintenance.operations.report import Report, StillOpen, lines_of, open_problems, report
from maintenance.options.option import duration
from maintenance.project.config import Project, TableConfig
from maintenance.project.targets.alert import Alert
from maintenance.threads import map_in_threads
from paimon_maintenance.assets import keys
from paimon_maintenance.assets.checks.due import automation_of, location_of
from paimon_maintenance.assets.checks.judging import see
from paimon_maintenance.assets.project.console_address import console_address
from paimon_maintenance.assets.resources.catalog import PaimonCatalog
from paimon_maintenance.assets.runs.failures import as_dagster_failure

_READERS = 8
_TITLE = "Night report"


class NightConfig(dg.Config):
    """Which time."""

    since: str = Field(default="1 d", description="How far back, such as 12 h.")


def night_op(project: Project, tables: Sequence[TableConfig]) -> dg.OpDefinition:
    """Send the report. `project`: with the targets; `tables`: all that are judged."""

    @dg.op(
        name=keys.NIGHT_OP,
        description="Sends what was done in a day, what failed and what is open, as one message.",
        out=dg.Out(dg.Nothing),
    )
    def night(context: dg.OpExecutionContext, config: NightConfig, catalog: PaimonCatalog) -> None:
        with as_dagster_failure(context):
            now = datetime.now(UTC)
            zone = ZoneInfo(project.expiry.time_zone)
            automation = automation_of(context.instance, location_of(context.run))

            def look(table: TableConfig) -> list[StillOpen]:
                judgements = see(catalog, table, now, automation=automation, zone=zone).judgements
                return open_problems(table.identifier, judgements, ", ".join(table.owners))

            still_open = [each for found in map_in_threads(look, tables, _READERS) for each in found]
            since = now - duration(config.since)
            if catalog.history is None:
                found = Report(since, now, (), still_open)
            else:
                found = report(catalog.open(), history_table(catalog.history), since, now, still_open)
        text = "\n".join(lines_of(found))
        context.log.info(text)
        context.add_output_metadata({"report": dg.MetadataValue.md(f"```\n{text}\n```"), "summary": found.summary})
        troubles = list(_sent(project, text))
        if troubles:
            raise dg.Failure(f"The report could not be sent: {'; '.join(troubles)}. Next step: try the targets.")

    return night


def _sent(project: Project, text: str) -> Iterator[str]:
    """Send the report to each target that takes it; yields what went wrong."""
    link = console_address("night") or project.alerts.address
    alert = Alert("night", "report", _TITLE, text, "", link, (), "report")
    for target in project.alerts.targets:
        if target.takes(alert.kind):
            try:
                target.send(alert)
            except Exception as error:  # noqa: BLE001 - a target that is down must not silence the others
                yield f"{target.kind}: {error}"
