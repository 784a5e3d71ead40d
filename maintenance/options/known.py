"""All known names of table options, so that a misspelt one is noticed when it is set.

A misspelt option would be stored, and mean nothing. Tables that others wrote may have any options: they are read,
written and maintained with them. Source: Java `CoreOptions` and the options of Flink's and Spark's connectors.
"""

from collections.abc import Iterable, Mapping

from maintenance.errors import OptionError
from maintenance.options import blob, file_index, global_index, iceberg, own
from maintenance.options import table as table_options
from maintenance.options.option import Option
from maintenance.spelling import misspelt, nearest

# Options of Paimon that this engine neither honours nor refuses: see the tests for why each may be set.
_ELSEWHERE = frozenset(
    {
        "async-file-write", "auto-create", "blob-compaction.enabled",
        "blob-write-null-on-fetch-failure", "blob-write-null-on-missing-file", "blob.copy-buffer-size",
        "blob.split-by-file-size", "cache-page-size",
        "chain-table.split.key-range-enabled",
        "chain-table.streaming.merge-snapshot", "changelog-producer.compaction-interval",
        "changelog-producer.lookup-wait", "changelog.precommit-compact", "changelog.precommit-compact.buffer-size",
        "changelog.precommit-compact.thread-num", "clustering.incremental.optimize-write",
        "commit.callback.#.param", "commit.custom-listeners", "commit.discard-duplicate-files", "commit.force-compact",
        "compaction.bucket-distribution-strategy", "compaction.file-num-limit", "consumer.mode",
        "continuous.discovery-interval", "cross-partition-upsert.bootstrap-parallelism", "csv.escape-character",
        "csv.field-delimiter", "csv.include-header", "csv.line-delimiter", "csv.mode", "csv.null-literal",
        "csv.quote-character", "data-evolution.compaction.rewrite-row-ids", "data-evolution.merge-into.file-pruning",
        "data-evolution.merge-into.source-persist", "data-evolution.reassign.skip-contiguous-row-count",
        "data-evolution.row-id-conflict-rewrite.max-size",
        "delete-file.thread-num", "deletion-vectors", "delimiter", "end-input.check-partition-expire",
        "end-input.watermark", "escape",
        "field-delimiter", "file-operation.thread-num", "file-reader-async-threshold",
        "filesystem.job-level-settings.enabled", "format-table.commit-hive-sync-url", "format-table.file.compression",
        "format-table.implementation", "format-table.partition-path-only-value",
        "format-table.repair.collect-statistics", "format-table.scan.list-parallelism",
        "format-table.statistics.parallelism", "full-text-index.search-mode", "global-index.build.max-parallelism",
        "global-index.build.max-shard",
        "global-index.row-count-per-shard", "global-index.search-mode",
        "global-index.thread-num", "header", "json.ignore-parse-errors", "json.line-delimiter",
        "json.map-null-key-literal", "json.map-null-key-mode", "key-value.sequence_number.enabled",
        "legacy-timestamp-mapping.enabled", "lineSep", "local-kv-db.block-size", "local-merge-buffer-size",
        "local-sort.max-num-file-handles", "log.scan", "log.scan.remove-normalize", "log.scan.timestamp-millis",
        "lookup-wait", "lookup.async", "lookup.async-thread-number", "lookup.blob-as-descriptor",
        "lookup.bootstrap-parallelism", "lookup.cache", "lookup.cache-file-retention", "lookup.cache-max-disk-size",
        "lookup.cache-max-memory-size", "lookup.cache-rows", "lookup.cache-spill-compression",
        "lookup.cache.bloom.filter.enabled", "lookup.cache.bloom.filter.fpp", "lookup.cache.high-priority-pool-ratio",
        "lookup.continuous.discovery-interval", "lookup.dynamic-partition", "lookup.dynamic-partition.refresh-interval",
        "lookup.dynamic-partition.refresh.async", "lookup.hash-load-factor", "lookup.merge-buffer-size",
        "lookup.merge-records-threshold", "lookup.refresh.async", "lookup.refresh.async.pending-snapshot-count",
        "lookup.refresh.full-load-threshold", "lookup.refresh.time-periods-blacklist", "lookup.remote-file.enabled",
        "lookup.remote-file.level-threshold",
        "manifest.merge-optimize.enabled", "materialized-table.definition-query",
        "materialized-table.interval-freshness", "materialized-table.interval-freshness.time-unit",
        "materialized-table.logical-refresh-mode", "materialized-table.refresh-handler-bytes",
        "materialized-table.refresh-handler-description", "materialized-table.refresh-mode",
        "materialized-table.refresh-status",
        "metadata.iceberg.database",

        "metadata.iceberg.glue.skip-archive", "metadata.iceberg.hadoop-conf-dir", "metadata.iceberg.hive-client-class",
        "metadata.iceberg.hive-conf-dir", "metadata.iceberg.hive-skip-update-stats",

        "metadata.iceberg.table",
        "metadata.iceberg.uri", "mode", "nullvalue",
        "orc.column.encoding.direct", "orc.dictionary.key.threshold", "orc.timestamp-ltz.legacy.type",
        "orc.write.batch-size", "page-size", "parquet.enable.dictionary", "parquet.variant.shreddingSchema",
        "partition.end-input-to-done", "partition.idle-time-to-done", "partition.idle-time-to-report-statistic",
        "partition.mark-done-action.custom.class",

        "partition.mark-done-action.mode", "partition.mark-done.recover-from-state", "partition.sink-strategy",
        "partition.time-interval", "precommit-compact", "quote", "read.allow.fullScan", "read.batch-size",
        "read.changelog", "read.shuffle-bucket-with-partition", "read.stream.maxBytesPerTrigger",
        "read.stream.maxFilesPerTrigger", "read.stream.maxRowsPerTrigger", "read.stream.maxTriggerDelayMs",
        "read.stream.minRowsPerTrigger", "requiredSparkConfsCheck.enabled",
        "row-tracking.partition-group-on-commit", "scalar-index.search-mode", "scan.bounded", "scan.bounded.watermark",
        "scan.dedicated-split-generation", "scan.fallback-branch.read-fail-fast",
        "scan.fallback-delta-branch", "scan.fallback-snapshot-branch", "scan.ignore-corrupt-files",
        "scan.ignore-lost-files", "scan.infer-parallelism", "scan.infer-parallelism.max", "scan.manifest.parallelism",
        "scan.max-snapshot.count", "scan.max-splits-per-task", "scan.parallelism",
        "scan.plan-auto-tag-for-read.time-retained", "scan.plan-sort-partition", "scan.remove-normalize",
        "scan.split-enumerator.batch-size", "scan.split-enumerator.mode", "scan.watermark.alignment.group",
        "scan.watermark.alignment.max-drift", "scan.watermark.alignment.update-interval",
        "scan.watermark.emit.strategy", "scan.watermark.idle-timeout", "seq", "sink.clustering.by-columns",
        "sink.clustering.sample-factor", "sink.clustering.sort-in-cluster", "sink.clustering.strategy",
        "sink.committer-cpu", "sink.committer-memory", "sink.committer-operator-chaining",
        "sink.coordinator-commit.enabled", "sink.cross-partition.managed-memory", "sink.key-only-deletes.enabled",
        "sink.managed.writer-buffer-memory", "sink.operator-uid.suffix", "sink.parallelism",
        "sink.savepoint.auto-tag", "sink.use-managed-memory-allocator",
        "sink.writer-coordinator.cache-expire-after-access", "sink.writer-coordinator.cache-memory",
        "sink.writer-coordinator.cache-soft-values", "sink.writer-coordinator.enabled",
        "sink.writer-coordinator.page-size", "sink.writer-coordinator.prefetch-manifests", "sink.writer-cpu",
        "sink.writer-memory", "sink.writer-refresh-detectors", "snapshot.expire.execution-mode",
        "snapshot.watermark-idle-timeout", "sort-compaction.local-sample.magnification",
        "sort-compaction.range-strategy", "sort-engine", "sort-spill-buffer-size", "sort-spill-threshold",
        "source.checkpoint-align.enabled", "source.checkpoint-align.timeout", "source.operator-uid.suffix",
        "source.split.target-size-with-column-pruning", "spill-compression", "spill-compression.zstd-level",
        "stream-scan-mode",
        "streaming-read.shuffle-bucket-with-partition", "streaming.read.snapshot.delay",
        "tag.callback.#.param",
        "text.line-delimiter", "unaware-bucket.compaction.parallelism", "unaware-bucket.no-shuffle",
        "variant.shredding.adaptive.maxInferBufferRow",
        "variant.shredding.adaptive.retentionRatio", "variant.shredding.inferenceMode", "variant.inferShreddingSchema",
        "variant.shredding.maxInferBufferRow", "variant.shredding.maxSchemaDepth", "variant.shredding.maxSchemaWidth",
        "variant.shredding.minFieldCardinalityRatio", "variant.shreddingSchema", "vector-index.search-mode",
        "vector-search.distribute.enabled", "vector-search.lateral-join.batch-size",
        "vector-search.lateral-join.parallelism",
        "write-buffer-for-append",
        "write-buffer-spill.max-disk-size", "write-buffer-spillable", "write-max-writers-to-spill",
        "write.batch-memory", "write.batch-size", "write.data-evolution.update-conflict-retry.max-attempts",
        "write.data-evolution.update-conflict-retry.wait-ms", "write.hive-style-dynamic-partition.enabled",
        "write.merge-schema", "write.merge-schema.explicit-cast", "write.merge-schema.type-widening",
        "write.use-v2-write",
    }
)  # fmt: skip
# Not options of Paimon: engines and metastores keep them beside its own.
_PROPERTIES = frozenset(
    {
        "comment",
        "connector",
        "external",
        "is_managed_location",
        "location",
        "owner",
        "provider",
        "transient_lastddltime",
    }
)
_OURS = "paimon-maintenance."
# What begins so is named by columns, file formats, stores or other systems.
_OF_OTHERS = (
    "fields.", "file-index.", "avro.", "csv.", "json.", "orc.", "parquet.", "text.", "dlf.", "fs.", "gcs.", "hadoop.",
    "hive.", "iceberg.", "jdbc.", "kafka.", "metastore.", "oss.", "properties.", "rest.", "s3.", "s3a.", "flink.",
    "spark.",
)  # fmt: skip


def known_options() -> frozenset[str]:
    """Names of Paimon's table options, older spellings among them."""
    modules = (table_options, file_index, iceberg, blob, global_index, own)
    options = [value for module in modules for value in vars(module).values() if isinstance(value, Option)]
    keys = {name for option in options for name in (option.key, *option.fallbacks)}
    refused = {*table_options.REFUSED, *table_options.REFUSED_ON_WRITE}
    return frozenset({*keys, *refused, *table_options.IMMUTABLE, *_ELSEWHERE})


def check_names(keys: Iterable[str], stored: Mapping[str, str], where: str) -> None:
    """Refuse names that are probably mistakes: like an option's. Others are properties of the user's own, as in Paimon.

    Args: `keys`: of options that are set; `stored`: options that the table has, whose names may stay.
    Raises: OptionError.
    """
    names = known_options()
    for key in keys:
        if key in names or key in stored or key.lower() in _PROPERTIES or key.startswith(_OF_OTHERS):
            continue
        # A name with a namespace is taken for a mistake only if it is almost an option's; any other if it is like one.
        meant = misspelt(key, names)
        if meant is None and ("." not in key or key.startswith(_OURS)):
            meant = nearest(key, names)
        if meant is None and not key.startswith(_OURS):
            continue
        hint = f"Did you mean '{meant}'? " if meant else ""
        raise OptionError(
            f"option '{key}' does not exist", where, f"{hint}Give options of your own a namespace, such as team.name."
        )
