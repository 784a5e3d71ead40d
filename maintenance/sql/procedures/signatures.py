"""What each of Paimon's procedures that there is here takes and returns, in Flink and in Spark.

A procedure of Flink that declares no rows returns texts, under the name `result`. Source: Paimon's procedure classes of
both engines.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import pyarrow as pa

from maintenance.sql.procedures.procedure import Call
from maintenance.sql.result import Result

Row = tuple[object, ...]
Rows = Callable[[Call, pa.Table], Sequence[Row]]
"""Of a call and what its operation reports, what the engine's procedure returns."""

_STRING, _BIGINT = pa.string(), pa.int64()
TEXT: Mapping[str, pa.DataType] = {"result": _STRING}
TRUTH: Mapping[str, pa.DataType] = {"result": pa.bool_()}
WENT_BACK: Mapping[str, pa.DataType] = {"previous_snapshot_id": _BIGINT, "current_snapshot_id": _BIGINT}
EARLIEST: Mapping[str, pa.DataType] = {
    "previous_earliest_snapshot_id": _BIGINT,
    "current_earliest_snapshot_id": _BIGINT,
}
TAGGED: Mapping[str, pa.DataType] = {
    "tagName": _STRING,
    "snapshot": _BIGINT,
    "commit_time": _BIGINT,
    "watermark": _STRING,
}


def said(*row: object) -> Rows:
    """Always this row."""
    return lambda _call, _reported: [row]


def text(make: Callable[[Call, pa.Table], str]) -> Rows:
    """One text."""
    return lambda call, reported: [(make(call, reported),)]


def each_value(_: Call, reported: pa.Table) -> list[Row]:
    """Each value in a row of its own, as text."""
    return [(str(value),) for row in reported.to_pylist() for value in row.values()]


SUCCESS, TRUE = said("Success"), said(True)


@dataclass(frozen=True, slots=True)
class Signature:
    """One engine's procedure.

    Attributes:
        parameters: in the order of positions, as the engine spells them.
        columns: that it returns.
        rows: None = what the operation reports under these columns.
    """

    parameters: Sequence[str]
    columns: Mapping[str, pa.DataType]
    rows: Rows | None = None

    def returned(self, call: Call, result: Result) -> Result:
        """What the engine returns, of what the operation reports."""
        schema = pa.schema(self.columns.items())
        if self.rows is None:
            return replace(result, rows=result.to_arrow().select(schema.names).cast(schema))
        rows = self.rows(call, result.to_arrow())
        named = [dict(zip(schema.names, row, strict=True)) for row in rows]
        return replace(result, rows=pa.Table.from_pylist(named, schema))


def takes(parameters: str, columns: Mapping[str, pa.DataType], rows: Rows | None = None) -> Signature:
    """A signature. `parameters`: with blanks between them."""
    return Signature(parameters.split(), columns, rows)


def _or(instead: str) -> Rows:
    """The rows of the operation, or this text."""

    def rows(_: Call, reported: pa.Table) -> list[Row]:
        return [tuple(row.values()) for row in reported.to_pylist()] or [(instead,)]

    return rows


def _of_index(call: Call) -> tuple[str, str]:
    return call.get("index_type").strip().lower(), call.get("table").rpartition(".")[2]


def _index_created(call: Call, _: pa.Table) -> str:
    kind, table = _of_index(call)
    shown = "BTree" if kind == "btree" else kind.capitalize()
    return f"{shown} global index created successfully for table: {table}"


def _index_dropped(call: Call, reported: pa.Table) -> str:
    (kind, table), files = _of_index(call), reported["dropped_file_count"][0].as_py()
    column = call.get("index_column")
    if call.get("dry_run"):
        return f"Dry run: {files} {kind} global index files would be dropped for columns '{column}' on table '{table}'"
    if not files:
        return f"No {kind} global index found for columns '{column}'"
    return f"Dropped {files} {kind} global index files for columns '{column}' on table '{table}'"


def _manifests(call: Call, reported: pa.Table) -> str:
    if not call.get("dry_run"):
        return "success"
    (row,) = reported.to_pylist()
    return f"Dry run: {row['manifests']} manifest files ({row['bytes']} bytes), {row['entries']} entries."


def _changelogs(call: Call, reported: pa.Table) -> str:
    if call.get("delete_all"):
        return "Delete all separated changelogs success."
    return str(reported["deleted_changelogs_count"][0].as_py())


def _renamed(call: Call, _: pa.Table) -> str:
    return f"Rename [{call.get('tag')}] to [{call.get('target_tag')}] successfully."


# An operation over many tables raises what went wrong, so none has failed when it returns.
_MIGRATED = text(lambda _, reported: f"migrate database is finished, success cnt: {reported.num_rows} , failed cnt: 0")
_COMPACTED = text(lambda _, reported: f"Compact database finished. Success: {reported['tables'][0].as_py()}, Failed: 0")
_WATERMARK = text(lambda _, reported: f"Success roll back to snapshot: {reported['current_snapshot_id'][0].as_py()} .")

_RETAIN = "table retain_max retain_min older_than max_deletes"
_MANIFESTS = "table options dry_run manifest_sort_enabled manifest_sort_partition_field manifest_sort_max_rewrite_size"
_CHAIN = "table partition overwrite"
_UNEXISTING = "table dry_run parallelism"
_INDEX = "table index_column index_type partitions"
_ORPHANS = "table older_than dry_run parallelism mode"
_MERGE = (
    "target_table target_alias source_sqls source_table merge_condition matched_upsert_condition"
    " matched_upsert_setting not_matched_insert_condition not_matched_insert_values matched_delete_condition"
    " not_matched_by_source_upsert_condition not_matched_by_source_upsert_setting"
    " not_matched_by_source_delete_condition"
)

# What says no more than that it is done, in both engines: what it takes, or what it takes in Flink and in Spark.
_DONE: Mapping[str, str | tuple[str, str]] = {
    "alter_view_dialect": "view action engine query",
    "clear_consumers": ("table including_consumers excluding_consumers", "table includingConsumers excludingConsumers"),
    "compact": (
        "table partitions order_strategy order_by options where partition_idle_time compact_strategy buckets",
        "table partitions compact_strategy order_strategy order_by where options partition_idle_time buckets",
    ),
    "create_branch": "table branch tag ignoreIfExists",
    "create_tag": ("table tag snapshot_id time_retained", "table tag snapshot time_retained"),
    "delete_branch": "table branch",
    "delete_tag": "table tag",
    "fast_forward": "table branch",
    "mark_partition_done": "table partitions",
    "merge_branch": "table source_branch target_branch",
    "migrate_table": (
        "connector source_table target_table options parallelism delete_origin",
        "source_type table options delete_origin target_table options_map parallelism",
    ),
    "rename_branch": "table from_branch to_branch",
    "repair": ("table", "database_or_table"),
    "replace_tag": ("table tag snapshot_id time_retained", "table tag snapshot time_retained"),
    "rescale": ("table bucket_num partition scan_parallelism sink_parallelism", "table bucket_num partitions where"),
    "reset_consumer": ("table consumer_id next_snapshot_id", "table consumerId nextSnapshotId"),
    "trigger_tag_automatic_creation": "table",
}


def _taken(place: int) -> Mapping[str, str]:
    return {name: both if isinstance(both, str) else both[place] for name, both in _DONE.items()}


_ALIKE: Mapping[str, Signature] = {
    "create_tag_from_timestamp": takes("table tag timestamp time_retained", TAGGED),
    "expire_partitions": takes(
        "table expiration_time timestamp_formatter timestamp_pattern expire_strategy max_expires options",
        {"expired_partitions": pa.string()},
        _or("No expired partitions."),
    ),
    "expire_tags": takes("table older_than", {"expired_tags": pa.string()}, _or("No expired tags.")),
    "purge_files": takes("table", TEXT, SUCCESS),
    "repair_earliest_snapshot": takes("table snapshot_id", EARLIEST),
    "rollback_to_timestamp": takes("table timestamp", WENT_BACK),
}

FLINK: Mapping[str, Signature] = {
    **_ALIKE,
    **{name: takes(parameters, TEXT, SUCCESS) for name, parameters in _taken(0).items()},
    "alter_column_default_value": takes("table column default_value", TEXT, SUCCESS),
    "clone": takes(
        "database table catalog_conf target_database target_table target_catalog_conf parallelism where"
        " included_tables excluded_tables prefer_file_format clone_from meta_only clone_if_exists"
        " target_table_conf",
        TEXT,
        SUCCESS,
    ),
    "compact_chain_table": takes(_CHAIN, TEXT, SUCCESS),
    "compact_database": takes(
        "including_databases mode including_tables excluding_tables table_options partition_idle_time compact_strategy",
        TEXT,
        SUCCESS,
    ),
    "compact_manifest": takes(_MANIFESTS, TEXT, text(_manifests)),
    "create_global_index": takes(f"{_INDEX} options", TEXT, text(_index_created)),
    "create_tag_from_watermark": takes("table tag watermark time_retained", TAGGED),
    "data_evolution_merge_into": takes(
        "target_table target_alias source_sqls source_table merge_condition matched_update_set sink_parallelism",
        TEXT,
        SUCCESS,
    ),
    "drop_global_index": takes(f"{_INDEX} dry_run", TEXT, text(_index_dropped)),
    "drop_partition": takes("table partitions", TEXT, SUCCESS),
    "expire_changelogs": takes(f"{_RETAIN} delete_all", TEXT, text(_changelogs)),
    "expire_snapshots": takes(f"{_RETAIN} options", TEXT, each_value),
    "merge_into": takes(_MERGE, TEXT, SUCCESS),
    "migrate_database": takes("connector source_database options parallelism", TEXT, _MIGRATED),
    "remove_orphan_files": takes(_ORPHANS, TEXT, each_value),
    "remove_unexisting_files": takes(_UNEXISTING, TEXT, each_value),
    "remove_unexisting_manifests": takes("tableId", TEXT, SUCCESS),
    "rename_tag": takes("table tagName targetTagName", TEXT, text(_renamed)),
    "rewrite_file_index": takes("table partitions", TEXT, SUCCESS),
    "rollback_to": takes("table tag snapshot_id", WENT_BACK),
    "rollback_to_as_latest": takes(
        "table tag snapshot_id",
        dict.fromkeys(("previous_snapshot_id", "rolled_back_snapshot_id", "current_snapshot_id"), pa.int64()),
    ),
    "rollback_to_watermark": takes("table watermark", TEXT, _WATERMARK),
}

SPARK: Mapping[str, Signature] = {
    **_ALIKE,
    **{name: takes(parameters, TRUTH, TRUE) for name, parameters in _taken(1).items()},
    "compact_chain_table": takes(_CHAIN, TRUTH),
    "compact_database": takes("including_databases including_tables excluding_tables options", TEXT, _COMPACTED),
    "compact_manifest": takes(_MANIFESTS, TRUTH, TRUE),
    "copy": takes("source_table target_table where", TRUTH, TRUE),
    "create_global_index": takes(f"{_INDEX} options", TRUTH, TRUE),
    "drop_global_index": takes(f"{_INDEX} dry_run", {**TRUTH, "dropped_file_count": pa.int64()}),
    "expire_snapshots": takes(f"{_RETAIN} options", {"deleted_snapshots_count": pa.int32()}),
    "migrate_database": takes("source_type database options options_map parallelism", TEXT, _MIGRATED),
    "remove_orphan_files": takes(_ORPHANS, {"deletedFileCount": pa.int64(), "deletedFileTotalLenInBytes": pa.int64()}),
    "remove_unexisting_files": takes(_UNEXISTING, {"fileName": pa.string()}),
    "rename_tag": takes("table tag target_tag", TRUTH, TRUE),
    "rewrite_file_index": takes("table where", {"written_partitions": pa.int32(), "written_indexes": pa.int32()}),
    "rollback": takes("table version snapshot tag", WENT_BACK),
    "rollback_to_watermark": takes("table watermark", WENT_BACK),
}


def own_signature(name: str, dialect: str) -> Signature | None:
    """A procedure's signature in the engine of a dialect; None: that engine does not have it."""
    return (SPARK if dialect == "spark" else FLINK).get(name)


def signature_of(name: str, dialect: str) -> Signature | None:
    """As `own_signature`, but of the other engine for a procedure that it alone has."""
    return own_signature(name, dialect) or FLINK.get(name) or SPARK.get(name)
