"""Where the pages lead: to each other, and to Dagster, which alone can change something."""

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from urllib.parse import quote, urlencode

from markupsafe import Markup, escape

from maintenance.operations.fleet.plan_fleet import FleetLine
from maintenance.operations.rows.restorable_partitions import RestorablePartition
from paimon_maintenance.assets import keys
from paimon_maintenance.assets.keys import STATEMENT, STATEMENT_OP
from paimon_maintenance.assets.pages.table_page import launchpad
from paimon_maintenance.assets.pages.upcoming import job_of_action
from paimon_maintenance.assets.steps.launched import JOBS, op_name

# The jobs whose first step is told the table.
_OF_ANY_TABLE = (
    "maintain", "ingest", "compact", keys.EXPIRE_TABLE, "audit", "fsck", keys.PROVE,
)  # fmt: skip
_NAMED = re.compile(r"\bthe (job|schedule|sensor) (?!that\b)(\w+)")
_SNAPSHOT = re.compile(r"\bsnapshot_id:? (\d+)")


def _is_not(_: str) -> bool:
    return False


@dataclass(frozen=True, slots=True)
class Links:
    """Addresses of Dagster's pages. All are empty where nobody has said where Dagster is.

    Attributes:
        dagster: its address, without a slash at the end.
        location: the code location that has the jobs; None: not known.
        grouped: whether a table is a partition of its database.
    """

    dagster: str = ""
    location: str | None = None
    grouped: Callable[[str], bool] = _is_not

    def home(self) -> str:
        return self._to("/")

    def asset(self, table: str) -> str:
        spot = keys.spot(table, grouped=self.grouped(table))
        return self._to(spot.path if spot.partition is None else with_query(spot.path, _partition(spot)))

    def check(self, table: str, check: str) -> str:
        spot = keys.spot(table, grouped=self.grouped(table))
        return self._to(f"{spot.path}?view=checks&checkDetail={check}")

    def run(self, run_id: str) -> str:
        return self._to(f"/runs/{run_id}")

    def job(self, job: str, config: str = "") -> str:
        """Where a job is launched, with its config filled in where the code location is known."""
        return self._to(launchpad(self.location, job, config))

    def table_job(self, action: str, table: str, config: str = "") -> str:
        if self.grouped(table):
            return self.job(keys.EXPIRE_TABLE if action == "expire" else action, keys.job_config(table, config))
        return self.job(keys.job(action, table), config)

    def action(self, line: FleetLine, *, dry_run: bool) -> str:
        """The job that does an action of the plan of all tables, limited to the partitions that it is about."""
        job, config = job_of_action(line, dry_run=dry_run)
        return self.job(job, config) if job == STATEMENT else self.table_job(job, line.table, config)

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
        return self.launched("restore_partitions", table, f", partitions: {chosen}, {state}")

    def launched(self, operation: str, table: str, more: str = "") -> str:
        """A dry run of a job that runs over any table, filled in with this one. `more`: of its config."""
        config = f"{{table: {table}{more}, dry_run: true}}"
        return self.job(JOBS.get(operation, operation), f"ops: {{{op_name(operation)}: {{config: {config}}}}}")

    def release(self, table: str, holder: str) -> str:
        """A dry run of what deletes a tag or ends a consumer; empty for other holders of bytes."""
        kind, _, name = holder.partition(" ")
        if kind == "consumer":
            return self.launched("reset_consumer", table, f", consumer: {json.dumps(name, ensure_ascii=False)}")
        if kind != "tag":
            return ""
        quoted = name.replace("'", "''")
        call = json.dumps(f"CALL sys.delete_tag(table => '{table}', tag => '{quoted}')", ensure_ascii=False)
        return self.job(STATEMENT, f"ops: {{{STATEMENT_OP}: {{config: {{statement: {call}, dry_run: true}}}}}}")

    def next_step(self, table: str, check: str, text: str) -> Markup:
        """A next step; the jobs that it names are links, filled in as far as it says, schedules lead to their list."""
        parts: list[Markup] = []
        end = 0
        for found in _NAMED.finditer(text):
            address = self.automation() if found[1] != "job" else self._named_job(table, check, found[2], text)
            parts.append(escape(text[end : found.start(2)]))
            name = escape(found[2])
            parts.append(Markup('<a class="out" href="{}">{}</a>').format(address, name) if address else name)
            end = found.end(2)
        return Markup("").join([*parts, escape(text[end:])])

    def _named_job(self, table: str, check: str, job: str, text: str) -> str:
        if job == keys.ACKNOWLEDGE:
            return self.acknowledge(table, check)
        if job == JOBS["rollback_to"]:
            snapshot = _SNAPSHOT.search(text)
            return self.launched("rollback_to", table, f", snapshot_id: {snapshot[1]}" if snapshot else "")
        if job in _OF_ANY_TABLE and self.grouped(table):
            return self.job(job, keys.job_config(table))
        return self.job(job)

    def automation(self) -> str:
        """The list of schedules and sensors, where they are switched on."""
        return self._to("/automation")

    def _to(self, path: str) -> str:
        return f"{self.dagster}{path}" if self.dagster else ""


def _partition(spot: keys.Spot) -> Mapping[str, object]:
    return {"view": "partitions", "partition": spot.partition}


def page_of(table: str) -> str:
    """The page of a table in the console."""
    return f"/tables/{quote(table)}"


def with_query(path: str, values: Mapping[str, object]) -> str:
    """A path with those of the values that are not empty."""
    given = {name: str(value) for name, value in values.items() if value not in ("", None)}
    return f"{path}?{urlencode(given)}" if given else path
