"""What is done to a table, step by step, as tables.yaml says it: in Dagster, in Airflow.

ingestion or refresh -> compaction -> changelog -> file index -> tag -> expiry of partitions, snapshots, tags -> orphan
files

A step that does not apply to a table is left out: no landing folder, no ingestion; no changelog producer, no changelog;
no indexed columns, no file index; no time for its partitions, no expiry of them; no policy for orphan files, no
removal of them.
"""

from collections.abc import Callable, Mapping
from dataclasses import asdict
from datetime import UTC, datetime
from typing import Any
from zoneinfo import ZoneInfo

from maintenance.catalog import Catalog, Schema
from maintenance.errors import NotFoundError, OptionError
from maintenance.operations.expiry.partition_rules import PartitionRules
from maintenance.operations.refs.period_tags import state_at
from maintenance.options.option import duration
from maintenance.project.config import TableConfig
from maintenance.project.policies import DEFAULT_NAME, TagPolicy
from maintenance.project.tag_periods import last_period
from maintenance.table.table import Table

Fields = Mapping[str, Any]
_APPLIES: Mapping[str, Callable[[TableConfig], bool]] = {
    "ingest_landed": lambda table: table.landing is not None,
    "refresh_materialized_table": lambda table: table.materialized is not None,
    "compact": lambda _: True,
    "produce_changelog": lambda table: table.writes_changelog,
    "rewrite_file_index": lambda table: table.has_file_index,
    "create_tag": lambda _: True,
    "expire_partitions": lambda table: table.may_expire_partitions,
    "expire_snapshots": lambda _: True,
    "expire_tags": lambda _: True,
    "remove_orphan_files": lambda table: table.orphans is not None,
}


def operations_of(table: TableConfig) -> tuple[str, ...]:
    """The operations of the steps that apply to a table, in the order in which they may run."""
    return tuple(name for name, applies in _APPLIES.items() if applies(table))


def folder(table: TableConfig) -> Fields:
    """What an ingestion is asked for. Raises: OptionError: the table has no landing folder."""
    if table.landing is None:
        raise OptionError("the table has no landing folder", table.identifier, "Give it one in tables.yaml.")
    return asdict(table.landing.folder)


def retention(table: TableConfig, zone: ZoneInfo) -> Fields:
    """What the expiry of snapshots is asked for."""
    policy = table.retention
    return {
        "retain_max": policy.keep_at_most,
        "retain_min": policy.keep_at_least,
        "older_than": policy.older_than(datetime.now(UTC), zone),
    }


def orphans(table: TableConfig) -> Fields:
    """What the removal of orphan files is asked for."""
    policy = table.orphans
    return {} if policy is None else {
        "minimum_age": duration(policy.minimum_age), "max_deletes": policy.max_files, **time_limit(table)
    }  # fmt: skip


def time_limit(table: TableConfig) -> Fields:
    """What of it a plan does not say."""
    policy = table.orphans
    return {} if policy is None or policy.time_limit is None else {"time_limit": duration(policy.time_limit)}


def compaction_options(described: TableConfig, table: Table) -> Mapping[str, str]:
    """The options of the table by which it is compacted."""
    return described.compaction.options(table.is_primary_key_table)


def conduct(described: TableConfig, _: Table) -> Mapping[str, str]:
    """The options by which all that merges files is carried out."""
    return described.compaction.conduct


def index_options(described: TableConfig, table: Table) -> Mapping[str, str]:
    """The options that name the columns whose file indexes are built."""
    return described.index_columns.options(table.options)


def filled_name(pattern: str, zone: ZoneInfo, snapshot: int) -> str:
    """The name of a tag without a cron."""
    now = datetime.now(zone)
    return pattern.format(date=f"{now:%Y-%m-%d}", time=f"{now:%H%M}", snapshot=snapshot)


def wanted_tag(described: TableConfig, table: Table, zone: ZoneInfo) -> tuple[str, int] | str:
    """The tag that an expiry is to find, and its snapshot: with a cron of the last period; or why there is none."""
    policy = described.tag
    if policy is None:
        return "tables.yaml asks for no tags of this table"
    if policy.cron:
        return _of_last_period(table, policy, zone)
    newest = table.snapshots.latest_id()
    if newest is None:
        return "the table has no snapshot yet"
    return filled_name(policy.name or DEFAULT_NAME, zone, newest), newest


def _of_last_period(table: Table, policy: TagPolicy, zone: ZoneInfo) -> tuple[str, int] | str:
    """Before an expiry its tag is made sure of. One whose snapshot has expired already does not block expiry."""
    period = last_period(policy, zone)
    if period is None:
        return "the first period has not ended"
    existing = table.tags.find(period.name)
    try:
        snapshot = existing.snapshot if existing is not None else state_at(table, period.end)
    except NotFoundError as error:
        return f"no tag '{period.name}': {error}"
    return f"there was no snapshot yet at {period.end.isoformat()}" if snapshot is None else (period.name, snapshot.id)


_OPTIONS: Mapping[str, Callable[[TableConfig, Table], Mapping[str, str]]] = {
    "ingest_landed": conduct,
    "compact": compaction_options,
    "produce_changelog": conduct,
    "rewrite_file_index": index_options,
}


def options_of(operation: str, described: TableConfig, table: Table) -> Mapping[str, str]:
    """The options of the table that tables.yaml sets for an operation."""
    chosen = _OPTIONS.get(operation)
    return {} if chosen is None else chosen(described, table)


def asked(operation: str, described: TableConfig, table: Table) -> Fields | str:
    """The fields of the request of a step of the chain; or why there is nothing to do."""
    zone = described.zone
    match operation:
        case "ingest_landed":
            return folder(described)
        case "refresh_materialized_table":
            return {"zone": str(zone)}
        case "create_tag":
            tag = wanted_tag(described, table, zone)
            return tag if isinstance(tag, str) else _tag_fields(described, *tag)
        case "expire_partitions" if PartitionRules.of(table, None) is None:
            return "the table has no partitions, or no 'partition.expiration-time'"
        case "expire_snapshots":
            return retention(described, zone)
        case "remove_orphan_files":
            return orphans(described)
    return {}


def _tag_fields(described: TableConfig, name: str, snapshot: int) -> Fields:
    lifetime = None if described.tag is None else described.tag.lifetime
    return {"name": name, "snapshot_id": snapshot, "time_retained": lifetime, "ignore_if_exists": True}


def create_described(catalog: Catalog, table: TableConfig) -> None:
    """Create a table from its description, and its database, if they do not exist."""
    catalog.create_database(table.identifier.partition(".")[0], ignore_if_exists=True)
    schema = Schema(
        fields=[
            (name, text, table.comments[name]) if name in table.comments else (name, text)
            for name, text in table.columns.items()
        ],
        primary_keys=list(table.primary_keys),
        partition_keys=list(table.partition_keys),
        options=dict(table.options),
        comment=table.description or None,
    )
    catalog.create_table(table.identifier, schema, ignore_if_exists=True)
