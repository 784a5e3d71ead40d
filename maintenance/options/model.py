"""What a table is, as its options say: each is read once, when somebody first asks."""

from collections.abc import Mapping
from datetime import timedelta
from functools import cached_property
from typing import Any, NoReturn

from maintenance.options import blob, file_index, global_index, iceberg, own
from maintenance.options import table as table_options
from maintenance.options.option import Option


class TableModel(dict[str, str]):
    """The options of a table at one moment, and what they mean. It is made when a table is opened, and never changes.

    It is handed down as the mapping that it is, so that no one reads an option again. An option with a wrong value
    raises OptionError where it is asked for, and only there: what does not depend on it goes on.
    An attribute is the option that it is read by; what several options mean together has a docstring.
    """

    @classmethod
    def of(cls, options: Mapping[str, str]) -> "TableModel":
        """The model of some options; these themselves if they are one."""
        return options if isinstance(options, cls) else cls(options)

    # Buckets
    bucket = cached_property(table_options.BUCKET.of)  # of a partition; -1: dynamic, or none; -2: postponed
    bucket_function_type = cached_property(table_options.BUCKET_FUNCTION_TYPE.of)
    dynamic_bucket_max_buckets = cached_property(table_options.DYNAMIC_BUCKET_MAX_BUCKETS.of)
    dynamic_bucket_target_row_num = cached_property(table_options.DYNAMIC_BUCKET_TARGET_ROW_NUM.of)

    @property
    def is_postponed(self) -> bool:
        """Whether rows wait for their buckets."""
        return self.bucket == table_options.POSTPONE_BUCKET

    # Keys, and what becomes of the rows of one
    merge_engine = cached_property(table_options.MERGE_ENGINE.of)
    ignores_deletes = cached_property(table_options.IGNORE_DELETE.of)
    ignore_update_before = cached_property(table_options.IGNORE_UPDATE_BEFORE.of)
    primary_key_nullable = cached_property(table_options.PRIMARY_KEY_NULLABLE.of)
    upsert_key = cached_property(table_options.UPSERT_KEY.of)
    rowkind_field = cached_property(table_options.ROWKIND_FIELD.of)
    sequence_field = cached_property(table_options.SEQUENCE_FIELD.of)
    sequence_field_sort_order = cached_property(table_options.SEQUENCE_FIELD_SORT_ORDER.of)
    sequence_auto_padding = cached_property(table_options.SEQUENCE_AUTO_PADDING.of)
    sequence_snapshot_ordering = cached_property(table_options.SEQUENCE_SNAPSHOT_ORDERING.of)
    partial_update_removes = cached_property(table_options.PARTIAL_UPDATE_REMOVE_RECORD_ON_DELETE.of)
    sequence_groups_that_remove = cached_property(table_options.PARTIAL_UPDATE_REMOVE_RECORD_ON_SEQUENCE_GROUP.of)
    aggregation_removes = cached_property(table_options.AGGREGATION_REMOVE_RECORD_ON_DELETE.of)
    record_level_expire_time = cached_property(table_options.RECORD_LEVEL_EXPIRE_TIME.of)

    @property
    def has_one_version(self) -> bool:
        """Whether files above level 0 never hold two live versions of a key. Source: Java `MergeTreeSplitGenerator`."""
        return self.has_deletion_vectors or self.merge_engine == "first-row"

    @property
    def removes_records(self) -> bool:
        """Whether a merge engine that merges rows column by column lets a deletion remove what rows before have set."""
        match self.merge_engine:
            case "partial-update":
                return self.partial_update_removes or bool(self.sequence_groups_that_remove)
            case "aggregation":
                return self.aggregation_removes
        return False

    # Changelogs, deletion vectors, lookups
    changelog_producer = cached_property(table_options.CHANGELOG_PRODUCER.of)  # ``none``: nothing
    changelog_row_deduplicate = cached_property(table_options.CHANGELOG_ROW_DEDUPLICATE.of)
    changelog_row_deduplicate_ignore_fields = cached_property(table_options.CHANGELOG_ROW_DEDUPLICATE_IGNORE_FIELDS.of)
    has_deletion_vectors = cached_property(table_options.DELETION_VECTORS_ENABLED.of)
    deletion_vectors_bitmap64 = cached_property(table_options.DELETION_VECTORS_BITMAP64.of)
    deletion_vectors_merge_on_read = cached_property(table_options.DELETION_VECTORS_MERGE_ON_READ.of)

    @property
    def looks_up(self) -> bool:
        """Whether compactions of level 0 look up older records above. Source: Java `CoreOptions.needLookup`."""
        by_engine = self.has_one_version or self.changelog_producer == "lookup"
        return by_engine or table_options.FORCE_LOOKUP.of(self)

    @property
    def skips_level_0(self) -> bool:
        """Whether batch reads of a table with a primary key leave out level 0, where a compaction has not been yet.

        Source: data section 6.1, Java `CoreOptions.batchScanSkipLevel0`.
        """
        if table_options.BATCH_SCAN_MODE.of(self) == "compact":
            return False
        if self.has_deletion_vectors:
            return not self.deletion_vectors_merge_on_read
        return self.merge_engine == "first-row"

    # Rows with an id, and columns apart
    tracks_rows = cached_property(table_options.ROW_TRACKING_ENABLED.of)
    evolves = cached_property(table_options.DATA_EVOLUTION_ENABLED.of)  # a file may have some columns of its rows
    blob_as_descriptor = cached_property(blob.BLOB_AS_DESCRIPTOR.of)
    blob_descriptor_field = cached_property(blob.BLOB_DESCRIPTOR_FIELD.of)
    blob_external_storage_field = cached_property(blob.BLOB_EXTERNAL_STORAGE_FIELD.of)
    blob_view_field = cached_property(blob.BLOB_VIEW_FIELD.of)

    @property
    def inline_blobs(self) -> frozenset[str]:
        """The columns whose data files hold where a blob is, not the blob."""
        return frozenset((*self.blob_descriptor_field, *self.blob_view_field))

    vector_file_format = cached_property(table_options.VECTOR_FILE_FORMAT.of)

    # Files
    file_format = cached_property(table_options.FILE_FORMAT.of)
    file_compression = cached_property(table_options.FILE_COMPRESSION.of)
    file_compression_zstd_level = cached_property(table_options.FILE_COMPRESSION_ZSTD_LEVEL.of)
    file_block_size = cached_property(table_options.FILE_BLOCK_SIZE.of)
    data_file_prefix = cached_property(table_options.DATA_FILE_PREFIX.of)
    data_file_thin_mode = cached_property(table_options.DATA_FILE_THIN_MODE.of)
    data_file_external_paths = cached_property(table_options.DATA_FILE_EXTERNAL_PATHS.of)
    write_buffer_size = cached_property(table_options.WRITE_BUFFER_SIZE.of)
    file_index_in_manifest_threshold = cached_property(file_index.FILE_INDEX_IN_MANIFEST_THRESHOLD.of)
    file_index_read_enabled = cached_property(file_index.FILE_INDEX_READ_ENABLED.of)
    global_index_column_update_action = cached_property(global_index.GLOBAL_INDEX_COLUMN_UPDATE_ACTION.of)
    global_index_external_path = cached_property(global_index.GLOBAL_INDEX_EXTERNAL_PATH.of)

    @property
    def key_indexed(self) -> list[tuple[Option[tuple[str, ...]], str]]:
        """The columns that have an index of each bucket, each with the option that names it."""
        options = (global_index.PK_BTREE_INDEX_COLUMNS, global_index.PK_BITMAP_INDEX_COLUMNS)
        return [(option, name) for option in options for name in option.of(self)]

    def target_file_size(self, has_primary_key: bool) -> int:
        """Bytes at which a data file is closed: 128 MB with a primary key, else 256 MB, unless the option is set."""
        return table_options.TARGET_FILE_SIZE.of(self) or (128 << 20 if has_primary_key else 256 << 20)

    @property
    def blob_target_file_size(self) -> int:
        """Bytes at which a file of blobs is closed: those of a data file, unless the option is set."""
        return table_options.BLOB_TARGET_FILE_SIZE.of(self) or self.target_file_size(has_primary_key=False)

    @property
    def vector_target_file_size(self) -> int:
        """Bytes at which a file of vectors is closed: those of a data file, unless the option is set."""
        return table_options.VECTOR_TARGET_FILE_SIZE.of(self) or self.target_file_size(has_primary_key=False)

    # Manifests, and what is published beside them
    manifest_compression = cached_property(table_options.MANIFEST_COMPRESSION.of)
    manifest_merge_min_count = cached_property(table_options.MANIFEST_MERGE_MIN_COUNT.of)
    manifest_sort_enabled = cached_property(table_options.MANIFEST_SORT_ENABLED.of)
    manifest_target_file_size = cached_property(table_options.MANIFEST_TARGET_FILE_SIZE.of)
    iceberg_format_version = cached_property(iceberg.FORMAT_VERSION.of)
    iceberg_storage = cached_property(iceberg.STORAGE.of)

    @property
    def is_published_to_iceberg(self) -> bool:
        """Whether commits write Iceberg metadata."""
        return self.iceberg_storage != "disabled"

    @property
    def has_iceberg_in_its_folder(self) -> bool:
        """Whether the metadata of Iceberg is in the table's own folder, not in that of an Iceberg catalog."""
        location = iceberg.STORAGE_LOCATION.of(self)
        return (self.iceberg_storage if location is None else location) == iceberg.TABLE_LOCATION

    metastore_partitioned_table = cached_property(table_options.METASTORE_PARTITIONED_TABLE.of)
    metastore_tag_to_partition = cached_property(table_options.METASTORE_TAG_TO_PARTITION.of)

    # Partitions
    partition_default_name = cached_property(table_options.PARTITION_DEFAULT_NAME.of)
    partition_legacy_name = cached_property(table_options.PARTITION_LEGACY_NAME.of)
    partition_timestamp_formatter = cached_property(table_options.PARTITION_TIMESTAMP_FORMATTER.of)
    partition_expiration_time = cached_property(table_options.PARTITION_EXPIRATION_TIME.of)
    partition_expiration_strategy = cached_property(table_options.PARTITION_EXPIRATION_STRATEGY.of)
    partition_expiration_max_num = cached_property(table_options.PARTITION_EXPIRATION_MAX_NUM.of)
    partition_expiration_batch_size = cached_property(table_options.PARTITION_EXPIRATION_BATCH_SIZE.of)
    partition_mark_done_action_url = cached_property(table_options.PARTITION_MARK_DONE_ACTION_URL.of)
    dynamic_partition_overwrite = cached_property(table_options.DYNAMIC_PARTITION_OVERWRITE.of)
    is_chain_table = cached_property(table_options.CHAIN_TABLE_ENABLED.of)
    chain_table_chain_partition_keys = cached_property(table_options.CHAIN_TABLE_CHAIN_PARTITION_KEYS.of)

    # Compaction
    write_only = cached_property(table_options.WRITE_ONLY.of)
    beside_other_compactors = cached_property(own.BESIDE_OTHER_COMPACTORS.of)
    num_sorted_run_compaction_trigger = cached_property(table_options.NUM_SORTED_RUN_COMPACTION_TRIGGER.of)
    compaction_min_file_num = cached_property(table_options.COMPACTION_MIN_FILE_NUM.of)
    compaction_small_file_ratio = cached_property(table_options.COMPACTION_SMALL_FILE_RATIO.of)
    compaction_delete_ratio_threshold = cached_property(table_options.COMPACTION_DELETE_RATIO_THRESHOLD.of)
    compaction_max_size_amplification_percent = cached_property(
        table_options.COMPACTION_MAX_SIZE_AMPLIFICATION_PERCENT.of
    )
    compaction_size_ratio = cached_property(table_options.COMPACTION_SIZE_RATIO.of)
    compaction_optimization_interval = cached_property(table_options.COMPACTION_OPTIMIZATION_INTERVAL.of)
    full_compaction_delta_commits = cached_property(table_options.FULL_COMPACTION_DELTA_COMMITS.of)
    clustering_columns = cached_property(table_options.CLUSTERING_COLUMNS.of)
    clustering_incremental = cached_property(table_options.CLUSTERING_INCREMENTAL.of)
    clusters_keys = cached_property(table_options.PK_CLUSTERING_OVERRIDE.of)  # by columns other than the key
    zorder_var_length_contribution = cached_property(table_options.ZORDER_VAR_LENGTH_CONTRIBUTION.of)

    @property
    def num_levels(self) -> int:
        """Levels of a bucket's LSM tree; the highest is this minus 1. Source: option `num-levels`."""
        return table_options.NUM_LEVELS.of(self) or self.num_sorted_run_compaction_trigger + 1

    @property
    def stop_trigger(self) -> int:
        """Sorted runs of a bucket beyond which its writers compact before they add more. Source: Java `CoreOptions`."""
        trigger = self.num_sorted_run_compaction_trigger
        stop = table_options.NUM_SORTED_RUN_STOP_TRIGGER.of(self)
        return max(trigger, trigger + 3 if stop is None else stop)

    @property
    def lookup_compact_max_interval(self) -> int:
        """Runs of level 0 after which `lookup-compact` = `gentle` lifts them. Source: Java `CoreOptions`."""
        trigger = self.num_sorted_run_compaction_trigger
        return max(trigger, table_options.LOOKUP_COMPACT_MAX_INTERVAL.of(self) or 2 * trigger)

    # Reading
    scan_mode = cached_property(table_options.SCAN_MODE.of)
    scan_fallback_branch = cached_property(table_options.SCAN_FALLBACK_BRANCH.of)
    scan_primary_branch = cached_property(table_options.SCAN_PRIMARY_BRANCH.of)
    source_split_open_file_cost = cached_property(table_options.SOURCE_SPLIT_OPEN_FILE_COST.of)
    table_read_sequence_number_enabled = cached_property(table_options.TABLE_READ_SEQUENCE_NUMBER_ENABLED.of)
    consumer_id = cached_property(table_options.CONSUMER_ID.of)

    # How long history is kept
    snapshot_time_retained = cached_property(table_options.SNAPSHOT_TIME_RETAINED.of)
    snapshot_num_retained_min = cached_property(table_options.SNAPSHOT_NUM_RETAINED_MIN.of)
    snapshot_num_retained_max = cached_property(table_options.SNAPSHOT_NUM_RETAINED_MAX.of)
    consumer_expiration_time = cached_property(table_options.CONSUMER_EXPIRATION_TIME.of)
    tag_automatic_creation = cached_property(table_options.TAG_AUTOMATIC_CREATION.of)
    tag_create_success_file = cached_property(table_options.TAG_CREATE_SUCCESS_FILE.of)
    tag_default_time_retained = cached_property(table_options.TAG_DEFAULT_TIME_RETAINED.of)
    tag_num_retained_max = cached_property(table_options.TAG_NUM_RETAINED_MAX.of)
    tag_time_expire_enabled = cached_property(table_options.TAG_TIME_EXPIRE_ENABLED.of)

    @property
    def keeps_changelogs(self) -> bool:
        """Whether changes are kept longer than snapshots. Source: Java `CoreOptions.changelogLifecycleDecoupled`."""
        longer = table_options.CHANGELOG_TIME_RETAINED.of(self) or timedelta(0)
        return (
            (table_options.CHANGELOG_NUM_RETAINED_MAX.of(self) or 0) > self.snapshot_num_retained_max
            or (table_options.CHANGELOG_NUM_RETAINED_MIN.of(self) or 0) > self.snapshot_num_retained_min
            or longer > self.snapshot_time_retained
        )

    def _unchangeable(self, *_: Any, **__: Any) -> NoReturn:
        raise TypeError("the options of an open table do not change: make another table with copy")

    __setitem__ = __delitem__ = __ior__ = update = pop = popitem = clear = setdefault = _unchangeable

    def __reduce__(self) -> tuple[Any, ...]:
        return TableModel, (dict(self),)
