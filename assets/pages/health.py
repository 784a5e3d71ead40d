"""A table's first page, made by a run at its end: the same as the sensor makes between runs."""

from datetime import UTC, datetime
from typing import Any

import dagster as dg

from maintenance.operations.history import read_history
from maintenance.project.config import TableConfig
from maintenance.table.shape import TableShape
from paimon_maintenance.assets.checks.due import location_of
from paimon_maintenance.assets.checks.judging import TableHealth
from paimon_maintenance.assets.pages.table_page import TableView, table_page
from paimon_maintenance.assets.pages.upcoming import Upcoming
from paimon_maintenance.assets.resources.catalog import PaimonCatalog


def health_page(
    context: dg.OpExecutionContext, catalog: PaimonCatalog, config: TableConfig, shape: TableShape, health: TableHealth
) -> dict[str, Any]:
    """The page as metadata; nothing, and a warning, if it cannot be made: the run's work is done all the same.

    `health`: what was just found of the table.
    """
    try:
        history, now = catalog.history_of(config.identifier), datetime.now(UTC)
        past = [] if history is None else read_history(catalog.open(), history, config.identifier)
        location = location_of(context.run)
        found = (health.shape or shape, health.kept, health.judgements)
        upcoming = Upcoming.of(config, health, past, now)
        return table_page(TableView(config, now, *found, past, location, health.freed, health.record, upcoming))
    except Exception as error:  # noqa: BLE001 - a page must not fail the run that it describes
        context.log.warning(f"The health of {config.identifier} could not be determined: {error}")
        return {}
