"""Where the pages lead: to each other, and to Dagster, which alone can change something."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import quote, urlencode

from maintenance.operations.rows.restorable_partitions import RestorablePartition
from paimon_maintenance.assets import keys
from paimon_maintenance.assets.pages.table_page import launchpad
from paimon_maintenance.assets.steps.launched import op_name


@dataclass(frozen=True, slots=True)
class Links:
    """Addresses of Dagster's pages. All are empty where nobody has said where Dagster is.

    Attributes:
        dagster: its address, without a slash at the end.
        location: the code location that has the jobs; None: not known.
    """

    dagster: str = ""
    location: str | None = None

    def home(self) -> str:
        return self._to("/")

    def asset(self, table: str) -> str:
        return self._to(f"/assets/{'/'.join(keys.asset_key(table).path)}")

    def check(self, table: str, check: str) -> str:
        return self._to(f"/assets/{'/'.join(keys.asset_key(table).path)}?view=checks&checkDetail={check}")

    def run(self, run_id: str) -> str:
        return self._to(f"/runs/{run_id}")

    def job(self, job: str, config: str = "") -> str:
        """Where a job is launched, with its config filled in where the code location is known."""
        return self._to(launchpad(self.location, job, config))

    def table_job(self, action: str, table: str, config: str = "") -> str:
        return self.job(keys.job(action, table), config)

    def acknowledge(self, table: str, check: str) -> str:
        """The job that acknowledges what a check has found, with all filled in but who does so and why."""
        return self.job(
            keys.ACKNOWLEDGE, f"ops: {{{keys.ACKNOWLEDGED}: {{config: {{table: {table}, check: {check}}}}}}}"
        )

    def restore(self, table: str, partition: RestorablePartition) -> str:
        """A dry run of the job that brings a dropped partition back, from the newest state that holds it."""
        state = (
            f"snapshot_id: {partition.snapshot_id}" if partition.tag is None else f"tag: {json.dumps(partition.tag)}"
        )
        chosen = json.dumps([partition.partition.by_name()], ensure_ascii=False)
        config = f"{{table: {table}, partitions: {chosen}, {state}, dry_run: true}}"
        return self.job("restore_partitions", f"ops: {{{op_name('restore_partitions')}: {{config: {config}}}}}")

    def automation(self) -> str:
        """The list of schedules and sensors, where they are switched on."""
        return self._to("/automation")

    def _to(self, path: str) -> str:
        return f"{self.dagster}{path}" if self.dagster else ""


def page_of(table: str) -> str:
    """The page of a table in the console."""
    return f"/tables/{quote(table)}"


def with_query(path: str, values: Mapping[str, object]) -> str:
    """A path with those of the values that are not empty."""
    given = {name: str(value) for name, value in values.items() if value not in ("", None)}
    return f"{path}?{urlencode(given)}" if given else path
