"""Options that contradict each other or the columns. Source: Java `SchemaValidation`, data section 12.2.

Rules of one merge engine's own options are with the engine.
"""

from collections.abc import Iterator, Mapping

from maintenance.errors import OptionError
from maintenance.format.global_index.keys import has_keys
from maintenance.format.metadata.schema import TableSchema
from maintenance.options import table as table_options

_FIELDS = "fields."
_FOR_ALL_FIELDS = "default-aggregate-function"
_LOOKUP, _FULL = "lookup", "full-compaction"


def check_options(schema: TableSchema, where: str) -> None:
    """Raises: OptionError: the first rule that is broken."""
    of_columns = (_of_fields, _of_sequence_fields, _of_upsert_key, _of_row_kind, _of_time_field)
    others = (
        _of_changelog,
        _of_engines,
        _of_snapshot_ordering,
        _of_row_tracking,
        _of_read_sequence_numbers,
        _of_clustering,
        _of_clustered_keys,
        _of_key_indexes,
        _of_manifests,
        _of_chain,
        _of_null_keys,
    )
    for rule in (*of_columns, *others):
        for problem, fix in rule(schema):
            raise OptionError(problem, where, fix)


def _of_fields(schema: TableSchema) -> Iterator[tuple[str, str]]:
    for key in schema.options:
        if not key.startswith(_FIELDS) or "." not in key.removeprefix(_FIELDS):
            continue
        names, *rest = key.removeprefix(_FIELDS).split(".")
        for name in names.split(","):
            if name != _FOR_ALL_FIELDS and name not in schema.field_names:
                yield f"'{key}' names column '{name}', which does not exist", "Name columns of the table."
        if len(rest) > 1 and names in schema.field_names and schema.field(names).type.root == "ROW":
            yield f"'{key}' leads into the ROW column '{names}'", "Name the column itself."


def _of_sequence_fields(schema: TableSchema) -> Iterator[tuple[str, str]]:
    names = schema.model.sequence_field
    for name in names:
        if name not in schema.field_names:
            yield f"'sequence.field' names '{name}'", "Name a column of the table."
        if names.count(name) > 1:
            yield f"'sequence.field' names '{name}' twice", "Name it once."
        if f"{_FIELDS}{name}.aggregate-function" in schema.options:
            yield f"column '{name}' is aggregated and in 'sequence.field'", "Drop one of the options."
    if names and schema.is_cross_partition:
        yield "'sequence.field' with a primary key that lacks a partition column", "Drop one."
    if names and _engine(schema) == "first-row":
        yield "'sequence.field' with merge engine first-row", "Drop one of the options."


def _of_upsert_key(schema: TableSchema) -> Iterator[tuple[str, str]]:
    names = schema.model.upsert_key
    if names and schema.primary_keys:
        yield "'upsert-key' with a primary key", "Drop one of them."
    for name in names:
        if name not in schema.field_names:
            yield f"'upsert-key' names '{name}'", "Name columns of the table."
        elif schema.field(name).type.is_nested:
            yield f"'upsert-key' names '{name}', which is {schema.field(name).type}", "Name columns of plain types."


def _of_row_kind(schema: TableSchema) -> Iterator[tuple[str, str]]:
    name = schema.model.rowkind_field
    if name is not None and name not in schema.field_names:
        yield f"'rowkind.field' names '{name}'", "Name a column of the table."


def _of_changelog(schema: TableSchema) -> Iterator[tuple[str, str]]:
    producer = schema.model.changelog_producer
    deltas = "full-compaction.delta-commits" in schema.options
    if producer != "none" and not schema.primary_keys:
        yield f"'changelog-producer' = '{producer}' without a primary key", "Define one."
    if deltas and producer == _LOOKUP:
        yield (
            "'full-compaction.delta-commits' with 'changelog-producer' = 'lookup'",
            "Use 'changelog-producer' = 'full-compaction', or unset the former.",
        )
    if deltas and not schema.primary_keys and schema.model.bucket == -1:
        yield "'full-compaction.delta-commits' on an append table without buckets", "Unset it."
    if _is_true(schema.options, "streaming-read-overwrite"):
        if producer in (_LOOKUP, _FULL):
            yield f"'streaming-read-overwrite' with 'changelog-producer' = '{producer}'", "Changes would be read twice."
        if not schema.primary_keys:
            yield "'streaming-read-overwrite' without a primary key", "Use 'streaming-read-append-overwrite'."
    least, most = (schema.options.get(f"changelog.num-retained.{end}", "") for end in ("min", "max"))
    if least.strip().isdecimal() and most.strip().isdecimal() and int(least) > int(most):
        yield f"'changelog.num-retained.min' = '{least}' and '.max' = '{most}'", "Use min <= max."


def _of_engines(schema: TableSchema) -> Iterator[tuple[str, str]]:
    producer = schema.model.changelog_producer
    vectors = _is_true(schema.options, "deletion-vectors.enabled")
    if _engine(schema) == "first-row":
        if producer not in ("none", _LOOKUP):
            yield f"merge engine first-row with 'changelog-producer' = '{producer}'", "Use 'none' or 'lookup'."
        if vectors and not _is_true(schema.options, "pk-clustering-override"):
            yield "deletion vectors with merge engine first-row, which deletes nothing", "Unset one of the options."
    if vectors and producer == _FULL:
        yield "deletion vectors with 'changelog-producer' = 'full-compaction'", "Use 'none', 'input' or 'lookup'."


def _of_snapshot_ordering(schema: TableSchema) -> Iterator[tuple[str, str]]:
    if not _is_true(schema.options, "sequence.snapshot-ordering"):
        return
    if not schema.primary_keys:
        yield "'sequence.snapshot-ordering' without a primary key", "Unset it."
    if "sequence.field" in schema.options:
        yield "'sequence.snapshot-ordering' with 'sequence.field'", "Drop one of the options."
    if not _is_true(schema.options, "write-only"):
        yield "'sequence.snapshot-ordering' without 'write-only' = 'true'", "Set it, and compact by a job of its own."


def _of_row_tracking(schema: TableSchema) -> Iterator[tuple[str, str]]:
    tracking = _is_true(schema.options, "row-tracking.enabled")
    if tracking and schema.primary_keys:
        yield "row tracking with a primary key", "Unset 'row-tracking.enabled'."
    if tracking and schema.model.bucket != -1:
        yield "row tracking with buckets", "Use 'bucket' = '-1'."
    if _is_true(schema.options, "data-evolution.enabled") and not tracking:
        yield "'data-evolution.enabled' without row tracking", "Set 'row-tracking.enabled' = 'true'."


def _of_read_sequence_numbers(schema: TableSchema) -> Iterator[tuple[str, str]]:
    if schema.model.table_read_sequence_number_enabled and not schema.primary_keys:
        yield f"'{table_options.TABLE_READ_SEQUENCE_NUMBER_ENABLED.key}' without a primary key", "Unset it."


def _of_manifests(schema: TableSchema) -> Iterator[tuple[str, str]]:
    key, field = table_options.MANIFEST_SORT_ENABLED.key, table_options.MANIFEST_SORT_PARTITION_FIELD
    if not schema.model.manifest_sort_enabled:
        return
    if not schema.partition_keys and not schema.model.evolves:
        yield f"'{key}' without partition columns", "Unset it."
    name = field.of(schema.options)
    if name and name not in schema.partition_keys:
        yield f"'{field.key}' names '{name}'", f"Name a partition column: {', '.join(schema.partition_keys) or 'none'}."


def _of_null_keys(schema: TableSchema) -> Iterator[tuple[str, str]]:
    if schema.model.primary_key_nullable and not schema.primary_keys:
        yield "'primary-key.nullable' without a primary key", "Unset it."


def _of_chain(schema: TableSchema) -> Iterator[tuple[str, str]]:
    options, what = schema.model, "'chain-table.enabled'"
    if not options.is_chain_table:
        return
    if not schema.primary_keys or not schema.partition_keys:
        yield f"{what} without a primary key and partition columns", "Give it both."
    if options.bucket < 1:
        yield f"{what} without a fixed number of buckets", "Set 'bucket' to 1 or more."
    for option in (
        table_options.SEQUENCE_FIELD,
        table_options.PARTITION_TIMESTAMP_PATTERN,
        table_options.PARTITION_TIMESTAMP_FORMATTER,
    ):
        if not option.of(options):
            yield f"{what} without '{option.key}'", "Set it."
    producer = options.changelog_producer
    if producer not in ("none", "input"):
        yield f"{what} with 'changelog-producer' = '{producer}'", "Use 'none' or 'input'."
    if _is_true(options, "deletion-vectors.enabled") and _engine(schema) != "deduplicate":
        yield f"{what} with deletion vectors and merge engine {_engine(schema)}", "Use 'deduplicate'."
    expires = options.partition_expiration_time is not None
    if expires and options.partition_expiration_strategy != "values-time":
        yield f"{what} with 'partition.expiration-strategy' other than 'values-time'", "Use 'values-time'."
    names = options.chain_table_chain_partition_keys
    if names and tuple(schema.partition_keys[-len(names) :]) != names:
        yield f"'chain-table.chain-partition-keys' = '{','.join(names)}'", "Name the last partition columns, in order."


def _of_time_field(schema: TableSchema) -> Iterator[tuple[str, str]]:
    name = schema.options.get("record-level.time-field")
    if name is None:
        if "record-level.expire-time" in schema.options:
            yield "'record-level.expire-time' without 'record-level.time-field'", "Name the column of a row's time."
        return
    if name not in schema.field_names:
        yield f"'record-level.time-field' names '{name}'", "Name a column of the table."
    elif not (schema.field(name).type.is_timestamp or schema.field(name).type.root in ("INT", "BIGINT")):
        yield (
            f"'record-level.time-field' names '{name}', which is {schema.field(name).type}",
            "Use a column of type INT, BIGINT or TIMESTAMP.",
        )


def _engine(schema: TableSchema) -> str:
    return schema.model.merge_engine


def _is_true(options: Mapping[str, str], key: str) -> bool:
    return options.get(key, "").strip().lower() == "true"


def _of_clustered_keys(schema: TableSchema) -> Iterator[tuple[str, str]]:
    """Source: Java `SchemaValidation.validatePkClusteringOverride`."""
    options, key = schema.model, table_options.PK_CLUSTERING_OVERRIDE.key
    if not options.clusters_keys or not schema.primary_keys:
        return
    if not options.clustering_columns:
        yield f"'{key}' without '{table_options.CLUSTERING_COLUMNS.key}'", "Name the columns to sort by."
    for name in options.clustering_columns:
        if name not in schema.field_names or schema.field(name).type.is_nested:
            yield f"'{table_options.CLUSTERING_COLUMNS.key}' names '{name}'", "Name columns of plain types."
    engine = _engine(schema)
    if engine not in ("deduplicate", "first-row"):
        yield f"'{key}' with merge engine {engine}", "Use deduplicate or first-row."
    if engine == "deduplicate" and not options.has_deletion_vectors:
        yield f"'{key}' without deletion vectors", "Set 'deletion-vectors.enabled' = 'true'."
    if options.changelog_producer not in ("none", "input"):
        yield f"'{key}' with 'changelog-producer' = '{options['changelog-producer']}'", "Use 'none' or 'input'."
    for other in (table_options.SEQUENCE_FIELD.key, table_options.RECORD_LEVEL_EXPIRE_TIME.key):
        if other in options:
            yield f"'{key}' with '{other}'", "Unset one of them."


def _of_key_indexes(schema: TableSchema) -> Iterator[tuple[str, str]]:
    """Source: Java `SchemaValidation.validatePrimaryKeySortedIndex`."""
    options = schema.model
    both = [(option.key, name) for option, name in options.key_indexed]
    if not both:
        return
    key = both[0][0]
    for number, (option, name) in enumerate(both):
        if name not in schema.field_names:
            yield f"'{option}' names '{name}'", "Name columns of the table."
        elif not has_keys(schema.field(name).type):
            yield f"'{option}' names '{name}', which is {schema.field(name).type}", "Name columns of plain types."
        if name in [other for _, other in both[:number]]:
            yield f"column '{name}' is indexed twice", "Name it in one of the options, once."
    if not schema.primary_keys:
        yield f"'{key}' without a primary key", "Use file indexes, or a global index of a table with data evolution."
    if options.bucket == -1:
        yield f"'{key}' with dynamic buckets", "Set a number of buckets."
    if not options.has_deletion_vectors or options.deletion_vectors_merge_on_read:
        yield f"'{key}' without deletion vectors, or with vectors that reads merge", "Set 'deletion-vectors.enabled'."
    if options.clusters_keys:
        yield f"'{key}' with '{table_options.PK_CLUSTERING_OVERRIDE.key}'", "Unset one of them."


def _of_clustering(schema: TableSchema) -> Iterator[tuple[str, str]]:
    options, key = schema.model, table_options.CLUSTERING_INCREMENTAL.key
    if not options.clustering_incremental:
        return
    if schema.primary_keys:
        yield f"'{key}' with a primary key", "Unset it."
    if options.bucket == -1:
        return
    if table_options.BUCKET_APPEND_ORDERED.of(options):
        yield f"'{key}' with buckets whose rows keep their order", "Set 'bucket-append-ordered' = 'false'."
    if options.has_deletion_vectors:
        yield f"'{key}' with 'deletion-vectors.enabled' and buckets", "Drop one of them."
