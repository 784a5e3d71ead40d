"""Names that assets, ops, jobs and sensors agree on, all made from a table's identifier."""

from typing import NamedTuple, Protocol

import dagster as dg

from paimon_maintenance.assets.dagster_release import pool_name

LATEST_SENSOR, RADAR_SENSOR = "latest_snapshots", "check_radar"
PROOF_SENSOR = "foreign_compactions"
PROVE = "prove"
NIGHT_REPORT, NIGHT_OP = "night_report", "night"
EXPIRY_SCHEDULE = "daily_expiry"
APPLY_PLAN, APPROVE_PLAN = "apply_plan", "approve_plan"
ACKNOWLEDGE, ACKNOWLEDGED = "acknowledge", "acknowledgement"
REFRESH = "refresh"
STATEMENT, STATEMENT_OP = "statement", "planned_statement"
# The first step of a job that is for any table, whose config names it; and the job that expires one.
CHOOSE, EXPIRE_TABLE = "choose", "expire_table"
# The job that compacts many small tables in one run, and its op.
COMPACT_SMALL, IN_TURN = "compact_small_tables", "small_tables"
KEEP_FRESH = "keep_fresh"
FLEET = dg.AssetKey(["maintenance", "fleet"])


class Spot(NamedTuple):
    """Where Dagster shows a table. `partition`: of its database's asset; None: the asset is the table's own."""

    asset: dg.AssetKey
    partition: str | None = None

    @property
    def path(self) -> str:
        """Of the page in Dagster."""
        return f"/assets/{'/'.join(self.asset.path)}"


def spot(identifier: str, *, grouped: bool = False) -> Spot:
    """Where Dagster shows a table. `grouped`: with the others of its database."""
    return Spot(database_key(identifier), identifier) if grouped else Spot(asset_key(identifier))


class Shown(Protocol):
    """A table that Dagster shows."""

    @property
    def identifier(self) -> str: ...
    @property
    def grouped(self) -> bool: ...


def job(action: str, identifier: str) -> str:
    """The name of a table's job: ``compact_demo_flights``."""
    return f"{action}_{identifier.replace('.', '_')}"


def job_config(identifier: str, config: str = "") -> str:
    """The config of a job that is for any table, filled in with this one. `config`: of its other steps."""
    others = config.removeprefix("ops: {")
    return f"ops: {{{CHOOSE}: {{config: {{table: {identifier}}}}}{f', {others}' if others else '}'}"


def job_of(table: Shown, action: str) -> str:
    """The job that does something to a table: its own, or the one for any table."""
    if not table.grouped:
        return job(action, table.identifier)
    return EXPIRE_TABLE if action == "expire" else action


def job_config_of(table: Shown, config: str = "") -> str:
    """The config of such a job. `config`: of its steps."""
    return job_config(table.identifier, config) if table.grouped else config


def spot_of(table: Shown) -> Spot:
    """Where Dagster shows a table of tables.yaml."""
    return spot(table.identifier, grouped=table.grouped)


def database_key(name: str) -> dg.AssetKey:
    """The asset of a database, or of the one that a table is in: ``demo.flights`` -> ``demo``."""
    return dg.AssetKey([name.partition(".")[0]])


def asset_key(identifier: str) -> dg.AssetKey:
    """The asset of a table: ``demo.flights`` -> ``demo/flights``."""
    return dg.AssetKey(identifier.split("."))


def pool(identifier: str) -> str:
    """The pool of a table. Its limit is 1, so that two steps never work on one table at the same time."""
    return pool_name(f"paimon/{identifier}")


def node(identifier: str, step: str) -> str:
    """The name of a table's op, unique within the code location: ``demo_flights__compact``."""
    return f"{identifier.replace('.', '_')}__{step}"


def refresh_sensor(identifier: str) -> str:
    """The name of the sensor that refreshes a materialized table: ``keep_fresh_demo_totals``."""
    return job(KEEP_FRESH, identifier)


def refresh_tags(identifier: str) -> dict[str, str]:
    """The tags of a run that refreshes a materialized table, by hand or by itself."""
    return {"paimon/table": identifier, "paimon/action": REFRESH}


def partitions(identifier: str) -> str:
    """The name of a table's dynamic partitions: ``paimon/demo.flights``."""
    return f"paimon/{identifier}"


def partition_states(identifier: str) -> dg.AssetKey:
    """The asset whose data versions say which partitions of a table have changed."""
    return _asset_of(identifier, "partitions")


def landing(identifier: str) -> dg.AssetKey:
    """The asset of the folder from which a table is fed."""
    return _asset_of(identifier, "landing")


def compaction(identifier: str) -> dg.AssetKey:
    """The asset that says up to where the partitions of a table are compacted."""
    return _asset_of(identifier, "compaction")


def changelog(identifier: str) -> dg.AssetKey:
    """The asset that says up to where the partitions of a table have their changelog."""
    return _asset_of(identifier, "changelog")


def tags(identifier: str) -> dg.AssetKey:
    """The asset of a table's tags, one for each period."""
    return _asset_of(identifier, "tags")


def _asset_of(identifier: str, what: str) -> dg.AssetKey:
    """An asset beside a table's: ``demo/flights/flights_tags``. The lineage shows the last part of a key alone."""
    parts = identifier.split(".")
    return dg.AssetKey([*parts, f"{parts[-1]}_{what}"])
