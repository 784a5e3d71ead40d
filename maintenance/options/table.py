"""Table options that this engine honours. A new option is one line here.

Those that are harmless here are in `options/harmless.py`, those that are refused in `options/refused.py`.

Source: seeds and Java `CoreOptions`; defaults are those of Paimon 2.0, which differ from old documents in places
(`bucket` is -1, `file.format` is parquet).
"""

from collections.abc import Mapping
from datetime import UTC, timedelta, tzinfo
from functools import cache

from maintenance.errors import UnsupportedError
from maintenance.names import file_prefix, relative_folder
from maintenance.options import iceberg
from maintenance.options.families import family_refusal
from maintenance.options.option import (
    Option,
    at_least,
    boolean,
    duration,
    integer,
    long_integer,
    memory_size,
    names,
    not_empty,
    number,
    one_of,
    per_level,
    positive,
    share,
    string,
    time_zone,
    untrimmed_names,
)
from maintenance.options.refused import REFUSED
from maintenance.options.state import (
    ALWAYS,
    CHANGES,
    KEEPS,
    READS,
    WRITES,
    Accepts,
    Honoured,
    Refused,
    Use,
    only,
    refusal_of,
)

MAX_INT = 2**31 - 1
_DATA_FORMATS = ("parquet", "orc", "avro", "row", "vortex", "lance", "mosaic")
_NOT_WRITTEN = "files of this format are not written here"


def _levels_are(*accepted: str) -> Accepts:
    """Whether each level has an accepted setting. A text that is not a map is left to the option's own parser."""

    def accepts(text: str) -> bool:
        try:
            return all(setting.lower() in accepted for setting in per_level(text).values())
        except ValueError:
            return True

    return accepts


_OF_FILES = Honoured(Refused(_NOT_WRITTEN, only(*_DATA_FORMATS), WRITES))
_PADDINGS = ("row-kind-flag", "second-to-micro", "millis-to-micro")


def weights(text: str) -> tuple[int, ...]:
    """Whole numbers above 0, separated by commas."""
    return tuple(positive(part) for part in names(text))


def paddings(text: str) -> tuple[str, ...]:
    """Steps of `sequence.auto-padding`, from left to right; none of an empty text."""
    return tuple(one_of(*_PADDINGS)(part) for part in names(text))


PATH_KEY = "path"
TYPE = Option(
    "type",
    one_of("table", "format-table", "materialized-table", "object-table", "lance-table", "iceberg-table"),
    "table",
    state=Honoured(Refused("this is another kind of table", only("table", "materialized-table"), ALWAYS)),
)
PARTITION_END_INPUT_TO_DONE = Option("partition.end-input-to-done", boolean, False)
END_INPUT_WATERMARK: Option[int | None] = Option("end-input.watermark", long_integer, None)
PARTITION_MARK_DONE_ACTION: Option[tuple[str, ...]] = Option("partition.mark-done-action", names, ("success-file",))
PARTITION_MARK_DONE_ACTION_URL: Option[str | None] = Option("partition.mark-done-action.http.url", string, None)
PARTITION_MARK_DONE_ACTION_PARAMS: Option[str | None] = Option("partition.mark-done-action.http.params", string, None)
METASTORE_PARTITIONED_TABLE = Option("metastore.partitioned-table", boolean, False)
METASTORE_TAG_TO_PARTITION: Option[str | None] = Option("metastore.tag-to-partition", string, None)
METASTORE_TAG_TO_PARTITION_PREVIEW = Option(
    "metastore.tag-to-partition.preview",
    one_of("none", "process-time", "watermark", "batch"),
    "none",
    state=Honoured(
        Refused("tags are shown in the metastore by the clock alone", only("none", "process-time"), CHANGES)
    ),
)
POSTPONE_BUCKET = -2
"""The bucket of rows that wait for theirs, and the value of `bucket` of tables with such rows."""
BUCKET = Option("bucket", integer, -1)
BUCKET_KEY: Option[tuple[str, ...]] = Option("bucket-key", names, ())
BUCKET_FUNCTION_TYPE = Option("bucket-function.type", one_of("default", "mod", "hive"), "default")
DYNAMIC_BUCKET_TARGET_ROW_NUM = Option("dynamic-bucket.target-row-num", long_integer, 2_000_000)
DYNAMIC_BUCKET_INITIAL_BUCKETS: Option[int | None] = Option("dynamic-bucket.initial-buckets", integer, None)
DYNAMIC_BUCKET_MAX_BUCKETS = Option("dynamic-bucket.max-buckets", integer, -1)
DYNAMIC_BUCKET_ASSIGNER_PARALLELISM: Option[int | None] = Option("dynamic-bucket.assigner-parallelism", integer, None)
CROSS_PARTITION_UPSERT_INDEX_TTL: Option[timedelta | None] = Option("cross-partition-upsert.index-ttl", duration, None)
POSTPONE_MERGE_ON_READ = Option("postpone.merge-on-read", boolean, False)
POSTPONE_BATCH_WRITE_FIXED_BUCKET = Option("postpone.batch-write-fixed-bucket", boolean, True)
POSTPONE_BATCH_WRITE_FIXED_BUCKET_MAX_PARALLELISM = Option(
    "postpone.batch-write-fixed-bucket.max-parallelism", positive, 2048
)
POSTPONE_DEFAULT_BUCKET_NUM: Option[int | None] = Option("postpone.default-bucket-num", positive, None)
POSTPONE_TARGET_ROW_NUM_PER_BUCKET: Option[int | None] = Option("postpone.target-row-num-per-bucket", positive, None)
POSTPONE_TARGET_SIZE_PER_BUCKET = Option("postpone.target-size-per-bucket", memory_size, 1 << 30)
BRANCH = Option("branch", string, "main")
AUTO_CREATE = Option("auto-create", boolean, False)
PRIMARY_KEY_NULLABLE = Option("primary-key.nullable", boolean, False)
MERGE_ENGINE = Option(
    "merge-engine", one_of("deduplicate", "partial-update", "aggregation", "first-row"), "deduplicate"
)
SEQUENCE_FIELD: Option[tuple[str, ...]] = Option("sequence.field", names, ())
UPSERT_KEY: Option[tuple[str, ...]] = Option("upsert-key", names, ())
SEQUENCE_FIELD_SORT_ORDER = Option("sequence.field.sort-order", one_of("ascending", "descending"), "ascending")
SEQUENCE_AUTO_PADDING: Option[tuple[str, ...]] = Option("sequence.auto-padding", paddings, ())
ROWKIND_FIELD: Option[str | None] = Option("rowkind.field", string, None)
IGNORE_DELETE = Option(
    "ignore-delete",
    boolean,
    False,
    ("first-row.ignore-delete", "deduplicate.ignore-delete", "partial-update.ignore-delete"),
)
PARTIAL_UPDATE_REMOVE_RECORD_ON_DELETE = Option("partial-update.remove-record-on-delete", boolean, False)
PARTIAL_UPDATE_REMOVE_RECORD_ON_SEQUENCE_GROUP: Option[tuple[str, ...]] = Option(
    "partial-update.remove-record-on-sequence-group", names, ()
)
AGGREGATION_REMOVE_RECORD_ON_DELETE = Option("aggregation.remove-record-on-delete", boolean, False)
IGNORE_UPDATE_BEFORE = Option("ignore-update-before", boolean, False)
SEQUENCE_SNAPSHOT_ORDERING = Option("sequence.snapshot-ordering", boolean, False)
FORCE_LOOKUP = Option("force-lookup", boolean, False)
DELETION_VECTORS_ENABLED = Option("deletion-vectors.enabled", boolean, False)
DELETION_VECTORS_MODIFIABLE = Option("deletion-vectors.modifiable", boolean, False)
DELETION_VECTORS_BITMAP64 = Option("deletion-vectors.bitmap64", boolean, False)
DELETION_VECTOR_INDEX_FILE_TARGET_SIZE = Option("deletion-vector.index-file.target-size", memory_size, 2 << 20)
DELETE_FORCE_PRODUCE_CHANGELOG = Option("delete.force-produce-changelog", boolean, False)
DELETION_VECTORS_MERGE_ON_READ = Option("deletion-vectors.merge-on-read", boolean, False)
ROW_TRACKING_ENABLED = Option("row-tracking.enabled", boolean, False)
DATA_EVOLUTION_ENABLED = Option("data-evolution.enabled", boolean, False)
PK_CLUSTERING_OVERRIDE = Option("pk-clustering-override", boolean, False)
WRITE_ONLY = Option("write-only", boolean, False, ("write.compaction-skip",))

CHANGELOG_PRODUCER = Option("changelog-producer", one_of("none", "input", "lookup", "full-compaction"), "none")
CHANGELOG_ROW_DEDUPLICATE = Option("changelog-producer.row-deduplicate", boolean, False)
CHANGELOG_ROW_DEDUPLICATE_IGNORE_FIELDS: Option[tuple[str, ...]] = Option(
    "changelog-producer.row-deduplicate-ignore-fields", untrimmed_names, ()
)

FILE_FORMAT = Option("file.format", string, "parquet", state=_OF_FILES)
FILE_FORMAT_PER_LEVEL: Option[Mapping[int, str]] = Option(
    "file.format.per.level", per_level, {}, state=Honoured(Refused(_NOT_WRITTEN, _levels_are(*_DATA_FORMATS), WRITES))
)
FILE_COMPRESSION = Option("file.compression", string, "zstd")
FILE_COMPRESSION_PER_LEVEL: Option[Mapping[int, str]] = Option("file.compression.per.level", per_level, {})
FILE_COMPRESSION_ZSTD_LEVEL = Option("file.compression.zstd-level", integer, 1)
FILE_SUFFIX_INCLUDE_COMPRESSION = Option("file.suffix.include.compression", boolean, False)
FILE_BLOCK_SIZE: Option[int | None] = Option("file.block-size", memory_size, None)
TARGET_FILE_ROW_NUM: Option[int | None] = Option("target-file-row-num", positive, None)
TARGET_FILE_SIZE: Option[int | None] = Option("target-file-size", memory_size, None)
BLOB_TARGET_FILE_SIZE: Option[int | None] = Option("blob.target-file-size", memory_size, None)
DATA_EVOLUTION_ROW_SIDECAR_ENABLED = Option("data-evolution.row-sidecar.enabled", boolean, False)
DATA_EVOLUTION_ROW_SIDECAR_MAX_SELECTED_ROWS = Option("data-evolution.row-sidecar.max-selected-rows", at_least(1), 4096)
DATA_EVOLUTION_ROW_SIDECAR_MAX_SELECTION_RATIO = Option("data-evolution.row-sidecar.max-selection-ratio", share, 0.05)
VECTOR_FIELD: Option[tuple[str, ...]] = Option("vector-field", names, ())
VECTOR_FILE_FORMAT: Option[str | None] = Option(
    "vector.file.format",
    string,
    None,
    state=Honoured(Refused(_NOT_WRITTEN, only("parquet", "avro", "row", "vortex", "lance"), WRITES)),
)
VECTOR_TARGET_FILE_SIZE: Option[int | None] = Option("vector.target-file-size", memory_size, None)
DATA_FILE_PREFIX = Option("data-file.prefix", file_prefix, "data-")
CHANGELOG_FILE_PREFIX = Option("changelog-file.prefix", file_prefix, "changelog-")
CHANGELOG_FILE_FORMAT: Option[str | None] = Option("changelog-file.format", string, None, state=_OF_FILES)
CHANGELOG_FILE_COMPRESSION: Option[str | None] = Option("changelog-file.compression", string, None)
CHANGELOG_FILE_STATS_MODE: Option[str | None] = Option("changelog-file.stats-mode", string, None)
DATA_FILE_THIN_MODE = Option("data-file.thin-mode", boolean, False)
DATA_FILE_PATH_DIRECTORY: Option[str | None] = Option("data-file.path-directory", relative_folder, None)
DATA_FILE_EXTERNAL_PATHS: Option[tuple[str, ...]] = Option("data-file.external-paths", names, ())
DATA_FILE_EXTERNAL_PATHS_STRATEGY = Option(
    "data-file.external-paths.strategy",
    one_of("none", "specific-fs", "round-robin", "entropy-inject", "weight-robin"),
    "none",
)
DATA_FILE_EXTERNAL_PATHS_SPECIFIC_FS: Option[str | None] = Option("data-file.external-paths.specific-fs", string, None)
DATA_FILE_EXTERNAL_PATHS_WEIGHTS: Option[tuple[int, ...]] = Option("data-file.external-paths.weights", weights, ())
INDEX_FILE_IN_DATA_FILE_DIR = Option("index-file-in-data-file-dir", boolean, False)
CLUSTERING_INCREMENTAL = Option("clustering.incremental", boolean, False)
CLUSTERING_COLUMNS: Option[tuple[str, ...]] = Option("clustering.columns", names, (), ("sink.clustering.by-columns",))
CLUSTERING_STRATEGY = Option(
    "clustering.strategy", one_of("auto", "order", "zorder", "hilbert"), "auto", ("sink.clustering.strategy",)
)
CLUSTERING_INCREMENTAL_MODE = Option("clustering.incremental.mode", one_of("global-sort", "local-sort"), "global-sort")
CLUSTERING_HISTORY_PARTITION_LIMIT = Option("clustering.history-partition.limit", integer, 5)
CLUSTERING_HISTORY_PARTITION_IDLE_TO_FULL_SORT: Option[timedelta | None] = Option(
    "clustering.history-partition.idle-to-full-sort", duration, None
)
BUCKET_APPEND_ORDERED = Option("bucket-append-ordered", boolean, True)
ZORDER_VAR_LENGTH_CONTRIBUTION = Option("zorder.var-length-contribution", positive, 8)
WRITE_BUFFER_SIZE = Option("write-buffer-size", memory_size, 256 << 20)

PARTITION_DEFAULT_NAME = Option("partition.default-name", string, "__DEFAULT_PARTITION__")
PARTITION_LEGACY_NAME = Option("partition.legacy-name", boolean, True)
RECORD_LEVEL_EXPIRE_TIME: Option[timedelta | None] = Option("record-level.expire-time", duration, None)
RECORD_LEVEL_TIME_FIELD: Option[str | None] = Option("record-level.time-field", string, None)
PARTITION_EXPIRATION_TIME: Option[timedelta | None] = Option("partition.expiration-time", duration, None)
PARTITION_EXPIRATION_CHECK_INTERVAL = Option("partition.expiration-check-interval", duration, timedelta(hours=1))
PARTITION_EXPIRATION_STRATEGY = Option(
    "partition.expiration-strategy", one_of("values-time", "update-time"), "values-time"
)
PARTITION_EXPIRATION_MAX_NUM = Option("partition.expiration-max-num", integer, 100)
PARTITION_EXPIRATION_BATCH_SIZE: Option[int | None] = Option("partition.expiration-batch-size", integer, None)
PARTITION_TIMESTAMP_PATTERN: Option[str | None] = Option("partition.timestamp-pattern", string, None)
PARTITION_TIMESTAMP_FORMATTER: Option[str | None] = Option("partition.timestamp-formatter", string, None)
# Paimon's default is false; unset, compactions here leave alone what is about to go.
COMPACTION_SKIP_EXPIRED_PARTITIONS: Option[bool | None] = Option("compaction.skip-expired-partitions", boolean, None)

MANIFEST_FORMAT = Option("manifest.format", one_of("avro", "orc", "parquet"), "avro")
MANIFEST_COMPRESSION = Option("manifest.compression", string, "zstd")
MANIFEST_TARGET_FILE_SIZE = Option("manifest.target-file-size", memory_size, 8 << 20)
MANIFEST_MERGE_MIN_COUNT = Option("manifest.merge-min-count", integer, 30)
MANIFEST_FULL_COMPACTION_THRESHOLD_SIZE = Option("manifest.full-compaction-threshold-size", memory_size, 16 << 20)
MANIFEST_SORT_ENABLED = Option("manifest-sort.enabled", boolean, False)
MANIFEST_SORT_PARTITION_FIELD: Option[str | None] = Option("manifest-sort.partition-field", string, None)
MANIFEST_SORT_MAX_REWRITE_SIZE = Option("manifest-sort.max-rewrite-size", memory_size, 256 << 20)
METADATA_STATS_MODE = Option("metadata.stats-mode", string, "truncate(16)")
METADATA_STATS_MODE_PER_LEVEL: Option[Mapping[int, str]] = Option("metadata.stats-mode.per.level", per_level, {})
METADATA_STATS_DENSE_STORE = Option("metadata.stats-dense-store", boolean, True)
METADATA_STATS_KEEP_FIRST_N_COLUMNS = Option("metadata.stats-keep-first-n-columns", integer, -1)

OVERWRITE_UPGRADE = Option("overwrite-upgrade", boolean, True)
DYNAMIC_PARTITION_OVERWRITE = Option("dynamic-partition-overwrite", boolean, True)

COMMIT_MAX_RETRIES = Option("commit.max-retries", integer, 10)
COMMIT_TIMEOUT: Option[timedelta | None] = Option("commit.timeout", duration, None)
COMMIT_MIN_RETRY_WAIT = Option("commit.min-retry-wait", duration, timedelta(milliseconds=10))
COMMIT_MAX_RETRY_WAIT = Option("commit.max-retry-wait", duration, timedelta(seconds=10))
COMMIT_USER_PREFIX: Option[str | None] = Option("commit.user-prefix", string, None)
COMMIT_FORCE_CREATE_SNAPSHOT = Option("commit.force-create-snapshot", boolean, False)
COMMIT_STRICT_MODE_LAST_SAFE_SNAPSHOT: Option[int | None] = Option(
    "commit.strict-mode.last-safe-snapshot", long_integer, None
)
COMMIT_CALLBACKS: Option[tuple[str, ...]] = Option("commit.callbacks", names, ())
TAG_CALLBACKS: Option[tuple[str, ...]] = Option("tag.callbacks", names, ())
VISIBILITY_CALLBACK_ENABLED = Option("visibility-callback.enabled", boolean, False)
VISIBILITY_CALLBACK_TIMEOUT = Option("visibility-callback.timeout", duration, timedelta(minutes=30))
VISIBILITY_CALLBACK_CHECK_INTERVAL = Option("visibility-callback.check-interval", duration, timedelta(seconds=10))
SNAPSHOT_IGNORE_EMPTY_COMMIT = Option("snapshot.ignore-empty-commit", boolean, True)
MANIFEST_DELETE_FILE_DROP_STATS = Option("manifest.delete-file-drop-stats", boolean, False)
WRITE_SEQUENCE_NUMBER_INIT_MODE = Option("write.sequence-number-init-mode", one_of("scan", "snapshot"), "scan")
PARTITION_TIMESTAMP_FORMAT_STRICT = Option("partition.timestamp-format.strict", boolean, False)

NUM_SORTED_RUN_COMPACTION_TRIGGER = Option("num-sorted-run.compaction-trigger", positive, 5)
NUM_SORTED_RUN_STOP_TRIGGER: Option[int | None] = Option("num-sorted-run.stop-trigger", integer, None)
NUM_LEVELS: Option[int | None] = Option("num-levels", at_least(2), None)
COMPACTION_MAX_SIZE_AMPLIFICATION_PERCENT = Option("compaction.max-size-amplification-percent", integer, 200)
COMPACTION_SIZE_RATIO = Option("compaction.size-ratio", integer, 1)
COMPACTION_OFFPEAK_RATIO = Option("compaction.offpeak-ratio", integer, 0)
COMPACTION_OFFPEAK_START_HOUR = Option("compaction.offpeak.start.hour", integer, -1)
COMPACTION_OFFPEAK_END_HOUR = Option("compaction.offpeak.end.hour", integer, -1)
COMPACTION_OPTIMIZATION_INTERVAL: Option[timedelta | None] = Option("compaction.optimization-interval", duration, None)
COMPACTION_TOTAL_SIZE_THRESHOLD: Option[int | None] = Option("compaction.total-size-threshold", memory_size, None)
COMPACTION_INCREMENTAL_SIZE_THRESHOLD: Option[int | None] = Option(
    "compaction.incremental-size-threshold", memory_size, None
)
COMPACTION_FORCE_UP_LEVEL_0 = Option("compaction.force-up-level-0", boolean, False)
COMPACTION_FORCE_REWRITE_ALL_FILES = Option("compaction.force-rewrite-all-files", boolean, False)
LOOKUP_COMPACT = Option("lookup-compact", one_of("radical", "gentle"), "radical")
LOOKUP_COMPACT_MAX_INTERVAL: Option[int | None] = Option("lookup-compact.max-interval", integer, None)
COMPACTION_MIN_FILE_NUM = Option("compaction.min.file-num", integer, 5)
COMPACTION_SMALL_FILE_RATIO = Option("compaction.small-file-ratio", number, 0.7)
COMPACTION_DELETE_RATIO_THRESHOLD = Option("compaction.delete-ratio-threshold", number, 0.2)

SNAPSHOT_NUM_RETAINED_MIN = Option("snapshot.num-retained.min", integer, 10)
SNAPSHOT_NUM_RETAINED_MAX = Option("snapshot.num-retained.max", integer, MAX_INT)
SNAPSHOT_TIME_RETAINED = Option("snapshot.time-retained", duration, timedelta(hours=1))
SNAPSHOT_EXPIRE_LIMIT = Option("snapshot.expire.limit", integer, 50)
SNAPSHOT_CLEAN_EMPTY_DIRECTORIES = Option(
    "snapshot.clean-empty-directories", boolean, False, ("snapshot.expire.clean-empty-directories",)
)
CHANGELOG_NUM_RETAINED_MIN: Option[int | None] = Option("changelog.num-retained.min", integer, None)
CHANGELOG_NUM_RETAINED_MAX: Option[int | None] = Option("changelog.num-retained.max", integer, None)
CHANGELOG_TIME_RETAINED: Option[timedelta | None] = Option("changelog.time-retained", duration, None)
CONSUMER_ID: Option[str | None] = Option("consumer-id", not_empty, None)
SCAN_BOUNDED_WATERMARK: Option[int | None] = Option("scan.bounded.watermark", long_integer, None)
STREAMING_READ_SNAPSHOT_DELAY: Option[timedelta | None] = Option("streaming.read.snapshot.delay", duration, None)
CONSUMER_IGNORE_PROGRESS = Option("consumer.ignore-progress", boolean, False)
CONSUMER_EXPIRATION_TIME: Option[timedelta | None] = Option("consumer.expiration-time", duration, None)
CONSUMER_CHANGELOG_ONLY = Option("consumer.changelog-only", boolean, False)
TAG_AUTOMATIC_CREATION = Option("tag.automatic-creation", one_of("none", "process-time", "watermark", "batch"), "none")
TAG_AUTOMATIC_COMPLETION = Option("tag.automatic-completion", boolean, False)
TAG_BATCH_CUSTOMIZED_NAME: Option[str | None] = Option("tag.batch.customized-name", string, None)
TAG_CREATE_SUCCESS_FILE = Option("tag.create-success-file", boolean, False)
TAG_CREATION_DELAY = Option("tag.creation-delay", duration, timedelta(0))
TAG_CREATION_PERIOD = Option("tag.creation-period", one_of("daily", "hourly", "two-hours"), "daily")
TAG_CREATION_PERIOD_DURATION: Option[timedelta | None] = Option("tag.creation-period-duration", duration, None)
TAG_PERIOD_FORMATTER = Option(
    "tag.period-formatter", one_of("with-dashes", "without-dashes", "without-dashes-and-spaces"), "with-dashes"
)
TAG_DEFAULT_TIME_RETAINED: Option[timedelta | None] = Option("tag.default-time-retained", duration, None)
TAG_NUM_RETAINED_MAX: Option[int | None] = Option("tag.num-retained-max", integer, None)
TAG_TIME_EXPIRE_ENABLED = Option("tag.time-expire-enabled", boolean, True)
SINK_PROCESS_TIME_ZONE: Option[tzinfo | None] = Option("sink.process-time-zone", time_zone, None)
SINK_WATERMARK_TIME_ZONE: Option[tzinfo] = Option("sink.watermark-time-zone", time_zone, UTC)

SCAN_MODE = Option(
    "scan.mode",
    one_of(
        "default", "latest-full", "full", "latest", "compacted-full", "from-timestamp", "from-creation-timestamp",
        "from-file-creation-time", "from-snapshot", "from-snapshot-full", "incremental",
    ),
    "default",
    ("log.scan",),
)  # fmt: skip
SCAN_PARTITIONS: Option[str | None] = Option("scan.partitions", string, None)
SCAN_BUCKET: Option[int | None] = Option("scan.bucket", integer, None)
SCAN_SNAPSHOT_ID: Option[int | None] = Option("scan.snapshot-id", long_integer, None)
SCAN_TAG_NAME: Option[str | None] = Option("scan.tag-name", string, None)
BATCH_SCAN_MODE = Option("batch-scan-mode", one_of("none", "compact"), "none")
SCAN_VERSION: Option[str | None] = Option("scan.version", string, None)
SCAN_WATERMARK: Option[int | None] = Option("scan.watermark", long_integer, None)
SCAN_TIMESTAMP: Option[str | None] = Option("scan.timestamp", string, None)
SCAN_TIMESTAMP_MILLIS: Option[int | None] = Option(
    "scan.timestamp-millis", long_integer, None, ("log.scan.timestamp-millis",)
)
SCAN_FILE_CREATION_TIME_MILLIS: Option[int | None] = Option("scan.file-creation-time-millis", long_integer, None)
SCAN_CREATION_TIME_MILLIS: Option[int | None] = Option("scan.creation-time-millis", long_integer, None)
STREAMING_READ_OVERWRITE = Option("streaming-read-overwrite", boolean, False)
STREAMING_READ_APPEND_OVERWRITE = Option("streaming-read-append-overwrite", boolean, False)
INCREMENTAL_BETWEEN: Option[str | None] = Option("incremental-between", string, None)
INCREMENTAL_BETWEEN_TIMESTAMP: Option[str | None] = Option("incremental-between-timestamp", string, None)
INCREMENTAL_TO_AUTO_TAG: Option[str | None] = Option("incremental-to-auto-tag", string, None)
INCREMENTAL_BETWEEN_SCAN_MODE = Option(
    "incremental-between-scan-mode", one_of("auto", "delta", "changelog", "diff"), "auto"
)
INCREMENTAL_BETWEEN_TAG_TO_SNAPSHOT = Option("incremental-between-tag-to-snapshot", boolean, False)
SCAN_FALLBACK_BRANCH: Option[str | None] = Option("scan.fallback-branch", string, None)
SCAN_PRIMARY_BRANCH: Option[str | None] = Option("scan.primary-branch", string, None)
CHAIN_TABLE_ENABLED = Option("chain-table.enabled", boolean, False)
CHAIN_TABLE_CHAIN_PARTITION_KEYS: Option[tuple[str, ...]] = Option("chain-table.chain-partition-keys", names, ())
SCAN_FALLBACK_SNAPSHOT_BRANCH: Option[str | None] = Option("scan.fallback-snapshot-branch", string, None)
SCAN_FALLBACK_DELTA_BRANCH: Option[str | None] = Option("scan.fallback-delta-branch", string, None)
FULL_COMPACTION_DELTA_COMMITS: Option[int | None] = Option("full-compaction.delta-commits", integer, None)
TABLE_READ_SEQUENCE_NUMBER_ENABLED = Option("table-read.sequence-number.enabled", boolean, False)
SOURCE_SPLIT_TARGET_SIZE = Option("source.split.target-size", memory_size, 128 << 20)
SOURCE_SPLIT_OPEN_FILE_COST = Option("source.split.open-file-cost", memory_size, 4 << 20)

ADD_COLUMN_BEFORE_PARTITION = Option("add-column-before-partition", boolean, False)
ALTER_COLUMN_NULL_TO_NOT_NULL_DISABLED = Option("alter-column-null-to-not-null.disabled", boolean, True)
DISABLE_EXPLICIT_TYPE_CASTING = Option("disable-explicit-type-casting", boolean, False)

# Options that decide how files on storage are to be understood. Source: Java `CoreOptions`, annotation `Immutable`.
IMMUTABLE = frozenset(
    {
        "type", "bucket-key", "bucket-function.type", "data-file.path-directory", "merge-engine",
        "sequence.snapshot-ordering", "aggregation.remove-record-on-delete", "partial-update.remove-record-on-delete",
        "partial-update.remove-record-on-sequence-group", "rowkind.field", "primary-key", "primary-key.nullable",
        "partition", "dynamic-bucket.initial-buckets", "force-lookup", "row-tracking.enabled", "data-evolution.enabled",
        "index-file-in-data-file-dir", "blob-field", "blob-descriptor-field", "blob-view-field",
        "blob-external-storage-field", "blob-external-storage-path", "pk-clustering-override",
    }
)  # fmt: skip


def check_type(options: Mapping[str, str], table: str) -> str:
    """The kind of table that `type` names. Raises: OptionError: Paimon has no such kind; UnsupportedError."""
    kind = TYPE.of(options)
    if kind in ("lance-table", "iceberg-table"):
        raise UnsupportedError(f"'type' = '{kind}' is not supported", f"table {table}", "Use a table of Paimon's own.")
    return kind


def check_readable(options: Mapping[str, str], table: str) -> None:
    """Refuse to read a table whose options mean something this engine does not do. Raises: UnsupportedError."""
    _check(options, READS, table)


def check_writable(options: Mapping[str, str], table: str) -> None:
    """Refuse to write rows to such a table, and to rewrite its files. Raises: UnsupportedError naming the option."""
    _check_kind(options, table)
    _check(options, CHANGES, table)
    if PK_CLUSTERING_OVERRIDE.of(options) and BUCKET.of(options) == POSTPONE_BUCKET:
        raise UnsupportedError(
            f"'{PK_CLUSTERING_OVERRIDE.key}' together with '{BUCKET.key}' = '-2' is not supported",
            f"table {table}",
            "Use another number of buckets.",
        )
    if SEQUENCE_SNAPSHOT_ORDERING.of(options) and BUCKET.of(options) == POSTPONE_BUCKET:
        # Rows that leave the postpone bucket are numbered by their place in it, not by their snapshots.
        raise UnsupportedError(
            f"'{SEQUENCE_SNAPSHOT_ORDERING.key}' together with '{BUCKET.key}' = '-2' is not supported",
            f"table {table}",
            "Use another number of buckets, or maintain this table with Apache Paimon's own jobs.",
        )


def check_keepable(options: Mapping[str, str], table: str) -> None:
    """Refuse what decodes and writes no rows, such as expiry, tags and rollbacks. Raises: UnsupportedError.

    What rows are written in, and which rows may be seen, do not matter here.
    """
    _check_kind(options, table)
    _check(options, KEEPS, table)


def _check_kind(options: Mapping[str, str], table: str) -> None:
    kind = options.get(TYPE.key, "")
    if kind in ("format-table", "object-table"):
        article = "an" if kind == "object-table" else "a"
        problem = f"'{table}' is {article} {kind.replace('-', ' ')}, the files of a folder: it has no snapshots"
        raise UnsupportedError(problem, f"table {table}", "Name a table of Paimon's own.")


def _check(options: Mapping[str, str], uses: frozenset[Use], table: str) -> None:
    for key, value in options.items():
        refusal = _refusals().get(key) or family_refusal(key)
        if refusal is not None and refusal.by & uses and not refusal.accepts(value):
            raise refusal.error(key, value, f"table {table}")


@cache
def _refusals() -> Mapping[str, Refused]:
    """Refused values, by the keys of their options."""
    options = [value for module in (globals(), vars(iceberg)) for value in module.values() if isinstance(value, Option)]
    found = {key: refusal_of(option.state) for option in (*options, *REFUSED) for key in option.keys}
    return {key: refusal for key, refusal in found.items() if refusal is not None}
