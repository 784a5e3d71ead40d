"""Pictures of what an engineer on call sees, on a fleet with one fault in each table."""

import re
import tempfile
from pathlib import Path

from paimon_maintenance.assets import keys
from tests.browser.faulty_fleet import FAULTS, PROOF, Fleet
from tests.browser.servers import Dagster, receiving, wait_for
from tests.browser.ui import Ui, artifacts, browsing

_FULL = "ops: {compact: {config: {full: true}}}"
# Picture -> table and check.
_CHECKS = {
    "tour_conflict": ("fleet.two_writers", "no_bucket_overlap"),
    "tour_damage": ("fleet.cut_data_file", "readable"),
}

_FAULTY = {fault.table for fault in FAULTS}


def take(images: Path) -> None:
    """Write the pictures of the tour to a folder."""
    with tempfile.TemporaryDirectory() as folder, receiving() as (url, alerts):
        fleet = Fleet(Path(folder), url)
        fleet.build()
        dagster = Dagster(Path(folder) / "dagster", fleet.yaml, {}, logs=artifacts())
        try:
            dagster.wait_until_ready()
            with browsing(dagster.url, images) as ui:
                ui.is_not_greeted()
                _failed_run(ui)
                wait_for(
                    "an alert about each table",
                    lambda: {name for alert in alerts for name in alert["tables"]} >= _FAULTY,
                )
                _catalogue(ui)
                for picture, (table, check) in _CHECKS.items():
                    ui.open(f"/assets/{'/'.join(keys.asset_key(table).path)}?view=checks&checkDetail={check}")
                    ui.sees(check, re.compile("^Failed"), "next step")
                    ui.shoot(picture)
        finally:
            dagster.stop()


def _failed_run(ui: Ui) -> None:
    """A compaction whose result was refused: the headline is the cause."""
    ui.launch(keys.job("compact", PROOF), _FULL)
    ui.run_ends("RUN_FAILURE")
    ui.sees(re.compile("Next step"))
    ui.page.get_by_text("STEP_FAILURE", exact=True).first.scroll_into_view_if_needed()
    ui.shoot("tour_failed_run")


def _catalogue(ui: Ui) -> None:
    ui.open("/assets")
    ui.lists("fleet/two_writers", "fleet/orders")
    ui.is_well()
    ui.shoot("tour_catalogue")
