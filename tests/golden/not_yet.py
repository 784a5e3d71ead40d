"""Golden reads that are refused so far, and the feature each waits for.

Strict: every read that a pattern covers must be refused with `UnsupportedError`; one that starts to pass must leave it.
A pattern matches a whole id, ``<case>:<table>:<read>``: ``*`` is anything, ``[!$]*`` anything but a system table.
"""

NOT_YET = {
    # Merge engines
    "agg_*": "merge engine aggregation",
    "changelog_*:agg:[!$]*": "merge engine aggregation",
    "changelog_*:agg$audit_log:*": "merge engine aggregation",
    "system_tables:t:batch": "merge engine aggregation",
    "system_tables:t:snapshot-*": "merge engine aggregation",
    "system_tables:t:$ro": "merge engine aggregation",
    "system_tables:t:$audit_log": "merge engine aggregation",
    "system_tables:t:$binlog": "merge engine aggregation",
    "partial_update_*": "merge engine partial-update",
    "changelog_*:partial:[!$]*": "merge engine partial-update",
    "changelog_*:partial$audit_log:*": "merge engine partial-update",
    "cross_partition:partial:[!$]*": "merge engine partial-update",
    "first_row:*": "merge engine first-row",
    "changelog_*:first:[!$]*": "merge engine first-row",
    "changelog_*:first$audit_log:*": "merge engine first-row",
    "cross_partition:first:[!$]*": "merge engine first-row",
    # Deletion vectors, row tracking, order by snapshot, postponed buckets
    "variant_blob:blob:batch": "type BLOB",
    # Types, casts and formats
    "types_orc:extreme:batch": "ORC timestamps of far years",
    "variant_blob:v*:batch": "type VARIANT",
    "type_casts:from_bigint:batch": "TIMESTAMP(9) of far years",
    "mixed_formats:manifest_*": "manifests in ORC or parquet",
    # Branches, tags and system tables
    "branches:fb:batch": "fallback branches",
    "*$branches": "system table $branches",
    "*$schemas": "system table $schemas",
    "*$table_indexes": "system table $table_indexes",
    "*$row_tracking*": "system table $row_tracking",
    "*$manifests": "system table $manifests",
    "*$statistics*": "system table $statistics",
    "*$aggregation_fields": "system table $aggregation_fields",
    "*$file_key_ranges": "system table $file_key_ranges",
    "system_tables:sys.*": "system database",
}
